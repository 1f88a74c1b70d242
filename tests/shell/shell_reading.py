"""What the tests of the shell reader share."""

from __future__ import annotations

from grpo_lint.source import SourceFile
from grpo_lint.syntax.shell import Command, Script, run


def read(text: str, path: str = "run.sh", **files: str) -> Script:
    """Reads a script; `files` are the repository's others, their names with `__` for `/` and a trailing `_sh`."""
    known = {name.replace("__", "/").replace("_sh", ".sh"): body for name, body in files.items()}
    return run(SourceFile(path, text), lambda name: SourceFile(name, known[name]) if name in known else None)


def argvs(script: Script) -> list[list[str]]:
    return [words(command) for command in script.commands]


def words(command: Command) -> list[str]:
    return [word.text for word in command.argv]


def conditions(command: Command) -> list[str]:
    return [condition.text for condition in command.when]


def kinds(script: Script) -> list[str]:
    return [problem.kind for problem in script.problems]
