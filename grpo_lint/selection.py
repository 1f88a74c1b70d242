"""Which rules a name means: an id, a rule's name, a prefix of ids, a topic, or ALL."""

from __future__ import annotations

from grpo_lint.diagnostics import RANK
from grpo_lint.rules import RULES
from grpo_lint.settings import SettingsError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from grpo_lint.diagnostics import Severity
    from grpo_lint.rules.rule import Rule
    from grpo_lint.settings import Settings

_EXACT = 100
_SEVERITIES: dict[str, Severity] = {severity: severity for severity in RANK}


def specificity(rule: Rule, name: str) -> int:
    """How closely a name means a rule: 0 when it doesn't, most for its id and name, least for ALL."""
    upper = name.upper()
    if upper == rule.id or name.lower() == rule.name:
        return _EXACT
    if upper.isalpha() and rule.id[: len(upper)] == upper:
        return 2 + len(upper)
    if name.lower() in rule.topics:
        return 2
    return int(upper == "ALL")


def meant(name: str) -> tuple[Rule, ...]:
    """The rules that a name means; none for a name that means none."""
    return tuple(rule for rule in RULES if specificity(rule, name))


def unknown(name: str, where: str) -> SettingsError:
    """The error about a name that means no rule; `where` says where it was written."""
    return SettingsError(f"{where}: no rule, prefix or topic is called {name!r}{hint(name)}")


def hint(name: str) -> str:
    """What may have been meant by a name that means no rule, as the end of a message."""
    from grpo_lint.nearest import suggestion

    known = {each: None for rule in RULES for each in (rule.id, rule.name, *rule.topics)}
    return suggestion(name, known, "`grpo-lint rules` lists them")


def selected(settings: Settings) -> tuple[Rule, ...]:
    """The rules that the settings ask for."""
    if not (settings.select or settings.ignore or settings.levels):
        return RULES
    return tuple(
        rule
        for rule in RULES
        if (not settings.select or _any(rule, settings.select))
        and not _any(rule, settings.ignore)
        and level_of(rule, settings) != "off"
    )


def levels(rules: Iterable[Rule], settings: Settings) -> dict[str, Severity]:
    """The severity of each rule that the settings give one, by its id."""
    found: dict[str, Severity] = {}
    for rule in rules if settings.levels else ():
        level = _SEVERITIES.get(level_of(rule, settings))
        if level is not None:
            found[rule.id] = level
    return found


def enforced(settings: Settings) -> Callable[[str], bool]:
    """Tells by a rule's id whether the settings let no comment suppress it."""
    ids = {rule.id for name in settings.enforce for rule in meant(name)}
    return ids.__contains__


def level_of(rule: Rule, settings: Settings) -> str:
    """What `levels` says of a rule: the closest name decides, of equally close ones the last; empty for nothing."""
    best, level = 0, ""
    for name, given in settings.levels.items():
        close = specificity(rule, name)
        if close and close >= best:
            best, level = close, given
    return level


def _any(rule: Rule, names: Iterable[str]) -> bool:
    return any(specificity(rule, name) for name in names)
