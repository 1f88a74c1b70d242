"""OpenRLHF: the flags of openrlhf.cli.train_ppo_ray, its entry point for GRPO."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from extractors.declared import Option, arguments, package, unique
from extractors.literals import literal, parse

ROLES = ("actor", "critic")


def options(root: Path) -> list[Option]:
    top = package(root, "openrlhf")
    main = top / "cli" / "train_ppo_ray.py"
    others = [
        path
        for path in (*sorted((top / "cli").glob("*.py")), *sorted((top / "utils").glob("*.py")))
        if path != main and not path.name.startswith(("train_", "serve_", "batch_", "lora_", "interactive"))
    ]
    found = [option for path in (main, *others) for option in arguments(parse(path))]
    return unique(one for option in unique(found) for one in _expand(option))


def _expand(option: Option) -> Iterator[Option]:
    """`--{prefix}.adam.lr` is declared by a function that is called once for the actor and once for the critic."""
    if "{prefix}" not in option["name"]:
        yield option
        return
    for role in ROLES:
        one = {**option, **{key: option[key].replace("{prefix}", role) for key in ("name", "dest")}}
        text = one["default"].get("expr", "") if isinstance(one["default"], dict) else ""
        if " if prefix == " in text:
            node = ast.parse(text, mode="eval").body
            if isinstance(node, ast.IfExp) and isinstance(node.test, ast.Compare):
                chosen = ast.literal_eval(node.test.comparators[0]) == role
                one["default"] = literal(node.body if chosen else node.orelse)
        yield one
