"""Runs the syntax tree without running anything: lists, branches, loops, functions."""

from __future__ import annotations

from grpo_lint.located import Piece
from grpo_lint.source import Span
from grpo_lint.syntax.shell.conditions import shown
from grpo_lint.syntax.shell.loops import Loops
from grpo_lint.syntax.shell.tree import (
    AndOr,
    ArithCmd,
    Case,
    CommandSub,
    For,
    ForC,
    Function,
    Group,
    If,
    ListNode,
    Pipeline,
    Simple,
    Test,
    While,
)
from grpo_lint.syntax.shell.values import Text, World, Woven, lines_of, moved, unknown
from grpo_lint.syntax.shell.worlds import Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from grpo_lint.syntax.shell.tree import Node

MAX_STEPS = 20_000
"""Commands, over all worlds and loop rounds, that one script may take."""
MAX_NESTED = 60


class Evaluator(Loops):
    """Needs `steps`, `route`, `trail` and the rest of what the reader sets up."""

    def execute(self, node: Node, worlds: list[World]) -> list[World]:
        """All the worlds that the node leaves, those included where `exit` and the like ended it."""
        self.steps += len(worlds)
        if self.steps > MAX_STEPS or self.nested > MAX_NESTED:
            if not self.exhausted:
                what = "running it takes too many steps" if self.steps > MAX_STEPS else "its commands nest too deeply"
                self.gave_up(what, self.place.span(node.start, node.end))
            self.exhausted = self.steps > MAX_STEPS
            return worlds
        if type(node) is Simple:
            return self.simple_all(node, worlds)
        self.nested += 1
        if not isinstance(node, PLAIN) and node.redirects:
            self.redirected(node.redirects, worlds)
            after = self.fed(node, worlds)
        else:
            after = HANDLERS[type(node)](self, node, worlds)
        self.nested -= 1
        return after

    def fed(self, node: Any, worlds: list[World]) -> list[World]:
        """A compound command with redirections: a here-document or here-string is what it reads."""
        given = next((r for r in node.redirects if r.op == "<<<" or r.body is not None), None)
        other = any(r.op == "<" for r in node.redirects)
        if given is None and not other:
            return HANDLERS[type(node)](self, node, worlds)
        before = worlds[0].input
        for world in worlds:
            value = (
                self.text(given.body if given.body is not None else given.target, world) if given is not None else None
            )
            world.input = None if value is None or value.reason else lines_of(value)
        after = HANDLERS[type(node)](self, node, worlds)
        for world in after:
            world.input = before
        return after

    def finish(self, worlds: list[World]) -> None:
        """What the script does when it ends (`trap ... EXIT`)."""
        if self.at_exit is None:
            return
        action, node = self.at_exit
        for world in worlds:
            world.flow = None
            self.eval(node, [action, action], [], False, world)

    def sequence(self, node: ListNode, worlds: list[World]) -> list[World]:
        ended: list[World] = []
        for item, background in node.items:
            if background:
                self.in_background(item, worlds)
                continue
            worlds = self.execute(item, worlds)
            if len(worlds) > 1 and type(item) is AndOr and item is not node.items[-1][0]:
                worlds = self.merged(worlds)
            if any(world.flow is not None for world in worlds):
                ended.extend(world for world in worlds if world.flow is not None)
                worlds = [world for world in worlds if world.flow is None]
                if not worlds:
                    break
        return ended + worlds if ended else worlds

    def in_background(self, item: Node, worlds: list[World]) -> None:
        before, self.background = self.background, True
        self.execute(item, [world.fork() for world in worlds])
        self.background = before
        for world in worlds:
            world.status, world.verdict = 0, None

    def simple_all(self, node: Simple, worlds: list[World]) -> list[World]:
        if len(worlds) == 1:
            return self.simple(node, worlds[0])
        done = [after for world in worlds for after in self.simple(node, world)]
        return self.merged(done) if len(done) > len(worlds) else done

    def pipeline(self, node: Pipeline, worlds: list[World]) -> list[World]:
        if len(node.commands) == 1:
            return self.negated(node, self.execute(node.commands[0], worlds))
        before, self.piped = self.piped, True
        for number, command in enumerate(node.commands):
            last = number == len(node.commands) - 1
            forks = [world.fork() for world in worlds]
            for world in forks:
                if world.out is not None or not last:
                    world.out = []
            left = self.execute(command, forks)
            if last:
                self.adopt(worlds, left, node)
        self.piped = before
        return self.negated(node, worlds)

    def negated(self, node: Pipeline, worlds: list[World]) -> list[World]:
        for world in worlds:
            if node.negated and world.flow is None:
                if world.status is None:
                    world.verdict = self.verdict(world).negated()
                else:
                    world.status = int(not world.status)
        return worlds

    def adopt(self, worlds: list[World], left: list[World], node: Node) -> None:
        """Takes over what a subshell leaves behind: its status, its output."""
        span = self.place.span(node.start, node.end)
        for world in worlds:
            if len(left) == len(worlds) == 1:
                world.status, world.verdict = left[0].status, left[0].verdict
                if world.out is not None:
                    world.out.extend(left[0].out or [])
                continue
            text = shown(span.text)
            world.status, world.verdict = None, Verdict(f"`{text}` succeeds", f"`{text}` fails", span, None, True)
            if world.out is not None:
                same = len({other.output() for other in left}) == 1
                world.out.extend((left[0].out or []) if same else [unknown("its output is one of several", span)])

    def group(self, node: Group, worlds: list[World]) -> list[World]:
        quiet = self.is_quiet(node.redirects)
        outs = [world.out for world in worlds]
        if quiet:
            for world in worlds:
                world.out = None if world.out is None else []
        if not node.subshell:
            after = self.execute(node.body, worlds)
        else:
            forks = [world.fork() for world in worlds]
            for world in forks:
                world.out = None if world.out is None else []
            left = self.execute(node.body, forks)
            self.adopt(worlds, left, node)
            after = worlds
        if quiet:
            for world, out in zip(worlds, outs, strict=True):
                world.out = out
        return after

    def define(self, node: Function, worlds: list[World]) -> list[World]:
        for world in worlds:
            world.functions = {**world.functions, node.name: (node, self.place)}
            world.status, world.verdict = 0, None
        return worlds

    def process_words(self, body: ListNode, world: World) -> None:
        inner = world.fork()
        inner.out = None
        before, self.capturing = self.capturing, True
        self.execute(body, [inner])
        self.capturing = before

    def double_bracket(self, node: Test, worlds: list[World]) -> list[World]:
        for world in worlds:
            self.settle(world, self.judge(node.expression, world))
        return worlds

    def double_parenthesis(self, node: ArithCmd, worlds: list[World]) -> list[World]:
        return self.tested(node.expression, worlds)

    def substitute(self, part: CommandSub, world: World) -> Text:
        inner = world.fork()
        inner.out = []
        before = self.place, self.capturing, self.background, self.piped
        self.capturing, self.background, self.piped = True, False, False
        if part.offsets is not None:
            span = self.place.span
            letters = zip(part.text, part.offsets, strict=True)
            self.place = Woven([Piece(char, span(at, at + 1)) for char, at in letters], "")
        left = self.execute(part.body, [inner])
        self.place, self.capturing, self.background, self.piped = before
        span_ = self.place.span(part.start, part.end)
        world.status, world.verdict = left[0].status, left[0].verdict
        if len({other.output() for other in left}) > 1:
            return Text((unknown("its output is one of several", span_),))
        return self.printed(left[0].out or [], span_)

    def printed(self, out: list[Piece], span: Span) -> Text:
        """Output as a text: without the line ends at its end."""
        pieces = [moved(piece, span) for piece in Text(tuple(out)).pieces()]
        while pieces and not pieces[-1].reason:
            text = pieces[-1].text.rstrip("\n")
            if text == pieces[-1].text and text:
                break
            last = pieces.pop()
            if text:
                pieces.append(Piece(text, last.span, last.via, "", last.note))
        return Text(tuple(pieces))


HANDLERS: dict[type, Callable[[Evaluator, Any, list[World]], list[World]]] = {
    ListNode: Evaluator.sequence,
    AndOr: Evaluator.and_or,
    Pipeline: Evaluator.pipeline,
    Group: Evaluator.group,
    If: Evaluator.branches,
    For: Evaluator.loop,
    ForC: Evaluator.counting,
    While: Evaluator.while_,
    Case: Evaluator.case,
    Function: Evaluator.define,
    Test: Evaluator.double_bracket,
    ArithCmd: Evaluator.double_parenthesis,
}

PLAIN = (ListNode, AndOr, Pipeline)
