"""A linting that keeps its runs, for reports that show them: what each gets, and what each rule said of it."""

from __future__ import annotations

from functools import partial

from grpo_lint.engine import Linter
from grpo_lint.report import Outcome
from grpo_lint.verdicts import rulings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from grpo_lint.diagnostics import Diagnostic
    from grpo_lint.engine import Key
    from grpo_lint.report import Report
    from grpo_lint.rules.rule import Finding, Rule
    from grpo_lint.runconfig import RunConfig
    from grpo_lint.source import Span


class Sweep(Linter):
    """As Linter, and its reports have `outcomes` and `judge`. A plain linting lets go of a run once it is judged."""

    _outcome: Outcome | None = None

    def check(self, paths: Iterable[str]) -> Report:
        self._outcomes: list[Outcome] = []
        report = super().check(paths)
        report.outcomes = tuple(self._outcomes)
        report.judge = partial(rulings, rules=self.rules, settings=self.settings)
        return report

    def _judge_run(self, run: RunConfig) -> set[Key]:
        self._outcome = Outcome(run)
        self._outcomes.append(self._outcome)
        try:
            return super()._judge_run(run)
        finally:
            self._outcome = None

    def _apply(self, rule: Rule, run: RunConfig) -> Iterable[Finding]:
        if self._outcome is not None:
            self._outcome.asked[rule.id] = rule.undecided(run)
        return super()._apply(rule, run)

    def _add(self, rule: Rule, finding: Finding, anchor: Span, when: tuple[str, ...]) -> Diagnostic:
        diagnostic = super()._add(rule, finding, anchor, when)
        if self._outcome is not None:
            self._outcome.found.append(diagnostic)
        return diagnostic
