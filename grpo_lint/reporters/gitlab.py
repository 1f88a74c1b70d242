"""GitLab's code quality report: findings in the merge request, beside the lines that a change touches.

    [{"description": "NOT07: ... (when DEVICE=npu); help: ...",
      "check_name": "NOT07",
      "fingerprint": "...",                                  # survives moves of lines; no two findings share one
      "severity": "critical",
      "location": {"path": "run.sh", "lines": {"begin": 12, "end": 12}}}]

These are the fields that GitLab's page "Code Quality" requires, and the last line. An error is "critical", a warning
"major", a note "minor". A notice (of a file that could not be read, say) is "info", of the check "notice" at line 1.
"""

from __future__ import annotations

from hashlib import sha256
from json import dumps

from grpo_lint.reporters.characters import visible, well_formed
from grpo_lint.reporters.fingerprints import named
from grpo_lint.reporters.messages import in_one_line
from grpo_lint.reporters.places import region

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TextIO

    from grpo_lint.diagnostics import Diagnostic, Notice
    from grpo_lint.report import Report
    from grpo_lint.reporters import Style

_SEVERITIES = {"error": "critical", "warning": "major", "note": "minor"}


def write(report: Report, out: TextIO, style: Style) -> None:
    """Findings that count, then notices. A notice without a path is left out: GitLab requires one."""
    issues = [_finding(diagnostic, name) for diagnostic, why, name in named(report) if why is None]
    # No two issues may share a fingerprint, and the same notice twice says nothing more.
    notices = [_notice(notice) for notice in report.notices if notice.path]
    issues += {notice["fingerprint"]: notice for notice in notices}.values()
    # ASCII only, so that it is right in whatever encoding the stream has.
    out.write(dumps(issues, indent=2) + "\n")


def _finding(diagnostic: Diagnostic, fingerprint: str) -> dict[str, Any]:
    span = diagnostic.primary.span
    line, _, end_line, _ = region(span)
    description = f"{diagnostic.rule}: {in_one_line(diagnostic)}"
    severity = _SEVERITIES[diagnostic.severity]
    return _issue(description, diagnostic.rule, fingerprint, severity, span.file.path, (line, end_line))


def _notice(notice: Notice) -> dict[str, Any]:
    text = "\0".join(("notice", notice.path, notice.message))
    fingerprint = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return _issue(visible(notice.message), "notice", fingerprint, "info", notice.path, (1, 1))


def _issue(
    description: str, check: str, fingerprint: str, severity: str, path: str, lines: tuple[int, int]
) -> dict[str, Any]:
    return {
        "description": description,
        "check_name": check,
        "fingerprint": fingerprint,
        "severity": severity,
        "location": {"path": well_formed(path), "lines": {"begin": lines[0], "end": lines[1]}},
    }
