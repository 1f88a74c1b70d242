"""Measure what the budgets are about: the start of the command, and many files in one process.

    python tools/bench.py [--runs 25] [--many 1000] [--check]
    python tools/bench.py --rules FOLDER... [--check]

Prints medians of processor time (user and system) and their ratio to `python -c pass` of the same interpreter, taken
in turns so that a busy machine slows both alike. `--check` exits with 1 when a ratio is over its budget.

With `--rules`, repositories that you have checked out are linted, and what all rules take is told as a part of what
reading took, over the first 1,000 runs: the budget is 1.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

SCRIPT = """\
#!/usr/bin/env bash
set -x
MODEL=${{MODEL:-Qwen/Qwen2.5-7B-Instruct}}
N=${{N:-8}}
ARGS=(
    data.train_batch_size=$((128 * N))
    actor_rollout_ref.rollout.n=$N
)
python3 -m verl.trainer.main_ppo \\
    algorithm.adv_estimator=grpo \\
    actor_rollout_ref.model.path="$MODEL" \\
    actor_rollout_ref.actor.ppo_mini_batch_size=256 \\
    actor_rollout_ref.actor.use_dynamic_bsz=True \\
    trainer.experiment_name=run-{number} \\
    trainer.n_gpus_per_node=8 \\
    "${{ARGS[@]}}" "$@"
"""
DEEPSPEED = """\
{{
  "zero_optimization": {{"stage": 2, "allgather_bucket_size": {number}}},
  "bf16": {{"enabled": true}},
  "gradient_clipping": 1.0,
  "train_micro_batch_size_per_gpu": 8
}}
"""
NOTES = "".join(f"  note_{line}: text of line {line}\n" for line in range(53))
TREE = f"actor_rollout_ref:\n  rollout:\n    name: vllm\n    n: 8\nalgorithm:\n  adv_estimator: grpo\ntrainer:\n{NOTES}"
"""60 lines of YAML; the rest are keys that no rule looks at."""

BUDGETS = {"--version": 1.5, "one shell script": 3.5, "one JSON file": 3.5, "one YAML file": 5.0}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=25, help="how often each command is started (default: 25)")
    parser.add_argument("--many", type=int, default=1000, help="files of each kind for one process (default: 1000)")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a start is over its budget")
    parser.add_argument("--rules", nargs="+", metavar="FOLDER", help="compare all rules with reading, on repositories")
    options = parser.parse_args()
    if options.rules:
        over = rules([Path(name).resolve() for name in options.rules])
        return 1 if options.check and over else 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        over = start(folder, options.runs)
        if options.many:
            many(folder, options.many)
    return 1 if options.check and over else 0


def start(folder: Path, runs: int) -> bool:
    """Print the cost of starting for each case; whether any is over its budget."""
    files = {"run.sh": SCRIPT, "ds.json": DEEPSPEED}
    for name, template in files.items():
        (folder / name).write_text(template.format(number=1), encoding="utf-8")
    (folder / "ppo.yaml").write_text(TREE, encoding="utf-8")
    command = str(Path(sys.executable).parent / "grpo-lint")
    cases = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "--version": [command, "--version"],
        "one shell script": [command, "run.sh"],
        "one JSON file": [command, "ds.json"],
        "one YAML file": [command, "ppo.yaml"],
    }
    times: dict[str, list[float]] = {case: [] for case in cases}
    for turn in range(runs + 2):
        for case, words in cases.items():
            seconds, _ = run(words, folder)
            if turn >= 2:  # the first two write bytecode and warm the disk
                times[case].append(seconds)
    bare = median(times["python -c pass"])
    over = False
    for case, taken in times.items():
        ratio, budget = median(taken) / bare, BUDGETS.get(case)
        over = over or (budget is not None and ratio > budget)
        told = "" if budget is None else f"   budget {budget}{'  OVER' if ratio > budget else ''}"
        print(f"{case:<18} {median(taken) * 1000:6.1f} ms   {ratio:5.2f} x{told}")
    return over


def rules(folders: list[Path], most: int = 1000) -> bool:
    """Print what all rules cost beside reading, over the first runs of some repositories; whether it is more."""
    import gc
    from time import process_time

    from grpo_lint.engine import Linter
    from grpo_lint.rules import RULES
    from grpo_lint.settings import Settings

    declared = [rule.declared for rule in RULES]  # their modules are imported once, whatever the number of runs
    gc.disable()  # as the command does
    reading = judging = 0.0
    runs = 0
    for folder in folders:
        os.chdir(folder)
        linter = Linter(Settings())
        files = linter.read(["."])
        while runs + linter.runs < most:
            start = process_time()
            file = next(files, None)
            middle = process_time()
            reading += middle - start
            if file is None:
                break
            linter._judge_file(file)
            judging += process_time() - middle
        runs += linter.runs
    ratio = judging / reading
    print(
        f"{len(declared)} rules on {runs:,} runs   reading {reading:.2f} s   rules {judging:.2f} s   {ratio:.2f} x",
        end="",
    )
    print("   budget 1.0" + ("  OVER" if ratio > 1 else ""))
    return ratio > 1


def many(folder: Path, number: int) -> None:
    """Print what many files of a kind cost in one process."""
    command = str(Path(sys.executable).parent / "grpo-lint")
    templates = {"sh": SCRIPT, "json": DEEPSPEED, "yaml": TREE}
    for suffix, template in templates.items():
        below = folder / suffix
        below.mkdir()
        for index in range(number):
            text = template if suffix == "yaml" else template.format(number=index)
            (below / f"{index}.{suffix}").write_text(text, encoding="utf-8")
        seconds, peak = run([command, str(below)], folder)
        each = seconds / number * 1000
        print(f"{number:,} .{suffix} files   {seconds:6.2f} s   {each:5.2f} ms each   {peak / 1024:4.0f} MB")


def run(words: list[str], folder: Path, codes: Sequence[int] = (0, 1)) -> tuple[float, int]:
    """Processor seconds and peak KiB of a command, which has to end with one of some exit codes."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in codes:
        sys.exit(f"{words}: exit code {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss


if __name__ == "__main__":
    sys.exit(main())
