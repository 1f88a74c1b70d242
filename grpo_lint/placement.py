"""Findings become diagnostics: a place for each value, where it came from, and what it collides with."""

from __future__ import annotations

from grpo_lint.diagnostics import Diagnostic, Label
from grpo_lint.unified import Setting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Finding, Rule
    from grpo_lint.source import Span


def diagnosed(rule: Rule, finding: Finding, anchor: Span, when: tuple[str, ...]) -> Diagnostic:
    """A finding with its places: the marked value, where it came from, and what it collides with."""
    at, label = finding.at, finding.label
    others = list(finding.others)
    related: list[Label] = []
    if not isinstance(at, Setting):
        span, key = at, ""
    elif at.origin is None or at.origin.span is None:
        (span, label), key = _stand_in(at, others, anchor, finding.message), at.key
    else:
        span, key = at.origin.span, at.key
        related += [Label(place, _role(place, span)) for place in _innermost(at.origin.via)]
        related += [Label(origin.span, "overrides this") for origin in at.chain[:-1] if origin.span is not None]
    for other, text in others:
        place = other.span if isinstance(other, Setting) else other
        if place is not None:
            related.append(Label(place, text))
    return Diagnostic(
        rule.id,
        finding.severity or rule.severity,
        finding.message,
        Label(span, label),
        tuple(label for label in _distinct(related) if label.span != span),
        finding.help,
        finding.fix if finding.fix and not any(span.masked for span, _ in finding.fix.edits) else None,
        key,
        when,
    )


def _innermost(places: tuple[Span, ...]) -> Iterator[Span]:
    """Places without those that hold another of them: of `${N:-8}` and the 8 in it, the 8 is the value."""
    for place in places:
        if not any(
            other is not place and other.file is place.file and place.start <= other.start and other.end <= place.end
            for other in places
        ):
            yield place


def _role(place: Span, value: Span) -> str:
    """What a place on a value's way has to do with it: what set it stands before it, what uses it after."""
    later = place.file.path == value.file.path and place.start > value.start
    return "used here" if later else "the value comes from here"


def _stand_in(at: Setting, others: list[tuple[Setting | Span, str]], anchor: Span, message: str) -> tuple[Span, str]:
    """The place to mark for a value that stands nowhere, since it is a default: the first other one that does.

    The default is told beside it, unless the message tells it already.
    """
    note = at.origin.note if at.origin is not None else ""
    default = f"{at.key} is {at.value}: {note}" if note and at.key not in message else ""
    for other, text in others:
        place = other.span if isinstance(other, Setting) else other
        if place is not None:
            return place, "; ".join(part for part in (text, default) if part)
    return anchor, default


def _distinct(labels: list[Label]) -> Iterator[Label]:
    seen: set[tuple[Span, str]] = set()
    for label in labels:
        if (label.span, label.text) not in seen:
            seen.add((label.span, label.text))
            yield label
