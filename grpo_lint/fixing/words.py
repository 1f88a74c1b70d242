"""Edits of the arguments of a command, or of the elements of an array, in a script."""

from __future__ import annotations

from grpo_lint.diagnostics import Fix
from grpo_lint.discover import kind_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.source import SourceFile, Span

BLANKS = " \t"
_BEFORE, _AFTER = " \t\n(", " \t\n)"


def without(span: Span, title: str, safe: bool) -> Fix | None:
    """Take out an argument, and its line where nothing else stands there; None where it isn't a whole one."""
    file = span.file
    if kind_of(file.path, file.text[:2].encode("utf-8", "replace")) != "shell" or not span.text:
        return None
    start, end = _with_quotes(file.text, span.start, span.end)
    text = file.text
    if text[start - 1 : start] not in _BEFORE or (text[end : end + 1] or "\n") not in _AFTER or start == 0:
        return None
    place = _place(file, start, end)
    return Fix(title, ((place, ""),), safe, (span,)) if place is not None else None


def _with_quotes(text: str, start: int, end: int) -> tuple[int, int]:
    """A word's place with the quotes around it."""
    quote = text[start - 1 : start] if start else ""
    return (start - 1, end + 1) if quote in ("'", '"') and text[end : end + 1] == quote else (start, end)


def _place(file: SourceFile, start: int, end: int) -> Span | None:
    """What to take out so that the line, or the line before it, goes on as it did."""
    text = file.text
    line = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", end)
    stop = len(text) if stop < 0 else stop
    before, after = text[line:start], text[end:stop]
    if before.strip(BLANKS):
        while text[start - 1] in BLANKS:
            start -= 1
        return file.span(start, end)
    if after.strip(BLANKS) == "\\":
        return file.span(line, stop + 1)
    if after.strip():
        while text[end : end + 1] and text[end] in BLANKS:
            end += 1
        return file.span(start, end)
    if not text[:line].endswith("\\\n"):  # an element of an array, on a line of its own
        return file.span(line, min(stop + 1, len(text))) if line else None
    start = line - len("\\\n")  # the last argument: the line before it ends the command now
    while start and text[start - 1] in BLANKS:
        start -= 1
    return file.span(start, end)
