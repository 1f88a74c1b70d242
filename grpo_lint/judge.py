"""Verdicts on what the user names: a unified config, or every run of some files."""

from __future__ import annotations

from grpo_lint.engine import Linter
from grpo_lint.hardware import assume
from grpo_lint.reporters.verdicts import Judged
from grpo_lint.selection import selected
from grpo_lint.validate import read
from grpo_lint.verdicts import rulings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from grpo_lint.diagnostics import Notice
    from grpo_lint.settings import Settings
    from grpo_lint.source import SourceFile


def of_config(source: SourceFile, settings: Settings) -> Judged:
    """The verdicts on a unified config. Raises InvalidConfig."""
    run = read(source, settings)
    assume(run, settings)
    return Judged(run, rulings(run, selected(settings), settings))


def of_files(
    paths: Iterable[str], settings: Settings, given: dict[str, bytes]
) -> tuple[list[Judged], list[Notice], bool]:
    """The verdicts on each run of some files, what couldn't be read, and whether that is an error.

    Raises MissingPath before anything is read.
    """
    linter = Linter(settings, given)
    judged = [
        Judged(run, rulings(run, linter.rules, settings))
        for file in linter.read(paths)
        for run in linter.variants(file)
    ]
    return judged, linter.notices, linter.errors
