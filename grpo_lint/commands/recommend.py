"""Writes a config that passes `check`, for a topic and a profile: `grpo-lint recommend lora --format verl`.

What is written is judged first, as `check` or `validate` would: nothing leaves that has a finding.
"""

from __future__ import annotations

import os

from grpo_lint.arguments import UsageError
from grpo_lint.choices import known as choices
from grpo_lint.choices.decide import decide
from grpo_lint.discover import Repository
from grpo_lint.engine import Linter
from grpo_lint.judge import of_config
from grpo_lint.outputs import settings_of
from grpo_lint.recipes.choose import SHELL, Case, Inexpressible, lines, load, newest, package
from grpo_lint.recipes.write import text, told
from grpo_lint.reporters.characters import count, wrap
from grpo_lint.settings import Settings
from grpo_lint.source import SourceFile
from grpo_lint.terminal import say, use_utf8, width
from grpo_lint.versions import Evidence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from grpo_lint.arguments import Options
    from grpo_lint.recipes.choose import Line

ASSUMED = {"gpus": 8, "nodes": 1, "gpu-memory": 80}
"""The machine that is written for where the settings name none: as large as verl's default, with usual GPUs."""


def answer(options: Options) -> int:
    """Write the config, or with --reasons what stands behind it, to standard output.

    Raises UsageError for a topic that the format can't express, and where nothing passes for the releases told.
    """
    import sys

    known, settings = load(), settings_of(options, ["."])
    format = "unified" if options.format == "table" else options.format
    case, chosen, written = passing(known, settings, format, options.topic or "")
    use_utf8()
    if options.reasons:
        sys.stdout.write("\n".join(reasons(chosen, width())) + "\n")
        return 0
    sys.stdout.write(written)
    name = package(known["formats"][format]["framework"])
    if case.releases.get(name) != releases_told(settings).get(name):
        release = case.releases[name]
        say(f"this passes for {name} {release}: pin it, or check with --target {name}={release}")
    return 0


def passing(known: dict[str, Any], settings: Settings, format: str, topic: str) -> tuple[Case, list[Line], str]:
    """What is written for, its settings and its text: for the releases that are told, else for the newest read."""
    case = case_of(settings, format, topic)
    framework = known["formats"][format]["framework"]
    first = ""
    for attempt in range(2):
        try:
            chosen = lines(known, case)
        except Inexpressible as error:
            raise UsageError(f"recommend: {error}") from None
        written = text(known["formats"][format], case, chosen, head(known, settings, case))
        found = fault(known, settings, case, written)
        if not found:
            return case, chosen, written
        first = first or found
        if attempt or package(framework) in case.releases or not newest(framework):
            break
        case.releases = {**case.releases, package(framework): newest(framework)}
    raise UsageError(f"recommend: nothing for {topic or 'everything'} as {format} passes here: {first}")


def case_of(settings: Settings, format: str, topic: str) -> Case:
    """The machine and the releases that the settings and the repository tell, and FSDP1 or FSDP2 by `guide`."""
    machine = {**ASSUMED, **settings.hardware}
    releases = releases_told(settings)
    facts: dict[str, Any] = {name: releases.get(name) for name in ("torch", "verl")}
    facts |= {"nodes": int(machine["nodes"]), "offload": machine["gpu-memory"] <= 40}
    return Case(
        format,
        topic,
        strict=settings.strict_forms,
        gpus=int(machine["gpus"]),
        nodes=int(machine["nodes"]),
        memory=machine["gpu-memory"],
        releases=releases,
        fsdp=decide(choices.load("fsdp"), facts)["answer"],
    )


def releases_told(settings: Settings) -> dict[str, str]:
    """{framework: release} that the settings target or the repository pins, as `check` finds them."""
    pinned = Evidence(Repository.around(os.path.realpath("."))).versions("x")
    return {**{name: version.text for name, version in pinned.items()}, **settings.targets}


def fault(known: dict[str, Any], settings: Settings, case: Case, written: str) -> str:
    """The first thing that the linter would say of a text; "" for none."""
    judging = Settings({**settings.targets, **case.releases})
    judging.profile, judging.strict_forms = settings.profile, settings.strict_forms
    judging.hardware, judging.origins = settings.hardware, settings.origins
    if case.format == "unified":
        judged = of_config(SourceFile("config.json", written), judging)
        rulings = (ruling for ruling in judged.rulings if ruling.verdict.state in ("fail", "warn"))
        return next((f"{ruling.rule.id}: {ruling.reason}" for ruling in rulings), "")
    name = f"grpo-lint-recommended-{known['formats'][case.format]['file']}"
    report = Linter(judging, {name: written.encode()}).check([name])
    if report.errors or report.runs != 1:
        return "; ".join(notice.message for notice in report.notices) or "it isn't read as a run"
    return next((f"{found.rule}: {found.message}" for found in report.diagnostics), "")


def head(known: dict[str, Any], settings: Settings, case: Case) -> list[str]:
    """What the first comment says: what it is for, how to check it, and how to run it."""
    form = known["formats"][case.format]
    name = package(form["framework"])
    release = case.release(form["framework"])
    what = known["topics"][case.topic] if case.topic else "all topics that go together"
    first = what[:1].upper() + what[1:]
    machine = f"{count(case.gpus, 'GPU')} of {case.memory:g} GiB on {count(case.nodes, 'node')}"
    profile = "" if settings.profile == "default" else f" --profile {settings.profile}"
    target = f" --target {name}={release}" if name in case.releases else ""
    result = [
        f"{first}, for {name} {release}: {machine}.",
        f"Check it with `grpo-lint check{profile}{target} {form['file']}`.",
    ]
    if form.get("run"):
        result.append(f"Run it with `{form['run'].format(ranks=case.ranks)}`.")
    return result


def reasons(chosen: Sequence[Line], columns: int) -> list[str]:
    """Each setting with its reason and source, for people."""
    result: list[str] = []
    for at, line in enumerate(chosen):
        value = "" if line.value is None or line.key.startswith(SHELL) else f" = {line.value}"
        result.append(f"{line.key.removeprefix('$ ')}{value}")
        if at + 1 == len(chosen) or told(chosen[at + 1]) != told(line):
            result += wrap(f"    {told(line)}", columns, "    ")
            result += wrap(f"    source: {line.source}", columns, "    ")
    return [*result, "", f"Read on {load()['read']}."]
