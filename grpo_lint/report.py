"""The outcome of one linting: what reporters are given."""

from __future__ import annotations

from grpo_lint.diagnostics import RANK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from grpo_lint.diagnostics import Diagnostic, Notice, Severity
    from grpo_lint.rules.rule import Rule
    from grpo_lint.runconfig import RunConfig
    from grpo_lint.source import Span
    from grpo_lint.verdicts import Ruling

    Kind = Literal["comment", "per-file-ignores", "baseline"]


class Undecided:
    """A rule that could not judge a run, and why: what it needs isn't known from the files."""

    __slots__ = ("path", "reason", "rule")

    def __init__(self, rule: str, path: str, reason: str) -> None:
        self.rule = rule
        self.path = path
        self.reason = reason


class Suppressed:
    """A finding that doesn't count, and why: `kind` "comment", "per-file-ignores" or "baseline".

    `reason` is what the comment, or who wrote the file, gives as the reason; `span` is where the comment stands.
    """

    __slots__ = ("diagnostic", "kind", "reason", "span")

    def __init__(self, diagnostic: Diagnostic, kind: Kind, reason: str = "", span: Span | None = None) -> None:
        self.diagnostic = diagnostic
        self.kind = kind
        self.reason = reason
        self.span = span

    def __repr__(self) -> str:
        return f"Suppressed({self.kind}, {self.diagnostic!r})"


class Outcome:
    """One run, with what it led to.

    `asked` holds, by id, the rules that had a say about it: "", or why one couldn't judge it. `found` are its findings,
    also those that don't count; one that several runs share is the same object in each.
    """

    __slots__ = ("asked", "found", "run")

    def __init__(self, run: RunConfig) -> None:
        self.run = run
        self.asked: dict[str, str] = {}
        self.found: list[Diagnostic] = []


class Report:
    """Findings in the order of their places, every rule that was enabled, and what went wrong on the way.

    `suppressed` holds, in the same order, the findings that comments, settings or a baseline keep from counting.

    `files` counts the files that were looked at, `runs` the runs found in them. `errors` is True when a file could not
    be read or the linter itself failed on one: the exit code then says that the report isn't whole.

    `roots` are the repositories that were looked at. `outcomes` are the runs themselves, and `judge` gives the verdicts
    of the avoidance rules on one; both only where the linting was a Sweep.
    """

    __slots__ = (
        "diagnostics",
        "errors",
        "files",
        "judge",
        "notices",
        "outcomes",
        "roots",
        "rules",
        "runs",
        "suppressed",
        "undecided",
    )

    def __init__(
        self,
        diagnostics: tuple[Diagnostic, ...],
        rules: tuple[Rule, ...],
        notices: tuple[Notice, ...] = (),
        undecided: tuple[Undecided, ...] = (),
        files: int = 0,
        runs: int = 0,
        errors: bool = False,
        suppressed: tuple[Suppressed, ...] = (),
        roots: tuple[str, ...] = (),
    ) -> None:
        self.suppressed = suppressed
        self.roots = roots
        self.diagnostics = diagnostics
        self.rules = rules
        self.notices = notices
        self.undecided = undecided
        self.files = files
        self.runs = runs
        self.errors = errors
        self.outcomes: tuple[Outcome, ...] = ()
        self.judge: Callable[[RunConfig], list[Ruling]] | None = None

    def count(self, severity: Severity) -> int:
        return sum(diagnostic.severity == severity for diagnostic in self.diagnostics)

    def fails(self, threshold: Severity) -> bool:
        """Whether a finding is at or above a severity."""
        return any(RANK[diagnostic.severity] >= RANK[threshold] for diagnostic in self.diagnostics)
