"""`read` and `mapfile`: variables that are set from text."""

from __future__ import annotations

import re

from grpo_lint.located import DYNAMIC, Piece, Word
from grpo_lint.source import Span
from grpo_lint.syntax.shell.assignments import NAME, Assignments
from grpo_lint.syntax.shell.conditions import shown
from grpo_lint.syntax.shell.fields import Fields
from grpo_lint.syntax.shell.tree import Simple
from grpo_lint.syntax.shell.values import EMPTY, Text, Variable, World, text_of, unknown
from grpo_lint.syntax.shell.worlds import Verdict


class Call:
    """A built-in command as it is called."""

    __slots__ = ("argv", "more", "name", "node", "span", "unsure")

    def __init__(self, name: str, node: Simple, argv: list[Word], unsure: list[int], more: bool, span: Span) -> None:
        self.name = name
        self.node = node
        self.argv = argv
        self.unsure = unsure
        self.more = more
        self.span = span


class Inputs(Assignments):
    def read(self, call: Call, world: World) -> None:
        names, array, delimiter = [], "", "\n"
        words = iter(call.argv[1:])
        for word in words:
            text = word.text
            if text.startswith("-") and len(text) > 1:
                if text[-1] in "adinNptu":
                    following = next(words, None)
                    if text[-1] == "a" and following is not None:
                        array = following.text
                    elif text[-1] == "d" and following is not None:
                        delimiter = following.text
            elif NAME.match(text):
                names.append(text)
        given = next((r for r in call.node.redirects if r.op == "<<<" or (r.op in ("<<", "<<-") and r.body)), None)
        if given is None and world.input is not None:
            left = bool(world.input)
            value = world.input.pop(0) if left else EMPTY
            world.status = 0 if left else 1
            self.read_into(names, array, value, call, world)
            return
        if given is None:
            reason = "it is read from input"
            world.status = None
            world.verdict = Verdict(f"`{shown(call.span.text)}` succeeds", "its input has ended", call.span)
            for name in names or ["REPLY"]:
                self.assign(world, name, Text((unknown(reason, call.span),)), call.span)
            if array:
                self.assign(world, array, Text((unknown(reason, call.span),)), call.span)
            return
        value = self.text(given.body if given.body is not None else given.target, world)
        value = _first_line(value) if delimiter == "\n" else value
        world.status = 0 if delimiter == "\n" else 1
        self.read_into(names, array, value, call, world)

    def read_into(self, names: list[str], array: str, value: Text, call: Call, world: World) -> None:
        fields = Fields()
        fields.begin(call.span)
        if array:
            fields.split(value, call.span, self.ifs(world))
            fields.close()
            items: dict[str | int, Word] = dict(enumerate(fields.words))
            if value.reason and value.text == DYNAMIC:
                self.assign(world, array, Text((unknown(value.reason, call.span),)), call.span)
            else:
                self.set_variable(world, array, Variable(call.span, None, items))
            return
        if len(names) < 2:
            only = value if not names or self.ifs(world) == "" else _stripped(value)
            self.assign(world, names[0] if names else "REPLY", only, call.span)
            return
        fields.split(value, call.span, self.ifs(world))
        fields.close()
        words = fields.words
        for number, name in enumerate(names):
            last = number == len(names) - 1
            if value.reason:
                found = Text((unknown(value.reason, call.span),))
            elif last and len(words) > len(names):
                found = Text((Piece(_rest(value.text, number, self.ifs(world)), call.span, (words[number].span,)),))
            else:
                found = text_of(words[number]) if number < len(words) else EMPTY
            self.assign(world, name, found, call.span)

    def mapfile(self, call: Call, world: World) -> None:
        name = call.argv[-1].text if len(call.argv) > 1 and NAME.match(call.argv[-1].text) else "MAPFILE"
        given = next((r for r in call.node.redirects if r.op == "<<<"), None)
        value = self.text(given.target, world) if given is not None else None
        if value is None or value.reason or not any(word.text == "-t" for word in call.argv):
            self.assign(world, name, Text((unknown("it is read from input", call.span),)), call.span)
            return
        fields = Fields()
        fields.begin(call.span)
        fields.split(value, call.span, "\n")
        fields.close()
        self.set_variable(world, name, Variable(call.span, None, dict(enumerate(fields.words))))


def _first_line(value: Text) -> Text:
    pieces: list[Piece] = []
    for piece in value.pieces():
        line, ends, _ = piece.text.partition("\n")
        pieces.append(Piece(line, piece.span, piece.via, piece.reason, piece.note) if ends else piece)
        if ends:
            break
    return Text(tuple(pieces))


def _rest(text: str, fields: int, separators: str | None) -> str:
    """What follows the first fields of a line."""
    if separators is None or not separators.strip(" \t\n"):
        return text.split(None, fields)[-1].rstrip(" \t\n")
    return re.split(f"[{re.escape(separators)}]", text, maxsplit=fields)[-1]


def _stripped(value: Text) -> Text:
    if value.reason or value.text == value.text.strip(" \t\n"):
        return value
    span = value.parts[0].span
    return Text((Piece(value.text.strip(" \t\n"), span, value.parts[0].via, "", value.note),))
