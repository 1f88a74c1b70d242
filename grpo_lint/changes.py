"""Which lines a change touches, read from a unified diff: `git diff -U0 main | grpo-lint --diff-file -`.

Its paths count from the root of the repository or from the working directory, with or without the prefixes that git
puts before them.
"""

from __future__ import annotations

import os
import re
import sys

from grpo_lint.discover import Repository
from grpo_lint.settings import SettingsError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TypeAlias

    from grpo_lint.diagnostics import Diagnostic, Label
    from grpo_lint.report import Report

    Ranges: TypeAlias = list[tuple[int, int]]

MAX_BYTES = 64 * 1024 * 1024

_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_HEADS = ("diff ", "Binary files ", "Index: ", "old mode ", "Only in ", "Submodule ")
_QUOTED = re.compile(rb'\\([0-7]{1,3}|[abfnrtv"\\])')
_ESCAPES = dict(zip(b'abfnrtv"\\', b'\a\b\f\n\r\t\v"\\', strict=True))


class Changes:
    """The lines of each file that a change adds, or next to which it takes lines away."""

    def __init__(self, text: str, root: str = "") -> None:
        """Raises SettingsError for a text that is no unified diff. The root is that of the repository around us."""
        self._lines: dict[str, Ranges] = {}
        self._root = root or Repository.around(".").root
        for path, ranges in _files(text):
            for real in self._places(path):
                self._lines.setdefault(real, []).extend(ranges)

    def _places(self, path: str) -> set[str]:
        """The files that a path of the diff may mean: those of its readings that exist."""
        names = (path, path.partition("/")[2])
        places = {
            os.path.realpath(os.path.join(folder, name)) for name in names if name for folder in (self._root, ".")
        }
        return {place for place in places if os.path.isfile(place)}

    def add_whole(self, path: str) -> None:
        """Count all of a file, by its path from the root, as changed."""
        self._lines.setdefault(os.path.realpath(os.path.join(self._root, path)), []).append((1, sys.maxsize))

    def move(self, path: str, edits: Iterable[tuple[int, int, int]]) -> None:
        """Let the lines of a file, by its resolved path, move with edits of it: (first line, last, lines it gains).

        What is edited on a line of the change stays part of it.
        """
        ranges = self._lines.get(path, [])
        for _, last, gained in sorted(edits, reverse=True):
            for at, (low, high) in enumerate(ranges):
                low, high = (line + gained if line > last else line for line in (low, high))
                ranges[at] = (low, max(low, high))

    def copy(self) -> dict[str, Ranges]:
        """What `restore` takes."""
        return {path: list(ranges) for path, ranges in self._lines.items()}

    def restore(self, lines: dict[str, Ranges]) -> None:
        self._lines = lines

    def touch(self, diagnostic: Diagnostic) -> bool:
        """Whether a place of a finding, its own or a related one, is on a line of the change."""
        return any(map(self._touches, (diagnostic.primary, *diagnostic.related)))

    def narrow(self, report: Report) -> None:
        """Leave out of a report what the change doesn't touch."""
        report.diagnostics = tuple(filter(self.touch, report.diagnostics))
        report.suppressed = tuple(one for one in report.suppressed if self.touch(one.diagnostic))

    def _touches(self, label: Label) -> bool:
        ranges = self._lines.get(os.path.realpath(label.span.file.path), ())
        first, last = label.span.line, label.span.file.position(max(label.span.start, label.span.end - 1))[0]
        return any(low <= last and first <= high for low, high in ranges)


class _Hunk:
    """A hunk that is being read: what is still to come of both sides, and where in the new file we are."""

    __slots__ = ("deleted", "line", "new", "old", "ranges")

    def __init__(self, head: re.Match[str], ranges: Ranges) -> None:
        self.old = int(head[1] or 1)
        self.new = int(head[3] or 1)
        self.line = int(head[2]) + (self.new == 0)
        self.ranges = ranges
        self.deleted = False

    def take(self, text: str) -> bool:
        """Read a line of the hunk; False when it belongs to the hunk no more."""
        if self.old <= 0 and self.new <= 0:
            self._close()
            return False
        mark = text[:1]
        if mark == "-":
            self.old -= 1
            self.deleted = True
        elif mark == "+":
            self.new -= 1
            self.ranges.append((self.line, self.line))
            self.line += 1
            self.deleted = False
        elif mark != "\\":  # "\ No newline at end of file"
            self._close()
            self.old -= 1
            self.new -= 1
            self.line += 1
        return True

    def _close(self) -> None:
        """Where lines were only taken away, those around them are what is left of the change."""
        if self.deleted:
            self.ranges.append((self.line - 1, self.line))
        self.deleted = False


def _files(text: str) -> Iterator[tuple[str, Ranges]]:
    """(path, line ranges) of each file that the diff leaves something of."""
    path: str | None = None
    ranges: Ranges = []
    hunk: _Hunk | None = None
    seen = False
    for line in (*text.split("\n"), ""):
        if hunk is not None and hunk.take(line):
            continue
        hunk = None
        if line.startswith("+++ "):
            if path is not None:
                yield path, ranges
            path, ranges, seen = _path(line[4:]), [], True
        elif (head := _HUNK.match(line)) and seen:
            hunk = _Hunk(head, ranges)
        elif line.startswith("@@@ "):
            raise SettingsError("--diff-file: a combined diff doesn't say which lines are new; take `git diff BASE`")
        elif line.startswith(_HEADS):
            seen = True
    if path is not None:
        yield path, ranges
    if not seen and text.strip():
        raise SettingsError("--diff-file: this is no unified diff; `git diff -U0 BASE` writes one")


def _path(text: str) -> str | None:
    """The path of a `+++` line; None for a file that is gone."""
    text = text.rstrip("\r")
    if text.startswith('"'):
        inner = text[1 : text.rindex('"')] if text.count('"') > 1 else text[1:]
        data = _QUOTED.sub(_unquoted, inner.encode("utf-8", "surrogateescape"))
        text = os.fsdecode(data)
    else:
        text = text.partition("\t")[0]
    return None if text == "/dev/null" or "\0" in text else text


def _unquoted(match: re.Match[bytes]) -> bytes:
    what = match[1]
    return bytes((int(what, 8) & 255,)) if what[:1].isdigit() else bytes((_ESCAPES[what[0]],))
