"""The package's own parts by name: a module that is known only at run time, and the data files."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

PACKAGES = frozenset(
    ("choices", "commands", "diagnosis", "fixing", "frameworks", "recipes", "reporters", "reporters.html", "rules",
     "rules.avoidance", "rules.invariants", "rules.option_tables", "rules.security", "rules.strict", "syntax",
     "syntax.hydra", "syntax.shell")
)  # fmt: skip
"""The parts of the package that are folders; a test holds it to the tree."""


def module(name: str) -> ModuleType:
    """`grpo_lint.<name>`. The importlib package does the same and takes a millisecond to import, itself."""
    found: ModuleType = __import__(f"grpo_lint.{name}", fromlist=("__doc__",))
    return found


def packaged(*names: str) -> str:
    """The path of a file that lies in the package."""
    import os

    return os.path.join(os.path.dirname(__file__), *names)


class _Finder:
    """Knows where a module of ours lies. A start imports ninety, and the search for them took a twentieth of it."""

    def __init__(self, spec: Any) -> None:
        self._spec, self._loader = type(spec), type(spec.loader)
        self._root = spec.origin.removesuffix("modules.py")

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        if name[:10] != "grpo_lint.":
            return None
        package = name[10:] in PACKAGES
        place = self._root + name[10:].replace(".", "/")
        file = f"{place}/__init__.py" if package else f"{place}.py"
        found = self._spec(name, self._loader(name, file), origin=file, is_package=package)
        found.has_location = True
        if package:
            found.submodule_search_locations.append(place)
        return found


def find_directly() -> None:
    """Spare the program the search for its own modules. Where they aren't plain files, as in an archive, all stays."""
    spec: Any = globals()["__spec__"]
    if type(spec.loader).__name__ == "SourceFileLoader" and spec.origin.endswith("modules.py"):
        sys.meta_path.insert(0, _Finder(spec))
