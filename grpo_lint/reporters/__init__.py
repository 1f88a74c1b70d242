"""Output formats: one module each, imported only when it is asked for."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

    from grpo_lint.report import Report

FORMATS = ("text", "concise", "json", "github", "markdown", "sarif", "junit", "gitlab", "rdjson", "checkstyle", "html")
WITH_RUNS = ("html",)
"""Formats that show the runs themselves, which other lintings don't keep."""


class Style:
    """How a person looks at the output: colours or not, and the width of the terminal in columns."""

    __slots__ = ("color", "width")

    def __init__(self, color: bool = False, width: int = 80) -> None:
        self.color = color
        self.width = width


def write(format: str, report: Report, out: TextIO, style: Style) -> None:
    """Write a report in one of FORMATS."""
    from grpo_lint.modules import module

    module(f"reporters.{format}").write(report, out, style)
