"""The Reviewdog Diagnostic Format, `reviewdog -f=rdjson`: comments on a change, with fixes as suggestions.

The fields are those of `DiagnosticResult` in `proto/rdf/reviewdog.proto` of reviewdog/reviewdog at 6c307503194f. Lines
and columns count from 1, columns in bytes of UTF-8, ends are exclusive. A suggestion has no path of its own, and each
is offered by itself: a fix is one suggestion, from its first edit to its last, if all are in the file of the finding.
"""

from __future__ import annotations

from json import dumps

from grpo_lint.reporters.characters import visible, well_formed
from grpo_lint.reporters.messages import in_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TextIO

    from grpo_lint.diagnostics import Diagnostic, Fix, Notice
    from grpo_lint.report import Report
    from grpo_lint.reporters import Style
    from grpo_lint.source import SourceFile, Span

_SEVERITIES = {"error": "ERROR", "warning": "WARNING", "note": "INFO"}


def write(report: Report, out: TextIO, style: Style) -> None:
    """Findings that count, then notices: errors if the report isn't whole, else warnings, without a range.

    A notice without a path is left out: reviewdog has nowhere to put it.
    """
    found = [_finding(diagnostic) for diagnostic in report.diagnostics]
    severity = "ERROR" if report.errors else "WARNING"
    found += [_notice(notice, severity) for notice in report.notices if notice.path]
    # ASCII only, so that it is right in whatever encoding the stream has.
    out.write(dumps({"source": {"name": "grpo-lint"}, "diagnostics": found}, indent=2) + "\n")


def _finding(diagnostic: Diagnostic) -> dict[str, Any]:
    data: dict[str, Any] = {
        "message": "\n".join(in_lines(diagnostic)),
        "location": _location(diagnostic.primary.span),
        "severity": _SEVERITIES[diagnostic.severity],
        "code": {"value": diagnostic.rule},
    }
    if diagnostic.fix and (suggestion := _suggestion(diagnostic.fix, diagnostic.primary.span.file)):
        data["suggestions"] = [suggestion]
    if diagnostic.related:
        data["related_locations"] = [
            {"message": visible(label.text), "location": _location(label.span)} for label in diagnostic.related
        ]
    return data


def _notice(notice: Notice, severity: str) -> dict[str, Any]:
    location = {"path": well_formed(notice.path)}
    return {"message": visible(notice.message), "location": location, "severity": severity, "code": {"value": "notice"}}


def _suggestion(fix: Fix, file: SourceFile) -> dict[str, Any] | None:
    """All edits of a fix as one; None if there are none, or if another file is edited too."""
    edits = sorted(fix.edits, key=lambda edit: (edit[0].start, edit[0].end))
    if not edits or any(span.file.path != file.path for span, _ in edits):
        return None
    start = at = edits[0][0].start
    parts: list[str] = []
    for span, replacement in edits:
        parts += (file.text[at : span.start], replacement)
        at = span.end
    return {"range": _range(file, start, at), "text": well_formed("".join(parts))}


def _location(span: Span) -> dict[str, Any]:
    """A finding's place; line ends at its end don't count."""
    end = span.start + len(span.text.rstrip("\r\n"))
    return {"path": well_formed(span.file.path), "range": _range(span.file, span.start, end)}


def _range(file: SourceFile, start: int, end: int) -> dict[str, Any]:
    return {"start": _position(file, start), "end": _position(file, end)}


def _position(file: SourceFile, offset: int) -> dict[str, int]:
    line, column = file.position(offset)
    before = file.text[offset - column + 1 : offset]
    return {"line": line, "column": len(before.encode("utf-8", "surrogatepass")) + 1}
