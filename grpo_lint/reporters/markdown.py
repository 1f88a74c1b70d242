"""A table for a step summary or a comment of a pull request, as GitHub and GitLab render Markdown.

The worst findings come first. GitHub drops a summary of more than 1 MiB as a whole, so the table ends well before that,
with a count of what it leaves out.
"""

from __future__ import annotations

import re

from grpo_lint.diagnostics import RANK
from grpo_lint.reporters.characters import count, emit, visible
from grpo_lint.reporters.text import summary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

    from grpo_lint.diagnostics import Diagnostic
    from grpo_lint.report import Report
    from grpo_lint.reporters import Style

MAX_BYTES = 500_000
"""Of rows and of notices each."""

_MARKS = {"error": "❌", "warning": "⚠️", "note": "ℹ️"}
_ACTIVE = re.compile(r"[\\`*_\[\]<>(){}#|~!&@$:+\-=]")
"""What can begin or end something in a line of Markdown, GitHub's extensions (mentions, formulas, emoji) included."""


def write(report: Report, out: TextIO, style: Style) -> None:
    """A heading, the table of findings, and the notices as a list; the last two only if there are any."""
    names = {rule.id: rule.name for rule in report.rules}
    lines = ["### grpo-lint", "", plain(summary(report)), ""]
    if report.diagnostics:
        worst_first = sorted(report.diagnostics, key=lambda diagnostic: -RANK[diagnostic.severity])
        lines += ["| | Rule | Place | Finding |", "|---|---|---|---|"]
        lines += _within([_row(diagnostic, names) for diagnostic in worst_first], "finding", "| | | | {} |")
        lines.append("")
    if report.notices:
        items = [f"{notice.path}: {notice.message}" if notice.path else notice.message for notice in report.notices]
        lines += _within([f"- {plain(item)}" for item in items], "notice", "- {}")
        lines.append("")
    emit("\n".join(lines), out)


def _row(diagnostic: Diagnostic, names: dict[str, str]) -> str:
    span = diagnostic.primary.span
    line, column = span.file.position(span.start)
    rule = plain(f"{diagnostic.rule} {names.get(diagnostic.rule, '')}".rstrip())
    parts = [plain(diagnostic.message)]
    if diagnostic.when:
        parts.append("when " + plain(" and ".join(diagnostic.when)))
    if diagnostic.help:
        parts.append("*help:* " + "<br>".join(plain(part) for part in diagnostic.help.split("\n")))
    place = plain(f"{span.file.path}:{line}:{column}")
    return f"| {_MARKS[diagnostic.severity]} {diagnostic.severity} | {rule} | {place} | {'<br>'.join(parts)} |"


def plain(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return _ACTIVE.sub(r"\\\g<0>", visible(text))


def _within(lines: list[str], noun: str, template: str) -> list[str]:
    """As many of the lines as fit, and how many don't."""
    room = MAX_BYTES
    for index, line in enumerate(lines):
        room -= len(line.encode("utf-8", "replace")) + 1
        if room < 0:
            return [*lines[:index], template.format(f"and {count(len(lines) - index, f'more {noun}')}")]
    return lines
