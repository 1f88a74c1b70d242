"""Runs the syntax tree without running anything: lists, branches, loops, functions."""

from __future__ import annotations

from grpo_lint.located import Piece, Word
from grpo_lint.source import Span
from grpo_lint.syntax.shell.arithmetic import Undecided
from grpo_lint.syntax.shell.conditions import shown, subject_name
from grpo_lint.syntax.shell.patterns import Unmatchable, matches
from grpo_lint.syntax.shell.programs import Programs
from grpo_lint.syntax.shell.script import Choice, Condition
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
    WordNode,
)
from grpo_lint.syntax.shell.values import Text, Variable, World, Woven, moved, unknown
from grpo_lint.syntax.shell.worlds import Verdict, fork, merge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from grpo_lint.syntax.shell.tree import Node

MAX_STEPS = 40_000
"""Commands, over all worlds and loop rounds, that one script may take."""
MAX_NESTED = 60
MAX_ROUNDS = 256
GLOB = frozenset("*?[")


class Evaluator(Programs):
    """Needs `steps`, `route`, `trail` and the rest of what the reader sets up."""

    def execute(self, node: Node, worlds: list[World]) -> list[World]:
        """All the worlds that the node leaves, those included where `exit` and the like ended it."""
        self.steps += len(worlds)
        if self.steps > MAX_STEPS or self.nested > MAX_NESTED:
            what = "running it takes too many steps" if self.steps > MAX_STEPS else "its commands nest too deeply"
            self.gave_up(what, self.place.span(node.start, node.end))
            return worlds
        if type(node) is Simple:
            return self.simple_all(node, worlds)
        self.nested += 1
        after = HANDLERS[type(node)](self, node, worlds)
        self.nested -= 1
        return after

    def sequence(self, node: ListNode, worlds: list[World]) -> list[World]:
        ended: list[World] = []
        for item, background in node.items:
            if background:
                self.in_background(item, worlds)
                continue
            worlds = self.execute(item, worlds)
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
        return merge(done) if len(done) > len(worlds) else done

    # choices

    def parted(self, worlds: list[World], condition: bool) -> tuple[list[World], list[World], list[World]]:
        """Worlds by their last status: success, failure, and those that have ended. Undecided ones fork.

        `condition`: the status was asked for by `if` or `while`, so that a program's is not just presumed.
        """
        yes: list[World] = []
        no: list[World] = []
        ended: list[World] = []
        for world in worlds:
            if world.flow is not None:
                ended.append(world)
            elif world.status is not None:
                (no if world.status else yes).append(world)
            else:
                verdict = self.verdict(world)
                if verdict.presumed and (not condition or self.environment is not None):
                    yes.append(world)
                else:
                    holds, fails = fork(world, verdict)
                    yes.append(holds)
                    no.append(fails)
        return yes, no, ended

    def and_or(self, node: AndOr, worlds: list[World]) -> list[World]:
        ended: list[World] = []
        live = self.execute(node.first, worlds)
        for operator, right in node.rest:
            harmless = operator == "||" and isinstance(right, Simple) and self.only_reports(right)
            yes, no, gone = self.parted(live, operator == "||" and not harmless)
            ended.extend(gone)
            run, skip = (yes, no) if operator == "&&" else (no, yes)
            after = self.execute(right, run) if run else []
            ended.extend(world for world in after if world.flow is not None)
            guards = [world for world in after if world.flow is not None]
            live = [world for world in after if world.flow is None]
            if guards and not live:
                self.unguard(guards, skip)
            live = merge(skip + live)
            if not live:
                break
        return ended + live

    def only_reports(self, node: Simple) -> bool:
        """Whether a command after `||` changes nothing for what follows a success."""
        return bool(node.words) and getattr(node.words[0], "plain", None) in ("true", ":", "echo", "exit", "return")

    def unguard(self, ended: list[World], rest: list[World]) -> None:
        """Drops the condition that only says that the script did not stop with an error."""
        if all(world.flow == ("exit", 0) and world.status != 0 for world in ended):
            choices = {world.when[-1].choice for world in ended if world.when}
            for world in rest:
                world.when = tuple(condition for condition in world.when if condition.choice not in choices)

    def branches(self, node: If, worlds: list[World]) -> list[World]:
        live, done = worlds, []
        for test, body in node.clauses:
            yes, no, ended = self.parted(self.execute(test, live), True)
            done.extend(ended)
            if yes:
                after = self.execute(body, yes)
                if no and all(world.flow is not None for world in after):
                    self.unguard(after, no)
                done.extend(after)
            live = no
            if not live:
                break
        if live:
            if node.otherwise is not None:
                live = self.execute(node.otherwise, live)
                if done and all(world.flow is not None for world in live):
                    self.unguard(live, done)
            else:
                for world in live:
                    world.status, world.verdict = 0, None
        return merge(done + live)

    def case(self, node: Case, worlds: list[World]) -> list[World]:
        done: list[World] = []
        entering: dict[int, list[World]] = {}
        for world in worlds:
            for arm, entered in self.arms(node, world):
                if arm is None:
                    entered.status, entered.verdict = 0, None
                    done.append(entered)
                else:
                    entering.setdefault(arm, []).append(entered)
        falling: list[World] = []
        for number, (_, body, terminator) in enumerate(node.arms):
            live = entering.get(number, []) + falling
            falling = []
            if live:
                after = self.execute(body, live)
                if len(entering) > 1 and all(world.flow is not None for world in after):
                    others = [world for n, group in entering.items() if n != number for world in group]
                    self.unguard(after, others + done)
                if terminator == ";&":
                    falling = [world for world in after if world.flow is None]
                    after = [world for world in after if world.flow is not None]
                done.extend(after)
        return merge(done + falling)

    def arms(self, node: Case, world: World) -> list[tuple[int | None, World]]:
        """The arms that the world may enter, each with a world for it; None for no arm at all."""
        subject = self.operand_of(node.subject, world)
        key = ("eq", subject.source), self.facts(subject, world)
        if subject.reason:
            for condition in world.when:
                if isinstance(condition.key, tuple) and len(condition.key) == 3 and condition.key[:2] == key:
                    subject.text, subject.reason = str(condition.key[2]), ""
        possible: list[tuple[int | None, str]] = []
        name = subject_name(subject.source)
        for number, (patterns, _, _) in enumerate(node.arms):
            texts = []
            for pattern in patterns:
                atoms, reason = self.atoms(pattern, world)
                text = "".join(part for part, _ in atoms)
                try:
                    if not subject.reason and not reason and matches(atoms, subject.text):
                        return [*self.arm_worlds(possible, node, world, key), (number, world)]
                except Unmatchable:
                    reason = "undecided"
                if subject.reason or reason:
                    texts.append(text)
            if texts == ["*"]:
                possible.append((number, f"{name} is none of these" if possible else ""))
                return self.arm_worlds(possible, node, world, key, last=True)
            if texts:
                possible.append((number, f"{name}={'|'.join(texts)}"))
        if not possible:
            return [(None, world)]
        possible.append((None, f"{name} is none of these"))
        return self.arm_worlds(possible, node, world, key, last=True)

    def arm_worlds(
        self,
        possible: list[tuple[int | None, str]],
        node: Case,
        world: World,
        key: tuple[object, object],
        last: bool = False,
    ) -> list[tuple[int | None, World]]:
        if len(possible) == 1 and last:
            return [(possible[0][0], world)]
        choice = Choice(len(possible) + (0 if last else 1))
        span = self.place.span(node.subject.start, node.subject.end)
        done: list[tuple[int | None, World]] = []
        for branch, (arm, text) in enumerate(possible):
            entered = world if last and branch == len(possible) - 1 else world.fork()
            value = text.partition("=")[2] if "=" in text and not set(text) & set("*?[|") else None
            full = (*key, value) if value is not None else None
            entered.when = (*entered.when, Condition(text, span, choice, branch, full))
            done.append((arm, entered))
        return done

    # loops

    def loop(self, node: For, worlds: list[World]) -> list[World]:
        groups: list[tuple[list[Word], bool, list[World]]] = []
        for world in worlds:
            if node.words is None:
                words, unsure, more = list(world.args), list[int](), world.open_at is not None
            else:
                words, unsure, more = self.words(list(node.words), world)
            globs = [n for n, word in enumerate(words) if not word.dynamic and self.is_glob(node, word)]
            loose = bool(unsure or more or globs) or node.select
            for known, group_loose, members in groups:
                if group_loose == loose and [w.text for w in known] == [w.text for w in words]:
                    members.append(world)
                    break
            else:
                groups.append((words, loose, [world]))
        done = []
        for words, loose, members in groups:
            done.extend(self.rounds(node, words, loose, members))
        return merge(done)

    def is_glob(self, node: For, word: Word) -> bool:
        if not GLOB & set(word.text):
            return False
        raw = word.span.text
        return not (raw[:1] in "'\"" and raw[-1:] == raw[:1])

    def rounds(self, node: For, words: list[Word], loose: bool, worlds: list[World]) -> list[World]:
        span = self.place.span(node.start, node.end)
        if len(words) > MAX_ROUNDS:
            self.gave_up(f"the loop runs {len(words):,} times; it is read {MAX_ROUNDS} times", span)
            loose, words = True, words[:MAX_ROUNDS]
        before = [world.fork() for world in worlds] if loose else []
        if loose and not words:
            words = [Word((unknown("it is one of the caller's arguments", span),), span)]
        done, live = [], worlds
        self.trail.append(span)
        for number, word in enumerate(words):
            pieces = word.pieces
            if loose and self.is_glob(node, word):
                pieces = (unknown(f"it is one of the files {shown(word.text)}", word.span),)
            for world in live:
                self.set_variable(world, node.name, Variable(word.span, Text(pieces)))
            self.route.append((id(node), number))
            live, left = self.after_round(self.execute(node.body, live))
            self.route.pop()
            done.extend(left)
            if not live or self.steps > MAX_STEPS:
                break
        self.trail.pop()
        done = merge(done + live)
        return self.blurred(before, done, self.by_caller(words)) if loose else done

    def by_caller(self, words: list[Word]) -> bool:
        return any(word.reason.endswith(("by the caller", "caller's arguments")) for word in words)

    def after_round(self, worlds: list[World]) -> tuple[list[World], list[World]]:
        """The worlds that go into the next round, and those that leave the loop."""
        live: list[World] = []
        left: list[World] = []
        for world in worlds:
            flow = world.flow
            if flow is None:
                live.append(world)
            elif flow[0] in ("break", "continue") and flow[1] <= 1:
                world.flow = None
                (live if flow[0] == "continue" else left).append(world)
            else:
                if flow[0] in ("break", "continue"):
                    world.flow = (flow[0], flow[1] - 1)
                left.append(world)
        return live, left

    def counting(self, node: ForC, worlds: list[World]) -> list[World]:
        first, test, step = node.steps
        for world in worlds:
            self.compute(first, world)
        return self.repeat(node, worlds, lambda live: self.tested(test, live), lambda live: self.tested(step, live))

    def tested(self, expression: WordNode, worlds: list[World]) -> list[World]:
        for world in worlds:
            if expression.parts:
                self.compute(expression, world)
            else:
                world.status, world.verdict = 0, None
        return worlds

    def compute(self, expression: WordNode, world: World) -> None:
        """Evaluates arithmetic for its effects; the status tells whether it was not 0."""
        try:
            world.status, world.verdict = int(self.number(self.text(expression, world), world) == 0), None
        except Undecided as error:
            span = self.place.span(expression.start, expression.end)
            verdict = Verdict(f"(({shown(span.text)}))", f"not (({shown(span.text)}))", span)
            verdict.caller = str(error).endswith("the caller")
            world.status, world.verdict = None, verdict

    def while_(self, node: While, worlds: list[World]) -> list[World]:
        return self.repeat(node, worlds, lambda live: self.execute(node.test, live), None)

    def repeat(
        self,
        node: While | ForC,
        worlds: list[World],
        test: Callable[[list[World]], list[World]],
        step: Callable[[list[World]], list[World]] | None,
    ) -> list[World]:
        span, done, live = self.place.span(node.start, node.end), [], worlds
        until = isinstance(node, While) and node.until
        self.trail.append(span)
        for number in range(MAX_ROUNDS + 1):
            self.route.append((id(node), number))
            states = [world.fork() for world in live]
            tried = test(live)
            unclear = [world for world in tried if world.flow is None and world.status is None]
            entering, over, ended = self.once_parted(tried, until)
            done.extend(ended)
            if number == MAX_ROUNDS and entering:
                self.gave_up(f"the loop is read {MAX_ROUNDS} times at most", span)
                entering, over = [], over + entering
            live, left = self.after_round(self.execute(node.body, entering)) if entering else ([], [])
            self.route.pop()
            if live and step is not None:
                step(live)
            stuck = len(live) == len(states) and all(a.alike(b) for a, b in zip(live, states, strict=True))
            for world in over:
                world.status, world.verdict = 0, None
            done.extend(over + left)
            if unclear or stuck or not live or self.steps > MAX_STEPS:
                done.extend(live)
                if unclear:
                    caller = all(isinstance(w.verdict, Verdict) and w.verdict.caller for w in unclear)
                    done = self.blurred(states, merge(done), caller or self.said_caller)
                break
        self.trail.pop()
        return merge(done)

    def once_parted(self, worlds: list[World], until: bool) -> tuple[list[World], list[World], list[World]]:
        """The worlds that enter the loop's body, those that pass it by, and those that ended in its test."""
        self.said_caller = any(isinstance(world.verdict, Verdict) and world.verdict.caller for world in worlds)
        yes, no, ended = self.parted(worlds, True)
        return (no, yes, ended) if until else (yes, no, ended)

    def blurred(self, before: list[World], after: list[World], caller: bool) -> list[World]:
        """What a loop may or may not have set: unknown, or as before "unless the caller's arguments set it"."""
        base = before[0].vars
        for world in after:
            for name, variable in list(world.vars.items()):
                old = base.get(name)
                if old is variable or (old is not None and old == variable):
                    continue
                if caller and old is not None and old.value is not None and variable.value is not None:
                    note = "unless the caller's arguments set it"
                    pieces = [Piece(p.text, p.span, p.via, p.reason, p.note or note) for p in old.value.pieces()]
                    new = Variable(old.span, Text(tuple(pieces)))
                else:
                    reason = f"{name} is given by the caller" if caller else f"{name} is set in a loop"
                    new = Variable(variable.span, Text((unknown(reason, variable.span),)))
                new.exported = variable.exported
                world.vars[name] = new
            world.env = None
            if caller:
                world.args, world.open_at, world.shifted = before[0].args, before[0].open_at, before[0].shifted
                world.when = before[0].when
        return merge(after)

    # the rest

    def pipeline(self, node: Pipeline, worlds: list[World]) -> list[World]:
        if len(node.commands) == 1:
            worlds = self.execute(node.commands[0], worlds)
            for world in worlds:
                if node.negated and world.flow is None:
                    if world.status is None:
                        world.verdict = self.verdict(world).negated()
                    else:
                        world.status = int(not world.status)
            return worlds
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
        self.redirected(node.redirects, worlds)
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
