"""Runs of verl for tests: a command line as a shell would pass it, read as the linter reads it."""

from __future__ import annotations

import shlex

from grpo_lint.discover import Repository
from grpo_lint.frameworks import verl, verl_source
from grpo_lint.launch import find
from grpo_lint.located import DYNAMIC, Piece, Word
from grpo_lint.rules.rule import Finding, Rule
from grpo_lint.run import unify
from grpo_lint.runconfig import Options, RunConfig, Version
from grpo_lint.source import SourceFile
from grpo_lint.syntax import yaml
from grpo_lint.unified import Setting

MAIN = "python3 -m verl.trainer.main_ppo "
FULLY_ASYNC = "python3 -m verl.experimental.fully_async_policy.fully_async_main "
ONE_STEP_OFF = "python3 -m verl.experimental.one_step_off_policy.main_ppo "


def words(command: str, dynamic: str = "") -> list[Word]:
    """The words of a command that needs no expansion, each at its place; `dynamic` is a text that nobody knows."""
    source, at, found = SourceFile("run.sh", command), 0, []
    for text in shlex.split(command):
        start = command.index(text, at)
        at = start + len(text)
        span = source.span(start, at)
        if dynamic and text.endswith(dynamic):
            cut = start + len(text) - len(dynamic)
            head = Piece(text[: -len(dynamic)], source.span(start, cut))
            found.append(Word((head, Piece(DYNAMIC, source.span(cut, at), (), dynamic)), span))
        else:
            found.append(Word((Piece(text, span),), span))
    return found


def launched(command: str, dynamic: str = "", **versions: str) -> RunConfig:
    """The run of a command line that starts verl."""
    launch = find(words(command, dynamic), {})
    assert launch is not None
    assert verl_source.recognises(launch)
    run = RunConfig(verl.NAME, Options(), launch.word.span)
    run.versions = {name: Version(text, "--target") for name, text in versions.items()}
    run.command = launch.argv
    verl_source.read(launch, "run.sh", run, Repository.around("."))  # what Hydra refuses is judged elsewhere
    unify(run)
    return run


def document(text: str, **versions: str) -> RunConfig:
    """The run of a YAML file alone."""
    root = next(iter(yaml.read(SourceFile("config.yaml", text), "omegaconf"))).root
    assert root is not None
    run = RunConfig(verl.NAME, Options(), root.span)
    run.versions = {name: Version(text, "--target") for name, text in versions.items()}
    verl_source.read_document(root, "config.yaml", run, Repository.around("."))
    unify(run)
    return run


def findings(rule: Rule, run: RunConfig) -> list[Finding]:
    """What a rule finds in a run; nothing where a field that it needs is undecided, as in the engine."""
    assert rule.check is not None
    if any(not getattr(run, name).decided for name in rule.needs):
        return []
    return list(rule.check(run))


def severities(rule: Rule, run: RunConfig) -> list[str]:
    return [finding.severity or rule.severity for finding in findings(rule, run)]


def marked(finding: Finding) -> str:
    """The text of the place that a finding marks; empty for a default."""
    span = finding.at.span if isinstance(finding.at, Setting) else finding.at
    return span.text if span is not None else ""
