"""Assignments, and the built-in commands that declare variables."""

from __future__ import annotations

from grpo_lint.located import Piece, Word
from grpo_lint.patterns import lazy
from grpo_lint.source import Span
from grpo_lint.syntax.shell import names
from grpo_lint.syntax.shell.conditions import Conditions
from grpo_lint.syntax.shell.tree import Assign, Simple, WordNode
from grpo_lint.syntax.shell.values import Text, Undecided, Use, Variable, World, text_of, unknown

MAX_ITEMS = 10_000
NAME = lazy(r"[A-Za-z_][A-Za-z0-9_]*$")
NAME_VALUE = lazy(r"([A-Za-z_][A-Za-z0-9_]*)(\+?)=")


class Assignments(Conditions):
    def set_variable(self, world: World, name: str, variable: Variable) -> None:
        old = world.vars.get(name)
        if old is not None:
            if old.readonly:
                return
            variable.exported = variable.exported or old.exported
            variable.integer = variable.integer or old.integer
        elif self.environment is not None and name in self.environment:
            variable.exported = True
        if world.allexport:
            variable.exported = True
        if variable.integer and variable.value is not None and not variable.value.reason:
            variable.value = self.integer(variable.value, world, variable.span)
        world.vars[name] = variable
        if variable.exported:
            world.env = None

    def integer(self, value: Text, world: World, span: Span) -> Text:
        try:
            number = str(self.number(value, world))
        except Undecided as error:
            return Text((unknown(str(error), span),))
        return value if number == value.text else Text((Piece(number, span),))

    def assign(self, world: World, name: str, value: Text, span: Span) -> None:
        self.set_variable(world, name, Variable(span, value))

    def assignment(self, node: Assign, world: World, given: Text | None = None) -> None:
        """Makes an assignment; `given` is its value where that was expanded before."""
        name = node.name
        old = world.vars.get(name)
        if old is not None and old.reference and old.value is not None:
            name = old.value.text
            old = world.vars.get(name)
        if node.items is not None:
            self.assign_items(node, name, old, world)
        elif node.index is not None:
            self.assign_element(node, name, old, world)
        else:
            value = self.text(node.value, world) if given is None else given
            if node.append:
                value = self.appended(name, old, value, node, world)
            elif old is not None and old.value is not None:
                value = inlined(value, old.value)
            if old is not None and old.items is not None:
                self.put(world, name, old, "0" if old.assoc else 0, value, self.place.span(node.start, node.end))
                return
            self.set_variable(world, name, Variable(self.place.span(node.start, node.end), value))

    def appended(self, name: str, old: Variable | None, value: Text, node: Assign, world: World) -> Text:
        span = self.place.span(node.start, node.end)
        if old is not None and old.items is not None:
            first = old.items.get("0" if old.assoc else 0)
            return Text((*first.pieces, *value.parts)) if first is not None else value
        if old is not None and old.integer:
            before = old.value.text if old.value is not None else "0"
            return Text((Piece(f"{before or 0}+{value.text or 0}", span, (), value.reason),))
        if old is not None:
            return Text((*(old.value.parts if old.value is not None else ()), *value.parts))
        subject, reason = self.unset(name, world, span)
        if isinstance(subject, Text):
            return Text((*subject.parts, *value.parts))
        if not reason:
            return value
        if names.from_environment(name):
            return Text((unknown(f"{name} comes from the environment", span), *value.parts))
        return Text((Piece("", span, (), "", f"unless {name} is set"), *value.parts))

    def assign_items(self, node: Assign, name: str, old: Variable | None, world: World) -> None:
        span = self.place.span(node.start, node.end)
        variable = Variable(span, None, {})
        assert variable.items is not None
        assert node.items is not None
        if old is not None:
            variable.assoc = old.assoc
            variable.open_ended = node.append and old.open_ended
            if node.append and old.items is not None:
                owned = old.owner is world.token
                variable.items = old.items if owned else dict(old.items)
            elif node.append and old.value is not None and old.value.parts:
                variable.items[0] = Word(tuple(old.value.pieces()), old.span)
        variable.owner = world.token
        numbers = [key for key in variable.items if isinstance(key, int)]
        at = max(numbers) + 1 if numbers else 0
        for item in node.items:
            if isinstance(item, WordNode):
                words, _, more = self.words([item], world)
                variable.open_ended = variable.open_ended or more
                for word in words:
                    variable.items[at] = word
                    at += 1
                if len(variable.items) > MAX_ITEMS:
                    self.gave_up("the array gets too long to follow", span)
                    variable.items, variable.value = None, Text((unknown("it is too long to follow", span),))
                    break
            else:
                assert item.index is not None
                key, _ = self.key(variable, item.index, world)
                if key is None:
                    continue
                value = self.text(item.value, world)
                where = item.value or item
                variable.items[key] = Word(tuple(value.pieces()), self.place.span(where.start, where.end))
                at = key + 1 if isinstance(key, int) else at
        self.set_variable(world, name, variable)

    def assign_element(self, node: Assign, name: str, old: Variable | None, world: World) -> None:
        assert node.index is not None
        span = self.place.span(node.start, node.end)
        if old is None or old.items is None:
            old = Variable(span, None, {} if old is None or old.value is None else {0: _word(old.value, old.span)})
        key, reason = self.key(old, node.index, world)
        if key is None:
            self.set_variable(world, name, Variable(span, Text((unknown(reason, span),))))
            return
        value = self.text(node.value, world)
        if node.append and old.items is not None and key in old.items:
            value = Text((*old.items[key].pieces, *value.parts))
        where = self.place.span(node.value.start, node.value.end) if node.value is not None else span
        self.put(world, name, old, key, value, where)

    def put(self, world: World, name: str, old: Variable, key: str | int, value: Text, span: Span) -> None:
        variable = old.copy()
        variable.items = dict(old.items or {})
        if isinstance(key, int) and key < 0:
            key += max([number for number in variable.items if isinstance(number, int)], default=0) + 1
        variable.items[key] = _word(value, span)
        variable.owner = world.token
        self.set_variable(world, name, variable)

    # declare, local, export, readonly, unset

    def declare(self, name: str, node: Simple, argv: list[Word], world: World) -> None:
        flags: set[str] = set()
        removed: set[str] = set()
        for word in argv[1:]:
            if word.text[:1] in "-+" and len(word.text) > 1:
                (flags if word.text[0] == "-" else removed).update(word.text[1:])
        if name == "export":
            (removed if "n" in flags else flags).add("x")
            flags.discard("n")
        if name == "readonly":
            flags.add("r")
        if "f" in flags or "p" in flags or "F" in flags:
            return
        local = name == "local" or (name in ("declare", "typeset") and "g" not in flags and bool(world.frames))
        assigns = [item for item in node.words if isinstance(item, Assign)]
        # all are expanded before any is set
        given = [self.text(item.value, world) if item.items is None else None for item in assigns]
        for item, value in zip(assigns, given, strict=True):
            self.prepare(item.name, flags, local, world, self.place.span(item.start, item.end), True)
            self.assignment(item, world, value)
            self.mark(item.name, flags, removed, world)
        for word in argv[1:]:
            if word.text[:1] not in "-+":
                self.declared_word(word, flags, removed, local, world)

    def declared_word(self, word: Word, flags: set[str], removed: set[str], local: bool, world: World) -> None:
        found = NAME_VALUE.match(word.text)
        if found:
            self.prepare(found.group(1), flags, local, world, word.span, True)
            value = text_of(word.cut(found.end()))
            if found.group(2):
                old = world.vars.get(found.group(1))
                value = Text((*(old.value.parts if old is not None and old.value is not None else ()), *value.parts))
            self.set_variable(world, found.group(1), Variable(word.span, value))
            self.mark(found.group(1), flags, removed, world)
        elif NAME.match(word.text):
            self.prepare(word.text, flags, local, world, word.span, False)
            self.mark(word.text, flags, removed, world)

    def prepare(self, name: str, flags: set[str], local: bool, world: World, span: Span, assigned: bool) -> None:
        """Gives a declared name the state that its attributes ask for, before any value."""
        old = world.vars.get(name)
        if local and world.frames and name not in world.frames[-1].hidden:
            world.frames[-1].hidden[name] = old
            old = None
            world.vars.pop(name, None)
        kind = "A" in flags or "a" in flags or "n" in flags or "i" in flags
        if old is None and (kind or (local and not assigned) or ("x" not in flags and not assigned)):
            variable = Variable(span)
            if "A" in flags or "a" in flags:
                variable.items = {}
            world.vars[name] = old = variable
        if old is not None:
            if "A" in flags and not old.assoc:
                old = old.copy()
                old.assoc = True
                old.items = {str(key): word for key, word in (old.items or {}).items()}
                world.vars[name] = old
            elif "i" in flags or "n" in flags:
                old = old.copy()
                old.integer = old.integer or "i" in flags
                world.vars[name] = old

    def mark(self, name: str, flags: set[str], removed: set[str], world: World) -> None:
        variable = world.vars.get(name)
        if variable is None or not (flags & set("xrn") or removed & set("xi")):
            return
        changed = variable.copy()
        changed.owner = variable.owner
        changed.exported = (variable.exported or "x" in flags) and "x" not in removed
        changed.readonly = variable.readonly or "r" in flags
        changed.reference = (variable.reference or "n" in flags) and "n" not in removed
        changed.integer = variable.integer and "i" not in removed
        world.vars[name] = changed
        world.env = None

    def unset_names(self, argv: list[Word], world: World) -> None:
        functions = any(word.text == "-f" for word in argv)
        for word in argv[1:]:
            text = word.text
            if functions and text in world.functions:
                world.functions = {name: body for name, body in world.functions.items() if name != text}
            elif text.endswith("]") and "[" in text:
                name, _, index = text[:-1].partition("[")
                old = world.vars.get(name)
                if old is not None and old.items is not None:
                    variable = old.copy()
                    key, _ = self.key(old, WordNode((), 0, 0, index.strip("'\"")), world)
                    variable.items = {other: item for other, item in old.items.items() if other != key}
                    world.vars[name] = variable
            elif NAME.match(text):
                world.vars[text] = Variable(word.span)
                world.env = None

    def exports(self, world: World) -> dict[str, Word]:
        """The words of the variables that the script exports."""
        if world.env is None:
            world.env = {
                name: _word(variable.value, variable.span)
                for name, variable in world.vars.items()
                if variable.exported and variable.value is not None
            }
        return world.env


def _word(value: Text, span: Span) -> Word:
    pieces = tuple(value.pieces())
    if pieces and pieces[-1].span.file is pieces[0].span.file and pieces[-1].span.end >= pieces[0].span.end:
        span = Span(pieces[0].span.file, pieces[0].span.start, pieces[-1].span.end)
    return Word(pieces, span)


def inlined(value: Text, old: Text) -> Text:
    """`A="$A more"`: what A held before stays where it was written."""
    if not any(type(part) is Use and part.value is old for part in value.parts):
        return value
    parts: list[Piece] = []
    for part in value.parts:
        if type(part) is Use and part.value is old:
            parts.extend(old.parts)
        else:
            parts.append(part)
    return Text(tuple(parts))
