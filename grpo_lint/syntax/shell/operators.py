"""The operators of `${...}` on a known text."""

from __future__ import annotations

import re

from grpo_lint.patterns import lazy
from grpo_lint.syntax.shell.patterns import affordable, translate, trim

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    Atoms: TypeAlias = list[tuple[str, bool]]

UNSAFE = lazy(r"[^A-Za-z0-9_@%+=:,./-]")


def trimmed(text: str, op: str, atoms: Atoms) -> str:
    """`#`, `##`, `%`, `%%`. Raises Unmatchable."""
    low, high = trim(atoms, text, op)
    return text[low:high]


def replaced(text: str, op: str, atoms: Atoms, new: str) -> str:
    """`/`, `//`, `/#`, `/%`. Raises Unmatchable."""
    if not any(part for part, _ in atoms):
        if op == "/#":
            return new + text
        return text + new if op == "/%" else text
    affordable(atoms, text, 1)
    expression = translate(atoms)
    if op == "/%":
        start = next((n for n in range(len(text) + 1) if re.compile(expression).fullmatch(text, n)), None)
        return text if start is None else text[:start] + new
    if op == "/#":
        found = re.compile(expression).match(text)
        return text if found is None else new + text[found.end() :]
    # an empty match replaces nothing
    return re.sub(expression, lambda found: new if found.group() else "", text, count=0 if op == "//" else 1)


def cased(text: str, op: str, atoms: Atoms) -> str:
    """`^`, `^^`, `,`, `,,`. Raises Unmatchable."""
    expression = re.compile(translate(atoms) if atoms else "(?s:.)")

    def change(char: str) -> str:
        return (char.upper() if op[0] == "^" else char.lower()) if expression.fullmatch(char) else char

    if len(op) == 2:
        return "".join(change(char) for char in text)
    return change(text[:1]) + text[1:]


def transformed(text: str, op: str) -> str | None:
    """`@Q`, `@U`, `@u`, `@L`; None for the others."""
    match op:
        case "@U":
            return text.upper()
        case "@L":
            return text.lower()
        case "@u":
            return text[:1].upper() + text[1:]
        case "@Q":
            return "'" + text.replace("'", "'\\''") + "'"
        case _:
            return None


def sliced(length: int, start: int, count: int | None) -> tuple[int, int] | None:
    """The range that `${x:start:count}` takes of something of this length; None where bash refuses."""
    if start < 0:
        start += length
        if start < 0:
            return 0, 0
    start = min(start, length)
    if count is None:
        return start, length
    stop = length + count if count < 0 else min(start + count, length)
    return None if stop < start else (start, stop)


def quoted(text: str) -> str:
    """As `printf %q` writes it, for texts without control characters."""
    return UNSAFE.sub(lambda found: "\\" + found.group(), text) if text else "''"
