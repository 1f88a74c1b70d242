"""Rules for people to read about: their list, and each one's page with its levels and its strict form."""

from __future__ import annotations

from grpo_lint.nearest import suggestion
from grpo_lint.rules import RULES
from grpo_lint.rules.strict import FORMS
from grpo_lint.settings import SettingsError
from grpo_lint.verdicts import strict_severity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

    from grpo_lint.rules.rule import Rule

PROFILES = ("default", "strict", "rtx4090")
"""The profiles that come with the linter. `strict` has the levels of `default`, and lets notes fail."""

SCHEMA = 1
_STRICT_SECTION = "In the profile rtx4090"


def rule_named(name: str) -> Rule:
    """A rule by its id or name. Raises SettingsError."""
    by_name = {name: rule for rule in RULES for name in (rule.id, rule.name)}
    rule = by_name.get(name) or by_name.get(name.upper()) or by_name.get(name.lower())
    if rule is None:
        raise SettingsError(f"no rule is called {name!r}{suggestion(name, by_name, '`grpo-lint rules` lists them')}")
    return rule


def levels(rule: Rule) -> dict[str, str]:
    """The severity of a rule's findings in each profile, or "off". A strict form's counts beside the sound form's."""
    sound = rule.severity if rule.judges or rule.kinds else ""
    strict = strict_severity(rule) if rule.id in FORMS else ""
    both = " and ".join(dict.fromkeys(level for level in (sound, strict) if level))
    return {"default": sound or "off", "strict": sound or "off", "rtx4090": both or "off"}


def page(rule: Rule) -> str:
    """A rule's page as Markdown: what is known of it in a line, its levels, the page, and its strict form."""
    facts = [f"evidence: {rule.evidence}", f"since {rule.since}"]
    if rule.twin:
        facts.append(f"goes with {rule.twin}")
    if rule.topics:
        facts.append(f"topics: {', '.join(rule.topics)}")
    level = "; ".join(f"{level} in {profile}" for profile, level in levels(rule).items())
    return f"# {rule.id} {rule.name}\n\n{' · '.join(facts)}  \nlevels: {level}\n\n{body(rule)}\n"


def body(rule: Rule) -> str:
    """A page with its strict form's section, which stands before the sources."""
    form = FORMS.get(rule.id)
    if form is None:
        return rule.page
    before, heading, sources = rule.page.partition("## Sources\n")
    return f"{before}## {_STRICT_SECTION}\n{form.page}\n\n{heading}{sources}"


def write_json(out: TextIO) -> None:
    """The list of rules with all that is known of each, versioned by "schema"."""
    import json

    rows = [
        {
            "id": rule.id,
            "name": rule.name,
            "severity": rule.severity,
            "levels": levels(rule),
            "evidence": rule.evidence,
            "since": rule.since,
            "topics": list(rule.topics),
            "twin": rule.twin or None,
            "summary": rule.summary,
            "page": body(rule),
        }
        for rule in RULES
    ]
    out.write(json.dumps({"schema": SCHEMA, "rules": rows}, indent=1, ensure_ascii=False) + "\n")


def write_table(out: TextIO) -> None:
    """A line for each rule: id, name, its level by default and in rtx4090, evidence, and what it is about."""
    width = max(len(rule.name) for rule in RULES)
    head = ("id", "name", "default", "rtx4090", "evidence")
    out.write(f"{head[0]:<6} {head[1]:<{width}}  {head[2]:<7}  {head[3]:<19}  {head[4]:<12}  what it is about\n")
    for rule in RULES:
        level = levels(rule)
        out.write(
            f"{rule.id:<6} {rule.name:<{width}}  {level['default']:<7}  {level['rtx4090']:<19}  {rule.evidence:<12}  "
            f"{rule.summary}\n"
        )
