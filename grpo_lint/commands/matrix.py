"""The pattern matrix: which classes of bugs hit which frameworks, as upstream says or as the source document states."""

from __future__ import annotations

from grpo_lint.modules import packaged
from grpo_lint.reporters.characters import wrap
from grpo_lint.rules import RULES
from grpo_lint.terminal import use_utf8, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from grpo_lint.arguments import Options

FORMATS = ("text", "markdown", "json")
SCHEMA = 1
LEGEND = "near: not of the class, but the nearest that is known; trigger: it sets another one off. "
BUGS = packaged("knowledge", "bugs.json")


def answer(options: Options) -> int:
    """Write what `grpo-lint matrix` was asked for to standard output."""
    import sys

    known = load()
    use_utf8()
    if options.format == "json":
        lines = _json(known, options)
    elif options.by_class:
        lines = by_class_markdown(known) if options.format == "markdown" else by_class_text(known, width())
    else:
        cells, notes = stated_cells(known) if options.as_stated else (corrected_cells(known), [])
        if options.format == "markdown":
            lines = matrix_markdown(known, cells, notes)
        else:
            lines = matrix_text(known, cells, notes, width())
        legend = "" if options.as_stated else LEGEND
        lines = [*lines, "", *wrap(legend + _reading(known), 1000 if options.format == "markdown" else width())]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def load() -> dict[str, Any]:
    """What is known of the bugs, as the data file has it."""
    import json

    with open(BUGS, encoding="utf-8") as file:
        known: dict[str, Any] = json.load(file)
    return known


def corrected_cells(known: dict[str, Any]) -> dict[str, dict[str, list[str]]]:
    """The texts of each cell, by class and framework: a bug's number and how it stands, or a remedy."""
    cells: dict[str, dict[str, list[str]]] = {group["id"]: {} for group in known["classes"]}
    for bug in known["bugs"]:
        cells[bug["class"]].setdefault(bug["framework"], []).append(_cell(bug))
    for remedy in known["remedies"]:
        cells[remedy["class"]].setdefault(remedy["framework"], []).append(remedy["what"])
    return cells


def standing(bug: dict[str, Any]) -> str:
    """How a bug's thread stands, and how it belongs to its class where it is no member: `near; merged`."""
    return "; ".join(part for part in (bug.get("relation"), bug["state"]) if part)


def _cell(bug: dict[str, Any]) -> str:
    """A bug in a cell: its number, and the release with its fix or else how its thread stands."""
    fixed = {**bug, "state": f"fixed {bug['fixed']}"} if bug["fixed"] else bug
    return f"{bug['number']} ({standing(fixed)})"


def stated_cells(known: dict[str, Any]) -> tuple[dict[str, dict[str, list[str]]], list[str]]:
    """The source document's cells, with a mark such as `[1]` where upstream disagrees, and the notes of the marks."""
    cells: dict[str, dict[str, list[str]]] = {}
    notes: list[str] = []
    for cell in known["stated"]:
        text = str(cell["number"])
        if cell["upstream"]:
            where = f"{cell['class']}, {known['frameworks'][cell['framework']]}"
            notes.append(f"[{len(notes) + 1}] {text} ({where}): {cell['upstream']}")
            text += f" [{len(notes)}]"
        cells.setdefault(cell["class"], {}).setdefault(cell["framework"], []).append(text)
    return cells, notes


def matrix_text(
    known: dict[str, Any], cells: dict[str, dict[str, list[str]]], notes: list[str], columns: int
) -> list[str]:
    """The matrix class by class, with a line for each framework that it hits: eight columns fit no terminal."""
    longest = max(len(title) for title in known["frameworks"].values())
    lines = []
    for name, row in cells.items():
        lines.append(name)
        for framework, title in known["frameworks"].items():
            if framework in row:
                head = f"  {title:<{longest}}  "
                text = wrap(", ".join(row[framework]), columns, " " * len(head), len(head))
                lines.append(head + "\n".join(text))
    return [*lines, *_notes(notes, columns)]


def matrix_markdown(known: dict[str, Any], cells: dict[str, dict[str, list[str]]], notes: list[str]) -> list[str]:
    """The matrix as a table."""
    rows = [
        [name, *(", ".join(row.get(framework, ())) for framework in known["frameworks"])] for name, row in cells.items()
    ]
    lines = _table(["class", *known["frameworks"].values()], rows)
    return [*lines, "", *(f"- {note}" for note in notes)] if notes else lines


def of_class(known: dict[str, Any], group: dict[str, Any]) -> list[dict[str, Any]]:
    """A class's bugs, in the order of the frameworks."""
    order = list(known["frameworks"])
    bugs = [bug for bug in known["bugs"] if bug["class"] == group["id"]]
    return sorted(bugs, key=lambda bug: order.index(bug["framework"]))


def by_class_text(known: dict[str, Any], columns: int) -> list[str]:
    """Each class for a terminal: what it is, whom it hits, its bugs, and the rules that guard it."""
    lines = []
    for group in known["classes"]:
        bugs = of_class(known, group)
        lines.append(group["id"])
        facts = [group["what"], f"hits: {_hit(known, group)}", f"evidence: {_evidence(group)}"]
        for fact in (*facts, *_remedies(known, group)):
            lines += _indented(fact, columns)
        for bug in bugs:
            fact = f"- {reference(bug)} ({bug['kind']}, {standing(bug)}): {bug['what']}. {_releases(bug)}"
            lines += _indented(fact, columns, "    ")
        lines += [*_indented(f"guarded by: {', '.join(_named(group['rules']))}", columns), ""]
    return [*lines, *wrap(_reading(known), columns)]


def by_class_markdown(known: dict[str, Any]) -> list[str]:
    """Each class as a section with a table of its bugs."""
    lines = []
    for group in known["classes"]:
        bugs = of_class(known, group)
        facts = [f"hits: {_hit(known, group)}", f"evidence: {_evidence(group)}", *_remedies(known, group)]
        facts.append(f"guarded by: {', '.join(_named(group['rules']))}")
        lines += [f"### {group['id']}", "", f"{_capital(group['what'])}.", "", *(f"- {fact}" for fact in facts), ""]
        rows = [
            [f"[{reference(bug)}]({address(bug)})", bug["what"], standing(bug), bug["affected"], bug["fixed"]]
            for bug in bugs
        ]
        lines += [*_table(["bug", "what it is", "state", "affected releases", "fixed in"], rows), ""]
    return [*lines, _reading(known)]


def reference(bug: dict[str, Any]) -> str:
    """Such as verl-project/verl#6782."""
    return f"{bug['repository']}#{bug['number']}"


def address(bug: dict[str, Any]) -> str:
    """Where a bug's thread is read; the issue's address leads to a pull request too."""
    return f"https://github.com/{bug['repository']}/issues/{bug['number']}"


def _json(known: dict[str, Any], options: Options) -> list[str]:
    import json

    kept = {name: known[name] for name in ("read", "states_as_of", "frameworks")}
    if options.as_stated:
        document = {**kept, "stated": [{**cell, "agrees": not cell["upstream"]} for cell in known["stated"]]}
    elif options.by_class:
        classes = [{**group, "hits": hit(known, group), "bugs": of_class(known, group)} for group in known["classes"]]
        document = {**kept, "classes": classes, "remedies": known["remedies"]}
    else:
        document = {**kept, "matrix": corrected_cells(known)}
    return [json.dumps({"schema": SCHEMA, **document}, indent=1, ensure_ascii=False)]


def hit(known: dict[str, Any], group: dict[str, Any]) -> list[str]:
    """The frameworks that a class hits: those with a bug of it or a remedy against it. Bugs near to it don't count."""
    own = [bug for bug in known["bugs"] if bug.get("relation") != "near"]
    found = {row["framework"] for row in (*own, *known["remedies"]) if row["class"] == group["id"]}
    return [framework for framework in known["frameworks"] if framework in found]


def _hit(known: dict[str, Any], group: dict[str, Any]) -> str:
    return ", ".join(known["frameworks"][framework] for framework in hit(known, group)) or "none that is known"


def _remedies(known: dict[str, Any], group: dict[str, Any]) -> list[str]:
    rows = [row for row in known["remedies"] if row["class"] == group["id"]]
    text = ", ".join(f"{row['what']} ({known['frameworks'][row['framework']]})" for row in rows)
    return [f"remedies: {text}"] if rows else []


def _evidence(group: dict[str, Any]) -> str:
    stated = f"stated as {group['as_stated']}" if "as_stated" in group else ""
    return "; ".join(part for part in (group["evidence"], stated, group["note"]) if part)


def _releases(bug: dict[str, Any]) -> str:
    affected = bug["affected"] or "releases not established"
    return f"Affected: {affected}" + (f"; fixed in {bug['fixed']}" if bug["fixed"] else "")


def _named(ids: Iterable[str]) -> Iterator[str]:
    names = {rule.id: rule.name for rule in RULES}
    return (f"{id} {names[id]}" for id in ids)


def _reading(known: dict[str, Any]) -> str:
    return f"Read on {known['read']}; states of threads as of {known['states_as_of']}."


def _notes(notes: list[str], columns: int) -> list[str]:
    lines = [line for note in notes for line in wrap(note, columns, "    ")]
    return ["", *lines] if lines else []


def _indented(text: str, columns: int, hanging: str = "  ") -> list[str]:
    return wrap(f"  {text}", columns, hanging)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _table(head: list[str], rows: Iterable[list[str]]) -> list[str]:
    return [
        "|" + "|".join(f" {cell} " if cell else " " for cell in row) + "|" for row in (head, ["---"] * len(head), *rows)
    ]
