"""How often our reading of a launch script gives the argv that bash gives, over folders of public scripts.

Each folder is copied to a scratch place. Of its scripts that hold a launch, each runs under the oracle and is read by
us, in the same empty environment. A launch of bash's is matched by a command of ours with the same words, where a part
that either side calls dynamic may stand for anything (and an unquoted unknown for any number of words).

With --default ours are read as a linter reads them: in an environment that isn't known, and without the place of the
repository. Then a known word of ours must be bash's, and all else may be unknown.

Usage: bash_parity.py [--env NAME=VALUE ...] [--show N] [--limit N] [--cwd-root] [--default] FOLDER...
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from typing import TYPE_CHECKING

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from grpo_lint.located import DYNAMIC
from grpo_lint.source import SourceFile
from grpo_lint.syntax.shell import Command, Script, run

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bash_oracle

if TYPE_CHECKING:
    from collections.abc import Iterator

LAUNCH = re.compile(
    r"\b(?:python3?|torchrun|deepspeed|accelerate|ray|vllm|sglang|swift|megatron|srun|uv|llamafactory-cli|axolotl|trl|"
    r"openrlhf|mpirun|sbatch|bash|sh|NPROC_PER_NODE|docker|nohup)\b"
)
PROGRAM = re.compile(
    r"(?:.*/)?(?:python[\d.]*|torchrun|deepspeed|accelerate|ray|vllm|sglang|swift|megatron|srun|uv|llamafactory-cli|"
    r"axolotl|trl|openrlhf|mpirun|sbatch|bash|sh|docker|nohup|env|time|conda|ssh|numactl|sudo|poetry|pdsh|lmms-eval)$"
)


class Tally:
    """Counts over all scripts, and what didn't match."""

    def __init__(self) -> None:
        self.scripts = 0
        self.launches = 0
        self.equal = 0
        self.wrong = 0
        self.late = 0
        self.syntax = 0
        self.causes: Counter[str] = Counter()
        self.misses: list[str] = []
        self.seconds = 0.0
        self.words = Counter[str]()


def scripts(folder: str) -> Iterator[str]:
    for base, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in (".git", "node_modules"))
        for name in sorted(files):
            path = os.path.join(base, name)
            if name.endswith((".sh", ".slurm", ".sbatch", ".bash")) and os.path.isfile(path):
                with open(path, encoding="utf-8", newline="", errors="replace") as stream:
                    text = stream.read(1_000_000)
                if LAUNCH.search(text):
                    yield path


def loader(path: str) -> SourceFile | None:
    try:
        if os.path.isfile(path) and os.path.getsize(path) < 1_000_000:
            with open(path, encoding="utf-8", newline="") as stream:
                return SourceFile(path, stream.read())
    except (OSError, UnicodeDecodeError, ValueError):
        pass
    return None


def pattern(command: Command) -> re.Pattern[str]:
    """What bash's words, joined by NUL, must look like."""
    words = []
    for index, word in enumerate(command.argv):
        text = re.escape(word.text).replace(re.escape(DYNAMIC), r"[^\0]*")
        words.append(rf"(?:{text}\x00)*" if index in command.unsure else text + r"\x00")
    return re.compile("".join(words))


def literal(words: list[str]) -> str:
    return "".join(word + "\0" for word in words)


def alike(mine: str, word: str) -> bool:
    """Equal, but for what is dynamic on either side."""
    if mine == word:
        return True
    return any(
        re.fullmatch(r"[^\0]*".join(re.escape(part) for part in one.split(DYNAMIC)), other)
        for one, other in ((mine, word), (word, mine))
        if DYNAMIC in one
    )


def loosely(theirs: list[str], command: Command) -> bool:
    ours = [word.text for word in command.argv]
    return len(ours) == len(theirs) and all(alike(mine, word) for mine, word in zip(ours, theirs, strict=True))


def matched(theirs: list[str], commands: list[Command]) -> bool:
    text = literal(theirs)
    return any(pattern(command).fullmatch(text) or loosely(theirs, command) for command in commands)


def cause(theirs: list[str], script: Script) -> str:
    """Why no command of ours is this one: the nearest one's first difference."""
    same = [c for c in script.commands if c.argv and c.argv[0].text == theirs[0]]
    if any(problem.kind == "gave-up" for problem in script.problems):
        return "gave up"
    if not same:
        return f"missing: {theirs[0][:60]}"
    best = max(same, key=lambda c: len({w.text for w in c.argv} & set(theirs)))
    ours = [word.text for word in best.argv]
    for mine, word in zip(ours, theirs, strict=False):
        if not alike(mine, word):
            return f"differs: ours {mine[:120]!r} bash {word[:120]!r}"
    return f"length: ours {len(ours)} bash {len(theirs)}: {ours[-1][:60]!r} / {theirs[-1][:60]!r}"


def check(path: str, root: str, extra: list[tuple[str, str]], tally: Tally, options: argparse.Namespace) -> None:
    directory = root if options.cwd_root else os.path.dirname(path)
    outcome = bash_oracle.run(path, directory, extra)
    source = loader(path)
    if source is None:
        return
    environment = bash_oracle.environment("/nowhere", extra)
    started = time.process_time()
    if options.default:
        script = run(source, lambda name: loader(os.path.join(root, name)), os.path.relpath(path, root))
    else:
        script = run(source, loader, path, environment, directory)
    tally.seconds += time.process_time() - started
    tally.scripts += 1
    tally.late += outcome.timeout
    if any(problem.kind == "syntax" for problem in script.problems):
        if subprocess.run(["/bin/bash", "-n", path], capture_output=True, check=False).returncode == 0:
            tally.syntax += 1
            tally.misses.append(f"{path}\n    a syntax problem that bash does not have: {script.problems[0]}")
    seen = set()
    for launch in outcome.launches:
        key = literal(launch)
        if not launch or not PROGRAM.match(launch[0]) or key in seen:
            continue
        seen.add(key)
        tally.launches += 1
        if matched(launch, script.commands):
            tally.equal += 1
            continue
        why = cause(launch, script)
        tally.causes[why.split(":")[0]] += 1
        tally.misses.append(f"{path}\n    {why}")


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", action="append", default=[])
    parser.add_argument("--show", type=int, default=20)
    parser.add_argument("--limit", type=int, default=10**9)
    parser.add_argument("--cwd-root", action="store_true")
    parser.add_argument("--default", action="store_true")
    parser.add_argument("folders", nargs="+")
    options = parser.parse_args(argv)
    if not bash_oracle.available():
        print("needs root, bash and setpriv", file=sys.stderr)
        return 2
    extra = [(name, value) for name, _, value in (pair.partition("=") for pair in options.env)]
    tally = Tally()
    for folder in options.folders:
        with tempfile.TemporaryDirectory() as tmp:
            os.chmod(tmp, 0o755)
            root = os.path.join(tmp, os.path.basename(folder.rstrip("/")))
            shutil.copytree(folder, root, symlinks=True, ignore=shutil.ignore_patterns(".git", "*.png", "*.jpg"))
            subprocess.run(["chown", "-R", f"{bash_oracle.NOBODY}:{bash_oracle.NOBODY}", root], check=True)
            for number, path in enumerate(scripts(root)):
                if number >= options.limit:
                    break
                check(path, root, extra, tally, options)
    report(tally, options.show)
    return 0


def report(tally: Tally, show: int) -> None:
    for miss in tally.misses[:show]:
        print(miss)
    share = tally.equal / tally.launches if tally.launches else 1.0
    print(f"{tally.scripts} scripts, {tally.launches} distinct launches, {tally.equal} equal ({share:.2%})")
    print(f"{tally.late} ran out of time, {tally.syntax} false syntax problems, {tally.seconds:.2f} s of ours")
    for why, count in tally.causes.most_common():
        print(f"{count:6} {why}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
