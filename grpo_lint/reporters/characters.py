"""Text that other people wrote, made fit to show: it can't steer a terminal, and its width in columns is known."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def visible(text: str) -> str:
    r"""Text on one line, in which characters that aren't seen are written as escapes: `\n`, `\x1b`, `\u202e`, `\xa0`.

    Those are controls, separators but for the space, what changes the direction of text, and lone surrogates, which
    stand for bytes of a name that isn't UTF-8 and are shown as such.
    """
    return text if text.isprintable() else "".join(map(_visible, text))


def _visible(character: str) -> str:
    if character.isprintable() or character == "\u3000":  # the wide space is seen, and usual in Chinese comments
        return character
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        code -= 0xDC00
    if code < 0x100:
        return _SHORT.get(character) or f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


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
        2 if east_asian_width(character) in "WF" else category(character) not in ("Mn", "Me") for character in text
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
