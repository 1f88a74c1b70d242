"""What bash itself makes of a launch script: the argv of every program it would start.

The script runs under the real bash as an unprivileged user (so this needs root), in an empty environment whose PATH
holds a few harmless text tools. Run it in a scratch copy that user 65534 may write to: scripts make log folders and
write configs. Every other command is caught by bash's command_not_found_handle, which records the argv it got and
prints a marker, so that a value that came out of a command is seen to be dynamic.

Usage: bash_oracle.py SCRIPT [--cwd DIR] [--env NAME=VALUE ...]
Output: JSON {"launches": [[arg, ...], ...], "exit": N, "timeout": bool}; a dynamic part reads MARK.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

MARK = "\u2047dynamic\u2047"
HARMLESS = (
    "dirname", "basename", "realpath", "readlink", "mkdir", "cat", "touch", "seq", "tr", "cut", "sed", "awk", "grep",
    "head", "tail", "wc", "sort", "uniq", "expr",
)  # fmt: skip
NOBODY = 65534
MAX_LOG = 4_000_000
PRELUDE = r"""
command_not_found_handle() {
  printf '%s\0' "$@" $'\1' >> "$ORACLE_LOG"
  printf '%s' "$ORACLE_MARK"
  return 0
}
"""


class Outcome(NamedTuple):
    launches: list[list[str]]
    exit: int | None
    timeout: bool
    stderr: str


def available() -> bool:
    """Whether this machine can run the oracle."""
    return os.geteuid() == 0 and os.path.exists("/bin/bash") and os.path.exists("/usr/bin/setpriv")


def environment(tmp: str, extra: Iterable[tuple[str, str]] = ()) -> dict[str, str]:
    """The environment a script gets; `tmp` is the oracle's own folder."""
    paths = {name: os.path.join(tmp, name) for name in ("log", "prelude", "bin")}
    return {
        "PATH": paths["bin"],
        "HOME": "/nonexistent",
        "BASH_ENV": paths["prelude"],
        "ORACLE_LOG": paths["log"],
        "ORACLE_MARK": MARK,
        "LC_ALL": "C.UTF-8",
        **dict(extra),
    }


def run(script: str, cwd: str, extra: Iterable[tuple[str, str]] = (), timeout: float = 5) -> Outcome:
    """Runs the script at an absolute path. Kills what it leaves behind."""
    with tempfile.TemporaryDirectory() as tmp:
        os.chmod(tmp, 0o777)
        env = environment(tmp, extra)
        with open(env["ORACLE_LOG"], "w"):
            pass
        os.chmod(env["ORACLE_LOG"], 0o666)
        with open(env["BASH_ENV"], "w") as stream:
            stream.write(PRELUDE)
        os.chmod(env["BASH_ENV"], 0o644)
        os.mkdir(env["PATH"])
        for name in HARMLESS:
            os.symlink(shutil.which(name) or "/bin/false", os.path.join(env["PATH"], name))
        code, late, stderr = _bash(script, cwd, env, timeout)
        with open(env["ORACLE_LOG"], "rb") as log:
            raw = log.read(MAX_LOG).decode("utf-8", "replace")
    return Outcome(_launches(raw), code, late, stderr)


def _bash(script: str, cwd: str, env: dict[str, str], timeout: float) -> tuple[int | None, bool, str]:
    user = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    process = subprocess.Popen(
        ["/usr/bin/setpriv", *user, "/bin/bash", script],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        _, stderr = process.communicate(timeout=timeout)
        return process.returncode, False, stderr.decode(errors="replace")[-500:]
    except subprocess.TimeoutExpired:
        return None, True, ""
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


def _launches(raw: str) -> list[list[str]]:
    launches: list[list[str]] = []
    current: list[str] = []
    for piece in raw.split("\0")[:-1]:
        if piece == "\1":
            launches.append(current)
            current = []
        else:
            current.append(piece)
    return launches


def main(args: list[str]) -> int:
    if not args or not available():
        print("needs root, bash and setpriv" if args else __doc__, file=sys.stderr)
        return 2
    cwd = args[args.index("--cwd") + 1] if "--cwd" in args else os.path.dirname(os.path.abspath(args[0]))
    extra = [args[n + 1].partition("=") for n, arg in enumerate(args[:-1]) if arg == "--env"]
    outcome = run(os.path.abspath(args[0]), cwd, [(name, value) for name, _, value in extra])
    json.dump(outcome._asdict(), sys.stdout, ensure_ascii=False, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
