"""A page for a person who reviews a sweep: runs by rules, each finding in its source, what each run gets and why.

One file that loads nothing: its style and script are inside, and a policy lets it run nothing else. All can be read
without the script, which filters and moves between findings. What is shown is bounded, and what is left out is told.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256

from grpo_lint import __version__
from grpo_lint.modules import packaged
from grpo_lint.reporters.characters import emit
from grpo_lint.reporters.html.contents import MAX_NOTICES, Contents
from grpo_lint.reporters.html.elements import element, row, table, text
from grpo_lint.reporters.html.findings import findings, suppressed
from grpo_lint.reporters.html.grid import grid, side_by_side
from grpo_lint.reporters.html.rules import rules
from grpo_lint.reporters.html.runs import runs
from grpo_lint.reporters.text import summary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

    from grpo_lint.report import Report
    from grpo_lint.reporters import Style


def write(report: Report, out: TextIO, style: Style) -> None:
    """The page, in ASCII, so that it is right in whatever encoding the stream has."""
    contents = Contents(report)
    css, script = (_part(name) for name in ("report.css", "report.js"))
    lines = ["<!doctype html>", '<html lang="en">', *_head(report, css, script), "<body>"]
    lines += ['<a class="skip" href="#findings">Skip to the findings</a>', *_top(contents)]
    lines += ["<main>", *grid(contents), *findings(contents), *side_by_side(contents), *runs(contents)]
    lines += [*suppressed(contents), *_notices(report), *rules(contents), "</main>"]
    lines += [f"<script>{script}</script>", "</body>", "</html>"]
    emit("\n".join(lines) + "\n", out)


def _part(name: str) -> str:
    with open(packaged("reporters", "html", name), encoding="ascii") as stream:
        return "\n" + stream.read()


def _head(report: Report, css: str, script: str) -> Iterator[str]:
    policy = (
        f"default-src 'none'; style-src {_hash(css)}; script-src {_hash(script)}; base-uri 'none'; form-action 'none'"
    )
    yield "<head>"
    yield '<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="color-scheme" content="light dark">'
    yield '<meta name="referrer" content="no-referrer">'
    yield element("title", "grpo-lint: ", text(summary(report)))
    yield f"<style>{css}</style>"
    yield "</head>"


def _hash(code: str) -> str:
    return f"'sha256-{b64encode(sha256(code.encode('ascii')).digest()).decode('ascii')}'"


def _top(contents: Contents) -> Iterator[str]:
    report = contents.report
    yield "<header>"
    yield element("h1", "grpo-lint ", element("small", text(__version__)))
    counts = [
        element("li", element("b", f"{report.count(severity):,}"), f" {severity}s", class_=severity)
        for severity in ("error", "warning", "note")
    ]
    yield element("ul", *counts, class_="counts")
    yield element("p", text(summary(report)), ".")
    if report.errors:
        told = "Not everything could be read: this report is not whole. See the notices."
        yield element("p", element("strong", told), class_="alert")
    for sentence in contents.left_out():
        yield element("p", text(sentence), class_="alert")
    has_runs = bool(report.outcomes)
    parts = (
        ("grid", "Runs by rules", True),
        ("findings", "Findings", True),
        ("settings", "Settings side by side", has_runs),
        ("runs", "Runs", has_runs),
        ("suppressed", "Suppressed", bool(report.suppressed)),
        ("notices", "Notices", bool(report.notices)),
        ("rules", "Rules", True),
    )
    links = (element("a", title, href=f"#{name}") for name, title, there in parts if there)
    yield element("nav", *links, aria_label="Parts of the page")
    yield "</header>"
    yield from _filters(contents)


def _filters(contents: Contents) -> Iterator[str]:
    """What the script needs; without it, nothing of this is seen."""
    ids = sorted({diagnostic.rule for diagnostic in contents.findings})
    frameworks = sorted({row.framework for row in contents.rows if row.framework})
    yield '<form id="filters" role="search" aria-label="Filters" hidden>'
    yield '<label>Search <input type="search" id="words" autocomplete="off" spellcheck="false"></label>'
    for severity in ("error", "warning", "note"):
        yield f'<label><input type="checkbox" name="severity" value="{severity}" checked> {severity}s</label>'
    yield _select(
        "rule", "Rule", [(id, f"{id} {contents.rules[id].name}" if id in contents.rules else id) for id in ids]
    )
    yield _select("framework", "Framework", [(name, name) for name in frameworks])
    yield '<label><input type="checkbox" id="only"> only runs with findings</label>'
    yield '<button type="reset">Reset</button>'
    yield '<output id="shown"></output>'
    keys = (("/", "search"), ("n", "next finding"), ("p", "previous one"), ("arrows", "move in a grid"))
    yield element("p", *(element("span", element("kbd", key), f" {what}") for key, what in keys), class_="keys")
    yield "</form>"


def _select(id: str, title: str, options: list[tuple[str, str]]) -> str:
    listed = "".join(element("option", text(told), value=value) for value, told in options)
    return f'<label>{title} <select id="{id}"><option value="">all</option>{listed}</select></label>'


def _notices(report: Report) -> Iterator[str]:
    if not report.notices:
        return
    yield '<section aria-labelledby="notices">'
    yield element("h2", "Notices", id="notices")
    rows = [row(text(notice.path), text(notice.message)) for notice in report.notices[:MAX_NOTICES]]
    yield table(("file", "what happened"), rows, "About the linting itself")
    if len(report.notices) > MAX_NOTICES:
        yield element("p", f"and {len(report.notices) - MAX_NOTICES:,} more", class_="more")
    yield "</section>"
