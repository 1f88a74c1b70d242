"""Source lines with their marks: a finding in its place, as text that can be copied without its line numbers."""

from __future__ import annotations

from itertools import pairwise

from grpo_lint.reporters.html.elements import element, text
from grpo_lint.reporters.html.masking import covered, uncover
from grpo_lint.reporters.markup import escaped
from grpo_lint.reporters.snippet import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from grpo_lint.diagnostics import Diagnostic
    from grpo_lint.source import SourceFile, Span

AROUND = 2
"""Lines of context before and after one that is marked."""
MAX_MARKED = 12
"""Lines of one mark that are shown; what is below is told."""
MAX_LINE = 240
"""Characters of a line that are shown, around its first mark."""
MAX_PLACES = 20
"""Related places that are shown of one finding."""


def excerpts(diagnostic: Diagnostic) -> Iterator[str]:
    """The places of a finding, a figure for each file."""
    related = diagnostic.related[:MAX_PLACES]
    places = [Place(diagnostic.primary, "", "primary"), *(Place(label, "", "related") for label in related)]
    files: dict[str, list[Place]] = {}
    for place in places:
        files.setdefault(place.file.path, []).append(place)
    for path, group in files.items():
        where = text(f"{path}:{group[0].line}:{group[0].column}")
        caption = element("figcaption", where)
        code = element(
            "pre", "\n".join(_lines(group[0].file, group)), tabindex=0, role="group", aria_label=f"lines of {path}"
        )
        yield element("figure", caption, code)
    if len(diagnostic.related) > MAX_PLACES:
        yield element("p", f"and {len(diagnostic.related) - MAX_PLACES:,} more places", class_="more")


def _lines(file: SourceFile, places: list[Place]) -> Iterator[str]:
    """The lines of a file that places are on and those around them; `...` where lines are left out."""
    marked: dict[int, list[Place]] = {}
    for place in sorted(places, key=lambda place: (place.role != "primary", place.line, place.start)):
        for number in range(place.line, min(place.last, place.line + MAX_MARKED - 1) + 1):
            marked.setdefault(number, []).append(place)
    last = len(file.starts) - (file.text.endswith("\n"))
    wanted = sorted(
        {number for line in marked for number in range(max(line - AROUND, 1), min(line + AROUND, max(last, line)) + 1)}
    )
    before = 0
    for number in wanted:
        if before and number > before + 1:
            yield element("span", "...", class_="gap")
        yield _line(file, number, marked.get(number, []))
        yield from (_note(place) for place in marked.get(number, ()) if place.line == number and _told(place))
        before = number


def _line(file: SourceFile, number: int, places: list[Place]) -> str:
    source = covered(file.line(number))
    if any(place.line == number and place.start >= len(source) for place in places):
        source += " "  # what is marked is the end of the line
    ranges = [_on(place, number, source) for place in places]
    start, end = _window(source, ranges[0] if ranges else (0, 0))
    code = "".join(_pieces(source, start, end, places, ranges))
    shown = ("..." if start else "") + code + ("..." if end < len(source) else "")
    return element("span", element("span", str(number), class_="number"), shown, class_="line")


def _on(place: Place, number: int, source: str) -> tuple[int, int]:
    """The part of a line that a place marks; a place without width marks the character after it."""
    start = place.start if number == place.line else len(source) - len(source.lstrip())
    end = place.end if number == place.line else len(source.rstrip())
    return start, max(end, min(start + 1, len(source)))


def _window(source: str, mark: tuple[int, int]) -> tuple[int, int]:
    if len(source) <= MAX_LINE:
        return 0, len(source)
    start = max(0, min(mark[0] - MAX_LINE // 4, len(source) - MAX_LINE))
    return start, start + MAX_LINE


def _pieces(source: str, start: int, end: int, places: list[Place], ranges: list[tuple[int, int]]) -> Iterator[str]:
    """A line's text, with a mark around each part that is marked; where marks overlap, the finding's own wins."""
    edges = sorted({start, end, *(edge for one in ranges for edge in one if start < edge < end)})
    for low, high in pairwise(edges):
        piece = escaped(uncover(source[low:high].replace("\t", "    ")))
        role = next((p.role for p, (a, b) in zip(places, ranges, strict=True) if a <= low and high <= b), "")
        yield element("mark", piece, class_=role) if role else piece


def _told(place: Place) -> str:
    more = f"(to line {place.last})" if place.last > place.line + MAX_MARKED - 1 else ""
    return " ".join(part for part in (place.text, more) if part)


def _note(place: Place) -> str:
    return element("span", text(_told(place)), class_=f"label {place.role}")


def edits(diagnostic: Diagnostic) -> str:
    """The lines that a fix replaces, and what they become; empty without one."""
    fix = diagnostic.fix
    if fix is None or not fix.edits:
        return ""
    parts: list[str] = []
    for file, start, end, new in _changed(fix.edits):
        line = file.position(start)[0]
        code = "".join((*_side("del", "-", file.text[start:end]), *_side("ins", "+", new)))
        caption = element("figcaption", text(f"{file.path}:{line}"))
        parts.append(
            element("figure", caption, element("pre", code.rstrip("\n"), tabindex=0, role="group", aria_label="edit"))
        )
    kind = "Fix" if fix.safe else "Fix that may change training"
    return element("div", element("p", element("b", kind), " ", text(fix.title)), *parts, class_="fix")


def _changed(edits: Iterable[tuple[Span, str]]) -> Iterator[tuple[SourceFile, int, int, str]]:
    """(file, start, end, new text) of the whole lines that edits change; those that share a line are one change."""
    files: dict[str, list[tuple[Span, str]]] = {}
    for span, new in edits:
        files.setdefault(span.file.path, []).append((span, new))
    for listed in files.values():
        listed.sort(key=lambda edit: (edit[0].start, edit[0].end))
        file = listed[0][0].file
        start, end, new = _lines_of(listed[0][0]), 0, ""
        at = start
        for span, replacement in listed:
            if end and _lines_of(span) >= end:
                yield file, start, end, new + file.text[at:end]
                start = at = _lines_of(span)
                new = ""
            new += file.text[at : span.start] + replacement
            at = span.end
            newline = file.text.find("\n", max(span.end - 1, span.start))
            end = newline + 1 if newline >= 0 else len(file.text)
        yield file, start, end, new + file.text[at:end]


def _lines_of(span: Span) -> int:
    """The offset at which the line that a span starts on starts."""
    return span.file.text.rfind("\n", 0, span.start) + 1


def _side(tag: str, mark: str, code: str) -> Iterator[str]:
    lines = code.removesuffix("\n").split("\n") if code else []
    for line in lines[:MAX_MARKED]:
        yield element(tag, f"{mark} ", text(line.removesuffix("\r").replace("\t", "    "))) + "\n"
    if len(lines) > MAX_MARKED:
        yield f"{mark} ... {len(lines) - MAX_MARKED:,} more lines\n"
