"""Workflow commands, which GitHub Actions turns into annotations of the files they name.

Its runner keeps the first ten errors, warnings and notices of a step and drops the rest (`_maxIssueCount` in
`ExecutionContext.cs` of actions/runner, at b363739a4676 for errors and warnings). So the worst come first, what is past
ten of a kind is printed as plain lines, and the last notice says how many those are.
"""

from __future__ import annotations

from grpo_lint.reporters.characters import emit, visible
from grpo_lint.reporters.concise import notice_line, one_line
from grpo_lint.reporters.messages import in_lines, placed
from grpo_lint.reporters.places import region

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

    from grpo_lint.diagnostics import Diagnostic
    from grpo_lint.report import Report
    from grpo_lint.reporters import Style

SHOWN = 10
_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def write(report: Report, out: TextIO, style: Style) -> None:
    """Errors, warnings, notes, then notices about files; each kind in the order of the report."""
    names = {rule.id: rule.name for rule in report.rules}
    commands: list[str] = []
    rest: list[str] = []
    for severity, command in _COMMANDS.items():
        found = [diagnostic for diagnostic in report.diagnostics if diagnostic.severity == severity]
        # One of the ten notices is kept for the count.
        limit = SHOWN - 1 if command == "notice" else SHOWN
        commands += [_annotation(command, diagnostic, names) for diagnostic in found[:limit]]
        rest += [one_line(diagnostic) for diagnostic in found[limit:]]
    free = SHOWN - 1 - min(report.count("note"), SHOWN - 1)
    commands += [_command("notice", {"file": item.path}, visible(item.message)) for item in report.notices[:free]]
    rest += [notice_line(item) for item in report.notices[free:]]
    if rest:
        more = f"{len(rest):,} more, which GitHub has no room for as annotations: see the log of this step"
        commands += [*rest, _command("notice", {}, more)]
    if commands:
        emit("\n".join(commands) + "\n", out)


def _annotation(command: str, diagnostic: Diagnostic, names: dict[str, str]) -> str:
    span = diagnostic.primary.span
    line, column, end_line, end_column = region(span)
    properties = {"file": span.file.path, "line": str(line), "endLine": str(end_line)}
    if line == end_line:  # GitHub refuses columns of a region that has several lines
        properties |= {"col": str(column), "endColumn": str(end_column)}
    properties["title"] = f"{diagnostic.rule} {names.get(diagnostic.rule, '')}".rstrip()
    return _command(command, properties, "\n".join([*in_lines(diagnostic), *map(placed, diagnostic.related)]))


def _command(name: str, properties: dict[str, str], message: str) -> str:
    listed = ",".join(f"{key}={_property(visible(value))}" for key, value in properties.items() if value)
    return f"::{name}{' ' if listed else ''}{listed}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
