"""What most override values need of Hydra's grammar: numbers, keywords and plain text, without its parser.

Facts: as in grammar.py.
"""

from __future__ import annotations

from grpo_lint.located import Unknown
from grpo_lint.patterns import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from grpo_lint.located import Value

MAX_DEPTH = 100

_DIGITS = r"[0-9](?:_?[0-9])*"
_UNSIGNED = r"(?:0|[1-9](?:_?[0-9])*)"
INT = lazy(rf"[+-]?{_UNSIGNED}")
FLOAT = lazy(
    rf"[+-]?(?:(?:{_UNSIGNED}\.(?:{_DIGITS})?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?|{_UNSIGNED}[eE][+-]?{_DIGITS}"
    r"|[Ii][Nn][Ff]|[Nn][Aa][Nn])"
)
PLAIN = lazy(r"[A-Za-z0-9_/\-+.%*@?|:]+")
"""Text of these characters alone is one primitive: a number or a keyword if all of it is, else itself."""

KEYWORDS = {"true": True, "false": False, "null": None}


class Refused(Exception):
    """Hydra's parser fails at `start` (an offset in the word's text) on the token that ends at `end`."""

    def __init__(self, message: str, start: int, end: int) -> None:
        super().__init__(message)
        self.message = message
        self.start = start
        self.end = end


def scalar(text: str) -> Any:
    """The data of a primitive that is a single token or plain text: a number, a boolean, null, or the text."""
    word = text.lower()
    if word in KEYWORDS:
        return KEYWORDS[word]
    if text.isdecimal() and text.isascii():  # as INT says, without compiling it: no zero leads another digit
        return int(text) if text[0] != "0" or len(text) == 1 else text
    if text[-1:] in "0123456789.fFnN" and text[:1] in "0123456789.+-iInN":
        whole, _, fraction = text.partition(".")
        if whole.isdecimal() and fraction.isdecimal() and text.isascii() and (whole[0] != "0" or len(whole) == 1):
            return float(text)
        if INT.fullmatch(text):
            return int(text)  # ValueError past Python's limit of 4,300 digits, as in Hydra
        if FLOAT.fullmatch(text):
            return float(text)
    return text


class TooDeep(Exception):
    """Lists, dicts and calls nest deeper than MAX_DEPTH: Hydra may read that, we don't."""


class Sweep(Unknown):
    """A value that a multi-run sweeps over; a plain run refuses it.

    `kind` is "choice" (`items` are the alternatives), "range" (`bounds`: start, stop, step), "interval" (`bounds`:
    start, end) or "glob" (`bounds`: patterns to include, patterns to exclude). `simple` marks `a,b` without `choice()`.
    """

    __slots__ = ("bounds", "items", "kind", "simple")

    def __init__(
        self, kind: str, items: tuple[Value, ...] = (), bounds: tuple[Any, ...] = (), simple: bool = False
    ) -> None:
        super().__init__(f"a {kind} sweep, one value per job")
        self.kind = kind
        self.items = items
        self.bounds = bounds
        self.simple = simple

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)
