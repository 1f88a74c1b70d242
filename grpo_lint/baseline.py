"""Findings that were there when the linter was taken up: known, not counted, and still to be seen.

    {"schema": 1, "tool": "grpo-lint",
     "findings": [{"path": "scripts/run.sh", "rule": "NOT07", "key": "actor_rollout_ref.rollout.n", "count": 1}]}

An entry names a file (from the baseline's own folder), a rule and an option, never a line: lines may move. `count` is
how many findings agree in all three; of more than that, the first ones are taken to be the known ones.
"""

from __future__ import annotations

import json
import os

from grpo_lint import atomic
from grpo_lint.diagnostics import Notice
from grpo_lint.discover import shown
from grpo_lint.report import Suppressed
from grpo_lint.settings import SettingsError
from grpo_lint.source import Unreadable, decode, masked, read_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from grpo_lint.diagnostics import Diagnostic
    from grpo_lint.report import Report

    Identity = tuple[str, str, str]
    """(path from the baseline's folder, rule, option)"""

SCHEMA = 1
MAX_BYTES = 64 * 1024 * 1024
MAX_STALE = 20
"""Entries that are listed as stale; the others are counted."""


class Baseline:
    """Known findings: how many of each identity. `path` is the file they are kept in."""

    def __init__(self, path: str, counts: dict[Identity, int]) -> None:
        self.path = path
        self.counts = counts

    @classmethod
    def of(cls, path: str, found: Iterable[Diagnostic]) -> Baseline:
        """The baseline that knows these findings."""
        baseline = cls(path, {})
        for diagnostic in found:
            identity = baseline._identity(diagnostic)
            baseline.counts[identity] = baseline.counts.get(identity, 0) + 1
        return baseline

    @classmethod
    def load(cls, path: str) -> Baseline:
        """Raises SettingsError for a file that can't be used, one of another version included."""
        where = f"--baseline {path}"
        try:
            data = json.loads(decode(read_bytes(path, MAX_BYTES)))
        except Unreadable as error:
            raise SettingsError(f"{where}: {error}") from None
        except RecursionError:
            raise SettingsError(f"{where}: this is no baseline: nested too deeply") from None
        except ValueError as error:
            raise SettingsError(f"{where}: not valid JSON: {error}; --write-baseline writes a new one") from None
        if not isinstance(data, dict) or data.get("tool") != "grpo-lint" or not isinstance(data.get("findings"), list):
            raise SettingsError(f"{where}: this is no baseline; --write-baseline writes one")
        if data.get("schema") != SCHEMA:
            version = repr(data.get("schema"))[:40]
            raise SettingsError(f"{where}: its schema is {version}, this release reads {SCHEMA}; write it again")
        counts: dict[Identity, int] = {}
        for entry in data["findings"]:
            identity, count = _entry(entry, where)
            counts[identity] = counts.get(identity, 0) + count
        return cls(path, counts)

    def save(self) -> None:
        """Raises SettingsError when the file can't be written; it then is as it was."""
        names = ("path", "rule", "key", "count")
        rows = [dict(zip(names, (*identity, count), strict=True)) for identity, count in sorted(self.counts.items())]
        lines = ",\n".join(json.dumps(row) for row in rows)
        listed = f"[\n{lines}\n]" if rows else "[]"
        text = f'{{"schema": {SCHEMA}, "tool": "grpo-lint",\n"findings": {listed}}}\n'
        try:
            atomic.write(self.path, masked(text))
        except OSError as error:
            raise SettingsError(f"--write-baseline {self.path}: {error.strerror}") from None

    def apply(self, report: Report, paths: Iterable[str]) -> None:
        """Move the known findings of a report to what is suppressed, and tell which are no longer there.

        Only entries about files at or below `paths`, for rules that were enabled, can be known to be stale.
        """
        left = dict(self.counts)
        kept, known = [], []
        for diagnostic in report.diagnostics:
            identity = self._identity(diagnostic)
            if left.get(identity, 0) > 0:
                left[identity] -= 1
                known.append(Suppressed(diagnostic, "baseline", f"known: it is in {shown(self.path)}"))
            else:
                kept.append(diagnostic)
        report.diagnostics = tuple(kept)
        report.suppressed = tuple(sorted((*report.suppressed, *known), key=lambda one: one.diagnostic.order))
        stale = {identity: count for identity, count in left.items() if count > 0}
        report.notices = (*report.notices, *self._stale(stale, report, [os.path.realpath(path) for path in paths]))

    def _stale(self, left: dict[Identity, int], report: Report, paths: list[str]) -> list[Notice]:
        """Of the entries that nothing matched, those whose file and rule were looked at."""
        rules = {rule.id for rule in report.rules}
        undecided = {(item.rule, self._name(item.path)) for item in report.undecided}
        unread = {self._name(notice.path) for notice in report.notices}
        stale = [
            (path, rule, key)
            for path, rule, key in sorted(left)
            if rule in rules and (rule, path) not in undecided and path not in unread and self._below(path, paths)
        ]
        notices = [
            Notice(
                shown(self.path),
                f"stale: {path} has no {rule} finding{f' about {key}' if key else ''} any more, or fewer of them",
            )
            for path, rule, key in stale[:MAX_STALE]
        ]
        if len(stale) > MAX_STALE:
            notices.append(Notice(shown(self.path), f"{len(stale) - MAX_STALE} more entries are stale"))
        if stale:
            notices.append(Notice(shown(self.path), "--write-baseline leaves stale entries out"))
        return notices

    def _below(self, path: str, paths: list[str]) -> bool:
        real = os.path.realpath(os.path.join(self._folder, path))
        return any(real == one or real.startswith(one.rstrip(os.sep) + os.sep) for one in paths)

    @property
    def _folder(self) -> str:
        return os.path.dirname(os.path.realpath(self.path))

    def _name(self, path: str) -> str:
        try:
            return os.path.relpath(os.path.realpath(path), self._folder).replace(os.sep, "/")
        except ValueError:  # another drive
            return path

    def _identity(self, diagnostic: Diagnostic) -> Identity:
        return self._name(diagnostic.primary.span.file.path), diagnostic.rule, diagnostic.key


def _entry(entry: Any, where: str) -> tuple[Identity, int]:
    if isinstance(entry, dict):
        path, rule, key, count = (entry.get(name) for name in ("path", "rule", "key", "count"))
        if (
            isinstance(path, str)
            and isinstance(rule, str)
            and isinstance(key, str)
            and isinstance(count, int)
            and not isinstance(count, bool)
            and count > 0
            and "\0" not in path
        ):
            return (path, rule, key), count
    text = repr(entry)
    raise SettingsError(f"{where}: this entry can't be read: {text if len(text) < 80 else text[:77] + '...'}")
