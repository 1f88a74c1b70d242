"""Runs of DeepSpeed and accelerate for tests: config files as the linter reads them."""

from __future__ import annotations

import json
from typing import Any

from grpo_lint.frameworks import accelerate, deepspeed
from grpo_lint.rules.rule import Finding, Rule
from grpo_lint.run import unify
from grpo_lint.runconfig import Options, RunConfig, Version
from grpo_lint.source import SourceFile
from grpo_lint.syntax import json as json_reader
from grpo_lint.syntax import yaml


def config(text: str | dict[str, Any], **versions: str) -> RunConfig:
    """The run of a DeepSpeed JSON alone."""
    source = SourceFile("ds.json", text if isinstance(text, str) else json.dumps(text))
    root = json_reader.read(source).root
    assert root is not None
    run = RunConfig(deepspeed.NAME, Options(), root.span)
    deepspeed.read_into(root, run.options)
    return _finished(run, versions)


def accelerated(text: str, named: dict[str, Any] | None = None, **versions: str) -> RunConfig:
    """The run of an accelerate YAML, with the DeepSpeed JSON that it names."""
    root = next(iter(yaml.read(SourceFile("accelerate.yaml", text), "pyyaml"))).root
    assert root is not None
    run = RunConfig(accelerate.NAME, Options(), root.span)
    accelerate.read_into(root, run.options)
    if named is not None:
        json_root = json_reader.read(SourceFile("ds.json", json.dumps(named))).root
        assert json_root is not None
        deepspeed.read_into(json_root, run.options)
    return _finished(run, versions)


def _finished(run: RunConfig, versions: dict[str, str]) -> RunConfig:
    run.versions = {name: Version(text, "--target") for name, text in versions.items()}
    unify(run)
    return run


def findings(rule: Rule, run: RunConfig) -> list[Finding]:
    """What a rule finds in a run; nothing where a field that it needs is undecided, as in the engine."""
    assert rule.check is not None
    if any(not getattr(run, name).decided for name in rule.needs):
        return []
    return list(rule.check(run))


def said(rule: Rule, run: RunConfig) -> list[tuple[str, str]]:
    """(severity, message) of each finding."""
    return [(finding.severity or rule.severity, finding.message) for finding in findings(rule, run)]
