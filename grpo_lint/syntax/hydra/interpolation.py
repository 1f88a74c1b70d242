"""OmegaConf's interpolations, from text to a small tree: `${a.b}`, `${..x}`, `${oc.env:X,1}`, nested and escaped.

    parse("x ${a.b}") == ["x ", Reference(...)]          # Malformed where OmegaConf refuses the text

Facts: omegaconf 2.3.1, grammar_visitor.py and the grammar that its parser was generated from.
"""

from __future__ import annotations

import re

from grpo_lint.patterns import lazy
from grpo_lint.syntax.hydra.grammar import lex
from grpo_lint.syntax.hydra.primitives import scalar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    Part: TypeAlias = "str | Reference | Call"

MAX_DEPTH = 40
"""Interpolations, lists and dicts nest at most this deep in one text."""

_KEY = lazy(r"""[^\\{}()\[\]:. \t'"]+""")
_NAME = lazy(r"[A-Za-z_][A-Za-z0-9_-]*")
_SPACES = lazy(r"[ \t]*")
_BACKSLASHES = lazy(r"\\+")
_LITERAL = {quote: re.compile(rf"(?:[^\\${quote}]|\$(?!\{{))+") for quote in ("", "'", '"')}
_PRIMITIVE = frozenset(("id", "word", "number", "char", ":", "escape", "space"))


class Malformed(Exception):
    """OmegaConf can't read the interpolation; `at` is the offset in the text where that shows."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.message = message
        self.at = at


class Reference:
    """`${a.b}`: the key as written, dots and brackets included, in parts that may themselves be interpolations."""

    __slots__ = ("parts",)

    def __init__(self, parts: list[Part]) -> None:
        self.parts = parts


class Call:
    """`${name:a,b}`: a resolver and its arguments."""

    __slots__ = ("args", "name")

    def __init__(self, name: list[Part], args: list[Element]) -> None:
        self.name = name
        self.args = args


class Element:
    """An argument. `kind` is "scalar" (data, in `parts`), "text" (parts to join), "quoted", "list" or "dict"."""

    __slots__ = ("kind", "parts")

    def __init__(self, kind: str, parts: list[Any]) -> None:
        self.kind = kind
        self.parts = parts


def is_interpolation(data: Any) -> bool:
    """Whether OmegaConf takes a value for an interpolation; an escaped one counts, since it must be unescaped."""
    return isinstance(data, str) and "${" in data


def parse(text: str) -> list[Part]:
    """The parts of a text, literal or interpolated. Raises Malformed."""
    return _Reader(text).text("")


def parse_element(text: str) -> Element:
    """A text as one argument of a resolver would be read, for `oc.decode`. Raises Malformed."""
    reader = _Reader(text)
    element = reader.element()
    if reader.at < len(text):
        raise reader.malformed("what comes before it ends the value")
    return element


class _Reader:
    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0
        self.depth = 0

    def malformed(self, reason: str) -> Malformed:
        found = self.source[self.at : self.at + 1]
        return Malformed(f"{found!r} can't stand here: {reason}" if found else f"it ends too early: {reason}", self.at)

    def text(self, quote: str) -> list[Part]:
        """Text up to the end, or up to the closing quote, which is left to be read."""
        parts: list[Part] = []
        source = self.source
        while self.at < len(source) and source[self.at] != (quote or None):
            if source.startswith("${", self.at):
                parts.append(self.interpolation())
            elif source[self.at] == "\\":
                self.backslashes(quote, parts)
            else:
                literal = _LITERAL[quote].match(source, self.at)
                self.at = literal.end() if literal else self.at + 1
                parts.append(literal[0] if literal else "")
        return parts

    def backslashes(self, quote: str, parts: list[Part]) -> None:
        """A run of backslashes: they escape, in pairs, before an interpolation or the quote; else they are text."""
        match = _BACKSLASHES.match(self.source, self.at)
        run = match[0] if match else ""
        self.at += len(run)
        following = next((sign for sign in ("${", quote) if sign and self.source.startswith(sign, self.at)), "")
        if not following:
            parts.append(run)
            return
        parts.append(run[: len(run) // 2])
        if len(run) % 2:
            parts.append(following)
            self.at += len(following)

    def interpolation(self) -> Reference | Call:
        self.deeper()
        self.at += 2
        self.skip_spaces()
        parts: list[Part] = []
        self.signs(".", parts)
        found: Reference | Call | None = None
        while found is None:
            if self.signs("[", parts, 1):
                parts.append(self.key())
                if not self.signs("]", parts, 1):
                    raise self.malformed("']' is expected")
            else:
                parts.append(self.key())
            mark = self.mark()
            if self.source.startswith("}", mark):
                self.at = mark + 1
                found = Reference(parts)
            elif self.source.startswith(":", mark) and _names_resolver(parts):
                self.at = mark + 1
                self.skip_spaces()
                found = Call(parts, self.sequence("}"))
            elif not self.signs(".", parts, 1) and not self.source.startswith("[", self.at):
                raise self.malformed("'}' is expected")
            elif parts[-1] == "." and self.source.startswith("[", self.at):
                raise self.malformed("a key is expected")
        self.depth -= 1
        return found

    def signs(self, sign: str, parts: list[Part], limit: int = MAX_DEPTH) -> bool:
        """Reads up to `limit` equal signs into the parts; whether there were any."""
        start = self.at
        while self.at - start < limit and self.source.startswith(sign, self.at):
            parts.append(sign)
            self.at += 1
        return self.at > start

    def key(self) -> Part:
        if self.source.startswith("${", self.at):
            return self.interpolation()
        key = _KEY.match(self.source, self.at)
        if key is None:
            raise self.malformed("a key is expected")
        self.at = key.end()
        return key[0]

    def sequence(self, close: str) -> list[Element]:
        """Arguments up to the closing sign, which is read too; an empty one between commas is the empty text."""
        elements: list[Element] = []
        if self.closes(close):
            return elements
        while True:
            mark = self.mark()
            if self.source.startswith((",", close), mark):
                elements.append(Element("quoted", []))
            else:
                elements.append(self.element())
            if self.closes(close):
                return elements
            self.comma()

    def element(self) -> Element:
        sign = self.source[self.at : self.at + 1]
        if sign and sign in "'\"":
            self.at += 1
            parts = self.text(sign)
            if not self.source.startswith(sign, self.at):
                raise self.malformed(f"the quote {sign} is never closed")
            self.at += 1
            return Element("quoted", parts)
        if sign not in ("[", "{"):
            return self.primitive(_PRIMITIVE)
        self.deeper()
        self.at += 1
        self.skip_spaces()
        nested = Element("list", self.sequence("]")) if sign == "[" else Element("dict", self.pairs())
        self.depth -= 1
        return nested

    def pairs(self) -> list[tuple[Element, Element]]:
        """The entries of a dict up to its closing brace, which is read too."""
        pairs: list[tuple[Element, Element]] = []
        while not self.closes("}"):
            if pairs:
                self.comma()
            key = self.primitive(_PRIMITIVE - {":"})
            mark = self.mark()
            if not self.source.startswith(":", mark):
                raise self.malformed("':' is expected in the dict")
            self.at = mark + 1
            self.skip_spaces()
            pairs.append((key, self.element()))
        return pairs

    def primitive(self, kinds: frozenset[str]) -> Element:
        parts: list[Part] = []
        single, source = "", self.source
        while self.at < len(source):
            if source.startswith("${", self.at):
                if ":" not in kinds:
                    raise self.malformed("a key of a dict is expected")
                parts.append(self.interpolation())
                continue
            kind, end = lex(source, self.at)
            if kind not in kinds or (kind == "space" and self.mark() == len(source)):
                break
            text = source[self.at : end]
            parts.append(text[1::2] if kind == "escape" else text)
            single, self.at = kind, end
        if not parts:
            raise self.malformed("a value is expected")
        only = parts[0]
        if len(parts) == 1 and isinstance(only, str) and single in ("word", "number"):
            try:
                return Element("scalar", [scalar(only)])
            except ValueError:
                raise self.malformed("a number this long can't be read") from None
        return Element("text", parts)

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.malformed(f"interpolations nest more than {MAX_DEPTH} deep")

    def mark(self) -> int:
        """Where the next sign stands that isn't a space."""
        match = _SPACES.match(self.source, self.at)
        return match.end() if match else self.at

    def skip_spaces(self) -> None:
        self.at = self.mark()

    def closes(self, sign: str) -> bool:
        mark = self.mark()
        if self.source.startswith(sign, mark):
            self.at = mark + 1
            return True
        return False

    def comma(self) -> None:
        mark = self.mark()
        if not self.source.startswith(",", mark):
            raise self.malformed("',' or the end is expected")
        self.at = mark + 1
        self.skip_spaces()


def _names_resolver(parts: list[Part]) -> bool:
    """Whether what was read before the colon is a resolver's name: names joined by single dots."""
    for at, part in enumerate(parts):
        if at % 2:
            if part != ".":
                return False
        elif isinstance(part, str) and not _NAME.fullmatch(part):
            return False
    return len(parts) % 2 == 1
