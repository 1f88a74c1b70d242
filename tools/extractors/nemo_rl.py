"""NeMo-RL: the keys that its own example configs set, since its TypedDicts hold no defaults."""

from __future__ import annotations

from pathlib import Path

from extractors.declared import Option
from extractors.verl import kind
from grpo_lint.source import SourceFile
from grpo_lint.syntax.hydra.config import read_document

MAIN = "grpo_math_1B.yaml"
"""Its values are the defaults that are given; it is the parent of nearly all recipes."""


def options(root: Path) -> list[Option]:
    found: dict[str, Option] = {}
    for path in sorted((root / "examples" / "configs").glob("grpo_*.yaml")):
        tree = read_document(SourceFile(path.name, path.read_text(encoding="utf-8")))
        for name, leaf in tree.leaves() if tree is not None else ():
            if name.split(".")[0] == "defaults":
                continue
            value = leaf.plain()
            option = found.setdefault(name, {"name": name, "type": kind(value), "default": value, "seen_in": []})
            option["seen_in"].append(path.name)
            if path.name == MAIN:
                option["default"] = value
    return list(found.values())
