"""For people: each finding with its source lines, what else has to do with it, and what to do about it."""

from __future__ import annotations

from grpo_lint.reporters.characters import count, emit, shown_path, visible, wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

    from grpo_lint.diagnostics import Diagnostic
    from grpo_lint.report import Report
    from grpo_lint.reporters import Style
    from grpo_lint.reporters.snippet import Place

_CODES = {"error": "1;31", "warning": "1;33", "note": "1;36", "bold": "1", "frame": "1;34", "help": "1;32"}
_INDENT = "    "
NARROWEST = 40
"""Terminals with fewer columns are treated as if they had this many."""
SAFE, UNSAFE = "--fix", "--fix --unsafe-fixes"
"""The options that make safe fixes, and those that make unsafe ones, too."""


class Paint:
    """Wraps text in ANSI colours, or leaves it alone: `paint("error", text)`."""

    __slots__ = ("color",)

    def __init__(self, color: bool) -> None:
        self.color = color

    def __call__(self, role: str, text: str) -> str:
        return f"\x1b[{_CODES[role]}m{text}\x1b[0m" if self.color and text else text


def write(report: Report, out: TextIO, style: Style) -> None:
    """Findings in order, notices, and a summary. All text is made harmless to terminals."""
    paint = Paint(style.color)
    width = max(style.width, NARROWEST)
    names = {rule.id: rule.name for rule in report.rules}
    lines: list[str] = []
    for diagnostic in report.diagnostics:
        lines += _finding(diagnostic, names.get(diagnostic.rule, ""), width, paint)
        lines.append("")
    for notice in report.notices:
        where = f"{shown_path(notice.path)}: " if notice.path else ""
        text = wrap(where + visible(notice.message), width, _INDENT, len("notice: "))
        lines += [paint("warning", "notice") + ": " + text[0], *text[1:]]
    if report.notices:
        lines.append("")
    lines += wrap(summary(report), width)
    if fixable := fixes(report):
        lines += wrap(fixable, width)
    emit("\n".join(lines) + "\n", out)


def _finding(diagnostic: Diagnostic, name: str, width: int, paint: Paint) -> list[str]:
    from grpo_lint.reporters.snippet import Place, excerpt  # most runs have nothing to show

    severity = diagnostic.severity
    title = f"{severity}[{diagnostic.rule}{' ' if name else ''}{name}]"
    message = wrap(": " + visible(diagnostic.message), width, _INDENT, len(title))
    lines = [paint(severity, title) + paint("bold", message[0]), *(paint("bold", line) for line in message[1:])]
    places = [Place(diagnostic.primary, "^", severity), *(Place(label, "-", "frame") for label in diagnostic.related)]
    margin = len(str(max(place.line for place in places)))
    bar = " " * margin + paint("frame", " |")
    files: dict[str, list[Place]] = {}
    for place in places:
        files.setdefault(place.file.path, []).append(place)
    for path, group in files.items():
        line, column = group[0].line, group[0].column
        arrow = " " * margin + paint("frame", "--> " if group[0] is places[0] else "::: ")
        lines += [arrow + f"{shown_path(path)}:{line}:{column}", bar]
        lines += excerpt(group, margin, width, paint)
        lines.append(bar)
    notes = [
        ("note", "when", visible(" and ".join(diagnostic.when))),
        ("help", "help", "" if _is_help(diagnostic) else diagnostic.help),
        ("help", "fix", _offer(diagnostic)),
    ]
    for role, word, text in notes:
        if text:
            lines += _note(margin, role, word, text, width, paint)
    if not any(text for _, _, text in notes):
        lines.pop()
    return lines


def _note(margin: int, role: str, word: str, text: str, width: int, paint: Paint) -> list[str]:
    """A text under the excerpt, each of its lines wrapped: `   = help: set rollout.n to 5 or more`."""
    indent = " " * (margin + len(" = : ") + len(word))
    lines: list[str] = []
    for part in text.split("\n"):
        first, *rest = wrap(visible(part), width, indent, len(indent))
        lines += [indent + first, *rest]
    lines[0] = " " * margin + paint("frame", " = ") + paint(role, word) + ": " + lines[0][len(indent) :]
    return lines


def _is_help(diagnostic: Diagnostic) -> bool:
    """Whether a fix does what the help says, in the same words."""
    return diagnostic.fix is not None and bool(diagnostic.fix.edits) and diagnostic.fix.title == diagnostic.help


def _offer(diagnostic: Diagnostic) -> str:
    """What a fix does, and the options that make it: `set overlap_comm to false [--fix]`."""
    fix = diagnostic.fix
    return f"{fix.title} [{SAFE if fix.safe else UNSAFE}]" if fix is not None and fix.edits else ""


def fixes(report: Report) -> str:
    """How many findings can be fixed, and how; empty if none: `3 fixable with --fix, 1 more with --unsafe-fixes`."""
    safe = [diagnostic.fix.safe for diagnostic in report.diagnostics if diagnostic.fix and diagnostic.fix.edits]
    if not safe:
        return ""
    some, more = sum(safe), len(safe) - sum(safe)
    if not some:
        return f"{more} fixable with {UNSAFE}"
    return f"{some} fixable with {SAFE}" + (f", {more} more with {UNSAFE}" if more else "")


def summary(report: Report) -> str:
    """The counts in a line: `1 error in 1 file (14 files, 9 runs checked; 2 checks undecided)`."""
    found = [
        count(number, severity)
        for severity in ("error", "warning", "note")
        if (number := sum(diagnostic.severity == severity for diagnostic in report.diagnostics))
    ]
    if found:
        paths = {diagnostic.primary.span.file.path for diagnostic in report.diagnostics}
        head = f"{', '.join(found)} in {count(len(paths), 'file')}"
    else:
        head = "no findings"
    checked = f"{count(report.files, 'file')}, {count(report.runs, 'run')} checked"
    undecided = f"; {count(len(report.undecided), 'check')} undecided" if report.undecided else ""
    failed = "; not everything could be read" if report.errors else ""
    return f"{head} ({checked}{undecided}{failed})"
