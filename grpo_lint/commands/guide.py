"""Answers a choice from facts that are told: `grpo-lint guide fsdp --torch 2.6 --verl 0.9.1 --nodes 2 --offload`."""

from __future__ import annotations

from grpo_lint.commands.compare import load
from grpo_lint.reporters.characters import wrap
from grpo_lint.runconfig import release
from grpo_lint.terminal import use_utf8, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from grpo_lint.arguments import Options

TOPICS = ("fsdp",)
FORMATS = ("text", "json")
SCHEMA = 1


def answer(options: Options) -> int:
    """Write what `grpo-lint guide` was asked for to standard output."""
    import sys

    known = load()
    facts = {name: getattr(options, name) for name in ("torch", "verl", "nodes", "offload")}
    found = decide(known, facts)
    use_utf8()
    if options.format == "json":
        import json

        document = {"schema": SCHEMA, "read": known["read"], "facts": facts, **found}
        lines = [json.dumps(document, indent=1, ensure_ascii=False)]
    else:
        lines = text(known, found, width())
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def decide(known: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
    """The answer with its reasons, what to mind, and what would change it, from facts of which None is untold.

    The last reasons of the data weigh more than the first: where a condition holds, its answer replaces the others'.
    """
    reasons = [reason for reason in known["reasons"] if holds(reason["when"], facts)]
    chosen = reasons[-1]["answer"]
    return {
        "answer": chosen,
        "set": known["set"][chosen],
        "because": [reason for reason in reasons if reason["answer"] == chosen],
        "mind": [caution for caution in known["cautions"] if holds(caution["when"], facts)],
        "would_change": [
            reason for reason in known["reasons"] if reason["answer"] != chosen and holds(reason["when"], facts) is None
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
    """Conditions for people: `torch from 2.6 and before 2.7, verl before 0.5.0`."""
    said: dict[str, str] = {}
    for condition, wanted in when.items():
        name, _, relation = condition.partition("_")
        part = f"{relation} {wanted}" if relation else ("" if wanted else "off")
        said[name] = f"{said[name]} and {part}" if name in said else f"{name} {part}".strip()
    return ", ".join(said.values())


def text(known: dict[str, Any], found: dict[str, Any], columns: int) -> list[str]:
    """An answer for a terminal."""
    lines = [known["titles"][found["answer"]], "", "because"]
    lines += _list((f"{reason['text']} ({reason['source']})" for reason in found["because"]), columns)
    if found["mind"]:
        lines += ["", "mind", *_list((f"{c['text']} ({c['source']})" for c in found["mind"]), columns)]
    if found["would_change"]:
        others = (
            f"{condition_text(reason['when'])}: {known['titles'][reason['answer']]}, since {reason['text']}"
            f" ({reason['source']})"
            for reason in found["would_change"]
        )
        lines += ["", "what isn't told and would change it", *_list(others, columns)]
    return [*lines, "", "set", f"  {found['set']}", "", f"Read on {known['read']}."]


def _list(texts: Iterable[str], columns: int) -> list[str]:
    return [line for text in texts for line in wrap(f"  - {text}", columns, "    ")]
