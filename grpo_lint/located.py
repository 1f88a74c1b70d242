"""Data that knows where it was written: values of a document, words of a command line."""

from __future__ import annotations

from grpo_lint.source import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from grpo_lint.diagnostics import Fix

DYNAMIC = "\u2047dynamic\u2047"
"""Stands in a word's text for a part that only the running shell could know."""


class Unknown:
    """Stands as a Value's data where the value can't be known before the run; `reason` says why ("$1")."""

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def __repr__(self) -> str:
        return f"Unknown({self.reason!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unknown) and self.reason == other.reason

    def __hash__(self) -> int:
        return hash(self.reason)


class Problem:
    """Something a reader or a composer refuses: what is wrong, where, and what to do about it if that is known.

    `kind` is the reader's word for it, by which a rule picks it up; `fatal` says whether the consumer's own reader
    refuses the file because of it; `related` are places with what they have to do with it; `fix` is what removes it.
    """

    __slots__ = ("fatal", "fix", "help", "kind", "message", "related", "span")

    def __init__(
        self,
        message: str,
        span: Span,
        help: str = "",
        kind: str = "",
        related: tuple[tuple[Span, str], ...] = (),
        fatal: bool = True,
        fix: Fix | None = None,
    ) -> None:
        self.message = message
        self.span = span
        self.help = help
        self.kind = kind
        self.related = related
        self.fatal = fatal
        self.fix = fix

    def __repr__(self) -> str:
        return f"Problem({self.kind}, {self.message!r}, {self.span!r})"


class Value:
    """A node of a document: a scalar, a list of Values, or a dict from key text to Value.

    `raw` is a scalar's text as written (without quotes), `style` how it was written: "plain", "single", "double",
    "literal", "folded", "block" or "flow" (collections). `tag` is a YAML tag as written; nothing is ever constructed
    from it. `via` holds the places that an alias, a merge key or an expansion led through.
    """

    __slots__ = ("data", "key_span", "raw", "span", "style", "tag", "via")

    def __init__(
        self,
        data: Any,
        span: Span,
        key_span: Span | None = None,
        raw: str = "",
        style: str = "plain",
        tag: str = "",
        via: tuple[Span, ...] = (),
    ) -> None:
        self.data = data
        self.span = span
        self.key_span = key_span
        self.raw = raw
        self.style = style
        self.tag = tag
        self.via = via

    def __repr__(self) -> str:
        return f"Value({self.plain()!r})"

    @property
    def is_mapping(self) -> bool:
        return isinstance(self.data, dict)

    @property
    def is_list(self) -> bool:
        return isinstance(self.data, list)

    def get(self, path: str) -> Value | None:
        """The value at a dotted path of keys, or None. Keys that contain dots are not reached this way."""
        node: Value | None = self
        for key in path.split("."):
            if node is None or not isinstance(node.data, dict):
                return None
            node = node.data.get(key)
        return node

    def leaves(self, prefix: str = "") -> Iterator[tuple[str, Value]]:
        """(dotted path, Value) of every node below that is not a non-empty mapping, in document order."""
        pending = [(prefix, self)]
        while pending:
            path, node = pending.pop()
            if isinstance(node.data, dict) and node.data:
                start = f"{path}." if path else ""
                pending += [(f"{start}{key}", child) for key, child in reversed(node.data.items())]
            else:
                yield path, node

    def plain(self) -> Any:
        """The data alone, as ordinary Python objects."""
        if isinstance(self.data, dict):
            return {key: child.plain() for key, child in self.data.items()}
        if isinstance(self.data, list):
            return [child.plain() for child in self.data]
        return self.data


class Piece:
    """A stretch of a word's text that has one origin.

    `span` is where it stands in the text of the word itself (`${X}` for an expansion); `via` the places its text came
    from, nearest first (the assignment of X, then what that assignment expanded). `reason` is empty when the text is
    known; otherwise it says why it isn't, and `text` is DYNAMIC. `note` qualifies a known text ("unless ROLLOUT_N is
    set").
    """

    __slots__ = ("note", "reason", "span", "text", "via")

    def __init__(self, text: str, span: Span, via: tuple[Span, ...] = (), reason: str = "", note: str = "") -> None:
        self.text = text
        self.span = span
        self.via = via
        self.reason = reason
        self.note = note

    def __repr__(self) -> str:
        return f"Piece({self.text!r})"


class Word:
    """One argument as the program would get it.

    `span` is where a person would look for it: on the command line, or in the array or string that holds it, with the
    place of its use then in `via`.
    """

    __slots__ = ("pieces", "span", "via")

    def __init__(self, pieces: tuple[Piece, ...], span: Span, via: tuple[Span, ...] = ()) -> None:
        self.pieces = pieces
        self.span = span
        self.via = via

    def __repr__(self) -> str:
        return f"Word({self.text!r})"

    @property
    def text(self) -> str:
        """The argument's text; a part that isn't known reads DYNAMIC."""
        return "".join(piece.text for piece in self.pieces)

    @property
    def dynamic(self) -> bool:
        return any(piece.reason for piece in self.pieces)

    @property
    def reason(self) -> str:
        """Why the text isn't known; empty when it is."""
        return next((piece.reason for piece in self.pieces if piece.reason), "")

    def cut(self, start: int, end: int | None = None) -> Word:
        """The part of the word between two offsets of its text, with the places of just that part."""
        end = len(self.text) if end is None else end
        pieces, at = [], 0
        for piece in self.pieces:
            low, high = max(start - at, 0), min(end - at, len(piece.text))
            if low < high or (low == high == 0 and not piece.text and start <= at <= end):
                pieces.append(_cut_piece(piece, low, high))
            at += len(piece.text)
        if not pieces:
            edge = self.span.end if start else self.span.start
            return Word((), Span(self.span.file, edge, edge), self.via)
        span = Span(self.span.file, pieces[0].span.start, pieces[-1].span.end)
        return Word(tuple(pieces), span, self.via)


def _cut_piece(piece: Piece, low: int, high: int) -> Piece:
    if low == 0 and high == len(piece.text):
        return piece
    span = piece.span
    if span.text == piece.text:  # written literally: offsets of text and source agree
        span = Span(span.file, span.start + low, span.start + high)
    return Piece(piece.text[low:high], span, piece.via, piece.reason, piece.note)
