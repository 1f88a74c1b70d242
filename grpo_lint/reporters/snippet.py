"""Source lines with what they are marked for underneath."""

from __future__ import annotations

from grpo_lint.reporters.characters import columns, visible, wrap
from grpo_lint.reporters.places import region

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from grpo_lint.diagnostics import Label
    from grpo_lint.source import SourceFile

    Paint = Callable[[str, str], str]

_TAB = "    "
_CUT = "..."
_LABEL = 40
"""A label that doesn't fit beside its marks is set below them, at least this wide if the terminal is."""


class Place:
    """A label with its first line worked out: `start` and `end` are offsets into that line, `last` is the last line."""

    __slots__ = ("end", "file", "last", "line", "mark", "role", "start", "text")

    def __init__(self, label: Label, mark: str, role: str) -> None:
        self.file: SourceFile = label.span.file
        self.line, column, self.last, end_column = region(label.span)
        source = self.file.line(self.line)
        self.start = min(column - 1, len(source))
        self.end = end_column - 1 if self.last == self.line else len(source.rstrip())
        self.mark = mark
        self.role = role
        self.text = label.text

    @property
    def column(self) -> int:
        return self.start + 1


def excerpt(places: Iterable[Place], margin: int, width: int, paint: Paint) -> list[str]:
    """The lines of one file that places are on, in order, each with its marks and labels.

    `margin` is the width of the line numbers. A line that is too long for `width` columns is shown around its marks.
    """
    by_line: dict[int, list[Place]] = {}
    for place in sorted(places, key=lambda place: (place.line, place.start)):
        by_line.setdefault(place.line, []).append(place)
    room = width - margin - len(" | ")
    bar = " " * margin + paint("frame", " |") + " "
    lines: list[str] = []
    previous = 0
    for number, group in by_line.items():
        if previous and number > previous + 1:
            lines.append(paint("frame", _CUT))
        source = group[0].file.line(number)
        for start, end, marked in _views(source, group, room):
            shown = (_CUT if start else "") + _show(source[start:end]) + (_CUT if end < len(source) else "")
            lines.append((paint("frame", f"{number:>{margin}} |") + " " + shown).rstrip())
            for place in marked:
                lines += (bar + line for line in _marks(place, source, start, end, room, paint))
        previous = number
    return lines


def _show(text: str) -> str:
    return visible(text.replace("\t", _TAB))


def _views(source: str, group: list[Place], room: int) -> list[tuple[int, int, list[Place]]]:
    """(start, end, places) of the parts of a line to show: one if all its marks fit in, else one a mark."""
    low, high = min(place.start for place in group), max(place.end for place in group)
    if _fits(source, room):
        return [(0, len(source), group)]
    if len(group) == 1 or _fits(source[low:high], room - 2 * len(_CUT)):
        return [(*_window(source, low, high, room), group)]
    return [(*_window(source, place.start, place.end, room), [place]) for place in group]


def _fits(text: str, room: int) -> bool:
    # The length comes first: a line may have a million characters.
    return len(text) <= 4 * room and columns(_show(text)) <= room


def _window(source: str, low: int, high: int, room: int) -> tuple[int, int]:
    """The part around [low, high) that fits in with dots at both ends; the start of it, if it is too long itself."""
    end, left = _grow(source[low:high], room - 2 * len(_CUT))
    before, rest = _grow(source[max(low - room, 0) : low][::-1], left // 2)
    after, rest = _grow(source[low + end : low + end + room], left - left // 2 + rest)
    more, _ = _grow(source[max(low - before - room, 0) : low - before][::-1], rest)
    return low - before - more, low + end + after


def _grow(text: str, room: int) -> tuple[int, int]:
    """(how many characters from the start fit in, columns left over). Combining ones count: there may be many."""
    for index, character in enumerate(text):
        size = max(columns(_show(character)), 1)
        if size > room:
            return index, room
        room -= size
    return len(text), room


def _marks(place: Place, source: str, start: int, end: int, room: int, paint: Paint) -> list[str]:
    """The marks under a place and its label: beside them if it fits, else below."""
    indent = columns(_show(source[start : place.start])) + (len(_CUT) if start else 0)
    marks = place.mark * max(columns(_show(source[place.start : min(place.end, end)])), 1)
    text = visible(place.text)
    if place.last > place.line:
        marks += _CUT
        text += f"{' ' if text else ''}(to line {place.last})"
    marked = " " * indent + paint(place.role, marks)
    if not text:
        return [marked]
    if indent + len(marks) + 1 + columns(text) <= room:
        return [marked + " " + paint(place.role, text)]
    indent = max(min(indent, room - _LABEL), 0)
    return [marked, *(" " * indent + paint(place.role, line) for line in wrap(text, room - indent))]
