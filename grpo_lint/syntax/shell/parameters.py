"""Parameter expansion: what `$x` and `${x...}` stand for."""

from __future__ import annotations

from abc import abstractmethod

from grpo_lint.located import DYNAMIC, Piece, Word
from grpo_lint.source import Span
from grpo_lint.syntax.shell import names
from grpo_lint.syntax.shell.script import FolderPiece
from grpo_lint.syntax.shell.tree import Param, WordNode
from grpo_lint.syntax.shell.values import (
    EMPTY,
    Choose,
    Text,
    Undecided,
    Unmatchable,
    Woven,
    noted,
    text_of,
    unknown,
    unless_set,
    use,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from grpo_lint.syntax.shell.operators import Atoms
    from grpo_lint.syntax.shell.values import Variable, World, Written

    Subject: TypeAlias = "Text | Items | None"


class Items:
    """The words of an array or of the positional parameters. `star`: joined when quoted; `open`: more may follow."""

    __slots__ = ("open", "star", "words")

    def __init__(self, words: list[Word], star: bool = False, open_: bool = False) -> None:
        self.words = words
        self.star = star
        self.open = open_


class Parameters:
    """Needs the evaluator for the expansions inside of operators."""

    place: Written | Woven
    environment: dict[str, str] | None
    script_name: Text
    script_folders: tuple[str, ...]
    unread: str
    """A file that the script reads with `source` and that isn't here."""

    @abstractmethod
    def text(self, node: WordNode | None, world: World, tilde: bool = True) -> Text:
        """A word's text without splitting."""

    @abstractmethod
    def atoms(self, node: WordNode | None, world: World) -> tuple[Atoms, str]:
        """A pattern's stretches, and the reason why it isn't known."""

    @abstractmethod
    def assign(self, world: World, name: str, value: Text, span: Span) -> None:
        """Given by the class that puts the evaluator together."""

    def subject(self, part: Param, world: World, span: Span) -> tuple[Subject, str]:
        """The parameter's value before any operator. None if it isn't set; then with why, if the caller may set it."""
        name = part.name
        if not (name[:1].isalpha() or name[:1] == "_"):
            return self.special(name, world, span)
        variable = world.vars.get(name)
        if variable is not None and variable.reference and variable.value is not None:
            name = variable.value.text
            variable = world.vars.get(name)
        if part.index is not None:
            return self.element(name, variable, part.index, world, span)
        if variable is not None:
            if variable.value is not None:
                return variable.value, ""
            if variable.items is not None:
                first = variable.items.get("0" if variable.assoc else 0)
                return (None, "") if first is None else (text_of(first), "")
            return None, ""
        return self.unset(name, world, span)

    def unset(self, name: str, world: World, span: Span) -> tuple[Subject, str]:
        if self.environment is not None and name in self.environment:
            return Text((Piece(self.environment[name], span),)), ""
        if name == "PWD":
            return world.cwd, ""
        if name in ("BASH_SOURCE", "FUNCNAME"):
            return self.element(name, None, WordNode((), 0, 0, "0"), world, span)
        if name in names.SHELL_MADE or (name == "HOSTNAME"):
            return Text((unknown(f"{name} is made by the shell", span),)), ""
        if self.environment is None and name in names.ALWAYS_SET:
            return Text((unknown(f"{name} comes from the environment", span),)), ""
        return None, self.absent(name)

    def absent(self, name: str) -> str:
        """Why a variable that nothing sets isn't known to be unset; empty if it is."""
        if self.environment is not None:
            return ""
        if self.unread:
            return f"{name} may be set by {self.unread}, which is not here"
        return f"{name} is not set in the script"

    def special(self, name: str, world: World, span: Span) -> tuple[Subject, str]:
        if name in ("@", "*"):
            return Items(world.args, name == "*", world.open_at is not None), ""
        if name == "#":
            if world.open_at is not None:
                return Text((unknown("the number of arguments is up to the caller", span),)), ""
            return Text((Piece(str(len(world.args)), span),)), ""
        if name == "0":
            return self.script_name, ""
        if name.isdigit():
            number = int(name[:6])
            limit = len(world.args) if world.open_at is None else world.open_at
            if number <= limit:
                return text_of(world.args[number - 1]), ""
            if world.open_at is not None:
                return None, f"${number + world.shifted} is given by the caller"
            return None, ""
        if name == "?" and world.status is not None:
            return Text((Piece(str(world.status), span),)), ""
        return Text((unknown(f"${name} is known only when the script runs", span),)), ""

    def element(
        self, name: str, variable: Variable | None, index: str | WordNode, world: World, span: Span
    ) -> tuple[Subject, str]:
        if variable is None:
            if name == "BASH_SOURCE":
                return self.source_name(span), ""
            if name == "FUNCNAME" and world.frames:
                return Text((Piece(world.frames[-1].name, span),)), ""
            if name in names.SHELL_MADE:
                return Text((unknown(f"{name} is made by the shell", span),)), ""
            return None, self.absent(name)
        if isinstance(index, str):
            if variable.items is not None:
                return Items(variable.words(), index == "*", variable.open_ended), ""
            if variable.value is None:
                return Items([], index == "*"), ""
            return Items([Word(tuple(variable.value.pieces()), variable.span)], index == "*"), ""
        key, reason = self.key(variable, index, world)
        if variable.items is None:
            if variable.value is None:
                return None, ""
            if variable.value.reason and variable.value.text == DYNAMIC:
                return variable.value, ""
            return (variable.value, "") if key in (0, "0", -1) else (None, "")
        if key is None:
            return Text((unknown(reason, span),)), ""
        if isinstance(key, int) and key < 0 and variable.items:
            key += max(number for number in variable.items if isinstance(number, int)) + 1
        word = variable.items.get(key)
        return (None, "") if word is None else (text_of(word), "")

    def key(self, variable: Variable | None, index: WordNode, world: World) -> tuple[str | int | None, str]:
        """An array subscript's value, or None and the reason."""
        text = self.text(index, world) if index.plain is None else Text((Piece(index.plain, self.place.span(0, 0)),))
        if variable is not None and variable.assoc:
            return (None, text.reason) if text.reason else (text.text, "")
        try:
            return self.number(text, world), ""
        except Undecided as error:
            return None, str(error)

    def number(self, text: Text, world: World) -> int:
        """The value of an arithmetic text. Raises Undecided."""
        if text.reason:
            raise Undecided(text.reason)
        from grpo_lint.syntax.shell.arithmetic import Malformed, evaluate

        def lookup(name: str, index: int | None) -> str:
            return self.operand(name, index, world)

        def store(name: str, index: int | None, number: int) -> None:
            span = text.parts[0].span if text.parts else self.place.span(0, 0)
            if index is None:
                self.assign(world, name, Text((Piece(str(number), span),)), span)

        try:
            return evaluate(text.text, lookup, store)
        except Malformed as error:
            raise Undecided(f"its arithmetic fails: {error}") from None

    def operand(self, name: str, index: int | None, world: World) -> str:
        variable = world.vars.get(name)
        span = self.place.span(0, 0)
        if index is not None:
            word = variable.items.get(index) if variable is not None and variable.items is not None else None
            found: Subject = None if word is None else text_of(word)
            reason = "" if variable is not None else self.absent(name)
        else:
            found, reason = self.subject(Param(name, 0, 0, True), world, span)
        if isinstance(found, Text):
            if found.reason:
                raise Undecided(found.reason)
            return found.text
        if reason:
            raise Undecided(reason)
        return ""

    def source_name(self, span: Span) -> Text:
        """`${BASH_SOURCE[0]}`: the file that holds the words being read."""
        place = self.place
        if isinstance(place, Woven) or place.folders == self.script_folders:
            return self.script_name
        name = place.file.path.rsplit("/", 1)[-1]
        if self.environment is not None:
            return Text((Piece(place.file.path, span),))
        return Text((FolderPiece(place.folders, span), Piece("/" + name, span)))

    # operators

    def expand(self, part: Param, world: World) -> Text | Items | Choose:
        span = self.place.span(part.start, part.end)
        if part.op == "bad":
            return Text((unknown("bash can't read this expansion", span),))
        if part.prefix == "!":
            return self.indirect(part, world, span)
        subject, reason = self.subject(part, world, span)
        if part.prefix == "#":
            return self.length(subject, reason, world, span)
        if not part.op:
            return self.plain(subject, reason, span)
        if part.op in (":-", "-", ":=", "=", ":+", "+", ":?", "?"):
            return self.conditional(part, subject, reason, world, span)
        if subject is None:
            subject = Text((unknown(reason, span),)) if reason else EMPTY
        if isinstance(subject, Items):
            return self.each(part, subject, world, span)
        return self.operate(part, subject, world, span)

    def plain(self, subject: Subject, reason: str, span: Span) -> Text | Items:
        if subject is None:
            return Text((unknown(reason, span),)) if reason else EMPTY
        return Text((use(subject, span),)) if isinstance(subject, Text) else subject

    def length(self, subject: Subject, reason: str, world: World, span: Span) -> Text:
        if isinstance(subject, Items):
            if subject.open:
                return Text((unknown("the number of arguments is up to the caller", span),))
            if any(word.dynamic and word.text == DYNAMIC for word in subject.words):
                return Text((unknown(next(word.reason for word in subject.words if word.dynamic), span),))
            return Text((Piece(str(len(subject.words)), span),))
        if subject is None:
            return Text((unknown(reason, span),)) if reason else Text((Piece("0", span),))
        if subject.reason:
            return Text((unknown(subject.reason, span),))
        return Text((Piece(str(len(subject.text)), span, (), "", subject.note),))

    def conditional(
        self, part: Param, subject: Subject, reason: str, world: World, span: Span
    ) -> Text | Items | Choose:
        op = part.op[-1]
        state = self.presence(subject, part.op[0] == ":")
        arg = part.arg or WordNode((), part.end, part.end)
        note = unless_set(part.name, reason) if subject is None and reason else ""
        if state is None and isinstance(subject, Text):  # unknown, and it may be empty
            return Text((unknown(subject.reason, span),))
        if op == "+":
            if state:
                return Choose(arg, "")
            return Text((Piece("", span, (), "", note),)) if note else EMPTY
        if state and subject is not None:
            return Text((use(subject, span),)) if isinstance(subject, Text) else subject
        if op == "?":
            if not note:
                world.flow = ("exit", 0)
                world.status = 1
            return Text((unknown(f"{part.name} must be set by the caller", span),))
        if op == "=":
            value = self.text(arg, world)
            pieces = [noted(piece, note) for piece in value.pieces()] or [Piece("", span, (), "", note)]
            self.assign(world, part.name, Text(tuple(pieces)), span)
        return Choose(arg, note)

    def presence(self, subject: Subject, empty_counts: bool) -> bool | None:
        """Whether a parameter is set (and not empty); None if that is unknown."""
        if subject is None:
            return False
        if isinstance(subject, Items):
            return bool(subject.words)
        if not empty_counts:
            return True
        if subject.reason:
            folder = any(isinstance(piece, FolderPiece) for piece in subject.pieces())
            return True if folder or subject.text.replace(DYNAMIC, "") else None
        return bool(subject.text)

    def indirect(self, part: Param, world: World, span: Span) -> Text | Items | Choose:
        if part.op == "names":
            found = sorted(name for name in world.vars if name.startswith(part.name))
            return Items([Word((Piece(name, span),), span) for name in found])
        if isinstance(part.index, str):
            variable = world.vars.get(part.name)
            keys = variable.keys() if variable is not None else []
            return Items([Word((Piece(str(key), span),), span) for key in keys], part.index == "*")
        subject, reason = self.subject(part, world, span)
        if not isinstance(subject, Text) or subject.reason:
            reason = subject.reason if isinstance(subject, Text) else reason
            if subject is None and not reason:
                return EMPTY
            return Text((unknown(reason or "the name it refers to is not known", span),))
        name, index = subject.text, None
        if name.endswith("]") and "[" in name:
            name, _, rest = name[:-1].partition("[")
            index = rest if rest in ("@", "*") else WordNode((), part.start, part.end, rest)
        other = Param(name, part.start, part.end, part.quoted)
        other.index, other.op, other.arg, other.arg2 = index, part.op, part.arg, part.arg2
        return self.expand(other, world) if name else EMPTY

    def each(self, part: Param, subject: Items, world: World, span: Span) -> Text | Items:
        if part.op == ":":
            return self.slice_items(part, subject, world, span)
        done = []
        for word in subject.words:
            value = self.operate(part, text_of(word), world, span)
            done.append(Word(tuple(value.pieces()), word.span, word.via))
        return Items(done, subject.star, subject.open)

    def slice_items(self, part: Param, subject: Items, world: World, span: Span) -> Text | Items:
        try:
            start, count = self.range(part, world)
        except Undecided as error:
            return Items([Word((unknown(str(error), span),), span)], subject.star, subject.open)
        words = subject.words
        if part.name in ("@", "*"):
            words = [Word(tuple(self.script_name.pieces()), span), *words]
        from grpo_lint.syntax.shell import operators

        bounds = operators.sliced(len(words), start, count)
        return Items(words[slice(*bounds)] if bounds else [], subject.star, subject.open and count is None)

    def range(self, part: Param, world: World) -> tuple[int, int | None]:
        start = self.number(self.text(part.arg, world), world)
        return start, None if part.arg2 is None else self.number(self.text(part.arg2, world), world)

    def operate(self, part: Param, subject: Text, world: World, span: Span) -> Text:
        """An operator that makes a new text of a known one."""
        if subject.reason:
            return self.partly(part, subject, world, span)
        from grpo_lint.syntax.shell import operators

        text, op = subject.text, part.op
        try:
            if op == ":":
                bounds = operators.sliced(len(text), *self.range(part, world))
                result = text[slice(*bounds)] if bounds else ""
            elif op[0] == "@":
                made = operators.transformed(text, op)
                if made is None:
                    return Text((unknown(f"{op} is not evaluated", span),))
                result = made
            else:
                result = self.matched(part, text, world)
        except (Undecided, Unmatchable) as error:
            return Text((unknown(str(error), span),))
        via = tuple(piece.span for piece in subject.parts[:2])
        return Text((Piece(result, span, via, "", subject.note),)) if result or subject.note else EMPTY

    def matched(self, part: Param, text: str, world: World) -> str:
        atoms, reason = self.atoms(part.arg, world)
        if reason:
            raise Undecided(reason)
        from grpo_lint.syntax.shell import operators

        if part.op[0] in "#%":
            return operators.trimmed(text, part.op, atoms)
        if part.op[0] == "/":
            new = self.text(part.arg2, world)
            if new.reason:
                raise Undecided(new.reason)
            return operators.replaced(text, part.op, atoms, new.text)
        return operators.cased(text, part.op, atoms)

    def partly(self, part: Param, subject: Text, world: World, span: Span) -> Text:
        """An operator on a text of which a part is unknown: a path's last component, or what precedes it."""
        pieces = subject.pieces()
        atoms, _ = self.atoms(part.arg, world)
        pattern = "".join(text for text, _ in atoms)
        tail = pieces[-1]
        if not tail.reason and "/" in tail.text and all(not piece.reason for piece in pieces[1:]):
            if part.op == "##" and pattern == "*/":
                rest = "".join(piece.text for piece in pieces[1:])
                return Text((Piece(rest.rsplit("/", 1)[1], span, (tail.span,), "", tail.note),))
            if part.op == "%" and pattern == "/*":
                return Text((*pieces[:-1], Piece(tail.text.rsplit("/", 1)[0], tail.span, tail.via, "", tail.note)))
        return Text((unknown(subject.reason, span),))
