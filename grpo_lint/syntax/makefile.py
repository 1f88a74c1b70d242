"""Recipes of a Makefile as the shell gets them, with make's variables filled in.

for recipe in recipes(source): recipe.text      # a word: each part of it knows where it stands

What make works out by functions (`$(shell ...)`), what only a command line sets, and what depends on a conditional is
not known. Read: the manual of GNU make 4.4.
"""

from __future__ import annotations

from grpo_lint.located import DYNAMIC, Piece, Word
from grpo_lint.patterns import lazy
from grpo_lint.source import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.source import SourceFile

_ASSIGNMENT = lazy(r"[ ]*(?:export[ \t]+|override[ \t]+)*([A-Za-z_][\w.-]*)[ \t]*(\?|:{1,3}|\+|!)?=[ \t]*")
_CONDITIONAL = lazy(r"[ \t]*(ifeq|ifneq|ifdef|ifndef|endif|define|endef)\b")
_NAME = lazy(r"[A-Za-z_][\w.-]*")
MAX_LENGTH = 20_000
"""Characters that a recipe may come to: variables that hold each other twice over grow without an end."""
MAX_NESTED = 12


class _Variable:
    """What a name stands for: the places of its text, and a note on it."""

    __slots__ = ("hidden", "note", "spans")

    def __init__(self, spans: list[Span], note: str = "", hidden: str = "") -> None:
        self.spans = spans
        self.note = note
        self.hidden = hidden


class _Makefile:
    """Reads lines one by one: variables first, since a recipe is filled in only when it is run."""

    def __init__(self, source: SourceFile) -> None:
        self.source = source
        self.variables: dict[str, _Variable] = {}
        self.recipes: list[Span] = []
        self.conditional = 0
        self.defining = False
        self.in_rule = False

    def read(self) -> None:
        text, at = self.source.text, 0
        while at < len(text):
            start, stop = at, _line_end(text, at)
            while text[at:stop].endswith("\\") and stop < len(text):
                at, stop = stop + 1, _line_end(text, stop + 1)
            self._line(start, stop)
            at = stop + 1

    def _line(self, start: int, stop: int) -> None:
        text = self.source.text
        match = _CONDITIONAL.match(text, start, stop)
        if match is not None and text[start] != "\t":
            word = match[1]
            self.conditional += word.startswith("if") - (word == "endif")
            self.defining = word == "define" or (self.defining and word != "endef")
        elif self.defining:
            return
        elif text[start:stop].startswith("\t") and self.in_rule:
            self.recipes.append(Span(self.source, start + 1, stop))
        elif (match := _ASSIGNMENT.match(text, start, stop)) is not None:
            self._assign(
                match[1], match[2] or "", Span(self.source, match.end(), _without_comment(text, match.end(), stop))
            )
        elif text[start:stop].strip() and not text[start:stop].lstrip().startswith("#"):
            self.in_rule = ":" in text[start:stop]
            semicolon = text.find(";", start, stop)
            if self.in_rule and semicolon >= 0:
                self.recipes.append(Span(self.source, semicolon + 1, stop))

    def _assign(self, name: str, operator: str, value: Span) -> None:
        known = self.variables.get(name)
        if self.conditional > 0 and known is not None:
            known.hidden = f"{name} depends on a condition of the Makefile"
        elif operator == "+" and known is not None:
            known.spans.append(value)
        elif operator == "!":
            self.variables[name] = _Variable([value], "", f"{name} is what a command prints")
        elif operator != "?" or known is None:
            self.variables[name] = _Variable([value], f"unless {name} is set" if operator == "?" else "")

    def filled(self, span: Span) -> Word:
        """A recipe with its references filled in; what make takes off its start is blank."""
        pieces = self._pieces(span, (), "", 0)
        text = span.text
        blank = len(text) - len(text.lstrip("@-+ \t"))
        if blank and pieces and not pieces[0].reason:
            first = pieces[0]
            pieces[0] = Piece(" " * blank + first.text[blank:], first.span, first.via, "", first.note)
        return Word(tuple(pieces), span)

    def _pieces(self, span: Span, via: tuple[Span, ...], note: str, depth: int) -> list[Piece]:
        """The pieces of a text; `via`, for a variable's, are the places of the references that led to it."""
        found: list[Piece] = []
        text, at = span.text, 0
        while at < len(text):
            dollar = text.find("$", at)
            stop = len(text) if dollar < 0 else dollar
            if stop > at:
                found.append(self._piece(span, at, stop, via, note))
            if dollar < 0 or dollar + 1 >= len(text):
                break
            at = self._reference(span, dollar, via, note, depth, found)
        return found

    def _piece(self, span: Span, start: int, stop: int, via: tuple[Span, ...], note: str) -> Piece:
        own = Span(span.file, span.start + start, span.start + stop)
        if not via:
            return Piece(own.text, own, (), "", note)
        return Piece(own.text, via[0], (own, *via[1:]), "", note)

    def _reference(self, span: Span, at: int, via: tuple[Span, ...], note: str, depth: int, found: list[Piece]) -> int:
        """Add what a `$` stands for; where the text goes on."""
        text = span.text
        after = text[at + 1]
        if after == "$":
            found.append(self._piece(span, at + 1, at + 2, via, note))
            return at + 2
        end = _closing(text, at + 1) if after in "({" else at + 2
        name = text[at + 2 : end - 1] if after in "({" else after
        place = Span(span.file, span.start + at, span.start + end)
        variable = self.variables.get(name)
        outer = (*via, place) if via else (place,)
        if variable is None or variable.hidden or depth >= MAX_NESTED:
            reason = variable.hidden if variable is not None else ""
            named = _NAME.fullmatch(name) is not None
            reason = reason or (f"{name} is not set in the Makefile" if named else f"make works out {place.text}")
            found.append(Piece(DYNAMIC, outer[0], outer[1:], reason))
            return end
        for number, part in enumerate(variable.spans):
            if number:
                found.append(Piece(" ", outer[0], outer[1:]))
            if sum(len(piece.text) for piece in found) > MAX_LENGTH:
                found.append(Piece(DYNAMIC, outer[0], outer[1:], f"{name} is too long to follow"))
                break
            found += self._pieces(part, outer, note or variable.note, depth + 1)
        return end


def recipes(source: SourceFile) -> Iterator[Word]:
    """The lines of all recipes, in order; each is a shell's script of its own."""
    reader = _Makefile(source)
    reader.read()
    for span in reader.recipes:
        yield reader.filled(span)


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _without_comment(text: str, start: int, stop: int) -> int:
    """The end of a value: a `#` starts a comment, and blanks before it don't count."""
    mark = text.find("#", start, stop)
    end = stop if mark < 0 or text[mark - 1] == "\\" else mark
    while end > start and text[end - 1] in " \t\r":
        end -= 1
    return end


def _closing(text: str, at: int) -> int:
    """Past the bracket that closes the one at an offset; the end of the text where none does."""
    opener, depth = text[at], 0
    closer = ")" if opener == "(" else "}"
    for index in range(at, len(text)):
        if text[index] == opener:
            depth += 1
        elif text[index] == closer:
            depth -= 1
            if not depth:
                return index + 1
    return len(text)
