"""From words as written to words as the program gets them."""

from __future__ import annotations

import re
from abc import abstractmethod

from grpo_lint.located import DYNAMIC, Piece, Word
from grpo_lint.patterns import lazy
from grpo_lint.source import Span
from grpo_lint.syntax.shell.fields import Fields, Origin
from grpo_lint.syntax.shell.parameters import Items, Parameters
from grpo_lint.syntax.shell.tree import Arith, Assign, CarriageReturn, CommandSub, Lit, Param, ProcSub, WordNode
from grpo_lint.syntax.shell.values import EMPTY, Choose, Text, Undecided, World, Woven, flatten, marked, moved, unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.syntax.shell.operators import Atoms
    from grpo_lint.syntax.shell.tree import ListNode, Part

MAX_WORDS = 20_000
"""Words that one command may get."""

TILDE_ASSIGN = lazy(r"[A-Za-z_][A-Za-z0-9_]*\+?=~|~")


class Expander(Parameters):
    @abstractmethod
    def substitute(self, part: CommandSub, world: World) -> Text:
        """What a command substitution prints."""

    @abstractmethod
    def process_words(self, body: ListNode, world: World) -> None:
        """Reads the commands of a process substitution."""

    @abstractmethod
    def gave_up(self, message: str, span: Span) -> None:
        """Given by the class that puts the evaluator together."""

    @abstractmethod
    def split_note(self, found: list[tuple[Span, str]], word: Word) -> None:
        """Notes that an unquoted variable broke a word."""

    # without splitting

    def text(self, node: WordNode | None, world: World, tilde: bool = True) -> Text:
        if node is None or not node.parts:
            if node is not None and node.plain:
                return Text((Piece(node.plain, self.place.span(node.start, node.end)),))
            return EMPTY
        parts: list[Piece] = []
        for part in node.parts:
            if type(part) is Lit:
                self.literal(part, parts, tilde and part is node.parts[0])
            elif type(part) is Param:
                found = self.expand(part, world)
                self.single(found, part, world, parts)
            else:
                parts.extend(self.other(part, world).parts)
        return Text(tuple(parts))

    def single(self, found: Text | Items | Choose, part: Param, world: World, parts: list[Piece]) -> None:
        """Appends an expansion that is not split."""
        span = self.place.span(part.start, part.end)
        if isinstance(found, Text):
            parts.extend(found.parts)
        elif isinstance(found, Choose):
            parts.extend(self.chosen(found, world, span))
        else:
            separator = " " if not found.star else self.separators(world, " ")[:1]
            for number, word in enumerate(found.words):
                if number and separator:
                    parts.append(Piece(separator, span))
                parts.extend(moved(piece, span) for piece in word.pieces)

    def chosen(self, found: Choose, world: World, span: Span) -> list[Piece]:
        """A default's pieces: they stand where the expansion stands, and depend on its note."""
        done = []
        for piece in self.text(found.node, world).pieces():
            done.append(marked(moved(piece, span), found.note))
        return done or ([Piece("", span, (), "", found.note)] if found.note else [])

    def literal(self, part: Lit, parts: list[Piece], first: bool) -> None:
        if first and not part.quoted and part.text[:1] == "~" and self.tilde(part, parts):
            return
        place = self.place
        if type(place) is Woven and part.end - part.start == len(part.text):
            parts.extend(place.pieces(part.start, part.end))
            if part.text:
                return
        parts.append(Piece(part.text, place.span(part.start, part.end)))

    def tilde(self, part: Lit, parts: list[Piece], at: int = 0) -> bool:
        """A `~` that stands for a home folder at this offset of the literal."""
        text, span = part.text, self.place.span
        stop = next((k for k in range(at + 1, len(text)) if text[k] in "/:"), len(text))
        if text[at:stop] not in ("~", "~root", "~+", "~-"):  # other names are hardly ever users: Hydra's `~key`
            return False
        if at:
            parts.append(Piece(text[:at], span(part.start, part.start + at)))
        where = span(part.start + at, part.start + stop)
        if self.environment is not None and "HOME" in self.environment and stop == at + 1:
            parts.append(Piece(self.environment["HOME"], where))
        else:
            parts.append(unknown("HOME comes from the environment", where))
        if stop < len(text):
            parts.append(Piece(text[stop:], span(part.start + stop, part.end)))
        return True

    def other(self, part: Part, world: World) -> Text:
        if isinstance(part, CommandSub):
            return self.substitute(part, world)
        span = self.place.span(part.start, part.end)
        if isinstance(part, Arith):
            return self.arithmetic(part.expression, world, span)
        if isinstance(part, ProcSub):
            self.process_words(part.body, world)
            return Text((unknown("it is the name of a pipe", span),))
        if isinstance(part, CarriageReturn):
            return Text((unknown("the line ends with CR LF, and bash takes in the CR", span),))
        raise TypeError(part)

    def arithmetic(self, node: WordNode, world: World, span: Span) -> Text:
        try:
            expression = self.text(node, world, tilde=False)
            number = self.number(expression, world)
        except Undecided as error:
            return Text((unknown(str(error), span),))
        via = [piece.span for piece in expression.parts if piece.via]
        notes = [expression.note]
        for name in dict.fromkeys(re.findall(r"(?<![\w.])[A-Za-z_]\w*", expression.text)):
            variable = world.vars.get(name)
            if variable is not None and variable.value is not None and variable.value.parts:
                via.append(variable.value.parts[0].span)
                notes.append(variable.value.note)
        note = next((note for note in notes if note), "")
        return Text((Piece(str(number), span, tuple(via[:4]), "", note),))

    # patterns

    def atoms(self, node: WordNode | None, world: World) -> tuple[Atoms, str]:
        if node is None:
            return [], ""
        done: Atoms = []
        reason = ""
        for part in node.parts:
            if type(part) is Lit:
                done.append((part.text, part.quoted))
                continue
            value = self.text(WordNode((part,), part.start, part.end), world)
            reason = reason or value.reason
            done.append((value.text, part.quoted))
        if not node.parts and node.plain:
            done.append((node.plain, False))
        return done, reason

    # with splitting

    def words(self, nodes: list[WordNode | Assign], world: World) -> tuple[list[Word], list[int], bool]:
        """The nodes' words, the indexes of those that may be any number of words, and whether more may come."""
        done: list[Word] = []
        unsure: list[int] = []
        more = False
        for node in nodes:
            if type(node) is WordNode:
                if node.constant is not None:
                    done.extend(node.constant)
                    continue
                plain = node.plain
                if plain is not None and node.variants is None and "~" not in plain and DYNAMIC not in plain:
                    word = self.plain_word(node)
                    done.append(word)
                    continue
                fields, open_ = self.fields(node, world)
                more = more or open_
                unsure.extend(index + len(done) for index in fields.unsure)
                done.extend(fields.words)
                if fields.split_at:
                    self.split_note(fields.split_at, fields.words[0])
            if len(done) > MAX_WORDS:
                self.gave_up("the command gets too many words", self.place.span(node.start, node.end))
                break
        return done, unsure, more

    def plain_word(self, node: WordNode) -> Word:
        """The only word that a word without quotes and expansions stands for."""
        span = self.place.span(node.start, node.end)
        pieces: list[Piece] = []
        self.literal(node.parts[0], pieces, False)  # type: ignore[arg-type]
        word = Word(tuple(pieces), span)
        node.constant = [word]
        return word

    def fields(self, node: WordNode, world: World) -> tuple[Fields, bool]:
        fields = Fields()
        span = self.place.span(node.start, node.end)
        fields.begin(span)
        more = False
        if node.variants is None:
            more = self.build(node.parts, fields, world)
            fields.close()
            for part in node.parts:
                if type(part) is not Lit:
                    break
            else:
                node.constant = None if fields.unsure else fields.words
        elif node.variants:
            for variant in node.variants:
                more = self.build(variant.parts, fields, world) or more
                fields.close()
        else:
            self.gave_up("the braces stand for too many words", span)
            fields.add(unknown("its braces stand for too many words", span), None, True)
            fields.close()
        return fields, more

    def build(self, parts: tuple[Part, ...], fields: Fields, world: World, splits: bool = False) -> bool:
        """Adds a word's parts. `splits`: unquoted literals are split too, as inside of a default."""
        more = False
        for part in parts:
            if type(part) is Lit:
                pieces: list[Piece] = []
                if part is parts[0] and not part.quoted and "~" in part.text:
                    found = TILDE_ASSIGN.match(part.text)
                    if not (found and self.tilde(part, pieces, found.end() - 1)):
                        self.literal(part, pieces, False)
                else:
                    self.literal(part, pieces, False)
                if splits and not part.quoted:
                    fields.split(Text(tuple(pieces)), self.place.span(part.start, part.end), self.ifs(world))
                    continue
                woven = type(self.place) is Woven and not part.quoted
                for piece in pieces:
                    fields.add(piece, None, woven and bool(piece.reason))
            elif type(part) is Param:
                more = self.parameter(part, fields, world) or more
            else:
                value = self.other(part, world)
                if part.quoted or type(part) is ProcSub:
                    for piece in value.parts or (Piece("", self.place.span(part.start, part.end)),):
                        fields.add(piece)
                else:
                    fields.split(value, self.place.span(part.start, part.end), self.ifs(world))
        return more

    def parameter(self, part: Param, fields: Fields, world: World) -> bool:
        found = self.expand(part, world)
        span = self.place.span(part.start, part.end)
        if isinstance(found, Items):
            self.items(found, part, fields, world, span)
            return found.open
        if isinstance(found, Choose):
            if part.quoted:
                for piece in self.chosen(found, world, span) or [Piece("", span)]:
                    fields.add(piece)
                return False
            before = len(fields.atoms), len(fields.words)
            more = self.build(found.node.parts, fields, world, splits=True)
            if found.note:
                self.noted(fields, before, found.note, span)
            return more
        if part.quoted:
            for piece in found.parts or (Piece("", span),):
                fields.add(piece)
        elif found.parts:
            only = found.parts[0]
            value = getattr(only, "value", None) if len(found.parts) == 1 else None
            fields.split(value if isinstance(value, Text) else found, span, self.ifs(world))
        return False

    def noted(self, fields: Fields, before: tuple[int, int], note: str, span: Span) -> None:
        """Marks what a default added as depending on its note."""
        atoms, words = before
        if len(fields.words) == words:
            added = [
                (marked(moved(inner, span), note), origin)
                for piece, origin in fields.atoms[atoms:]
                for inner in flatten((piece,))
            ]
            fields.atoms[atoms:] = added
            return
        fields.words[words:] = [
            Word(tuple(marked(piece, note) for piece in word.pieces), word.span, word.via)
            for word in fields.words[words:]
        ]

    def items(self, found: Items, part: Param, fields: Fields, world: World, span: Span) -> None:
        if part.quoted and found.star:
            parts: list[Piece] = []
            self.single(found, part, world, parts)
            for piece in parts or [Piece("", span)]:
                fields.add(piece)
            return
        for number, word in enumerate(found.words):
            if number:
                fields.close()
            if part.quoted:
                if word.dynamic and word.text == DYNAMIC and len(found.words) == 1:
                    fields.add(moved(word.pieces[0], span), None, True)
                else:
                    fields.element(word, span)
            else:
                separators = self.ifs(world)
                if not any(char in (" \t\n" if separators is None else separators) for char in word.text):
                    if word.text:
                        origin = Origin(span, word)
                        for piece in word.pieces:
                            fields.add(piece, origin, bool(piece.reason))
                else:
                    fields.split(Text(word.pieces), span, separators)

    def ifs(self, world: World) -> str | None:
        """The characters that split, None for blanks."""
        variable = world.vars.get("IFS")
        if variable is None or variable.value is None or variable.value.reason:
            return None
        return None if variable.value.text == " \t\n" else variable.value.text

    def separators(self, world: World, default: str) -> str:
        found = self.ifs(world)
        return default if found is None else found
