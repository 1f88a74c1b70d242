"""What .gitignore files exclude, as gitignore(5) says.

A repository's patterns are untrusted: a library that makes one regular expression of a pattern takes years for
`*a*a*a*a*b`. Here each folder of a path is matched for itself, a star never gives back what it took, and the time grows
with the lengths of pattern and path only.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_CLASSES = {
    # the POSIX classes of wildmatch.c, for ASCII
    "alnum": "a-zA-Z0-9", "alpha": "a-zA-Z", "blank": r" \t", "cntrl": r"\x00-\x1f\x7f", "digit": "0-9",
    "graph": "!-~", "lower": "a-z", "print": " -~", "punct": r"!-/:-@\[-`{-~", "space": r"\s", "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}  # fmt: skip


class Pattern:
    """One line of a .gitignore file.

    `segments` are the names of a path, from the file's own folder on, each as an expression (None for `**`); a pattern
    without a slash has one, for the last name of a path at any depth.
    """

    __slots__ = ("anchored", "folders_only", "negated", "segments")

    def __init__(self, segments: list[re.Pattern[str] | None], anchored: bool, folders: bool, negated: bool) -> None:
        self.segments = segments
        self.anchored = anchored
        self.folders_only = folders
        self.negated = negated

    def matches(self, path: Sequence[str], is_folder: bool) -> bool:
        if self.folders_only and not is_folder:
            return False
        if not self.anchored:
            segment = self.segments[0]
            return segment is None or segment.match(path[-1]) is not None
        return self._matches_whole(path)

    def _matches_whole(self, path: Sequence[str]) -> bool:
        segments, end = self.segments, len(self.segments)
        states = self._skip({0})
        for name in path:
            after = set[int]()
            for at in states:
                if at == end:
                    continue
                segment = segments[at]
                if segment is None:
                    after |= {at, at + 1} if at == end - 1 else {at}
                elif segment.match(name):
                    after.add(at + 1)
            if not after:
                return False
            states = self._skip(after)
        return end in states

    def _skip(self, states: set[int]) -> set[int]:
        """With each state before `**/` the one behind it: such a `**` may stand for no folder at all."""
        for at in sorted(states):
            while at < len(self.segments) - 1 and self.segments[at] is None:
                at += 1
                states.add(at)
        return states


def excluded(patterns: Sequence[Pattern], path: Sequence[str], is_folder: bool) -> bool | None:
    """What one file's patterns say of a path, given from that file's folder on: the last that matches decides."""
    for pattern in reversed(patterns):
        if pattern.matches(path, is_folder):
            return not pattern.negated
    return None


def parse(text: str) -> list[Pattern]:
    """The patterns of a .gitignore file. A line that can't match anything is left out."""
    return [pattern for line in text.split("\n") for pattern in _line(line.removesuffix("\r"))]


def _line(line: str) -> Iterator[Pattern]:
    if line.startswith("#"):
        return
    while line.endswith(" ") and not line.endswith("\\ "):
        line = line[:-1]
    negated = line.startswith("!")
    line = line.removeprefix("!")
    folders = line.endswith("/")
    line = line.removesuffix("/")
    anchored = "/" in line
    names = line.removeprefix("/").split("/")
    segments = [None if name == "**" and anchored else _expression(name) for name in names]
    if line and _NEVER not in segments:
        yield Pattern(segments, anchored, folders, negated)


_NEVER = re.compile(r"(?!)")


def _expression(glob: str) -> re.Pattern[str]:
    """A name with wildcards as an expression; `_NEVER` for one that is broken."""
    pieces, at = [""], 0
    while at < len(glob):
        character = glob[at]
        at += 1
        if character == "*":
            pieces.append("")
        elif character == "?":
            pieces[-1] += "."
        elif character == "[":
            inside, at = _bracket(glob, at)
            if not inside:
                return _NEVER
            pieces[-1] += inside
        elif character == "\\":
            if at == len(glob):
                return _NEVER
            pieces[-1] += re.escape(glob[at])
            at += 1
        else:
            pieces[-1] += re.escape(character)
    first, *middle, last = pieces if len(pieces) > 1 else (pieces[0], "")
    # A lookahead keeps the first match of its group: nothing is tried again when what follows doesn't match.
    between = "".join(f"(?=(?P<g{n}>.*?{piece}))(?P=g{n})" for n, piece in enumerate(middle) if piece)
    any_end = ".*" if len(pieces) > 1 else ""
    return re.compile(f"(?s:{first}{between}{any_end}{last})\\Z")


def _bracket(glob: str, at: int) -> tuple[str, int]:
    """A bracket expression that starts just before `at`, and where it ends; an empty one when it is broken."""
    negated = glob[at : at + 1] in ("!", "^")
    at += negated
    parts: list[str] = []
    start = at
    while at < len(glob) and (glob[at] != "]" or at == start):
        if glob.startswith("[:", at):
            end = glob.find(":]", at)
            name = glob[at + 2 : end] if end > 0 else ""
            if name not in _CLASSES:
                return "", at
            parts.append(_CLASSES[name])
            at = end + 2
            continue
        low, at = _member(glob, at)
        parts.append(re.escape(low))
        if glob[at : at + 1] == "-" and glob[at + 1 : at + 2] not in ("", "]"):
            high, at = _member(glob, at + 1)
            if low <= high:  # else git takes the first of the two alone
                parts.append(f"{re.escape(low)}-{re.escape(high)}")
    if at >= len(glob):
        return "", at
    return f"[{'^' if negated else ''}{''.join(parts)}]", at + 1


def _member(glob: str, at: int) -> tuple[str, int]:
    if glob[at] == "\\" and at + 1 < len(glob):
        at += 1
    return glob[at], at + 1
