"""Compares two ways to do one thing, fact by fact, each with its source: `grpo-lint compare fsdp1 fsdp2`."""

from __future__ import annotations

from grpo_lint.arguments import UsageError
from grpo_lint.choices.known import TOPICS, load
from grpo_lint.reporters.characters import wrap
from grpo_lint.terminal import use_utf8, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from grpo_lint.arguments import Options

FORMATS = ("text", "markdown", "json")
CHOICES = tuple(name for pair in TOPICS.values() for name in pair)
SCHEMA = 1


def answer(options: Options) -> int:
    """Write what `grpo-lint compare` was asked for to standard output. Raises UsageError for what is no pair."""
    import sys

    one, other = options.choices
    known = load(_topic(one, other))
    use_utf8()
    if options.format == "json":
        import json

        rows = [{name: row[name] for name in ("topic", one, other, "source")} for row in known["rows"]]
        lines = [json.dumps({"schema": SCHEMA, "read": known["read"], "rows": rows}, indent=1, ensure_ascii=False)]
    elif options.format == "markdown":
        lines = table(known, one, other)
    else:
        lines = text(known, one, other, width())
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def _topic(one: str, other: str) -> str:
    """The topic that two ways are of."""
    for topic, pair in TOPICS.items():
        if {one, other} == set(pair):
            return topic
    pairs = ", ".join(" ".join(pair) for pair in TOPICS.values())
    what = "name two that differ" if one == other else "they are no two ways to do one thing"
    raise UsageError(f"compare {one} {other}: {what}; known are {pairs}")


def text(known: dict[str, Any], one: str, other: str, columns: int) -> list[str]:
    """The comparison topic by topic."""
    titles = known["titles"]
    longest = max(len(head) for head in (titles[one], titles[other], "source"))
    lines = []
    for row in known["rows"]:
        lines.append(row["topic"])
        for name, fact in ((titles[one], row[one]), (titles[other], row[other]), ("source", row["source"])):
            head = f"  {name:<{longest}}  "
            first, *rest = wrap(fact, columns, " " * len(head), len(head))
            lines += [head + first, *rest]
    return [*lines, "", f"Read on {known['read']}."]


def table(known: dict[str, Any], one: str, other: str) -> list[str]:
    """The comparison as a Markdown table."""
    head = ["", known["titles"][one], known["titles"][other], "source"]
    rows = [[row["topic"], row[one], row[other], row["source"]] for row in known["rows"]]
    lines = [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
    return [*lines, "", f"Read on {known['read']}."]
