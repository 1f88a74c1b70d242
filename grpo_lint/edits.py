"""Edits of a text, carried over to the bytes of the file that it was read from.

Only what an edit replaces changes: the byte-order mark, the encoding, the line ends and every other byte stay.
"""

from __future__ import annotations

from grpo_lint.source import Unreadable, decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeAlias

    Edit: TypeAlias = tuple[int, int, str]
    """(start, end, replacement): code-point offsets of the text, which does not count a byte-order mark."""

MARKS = (
    # the longer ones first: a UTF-32 mark starts like one of UTF-16
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
    (b"\xef\xbb\xbf", "utf-8"),
)


def overlap(one: Edit, other: Edit) -> bool:
    """Whether two edits can't both be made: they share text, or both insert at one place, or one where one ends."""
    return one[0] <= other[1] and other[0] <= one[1] if _inserts(one) or _inserts(other) else _share(one, other)


def _inserts(edit: Edit) -> bool:
    return edit[0] == edit[1]


def _share(one: Edit, other: Edit) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def edited(text: str, edits: Iterable[Edit]) -> str:
    """A text after edits that don't overlap. A line end of a replacement becomes that of the line it comes to."""
    parts: list[str] = []
    at = 0
    for start, end, replacement in sorted(edits):
        parts += (text[at:start], _with_line_ends(text, start, replacement))
        at = end
    return "".join((*parts, text[at:]))


def applied(data: bytes, edits: Iterable[Edit]) -> bytes:
    """A file's bytes after edits of its text. Raises Unreadable for bytes that are no text."""
    text = decode(data)
    mark, encoding = next(((mark, name) for mark, name in MARKS if data.startswith(mark)), (b"", "utf-8"))
    body = data[len(mark) :].decode(encoding)
    before = body[: len(body) - len(text)]  # a second mark, which is no part of the text either
    if before + text != body:
        raise Unreadable("its encoding can't be kept")
    return mark + (before + edited(text, edits)).encode(encoding)


def _with_line_ends(text: str, at: int, replacement: str) -> str:
    if "\n" not in replacement:
        return replacement
    end = text.find("\n", at)
    if end < 0:
        end = text.rfind("\n", 0, at)
    crlf = end > 0 and text[end - 1] == "\r"
    return replacement.replace("\r\n", "\n").replace("\n", "\r\n") if crlf else replacement
