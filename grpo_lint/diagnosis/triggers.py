"""What the configs of some paths say to a cause: its trigger is there, it can't be, or nothing decides."""

from __future__ import annotations

from grpo_lint.diagnostics import Notice
from grpo_lint.engine import Linter
from grpo_lint.placement import diagnosed
from grpo_lint.rules.verdict import said
from grpo_lint.verdicts import clear, is_avoidance, joined

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, Literal

    from grpo_lint.engine import File
    from grpo_lint.rules.rule import Rule
    from grpo_lint.runconfig import RunConfig
    from grpo_lint.settings import Settings
    from grpo_lint.source import Span

    State = Literal["confirmed", "possible", "excluded"]

PARTS = ("deepspeed", "accelerate")
"""Frameworks whose config is a part of a run that something else starts: alone it says nothing of the others."""
BUILT_ON_OTHERS = ("easyr1", "rllm")
"""Frameworks that hold another one, of which they share some faults."""


class Trigger:
    """A cause's state in some config, why, the rule that says so, and the place."""

    __slots__ = ("place", "reason", "rule", "state")

    def __init__(self, state: State, reason: str, rule: str = "", place: Span | None = None) -> None:
        self.state = state
        self.reason = reason
        self.rule = rule
        self.place = place

    def __repr__(self) -> str:
        return f"Trigger({self.state}, {self.rule}, {self.reason!r})"


class Judged:
    """What some paths say: their runs, the triggers by cause, and what couldn't be read."""

    __slots__ = ("errors", "notices", "runs", "triggers")

    def __init__(
        self, runs: list[RunConfig], triggers: dict[str, Trigger], notices: list[Notice], errors: bool
    ) -> None:
        self.runs = runs
        self.triggers = triggers
        self.notices = notices
        self.errors = errors


def judge(known: dict[str, Any], causes: Iterable[dict[str, Any]], paths: Sequence[str], settings: Settings) -> Judged:
    """Judge causes by all runs of some paths: the one that shows the trigger counts. Raises MissingPath."""
    listed = list(causes)
    linter = Linter(settings)
    rules = {rule.id: rule for rule in linter.rules}
    runs: list[RunConfig] = []
    found: dict[str, Trigger] = {}
    notices: list[Notice] = []
    for file in linter.read(paths):
        try:
            for run in linter.variants(file):
                runs.append(run)
                _judge_run(known, listed, run, _Outcomes(file, run, rules), found)
        except Exception as error:
            what = f"{type(error).__name__}: {error}".splitlines()[0]
            notices.append(Notice(file.source.path, f"internal error, please report it: {what}"))
    return Judged(runs, found, [*linter.notices, *notices], linter.errors or bool(notices))


def _judge_run(
    known: dict[str, Any],
    causes: list[dict[str, Any]],
    run: RunConfig,
    outcomes: _Outcomes,
    found: dict[str, Trigger],
) -> None:
    """Put what a run says to each cause where it says more than the runs before."""
    for cause in causes:
        trigger = _of_run(known, cause, run, outcomes)
        before = found.get(cause["id"])
        if before is None or _ORDER[trigger.state] < _ORDER[before.state]:
            found[cause["id"]] = trigger


_ORDER: dict[State, int] = {"confirmed": 0, "possible": 1, "excluded": 2}


class _Outcomes:
    """What rules say of one run, each asked once."""

    def __init__(self, file: File, run: RunConfig, rules: dict[str, Rule]) -> None:
        self.file = file
        self.run = run
        self._rules = rules
        self._found: dict[str, list[tuple[str, Span]]] = {}

    def findings(self, id: str) -> list[tuple[str, Span]]:
        """(message, place) of each finding of a rule."""
        if id not in self._found:
            self._found[id] = list(self._findings(id))
        return self._found[id]

    def _findings(self, id: str) -> Iterable[tuple[str, Span]]:
        rule, run = self._rules.get(id), self.run
        if rule is None:
            return
        for problem in self.file.reading.problems if rule.kinds else ():
            if problem.kind in rule.kinds:
                yield problem.message, problem.span
        if rule.applies(run.frameworks) and not rule.undecided(run) and rule.check is not None:
            for finding in rule.check(run):
                diagnostic = diagnosed(rule, finding, run.anchor, run.when)
                yield diagnostic.message, diagnostic.primary.span

    def without(self, id: str) -> Trigger | None:
        """What it means that a rule has no finding that fits: it is content, or it can't tell.

        None for a rule that judges nothing, or no run of this framework.
        """
        rule, run = self._rules.get(id), self.run
        if rule is None:
            return Trigger("possible", f"{id} isn't selected")
        if rule.kinds:
            whole = self.file.whole
            return Trigger("excluded", f"{id} finds none") if whole else Trigger("possible", "not all was read")
        if not rule.applies(run.frameworks):
            return None
        undecided = rule.undecided(run)
        if undecided:
            return Trigger("possible", undecided, id)
        if is_avoidance(rule):
            verdict = clear(rule, run)
            if verdict.state != "pass":
                return Trigger("possible", verdict.reason, id)
            return Trigger("excluded", f"{id} {rule.name} finds no fault ({verdict.reason})", id)
        if getattr(rule.declared, "ready", (run, run))[1] is None:
            return Trigger("possible", f"{id} {rule.name} has too little to judge by", id)
        return Trigger("excluded", f"{id} {rule.name} finds no fault", id)


def _aside(known: dict[str, Any], cause: dict[str, Any], run: RunConfig) -> Trigger | None:
    """About other frameworks than the run's: those of a file that is only a part of a run aren't known."""
    if run.frameworks.isdisjoint(cause.get("frameworks", run.frameworks)):
        possible = run.framework in PARTS or run.framework in BUILT_ON_OTHERS
        reason = f"it is not about {known['titles'].get(run.framework, run.framework)}"
        return Trigger("possible" if possible else "excluded", f"{reason} itself" if possible else reason)
    return None


def _of_run(known: dict[str, Any], cause: dict[str, Any], run: RunConfig, outcomes: _Outcomes) -> Trigger:
    rules: dict[str, list[str]] = cause.get("rules", {})
    for id, texts in rules.items():
        for message, place in outcomes.findings(id):
            if not texts or any(text in message for text in texts):
                return Trigger("confirmed", message, id, place)
    aside = _aside(known, cause, run)
    if aside is not None:
        return aside
    return _released(known, cause, run) or _contradicted(cause, run) or _without(known, cause, run, outcomes)


def _released(known: dict[str, Any], cause: dict[str, Any], run: RunConfig) -> Trigger | None:
    """Excluded by a release that has the fix."""
    fixed = cause.get("fixed")
    if fixed is None or run.before(fixed["framework"], fixed["release"]) is not False:
        return None
    version = run.versions.get(fixed["framework"])
    name = known["titles"].get(fixed["framework"], fixed["framework"])
    have = f"{name} {version.text}" if version is not None else f"every {name} that the config fits"
    return Trigger("excluded", f"{have} has the fix of {fixed['release']}", "", version.span if version else None)


def _contradicted(cause: dict[str, Any], run: RunConfig) -> Trigger | None:
    """Excluded by a unified field that is known to be something else."""
    for field, values in cause.get("when", {}).items():
        setting = getattr(run, field)
        if setting.known and setting.value not in values:
            return Trigger("excluded", said(setting, field), "", setting.span)
    return None


def _without(known: dict[str, Any], cause: dict[str, Any], run: RunConfig, outcomes: _Outcomes) -> Trigger:
    """Where no rule finds the trigger: excluded if each of them could tell."""
    when = cause.get("when", {})
    for field in when:
        if not getattr(run, field).decided:
            return Trigger("possible", f"{field}: {getattr(run, field).reason or 'it has more than one value'}")
    answers = [answer for id in cause.get("rules", {}) if (answer := outcomes.without(id)) is not None]
    open_ones = [answer for answer in answers if answer.state == "possible"]
    if open_ones:
        return open_ones[0]
    fixed = cause.get("fixed")
    if fixed is not None and run.before(fixed["framework"], fixed["release"]) is None:
        name = known["titles"].get(fixed["framework"], fixed["framework"])
        return Trigger("possible", f"the release of {name} isn't known: before {fixed['release']} it can be this")
    if answers:
        return answers[0]
    fits = [said(getattr(run, field), field) for field in when if getattr(run, field).known]
    missing = [field for field in when if not getattr(run, field).known]
    if missing:
        return Trigger("possible", f"nothing tells {' or '.join(missing)}")
    return Trigger("possible", f"it fits: {joined(fits)}" if fits else "no config shows it")
