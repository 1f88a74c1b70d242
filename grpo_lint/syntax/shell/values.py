"""What variables hold, and texts that remember where each stretch of them was written."""

from __future__ import annotations

from bisect import bisect_right

from grpo_lint.located import DYNAMIC, Piece, Word
from grpo_lint.source import SourceFile, Span
from grpo_lint.syntax.shell.script import FolderPiece

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from grpo_lint.syntax.shell.script import Condition
    from grpo_lint.syntax.shell.tree import WordNode

MAX_LENGTH = 200_000
"""Characters of one value; longer ones become unknown."""
MAX_VIA = 8
MAX_CHAIN = 12
"""Variables inside variables whose places are followed."""


class Undecided(Exception):
    """The value depends on something unknown; the message is the reason."""


class Unmatchable(Exception):
    """The pattern can't be decided here; the message says why."""


class Text:
    """A string the shell holds, as the pieces it was made of. `reason` is empty when all of it is known."""

    __slots__ = ("chain", "parts", "reason", "text")

    def __init__(self, parts: tuple[Piece, ...]) -> None:
        self.parts = parts
        self.chain: int
        chain = 0
        if len(parts) == 1:
            part = parts[0]
            self.text, self.reason = part.text, part.reason
            if type(part) is Use:
                chain = part.value.chain + 1
        else:
            self.text = "".join([part.text for part in parts])
            self.reason = ""
            for part in parts:
                if part.reason and not self.reason:
                    self.reason = part.reason
                if type(part) is Use and part.value.chain >= chain:
                    chain = part.value.chain + 1
        self.chain = chain

    @property
    def note(self) -> str:
        return next((part.note for part in self.parts if part.note), "")

    def pieces(self) -> list[Piece]:
        """The pieces with every use of a variable opened."""
        return flatten(self.parts)


class Use(Piece):
    """The whole value of a variable, used somewhere; opened when a word is made of it."""

    __slots__ = ("value",)

    def __init__(self, value: Text, span: Span) -> None:
        super().__init__(value.text, span, (), value.reason, value.note)
        self.value = value


EMPTY = Text(())


def flatten(parts: Iterable[Piece]) -> list[Piece]:
    done: list[Piece] = []
    for part in parts:
        if type(part) is Use:
            for inner in flatten(part.value.parts):
                done.append(moved(inner, part.span))
        else:
            done.append(part)
    return done


def moved(piece: Piece, span: Span) -> Piece:
    """The piece as it shows at a place where it is used."""
    via = (piece.span, *piece.via)[:MAX_VIA]
    if type(piece) is FolderPiece:
        return FolderPiece(piece.folders, span, via, piece.reason)
    return Piece(piece.text, span, via, piece.reason, piece.note)


def marked(piece: Piece, note: str) -> Piece:
    """The piece, depending on the note unless it depends on another."""
    if not note or piece.reason or piece.note:
        return piece
    return Piece(piece.text, piece.span, piece.via, "", note)


def use(value: Text, span: Span) -> Piece:
    """A piece for the whole of a value."""
    if len(value.text) > MAX_LENGTH:
        return unknown("it is too long to follow", span)
    if value.chain >= MAX_CHAIN:
        return Piece(DYNAMIC if value.reason else value.text, span, (), value.reason, value.note)
    return Use(value, span)


def unknown(reason: str, span: Span) -> Piece:
    return Piece(DYNAMIC, span, (), reason)


def text_of(word: Word) -> Text:
    return Text(word.pieces)


def lines_of(value: Text) -> list[Text]:
    """A text's lines, without their ends."""
    done: list[list[Piece]] = [[]]
    for piece in value.pieces():
        at = 0
        while (stop := piece.text.find("\n", at)) >= 0:
            done[-1].append(cut(piece, at, stop))
            done.append([])
            at = stop + 1
        done[-1].append(cut(piece, at, len(piece.text)))
    if not any(piece.text for piece in done[-1]):
        done.pop()
    return [Text(tuple(piece for piece in line if piece.text)) for line in done]


class Variable:
    """A variable: `value` for a plain one, `items` for an array (keys are numbers, or texts if `assoc`).

    With neither, it is declared but not set. `owner` is the world that may change `items` in place.
    """

    __slots__ = (
        "assoc",
        "exported",
        "integer",
        "items",
        "open_ended",
        "owner",
        "readonly",
        "reference",
        "span",
        "value",
    )

    def __init__(self, span: Span, value: Text | None = None, items: dict[str | int, Word] | None = None) -> None:
        self.span = span
        self.value = value
        self.items = items
        self.assoc = False
        self.exported = False
        self.integer = False
        self.readonly = False
        self.reference = False
        self.open_ended = False
        """An array that the caller's own arguments may follow."""
        self.owner: object = None

    def keys(self) -> list[str | int]:
        """An array's subscripts, in bash's order."""
        items = self.items or {}
        return list(items) if self.assoc else sorted(items, key=int)

    def words(self) -> list[Word]:
        items = self.items or {}
        return [items[key] for key in self.keys()]

    def copy(self) -> Variable:
        other = Variable(self.span, self.value, self.items)
        other.assoc, other.exported, other.integer = self.assoc, self.exported, self.integer
        other.readonly, other.reference, other.open_ended = self.readonly, self.reference, self.open_ended
        return other

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Variable) or (self.exported, self.assoc) != (other.exported, other.assoc):
            return False
        if (self.value is None) != (other.value is None) or (self.items is None) != (other.items is None):
            return False
        if self.value is not None and other.value is not None:
            if (self.value.text, self.value.reason) != (other.value.text, other.value.reason):
                return False
        if self.items is not other.items and self.items is not None and other.items is not None:
            if self.items.keys() != other.items.keys():
                return False
            return all(
                word is other.items[key] or word.text == other.items[key].text for key, word in self.items.items()
            )
        return True

    __hash__ = None  # type: ignore[assignment]


class Frame:
    """A function's call: what `local` hides, and the caller's positional parameters."""

    __slots__ = ("args", "hidden", "name", "open_at", "shifted")

    def __init__(self, name: str, args: list[Word], open_at: int | None, shifted: int) -> None:
        self.name = name
        self.args = args
        self.open_at = open_at
        self.shifted = shifted
        self.hidden: dict[str, Variable | None] = {}

    def copy(self) -> Frame:
        other = Frame(self.name, self.args, self.open_at, self.shifted)
        other.hidden = dict(self.hidden)
        return other


class Woven:
    """A text that the script put together (for `eval`), with where each stretch of it came from."""

    __slots__ = ("file", "parts", "starts")

    def __init__(self, pieces: list[Piece], path: str) -> None:
        self.parts = [piece for piece in pieces if piece.text]
        self.starts: list[int] = []
        at = 0
        for piece in self.parts:
            self.starts.append(at)
            at += len(piece.text)
        self.file = SourceFile(path, "".join(piece.text for piece in self.parts))

    def span(self, start: int, end: int) -> Span:
        found = self.pieces(start, max(end, start + 1))
        if not found:
            last = self.parts[-1].span
            return Span(last.file, last.end, last.end)
        first, last = found[0].span, found[-1].span
        return Span(
            first.file, first.start, last.end if last.file is first.file and last.end >= first.end else first.end
        )

    def pieces(self, start: int, end: int) -> list[Piece]:
        done: list[Piece] = []
        number = max(bisect_right(self.starts, start) - 1, 0)
        while number < len(self.parts) and self.starts[number] < end:
            piece, base = self.parts[number], self.starts[number]
            done.append(cut(piece, max(start - base, 0), min(end - base, len(piece.text))))
            number += 1
        return [piece for piece in done if piece.text]


def cut(piece: Piece, low: int, high: int) -> Piece:
    """A part of a piece; its place is exact where it was written literally."""
    if low <= 0 and high >= len(piece.text):
        return piece
    span = piece.span
    if span.end - span.start == len(piece.text) and span.text == piece.text:
        span = Span(span.file, span.start + low, span.start + high)
    return Piece(piece.text[low:high], span, piece.via, piece.reason, piece.note)


class Written:
    """A script's own text as the place where its words stand."""

    __slots__ = ("file", "folders")

    def __init__(self, file: SourceFile, folders: tuple[str, ...] = ()) -> None:
        self.file = file
        self.folders = folders

    def span(self, start: int, end: int) -> Span:
        return Span(self.file, start, end)


class World:
    """One state that the script may be in."""

    __slots__ = (
        "allexport", "args", "cwd", "env", "flow", "frames", "functions", "input", "open_at", "out", "shifted",
        "status", "token", "vars", "verdict", "when",
    )  # fmt: skip

    def __init__(self) -> None:
        self.vars: dict[str, Variable] = {}
        self.functions: dict[str, tuple[object, object]] = {}
        self.args: list[Word] = []
        self.open_at: int | None = None
        """After how many of `args` the caller's own may follow; None if there are no others."""
        self.shifted = 0
        self.frames: list[Frame] = []
        self.when: tuple[Condition, ...] = ()
        self.status: int | None = 0
        """The last exit status; None if unknown."""
        self.verdict: object = None
        """What an unknown status depends on."""
        self.flow: tuple[str, int] | None = None
        self.cwd: Text = EMPTY
        self.out: list[Piece] | None = None
        self.env: dict[str, Word] | None = None
        self.allexport = False
        self.input: list[Text] | None = None
        """The lines that are left of a known standard input."""
        self.token = object()

    def fork(self) -> World:
        other = World()
        other.vars = dict(self.vars)
        other.functions = self.functions
        other.args, other.open_at, other.shifted = self.args, self.open_at, self.shifted
        other.frames = [frame.copy() for frame in self.frames] if self.frames else []
        other.when, other.status, other.verdict, other.flow = self.when, self.status, self.verdict, self.flow
        other.cwd, other.env, other.allexport = self.cwd, self.env, self.allexport
        other.input = None if self.input is None else list(self.input)
        other.out = None if self.out is None else list(self.out)
        self.token = object()
        return other

    def alike(self, other: World) -> bool:
        return (
            self.flow == other.flow
            and (self.args is other.args or [word.text for word in self.args] == [word.text for word in other.args])
            and (self.open_at, self.shifted, len(self.frames)) == (other.open_at, other.shifted, len(other.frames))
            and self.cwd.text == other.cwd.text
            and self.functions == other.functions
            and (self.out is other.out or self.output() == other.output())
            and (self.input is None) == (other.input is None)
            and len(self.input or ()) == len(other.input or ())
            and self.vars == other.vars
            and all(mine.hidden == theirs.hidden for mine, theirs in zip(self.frames, other.frames, strict=True))
        )

    def output(self) -> str | None:
        return None if self.out is None else "".join(piece.text for piece in self.out)


class Choose:
    """A default: the parts of `node` stand in for the expansion, each with a note."""

    __slots__ = ("node", "note")

    def __init__(self, node: WordNode, note: str) -> None:
        self.node = node
        self.note = note


def unless_set(name: str, reason: str) -> str:
    """The note on a default, given the name and why its value isn't known."""
    if name.isdigit():
        return f"unless {reason.split(' ', 1)[0]} is given"
    return f"unless {name} is set"


def noted(piece: Piece, note: str) -> Piece:
    """A piece with a note, unless it is unknown or has one."""
    if not note or piece.reason:
        return piece
    return Piece(piece.text, piece.span, piece.via, "", piece.note or note)
