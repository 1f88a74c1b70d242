"""Importing a module of ours by its name, where that is known only at run time."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType


def module(name: str) -> ModuleType:
    """`grpo_lint.<name>`. The importlib package does the same and takes a millisecond to import, itself."""
    found: ModuleType = __import__(f"grpo_lint.{name}", fromlist=("__doc__",))
    return found
