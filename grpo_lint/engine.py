"""The whole flow: paths -> files -> runs -> findings -> report."""

from __future__ import annotations

import os

from grpo_lint.diagnostics import Diagnostic, Label, Notice
from grpo_lint.discover import Repository, kind_of, relevant, shown, walk
from grpo_lint.frameworks import registry
from grpo_lint.nearest import suggestion
from grpo_lint.report import Report, Undecided
from grpo_lint.rules import RULES
from grpo_lint.run import Assembler, variants
from grpo_lint.settings import SettingsError
from grpo_lint.source import SourceFile, Span, Unreadable, decode, read_bytes
from grpo_lint.unified import Setting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from grpo_lint.discover import Kind
    from grpo_lint.located import Problem
    from grpo_lint.rules.rule import Check, Finding, Rule
    from grpo_lint.run import Reading
    from grpo_lint.runconfig import RunConfig
    from grpo_lint.settings import Settings

SNIFFED = 65_536
"""Bytes of a file's head that are enough to see whether it is ours, where the whole can't be read."""


class MissingPath(Exception):
    """A path that the user named doesn't exist."""


class File:
    """A file to lint: where it lies, its text and kind, and what it was read as."""

    __slots__ = ("kind", "path", "reading", "source")

    def __init__(self, path: str, source: SourceFile, kind: Kind, reading: Reading) -> None:
        self.path = path
        self.source = source
        self.kind = kind
        self.reading = reading


class Linter:
    """One linting: reads files, judges runs, and gathers what it found."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.rules = selected(settings)
        self.markers = registry.markers()
        self.notices: list[Notice] = []
        self.errors = False
        self.files = 0
        self.runs = 0
        self._undecided: dict[tuple[str, str], Undecided] = {}
        self._found: dict[tuple[str, Span], Diagnostic] = {}
        self._assemblers: dict[str, Assembler] = {}

    def check(self, paths: Iterable[str]) -> Report:
        """Lint files and directories. Raises MissingPath before anything is read."""
        for file in self.read(paths):
            try:
                self._judge_file(file)
            except Exception as error:
                self._failed(file.path, error)
        order = sorted(self._found.values(), key=lambda diagnostic: diagnostic.order)
        undecided = tuple(self._undecided.values())
        return Report(tuple(order), self.rules, tuple(self.notices), undecided, self.files, self.runs, self.errors)

    # -- reading

    def read(self, paths: Iterable[str]) -> Iterator[File]:
        """Each file of ours under the paths, read into its runs; what can't be read becomes a notice."""
        paths = list(paths)
        for path in paths:
            if not os.path.lexists(path):
                raise MissingPath(path)
        seen = set[str]()
        for path in paths:
            named = not os.path.isdir(path)
            for name in (path,) if named else walk(path, self._unlisted):
                real = os.path.realpath(name)
                if real not in seen:
                    seen.add(real)
                    self.files += 1
                    file = self._read_file(name, path, named)
                    if file is not None:
                        yield file

    def _read_file(self, path: str, below: str, named: bool) -> File | None:
        try:
            data = read_bytes(path)
            kind = kind_of(path, data)
            if kind is None or not relevant(data, self.markers):
                return None
            source = SourceFile(shown(path), decode(data))
        except Unreadable as error:
            self._unreadable(path, str(error), named)
            return None
        assembler = self._assembler(below)
        assembler.repository.put(path, source)
        try:
            reading = assembler.read(source, path, kind)
        except Exception as error:
            self._failed(path, error)
            return None
        self.runs += len(reading.runs)
        return File(path, source, kind, reading)

    def _assembler(self, path: str) -> Assembler:
        """One for each path that the user named, so that files are read once."""
        if path not in self._assemblers:
            self._assemblers[path] = Assembler(Repository.around(path), self.settings.targets)
        return self._assemblers[path]

    def _unreadable(self, path: str, why: str, named: bool) -> None:
        """A file that can't be read matters when the user named it or when it is ours by its head."""
        ours = _head_is_relevant(path, self.markers)
        if ours or (named and ours is None):
            self.errors = self.errors or named
        elif not named:
            return
        self.notices.append(Notice(shown(path), why))

    def _unlisted(self, folder: str, why: str) -> None:
        """A folder that can't be listed may hold anything."""
        self.errors = True
        self.notices.append(Notice(shown(folder), f"can't list this folder: {why}"))

    def _failed(self, path: str, error: Exception) -> None:
        """A fault of the linter itself: this file is lost, the others are not."""
        self.errors = True
        what = f"{type(error).__name__}: {error}".splitlines()[0]
        self.notices.append(Notice(shown(path), f"internal error, please report it: {what}"))

    # -- judging

    def _judge_file(self, file: File) -> None:
        for problem in file.reading.problems:
            self._judge_text(problem)
        for run in file.reading.runs:
            for variant in variants(run):
                self._judge_run(variant)

    def _judge_text(self, problem: Problem) -> None:
        for rule in self.rules:
            if problem.kind in rule.kinds and rule.text_check is not None:
                for finding in rule.text_check(problem):
                    self._add(rule, finding, problem.span, ())

    def _judge_run(self, run: RunConfig) -> None:
        for rule in self.rules:
            if rule.check is not None:
                self._apply(rule, rule.check, run)

    def _apply(self, rule: Rule, check: Check, run: RunConfig) -> None:
        for name in rule.needs:
            setting: Setting = getattr(run, name)
            if not setting.decided:
                reason = f"{name}: {setting.reason or 'it has more than one value'}"
                path = run.anchor.file.path
                self._undecided.setdefault((rule.id, path), Undecided(rule.id, path, reason))
                return
        for finding in check(run):
            self._add(rule, finding, run.anchor, run.when)

    def _add(self, rule: Rule, finding: Finding, anchor: Span, when: tuple[str, ...]) -> None:
        """Make a finding a diagnostic; the same rule at the same place in several runs is one."""
        diagnostic = located(rule, finding, anchor, when)
        key = (rule.id, diagnostic.primary.span)
        before = self._found.get(key)
        if before is None:
            self._found[key] = diagnostic
        elif not diagnostic.when:
            before.when = ()


def selected(settings: Settings) -> tuple[Rule, ...]:
    """The rules that the settings ask for. Raises SettingsError for a name that means none."""
    for name in (*settings.select, *settings.ignore):
        if not any(_matches(rule, name) for rule in RULES):
            known = {each for rule in RULES for each in (rule.id, rule.name, *rule.topics)}
            hint = suggestion(name, known, "`grpo-lint rules` lists them")
            raise SettingsError(f"no rule, prefix or topic is called {name!r}{hint}")
    return tuple(
        rule
        for rule in RULES
        if (not settings.select or any(_matches(rule, name) for name in settings.select))
        and not any(_matches(rule, name) for name in settings.ignore)
    )


def _matches(rule: Rule, name: str) -> bool:
    upper = name.upper()
    return (
        upper in (rule.id, "ALL")
        or name in (rule.name, *rule.topics)
        or (upper.isalpha() and rule.id[: len(upper)] == upper)
    )


def _head_is_relevant(path: str, markers: tuple[bytes, ...]) -> bool | None:
    """Whether a file's first bytes hold a word of a framework; None when not even those can be read."""
    try:
        if not os.path.isfile(path):
            return None
        with open(path, "rb") as stream:
            return kind_of(path) is not None and relevant(stream.read(SNIFFED), markers)
    except OSError:
        return None


def located(rule: Rule, finding: Finding, anchor: Span, when: tuple[str, ...]) -> Diagnostic:
    """A finding with its places: the marked value, where it came from, and what it collides with."""
    at, label = finding.at, finding.label
    others = list(finding.others)
    related: list[Label] = []
    if not isinstance(at, Setting):
        span, key = at, ""
    elif at.origin is None or at.origin.span is None:
        (span, label), key = _stand_in(at, others, anchor, finding.message), at.key
    else:
        span, key = at.origin.span, at.key
        related += [Label(place, _role(place, span)) for place in at.origin.via]
        related += [Label(origin.span, "overrides this") for origin in at.chain[:-1] if origin.span is not None]
    for other, text in others:
        place = other.span if isinstance(other, Setting) else other
        if place is not None and place != span:
            related.append(Label(place, text))
    return Diagnostic(
        rule.id,
        finding.severity or rule.severity,
        finding.message,
        Label(span, label),
        tuple(_distinct(related)),
        finding.help,
        finding.fix,
        key,
        when,
    )


def _role(place: Span, value: Span) -> str:
    """What a place on a value's way has to do with it: what set it stands before it, what uses it after."""
    later = place.file.path == value.file.path and place.start > value.start
    return "used here" if later else "the value comes from here"


def _stand_in(at: Setting, others: list[tuple[Setting | Span, str]], anchor: Span, message: str) -> tuple[Span, str]:
    """The place to mark for a value that stands nowhere, since it is a default: the first other one that does.

    The default is told beside it, unless the message tells it already.
    """
    note = at.origin.note if at.origin is not None else ""
    default = f"{at.key} is {at.value}: {note}" if note and at.key not in message else ""
    for other, text in others:
        place = other.span if isinstance(other, Setting) else other
        if place is not None:
            return place, "; ".join(part for part in (text, default) if part)
    return anchor, default


def _distinct(labels: list[Label]) -> Iterator[Label]:
    seen = set[tuple[Span, str]]()
    for label in labels:
        if (label.span, label.text) not in seen:
            seen.add((label.span, label.text))
            yield label
