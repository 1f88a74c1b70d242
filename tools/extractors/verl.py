"""verl: its config files, the trees they compose to for every engine, and the dataclasses that type them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from extractors.declared import Classes, Option, package
from grpo_lint.located import Piece, Word
from grpo_lint.source import SourceFile
from grpo_lint.syntax.hydra.compose import compose
from grpo_lint.syntax.hydra.config import Folder, Packaged, read_config
from grpo_lint.syntax.hydra.overrides import parse

ENGINES = ("dp", "megatron", "veomni", "torchtitan", "automodel")
TYPED = (
    "workers/config/*.py", "trainer/config/*.py", "utils/profiler/config.py", "utils/config.py", "base_config.py",
    "trainer/ppo/*.py",
)  # fmt: skip


def configs(root: Path) -> dict[str, dict[str, Any]]:
    """Every config file by its path in the package: {"body", "defaults", "package"}, without comments."""
    top = package(root, "verl")
    found = {}
    for path in sorted(top.glob("**/config/**/*.yaml")):
        name = path.relative_to(top).as_posix().removesuffix(".yaml")
        if path.name.startswith("_generated"):
            continue
        config = read_config(SourceFile(name, path.read_text(encoding="utf-8")), name)
        entry: dict[str, Any] = {}
        if config.package:
            entry["package"] = config.package
        if config.entries:
            entry["defaults"] = [item.plain() for item in config.entries]
        if config.body.data:
            entry["body"] = config.body.plain()
        found[name] = entry
    return found


def trees(root: Path) -> dict[str, dict[str, Any]]:
    """{engine: {dotted name: default}}: the choices of `model_engine`, and the asynchronous entry points."""
    top = package(root, "verl")
    folder = top / "trainer" / "config"
    found = {}
    for engine in ENGINES:
        if (folder / "model_engine" / f"{engine}.yaml").exists():
            found[engine] = _composed(top, folder, "ppo_trainer", f"model_engine={engine}")
    if not found:
        found["dp"] = _composed(top, folder, "ppo_trainer")
    if "megatron" not in found and (folder / "ppo_megatron_trainer.yaml").exists():
        found["megatron"] = _composed(top, folder, "ppo_megatron_trainer")
    for engine in ("fully_async", "one_step_off"):
        place = top / "experimental" / f"{engine}_policy" / "config"
        if (place / f"{engine}_ppo_trainer.yaml").exists():
            found[engine] = _composed(top, place, f"{engine}_ppo_trainer")
    return found


def _composed(top: Path, place: Path, name: str, *overrides: str) -> dict[str, Any]:
    def open_place(url: str) -> Folder:
        return folder(top.parent / url.partition("://")[2].replace(".", "/"))

    return compose_words(name, overrides, [folder(place)], open_place)


def compose_words(
    name: str,
    overrides: Iterable[str],
    places: list[Folder | Packaged],
    open_place: Callable[[str], Folder | Packaged | None],
) -> dict[str, Any]:
    """{dotted name: value} of a composed tree. Raises SystemExit where it doesn't compose."""
    span = SourceFile(name, name).span(0, len(name))
    words = [Word((Piece(text, SourceFile(text, text).span(0, len(text))),), span) for text in overrides]
    found = compose(name, [parse(word) for word in words], places, open_place, span)
    if found.root is None or found.problems:
        raise SystemExit(f"{name}: {found.unknown or found.problems}")
    return {path: leaf.plain() for path, leaf in found.root.leaves()}


def folder(path: Path) -> Folder:
    def load(name: str) -> SourceFile | None:
        return SourceFile(name, Path(name).read_text(encoding="utf-8")) if os.path.isfile(name) else None

    return Folder(str(path), load, lambda name: os.listdir(name) if os.path.isdir(name) else None)


def options(root: Path) -> list[Option]:
    """Every option of any engine, typed; `in_yaml` is False for a dataclass's field that no config file sets."""
    top = package(root, "verl")
    classes = Classes(path for pattern in TYPED for path in sorted(top.glob(pattern)))
    found: dict[str, Option] = {}
    composed = trees(root)
    for tree in composed.values():
        owners = dict(_targets(tree))
        for name, value in tree.items():
            if name in found or name.endswith("_target_") or not name:
                continue
            section, _, leaf = name.rpartition(".")
            field = classes.fields(owners.get(section, "")).get(leaf)
            option = classes.option(field, name) if field is not None else {"name": name, "type": kind(value)}
            found[name] = {**option, "default": value}
    for name, option in _hidden_fields(classes, composed).items():
        if name not in found and not any(known.startswith(f"{name}.") for known in found):
            found[name] = option
    return list(found.values())


def _targets(tree: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(section, class) of every section whose `_target_` names the class that reads it."""
    for name, value in tree.items():
        if name.endswith("._target_"):
            yield name.removesuffix("._target_"), str(value).rpartition(".")[2]


def _hidden_fields(classes: Classes, composed: dict[str, dict[str, Any]]) -> dict[str, Option]:
    found: dict[str, Option] = {}
    for tree in composed.values():
        for section, owner in _targets(tree):
            for leaf, field in classes.fields(owner).items():
                if not leaf.startswith("_"):
                    name = f"{section}.{leaf}"
                    found.setdefault(name, {**classes.option(field, name), "in_yaml": False})
    return found


def kind(value: Any) -> str:
    """The type of a default that no class declares."""
    if value is None:
        return "null"
    if isinstance(value, str) and "${" in value:
        return "interpolation"
    return {bool: "bool", int: "int", float: "float", str: "str", list: "list", dict: "map"}[type(value)]
