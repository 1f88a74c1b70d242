"""The findings, each in its source, and those that don't count."""

from __future__ import annotations

from grpo_lint.reporters.characters import count
from grpo_lint.reporters.html.contents import MAX_SUPPRESSED
from grpo_lint.reporters.html.elements import element, row, table, text
from grpo_lint.reporters.html.excerpts import edits, excerpts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.diagnostics import Diagnostic
    from grpo_lint.reporters.html.contents import Contents, Row

MAX_LINKS = 12
"""Runs that a finding links to."""


def findings(contents: Contents) -> Iterator[str]:
    """All that the page has room for, worst first."""
    yield '<section aria-labelledby="findings">'
    yield element("h2", "Findings", id="findings", tabindex=-1)
    if not contents.findings:
        yield element("p", "None.")
    for number, diagnostic in enumerate(contents.findings, 1):
        yield _finding(contents, number, diagnostic)
    yield element("p", "No finding is as the filters ask.", id="none", hidden="")
    yield "</section>"


def _finding(contents: Contents, number: int, diagnostic: Diagnostic) -> str:
    rule = contents.rules.get(diagnostic.rule)
    in_runs = contents.runs_of.get(number, [])
    title = element(
        "h3",
        element("span", diagnostic.severity, class_="badge"),
        " ",
        element("a", text(diagnostic.rule), href=f"#rule-{diagnostic.rule}", title="the rule's page"),
        " ",
        element("span", text(rule.name if rule is not None else ""), class_="name"),
        element("a", f"#{number}", href=f"#f{number}", class_="self", aria_label=f"Link to finding {number}"),
    )
    parts = [title, element("p", text(diagnostic.message), class_="message"), *excerpts(diagnostic)]
    if diagnostic.when:
        parts.append(element("p", element("b", "When"), " ", text(" and ".join(diagnostic.when))))
    if diagnostic.help:
        lines = "<br>".join(text(line) for line in diagnostic.help.split("\n"))
        parts.append(element("p", element("b", "Help"), " ", lines, class_="help"))
    parts += [edits(diagnostic), _links(in_runs)]
    frameworks = " ".join(sorted({one.framework for one in in_runs if one.framework}))
    return element(
        "article",
        *parts,
        id=f"f{number}",
        class_=f"finding {diagnostic.severity}",
        tabindex=-1,
        data_rule=diagnostic.rule,
        data_severity=diagnostic.severity,
        data_frameworks=frameworks,
    )


def _links(rows: list[Row]) -> str:
    """Links to the runs that have a finding; a file without runs has nothing to link to."""
    runs = [one for one in rows if one.outcome is not None]
    if not runs:
        return ""
    links = ", ".join(element("a", text(one.label), href=f"#r{one.number}") for one in runs[:MAX_LINKS])
    more = f" and {count(len(runs) - MAX_LINKS, 'more run')}" if len(runs) > MAX_LINKS else ""
    return element("p", element("b", "In"), " ", links, more, class_="in")


def suppressed(contents: Contents) -> Iterator[str]:
    """Findings that comments, settings or a baseline keep from counting; nothing where there are none."""
    listed = contents.report.suppressed
    if not listed:
        return
    yield '<section aria-labelledby="suppressed">'
    yield element("h2", "Suppressed", id="suppressed")
    rows: list[str] = []
    for one in listed[:MAX_SUPPRESSED]:
        span = one.diagnostic.primary.span
        where = text(f"{span.file.path}:{span.line}")
        why = text(f"{one.kind}: {one.reason}" if one.reason else one.kind)
        rule = element("a", text(one.diagnostic.rule), href=f"#rule-{one.diagnostic.rule}")
        rows.append(row(where, rule, one.diagnostic.severity, text(one.diagnostic.message), why))
    yield table(("place", "rule", "severity", "finding", "why it does not count"), rows, "Findings that do not count")
    if len(listed) > MAX_SUPPRESSED:
        yield element("p", f"and {len(listed) - MAX_SUPPRESSED:,} more", class_="more")
    yield "</section>"
