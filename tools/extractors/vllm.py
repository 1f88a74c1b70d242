"""vLLM: the flags of the engine and of `vllm serve`, with their defaults from the config classes behind them.

Reads both layouts: `add_argument("--x", **model_kwargs["x"])` with `model_kwargs = get_kwargs(ModelConfig)`, and the
older `add_argument("--x", type=..., default=EngineArgs.x)`. Keys of a config that is given as JSON, or dotted
(`--compilation-config.mode=3`), are options of their own.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from extractors.declared import Classes, Option, arguments, package, unique
from extractors.literals import MISSING, literal, parse, text

FRONT_ENDS = ("entrypoints/common/cli_args.py", "entrypoints/openai/cli_args.py")
_ATTRIBUTE = re.compile(r"(\w+)\.(\w+)|get_field\((\w+), '(\w+)'\)")


def options(root: Path) -> list[Option]:
    top = package(root, "vllm")
    main = top / "engine" / "arg_utils.py"
    configs = sorted((top / "config").glob("*.py")) if (top / "config").is_dir() else [top / "config.py"]
    classes = Classes([main, *configs])
    engine = classes.fields("AsyncEngineArgs") or classes.fields("EngineArgs")
    tree = parse(main)
    found = arguments(tree, classes.scope)
    inner = _type_by_class(classes, tree, found)
    for option in found:
        field = engine.get(option["dest"])
        option["default"] = _attribute(classes, option["default"])
        if field is not None:
            option["engine_arg"] = option["dest"]
            if option["default"] is None:
                option["default"] = _default(classes, classes.default(field))
    flags = {option["dest"] for option in found}
    for name, field in engine.items():
        if name not in flags and not name.startswith("_"):  # for Python only, and so for verl's engine_kwargs
            option = classes.option(field, name)
            found.append(
                {**option, "default": _attribute(classes, option["default"]), "no_cli": True, "engine_arg": name}
            )
    for flag, owner in inner.items():
        for name, field in classes.fields(owner).items():
            if not name.startswith("_"):
                option = classes.option(field, f"{flag}.{name}")
                found.append({**option, "default": _attribute(classes, option["default"])})
    found.extend(option for name in FRONT_ENDS if (top / name).exists() for option in _front_end(top / name, classes))
    return unique(option for option in found if "{" not in option["name"])


def _type_by_class(classes: Classes, tree: ast.Module, found: list[Option]) -> dict[str, str]:
    """Takes type, default and choices from the class behind a flag; {flag: class} of the flags that hold a config."""
    owners: dict[str, str] = {}
    calls: dict[int, ast.Call] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and text(node.value.func) == "get_kwargs":
            owners[text(node.targets[0])] = text(node.value.args[0])
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument":
            calls[node.lineno] = node
    inner: dict[str, str] = {}
    for option in found:
        for keyword in calls[option["line"]].keywords:
            if keyword.arg is not None or not isinstance(keyword.value, ast.Subscript):
                continue
            owner, key = owners.get(text(keyword.value.value), ""), literal(keyword.value.slice)
            field = classes.fields(owner).get(key if isinstance(key, str) else "")
            if field is None:
                continue
            typed = classes.option(field, option["name"])
            option.update({part: typed.get(part) for part in ("type", "default", "choices", "deprecated")})
            option["config_path"] = f"{owner}.{key}"
            for name in re.findall(r"\b(\w+Config)\b", typed["type"]):
                if name in classes.nodes and option["name"].endswith("-config"):
                    inner[option["name"]] = name
    return inner


def _attribute(classes: Classes, value: Any, depth: int = 0) -> Any:
    """`Class.attr` and `get_field(Class, "attr")` as that field's default."""
    found = _ATTRIBUTE.fullmatch(value.get("expr", "")) if isinstance(value, dict) and depth < 5 else None
    if found is None:
        return value
    field = classes.fields(found[1] or found[3]).get(found[2] or found[4])
    return value if field is None else _default(classes, classes.default(field), depth + 1)


def _default(classes: Classes, value: Any, depth: int = 0) -> Any:
    return None if value is MISSING else _attribute(classes, value, depth)


def _front_end(path: Path, classes: Classes) -> Iterator[Option]:
    own = Classes([path])
    for name, field in own.fields("FrontendArgs").items():
        yield {**own.option(field, f"--{name.replace('_', '-')}"), "dest": name, "frontend": True}
    yield from arguments(parse(path), classes.scope)
