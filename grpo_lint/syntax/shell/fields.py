"""Word splitting that keeps the places of the pieces."""

from __future__ import annotations

import re

from grpo_lint.located import Piece, Word
from grpo_lint.patterns import lazy
from grpo_lint.source import Span
from grpo_lint.syntax.shell.values import MAX_VIA, Text, Use, cut, moved, use

NOT_BLANK = lazy(r"[^ \t\n]+")
BLANK = lazy(r"[ \t\n]")


class Origin:
    """Where stretches of a word come from that do not stand on the command line: the use, and an array's element."""

    __slots__ = ("element", "use")

    def __init__(self, use: Span, element: Word | None = None) -> None:
        self.use = use
        self.element = element


class Fields:
    """Collects the pieces of words; `words` is complete after the last `close`."""

    __slots__ = ("atoms", "doubtful", "has", "node_span", "split_at", "unsure", "words")

    def __init__(self) -> None:
        self.words: list[Word] = []
        self.unsure: list[int] = []
        """Indexes of words that may be any number of words."""
        self.split_at: list[tuple[Span, str]] = []
        """Uses of variables whose text breaks a word that goes on before them, with that text."""
        self.atoms: list[tuple[Piece, Origin | None]] = []
        self.has = False
        self.doubtful = True
        self.node_span: Span | None = None

    def begin(self, span: Span) -> None:
        self.node_span = span

    def add(self, piece: Piece, origin: Origin | None = None, doubtful: bool = False) -> None:
        self.atoms.append((piece, origin))
        self.has = True
        if not doubtful:
            self.doubtful = False

    def close(self) -> None:
        """Ends the word, if there is one."""
        if not self.has:
            self.atoms.clear()
            return
        if self.doubtful and any(piece.reason for piece, _ in self.atoms):
            self.unsure.append(len(self.words))
        self.words.append(self.word())
        self.atoms.clear()
        self.has = False
        self.doubtful = True

    def word(self) -> Word:
        first = self.atoms[0][1] if self.atoms else None
        if first is not None and all(origin is first for _, origin in self.atoms):
            pieces = tuple([piece for piece, _ in self.atoms])
            if first.element is not None:
                return Word(pieces, first.element.span, (first.use, *first.element.via)[:MAX_VIA])
            return Word(pieces, _cover(pieces), (first.use,))
        assert self.node_span is not None
        done: list[Piece] = []
        for piece, origin in self.atoms:
            if origin is not None:
                done.append(moved(piece, origin.use))
            elif type(piece) is Use:
                done.extend(Text((piece,)).pieces())
            else:
                done.append(piece)
        return Word(tuple(done), self.node_span)

    def element(self, word: Word, span: Span) -> None:
        """An array's element, whole."""
        origin = Origin(span, word)
        for piece in word.pieces:
            self.add(piece, origin)
        if not word.pieces:
            self.add(Piece("", word.span), origin)

    def split(self, value: Text, span: Span, separators: str | None) -> None:
        """An unquoted value: split at blanks, or at the characters of IFS."""
        text = value.text
        blank = BLANK if separators is None else re.compile(f"[{re.escape(separators)}]") if separators else None
        if blank is None or not blank.search(text):
            if text or value.note:
                self.atoms.append((use(value, span), None))
                self.has = self.has or bool(text)
                self.doubtful = self.doubtful and bool(value.reason)
            return
        if self.atoms and self.has and BLANK.search(text.strip()):
            self.split_at.append((span, text))
        if separators is None:
            words = NOT_BLANK.findall(text)
            if len(words) < 2:  # one word after all: it stays on the command line
                self._blank_split(_trimmed(value, span), None)
            else:
                self._blank_split(_opened(value), Origin(span))
        else:
            self._custom_split(value.pieces(), Origin(span), separators)

    def _blank_split(self, pieces: list[Piece], origin: Origin | None) -> None:
        for piece in pieces:
            at = 0
            for found in NOT_BLANK.finditer(piece.text):
                if found.start() > at:
                    self.close()
                self.add(cut(piece, found.start(), found.end()), origin, bool(piece.reason))
                at = found.end()
            if at < len(piece.text):
                self.close()

    def _custom_split(self, pieces: list[Piece], origin: Origin, separators: str) -> None:
        hard = set(separators) - set(" \t\n")
        pattern = re.compile(f"[{re.escape(separators)}]")
        fresh = True  # no field since the last hard separator
        for piece in pieces:
            at = 0
            for found in pattern.finditer(piece.text):
                if found.start() > at:
                    self.add(cut(piece, at, found.start()), origin, bool(piece.reason))
                if found.group() in hard:
                    if not self.has and fresh:
                        self.add(Piece("", piece.span), origin)
                    fresh = True
                elif self.has:
                    fresh = False
                self.close()
                at = found.end()
            if at < len(piece.text):
                self.add(cut(piece, at, len(piece.text)), origin, bool(piece.reason))
                fresh = False


def _trimmed(value: Text, span: Span) -> list[Piece]:
    return [moved(piece, span) for piece in value.pieces()]


def _opened(value: Text) -> list[Piece]:
    """The pieces of a value that splits; a variable in it that splits itself is opened too."""
    done: list[Piece] = []
    for part in value.parts:
        if type(part) is Use and BLANK.search(part.text):
            for inner in _opened(part.value):
                done.append(Piece(inner.text, inner.span, (*inner.via, part.span)[:MAX_VIA], inner.reason, inner.note))
        elif type(part) is Use:
            done.extend(Text((part,)).pieces())
        else:
            done.append(part)
    return done


def _cover(pieces: tuple[Piece, ...]) -> Span:
    first, last = pieces[0].span, pieces[-1].span
    if last.file is first.file and last.end >= first.end and last.start >= first.start:
        return Span(first.file, first.start, last.end)
    return first
