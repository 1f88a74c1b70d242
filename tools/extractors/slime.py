"""slime: its own flags. It takes Megatron-LM's as they are too, and SGLang's with a --sglang- prefix."""

from __future__ import annotations

import ast
from pathlib import Path

from extractors.declared import Option, arguments, package, unique
from extractors.literals import parse


def options(root: Path) -> list[Option]:
    top = package(root, "slime")
    paths = [
        top / "utils" / "arguments.py",
        *sorted(top.glob("backends/*/arguments.py")),
        *sorted(top.glob("router/*.py")),
    ]
    found: list[Option] = []
    for path in paths:
        if not path.exists():
            continue
        tree = parse(path)
        reset = _reset(tree)
        for option in arguments(tree, callables=("add_argument", "reset_arg")):
            name = option["name"]
            if "sglang_utils" in path.parts and name.startswith("--") and not name.startswith("--sglang"):
                option["name"] = name.replace("--", "--sglang-", 1)
            if option["name"] in reset:
                option["overrides_megatron_default"] = True
            found.append(option)
    return unique(found)


def _reset(tree: ast.Module) -> set[str]:
    """The flags of Megatron-LM that get another default."""
    return {
        str(call.args[1].value)
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "reset_arg"
        if len(call.args) > 1 and isinstance(call.args[1], ast.Constant)
    }
