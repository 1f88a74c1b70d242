"""Text that other people wrote, made fit to show: it can't steer a terminal, and its width in columns is known."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

_STEERING = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # controls, of 7 and of 8 bits: line breaks, ANSI sequences
    "\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff"  # invisible, or changing the direction of what follows
    "\u2028\u2029"  # line and paragraph separators
    "\ud800-\udfff]"  # what stands for a byte of a name that isn't UTF-8; no stream can encode it
)
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def visible(text: str) -> str:
    r"""Text on one line, in which characters that aren't seen are written as escapes: `\n`, `\x1b`, `\u202e`."""
    return _STEERING.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        code -= 0xDC00
    return _SHORT.get(character) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


def shown_path(path: str) -> str:
    """A path to begin a line with. A leading `::` would make the line a command to GitHub's runner."""
    return visible("./" + path if path.startswith("::") else path)


def well_formed(text: str) -> str:
    """Text without lone surrogates, which many readers of JSON refuse; they are written as escapes."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def columns(text: str) -> int:
    """How many columns of a terminal a text takes that `visible` has seen: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width

    return sum(
        2 if east_asian_width(character) in "WF" else category(character) not in ("Mn", "Me", "Cf")
        for character in text
    )


def wrap(text: str, width: int, indent: str = "", first: int = 0) -> list[str]:
    """A text as lines of at most `width` columns, broken at spaces only: a path or an option stays in one piece.

    The first line has `first` columns taken by what the caller puts before it; the others begin with `indent`.
    """
    lines: list[str] = []
    line, *words = text.split(" ")
    used = first + columns(line)
    for word in words:
        size = columns(word)
        if used + 1 + size > width and line.strip():
            lines.append(line)
            line, used = indent + word, len(indent) + size
        else:
            line, used = f"{line} {word}", used + 1 + size
    return [*lines, line]


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def emit(text: str, out: TextIO) -> None:
    """Write, whatever the stream's encoding: what it can't say is written as escapes."""
    encoding = getattr(out, "encoding", None) or "utf-8"
    out.write(text.encode(encoding, "backslashreplace").decode(encoding))
