"""The package's own parts by name: a module that is known only at run time, and the data files."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType


def module(name: str) -> ModuleType:
    """`grpo_lint.<name>`. The importlib package does the same and takes a millisecond to import, itself."""
    found: ModuleType = __import__(f"grpo_lint.{name}", fromlist=("__doc__",))
    return found


def packaged(*names: str) -> str:
    """The path of a file that lies in the package."""
    import os

    return os.path.join(os.path.dirname(__file__), *names)
