"""What is fuzzed: each reader by itself, and whole lintings with their reports. A target raises what it finds wrong."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from grpo_lint import reporters
from grpo_lint.engine import Linter
from grpo_lint.located import Piece, Word
from grpo_lint.settings import Settings
from grpo_lint.source import SourceFile, Span
from grpo_lint.syntax import json, yaml
from grpo_lint.syntax.hydra import overrides
from grpo_lint.syntax.shell import run

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[2]
SUFFIXES = {"shell": (".sh", ".slurm", ".bash"), "yaml": (".yaml", ".yml"), "json": (".json", ".hjson")}


def read_shell(text: str) -> None:
    source = SourceFile("run.sh", text)
    for command in run(source).commands:
        for word in command.argv:
            for piece in word.pieces:
                _in_bounds(piece.span)


def read_yaml(text: str) -> None:
    source = SourceFile("a.yaml", text)
    for resolver in ("omegaconf", "pyyaml"):
        for document in yaml.read(source, resolver):
            for problem in document.problems:
                _in_bounds(problem.span)


def read_json(text: str) -> None:
    document = json.read(SourceFile("a.json", text))
    for problem in document.problems:
        _in_bounds(problem.span)


def read_override(text: str) -> None:
    source = SourceFile("<argv>", text)
    span = Span(source, 0, len(text))
    overrides.parse(Word((Piece(text, span),), span))


def check_shell(text: str) -> None:
    _check("run.sh", text)


def check_yaml(text: str) -> None:
    _check("config/ppo.yaml", text)


def check_json(text: str) -> None:
    _check("ds_config.json", text)


def _in_bounds(span: Span) -> None:
    if not 0 <= span.start <= span.end <= len(span.file.text):
        raise AssertionError(f"{span.start}:{span.end} lies outside of the text of {len(span.file.text)} characters")


def _check(name: str, text: str) -> None:
    """A linting of one file that isn't on the disk; what it finds is written in one of the formats."""
    data = text.encode("utf-8", "surrogatepass")
    report = Linter(Settings(), {name: data}).check([name])
    for notice in report.notices:
        if "internal error" in notice.message:
            raise AssertionError(notice.message)
    format = reporters.FORMATS[len(text) % len(reporters.FORMATS)]
    reporters.write(format, report, io.StringIO(), reporters.Style())


TARGETS: dict[str, tuple[str, Callable[[str], None]]] = {
    "shell": ("shell", read_shell),
    "yaml": ("yaml", read_yaml),
    "json": ("json", read_json),
    "override": ("override", read_override),
    "check-shell": ("shell", check_shell),
    "check-yaml": ("yaml", check_yaml),
    "check-json": ("json", check_json),
}
"""By name: the kind of text, and what reads it."""


def seeds(kind: str, folders: list[str]) -> list[str]:
    """The texts of a kind below some folders, the shortest first; of overrides, the words of launch scripts."""
    if kind == "override":
        words = {word for text in seeds("shell", folders) for word in text.split() if "=" in word and len(word) < 300}
        return sorted(words)
    found = []
    for folder in folders:
        for base, _, names in os.walk(folder):
            for name in sorted(names):
                if name.endswith(SUFFIXES[kind]):
                    path = os.path.join(base, name)
                    with open(path, encoding="utf-8", errors="replace", newline="") as file:
                        text = file.read(20_000)
                    found.append(text)
    return sorted(set(found), key=lambda text: (len(text), text))
