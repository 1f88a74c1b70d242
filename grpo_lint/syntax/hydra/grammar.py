"""The value side of Hydra's override grammar, from text to a Value tree.

Facts: hydra-core 1.3.2, hydra/grammar/*.g4 and hydra/core/override_parser/overrides_visitor.py.
The lexer takes the longest token; a primitive is a run of tokens and is a number, a boolean or null only if it is one
token long (`1.2.3` is text). Lists, dicts and calls nest at most MAX_DEPTH deep.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right

from grpo_lint.located import DYNAMIC, Unknown, Value
from grpo_lint.patterns import lazy
from grpo_lint.source import Span
from grpo_lint.syntax.hydra.functions import call
from grpo_lint.syntax.hydra.primitives import FLOAT, INT, KEYWORDS, MAX_DEPTH, Refused, Sweep, TooDeep, scalar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from grpo_lint.located import Word

_ID = lazy(r"[A-Za-z_][A-Za-z0-9_-]*")
_PUNCTUATION = lazy(r"[ \t]*(?:([(,:=])[ \t]*|([)\]}]))|([\[{])[ \t]*")
_SPACE = lazy(r"[ \t]+")
_QUOTED = {
    '"': lazy(r'"(?:(?:\\\\)*|.*?[^\\](?:\\\\)*)"', re.DOTALL),
    "'": lazy(r"'(?:(?:\\\\)*|.*?[^\\](?:\\\\)*)'", re.DOTALL),
}
_INTERPOLATION = lazy(r"\$\{[^}]+\}")
_ESCAPES = lazy(r"(?:\\[\\()\[\]{}:=, \t])+")
_ESCAPED_QUOTE = {'"': lazy(r'\\+"'), "'": lazy(r"\\+'")}
_ATOMS = frozenset(("id", "word", "number", "interpolation", "char", ":", "escape", "space", "dynamic"))
_KEY_ATOMS = _ATOMS - {":", "interpolation"}


class Places:
    """Where the parts of one word stand: as `Word.cut` says, but quick for many parts of a long word."""

    def __init__(self, word: Word) -> None:
        self.word = word
        self.starts: list[int] = []
        self.literal: list[bool] = []
        at = 0
        for piece in word.pieces:
            self.starts.append(at)
            self.literal.append(piece.span.text == piece.text)
            at += len(piece.text)

    def part(self, start: int, end: int) -> tuple[Span, tuple[Span, ...], str]:
        """(span, via, reason) of the text between two offsets."""
        word = self.word
        if start >= end:
            edge = word.span.end if start else word.span.start
            return Span(word.span.file, edge, edge), word.via, ""
        first = bisect_right(self.starts, start) - 1
        last = bisect_left(self.starts, end) - 1
        pieces = word.pieces[first : last + 1]
        low, high = pieces[0].span.start, pieces[-1].span.end
        if self.literal[first]:
            low += start - self.starts[first]
        if self.literal[last]:
            high = pieces[-1].span.start + end - self.starts[last]
        via = tuple(place for piece in pieces for place in piece.via) + word.via
        return Span(pieces[0].span.file, low, high), via, next((piece.reason for piece in pieces if piece.reason), "")


class Token:
    __slots__ = ("end", "kind", "start", "text")

    def __init__(self, kind: str, start: int, end: int, text: str) -> None:
        self.kind = kind
        self.start = start
        self.end = end
        self.text = text


def tokens(text: str, at: int) -> list[Token]:
    """The tokens of the text from an offset; the last has kind "end", or "error" where the lexer fails."""
    found = []
    closed = text.rfind("}")
    while at < len(text):
        kind, end = lex(text, at, closed)
        found.append(Token(kind, at, end, text[at:end]))
        if kind == "error":
            return found
        at = end
    found.append(Token("end", at, at, ""))
    return found


def lex(text: str, at: int, closed: int = 0) -> tuple[str, int]:
    """The kind of the token at an offset, and its end; no interpolation starts past `closed`, the last closing brace.

    OmegaConf's arguments of resolvers have the same tokens, but for interpolations.
    """
    punctuation = _PUNCTUATION.match(text, at)
    if punctuation:
        return punctuation[punctuation.lastindex or 0], punctuation.end()
    first = text[at]
    if first in " \t":
        space = _SPACE.match(text, at)
        return "space", space.end() if space else at + 1
    if first in "\"'":
        quoted = _QUOTED[first].match(text, at)
        return ("quoted", quoted.end()) if quoted else ("error", len(text))
    if first in "$\\":
        pattern = _INTERPOLATION if first == "$" else _ESCAPES
        match = pattern.match(text, at) if first == "\\" or at < closed else None
        return ("interpolation" if first == "$" else "escape", match.end()) if match else ("char", at + 1)
    number = max((m.end() for m in (INT.match(text, at), FLOAT.match(text, at)) if m), default=0)
    name = _ID.match(text, at)
    if name and name.end() > number:
        return ("word" if name[0].lower() in KEYWORDS else "id"), name.end()
    if number:
        return "number", number
    if text.startswith(DYNAMIC, at):
        return "dynamic", at + len(DYNAMIC)
    return ("char", at + 1) if first in "/-+.%*@?|" else ("error", at + 1)


class ValueParser:
    """Reads one value of a word, from an offset of the word's text to its end."""

    def __init__(self, word: Word, text: str, start: int) -> None:
        self.places = Places(word)
        self.text = text
        self.tokens = tokens(text, start)
        self.at = 0
        self.depth = 0
        self.failed: Refused | None = None

    @property
    def dynamic(self) -> int:
        """Where the first dynamic part outside quotes starts, after which nothing is certain; past the end if none."""
        for token in self.tokens:
            if token.kind == "dynamic" or (token.kind == "error" and DYNAMIC in token.text):
                return token.start
        return len(self.text) + 1

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def value(self) -> Value:
        """The whole value. Raises Refused."""
        start = self.token.start
        items = [self.element()]
        while self.token.kind == ",":
            self.at += 1
            items.append(self.element())
        if self.token.kind != "end":
            raise self.refuse("what comes before it ends the value")
        if self.failed is not None:
            raise self.failed
        if len(items) == 1:
            return items[0]
        return self.make(Sweep("choice", tuple(items), simple=True), start, len(self.text))

    def element(self) -> Value:
        token = self.token
        if token.kind == "quoted":
            self.at += 1
            return self.quoted(token)
        if token.kind in ("[", "{") or (token.kind == "id" and self.tokens[self.at + 1].kind == "("):
            self.depth += 1
            if self.depth > MAX_DEPTH:
                raise TooDeep
            nested = {"[": self.list, "{": self.dict}.get(token.kind, self.function)()
            self.depth -= 1
            return nested
        return self.primitive(_ATOMS)

    def primitive(self, kinds: frozenset[str]) -> Value:
        first = self.at
        while self.token.kind in kinds:
            self.at += 1
        parts = self.tokens[first : self.at]
        if not parts:
            raise self.refuse("a value is expected")
        start, end = parts[0].start, parts[-1].end
        if len(parts) > 1 and parts[-1].kind == "space":
            end = parts.pop().start
        if len(parts) == 1 and parts[0].kind in ("word", "number", "id"):
            try:
                data: Any = scalar(self.text[start:end])
            except ValueError:
                data = self.fail(Refused("a number this long can't be read", start, end))
        else:
            data = "".join(part.text[1::2] if part.kind == "escape" else part.text for part in parts)
        return self.make(data, start, end)

    def quoted(self, token: Token) -> Value:
        quote = token.text[0]
        # Backslashes before a quote come in pairs or are one too many, which escapes it; others stand for themselves.
        inner = _ESCAPED_QUOTE[quote].sub(lambda match: match[0][1::2], token.text[1:])
        data = inner if token.text.endswith("\\" + quote) else inner[:-1]
        return self.make(data, token.start, token.end, "single" if quote == "'" else "double")

    def list(self) -> Value:
        start = self.token.start
        items: list[Value] = []
        end = self.items("]", "the list", lambda: items.append(self.element()))
        return self.make(items, start, end, "flow")

    def dict(self) -> Value:
        start = self.token.start
        entries: dict[str, Value] = {}

        def entry() -> None:
            if self.token.kind == "quoted":
                raise self.refuse("a key in a dict is written without quotes")
            key = self.primitive(_KEY_ATOMS)
            self.expect(":", "the dict")
            child = self.element()
            child.key_span = key.span
            entries[key.data if isinstance(key.data, str) else key.raw] = child

        end = self.items("}", "the dict", entry)
        return self.make(entries, start, end, "flow")

    def function(self) -> Value:
        name = self.token
        args: list[Value] = []
        named: dict[str, Value] = {}

        def argument() -> None:
            token = self.token
            if token.kind == "id" and self.tokens[self.at + 1].kind == "=":
                self.at += 2
                named[token.text] = self.element()
            else:
                args.append(self.element())
                if named:
                    refused = Refused("an argument without a name follows one with a name", token.start, token.end)
                    self.fail(refused)

        self.at += 1
        end = self.items(")", f"{name.text}(...)", argument)
        inputs = [*args, *named.values()]
        unknown = next((data for value in inputs if (data := _unknown_in(value)) is not None), None)
        if unknown is not None:
            return self.make(unknown, name.start, end)
        try:
            return self.make(call(name.text, args, named), name.start, end)
        except ValueError as error:
            return self.make(self.fail(Refused(str(error), name.start, end)), name.start, end)

    def items(self, close: str, what: str, read: Callable[[], None]) -> int:
        """Reads `a,b,c` between brackets, from the opening one on; the offset past the closing one."""
        self.at += 1
        if self.token.kind != close:
            read()
            while self.token.kind == ",":
                self.at += 1
                read()
        if self.token.kind != close:
            raise self.refuse(f"',' or {close!r} is expected in {what}")
        self.at += 1
        return self.tokens[self.at - 1].end

    def expect(self, kind: str, what: str) -> None:
        if self.token.kind != kind:
            raise self.refuse(f"{kind!r} is expected in {what}")
        self.at += 1

    def fail(self, refused: Refused) -> Unknown:
        """Notes a fault that Hydra meets only after it has parsed the whole word; the first one counts."""
        self.failed = self.failed or refused
        return Unknown("refused")

    def refuse(self, reason: str) -> Refused:
        token = self.token
        if token.kind == "end":
            return Refused(f"the value ends too early: {reason}", token.start, token.end)
        if token.kind == "error":
            if token.text[0] in "\"'":
                return Refused(f"the quote {token.text[0]} is never closed", token.start, token.end)
            return Refused(f"{token.text[0]!r} can't stand in a value without quotes", token.start, token.end)
        return Refused(f"{token.text.strip()!r} can't stand here: {reason}", token.start, token.end)

    def make(self, data: Any, start: int, end: int, style: str = "plain") -> Value:
        span, via, reason = self.places.part(start, end)
        if isinstance(data, str) and DYNAMIC in data:
            data = Unknown(reason)
        return Value(data, span, raw=self.text[start:end], style=style, via=via)


def _unknown_in(value: Value) -> Unknown | None:
    """Why an argument can't be known, if it can't; sweeps are known."""
    if isinstance(value.data, Sweep):
        return next((found for item in value.data.items if (found := _unknown_in(item)) is not None), None)
    if isinstance(value.data, Unknown):
        return value.data
    children = value.data.values() if value.is_mapping else value.data if value.is_list else ()
    return next((found for child in children if (found := _unknown_in(child)) is not None), None)
