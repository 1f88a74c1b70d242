"""Shell patterns (`*`, `?`, `[a-z]`, `@(a|b)`) as regular expressions."""

from __future__ import annotations

import re

from grpo_lint.patterns import lazy
from grpo_lint.syntax.shell.values import Unmatchable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_EFFORT = 3_000_000
"""Matching may take text ** wildcards steps; what could take more is not tried."""
MAX_SUBJECT = 20_000

CLASSES = {
    "alpha": "a-zA-Z", "digit": "0-9", "alnum": "a-zA-Z0-9", "upper": "A-Z", "lower": "a-z", "space": r" \t\n\r\f\v",
    "blank": r" \t", "punct": r"!-/:-@\[-`{-~", "xdigit": "0-9A-Fa-f", "word": r"\w", "cntrl": r"\x00-\x1f\x7f",
    "graph": "!-~", "print": " -~",
}  # fmt: skip
CLASS = lazy(r"\[:(\w+):\]")


def translate(atoms: Iterable[tuple[str, bool]], greedy: bool = True) -> str:
    """The regular expression for (text, quoted) stretches of a pattern. Raises Unmatchable."""
    chars = [(char, quoted) for text, quoted in atoms for char in text]
    out: list[str] = []
    _translate(chars, 0, out, "*" if greedy else "*?", 0)
    return "".join(out)


def _translate(chars: list[tuple[str, bool]], at: int, out: list[str], star: str, depth: int) -> int:
    """Appends the expression from `at` on; inside a group it ends at `)`. Returns where it stopped."""
    if depth > 10:
        raise Unmatchable("its pattern is nested too deeply")
    while at < len(chars):
        char, quoted = chars[at]
        if quoted:
            out.append(re.escape(char))
        elif char == "\\" and at + 1 < len(chars):
            at += 1
            out.append(re.escape(chars[at][0]))
        elif char in "?*+@!" and at + 1 < len(chars) and chars[at + 1] == ("(", False):
            at = _group(chars, at, out, star, depth)
            continue
        elif char == "*":
            if not out or out[-1] != f"(?s:.{star})":
                out.append(f"(?s:.{star})")
        elif char == "?":
            out.append("(?s:.)")
        elif char == "[":
            at = _bracket(chars, at, out)
            continue
        elif depth and char in "|)":
            if char == ")":
                return at
            out.append("|")
        else:
            out.append(re.escape(char))
        at += 1
    return at


def _group(chars: list[tuple[str, bool]], at: int, out: list[str], star: str, depth: int) -> int:
    kind = chars[at][0]
    inner: list[str] = []
    stop = _translate(chars, at + 2, inner, star, depth + 1)
    if stop >= len(chars):
        out.append(re.escape(kind))
        return at + 1
    body = "".join(inner)
    if kind == "!":
        raise Unmatchable("its pattern negates a group")
    if kind in "*+" and any(char in body for char in "*+?|"):
        raise Unmatchable("its pattern repeats a repetition")
    out.append(f"(?:{body})" + {"@": "", "?": "?", "*": "*", "+": "+"}[kind])
    return stop + 1


def _bracket(chars: list[tuple[str, bool]], at: int, out: list[str]) -> int:
    """A bracket expression, or a bracket that stands for itself."""
    stop = at + 1
    negated = stop < len(chars) and chars[stop] in (("!", False), ("^", False))
    stop += negated
    first = stop
    while stop < len(chars) and (chars[stop] != ("]", False) or stop == first):
        if chars[stop] == ("[", False) and stop + 1 < len(chars) and chars[stop + 1][0] == ":":
            close = next(
                (k for k in range(stop + 2, len(chars) - 1) if chars[k][0] == ":" and chars[k + 1][0] == "]"), 0
            )
            stop = close + 1 if close else stop
        stop += 1
    if stop >= len(chars):
        out.append(r"\[")
        return at + 1
    expression = f"[{'^' if negated else ''}{_members(chars[first:stop])}]"
    try:
        re.compile(expression)
    except re.error:
        raise Unmatchable("its bracket expression can't be read") from None
    out.append(expression)
    return stop + 1


def _members(chars: list[tuple[str, bool]]) -> str:
    """The inside of a bracket expression."""
    text = "".join(char for char, _ in chars)
    body, at = [], 0
    while at < len(chars):
        char, quoted = chars[at]
        if char == "[" and (found := CLASS.match(text, at)):
            body.append(CLASSES.get(found.group(1), ""))
            at = found.end()
            continue
        if char == "\\" and not quoted and at + 1 < len(chars):
            at += 1
            body.append(re.escape(chars[at][0]))
        else:
            body.append("-" if char == "-" and not quoted and 0 < at < len(chars) - 1 else re.escape(char))
        at += 1
    return "".join(body)


def affordable(atoms: Iterable[tuple[str, bool]], subject: str, more: int = 0) -> None:
    """Raises Unmatchable where matching, `more` times for each character, could take long."""
    stars = more + sum(text.count("*") + text.count("+(") for text, quoted in atoms if not quoted)
    if len(subject) > MAX_SUBJECT or (stars > 1 and len(subject) ** min(stars, 30) > MAX_EFFORT):
        raise Unmatchable("matching its pattern would take too long")


def matches(atoms: Iterable[tuple[str, bool]], subject: str) -> bool:
    """Whether the whole subject fits the pattern. Raises Unmatchable."""
    atoms = list(atoms)
    affordable(atoms, subject)
    return re.fullmatch(translate(atoms), subject) is not None


def trim(atoms: list[tuple[str, bool]], subject: str, op: str) -> tuple[int, int]:
    """The range of the subject that `#`, `##`, `%` or `%%` leaves. Raises Unmatchable."""
    affordable(atoms, subject, 1)
    expression = re.compile(translate(atoms, greedy=len(op) == 2 or op[0] == "%"))
    if op[0] == "#":
        found = expression.match(subject)
        if op == "##" and found is not None:  # greedy alternation is not always the longest
            longest = next(
                (n for n in range(len(subject), found.end(), -1) if expression.fullmatch(subject, 0, n)), None
            )
            return (found.end() if longest is None else longest), len(subject)
        return (found.end() if found else 0), len(subject)
    starts = range(len(subject), -1, -1) if op == "%" else range(len(subject) + 1)
    return 0, next((start for start in starts if expression.fullmatch(subject, start)), len(subject))
