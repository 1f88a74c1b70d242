"""Answers a choice from facts that are told or that runs show: `grpo-lint guide fsdp train.sh --torch 2.6 --nodes 2`.

As JSON, an answer for all runs that get the same one, or one from what is told alone:

{"schema": 1, "topic": "fsdp", "read": "2026-11-30", "facts": {"torch": "2.6", "nodes": 2, "offload": null},
 "answers": [{"answer": "fsdp2", "set": "...", "because": [...], "mind": [...], "would_change": [...],
              "runs": [{"file": "train.sh", "line": 3, "framework": "verl", "when": [], "now": "fsdp1",
                        "facts": {"torch": {"value": "2.6", "from": "told"}, ...}}]}]}
"""

from __future__ import annotations

import sys

from grpo_lint.arguments import UsageError
from grpo_lint.choices.decide import condition_text, decide
from grpo_lint.choices.facts import FACTS, concerned, has, of_run
from grpo_lint.choices.known import load
from grpo_lint.outputs import settings_of
from grpo_lint.reporters.characters import emit, visible, wrap
from grpo_lint.terminal import discreet, say, use_utf8, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from grpo_lint.arguments import Options
    from grpo_lint.choices.facts import Told
    from grpo_lint.runconfig import RunConfig
    from grpo_lint.settings import Settings

FORMATS = ("text", "json")
SCHEMA = 1


class Case:
    """A run with the facts that hold for it, and which of the two ways it takes by now and where that is set."""

    __slots__ = ("facts", "now", "run")

    def __init__(self, run: RunConfig, facts: dict[str, Told], now: tuple[str, str]) -> None:
        self.run = run
        self.facts = facts
        self.now = now


class Answer:
    """What was found, and for which runs; for none, from what is told alone."""

    __slots__ = ("cases", "found")

    def __init__(self, found: dict[str, Any]) -> None:
        self.found = found
        self.cases: list[Case] = []


def answer(options: Options) -> int:
    """Write what `grpo-lint guide` was asked for to standard output, and give the exit code."""
    known = load(options.topic)
    settings = settings_of(options, options.paths or ["."])
    told = _told(options, known, settings)
    answers, whole = _of_runs(known, told, options, settings) if options.paths else ([], True)
    if options.paths and not answers:
        say(f"{', '.join(options.paths)}: no run that this is about, so the answer is from what is told")
    answers = answers or [Answer(_found(known, told))]
    use_utf8()
    if options.format == "json":
        import json

        lines = [json.dumps(_document(options.topic, known, told, answers), indent=1, ensure_ascii=False)]
    else:
        lines = [line for answer in answers for line in [*text(known, answer, width()), ""]]
        lines.append(f"Read on {known['read']}.")
    emit("\n".join(lines) + "\n", discreet(sys.stdout))
    return 0 if whole else 2


def _found(known: dict[str, Any], facts: dict[str, Told]) -> dict[str, Any]:
    return decide(known, {name: facts[name][0] if name in facts else None for name in known["facts"]})


def _told(options: Options, known: dict[str, Any], settings: Settings) -> dict[str, Told]:
    """The facts that the command line tells, and the releases that are targeted.

    Raises UsageError for a fact that has nothing to do with the topic.
    """
    told: dict[str, Told] = {
        name: (settings.targets[name], settings.origins.get(f"targets.{name}", "the settings"))
        for name in known["facts"]
        if name in settings.targets
    }
    for name in FACTS:
        value = getattr(options, name)
        if value is not None and name not in known["facts"]:
            takes = ", ".join(f"--{fact}" for fact in known["facts"])
            raise UsageError(f"guide {options.topic}: --{name} has nothing to do with it; it takes {takes}")
        if value is not None:
            told[name] = value, "told"
    return told


def _of_runs(
    known: dict[str, Any], told: dict[str, Told], options: Options, settings: Settings
) -> tuple[list[Answer], bool]:
    """Each answer with the runs that get it, and whether all files could be read. What is told rules what runs say."""
    from grpo_lint.engine import Linter, MissingPath

    linter = Linter(settings)
    answers: list[Answer] = []
    try:
        runs = [run for file in linter.read(options.paths) for run in linter.variants(file) if concerned(run, known)]
    except MissingPath as error:
        raise UsageError(f"{error}: there is no such file or directory") from None
    for notice in linter.notices:
        say(f"{notice.path}: {notice.message}")
    for run in runs:
        case = Case(run, {**of_run(run, known["facts"]), **told}, has(run, known))
        found = _found(known, case.facts)
        same = next((answer for answer in answers if answer.found == found), None)
        if same is None:
            same = Answer(found)
            answers.append(same)
        same.cases.append(case)
    return answers, not linter.errors


# -- text


def text(known: dict[str, Any], answer: Answer, columns: int) -> list[str]:
    """An answer for a terminal; before it, for runs, which they are and what they say."""
    found = answer.found
    lines = [line for case in answer.cases for line in _case(known, case, columns)]
    lines += [""] if lines else []
    lines += [known["titles"][found["answer"]], "", "because"]
    lines += _list((f"{reason['text']} ({reason['source']})" for reason in found["because"]), columns)
    if found["mind"]:
        lines += ["", "mind", *_list((f"{c['text']} ({c['source']})" for c in found["mind"]), columns)]
    if found["would_change"]:
        others = (
            f"{condition_text(reason['when'])}: {known['titles'][reason['answer']]}, since {reason['text']}"
            f" ({reason['source']})"
            for reason in found["would_change"]
        )
        lines += ["", "what isn't told and would change it", *_list(others, columns)]
    return [*lines, "", "set", *wrap(f"  {found['set']}", columns, "  ")] if found["set"] else lines


def _case(known: dict[str, Any], case: Case, columns: int) -> list[str]:
    """A run, what it has by now, and its facts, each with its place."""
    facts = [(name, _shown(value), where) for name, (value, where) in case.facts.items()]
    if case.now[0]:
        facts.insert(0, ("now", known["titles"][case.now[0]], case.now[1]))
    path = f"{case.run.anchor.file.path}:"
    said = (f"{name} {value} ({_near(where, path)})" for name, value, where in facts)
    return wrap(visible(f"{_name(case.run)}: {'; '.join(said)}".removesuffix(": ")), columns, "  ")


def _near(where: str, path: str) -> str:
    """A place, of which one in the run's own file is told by its line alone."""
    return f"line {where.removeprefix(path)}" if where.startswith(path) else where


def _name(run: RunConfig) -> str:
    when = f", when {' and '.join(run.when)}" if run.when else ""
    return f"{run.anchor.file.path}:{run.anchor.line}: {run.framework}{when}"


def _shown(value: object) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _list(texts: Iterable[str], columns: int) -> list[str]:
    return [line for text in texts for line in wrap(f"  - {text}", columns, "    ")]


# -- JSON


def _document(topic: str, known: dict[str, Any], told: dict[str, Told], answers: list[Answer]) -> dict[str, Any]:
    facts = {name: told[name][0] if name in told else None for name in known["facts"]}
    data = [{**answer.found, "runs": [_data(known, case) for case in answer.cases]} for answer in answers]
    return {"schema": SCHEMA, "topic": topic, "read": known["read"], "facts": facts, "answers": data}


def _data(known: dict[str, Any], case: Case) -> dict[str, Any]:
    facts = {name: case.facts.get(name, (None, "")) for name in known["facts"]}
    return {
        "file": case.run.anchor.file.path,
        "line": case.run.anchor.line,
        "framework": case.run.framework,
        "when": case.run.when,
        "now": case.now[0] or None,
        "facts": {name: {"value": value, "from": where} for name, (value, where) in facts.items()},
    }
