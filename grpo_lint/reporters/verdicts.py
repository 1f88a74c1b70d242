"""Verdicts: every rule on every run, as a table for people, as JSON, and as SARIF.

{"schema": 1, "tool": {"name": "grpo-lint", "version": "0.1.0"}, "profile": "rtx4090",
 "runs": [{
    "file": "run.sh", "line": 12, "framework": "verl", "when": ["DEVICE=npu"],
    "counts": {"pass": 32, "assumed": 9, "fail": 0, "warn": 2, "not applicable": 2, "undecided": 0},
    "verdicts": [{
       "rule": "DO01", "name": "zero2-cpu-adam", "evidence": "conditional",
       "verdict": "pass",             # pass | fail | warn | not applicable | undecided
       "assumed": false,              # a pass that nothing contradicts and nothing confirms
       "reason": "...", "help": "...", # help may be ""
       "reported_as": "",             # the rule that reports the same fault in this one's stead
       "key": "zero_stage", "place": null | {"path": "run.sh", "line": 12, "column": 5, ...}}]}]}
"""

from __future__ import annotations

from grpo_lint import __version__
from grpo_lint.reporters.characters import count, emit, shown_path, visible, well_formed, wrap
from grpo_lint.unified import Setting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TextIO

    from grpo_lint.reporters import Style
    from grpo_lint.rules.rule import Rule
    from grpo_lint.runconfig import RunConfig
    from grpo_lint.source import Span
    from grpo_lint.verdicts import Ruling

FORMATS = ("text", "json", "sarif")
SCHEMA = 1

_ROLES = {"fail": "error", "warn": "warning", "undecided": "note", "pass": "help", "assumed": "help"}
_KINDS = {"pass": "pass", "assumed": "pass", "fail": "fail", "warn": "fail", "not applicable": "notApplicable"}
_LEVELS = {"fail": "error", "warn": "warning"}
_STATE_WIDTH = len("not applicable")


class Judged:
    """A run with what was said of it."""

    __slots__ = ("rulings", "run")

    def __init__(self, run: RunConfig, rulings: list[Ruling]) -> None:
        self.run = run
        self.rulings = rulings

    @property
    def fails(self) -> bool:
        return any(ruling.verdict.state == "fail" for ruling in self.rulings)


def write(format: str, judged: Sequence[Judged], profile: str, out: TextIO, style: Style) -> None:
    """Write the verdicts in one of FORMATS."""
    if format == "text":
        _write_text(judged, profile, out, style)
        return
    import json

    if format == "json":
        out.write(json.dumps(document(judged, profile), indent=1) + "\n")
    else:
        out.write(json.dumps(sarif(judged), separators=(",", ":")) + "\n")


# -- text


def _write_text(judged: Sequence[Judged], profile: str, out: TextIO, style: Style) -> None:
    from grpo_lint.reporters.text import Paint

    paint = Paint(style.color)
    lines: list[str] = []
    for one in judged:
        when = f", when {' and '.join(one.run.when)}" if one.run.when else ""
        head = f"{shown_path(one.run.anchor.file.path)}:{one.run.anchor.line}: {one.run.framework}, profile {profile}"
        lines += [paint("bold", head + visible(when))]
        name_width = max((len(ruling.rule.name) for ruling in one.rulings), default=0)
        for ruling in one.rulings:
            lines += _row(ruling, name_width, max(style.width, 60), paint)
        lines += [summary(one.rulings), ""]
    if not judged:
        lines = ["no runs found", ""]
    emit("\n".join(lines[:-1]) + "\n", out)


def _row(ruling: Ruling, name_width: int, width: int, paint: Any) -> list[str]:
    """One rule: on a line of its own, its reason beside it where the terminal has room, else below."""
    verdict = ruling.verdict
    state = f"{verdict.word:<{_STATE_WIDTH}}"
    head = f"  {ruling.rule.id:<5}  {ruling.rule.name:<{name_width}}  "
    painted = head + paint(_ROLES.get(verdict.state, "frame"), state)
    reason, start = visible(ruling.reason), len(head) + _STATE_WIDTH + 2
    if len(reason) <= width - start:
        return [f"{painted}  {reason}".rstrip()]
    indent = " " * 9
    return [painted.rstrip(), *wrap(indent + reason, width, indent)]


def summary(rulings: Sequence[Ruling]) -> str:
    """One line of numbers: "36 rules: 32 pass (9 assumed), 0 fail, 2 warn, 2 not applicable, 0 undecided"."""
    from grpo_lint.verdicts import counts

    number = dict(counts(rulings))
    assumed = f" ({number['assumed']} assumed)" if number["assumed"] else ""
    rest = ", ".join(f"{number[state]} {state}" for state in ("fail", "warn", "not applicable", "undecided"))
    return f"{count(len(rulings), 'rule')}: {number['pass']} pass{assumed}, {rest}"


# -- JSON


def document(judged: Sequence[Judged], profile: str) -> dict[str, Any]:
    """The verdicts as plain data, in the shape that this module's docstring gives."""
    return {
        "schema": SCHEMA,
        "tool": {"name": "grpo-lint", "version": __version__},
        "profile": profile,
        "runs": [_run(one) for one in judged],
    }


def _run(one: Judged) -> dict[str, Any]:
    from grpo_lint.verdicts import counts

    return {
        "file": well_formed(one.run.anchor.file.path),
        "line": one.run.anchor.line,
        "framework": one.run.framework,
        "when": [well_formed(condition) for condition in one.run.when],
        "counts": dict(counts(one.rulings)),
        "verdicts": [_verdict(ruling) for ruling in one.rulings],
    }


def _verdict(ruling: Ruling) -> dict[str, Any]:
    verdict = ruling.verdict
    span = _span(ruling)
    return {
        "rule": ruling.rule.id,
        "name": ruling.rule.name,
        "evidence": ruling.rule.evidence,
        "verdict": "pass" if verdict.state == "assumed" else verdict.state,
        "assumed": verdict.state == "assumed",
        "reason": well_formed(ruling.reason),
        "help": well_formed(verdict.help),
        "reported_as": verdict.speaker,
        "key": verdict.at.key if isinstance(verdict.at, Setting) else "",
        "place": None if span is None else _place(span),
    }


def _span(ruling: Ruling) -> Span | None:
    at = ruling.verdict.at
    return at.span if isinstance(at, Setting) else at


def _place(span: Span) -> dict[str, Any]:
    from grpo_lint.reporters.places import region

    line, column, end_line, end_column = region(span)
    places = {"line": line, "column": column, "end_line": end_line, "end_column": end_column}
    return {"path": well_formed(span.file.path), **places}


# -- SARIF


def sarif(judged: Sequence[Judged]) -> dict[str, Any]:
    """A result for each verdict: its kind is pass, fail, notApplicable or open; only failures have a level."""
    import sarif_om as om

    from grpo_lint.reporters.sarif import SCHEMA, plain, rule_descriptor

    rules: dict[str, Rule] = {ruling.rule.id: ruling.rule for one in judged for ruling in one.rulings}
    index = {id: number for number, id in enumerate(rules)}
    driver = om.ToolComponent(
        name="grpo-lint",
        version=__version__,
        semantic_version=__version__,
        rules=[rule_descriptor(rule) for rule in rules.values()],
        contents=None,
    )
    run = om.Run(
        tool=om.Tool(driver=driver),
        results=[_result(ruling, one.run, index) for one in judged for ruling in one.rulings],
        invocations=[om.Invocation(execution_successful=True)],
        automation_details=om.RunAutomationDetails(id="grpo-lint/verdicts/"),
        column_kind="unicodeCodePoints",
    )
    data: dict[str, Any] = plain(om.SarifLog(runs=[run], version="2.1.0", schema_uri=SCHEMA))
    for result, ruling in zip(data["runs"][0]["results"], (r for one in judged for r in one.rulings), strict=True):
        result["kind"] = _KINDS.get(ruling.verdict.state, "open")  # sarif-om leaves a kind of "fail" out
        result["level"] = _LEVELS.get(ruling.verdict.state, "none")
    return {"$schema": data["$schema"], "version": data["version"], **data}


def _result(ruling: Ruling, run: RunConfig, index: dict[str, int]) -> Any:
    import sarif_om as om

    from grpo_lint.reporters.places import region
    from grpo_lint.reporters.sarif import uri

    span = _span(ruling) or run.anchor
    line, column, end_line, end_column = region(span)
    place = om.PhysicalLocation(
        artifact_location=om.ArtifactLocation(uri=uri(span.file.path)),
        region=om.Region(start_line=line, start_column=column, end_line=end_line, end_column=end_column),
    )
    return om.Result(
        rule_id=ruling.rule.id,
        rule_index=index[ruling.rule.id],
        message=om.Message(text=well_formed(f"{ruling.verdict.word}: {ruling.reason}").replace("](", "\\](")),
        locations=[om.Location(physical_location=place)],
        properties={"evidence": ruling.rule.evidence, "assumed": ruling.verdict.state == "assumed"},
    )
