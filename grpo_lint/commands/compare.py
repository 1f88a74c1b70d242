"""Compares two ways to do one thing, fact by fact, each with its source: `grpo-lint compare fsdp1 fsdp2`."""

from __future__ import annotations

from grpo_lint.modules import packaged
from grpo_lint.reporters.characters import wrap
from grpo_lint.settings import SettingsError
from grpo_lint.terminal import use_utf8, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from grpo_lint.arguments import Options

FORMATS = ("text", "markdown", "json")
CHOICES = ("fsdp1", "fsdp2")
SCHEMA = 1
FSDP = packaged("knowledge", "fsdp.json")


def answer(options: Options) -> int:
    """Write what `grpo-lint compare` was asked for to standard output. Raises SettingsError for one choice twice."""
    import sys

    known = load()
    one, other = options.choices
    if one == other:
        raise SettingsError(f"compare {one} {other}: name two that differ, of {', '.join(CHOICES)}")
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


def load() -> dict[str, Any]:
    """What is known of FSDP1 and FSDP2, as the data file has it."""
    import json

    with open(FSDP, encoding="utf-8") as file:
        known: dict[str, Any] = json.load(file)
    return known


def text(known: dict[str, Any], one: str, other: str, columns: int) -> list[str]:
    """The comparison topic by topic."""
    titles = known["titles"]
    lines = []
    for row in known["rows"]:
        lines.append(row["topic"])
        for name, fact in ((titles[one], row[one]), (titles[other], row[other]), ("source", row["source"])):
            head = f"  {name:<6}  "
            first, *rest = wrap(fact, columns, " " * len(head), len(head))
            lines += [head + first, *rest]
    return [*lines, "", f"Read on {known['read']}."]


def table(known: dict[str, Any], one: str, other: str) -> list[str]:
    """The comparison as a Markdown table."""
    head = ["", known["titles"][one], known["titles"][other], "source"]
    rows = [[row["topic"], row[one], row[other], row["source"]] for row in known["rows"]]
    lines = [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
    return [*lines, "", f"Read on {known['read']}."]
