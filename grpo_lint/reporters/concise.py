"""One line a finding, for editors and for grep: `path:line:col: ID severity: message`."""

from __future__ import annotations

from grpo_lint.reporters.characters import emit, shown_path, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

    from grpo_lint.diagnostics import Diagnostic, Notice
    from grpo_lint.report import Report
    from grpo_lint.reporters import Style


def write(report: Report, out: TextIO, style: Style) -> None:
    """The findings, then a line `path: notice: message` for what went wrong on the way. Nothing when all is well."""
    lines = [one_line(diagnostic) for diagnostic in report.diagnostics]
    lines += (notice_line(notice) for notice in report.notices)
    if lines:
        emit("\n".join(lines) + "\n", out)


def one_line(diagnostic: Diagnostic) -> str:
    span = diagnostic.primary.span
    line, column = span.file.position(span.start)
    when = f" (when {' and '.join(diagnostic.when)})" if diagnostic.when else ""
    text = visible(diagnostic.message + when)
    return f"{shown_path(span.file.path)}:{line}:{column}: {diagnostic.rule} {diagnostic.severity}: {text}"


def notice_line(notice: Notice) -> str:
    where = f"{shown_path(notice.path)}: " if notice.path else ""
    return f"{where}notice: {visible(notice.message)}"
