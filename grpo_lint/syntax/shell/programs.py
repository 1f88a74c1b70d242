"""Simple commands: which are functions, built in, or programs; and the few programs whose output is certain."""

from __future__ import annotations

import re
from abc import abstractmethod

from grpo_lint.located import Piece, Word
from grpo_lint.source import SourceFile, Span
from grpo_lint.syntax.shell.builtins import BUILTINS, NOTHING
from grpo_lint.syntax.shell.compound import parse
from grpo_lint.syntax.shell.conditions import shown
from grpo_lint.syntax.shell.emission import Emission
from grpo_lint.syntax.shell.inputs import Call
from grpo_lint.syntax.shell.script import paths
from grpo_lint.syntax.shell.tree import Function, ListNode, Simple
from grpo_lint.syntax.shell.values import Frame, Text, Undecided, Variable, World, Woven, Written, unknown
from grpo_lint.syntax.shell.worlds import Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from grpo_lint.syntax.shell.conditions import Outcome
    from grpo_lint.syntax.shell.tree import Node

MAX_CALLS = 12
"""Depth of function calls, `eval` and `source` that is followed."""

HARMLESS_SOURCE = (
    r"(?:^|/)(?:activate|conda\.sh|\.?(?:bashrc|bash_profile|profile|zshrc)|setvars\.sh|set_env\.sh|modules\.sh|"
    r"init\.sh|functions)$"
)
"""Files that set up an installation, not a run's values."""


class Programs(Emission):
    @abstractmethod
    def execute(self, node: Node, worlds: list[World]) -> list[World]:
        """Given by the class that puts the evaluator together."""

    # one command

    def simple(self, node: Simple, world: World) -> list[World]:
        if not node.words:
            self.bare(node, world)
            return [world]
        argv, unsure, more = self.words(node.words, world)
        self.steps += len(argv) // 16
        if world.flow is not None:
            return [world]
        if not argv:
            self.bare(node, world)
            return [world]
        name = "" if argv[0].dynamic else argv[0].text
        if name in ("command", "builtin") and len(argv) > 1 and not argv[1].text.startswith("-"):
            argv, unsure = argv[1:], [index - 1 for index in unsure]
            name = "" if argv[0].dynamic else argv[0].text
        elif name in world.functions:
            return self.with_prefix(node, world, lambda: self.call(name, node, argv, unsure, more, world))
        if name in SPECIAL:
            return self.with_prefix(node, world, lambda: SPECIAL[name](self, node, argv, unsure, more, world))
        before = world.status
        if name in ("exit", "return"):
            self.leave(Call(name, node, argv, unsure, more, self.place.span(node.start, node.end)), world, before)
            return [world]
        if node.redirects and (name in BUILTINS or name in NOTHING):
            self.redirected(node.redirects, [world])
        if node.assigns and name in ("read", "mapfile", "readarray", "printf", "echo", "cd"):
            return self.with_prefix(node, world, lambda: self.run_builtin(name, node, argv, unsure, more, world))
        if not self.builtin(name, node, argv, unsure, world, more):
            self.program(node, argv, unsure, more, world)
        return [world]

    def run_builtin(
        self, name: str, node: Simple, argv: list[Word], unsure: list[int], more: bool, world: World
    ) -> list[World]:
        self.builtin(name, node, argv, unsure, world, more)
        return [world]

    def with_prefix(self, node: Simple, world: World, run: Callable[[], list[World]]) -> list[World]:
        """Runs with the assignments before a command in force for that command only."""
        if not node.assigns:
            return run()
        hidden = {assign.name: world.vars.get(assign.name) for assign in node.assigns}
        for assign in node.assigns:
            self.assignment(assign, world)
            variable = world.vars.get(assign.name)
            if variable is not None and not variable.exported:
                world.vars[assign.name] = variable = variable.copy()
                variable.exported = True
                world.env = None
        after = run()
        for left in after:
            for name, old in hidden.items():
                if old is None:
                    left.vars.pop(name, None)
                else:
                    left.vars[name] = old
            left.env = None
        return after

    def bare(self, node: Simple, world: World) -> None:
        """Assignments and redirections without a command."""
        world.status, world.verdict = 0, None
        for assign in node.assigns:
            self.assignment(assign, world)
        for redirect in node.redirects:
            if redirect.op == "<" and world.out is not None and not node.assigns:
                word = self.redirect_word(redirect, world)
                found = self.read_file(word, world)
                span = self.place.span(node.start, node.end)
                world.out.extend([unknown("the file is not here", span)] if found is None else [_whole(found)])

    def program(self, node: Simple, argv: list[Word], unsure: list[int], more: bool, world: World) -> None:
        """A program, or something unknown that may be one."""
        world.status, world.verdict = None, (node, self.place)
        made = None
        if world.out is not None and not self.is_quiet(node.redirects):
            made = self.output(node, argv, world)
            if made is not None:
                world.out.extend(made)
                return
            span = self.place.span(node.start, node.end)
            world.out.append(unknown(f"it is the output of `{shown(span.text)}`", span))
        self.emit(node, argv, unsure, more, world)

    def output(self, node: Simple, argv: list[Word], world: World) -> list[Piece] | None:
        from grpo_lint.syntax.shell.outputs import OUTPUTS

        maker = OUTPUTS.get(argv[0].text)
        return None if maker is None else maker(self, argv, world, self.place.span(node.start, node.end))

    # functions, eval, source

    def deeper_call(self, span: Span) -> bool:
        if self.calls >= MAX_CALLS:
            self.gave_up("calls nest too deeply to follow", span)
            return False
        return True

    def call(
        self, name: str, node: Simple, argv: list[Word], unsure: list[int], more: bool, world: World
    ) -> list[World]:
        span = self.place.span(node.start, node.end)
        if not self.deeper_call(span):
            return [world]
        function, place = world.functions[name]
        assert isinstance(function, Function)
        world.frames = [*world.frames, Frame(name, world.args, world.open_at, world.shifted)]
        limit = min(unsure) - 1 if unsure and min(unsure) > 0 else None
        world.args, world.shifted = argv[1:], 0
        world.open_at = len(world.args) if more else limit
        before = self.place, self.piped
        self.place = place  # type: ignore[assignment]
        self.calls += 1
        self.trail.append(span)
        self.route.append((id(node), 0))
        quiet = world.out is not None and self.is_quiet(node.redirects)
        out = world.out
        if quiet:
            world.out = []
        after = self.execute(function.body, [world])
        self.route.pop()
        self.trail.pop()
        self.calls -= 1
        self.place, self.piped = before
        for left in after:
            _returned(left)
            if quiet:
                left.out = out
        return after

    def eval(self, node: Simple, argv: list[Word], unsure: list[int], more: bool, world: World) -> list[World]:
        span = self.place.span(node.start, node.end)
        world.status, world.verdict = 0, None
        pieces: list[Piece] = []
        for number, word in enumerate(argv[1:]):
            if number:
                pieces.append(Piece(" ", word.span))
            pieces.extend(word.pieces)
        if not any(piece.text for piece in pieces) or not self.deeper_call(span):
            return [world]
        key = id(node), "".join(piece.text for piece in pieces)
        if key not in self.evaluated:
            woven = Woven(pieces, self.place.file.path)
            body, faults = parse(woven.file.text)
            self.evaluated[key] = woven, body
            for fault in faults:
                if not any(piece.reason for piece in pieces):
                    self.problem("syntax", f"in the text that eval runs: {fault.message}", span)
        return self.run_inside(*self.evaluated[key], node, world)

    def run_inside(self, place: Woven | Written, body: ListNode, node: Simple, world: World) -> list[World]:
        before = self.place
        self.trail.append(before.span(node.start, node.end))
        self.route.append((id(node), 0))
        self.place = place
        self.calls += 1
        after = self.execute(body, [world])
        self.calls -= 1
        self.place = before
        self.route.pop()
        self.trail.pop()
        return after

    def source(self, node: Simple, argv: list[Word], unsure: list[int], more: bool, world: World) -> list[World]:
        span = self.place.span(node.start, node.end)
        if len(argv) < 2 or not self.deeper_call(span):
            return [world]
        found = self.read_file(argv[1], world)
        if found is None:
            world.status, world.verdict = None, (node, self.place)
            if self.environment is None and not re.search(HARMLESS_SOURCE, argv[1].text):
                self.unread = shown(argv[1].span.text).strip("'\"")
            return [world]
        if any(found.text == reading.file.text for reading in (self.place, *self.trail)):
            self.gave_up("the file reads itself; what it sets the second time is not followed", span)
            return [world]
        tree = self.trees.get(id(found))
        if tree is None:
            tree, faults = parse(found.text)
            self.trees[id(found)] = tree
            self.script.sourced.append(found)
            for fault in faults:
                self.problem(fault.kind, fault.message, Span(found, fault.start, fault.end))
        args = world.args, world.open_at, world.shifted
        if len(argv) > 2:
            world.args, world.open_at, world.shifted = argv[2:], None, 0
        world.status, world.verdict = 0, None
        self.sourcing += 1
        place = Written(found, (found.path.rpartition("/")[0],))
        after = self.run_inside(place, tree, node, world)
        self.sourcing -= 1
        for left in after:
            if left.flow is not None and left.flow[0] == "return":
                left.flow = None
            if len(argv) > 2:
                left.args, left.open_at, left.shifted = args
        return after

    def read_file(self, word: Word, world: World) -> SourceFile | None:
        """The file that a path names, as far as the repository has it."""
        if self.load is None:
            return None
        candidates = paths(word)
        if not candidates and not word.dynamic:
            text = word.text
            if self.environment is not None:
                candidates = (text if text.startswith("/") else f"{world.cwd.text}/{text}",)
            elif not text.startswith(("/", "~")) and text:
                candidates = self.below(world, text)
        for path in candidates:
            if path and (found := self.load(path)) is not None:
                return found
        return None

    def exists(self, word: Word, world: World) -> bool:
        return not word.text.endswith("/") and self.read_file(word, world) is not None

    # others that need more than a status

    def exec(self, node: Simple, argv: list[Word], unsure: list[int], more: bool, world: World) -> list[World]:
        world.status, world.verdict = 0, None
        if len(argv) > 1:
            self.program(node, argv[1:], [index - 1 for index in unsure], more, world)
            world.flow = ("exit", 0)
        return [world]

    def command(self, node: Simple, argv: list[Word], unsure: list[int], more: bool, world: World) -> list[World]:
        self.look_up(Call("command", node, argv, unsure, more, self.place.span(node.start, node.end)), world)
        return [world]

    def false(self, node: Simple, argv: list[Word], unsure: list[int], more: bool, world: World) -> list[World]:
        world.status, world.verdict = 1, None
        return [world]

    def arithmetic_holds(self, value: Text, world: World, span: Span) -> Outcome:
        try:
            return self.number(value, world) != 0
        except Undecided as error:
            verdict = Verdict(f"(({shown(value.text)}))", f"not (({shown(value.text)}))", span)
            verdict.caller = str(error).endswith("the caller")
            return verdict

    def captured(self, found: re.Match[str] | None, world: World, span: Span) -> None:
        groups = [] if found is None else [found.group(), *found.groups()]
        items: dict[str | int, Word] = {n: Word((Piece(text or "", span),), span) for n, text in enumerate(groups)}
        self.set_variable(world, "BASH_REMATCH", Variable(span, None, items))


SPECIAL: dict[str, Callable[[Programs, Simple, list[Word], list[int], bool, World], list[World]]] = {
    "eval": Programs.eval, "source": Programs.source, ".": Programs.source, "exec": Programs.exec,
    "command": Programs.command, "builtin": Programs.command, "false": Programs.false,
}  # fmt: skip


def _returned(world: World) -> None:
    """Takes the world back from a function."""
    if world.flow is not None and world.flow[0] == "return":
        world.flow = None
    frame = world.frames[-1]
    world.frames = world.frames[:-1]
    world.args, world.open_at, world.shifted = frame.args, frame.open_at, frame.shifted
    for name, old in frame.hidden.items():
        if old is None:
            world.vars.pop(name, None)
        else:
            world.vars[name] = old
    if frame.hidden:
        world.env = None


def _whole(source: SourceFile) -> Piece:
    return Piece(source.text, Span(source, 0, len(source.text)))
