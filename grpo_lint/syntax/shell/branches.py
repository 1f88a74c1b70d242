"""`if`, `case`, `&&` and `||`: the ways that a script may take."""

from __future__ import annotations

from grpo_lint.syntax.shell.conditions import subject_name
from grpo_lint.syntax.shell.programs import Programs
from grpo_lint.syntax.shell.script import Choice, Condition
from grpo_lint.syntax.shell.tree import AndOr, Assign, Case, If, ListNode, Simple
from grpo_lint.syntax.shell.values import Text, Unmatchable, World, marked
from grpo_lint.syntax.shell.worlds import Verdict, added, fork

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.syntax.shell.tree import Node


class Branches(Programs):
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
                if verdict.presumed is not None and (not condition or self.environment is not None):
                    (yes if verdict.presumed else no).append(world)
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
            if operator == "&&" and right is node.rest[-1][1]:
                live, filled = self.defaults(live, right)
                ended.extend(filled)
            yes, no, gone = self.parted(live, operator == "||" and not harmless)
            ended.extend(gone)
            run, skip = (yes, no) if operator == "&&" else (no, yes)
            after = self.execute(right, run) if run else []
            ended.extend(world for world in after if world.flow is not None)
            guards = [world for world in after if world.flow is not None]
            live = [world for world in after if world.flow is None]
            if guards and not live:
                self.unguard(guards, skip)
            live = self.merged(skip + live, statuses=True)
            if not live:
                break
        return self.merged(ended + live, statuses=True) if ended else live

    def only_reports(self, node: Simple) -> bool:
        """Whether a command after `||` changes nothing for what follows a success."""
        return bool(node.words) and getattr(node.words[0], "plain", None) in ("true", ":", "echo", "exit", "return")

    def unguard(self, ended: list[World], rest: list[World]) -> None:
        """Drops the condition that only says that the script did not stop with an error."""
        failed = all(world.flow == ("exit", 0) and world.status not in (0, None) for world in ended)
        choices = {
            world.when[-1].choice for world in ended if world.when and (failed or world.when[-1].choice.presumed)
        }
        for world in rest if choices else ():
            world.when = tuple(condition for condition in world.when if condition.choice not in choices)

    def branches(self, node: If, worlds: list[World]) -> list[World]:
        live, done = worlds, []
        for test, body in node.clauses:
            tried = self.execute(test, live)
            if len(node.clauses) == 1 and node.otherwise is None:
                tried, filled = self.defaults(tried, body)
                done.extend(filled)
            yes, no, ended = self.parted(tried, True)
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
        return self.merged(done + live)

    def defaults(self, tried: list[World], body: Node) -> tuple[list[World], list[World]]:
        """`if [ -z "$X" ]; then X=8; fi` is another way to write `X=${X:-8}`: worlds that take it need no fork."""
        rest: list[World] = []
        filled: list[World] = []
        for world in tried:
            verdict = world.verdict if world.status is None and world.flow is None else None
            if not isinstance(verdict, Verdict) or verdict.fills is None or not only_sets(body, verdict.fills[0]):
                rest.append(world)
                continue
            name, note = verdict.fills
            world.status, world.verdict = 0, None
            for after in self.execute(body, [world]):
                variable = after.vars.get(name)
                if variable is not None and variable.value is not None:
                    noted = variable.copy()
                    noted.value = Text(tuple(marked(piece, note) for piece in variable.value.pieces()))
                    after.vars[name], after.env = noted, None
                filled.append(after)
        return rest, filled

    def case(self, node: Case, worlds: list[World]) -> list[World]:
        done: list[World] = []
        entering: dict[int, list[World]] = {}
        self.enter(node, worlds, entering, done)
        falling: list[World] = []
        for number, (_, body, terminator) in enumerate(node.arms):
            live = entering.get(number, []) + falling
            falling = []
            if live:
                after = self.execute(body, live)
                if len(entering) > 1 and all(world.flow is not None for world in after):
                    others = [world for n, group in entering.items() if n != number for world in group]
                    self.unguard(after, others + done)
                going = [world for world in after if world.flow is None] if terminator != ";;" else []
                done.extend(after if terminator == ";;" else [world for world in after if world.flow is not None])
                if terminator == ";&":
                    falling = going
                elif going:
                    self.enter(node, going, entering, done, number + 1)
        return self.merged(done + falling)

    def enter(
        self, node: Case, worlds: list[World], entering: dict[int, list[World]], done: list[World], first: int = 0
    ) -> None:
        """Adds the worlds to the arms that they enter, or to those that pass by."""
        for world in worlds:
            for arm, entered in self.arms(node, world, first):
                if arm is None:
                    if not first:
                        entered.status, entered.verdict = 0, None
                    done.append(entered)
                else:
                    entering.setdefault(arm, []).append(entered)

    def arms(self, node: Case, world: World, first: int) -> list[tuple[int | None, World]]:
        """The arms from the first on that the world may enter, each with a world for it; None for no arm at all."""
        from grpo_lint.syntax.shell.patterns import matches  # here, since most scripts have no `case`

        subject = self.operand_of(node.subject, world)
        key = ("eq", subject.source), self.facts(subject, world)
        if subject.reason:
            for condition in world.when:
                if isinstance(condition.key, tuple) and len(condition.key) == 3 and condition.key[:2] == key:
                    subject.text, subject.reason = str(condition.key[2]), ""
        possible: list[tuple[int | None, str]] = []
        name = subject_name(subject.source)
        for number, (patterns, _, _) in enumerate(node.arms[first:], first):
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
            entered.when = added(entered.when, Condition(text, span, choice, branch, full))
            done.append((arm, entered))
        return done


def only_sets(body: Node, name: str) -> bool:
    """Whether commands do no more than set variables, this one among them."""
    found = False
    for item in [node for node, _ in body.items] if isinstance(body, ListNode) else [body]:
        if not isinstance(item, Simple):
            return False
        first = item.words[0] if item.words else None
        if first is not None and getattr(first, "plain", None) not in (
            "export",
            "declare",
            "local",
            "readonly",
            "echo",
        ):
            return False
        assigns = [*item.assigns, *(word for word in item.words if isinstance(word, Assign))]
        found = found or any(assign.name == name for assign in assigns)
    return found
