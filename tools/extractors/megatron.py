"""Megatron-LM: the flags of megatron/training/arguments.py, written by hand or made from a dataclass.

Needs the repository: the megatron-core wheel lacks that file. Newer releases build groups of flags with
`ArgumentGroupFactory(SomeConfig, exclude=[...])`, by these rules: a boolean that is true by default becomes --no-x and
--disable-x, and `metadata={"argparse_meta": {...}}` comes before all.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from extractors.declared import Classes, Field, Option, arguments, unique
from extractors.literals import literal, parse, text, words


def options(root: Path) -> list[Option]:
    training = root / "megatron" / "training"
    core = [
        path
        for path in sorted((root / "megatron" / "core").rglob("*.py"))
        if path.name.endswith(("config.py", "enums.py"))
    ]
    configs = [*sorted(training.rglob("*config*.py")), *sorted((training / "config").glob("*.py"))]
    classes = Classes([*configs, *core, *sorted(training.glob("*.py"))])
    tree = parse(training / "arguments.py")
    found = [
        option
        for function in tree.body
        if isinstance(function, ast.FunctionDef)
        for owner, excluded in _factories(function)
        for option in _from_class(classes, owner, excluded)
    ]
    return unique([*found, *arguments(tree, classes.scope)])


def _factories(function: ast.FunctionDef) -> Iterator[tuple[str, set[str]]]:
    """(class, excluded fields) of every ArgumentGroupFactory in a function."""
    lists: dict[str, list[str]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            value = literal(node.value)
            if isinstance(value, list):
                lists[node.targets[0].id] = value
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and text(node.func).endswith("ArgumentGroupFactory") and node.args:
            excluded: list[str] = []
            for keyword in node.keywords:
                if keyword.arg == "exclude":
                    value = literal(keyword.value)
                    excluded = value if isinstance(value, list) else lists.get(text(keyword.value), [])
            yield text(node.args[0]), set(excluded)


def _from_class(classes: Classes, owner: str, excluded: set[str]) -> Iterator[Option]:
    for name, field in classes.fields(owner).items():
        if name in excluded or name.startswith("_") or literal(field.keywords.get("init")) is False:
            continue
        option = classes.option(field, f"--{name.replace('_', '-')}")
        option.pop("required", None)
        names = [option["name"]]
        if option["type"].strip("'\"") == "bool":
            option["action"] = "store_false" if option["default"] is True else "store_true"
            if option["default"] is True:
                names = [f"--{verb}-{name.replace('_', '-')}" for verb in ("no", "disable")]
        names = _apply_meta(classes, field, option, names)
        option["choices"] = option.get("choices") or _members(classes, option["type"])
        option["default"] = _member(option["default"], option["choices"])
        yield {**option, "name": names[0], "aliases": names[1:], "dest": name, "config_class": owner}


def _apply_meta(classes: Classes, field: Field, option: Option, names: list[str]) -> list[str]:
    """What `argparse_meta` says instead; the flag's names."""
    meta = field.metadata.get("argparse_meta")
    if not isinstance(meta, ast.Dict):
        return names
    given = {
        str(key.value): value
        for key, value in zip(meta.keys, meta.values, strict=True)
        if isinstance(key, ast.Constant)
    }
    for key in ("default", "choices", "nargs"):
        if key in given:
            option[key] = literal(given[key], classes.scope)
    if "action" in given:
        option["action"] = words(given["action"])
    renamed = literal(given.get("arg_names"))
    return renamed if isinstance(renamed, list) else names


def _members(classes: Classes, annotation: str) -> list[Any] | None:
    """The names in an enum, which are what the flag takes."""
    for name in re.findall(r"\b([A-Z]\w+)\b", annotation):
        node = classes.nodes.get(name)
        if node is not None and any("Enum" in text(base) for base in node.bases):
            return [
                text(one.targets[0])
                for one in node.body
                if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name)
            ]
    return None


def _member(default: Any, choices: list[Any] | None) -> Any:
    """`AttnBackend.auto` as `auto`."""
    written = default.get("expr", "") if isinstance(default, dict) else ""
    name = written.rpartition(".")[2]
    return name if choices and name in choices and re.fullmatch(r"\w+\.\w+", written) else default
