"""Checkstyle's XML, which Jenkins (Warnings plugin), reviewdog and many others read.

An `error` element a finding, in a `file` element a file, as Checkstyle's own `XMLLogger` writes them. A note is "info".
The source is `grpo-lint.` and the rule: readers take what follows the last dot for the type. A notice (of a file that
could not be read, say) is a warning, or an error if the report isn't whole, of `grpo-lint.notice` at line 1.
"""

from __future__ import annotations

from grpo_lint.reporters.markup import DECLARATION, attributes
from grpo_lint.reporters.messages import in_one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

    from grpo_lint.diagnostics import Diagnostic
    from grpo_lint.report import Report
    from grpo_lint.reporters import Style

VERSION = "4.3"
"""What linters that aren't Checkstyle write; readers don't look at it."""

_SEVERITIES = {"error": "error", "warning": "warning", "note": "info"}


def write(report: Report, out: TextIO, style: Style) -> None:
    """Files in the order of their first finding or notice. A notice without a path is left out."""
    files: dict[str, list[str]] = {}
    for diagnostic in report.diagnostics:
        files.setdefault(diagnostic.primary.span.file.path, []).append(_finding(diagnostic))
    severity = "error" if report.errors else "warning"
    for notice in report.notices:
        if notice.path:
            told = attributes(line=1, severity=severity, message=notice.message, source="grpo-lint.notice")
            files.setdefault(notice.path, []).append(told)
    lines = [DECLARATION, f'<checkstyle version="{VERSION}">']
    for path, errors in files.items():
        lines.append(f"  <file{attributes(name=path)}>")
        lines += (f"    <error{error}/>" for error in errors)
        lines.append("  </file>")
    out.write("\n".join([*lines, "</checkstyle>", ""]))


def _finding(diagnostic: Diagnostic) -> str:
    span = diagnostic.primary.span
    line, column = span.file.position(span.start)
    return attributes(
        line=line,
        column=column,
        severity=_SEVERITIES[diagnostic.severity],
        message=in_one_line(diagnostic),
        source=f"grpo-lint.{diagnostic.rule}",
    )
