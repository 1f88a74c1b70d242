"""Regular expressions that are compiled when they are first used.

A linting meets few of the constructs that the readers know, and compiling an expression takes as long as reading a
script of fifty lines: together they were a fifth of the time of one launch script.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_METHODS = ("findall", "finditer", "fullmatch", "match", "search", "split", "sub", "subn")


class _Lazy:
    """Stands for a compiled expression; after the first use, its methods are those of the real one."""

    def __init__(self, expression: str, flags: int) -> None:
        self._expression = expression
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        made = re.compile(self._expression, self._flags)
        self.__dict__.update((method, getattr(made, method)) for method in _METHODS)
        return getattr(made, name)


def lazy(expression: str, flags: int | re.RegexFlag = 0) -> re.Pattern[str]:
    """The expression as a compiled pattern. A mistake in it shows only at its first use."""
    made: Any = _Lazy(expression, int(flags))
    pattern: re.Pattern[str] = made
    return pattern
