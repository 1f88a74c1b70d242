"""`for`, `while` and `until`: round by round where the rounds are known."""

from __future__ import annotations

from grpo_lint.located import Word
from grpo_lint.syntax.shell.branches import Branches
from grpo_lint.syntax.shell.conditions import shown
from grpo_lint.syntax.shell.tree import For, ForC, While, WordNode
from grpo_lint.syntax.shell.values import Text, Undecided, Variable, World, marked, unknown
from grpo_lint.syntax.shell.worlds import Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

MAX_ROUNDS = 128
MAX_UNSURE_ROUNDS = 4
"""Rounds of a loop from which some world has already departed."""
GLOB = frozenset("*?[")


class Loops(Branches):
    exhausted: bool
    said_caller: bool

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
        done: list[World] = []
        for words, loose, members in groups:
            done.extend(self.rounds(node, words, loose, members))
        return self.merged(done)

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
        done: list[World] = []
        live = worlds
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
            done = self.merged(done + left) if left else done
            if not live or self.exhausted:
                break
        self.trail.pop()
        done = self.merged(done + live)
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
            world.status, world.verdict = int(self.number(self.text(expression, world, tilde=False), world) == 0), None
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
            done = self.merged(done + over + left)
            unsure = bool(unclear) or (bool(done) and number >= MAX_UNSURE_ROUNDS)
            if unsure or stuck or not live or self.exhausted:
                done.extend(live)
                if unsure and live:
                    caller = all(isinstance(w.verdict, Verdict) and w.verdict.caller for w in unclear)
                    done = self.blurred(states, self.merged(done), caller or self.said_caller)
                break
        self.trail.pop()
        return self.merged(done)

    def once_parted(self, worlds: list[World], until: bool) -> tuple[list[World], list[World], list[World]]:
        """The worlds that enter the loop's body, those that pass it by, and those that ended in its test."""
        self.said_caller = any(isinstance(world.verdict, Verdict) and world.verdict.caller for world in worlds)
        yes, no, ended = self.parted(worlds, True)
        return (no, yes, ended) if until else (yes, no, ended)

    def blurred(self, before: list[World], after: list[World], caller: bool) -> list[World]:
        """What a loop may or may not have set: unknown, or as before "unless the caller's arguments set it"."""
        base = before[0].vars
        changed: dict[str, Variable] = {}
        for world in after:
            for name, variable in world.vars.items():
                old = base.get(name)
                if old is not variable and (old is None or old != variable):
                    changed[name] = variable
        for name, variable in changed.items():
            blurred = self.blur(name, base.get(name), variable, caller)
            for world in after:
                world.vars[name] = blurred
        for world in after:
            world.env = None
            if caller:
                world.args, world.open_at, world.shifted = before[0].args, before[0].open_at, before[0].shifted
                world.when = before[0].when
        return self.merged(after)

    def blur(self, name: str, old: Variable | None, variable: Variable, caller: bool) -> Variable:
        if caller and old is not None and old.value is not None and variable.value is not None:
            note = "unless the caller's arguments set it"
            new = Variable(old.span, Text(tuple(marked(piece, note) for piece in old.value.pieces())))
        else:
            reason = f"{name} is given by the caller" if caller else f"{name} is set in a loop"
            new = Variable(variable.span, Text((unknown(reason, variable.span),)))
        new.exported = variable.exported
        return new
