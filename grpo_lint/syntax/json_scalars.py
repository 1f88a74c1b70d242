"""JSON's strings, numbers and words, and what hjson makes of text without quotes."""

from __future__ import annotations

import re

from grpo_lint.syntax.document import MAX_DIGITS, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PLAIN = {'"': re.compile(r'[^"\\\x00-\x1f]*'), "'": re.compile(r"[^'\\\x00-\x1f]*")}
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_LINE = re.compile(r"[^\r\n]*")
_END = r"(?=[\r\n,}\]#]|//|/\*|\Z)"
_HJSON_WORD = re.compile(rf"(null|true|false)[^\S\r\n]*{_END}")
_HJSON_NUMBER = re.compile(rf"(-?(?:0|[1-9]\d*))(\.\d+)?([eE][-+]?\d+)?[\t ]*{_END}")
_JSON_WORD = r"[^\s,\[\]{}:\"]+|."
_JSON_NUMBER = r"(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][-+]?[0-9]+)?"
_WORDS: dict[str, Any] = {"null": None, "true": True, "false": False}
_JSON_WORDS = {**_WORDS, "NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


class BadScalar(Exception):
    """A scalar that the reader refuses; `data` is what comes closest to it, `end` where it ends."""

    def __init__(self, kind: str, message: str, data: Any, end: int) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.data = data
        self.end = end


def unquoted(text: str, start: int) -> tuple[Any, int, int]:
    """(data, end, where to read on) of a scalar without quotes, as hjson reads it. Raises BadScalar."""
    match = _HJSON_WORD.match(text, start)
    if match is not None:
        return _WORDS[match[1]], match.end(1), match.end()
    match = _HJSON_NUMBER.match(text, start)
    if match is None or text[start] not in "-0123456789":
        line = _LINE.match(text, start)
        assert line is not None
        stripped = line.group().strip()
        return stripped, start + len(line.group().rstrip()), line.end()
    end = start + len(match.group().rstrip("\t "))
    if match[2] is None and match[3] is None:
        return _integer(text, start, end), end, match.end()
    number = float(match[1] + (match[2] or "") + (match[3] or ""))
    if number in (float("inf"), float("-inf")):
        raise BadScalar("value", f"{shown(text[start:end])} is too large for a float; hjson fails on it", number, end)
    return (int(number) if number.is_integer() and abs(number) < 1e10 else number), end, match.end()


def strict_word(text: str, start: int) -> tuple[Any, int, int]:
    """(data, end, where to read on) of a number or word, as Python's json module reads it. Raises BadScalar."""
    word = re.compile(_JSON_WORD, re.DOTALL).match(text, start)
    assert word is not None
    found, end = word.group(), word.end()
    if found in _JSON_WORDS:
        return _JSON_WORDS[found], end, end
    match = re.fullmatch(_JSON_NUMBER, found)
    if match is None:
        raise BadScalar("syntax", f"{shown(found)} is not JSON; a string needs double quotes", found, end)
    if match[2] is None and match[3] is None:
        return _integer(text, start, end), end, end
    return float(found), end, end


def _integer(text: str, start: int, end: int) -> int:
    if end - start > MAX_DIGITS:
        message = f"a number of {end - start:,} digits; Python reads at most {MAX_DIGITS:,}"
        raise BadScalar("value", message, text[start:end], end)
    return int(text[start:end])


def quoted(text: str, start: int, relaxed: bool) -> tuple[str | None, int, list[tuple[str, int]]]:
    """(data, end, faults as message and offset) of a quoted string; the data is None if it isn't closed on its line."""
    quote = text[start]
    plain = _PLAIN[quote]
    at, chunks = start + 1, list[str]()
    faults: list[tuple[str, int]] = []
    while True:
        end = plain.match(text, at).end()  # type: ignore[union-attr]
        chunks.append(text[at:end])
        char = text[end : end + 1]
        if char == quote:
            return "".join(chunks), end + 1, faults
        if char == "" or char in "\r\n":
            return None, end, [*faults, ("this string is not closed on its line", start)]
        if char == "\\":
            piece, at = _escape(text, end, relaxed)
            chunks.append(piece)
            if not piece:
                faults.append(("this escape is not JSON's", end))
        else:
            faults.append((f"a control character (U+{ord(char):04X}) in a string needs an escape", end))
            chunks.append(char)
            at = end + 1


def _escape(text: str, at: int, relaxed: bool) -> tuple[str, int]:
    """(what an escape stands for, its end); nothing for a wrong one."""
    char = text[at + 1 : at + 2]
    if char in _ESCAPES:
        return _ESCAPES[char], at + 2
    if char == "'" and relaxed:
        return "'", at + 2
    code = _code(text[at + 2 : at + 6], relaxed) if char == "u" else None
    if code is None:
        return "", at + 1
    if 0xD800 <= code < 0xDC00 and text.startswith("\\u", at + 6):
        low = _code(text[at + 8 : at + 12], relaxed)
        if low is not None and 0xDC00 <= low < 0xE000:
            return chr(0x10000 + ((code - 0xD800) << 10 | low - 0xDC00)), at + 12
    return chr(code), at + 6


def _code(digits: str, relaxed: bool) -> int | None:
    """The number that four hexadecimal digits make; hjson takes whatever Python's int takes, but for `0x`."""
    if len(digits) != 4 or digits[1] in "xX" or not (relaxed or (digits.isalnum() and digits.isascii())):
        return None
    try:
        code = int(digits, 16)
    except ValueError:
        return None
    return code if code >= 0 else None


def multiline(text: str, start: int) -> tuple[str, int] | None:
    """(data, end) of a string in triple quotes, as hjson reads it; None if it isn't closed.

    Each line loses as much leading white space as there are characters before the quotes on their line. On the first
    line of a text, hjson counts those after the last line break as well, and fails where there is none.
    """
    newline = text.rfind("\n", 0, start)
    if newline < 0:
        newline = text.rfind("\n") - len(text)
        if newline < -len(text):
            return None
    margin = rf"[ \t\r]{{0,{start - newline - 1}}}"
    opening = re.compile(rf"[ \t\r]*(?:\n{margin})?").match(text, start + 3)
    assert opening is not None
    end = text.find("'''", opening.end())
    if end < 0:
        return None
    body = re.sub(rf"\n{margin}", "\n", text[opening.end() : end]).replace("\r", "")
    return body.removesuffix("\n"), end + 3
