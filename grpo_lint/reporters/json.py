"""For machines: all there is to know about the findings, versioned.

    {"schema": 1,                      # changes when a field is removed or means something else; fields may be added
     "tool": {"name": "grpo-lint", "version": "0.1.0"},
     "complete": true,                 # false when a file could not be read or the linter failed on one
     "counts": {"error": 1, "warning": 0, "note": 0, "files": 14, "runs": 9, "undecided": 1, "suppressed": 2},
     "diagnostics": [{
        "rule": "NOT07", "name": "group-size-1", "severity": "error",     # error | warning | note
        "message": "...", "help": "...",                                  # help may be ""
        "key": "actor_rollout_ref.rollout.n",                             # the option it is about, or ""
        "when": ["DEVICE=npu"],                                           # conditions that all must hold
        "primary": PLACE, "related": [PLACE, ...],
        "fix": null | {"title": "...", "safe": true, "edits": [EDIT, ...]},
        "fingerprint": "..."}],                                           # survives moves of lines
     "suppressed": [{...,                                                 # findings that don't count, as above, and
        "suppression": {"kind": "comment",                                # comment | per-file-ignores | baseline
                        "reason": "...", "place": null | PLACE}}],        # reason may be ""; place is the comment's
     "undecided": [{"rule": "DO03", "path": "run.sh", "reason": "..."}],  # checks that lacked what they need
     "notices": [{"path": "data.yaml", "message": "..."}]}                # path may be ""

    PLACE = {"path": "run.sh", "line": 12, "column": 5, "end_line": 12, "end_column": 34, "text": "..."}
    EDIT  = {"path": "run.sh", "line": 12, "column": 5, "end_line": 12, "end_column": 34, "replacement": "..."}

Lines and columns count from 1, columns in code points, ends are exclusive. Paths are relative to the working directory
if below it. A byte of a file's name that isn't UTF-8 reads `\\udcXX` (a backslash and five characters), XX its value.
"""

from __future__ import annotations

from json import dumps

from grpo_lint import __version__
from grpo_lint.diagnostics import Label
from grpo_lint.reporters.characters import well_formed
from grpo_lint.reporters.fingerprints import named
from grpo_lint.reporters.places import exact_region, region

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TextIO

    from grpo_lint.diagnostics import Diagnostic, Fix
    from grpo_lint.report import Report, Suppressed
    from grpo_lint.reporters import Style
    from grpo_lint.source import SourceFile

SCHEMA = 1


def write(report: Report, out: TextIO, style: Style) -> None:
    # ASCII only, so that it is right in whatever encoding the stream has.
    out.write(dumps(document(report), indent=2) + "\n")


def document(report: Report) -> dict[str, Any]:
    """The report as plain data, in the shape that this module's docstring gives."""
    names = {rule.id: rule.name for rule in report.rules}
    found = [
        (_diagnostic(diagnostic, names.get(diagnostic.rule, ""), fingerprint), why)
        for diagnostic, why, fingerprint in named(report)
    ]
    return {
        "schema": SCHEMA,
        "tool": {"name": "grpo-lint", "version": __version__},
        "complete": not report.errors,
        "counts": {
            "error": report.count("error"),
            "warning": report.count("warning"),
            "note": report.count("note"),
            "files": report.files,
            "runs": report.runs,
            "undecided": len(report.undecided),
            "suppressed": len(report.suppressed),
        },
        "diagnostics": [data for data, why in found if why is None],
        "suppressed": [{**data, "suppression": _suppression(why)} for data, why in found if why is not None],
        "undecided": [
            {"rule": item.rule, "path": well_formed(item.path), "reason": well_formed(item.reason)}
            for item in report.undecided
        ],
        "notices": [
            {"path": well_formed(notice.path), "message": well_formed(notice.message)} for notice in report.notices
        ],
    }


def _diagnostic(diagnostic: Diagnostic, name: str, fingerprint: str) -> dict[str, Any]:
    return {
        "rule": diagnostic.rule,
        "name": name,
        "severity": diagnostic.severity,
        "message": well_formed(diagnostic.message),
        "help": well_formed(diagnostic.help),
        "key": well_formed(diagnostic.key),
        "when": [well_formed(condition) for condition in diagnostic.when],
        "primary": _place(diagnostic.primary),
        "related": [_place(label) for label in diagnostic.related],
        "fix": None if diagnostic.fix is None else _fix(diagnostic.fix),
        "fingerprint": fingerprint,
    }


def _suppression(suppressed: Suppressed) -> dict[str, Any]:
    span = suppressed.span
    return {
        "kind": suppressed.kind,
        "reason": well_formed(suppressed.reason),
        "place": None if span is None else _place(Label(span, "")),
    }


def _place(label: Label) -> dict[str, Any]:
    return {**_region(label.span.file, region(label.span)), "text": well_formed(label.text)}


def _fix(fix: Fix) -> dict[str, Any]:
    edits = [
        {**_region(span.file, exact_region(span)), "replacement": well_formed(replacement)}
        for span, replacement in fix.edits
    ]
    return {"title": well_formed(fix.title), "safe": fix.safe, "edits": edits}


def _region(file: SourceFile, numbers: tuple[int, int, int, int]) -> dict[str, Any]:
    line, column, end_line, end_column = numbers
    return {
        "path": well_formed(file.path),
        "line": line,
        "column": column,
        "end_line": end_line,
        "end_column": end_column,
    }
