"""Each run by itself: what was found, the config that it gets with the origin of each value, and the verdicts."""

from __future__ import annotations

from grpo_lint.reporters.characters import count
from grpo_lint.reporters.html.elements import element, row, table, text
from grpo_lint.reporters.html.masking import SHOWN, says_so
from grpo_lint.show import origin_text, spelt, value_text
from grpo_lint.unified import FIELDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.reporters.html.contents import Contents, Row
    from grpo_lint.unified import Origin, Setting

MAX_OPTIONS = 200
"""Options of one run that are shown."""
MAX_SIZE = 12_000_000
"""Characters of all runs' parts; what comes after is told by name alone."""


def runs(contents: Contents) -> Iterator[str]:
    """A fold for each run that the page has room for."""
    rows = [one for one in contents.rows if one.outcome is not None]
    if not rows:
        return
    yield '<section aria-labelledby="runs">'
    yield element("h2", "Runs", id="runs")
    room = MAX_SIZE
    cut = 0
    for one in rows:
        part = _run(contents, one) if room > 0 else ""
        room -= len(part)
        if room <= 0:
            cut += 1
            part = element("p", f"No room: `grpo-lint show {text(one.path)}` tells its settings.")
        yield _fold(contents, one, part)
    if cut:
        yield element("p", f"{count(cut, 'run')} without settings: the page has no room for more.", class_="more")
    yield "</section>"


def _fold(contents: Contents, one: Row, part: str) -> str:
    badges = "".join(
        element("span", f"{number} {severity}{'s' if number > 1 else ''}", class_=f"badge {severity}")
        for severity in ("error", "warning", "note")
        if (number := sum(contents.findings[n - 1].severity == severity for n in one.findings))
    )
    title = element("summary", element("b", text(one.label)), f" {text(one.framework)} ", badges)
    return element(
        "details",
        title,
        part,
        id=f"r{one.number}",
        class_="run",
        data_run=one.number,
        data_framework=one.framework,
        data_findings=" ".join(map(str, one.findings)),
        data_label=one.label,
    )


def _run(contents: Contents, one: Row) -> str:
    assert one.outcome is not None
    run = one.outcome.run
    parts: list[str] = []
    if run.versions:
        listed = (f"{name} {known.text} ({known.source})" for name, known in sorted(run.versions.items()))
        parts.append(element("p", element("b", "Releases"), " ", text(", ".join(listed))))
    if one.findings:
        links = (element("a", text(f"{contents.findings[n - 1].rule} #{n}"), href=f"#f{n}") for n in one.findings)
        parts.append(element("p", element("b", "Findings"), " ", ", ".join(links)))
    config = [(name, getattr(run, name)) for name in FIELDS if not getattr(run, name).unset]
    parts.append(_settings(config, one, f"Unified config of {one.label}"))
    options = [
        (key if framework == run.framework else f"{framework} {key}", setting)
        for framework, key, setting in run.options.written()
        if setting.explicit
    ]
    parts.append(_settings(options[:MAX_OPTIONS], one, f"Options that are written down for {one.label}"))
    more = f"{len(options) - MAX_OPTIONS:,} more of them, and the" if len(options) > MAX_OPTIONS else "The"
    told = element("code", text(f"grpo-lint show {one.path}"))
    parts.append(element("p", f"{more} options that only a default sets: ", told, class_="more"))
    parts.append(_verdicts(one))
    return "".join(part for part in parts if part)


def _settings(settings: list[tuple[str, Setting]], one: Row, title: str) -> str:
    if not settings:
        return ""
    rows = [_setting(name, setting, one.path) for name, setting in settings]
    return table(("setting", "value", "where it comes from"), rows, title)


def _setting(name: str, setting: Setting, home: str) -> str:
    """A setting with what it overrides; one whose name says that it holds a secret is told without its value."""
    secret = says_so(name) or says_so(setting.key)
    value = SHOWN if secret and setting.value is not None else value_text(setting)
    origin = text(origin_text(setting, home))
    for weaker in reversed(setting.chain[:-1]):
        if weaker.span is not None or weaker.note:
            old = element("del", text(SHOWN if secret else spelt(weaker.data)))
            origin += f"<br>overrides {old}, {text(_place(weaker, home))}"
    shown = element("b", text(value)) if setting.explicit else text(value)
    return row(element("code", text(name)), shown, origin)


def _place(origin: Origin, home: str) -> str:
    if origin.span is None:
        return origin.note
    line = origin.span.line
    return f"line {line}" if origin.span.file.path == home else f"{origin.span.file.path}:{line}"


def _verdicts(one: Row) -> str:
    """What the avoidance rules say, and which others could not judge the run."""
    rows = [
        row(
            element("a", text(ruling.rule.id), href=f"#rule-{ruling.rule.id}"),
            text(ruling.rule.name),
            text(ruling.verdict.word),
            text(ruling.reason),
        )
        for ruling in one.rulings
    ]
    avoidance = {ruling.rule.id for ruling in one.rulings}
    others = [
        f"{id} ({cell.reason})" for id, cell in one.cells.items() if cell.state == "undecided" and id not in avoidance
    ]
    parts: list[str] = []
    if rows:
        whole = table(("rule", "name", "verdict", "why"), rows, f"Verdicts of the avoidance rules on {one.label}")
        parts.append(element("details", element("summary", "Verdicts of the avoidance rules"), whole))
    if others:
        parts.append(element("p", element("b", "Undecided besides"), " ", text(", ".join(others))))
    return "".join(parts)
