"""The rules: how often each spoke, and the pages of those that did."""

from __future__ import annotations

from grpo_lint.reporters.characters import count
from grpo_lint.reporters.html.contents import FOUND
from grpo_lint.reporters.html.elements import element, row, table, text
from grpo_lint.reporters.html.rulepages import page

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.reporters.html.contents import Contents
    from grpo_lint.rules.rule import Rule


def rules(contents: Contents) -> Iterator[str]:
    """A table of all rules, then a fold with the page of each that found something."""
    states: dict[str, list[str]] = {}
    for one in contents.rows:
        for id, cell in one.cells.items():
            states.setdefault(id, []).append(cell.state)
    numbers: dict[str, int] = {}
    for diagnostic in contents.report.diagnostics:
        numbers[diagnostic.rule] = numbers.get(diagnostic.rule, 0) + 1
    known = contents.report.rules
    spoke = {id for id, found in states.items() if any(state in FOUND for state in found)} | set(numbers)
    spoke |= {one.diagnostic.rule for one in contents.report.suppressed}
    yield '<section aria-labelledby="rules">'
    yield element("h2", "Rules", id="rules")
    yield from (_page(rule) for rule in known if rule.id in spoke)
    rows = [_row(rule, numbers.get(rule.id, 0), states.get(rule.id, []), rule.id in spoke) for rule in known]
    title = f"What {count(len(known), 'rule')} said"
    whole = table(("rule", "name", "severity", "findings", "runs: found", "passed", "undecided"), rows, title)
    yield element("details", element("summary", title), whole)
    yield "</section>"


def _page(rule: Rule) -> str:
    head = element("summary", element("b", text(rule.id)), f" {text(rule.name)}: ", text(rule.summary))
    about = element("p", f"{rule.severity}, evidence {rule.evidence}; topics: {text(', '.join(rule.topics) or 'none')}")
    return element("details", head, about, page(rule.page), id=f"rule-{rule.id}", class_="page")


def _row(rule: Rule, findings: int, states: list[str], spoke: bool) -> str:
    name = element("a", text(rule.id), href=f"#rule-{rule.id}") if spoke else element("span", text(rule.id))
    found = sum(state in FOUND for state in states)
    passed = sum(state in ("pass", "assumed") for state in states)
    numbers = (findings, found, passed, states.count("undecided"))
    cells = [f"{number:,}" if number else "" for number in numbers]
    return row(name, text(rule.name), rule.severity, *cells, id=None if spoke else f"rule-{rule.id}")
