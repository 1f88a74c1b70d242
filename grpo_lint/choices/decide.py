"""Which of two ways to take, from facts that are told; what isn't told is told back."""

from __future__ import annotations

from grpo_lint.runconfig import release

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def decide(known: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
    """The answer with its reasons, what to mind, and what would change it, from facts of which None is untold.

    The last reasons of the data weigh more than the first: where a condition holds, its answer replaces the others'.
    """
    reasons = [reason for reason in known["reasons"] if holds(reason["when"], facts)]
    chosen = reasons[-1]["answer"]
    last = known["reasons"].index(next(reason for reason in reversed(reasons) if reason["answer"] == chosen))
    return {
        "answer": chosen,
        "set": known["set"].get(chosen, ""),
        "because": [reason for reason in reasons if reason["answer"] == chosen],
        "mind": [caution for caution in known["cautions"] if holds(caution["when"], facts)],
        "would_change": [
            reason
            for reason in known["reasons"][last:]
            if reason["answer"] != chosen and holds(reason["when"], facts) is None
        ],
    }


def holds(when: dict[str, Any], facts: dict[str, Any]) -> bool | None:
    """Whether all conditions hold; None where that hangs on a fact that isn't told."""
    answers = [_holds(condition, wanted, facts) for condition, wanted in when.items()]
    if False in answers:
        return False
    return None if None in answers else True


def _holds(condition: str, wanted: Any, facts: dict[str, Any]) -> bool | None:
    name, _, relation = condition.partition("_")
    fact = facts[name]
    if fact is None:
        return None
    if not relation:
        return bool(fact == wanted)
    value, limit = (release(fact), release(wanted)) if isinstance(wanted, str) else (fact, wanted)
    return bool(value < limit if relation == "before" else value >= limit)


def condition_text(when: dict[str, Any]) -> str:
    """Conditions for people: `torch from 2.6 and before 2.7, verl before 0.5.0`, `--no-offload`."""
    said: dict[str, str] = {}
    for condition, wanted in when.items():
        name, _, relation = condition.partition("_")
        if not relation:
            said[name] = f"--{name}" if wanted else f"--no-{name}"
        elif name in said:
            said[name] += f" and {relation} {wanted}"
        else:
            said[name] = f"{name} {relation} {wanted}"
    return ", ".join(said.values())
