"""From a symptom or a log to what may have caused it: `grpo-lint diagnose --symptom "loss nan step 3" train.sh`.

As JSON:

{"schema": 1, "read": "2026-11-30",
 "symptoms": [{"text": "loss nan step 3", "faults": ["nan"], "about": ["loss", "first steps"]}],
 "logs": [{"name": "train.log", "lines": 812, "bytes": 52133, "given_up": [],
           "found": [{"text": "'loss': nan", "lines": [300, 301, 302], "count": 40, "cause": null,
                      "faults": ["nan"], "about": ["loss"]}]}],
 "runs": [{"file": "train.sh", "line": 12, "framework": "verl", "when": []}],
 "causes": [{"id": "overlap-with-compile", "what": "...", "verdict": "confirmed",  # possible | excluded | not judged
             "because": "...", "rule": "NOT15", "place": null | {"path": "run.sh", "line": 12, "column": 5},
             "matches": ["nan", "loss"], "lines": [{"log": "train.log", "line": 300, "text": "..."}],
             "score": 12.5, "do": "...", "source": "...", "bugs": ["deepspeedai/DeepSpeed#8061"]}]}
"""

from __future__ import annotations

import sys

from grpo_lint.arguments import UsageError
from grpo_lint.diagnosis.logs import MAX_BYTES, read
from grpo_lint.diagnosis.symptoms import Matcher, load
from grpo_lint.outputs import settings_of
from grpo_lint.source import Unreadable
from grpo_lint.terminal import discreet, say, use_utf8, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from grpo_lint.arguments import Options
    from grpo_lint.diagnosis.log import Hit, Log
    from grpo_lint.diagnosis.symptoms import Match, Symptom
    from grpo_lint.diagnosis.triggers import Judged, Trigger
    from grpo_lint.settings import Settings

FORMATS = ("text", "markdown", "json")
SCHEMA = 1
VERDICTS = ("confirmed", "possible", "not judged", "excluded")
"""What the paths' configs say to a cause, in the order that causes are told in; not judged where no path is given."""


class Diagnosis:
    """What was told, what the logs show, and the causes that fit, with what the configs say to each."""

    def __init__(self, symptoms: list[Symptom], logs: list[Log], matcher: Matcher) -> None:
        self.symptoms = symptoms
        self.logs = logs
        self.matcher = matcher
        self.judged: Judged | None = None
        shown = [symptom for log in logs for symptom in matcher.symptoms(log)]
        self.matches = matcher.matches([*symptoms, *shown], logs)

    def trigger(self, match: Match) -> Trigger | None:
        return self.judged.triggers.get(match.cause["id"]) if self.judged is not None else None

    def verdict(self, match: Match) -> str:
        """One of VERDICTS. A log's line that names a cause proves it, whatever the config says by now."""
        trigger = self.trigger(match)
        if trigger is None:
            return "not judged"
        return "possible" if trigger.state == "excluded" and match.lines else trigger.state

    def because(self, match: Match) -> str:
        """Why the verdict is what it is."""
        trigger = self.trigger(match)
        if trigger is None:
            return ""
        if trigger.state == "excluded" and match.lines:
            return f"the log names it, though the config as it is now speaks against it: {trigger.reason}"
        return trigger.reason


def answer(options: Options) -> int:
    """Write what may have caused what was told to standard output, and give the exit code."""
    diagnosis = _diagnosis(options)
    known = load()
    settings = settings_of(options, options.paths or ["."])
    if options.paths:
        _judge(diagnosis, known, options.paths, settings)
    diagnosis.matches.sort(key=lambda match: (VERDICTS.index(diagnosis.verdict(match)), *match.rank))
    use_utf8()
    if options.format == "json":
        import json

        lines = [json.dumps(document(diagnosis, known["read"]), indent=1, ensure_ascii=False)]
    elif options.format == "markdown":
        lines = markdown(diagnosis, known["read"])
    else:
        lines = text(diagnosis, known["read"], width())
    from grpo_lint.reporters.characters import emit

    emit("\n".join(lines) + "\n", discreet(sys.stdout))
    return 2 if diagnosis.judged is not None and diagnosis.judged.errors else 0


def _diagnosis(options: Options) -> Diagnosis:
    """The symptoms and logs of the command line, read."""
    matcher = Matcher(load())
    told = options.symptom or []
    if not told and not options.log:
        raise UsageError('diagnose: tell what goes wrong (--symptom "loss nan step 3") or give a log (--log train.log)')
    if not all(text.strip() for text in told):
        raise UsageError("--symptom: it is empty; write what goes wrong, such as 'loss nan step 3'")
    if (options.log or []).count("-") > 1:
        raise UsageError("--log -: standard input can be read once")
    logs: list[Log] = []
    for path in options.log or ():
        try:
            logs.append(read(path, matcher.read_log))
        except Unreadable as error:
            raise UsageError(f"--log {path}: {error}") from None
    logs += [log for log in (matcher.read_text(text) for text in told) if log.hits]
    return Diagnosis([matcher.vocabulary.read(text) for text in told], logs, matcher)


def _judge(diagnosis: Diagnosis, known: dict[str, Any], paths: Sequence[str], settings: Settings) -> None:
    """Ask the runs of the paths about the causes that fit."""
    from grpo_lint.diagnosis.triggers import judge
    from grpo_lint.engine import MissingPath

    causes = [match.cause for match in diagnosis.matches]
    try:
        diagnosis.judged = judge(known, causes, paths, settings)
    except MissingPath as error:
        raise UsageError(f"{error}: there is no such file or directory") from None
    for notice in diagnosis.judged.notices:
        say(f"{notice.path}: {notice.message}")


# -- text


HEADS = {
    "confirmed": "confirmed: the config shows the trigger",
    "possible": "possible",
    "not judged": "possible (no config was looked at)",
    "excluded": "excluded by the config",
}


SHOWN = 10
"""Causes that are told of each verdict, where the config doesn't confirm them."""
MANY = 999
"""Further lines after which no more are counted (log.ENOUGH)."""


def text(diagnosis: Diagnosis, day: str, columns: int) -> list[str]:
    """The diagnosis for a terminal."""
    from grpo_lint.reporters.characters import visible, wrap

    lines = [line for fact in _facts(diagnosis) for line in wrap(visible(fact), columns, "    ")]
    number = 0
    for head, matches, more in _sections(diagnosis):
        lines += ["", head]
        for match in matches:
            number += 1
            lines += ["", *wrap(f"{number}. {match.cause['id']}: {match.cause['what']}", columns, "   ")]
            for head, said in _told(diagnosis, match):
                start = f"   {head:<7}  "
                first, *rest = wrap(visible(said), columns, " " * len(start), len(start))
                lines += [start + first, *rest]
        lines += ["", *wrap(more, columns)] if more else []
    if not diagnosis.matches:
        lines += ["", *wrap(_nothing(diagnosis), columns)]
    return [*lines, "", f"Read on {day}."]


def _sections(diagnosis: Diagnosis) -> Iterator[tuple[str, list[Match], str]]:
    """(head, causes, what is left out) for each verdict that there is. What is confirmed is told whole."""
    for verdict in VERDICTS:
        matches = [match for match in diagnosis.matches if diagnosis.verdict(match) == verdict]
        if not matches:
            continue
        shown = len(matches) if verdict == "confirmed" else SHOWN
        left = len(matches) - shown
        more = f"and {left} more, which fit less well: say more of what goes wrong, or see --format json"
        yield HEADS[verdict], matches[:shown], more if left > 0 else ""


def _facts(diagnosis: Diagnosis) -> list[str]:
    """What was understood: a line for each symptom, each log with what it shows, and the runs."""
    facts = []
    for symptom in diagnosis.symptoms:
        short = symptom.text if len(symptom.text) <= 60 else symptom.text[:57] + "..."
        facts.append(f'symptom "{short}": {_words(symptom.known) or "no word of it is known"}')
    for log in diagnosis.logs:
        facts.append(f"{log.name}: {_size(log)}{'' if log.hits else ', and no text in it is known'}")
        for hit in sorted(log.hits.values(), key=lambda hit: hit.lines[0]):
            facts.append(f"  {_places(hit)}: {hit.text}")
        if log.size >= MAX_BYTES:
            facts.append(f"  the first {MAX_BYTES:,} bytes were read")
        facts += [f"  given up, since too much only looks like it: {one.text}" for one in log.given_up]
    if diagnosis.judged is not None:
        from grpo_lint.reporters.characters import count

        runs = diagnosis.judged.runs
        if not runs:
            return [*facts, "paths: no run was found, so no config was looked at"]
        names = ", ".join(dict.fromkeys(run.framework for run in runs))
        facts.append(f"paths: {count(len(runs), 'run')}{f' ({names})' if names else ''}")
    return facts


def _told(diagnosis: Diagnosis, match: Match) -> list[tuple[str, str]]:
    """(head, text) of what is told of a cause."""
    cause, trigger = match.cause, diagnosis.trigger(match)
    named = [f"{log}, {_places(hit)}: {hit.text}" for log, hit in match.lines]
    rows = [("matches", "; ".join([*named, *([_words(match.words)] if match.words else [])]))]
    if trigger is not None:
        where = f"{trigger.place.file.path}:{trigger.place.line}: " if trigger.place is not None else ""
        rule = f" ({trigger.rule})" if trigger.rule and trigger.rule not in trigger.reason else ""
        rows.append(("config", f"{where}{diagnosis.because(match)}{rule}"))
    return rows if diagnosis.verdict(match) == "excluded" else [*rows, ("do", cause["do"]), ("source", cause["source"])]


def _nothing(diagnosis: Diagnosis) -> str:
    return (
        "no match: nothing that is known causes this. Faults that are known: "
        f"{_words(diagnosis.matcher.vocabulary.faults)}."
    )


def _words(words: Any) -> str:
    return ", ".join(words)


def _size(log: Log) -> str:
    from grpo_lint.reporters.characters import count

    return count(log.lines, "line")


def _places(hit: Hit) -> str:
    more = hit.count - 1
    return f"line {hit.lines[0]:,}" + (f" and {more:,}{'' if more < MANY else ' or more'} others" if more else "")


# -- markdown and JSON


def markdown(diagnosis: Diagnosis, day: str) -> list[str]:
    """The diagnosis as Markdown, for an issue or a summary."""
    from grpo_lint.reporters.markdown import plain

    lines = [f"- {plain(fact.strip())}" for fact in _facts(diagnosis)]
    for head, matches, more in _sections(diagnosis):
        lines += ["", f"### {head[:1].upper()}{head[1:]}", ""]
        for match in matches:
            lines.append(f"1. **{match.cause['id']}**: {plain(match.cause['what'])}")
            lines += [f"   - {row}: {plain(said)}" for row, said in _told(diagnosis, match)]
        lines += ["", plain(more)] if more else []
    if not diagnosis.matches:
        lines += ["", plain(_nothing(diagnosis))]
    return [*lines, "", f"Read on {day}."]


def document(diagnosis: Diagnosis, day: str) -> dict[str, Any]:
    """The diagnosis in the shape that the module's docstring shows."""
    runs = diagnosis.judged.runs if diagnosis.judged is not None else []
    return {
        "schema": SCHEMA,
        "read": day,
        "symptoms": [{"text": s.text, "faults": s.faults, "about": s.about} for s in diagnosis.symptoms],
        "logs": [_log(diagnosis, log) for log in diagnosis.logs],
        "runs": [
            {"file": run.anchor.file.path, "line": run.anchor.line, "framework": run.framework, "when": run.when}
            for run in runs
        ],
        "causes": [_cause(diagnosis, match) for match in diagnosis.matches],
    }


def _log(diagnosis: Diagnosis, log: Log) -> dict[str, Any]:
    found = []
    for hit in log.hits.values():
        cause = diagnosis.matcher.named(hit)
        signal = diagnosis.matcher.shown(hit)
        found.append(
            {
                "text": hit.text,
                "lines": hit.lines,
                "count": hit.count,
                "cause": cause["id"] if cause else None,
                "faults": [signal["fault"]] if signal else [],
                "about": signal["about"] if signal else [],
            }
        )
    given_up = [one.text for one in log.given_up]
    return {"name": log.name, "lines": log.lines, "bytes": log.size, "given_up": given_up, "found": found}


def _cause(diagnosis: Diagnosis, match: Match) -> dict[str, Any]:
    cause, trigger = match.cause, diagnosis.trigger(match)
    place = trigger.place if trigger is not None else None
    return {
        "id": cause["id"],
        "what": cause["what"],
        "verdict": diagnosis.verdict(match),
        "because": diagnosis.because(match),
        "rule": trigger.rule if trigger is not None else "",
        "place": {"path": place.file.path, "line": place.line, "column": place.column} if place is not None else None,
        "matches": list(match.words),
        "lines": [{"log": log, "line": hit.lines[0], "text": hit.text} for log, hit in match.lines],
        "score": round(match.score, 1),
        "do": cause["do"],
        "source": cause["source"],
        "bugs": cause.get("bugs", []),
    }
