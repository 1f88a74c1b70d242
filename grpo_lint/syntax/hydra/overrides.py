"""Hydra's command-line overrides: `key=value`, `+key=`, `++key=`, `~key`, `group@package=choice`.

`parse(word)` never raises. What Hydra's own parser refuses is `Override.problem`, at the place where that parser fails.
A part of the word that only the running shell could know makes the value `Unknown` (or, inside a quoted element of a
list, that element); in the key it makes the key unknown: `Override.key` is then "" and `Override.reason` says why.
Facts: hydra-core 1.3.2, hydra/grammar/*.g4 and hydra/core/override_parser.
"""

from __future__ import annotations

import re

from grpo_lint.located import DYNAMIC, Problem, Unknown, Value
from grpo_lint.patterns import lazy
from grpo_lint.syntax.hydra.primitives import MAX_DEPTH, PLAIN, Refused, Sweep, TooDeep, scalar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.located import Word
    from grpo_lint.source import Span

_NAME = r"[A-Za-z_][A-Za-z0-9_-]*"
_SPECIAL = r"[A-Za-z_$][A-Za-z0-9_$-]*"
_STEP = rf"(?:{_SPECIAL}|0|[1-9](?:_?[0-9])*)"
_PATH = rf"{_STEP}(?:\.{_STEP})+"
_PACKAGE = rf"(?:{_PATH}|{_SPECIAL})?"
_KEY = lazy(rf"(\+\+|\+|~|)({_NAME}(?:/{_NAME})+|{_PACKAGE})(?:@({_PACKAGE}))?(?==|\Z)")
_KEY_TOKEN = rf"({_PATH})|({_SPECIAL})|([~+@:/=])"
_SPACES = " \t"


class Override:
    """One override, with the places of its parts.

    `prefix` is "", "+", "++" or "~"; `key` a dotted path or a group (`a/b`) without the prefix and the package;
    `package` what follows `@`, None without one. `value` is None for `~key` and where `problem` stands; its data is a
    Sweep (a kind of Unknown) for `a,b`, choice(), range(), interval() and glob(). `key_span` covers key and package.
    """

    __slots__ = ("key", "key_span", "package", "prefix", "prefix_span", "problem", "reason", "value", "word")

    def __init__(self, word: Word) -> None:
        self.word = word
        self.prefix = ""
        self.key = ""
        self.package: str | None = None
        self.value: Value | None = None
        self.problem: Problem | None = None
        self.reason = ""
        self.key_span = self.prefix_span = word.span

    def __repr__(self) -> str:
        return f"Override({self.text!r})"

    @property
    def text(self) -> str:
        return self.word.text

    @property
    def span(self) -> Span:
        return self.word.span

    @property
    def sweep(self) -> Sweep | None:
        """The sweep that this override asks for, which only a multi-run accepts."""
        data = self.value.data if self.value is not None else None
        return data if isinstance(data, Sweep) else None

    @property
    def target(self) -> str:
        """The key with its package, as Hydra names a group in the defaults list: `db@backup`."""
        return self.key if self.package is None else f"{self.key}@{self.package}"


def parse(word: Word) -> Override:
    """Reads one word of a command line as an override."""
    override = Override(word)
    text = word.text
    head = text.partition("=")[0]
    if DYNAMIC in head:
        override.reason = word.cut(0, len(head)).reason
        return override
    parts = _key(text, head)
    if parts is None:
        override.problem = _key_problem(word, text)
        return override
    override.prefix, override.key, override.package, end = parts
    start = len(override.prefix)
    override.key_span = word.cut(start, end).span
    override.prefix_span = word.cut(0, start).span if start else override.key_span
    if end == len(text):
        if override.prefix != "~":
            override.problem = _problem(word, Refused("there is no '=' after the key", len(text), len(text)))
        return override
    try:
        override.value = _value(word, text, end + 1)
    except Refused as refused:
        override.problem = _problem(word, refused)
    if override.value is not None:
        override.value.key_span = override.key_span
    return override


def _key(text: str, head: str) -> tuple[str, str, str | None, int] | None:
    """(prefix, key, package, where the key ends), None where Hydra can't read it. Most keys are plain dotted names."""
    if len(head) < len(text) and head.isascii() and all(part.isidentifier() for part in head.split(".")):
        return "", head, None, len(head)
    match = _KEY.match(text)
    return None if match is None else (match[1], match[2], match[3], match.end())


def _value(word: Word, text: str, start: int) -> Value:
    """The value that starts at an offset. Raises Refused where Hydra's parser is sure to fail."""
    while start < len(text) and text[start] in _SPACES:
        start += 1
    known = text[start:].replace(DYNAMIC, "")
    if not known or (len(text) < 1000 and PLAIN.fullmatch(known)):
        part = word.cut(start)
        via = tuple(place for piece in part.pieces for place in piece.via) + part.via
        data = Unknown(part.reason) if DYNAMIC in part.text else scalar(known)
        return Value(data, part.span, raw=text[start:], via=via)
    from grpo_lint.syntax.hydra.grammar import ValueParser  # here, since most values are plain

    parser = ValueParser(word, text, start)
    try:
        value = parser.value()
    except TooDeep:
        return parser.make(Unknown(f"it nests more than {MAX_DEPTH} deep"), start, len(text))
    except Refused as refused:
        if refused.end >= parser.dynamic:
            return parser.make(Unknown(word.cut(start).reason), start, len(text))
        raise
    if parser.dynamic <= len(text):
        return parser.make(Unknown(word.cut(start).reason), start, len(text))
    return value


def _problem(word: Word, refused: Refused) -> Problem:
    span = word.cut(refused.start, refused.end).span
    return Problem(f"hydra can't read `{_short(word.text)}`: {refused.message}", span)


def _short(text: str) -> str:
    text = text.replace(DYNAMIC, "...")
    return text if len(text) <= 60 else text[:57] + "..."


def _key_problem(word: Word, text: str) -> Problem:
    """Why a key can't be read, at the token where Hydra's parser gives up."""
    at = 2 if text.startswith("++") else 1 if text[:1] in ("+", "~") else 0
    allowed = "name path special @ ="
    while at < len(text):
        token = re.compile(_KEY_TOKEN).match(text, at)
        if token is None:
            message = f"{text[at]!r} can't stand in a key"
            return _problem(word, Refused(message, at, at + 1))
        kind = ("path", "special" if "$" in token[0] else "name", token[0])[(token.lastindex or 1) - 1]
        if kind not in allowed.split():
            return _problem(word, Refused(f"{token[0]!r} can't stand here in a key", at, token.end()))
        allowed = _following(kind, allowed)
        at = token.end()
    return _problem(word, Refused("the key ends too early", at, at))


def _following(kind: str, allowed: str) -> str:
    """What may follow a token of a key, given what could have stood in its place."""
    in_package = "@" not in allowed and "/" not in allowed and "=" in allowed
    if kind == "/":
        return "name"
    if kind == "@":
        return "name path special ="
    if kind == "name":
        return "=" if in_package else "/ @ ="
    return "=" if in_package else "@ ="
