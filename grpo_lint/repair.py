"""Fixes findings: lints, edits the texts in memory, and lints them again, until nothing is left that can be fixed.

Nothing is written here. A fix is made whole or not at all; of fixes that want the same text the worst finding's comes
first and the others wait for the next pass. What a pass makes no better, or worse, is undone and not tried again.
"""

from __future__ import annotations

import os
import stat

from grpo_lint.diagnostics import RANK, Notice
from grpo_lint.discover import Repository, shown
from grpo_lint.edits import applied, overlap
from grpo_lint.source import Unreadable, decode, read_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from grpo_lint.changes import Changes
    from grpo_lint.diagnostics import Diagnostic, Fix
    from grpo_lint.edits import Edit
    from grpo_lint.report import Report

    Lint = Callable[[dict[str, bytes]], tuple[Report, set[str]]]
    """Lints with files that read as if they had other bytes, by resolved path: the report, and all that it looked at"""
    Identity = tuple[str, str, str, str]

PASSES = 10
"""Passes after which it is given up: fixes that call for each other would go on for ever."""

OF_THE_TEXT = "SRC"
"""Ids of the rules about the text itself start so: a fix that calls one of them forth has broken something."""


class Fixed:
    """A finding that a pass fixes: the edits of each file, by resolved path."""

    __slots__ = ("diagnostic", "edits", "signature")

    def __init__(self, diagnostic: Diagnostic, edits: dict[str, list[Edit]]) -> None:
        self.diagnostic = diagnostic
        self.edits = edits
        self.signature = (identity(diagnostic), tuple(sorted((path, tuple(each)) for path, each in edits.items())))


def identity(diagnostic: Diagnostic) -> Identity:
    """What tells a finding from others, though lines may move."""
    return diagnostic.rule, diagnostic.primary.span.file.path, diagnostic.key, diagnostic.message


class Repair:
    """Fixes what can be fixed below some paths; `unsafe` takes unsafe fixes, too.

    `given` holds the bytes of files that don't lie where they are, by path. Afterwards `before` and `after` hold the
    bytes of each file that changes, by resolved path, `fixed` the findings that are gone, `refused` why a file must
    stay as it is though something in it could be fixed, by path.
    """

    def __init__(
        self, lint: Lint, paths: Iterable[str], given: dict[str, bytes], unsafe: bool, changes: Changes | None
    ) -> None:
        self._lint = lint
        self._unsafe = unsafe
        self._changes = changes
        self._given = {os.path.realpath(path): data for path, data in given.items()}
        self._trees = [_tree(path) for path in paths]
        self._seen: set[str] = set()
        self._failed: set[object] = set()
        self._careful: set[str] = set()  # files in which one fix at a time is made, since several broke something
        self._writable: dict[str, str] = {}
        self.before: dict[str, bytes] = {}
        self.after: dict[str, bytes] = {}
        self.fixed: list[Fixed] = []
        self.refused: dict[str, str] = {}

    def run(self) -> Report:
        """Fix, and return the report of what is left."""
        report = self._look()
        for _ in range(PASSES):
            batch = list(self._choose(report))
            if not batch:
                break
            undo = dict(self.after)
            lines = self._changes.copy() if self._changes is not None else None
            self._apply(batch)
            after = self._look()
            failed = _failures(batch, report, after)
            if failed:
                self._undo(failed, batch, undo)
                if self._changes is not None and lines is not None:
                    self._changes.restore(lines)
                    self._move([one for one in batch if self._stands(one, undo)])
                after = self._look()
            self.fixed += [one for one in batch if self._stands(one, undo)] if failed else batch
            report = after
        else:
            if any(self._choose(report)):
                notice = Notice("", f"gave up after {PASSES} passes: fixes call for each other; run it once more")
                report.notices = (*report.notices, notice)
        for path in [path for path, data in self.after.items() if data == self.before[path]]:
            del self.after[path]
        report.notices = (*report.notices, *(Notice(path, f"not fixed: {why}") for path, why in self.refused.items()))
        report.errors = report.errors or bool(self.refused)
        return report

    def _look(self) -> Report:
        report, self._seen = self._lint(self.after)
        return report

    # -- choosing

    def _choose(self, report: Report) -> Iterator[Fixed]:
        """The fixes of a pass, worst findings first, of which no two want the same text."""
        taken: dict[str, list[Edit]] = {}
        for diagnostic in sorted(report.diagnostics, key=lambda one: (-RANK[one.severity], one.order)):
            fix = diagnostic.fix
            if fix is None or not fix.edits or not (fix.safe or self._unsafe):
                continue
            edits = self._edits(fix)
            one = Fixed(diagnostic, edits)
            if not edits or one.signature in self._failed:
                continue
            if all(edit in taken.get(path, ()) for path, each in edits.items() for edit in each):
                yield one  # another finding's fix makes the same edits
            elif not any(self._in_the_way(taken.get(path, []), path, each) for path, each in edits.items()):
                for path, each in edits.items():
                    taken.setdefault(path, []).extend(each)
                yield one

    def _in_the_way(self, taken: list[Edit], path: str, edits: list[Edit]) -> bool:
        if taken and path in self._careful:
            return True
        return any(overlap(one, other) for one in taken for other in edits)

    def _edits(self, fix: Fix) -> dict[str, list[Edit]]:
        """A fix's edits of each file; none if one of the files isn't ours to write."""
        found: dict[str, list[Edit]] = {}
        for span, text in fix.edits:
            path = os.path.realpath(span.file.path)
            if path not in found:
                why = self._why_not(path, span.file.original)
                if why is not None:
                    if why:
                        self.refused[span.file.path] = why
                    return {}
            found.setdefault(path, []).append((span.start, span.end, text))
        return found

    def _why_not(self, path: str, text: str) -> str | None:
        """Why a file must stay as it is; empty where it only wasn't asked for, None where it may be edited."""
        if path not in self._seen:
            return ""
        if path not in self._writable:
            self._writable[path] = "" if path in self._given else self._obstacle(path)
        if self._writable[path]:
            return self._writable[path]
        try:
            return None if decode(self._bytes(path)) == text else "it changed while it was being linted"
        except Unreadable as error:
            return str(error)

    def _obstacle(self, path: str) -> str:
        if not any(path == tree or path.startswith(tree.rstrip(os.sep) + os.sep) for tree in self._trees):
            return f"it is a link to {shown(path)}, which is outside of what is linted"
        if not os.access(path, os.W_OK) or not os.stat(path).st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
            return "it is read-only"
        return ""

    # -- editing

    def _bytes(self, path: str) -> bytes:
        if path in self.after:
            return self.after[path]
        if path not in self.before:
            self.before[path] = self._given[path] if path in self._given else read_bytes(path)
        return self.before[path]

    def _apply(self, batch: list[Fixed]) -> None:
        edits: dict[str, set[Edit]] = {}
        for one in batch:
            for path, each in one.edits.items():
                edits.setdefault(path, set()).update(each)
        self._move(batch)
        for path, together in edits.items():
            self.after[path] = applied(self._bytes(path), together)

    def _move(self, batch: list[Fixed]) -> None:
        """Let the lines of a change move with what is edited."""
        if self._changes is None:
            return
        edits: dict[str, set[tuple[int, int, int]]] = {}
        for one in batch:
            assert one.diagnostic.fix is not None
            for span, text in one.diagnostic.fix.edits:
                end, column = span.end_position
                place = (span.line, max(span.line, end - (column == 1)), text.count("\n") - (end - span.line))
                edits.setdefault(os.path.realpath(span.file.path), set()).add(place)
        for path, places in edits.items():
            self._changes.move(path, places)

    def _undo(self, failed: list[Fixed], batch: list[Fixed], before: dict[str, bytes]) -> None:
        """Put back what the files of failed fixes were, with all that was done to them together."""
        paths = {path for one in failed for path in one.edits}
        while more := {path for one in batch if paths & one.edits.keys() for path in one.edits} - paths:
            paths |= more
        alone = [one for one in batch if paths & one.edits.keys()]
        if len(alone) == len(failed) == 1 or paths <= self._careful:
            self._failed |= {one.signature for one in failed}
        self._careful |= paths
        for path in paths:
            self.after[path] = before.get(path, self.before[path])

    def _stands(self, one: Fixed, before: dict[str, bytes]) -> bool:
        return all(self.after[path] != before.get(path, self.before[path]) for path in one.edits)


def _failures(batch: list[Fixed], before: Report, after: Report) -> list[Fixed]:
    """The fixes that didn't remove their finding, or after which a file's text is faulty that wasn't."""
    had, has = _counts(before), _counts(after)
    gone = {one: number for one, number in had.items() if has.get(one, 0) < number}
    broken = {path for path, number in _faults(after).items() if number > _faults(before).get(path, 0)}
    return [
        one
        for one in batch
        if identity(one.diagnostic) not in gone or any(os.path.realpath(path) in one.edits for path in broken)
    ]


def _counts(report: Report) -> dict[Identity, int]:
    found: dict[Identity, int] = {}
    for diagnostic in report.diagnostics:
        key = identity(diagnostic)
        found[key] = found.get(key, 0) + 1
    return found


def _faults(report: Report) -> dict[str, int]:
    """How many faults of the text each file has, by path; those of the linter itself count."""
    found: dict[str, int] = {}
    texts = [one.primary.span.file.path for one in report.diagnostics if one.rule.startswith(OF_THE_TEXT)]
    for path in (*texts, *(notice.path for notice in report.notices)):
        found[path] = found.get(path, 0) + 1
    return found


def _tree(path: str) -> str:
    """What may be written for a path that the user named: all below it, or what its repository holds."""
    return os.path.realpath(path) if os.path.isdir(path) else Repository.around(path).root
