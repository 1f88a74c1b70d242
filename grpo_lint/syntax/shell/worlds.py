"""Several states at once: forking on tests that aren't decided, joining what has become equal again."""

from __future__ import annotations

from grpo_lint.source import Span
from grpo_lint.syntax.shell.script import Choice, Condition
from grpo_lint.syntax.shell.values import Text, Variable, World, unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    When: TypeAlias = tuple[Condition, ...]

MAX_WORLDS = 8
MAX_CONDITIONS = 24
"""Conditions of one world; later ones are not told."""
MAX_SIMPLIFIED = 40
MAX_TOLD = 8
"""Ways of a "this or that" that are told apart."""


class Verdict:
    """What an undecided test is about: the texts for both outcomes, and a key under which its outcome is remembered.

    `presumed` is for a program's exit status, which is taken for success where nothing else is known: whether the test
    then holds; None for tests of which nothing is presumed.
    """

    __slots__ = ("caller", "fills", "key", "no", "presumed", "span", "yes")

    def __init__(self, yes: str, no: str, span: Span, key: object = None, presumed: bool | None = None) -> None:
        self.yes = yes
        self.no = no
        self.span = span
        self.key = key
        self.presumed = presumed
        self.caller = False
        """It rests on the arguments that the script's caller gives."""
        self.fills: tuple[str, str] | None = None
        """Where it holds if a variable was left empty by the caller: its name, and the note for a default of it."""

    def negated(self) -> Verdict:
        key = None if self.key is None else ("not", self.key)
        other = Verdict(self.no, self.yes, self.span, key, None if self.presumed is None else not self.presumed)
        other.caller = self.caller
        return other


def remembered(world: World, key: object) -> bool | None:
    """The outcome that this world already rests on for a test."""
    if key is None:
        return None
    for condition in world.when:
        if condition.key == key:
            return True
        if condition.key == ("not", key) or key == ("not", condition.key):
            return False
    return None


def fork(world: World, verdict: Verdict) -> tuple[World, World]:
    """The world where the test holds, and the one where it doesn't."""
    choice = Choice(2, verdict.presumed is not None)
    other = world.fork()
    opposite = None if verdict.key is None else ("not", verdict.key)
    world.when = added(world.when, Condition(verdict.yes, verdict.span, choice, 0, verdict.key))
    other.when = added(other.when, Condition(verdict.no, verdict.span, choice, 1, opposite))
    world.status, other.status = 0, 1
    world.verdict = other.verdict = None
    return world, other


def added(when: When, condition: Condition) -> When:
    """The conditions with one more, unless there are too many to keep track of."""
    return (*when, condition) if len(when) < MAX_CONDITIONS else when


def same_status(one: World, other: World) -> bool:
    return one.status == other.status and (one.status is not None or one.verdict is other.verdict)


def merge(worlds: list[World], limit: int = MAX_WORLDS, statuses: bool = False) -> list[World]:
    """The worlds with equal ones joined, and few enough of them to go on. `statuses`: their last status matters."""
    if len(worlds) < 2:
        return worlds
    kept: list[tuple[World, list[When]]] = []
    for world in worlds:
        for other, whens in kept:
            if other.alike(world) and (not statuses or same_status(other, world)):
                whens.append(world.when)
                if other.status != world.status:
                    other.status, other.verdict = _status(other, world)
                break
        else:
            kept.append((world, [world.when]))
    done = []
    for world, whens in kept:
        if len(whens) > 1:
            world.when = summary(whens)
        done.append(world)
    while len(done) > limit:
        fewer = _halve(done)
        if len(fewer) == len(done):  # each has ended in its own way
            break
        done = fewer
    return done


def _status(one: World, other: World) -> tuple[int | None, object]:
    verdict = one.verdict or other.verdict
    return None, verdict


def simplify(whens: list[When]) -> list[When]:
    """Fewer lists of conditions that together say the same: a choice of which every branch is there drops out."""
    done = list(dict.fromkeys(way for when in whens for way in opened(when)))
    changed = True
    while changed and 1 < len(done) <= MAX_SIMPLIFIED:
        changed = False
        for condition in [condition for when in done for condition in when]:
            holders = [when for when in done if any(other.choice is condition.choice for other in when)]
            rests: dict[When, set[int]] = {}
            for when in holders:
                rest = tuple(other for other in when if other.choice is not condition.choice)
                branch = next(other.branch for other in when if other.choice is condition.choice)
                rests.setdefault(rest, set()).add(branch)
            full = [rest for rest, branches in rests.items() if len(branches) == condition.choice.branches]
            if full:
                drop = {
                    when
                    for when in holders
                    if tuple(other for other in when if other.choice is not condition.choice) in full
                }
                done = list(dict.fromkeys([when for when in done if when not in drop] + full))
                changed = True
                break
    if len(done) > MAX_SIMPLIFIED:
        return [common(done)]
    least = [when for when in done if not any(other != when and set(other) < set(when) for other in done)]
    return least or done


def opened(when: When) -> list[When]:
    """The conditions with every "this or that" taken apart."""
    either = next((condition for condition in when if condition.ways), None)
    if either is None:
        return [when]
    rest = tuple(condition for condition in when if condition is not either)
    return [way for one in either.ways for way in opened((*rest, *one))]


def common(whens: list[When]) -> When:
    """The conditions that all the lists have."""
    return tuple(condition for condition in whens[0] if all(condition in when for when in whens[1:]))


def summary(whens: list[When]) -> When:
    """One list of conditions for a command that several worlds give."""
    simplified = simplify(whens)
    if len(simplified) == 1:
        return simplified[0]
    shared = common(simplified)
    if len(simplified) > MAX_TOLD:
        return shared
    rests = [[condition for condition in when if condition not in shared] for when in simplified]
    texts = [" and ".join(condition.text for condition in rest) for rest in rests]
    either = Condition(" or ".join(f"({text})" for text in texts[:4]), rests[0][0].span, Choice(2), 0)
    either.ways = [tuple(rest) for rest in rests]
    return (*shared, either)


def _halve(worlds: list[World]) -> list[World]:
    """Joins the worlds that differ only in the last condition that any of them rests on."""
    groups: dict[object, list[World]] = {}
    for world in worlds:
        groups.setdefault((world.flow, world.when[:-1]), []).append(world)
    if len(groups) == len(worlds):  # nothing pairs up that way: take the first with the second and so on
        flows: dict[object, list[World]] = {}
        for world in worlds:
            flows.setdefault(world.flow, []).append(world)
        groups = {(flow, n): group[n : n + 2] for flow, group in flows.items() for n in range(0, len(group), 2)}
    return [join(group) for group in groups.values()]


def join(worlds: list[World]) -> World:
    """One world for several: what differs between them becomes unknown."""
    first = worlds[0]
    if len(worlds) == 1:
        return first
    names = dict.fromkeys(name for world in worlds for name in world.vars)
    for name in names:
        found = [world.vars.get(name) for world in worlds]
        known = next(variable for variable in found if variable is not None)
        if not all(variable is not None and variable == known for variable in found):
            reason = f"{name} has one of several values here"
            first.vars[name] = variable = Variable(known.span, Text((unknown(reason, known.span),)))
            variable.exported = any(variable is not None and variable.exported for variable in found)
    first.env = None
    if any(world.cwd.text != first.cwd.text for world in worlds):
        span = first.cwd.parts[0].span if first.cwd.parts else worlds[1].cwd.parts[0].span
        first.cwd = Text((unknown("the working directory is one of several", span),))
    if first.out is not None and any(world.output() != first.output() for world in worlds):
        first.out = [unknown("its output is one of several", next(p.span for world in worlds for p in world.out or ()))]
    first.when = common([world.when for world in worlds])
    if any(world.status != first.status for world in worlds):
        first.verdict = next((world.verdict for world in worlds if world.verdict is not None), None)
        first.status = None
    return first
