"""What every avoidance rule says of a run: its sound form always, its strict form where the profile asks for it."""

from __future__ import annotations

from grpo_lint.diagnostics import NOTE, RANK, WARNING
from grpo_lint.rules.rule import Finding
from grpo_lint.rules.strict import FORMS
from grpo_lint.rules.verdict import Verdict, hidden, said
from grpo_lint.unified import Setting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from grpo_lint.diagnostics import Severity
    from grpo_lint.rules.rule import Rule
    from grpo_lint.rules.verdict import State
    from grpo_lint.runconfig import RunConfig
    from grpo_lint.settings import Settings

    Said = list[tuple[Rule, Finding]]

FAILED = ("fail", "warn")
ONE_SWITCH = {"NOT03", "NOT15", "DO10"}
"""Three rules about `overlap_comm`, of which one speaks."""


class Ruling:
    """A rule's verdict on one run, with the whole reason as people read it."""

    __slots__ = ("reason", "rule", "verdict")

    def __init__(self, rule: Rule, verdict: Verdict, reason: str) -> None:
        self.rule = rule
        self.verdict = verdict
        self.reason = reason

    def __repr__(self) -> str:
        return f"Ruling({self.rule.id}, {self.verdict!r})"


def is_avoidance(rule: Rule) -> bool:
    """Whether a rule is one of the 36."""
    return rule.id in FORMS


def rulings(run: RunConfig, rules: Iterable[Rule], settings: Settings) -> list[Ruling]:
    """The verdict of each avoidance rule among `rules` on a run, in their order."""
    listed = [rule for rule in rules if is_avoidance(rule)]
    sound = {rule.id: _sound(rule, run) for rule in listed}
    strict = _strict(run, listed) if settings.strict_forms else {}
    found: list[Ruling] = []
    for rule in listed:
        verdict = sound[rule.id]
        if rule.id in strict and verdict.state != "fail":
            verdict = _stronger(strict[rule.id], verdict)
        elif verdict.state not in FAILED and _states_the_same(rule, sound.get(rule.twin), run):
            verdict = _following(rule.twin, sound[rule.twin])
        found.append(Ruling(rule, verdict, _reason(rule, verdict, strict, settings.profile)))
    return found


def _stronger(strict: Verdict, sound: Verdict) -> Verdict:
    """The sound form's verdict where it is the worse one."""
    return sound if sound.state == "warn" and strict.state not in FAILED else strict


def _states_the_same(rule: Rule, twin: Verdict | None, run: RunConfig) -> bool:
    """Whether what the twin found is this rule's fault, too: it has no check of its own, or looks at that setting."""
    if twin is None or twin.state not in FAILED:
        return False
    return not rule.judges or any(getattr(run, field) is twin.at for field in FORMS[rule.id].fields)


def _following(twin: str, verdict: Verdict) -> Verdict:
    return Verdict(verdict.state, verdict.reason, verdict.at, help=verdict.help, speaker=twin)


def _reason(rule: Rule, verdict: Verdict, strict: dict[str, Verdict], profile: str) -> str:
    if verdict.demand:
        return message(rule, verdict, strict, profile)
    return f"{verdict.reason} (reported as {verdict.speaker})" if verdict.speaker else verdict.reason


def _sound(rule: Rule, run: RunConfig) -> Verdict:
    """The verdict of a rule's sound form."""
    if not rule.judges or rule.check is None:
        where = f"{rule.twin} reports it" if rule.twin else "no config shows it"
        return Verdict("not applicable", f"{where}; a profile with strict forms judges it")
    concerned = not rule.frameworks or bool(run.frameworks.intersection(rule.frameworks))
    aside = Verdict("not applicable", f"it is about {joined(rule.frameworks)}")
    undecided = hidden(*((name, getattr(run, name)) for name in rule.needs))
    if undecided is not None:
        return undecided if concerned else aside
    findings = list(rule.check(run))
    if findings:
        worst = max(findings, key=lambda finding: RANK[finding.severity or rule.severity])
        state: State = "fail" if (worst.severity or rule.severity) == "error" else "warn"
        return Verdict(state, worst.message, worst.at, "", worst.others, worst.help)
    return clear(rule, run) if concerned else aside


def joined(names: Sequence[str]) -> str:
    """Names in a sentence: "a, b and c"."""
    return " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)


def clear(rule: Rule, run: RunConfig) -> Verdict:
    """The verdict of a sound form that finds nothing: a pass only where all that it needs is told."""
    missing = [name for name in rule.needs if getattr(run, name).unset]
    fields = rule.needs or FORMS[rule.id].fields
    told = next((field for field in fields if getattr(run, field).known), "")
    if missing or not told:
        return Verdict("undecided", f"nothing tells {' or '.join(missing or fields)}")
    return Verdict("pass", said(getattr(run, told), told), getattr(run, told))


def _strict(run: RunConfig, rules: Iterable[Rule]) -> dict[str, Verdict]:
    """The verdicts of strict forms by rule. A fault whose speaker isn't asked, or is content, is its own rule's."""
    found = {rule.id: FORMS[rule.id].judge(run) for rule in rules}
    for verdict in found.values():
        speaker = found.get(verdict.speaker)
        if speaker is None or speaker.state not in FAILED:
            verdict.speaker = ""
    return found


def message(rule: Rule, verdict: Verdict, strict: dict[str, Verdict], profile: str) -> str:
    """What a failed strict form says: what is there, what the profile asks for, and how much is known of it."""
    also = [id for id, other in strict.items() if other.speaker == rule.id]
    tail = f"evidence: {rule.evidence}"
    if verdict.speaker:
        tail += f"; reported as {verdict.speaker}"
    elif also:
        tail += f"; also {', '.join(also)}"
    return f"{verdict.reason}, and the profile {profile} {verdict.demand} ({tail})"


def with_strict_forms(sound: Said, run: RunConfig, rules: Iterable[Rule], profile: str) -> Said:
    """The findings of a run with those of the strict forms; one fault is one finding.

    Where a sound form marks the same setting for the same rule or its twin, its message stays, since it knows more.
    """
    listed = [rule for rule in rules if is_avoidance(rule)]
    strict = _strict(run, listed)
    found = list(sound)
    for rule in listed:
        verdict = strict[rule.id]
        if verdict.state not in FAILED or verdict.speaker:
            continue
        severity = strict_severity(rule)
        same = next((f for other, f in sound if _one_fault(rule, verdict, other, f, strict)), None)
        if same is None:
            found.append((rule, _finding(rule, verdict, strict, profile, run)))
        elif RANK[same.severity or _severity_of(same, sound)] < RANK[severity]:
            same.severity = severity
            same.message += f"; the profile {profile} {verdict.demand}"
    return found


def strict_severity(rule: Rule) -> Severity:
    """The severity of a rule's strict form: it is a chosen profile's word, not a framework's."""
    return NOTE if FORMS[rule.id].warns else WARNING


def _severity_of(finding: Finding, sound: Said) -> Severity:
    return next(rule.severity for rule, other in sound if other is finding)


def _one_fault(rule: Rule, verdict: Verdict, other: Rule, finding: Finding, strict: dict[str, Verdict]) -> bool:
    """Whether a sound finding is the strict form's fault: by the same rule or one that goes with it, at its setting."""
    kin = {rule.id, rule.twin, *(id for id, v in strict.items() if v.speaker == rule.id)}
    kin |= ONE_SWITCH if rule.id in ONE_SWITCH else set()
    if other.id not in kin and other.twin != rule.id:
        return False
    if finding.at is verdict.at:
        return True
    if isinstance(finding.at, Setting) and isinstance(verdict.at, Setting):
        return finding.at.span == verdict.at.span and finding.at.key == verdict.at.key
    return False


def _finding(rule: Rule, verdict: Verdict, strict: dict[str, Verdict], profile: str, run: RunConfig) -> Finding:
    at = verdict.at if verdict.at is not None else run.anchor
    text = message(rule, verdict, strict, profile)
    return Finding(text, at, "", verdict.others, verdict.help, None, strict_severity(rule))


def counts(found: Iterable[Ruling]) -> Iterator[tuple[str, int]]:
    """(state, number) of some rulings; assumed passes count as passes, too."""
    states = [ruling.verdict.state for ruling in found]
    yield "pass", states.count("pass") + states.count("assumed")
    for state in ("assumed", "fail", "warn", "not applicable", "undecided"):
        yield state, states.count(state)
