"""Reads a launch script as bash does, without running it."""

from __future__ import annotations

from grpo_lint.syntax.shell.script import (
    Choice,
    Command,
    Condition,
    FolderPiece,
    Problem,
    Redirect,
    Script,
    WrittenFile,
    paths,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from grpo_lint.located import Word
    from grpo_lint.source import SourceFile

__all__ = [
    "Choice",
    "Command",
    "Condition",
    "FolderPiece",
    "Problem",
    "Redirect",
    "Script",
    "WrittenFile",
    "paths",
    "run",
]


def run(
    source: SourceFile,
    load: Callable[[str], SourceFile | None] | None = None,
    path: str | None = None,
    environment: dict[str, str] | None = None,
    directory: str = "/",
    variables: dict[str, Word] | None = None,
    bounds: tuple[int, int | None] = (0, None),
) -> Script:
    """Everything that the script would start, as far as its text tells.

    `path` is the script's path relative to the root of its repository (POSIX; `source.path` if None), and `load` gives
    the file at such a path, or None if there is none. A word that holds the script's own folder (`$(dirname "$0")`)
    isn't known, since it depends on where the script is started; `paths(word)` tells which files it may name.

    With `environment`, the environment is exactly that, the script gets no arguments, and `path`, `directory` (the
    working directory) and what `load` is asked for are absolute. Programs are then taken to succeed.

    `variables` are what surrounds the script and surely is in its environment: a container's `env`, a job's. `bounds`
    are the offsets that the script lies between, where the file is longer.
    """
    from grpo_lint.syntax.shell.reader import read

    return read(source, load, source.path if path is None else path, environment, directory, variables, bounds)
