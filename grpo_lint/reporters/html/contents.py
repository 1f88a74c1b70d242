"""What a page shows of a report, and what it leaves out: a sweep may have thousands of runs."""

from __future__ import annotations

from grpo_lint.diagnostics import RANK
from grpo_lint.reporters.characters import count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from grpo_lint.diagnostics import Diagnostic
    from grpo_lint.report import Outcome, Report
    from grpo_lint.rules.rule import Rule
    from grpo_lint.verdicts import Ruling

MAX_RUNS = 500
MAX_FINDINGS = 2_000
MAX_SUPPRESSED = 500
MAX_NOTICES = 200

FOUND = ("error", "warning", "note", "suppressed", "aside", "elsewhere")
"""States of a cell that tell of a fault; the others are pass, assumed, undecided, and "" for not applicable."""


class Cell:
    """What one rule says of one run; `findings` are the numbers of those that the page shows."""

    __slots__ = ("findings", "reason", "state")

    def __init__(self, state: str, reason: str = "", findings: tuple[int, ...] = ()) -> None:
        self.state = state
        self.reason = reason
        self.findings = findings


class Row:
    """A run, or a file that holds none: its name, its cells by rule, and the verdicts of the avoidance rules."""

    __slots__ = ("cells", "framework", "line", "number", "outcome", "path", "rulings", "when")

    def __init__(self, path: str, line: int, outcome: Outcome | None) -> None:
        self.path = path
        self.line = line
        self.outcome = outcome
        self.framework = outcome.run.framework if outcome is not None else ""
        self.when = " and ".join(outcome.run.when) if outcome is not None else ""
        self.cells: dict[str, Cell] = {}
        self.rulings: list[Ruling] = []
        self.number = 0

    @property
    def findings(self) -> list[int]:
        """The numbers of its findings, in the order of the page."""
        return sorted({number for cell in self.cells.values() for number in cell.findings})

    @property
    def label(self) -> str:
        return f"{self.path}:{self.line}" + (f" when {self.when}" if self.when else "")


class Contents:
    """`findings` worst first, numbered from 1 in that order; `rows` in the order of their places."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.rules: dict[str, Rule] = {rule.id: rule for rule in report.rules}
        ordered = sorted(report.diagnostics, key=lambda diagnostic: -RANK[diagnostic.severity])
        self.findings = ordered[:MAX_FINDINGS]
        self.numbers = {id(diagnostic): number for number, diagnostic in enumerate(self.findings, 1)}
        self._counted = set(map(id, report.diagnostics))
        self._suppressed = {id(one.diagnostic): one for one in report.suppressed}
        self._of_files = self._by_file()
        outcomes = self._shown_outcomes()
        self.rows = [*map(self._row, outcomes), *self._files_without_runs()]
        self.rows.sort(key=lambda row: (row.path, row.line))
        for number, row in enumerate(self.rows, 1):
            row.number = number
        self.runs_of = self._runs_by_finding()

    def left_out(self) -> Iterator[str]:
        """What the page doesn't show, in sentences."""
        more = len(self.report.diagnostics) - len(self.findings)
        if more:
            yield f"{count(more, 'finding')} of the least severity left out: the page has room for {MAX_FINDINGS:,}."
        runs = len(self.report.outcomes) - sum(row.outcome is not None for row in self.rows)
        if runs:
            yield (
                f"{count(runs, 'run')} left out of the grid and the settings: the page has room for {MAX_RUNS:,}, and "
                "takes those with the worst findings first."
            )

    def _shown_outcomes(self) -> Iterable[Outcome]:
        outcomes = self.report.outcomes
        if len(outcomes) <= MAX_RUNS:
            return outcomes

        def importance(outcome: Outcome) -> int:
            return -max((RANK[one.severity] + 1 for one in outcome.found if id(one) in self._counted), default=0)

        return sorted(outcomes, key=importance)[:MAX_RUNS]

    def _by_file(self) -> dict[str, list[Diagnostic]]:
        """Findings about a file's text, which belong to each of its runs, by path."""
        found: dict[str, list[Diagnostic]] = {}
        for diagnostic in (*self.report.diagnostics, *(one.diagnostic for one in self.report.suppressed)):
            rule = self.rules.get(diagnostic.rule)
            if rule is None or rule.kinds:
                found.setdefault(diagnostic.primary.span.file.path, []).append(diagnostic)
        return found

    def _files_without_runs(self) -> Iterator[Row]:
        """A row for each file with findings that no run has."""
        homes = {outcome.run.anchor.file.path for outcome in self.report.outcomes}
        in_runs = {id(diagnostic) for outcome in self.report.outcomes for diagnostic in outcome.found}
        rows: dict[str, list[Diagnostic]] = {}
        for diagnostic in self.findings:
            path = diagnostic.primary.span.file.path
            of_text = any(one is diagnostic for one in self._of_files.get(path, ()))
            if id(diagnostic) not in in_runs and not (of_text and path in homes):
                rows.setdefault(path, []).append(diagnostic)
        for path, found in rows.items():
            row = Row(path, found[0].primary.span.line, None)
            row.cells = self._found(found)
            yield row

    def _row(self, outcome: Outcome) -> Row:
        run = outcome.run
        row = Row(run.anchor.file.path, run.anchor.line, outcome)
        row.cells = self._found([*outcome.found, *self._of_files.get(row.path, ())])
        if self.report.judge is not None:
            row.rulings = self.report.judge(run)
        for ruling in row.rulings:
            row.cells.setdefault(ruling.rule.id, _judged(ruling))
        for rule in self.report.rules:
            if rule.kinds:
                row.cells.setdefault(rule.id, Cell("pass"))
            elif rule.id in outcome.asked:
                reason = outcome.asked[rule.id]
                row.cells.setdefault(rule.id, Cell("undecided" if reason else "pass", reason))
        return row

    def _found(self, diagnostics: Iterable[Diagnostic]) -> dict[str, Cell]:
        """The cells of rules that found something: the worst that counts gives the state."""
        cells: dict[str, Cell] = {}
        for diagnostic in diagnostics:
            cell = cells.setdefault(diagnostic.rule, Cell("aside", diagnostic.message))
            if id(diagnostic) in self._counted:
                if cell.state not in RANK or RANK[diagnostic.severity] > RANK[cell.state]:
                    cell.state, cell.reason = diagnostic.severity, diagnostic.message
                number = self.numbers.get(id(diagnostic))
                cell.findings = (*cell.findings, *([number] if number and number not in cell.findings else []))
            elif cell.state == "aside" and id(diagnostic) in self._suppressed:
                cell.state = "suppressed"
        return cells

    def _runs_by_finding(self) -> dict[int, list[Row]]:
        found: dict[int, list[Row]] = {}
        for row in self.rows:
            for number in row.findings:
                found.setdefault(number, []).append(row)
        return found


def _judged(ruling: Ruling) -> Cell:
    """A verdict that no finding of its own goes with."""
    state = ruling.verdict.state
    if state in ("fail", "warn"):
        return Cell("elsewhere" if ruling.verdict.speaker else "aside", ruling.reason)
    return Cell("" if state == "not applicable" else state, ruling.reason)
