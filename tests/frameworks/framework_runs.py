"""Runs of any framework for tests: files are written, and read as the linter reads a repository."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from grpo_lint.discover import Repository, kind_of
from grpo_lint.run import Assembler, Reading
from grpo_lint.runconfig import RunConfig, Version
from grpo_lint.source import SourceFile
from grpo_lint.unified import Setting


def reading(folder: Path, name: str, files: dict[str, str], **targets: str) -> Reading:
    """What the file `name` yields, in a repository of these files."""
    (folder / ".git").mkdir(exist_ok=True, parents=True)
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
    path = str(folder / name)
    kind = kind_of(path)
    assert kind is not None
    source = SourceFile(path, (folder / name).read_text(encoding="utf-8"))
    told = {framework: Version(release, "--target") for framework, release in targets.items()}
    return Assembler(Repository(str(folder)), told).read(source, path, kind)


def runs(folder: Path, name: str, text: str, **targets: str) -> list[RunConfig]:
    return reading(folder, name, {name: text}, **targets).runs


def run_of(folder: Path, name: str, files: dict[str, str] | str, **targets: str) -> RunConfig:
    """The one run that a file yields."""
    given = {name: files} if isinstance(files, str) else files
    (run,) = reading(folder, name, given, **targets).runs
    return run


def fields(run: RunConfig, names: Any) -> dict[str, Any]:
    """The values of unified fields: "unset" or "unknown" where they have none."""
    return {name: value_of(getattr(run, name)) for name in names}


def value_of(setting: Setting) -> Any:
    return setting.value if setting.known else setting.state


def line_of(setting: Setting) -> int | None:
    return setting.span.line if setting.span is not None else None
