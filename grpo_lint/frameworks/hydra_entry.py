"""Where a Hydra program keeps its primary config: what its `@hydra.main` decorator says, read from its source."""

from __future__ import annotations

import os

from grpo_lint.source import SourceFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast

    from grpo_lint.discover import Repository


class HydraEntry:
    """A program's config folder and the name of its primary config, as its decorator gives them.

    `base` is the folder of the program's own file, from which Hydra takes a relative `--config-path`.
    """

    __slots__ = ("base", "folder", "name", "source")

    def __init__(self, base: str, folder: str, name: str, source: SourceFile) -> None:
        self.base = base
        self.folder = folder
        self.name = name
        self.source = source

    def __repr__(self) -> str:
        return f"HydraEntry({self.folder!r}, {self.name!r})"


def find(module: str, folder: str, repository: Repository) -> HydraEntry | None:
    """The entry of a module, looked for where a script in `folder` would import it from.

    Packages may lie in `src`. A repository may be checked out inside another (`recipe.dapo.main_dapo` lying at
    `dapo/main_dapo.py`), so the leading packages are left out one by one until two parts remain.
    """
    parts = module.split(".")
    for first in range(max(1, len(parts) - 1)):
        name = "/".join(parts[first:]) + ".py"
        path = repository.find(name, folder) or repository.find(f"src/{name}", folder)
        source = repository.load(path) if path is not None else None
        if path is not None and source is not None:
            key = f"hydra.main of {path}"
            if key not in repository.kept:
                repository.kept[key] = _read(source, os.path.dirname(path))
            entry = repository.kept[key]
            return entry if isinstance(entry, HydraEntry) else None
    return None


def _read(source: SourceFile, folder: str) -> HydraEntry | None:
    if "hydra.main" not in source.text:
        return None
    import ast

    try:
        tree = ast.parse(source.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for decorator in node.decorator_list:
                entry = _decorated(decorator, source, folder)
                if entry is not None:
                    return entry
    return None


def _decorated(decorator: ast.expr, source: SourceFile, folder: str) -> HydraEntry | None:
    """`@hydra.main(config_path="config", config_name="ppo_trainer")` with literal arguments."""
    import ast

    if not isinstance(decorator, ast.Call) or ast.unparse(decorator.func) != "hydra.main":
        return None
    names = {keyword.arg: keyword.value for keyword in decorator.keywords}
    for name, value in zip(("config_path", "config_name"), decorator.args, strict=False):
        names.setdefault(name, value)
    path, config = _text(names.get("config_path")), _text(names.get("config_name"))
    if path is None or config is None:
        return None
    return HydraEntry(folder, os.path.normpath(os.path.join(folder, path)), config, source)


def _text(node: ast.expr | None) -> str | None:
    import ast

    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
