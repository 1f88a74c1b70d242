"""Backslash escapes, as `$'...'`, `echo -e` and `printf` read them."""

from __future__ import annotations

import re

ANSI = r"\\(?:([abeEfnrtv\\'\"?])|([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|c(.))"
ANSI_CHARS = dict(zip("abeEfnrtv\\'\"?", "\a\b\x1b\x1b\f\n\r\t\v\\'\"?", strict=True))


def unescaped(text: str) -> str:
    return re.sub(ANSI, _char, text)


def _char(match: re.Match[str]) -> str:
    plain, octal, short, code, long, control = match.groups()
    if plain:
        return ANSI_CHARS[plain]
    if control:
        return chr(ord(control) & 31)
    number = int(octal, 8) if octal else int(short or code or long, 16)
    return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"
