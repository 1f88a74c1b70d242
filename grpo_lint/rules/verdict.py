"""What a rule says of one run: a verdict with its reason."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Literal

    from grpo_lint.runconfig import RunConfig
    from grpo_lint.source import Span
    from grpo_lint.unified import Setting

    State = Literal["pass", "assumed", "fail", "warn", "not applicable", "undecided"]
    Judge = Callable[[RunConfig], "Verdict"]

STATES: tuple[State, ...] = ("pass", "assumed", "fail", "warn", "not applicable", "undecided")
WORDS = {"assumed": "pass (assumed)"}
"""How a state reads; a state that isn't here reads as it is."""


class Verdict:
    """A state and why.

    `assumed` is a pass that nothing contradicts and nothing confirms. `at` is the setting (or place) that decided, and
    `others` are (setting, what it has to do with it). `demand` says what a failed strict form asks for: "asks for
    stage 2". `speaker` is the id of the rule that reports the same fault, where this one leaves that to it.
    """

    __slots__ = ("at", "demand", "help", "others", "reason", "speaker", "state")

    def __init__(
        self,
        state: State,
        reason: str,
        at: Setting | Span | None = None,
        demand: str = "",
        others: Iterable[tuple[Setting | Span, str]] = (),
        help: str = "",
        speaker: str = "",
    ) -> None:
        self.state = state
        self.reason = reason
        self.at = at
        self.demand = demand
        self.others = tuple(others)
        self.help = help
        self.speaker = speaker

    def __repr__(self) -> str:
        return f"Verdict({self.state}, {self.reason!r})"

    @property
    def word(self) -> str:
        """The state as people read it."""
        return WORDS.get(self.state, self.state)


class Form:
    """The strict form of a rule: a function from a run to a verdict, and the unified fields that it looks at.

    The function's docstring is what a rule's page says about the form, as Markdown.
    """

    __slots__ = ("fields", "judge", "page", "rule", "warns")

    def __init__(self, rule: str, fields: tuple[str, ...], judge: Judge, warns: bool) -> None:
        self.rule = rule
        self.fields = fields
        self.judge = judge
        self.warns = warns
        from grpo_lint.rules.rule import dedent

        self.page = dedent(judge.__doc__)


def form(rule: str, *fields: str, warns: bool = False) -> Callable[[Judge], Form]:
    """Make a Form of a function: `@form("NOT01", "zero_stage")`. One that `warns` never fails a run."""

    def declare(judge: Judge) -> Form:
        return Form(rule, fields, judge, warns)

    return declare


def shown(value: Any) -> str:
    """A value as a config file spells it."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def said(setting: Setting, field: str) -> str:
    """`key is value`, and who says so where nobody wrote it; the field's own name where it isn't the key's value."""
    origin = setting.origin
    if origin is None or origin.layer == "derived" or origin.data != setting.value:
        key = f"{origin.key}, " if origin is not None and origin.key not in ("", field) else ""
        note = origin.note if origin is not None and not setting.explicit else ""
        aside = f"{key}{note}".removesuffix(", ")
        return f"{field} is {shown(setting.value)}" + (f" ({aside})" if aside else "")
    text = f"{setting.key or field} is {_as_written(setting)}"
    return f"{text} ({origin.note})" if origin.note and not setting.explicit else text


def _as_written(setting: Setting) -> str:
    """A value as it stands in its file: hjson reads `1.0` as 1."""
    value, text = setting.value, setting.span.text if setting.span is not None else ""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and len(text) < 20:
        try:
            return text if float(text) == value else shown(value)
        except ValueError:
            pass
    return shown(value)


def hidden(*settings: tuple[str, Setting]) -> Verdict | None:
    """Undecided by the first of some (field, setting) pairs that isn't decided; None when all are."""
    for field, setting in settings:
        if not setting.decided:
            reason = setting.reason or "it has more than one value"
            return Verdict("undecided", f"{field}: {reason}", setting)
    return None


def untold(*fields: str) -> Verdict:
    """Assumed, since nothing tells some fields."""
    return Verdict("assumed", f"nothing tells {' or '.join(fields)}")


def lacking(field: str, setting: Setting, told: str) -> Verdict:
    """Undecided: half of a fault is there (`told`), and nothing tells the field of the other half."""
    return Verdict("undecided", f"{told}, and nothing tells {field}", setting)


def passes(setting: Setting, field: str) -> Verdict:
    return Verdict("pass", said(setting, field), setting)


def fails(
    setting: Setting,
    field: str,
    demand: str,
    help: str,
    speaker: str = "",
    others: Iterable[tuple[Setting | Span, str]] = (),
) -> Verdict:
    return Verdict("fail", said(setting, field), setting, demand, others, help, speaker)


def inapplicable(reason: str, at: Setting | None = None) -> Verdict:
    return Verdict("not applicable", reason, at)


def number(setting: Setting) -> float | None:
    """The number that a setting is known to be."""
    value = setting.value if setting.known else None
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
