"""What the linter says: diagnostics as data. Rules return them, reporters print them."""

from __future__ import annotations

from grpo_lint.source import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Severity = Literal["error", "warning", "note"]

ERROR: Severity = "error"
"""The framework itself refuses it, or the run provably does the opposite of what the config says."""
WARNING: Severity = "warning"
"""Known silent harm, in a stated range of releases."""
NOTE: Severity = "note"
"""A preference, a cost, or something that needs context to judge."""

RANK: dict[Severity, int] = {NOTE: 0, WARNING: 1, ERROR: 2}


class Label:
    """A place and what it has to do with the finding."""

    __slots__ = ("span", "text")

    def __init__(self, span: Span, text: str) -> None:
        self.span = span
        self.text = text

    def __repr__(self) -> str:
        return f"Label({self.span!r}, {self.text!r})"


class Fix:
    """Edits that remove the finding: (span, replacement) pairs that don't overlap.

    `safe` means that the run gets what its author evidently meant, or nothing else than before; anything that changes
    training is unsafe. `reach` are the places whose readers the edits concern: by default the places that they
    replace, else, such as for a key that is added to a file, the section that they change.
    """

    __slots__ = ("edits", "reach", "safe", "title")

    def __init__(
        self, title: str, edits: tuple[tuple[Span, str], ...], safe: bool, reach: tuple[Span, ...] = ()
    ) -> None:
        self.title = title
        self.edits = edits
        self.safe = safe
        self.reach = reach or tuple(span for span, _ in edits)

    def __repr__(self) -> str:
        return f"Fix({self.title!r}, {self.edits!r}, safe={self.safe})"


class Diagnostic:
    """One finding at one place.

    `message` is lower-case, names the key and the value and says what breaks; `help` starts with a verb. `key` is the
    option that it is about, as its framework spells it: with the rule and the path it identifies the finding across
    edits. `when` holds the conditions under which the run is reached (`DEVICE=npu`).
    """

    __slots__ = ("fix", "help", "key", "message", "primary", "related", "rule", "severity", "when")

    def __init__(
        self,
        rule: str,
        severity: Severity,
        message: str,
        primary: Label,
        related: tuple[Label, ...] = (),
        help: str = "",
        fix: Fix | None = None,
        key: str = "",
        when: tuple[str, ...] = (),
    ) -> None:
        self.rule = rule
        self.severity = severity
        self.message = message
        self.primary = primary
        self.related = related
        self.help = help
        self.fix = fix
        self.key = key
        self.when = when

    def __repr__(self) -> str:
        return f"Diagnostic({self.rule}, {self.primary.span!r}, {self.message!r})"

    @property
    def order(self) -> tuple[str, int, int, str, str]:
        span = self.primary.span
        return span.file.path, span.start, span.end, self.rule, self.message


class Notice:
    """Something about the linting itself: a file that could not be read, a bound that was reached."""

    __slots__ = ("message", "path")

    def __init__(self, path: str, message: str) -> None:
        self.path = path
        self.message = message

    def __repr__(self) -> str:
        return f"Notice({self.path!r}, {self.message!r})"
