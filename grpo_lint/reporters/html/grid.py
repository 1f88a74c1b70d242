"""Grids over all runs: what each rule says of each, and which settings they differ in."""

from __future__ import annotations

from grpo_lint.reporters.characters import count
from grpo_lint.reporters.html.contents import FOUND, Cell
from grpo_lint.reporters.html.elements import element, text
from grpo_lint.show import value_text
from grpo_lint.unified import FIELDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from grpo_lint.reporters.html.contents import Contents, Row
    from grpo_lint.rules.rule import Rule
    from grpo_lint.unified import Setting

MARKS = {
    "error": ("E", "an error"),
    "warning": ("W", "a warning"),
    "note": ("N", "a note"),
    "suppressed": ("s", "a finding that is suppressed"),
    "elsewhere": ("=", "the same fault, reported by another rule"),
    "aside": ("-", "a finding that this report leaves out"),
    "pass": ("\u2713", "judged, nothing found"),
    "assumed": ("~", "nothing speaks against it, and nothing confirms it"),
    "undecided": ("?", "the files do not tell"),
    "": ("", "does not apply"),
}
"""How a cell shows its state, and what that means. A letter, so that it isn't told by colour alone."""

_NOTHING = Cell("")
MAX_TITLE = 200


def grid(contents: Contents) -> Iterator[str]:
    """Rules that found something, and in a fold the others."""
    yield '<section aria-labelledby="grid">'
    yield element("h2", "Runs by rules", id="grid")
    judged = {id for row in contents.rows for id, cell in row.cells.items() if cell.state}
    found = {id for row in contents.rows for id, cell in row.cells.items() if cell.state in FOUND}
    quiet = [rule for rule in contents.report.rules if rule.id in judged - found]
    loud = [rule for rule in contents.report.rules if rule.id in found]
    if not contents.rows:
        yield element("p", "No runs found.")
    elif loud:
        yield _legend(contents.rows, loud)
        yield _table(contents.rows, loud, "What each rule that found something says of each run")
    else:
        yield element("p", "No rule found anything.")
    if quiet and contents.rows:
        fold = f"{count(len(quiet), 'rule')} that found nothing, run by run"
        whole = _table(contents.rows, quiet, "What the other rules say of each run")
        yield element("details", element("summary", fold), _legend(contents.rows, quiet), whole)
    yield "</section>"


def _legend(rows: Iterable[Row], rules: list[Rule]) -> str:
    used = {row.cells.get(rule.id, _NOTHING).state for row in rows for rule in rules}
    items = [
        element("li", element("span", text(mark), class_=f"cell {state}"), f" {meaning}")
        for state, (mark, meaning) in MARKS.items()
        if state in used
    ]
    return element("ul", *items, class_="legend")


def _table(rows: Iterable[Row], rules: list[Rule], title: str) -> str:
    heads = [
        element("th", element("a", text(rule.id), href=f"#rule-{rule.id}", title=f"{rule.id} {rule.name}"), scope="col")
        for rule in rules
    ]
    return _grid(element("th", "run", scope="col"), heads, (_row(row, rules) for row in rows), title)


def _grid(corner: str, heads: list[str], rows: Iterable[str], title: str) -> str:
    whole = element(
        "table",
        element("caption", text(title)),
        element("thead", element("tr", corner, *heads)),
        element("tbody", "\n".join(rows)),
        class_="grid",
    )
    return element("div", whole, class_="scroll tall", tabindex=0, role="region", aria_label=title)


def _row(row: Row, rules: list[Rule]) -> str:
    return _line(row, [_cell(row, rule) for rule in rules])


def _line(row: Row, cells: list[str]) -> str:
    """A row of a grid: its run, and cells that are HTML already."""
    folder, slash, name = row.path.rpartition("/")
    where = element("span", f":{row.line}", class_="number-of")
    label = element("span", text(folder + slash), class_="folder") + element("b", text(name)) + where
    label += element("span", text(f" when {row.when}"), class_="when") if row.when else ""
    target = f"#r{row.number}" if row.outcome is not None else f"#f{row.findings[0]}" if row.findings else None
    head = element("th", element("a", label, href=target), scope="row")
    return element("tr", head, *cells, data_run=row.number)


def _cell(row: Row, rule: Rule) -> str:
    cell = row.cells.get(rule.id, _NOTHING)
    mark = text(MARKS[cell.state][0])
    if cell.state not in FOUND:
        return f"<td>{mark}</td>"  # most cells by far
    told = f"{rule.id} {rule.name}: {cell.reason}"
    title = told if len(told) <= MAX_TITLE else told[: MAX_TITLE - 3] + "..."
    if not cell.findings:
        return element("td", mark, class_=cell.state, title=title)
    more = element("sup", str(len(cell.findings))) if len(cell.findings) > 1 else ""
    return element("td", element("a", mark, more, href=f"#f{cell.findings[0]}", title=title), class_=cell.state)


def side_by_side(contents: Contents) -> Iterator[str]:
    """The unified settings that aren't the same in all runs, and in a sentence those that are."""
    rows = [row for row in contents.rows if row.outcome is not None]
    if not rows:
        return
    yield '<section aria-labelledby="settings">'
    yield element("h2", "Settings side by side", id="settings")
    values = {field: [_setting(row, field) for row in rows] for field in FIELDS}
    told = {field: [value_text(s) if not s.unset else "" for s in column] for field, column in values.items()}
    differing = [field for field, column in told.items() if len(set(column)) > 1]
    same = [f"{field} {column[0]}" for field, column in told.items() if column[0] and len(set(column)) == 1]
    if same and len(rows) > 1:
        yield element("p", element("b", "The same in all runs:"), " ", text(", ".join(same)), ".")
    if differing:
        told_in = "Bold is written down; the rest are defaults and what follows from other settings. "
        yield element("p", told_in, "Each run's own part says where a value comes from.")
        heads = [
            element("th", element("span", text(field)), scope="col", title=FIELDS[field].meaning) for field in differing
        ]
        lines = (_line(row, [_value(values[field][n]) for field in differing]) for n, row in enumerate(rows))
        yield _grid(element("th", "run", scope="col"), heads, lines, "Unified settings that differ between the runs")
    yield "</section>"


def _setting(row: Row, field: str) -> Setting:
    assert row.outcome is not None
    setting: Setting = getattr(row.outcome.run, field)
    return setting


def _value(setting: Setting) -> str:
    if setting.unset:
        return "<td></td>"
    value = text(value_text(setting))
    return element("td", element("b", value) if setting.explicit else value)
