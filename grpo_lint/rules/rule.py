"""What a rule is: a record and a function from a run's config to findings."""

from __future__ import annotations

from grpo_lint.diagnostics import Fix
from grpo_lint.modules import module
from grpo_lint.unified import Setting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Literal

    from grpo_lint.diagnostics import Severity
    from grpo_lint.located import Problem
    from grpo_lint.runconfig import RunConfig
    from grpo_lint.source import Span

    Evidence = Literal["solid", "conditional", "contested", "refuted", "unverifiable"]
    Check = Callable[[RunConfig], Iterable["Finding"]]
    TextCheck = Callable[[Problem], Iterable["Finding"]]


class Finding:
    """What a check saw. The engine adds the rule, the run's conditions, and a place where a value has none.

    `at` is the setting (or place) to mark; when it is a framework's default, the first of `others` that stands in a
    file is marked instead, and the default is told in the message's labels. `others` are (setting, what it has to do
    with it). `severity` overrides the rule's own.
    """

    __slots__ = ("at", "fix", "help", "label", "message", "others", "severity")

    def __init__(
        self,
        message: str,
        at: Setting | Span,
        label: str = "",
        others: Iterable[tuple[Setting | Span, str]] = (),
        help: str = "",
        fix: Fix | None = None,
        severity: Severity | None = None,
    ) -> None:
        self.message = message
        self.at = at
        self.label = label
        self.others = tuple(others)
        self.help = help
        self.fix = fix
        self.severity = severity


def reported(
    problem: Problem, label: str = "", help: str = "", fix: Fix | None = None, severity: Severity | None = None
) -> Finding:
    """A reader's problem as a finding. `help` and `fix` are for a problem that brings none."""
    return Finding(
        problem.message, problem.span, label, problem.related, problem.help or help, problem.fix or fix, severity
    )


class Rule:
    """A rule's record. `needs` names the unified fields that must be decided; else the rule is skipped as undecided.

    A rule about the text itself has `kinds` instead: the kinds of readers' problems that its `text_check` turns into
    findings.

    The check's docstring is the rule's page: a first sentence, then the sections What it does / Why it matters /
    Example / Use instead / When it does not apply / Sources, as Markdown. `twin` is the id of the rule that states the
    same fault from the other side: one fault is reported once, under this rule's id. `threat` is how bad a security
    hole is, from "0.1" to "10.0" as CVSS counts; empty for rules about anything else. `frameworks` are those whose own
    options the check reads, and it isn't asked about runs without any of them; empty where unified fields are enough.
    `mentions` are words, one of which a run has to mention (RunConfig.mentions) for the rule to have anything to say,
    which saves the others importing its module; empty where that can't be told so simply. A rule that states what no
    config shows, or what its twin reports, has a page and no check: `judges` is False.
    """

    __slots__ = (
        "_check",
        "_declared",
        "_docstring",
        "_module",
        "_text_check",
        "evidence",
        "frameworks",
        "id",
        "judges",
        "kinds",
        "mentions",
        "name",
        "needs",
        "severity",
        "since",
        "threat",
        "topics",
        "twin",
    )

    def __init__(
        self,
        id: str,
        name: str,
        docstring: str | None,
        severity: Severity,
        evidence: Evidence,
        needs: tuple[str, ...] = (),
        topics: tuple[str, ...] = (),
        since: str = "0.1.0",
        twin: str = "",
        frameworks: tuple[str, ...] = (),
        mentions: tuple[str, ...] = (),
        threat: str = "",
    ) -> None:
        self.id = id
        self.threat = threat
        self.name = name
        self._docstring = docstring
        self._check: Check | None = None
        self._text_check: TextCheck | None = None
        self._module = ""
        self._declared: Rule | None = None
        self.judges = False
        self.severity = severity
        self.evidence = evidence
        self.needs = needs
        self.topics = topics
        self.since = since
        self.twin = twin
        self.frameworks = frameworks
        self.mentions = mentions
        self.kinds: tuple[str, ...] = ()

    @classmethod
    def listed(cls, id: str, name: str, module: str, judges: bool, kinds: tuple[str, ...], *rest: Any) -> Rule:
        """A rule of the catalogue: its module is imported when its check or its page is asked for."""
        made = cls(id, name, None, *rest)
        made._module, made.judges, made.kinds = module, judges, kinds
        return made

    @property
    def declared(self) -> Rule:
        """The rule as its module declares it: this one, or the one that a row of the catalogue stands for."""
        if self._module and self._declared is None:
            rules: tuple[Rule, ...] = module(f"rules.{self._module}").RULES
            self._declared = next(rule for rule in rules if rule.id == self.id)
        return self._declared or self

    @property
    def check(self) -> Check | None:
        """What judges a run; None for a rule about the text, and for one that is only stated."""
        return self.declared._check

    @check.setter
    def check(self, check: Check) -> None:
        self._check, self.judges = check, True

    @property
    def text_check(self) -> TextCheck | None:
        return self.declared._text_check

    def applies(self, frameworks: set[str]) -> bool:
        """Whether the check has anything to read in a run of some frameworks."""
        return self.judges and (not self.frameworks or not frameworks.isdisjoint(self.frameworks))

    def silent(self, run: RunConfig) -> bool:
        """Whether the run mentions nothing that the rule is about."""
        return bool(self.mentions) and not run.mentions(self.mentions)

    def __repr__(self) -> str:
        return f"Rule({self.id}, {self.name})"

    def undecided(self, run: RunConfig) -> str:
        """Why the rule can't judge a run: the first thing it needs that isn't decided. Empty where it can."""
        for name in self.needs:
            setting: Setting = getattr(run, name)
            if not setting.decided:
                return f"{name}: {setting.reason or 'it has more than one value'}"
        return "" if self.silent(run) or self.declared is self else self.declared.undecided(run)

    @property
    def page(self) -> str:
        """The docstring as Markdown, worked out when somebody reads it: most lintings show no page."""
        declared = self.declared
        return dedent(self._docstring) if declared is self else declared.page

    @property
    def summary(self) -> str:
        """The page's first sentence: what the rule is about in one line."""
        return " ".join(self.page.split("\n\n", 1)[0].split())


def rule(
    id: str,
    name: str,
    *,
    severity: Severity,
    evidence: Evidence,
    needs: tuple[str, ...] = (),
    topics: tuple[str, ...] = (),
    since: str = "0.1.0",
    twin: str = "",
    frameworks: tuple[str, ...] = (),
    mentions: tuple[str, ...] = (),
    threat: str = "",
) -> Callable[[Check], Rule]:
    """Make a Rule of a check function: `@rule("NOT07", "group-size-1", severity=ERROR, evidence="solid", ...)`."""

    def declare(check: Check) -> Rule:
        page = check.__doc__
        made = Rule(id, name, page, severity, evidence, needs, topics, since, twin, frameworks, mentions, threat)
        made.check = check
        return made

    return declare


def stated_rule(
    id: str,
    name: str,
    page: str,
    *,
    severity: Severity,
    evidence: Evidence,
    topics: tuple[str, ...] = (),
    since: str = "0.1.0",
    twin: str = "",
) -> Rule:
    """A Rule without a sound form: what it states has a page, and a strict form in the profiles that ask for those."""
    return Rule(id, name, page, severity, evidence, (), topics, since, twin)


def text_rule(
    id: str,
    name: str,
    *,
    severity: Severity,
    kinds: tuple[str, ...],
    topics: tuple[str, ...] = (),
    since: str = "0.1.0",
    threat: str = "",
) -> Callable[[TextCheck], Rule]:
    """Make a Rule of a function from a reader's problem, of one of `kinds`, to findings."""

    def declare(check: TextCheck) -> Rule:
        made = Rule(id, name, check.__doc__, severity, "solid", (), topics, since, threat=threat)
        made.kinds, made._text_check = kinds, check
        return made

    return declare


def dedent(docstring: str | None) -> str:
    """A docstring as Markdown: without the indentation that its function gives it."""
    first, *rest = (docstring or "").expandtabs().splitlines() or [""]
    margin = min((len(line) - len(line.lstrip()) for line in rest if line.strip()), default=0)
    return "\n".join([first.strip(), *(line[margin:].rstrip() for line in rest)]).strip()
