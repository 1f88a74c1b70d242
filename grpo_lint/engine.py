"""The whole flow: paths -> files -> runs -> findings -> report."""

from __future__ import annotations

import os

from grpo_lint.diagnostics import RANK, Diagnostic, Label, Notice
from grpo_lint.discover import DOCUMENTATION, Repository, head_is_relevant, kind_of, relevant, shown, walk
from grpo_lint.frameworks import registry
from grpo_lint.report import Report, Suppressed, Undecided
from grpo_lint.run import Assembler, Reading, variants
from grpo_lint.runconfig import Version
from grpo_lint.selection import enforced, levels, meant, selected
from grpo_lint.source import SourceFile, Span, Unreadable, decode, may_hold_credentials, read_bytes
from grpo_lint.unified import Setting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from grpo_lint.discover import Kind
    from grpo_lint.located import Problem
    from grpo_lint.rules.rule import Finding, Rule
    from grpo_lint.runconfig import RunConfig
    from grpo_lint.settings import Settings

MARK = "grpo-lint:"
"""Stands in each comment that is addressed to us; without it, the code that reads them isn't even imported."""


class MissingPath(Exception):
    """A path that the user named doesn't exist."""


class File:
    """A file to lint: where it lies, its text and kind, what it was read as, and the path of the user's it is below."""

    __slots__ = ("below", "kind", "path", "reading", "source")

    def __init__(self, path: str, source: SourceFile, kind: Kind, reading: Reading, below: str) -> None:
        self.path = path
        self.source = source
        self.kind = kind
        self.reading = reading
        self.below = below

    @property
    def whole(self) -> bool:
        """Whether all of it was read, with all that its runs name: a finding that isn't there then proves something."""
        runs = self.reading.runs
        fatal = any(problem.fatal for problem in self.reading.problems)
        return bool(runs) and not fatal and all(run.complete for run in runs)


class Linter:
    """One linting: reads files, judges runs, and gathers what it found.

    `given` holds the bytes of files that are not to be read from where they lie, by path. `progress` is told before
    each file how many were looked at and what was found so far.
    """

    def __init__(
        self,
        settings: Settings,
        given: dict[str, bytes] | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.settings = settings
        self.given = given or {}
        self.progress = progress
        self.rules = selected(settings)
        self.levels = levels(self.rules, settings)
        self.notices: list[Notice] = []
        self.errors = False
        self.files = 0
        self.runs = 0
        self._undecided: dict[tuple[str, str], Undecided] = {}
        self._found: dict[tuple[str, Span], Diagnostic] = {}
        self._assemblers: dict[str, Assembler] = {}  # by path that the user named
        self._repositories: dict[str, Assembler] = {}  # by root
        self._commented: list[File] = []
        self._targets = {
            name: Version(text, settings.origins.get(f"targets.{name}", "the settings"))
            for name, text in settings.targets.items()
        }

    def check(self, paths: Iterable[str]) -> Report:
        """Lint files and directories. Raises MissingPath before anything is read."""
        for file in self.read(paths):
            try:
                self._judge_file(file)
            except Exception as error:
                self._failed(file.path, error)
            if MARK in file.source.text:
                self._commented.append(file)
        kept, suppressed = self._suppress()
        least = RANK[self.settings.min_severity]
        return Report(
            tuple(diagnostic for diagnostic in kept if RANK[diagnostic.severity] >= least),
            self.rules,
            tuple(self.notices),
            tuple(self._undecided.values()),
            self.files,
            self.runs,
            self.errors,
            tuple(one for one in suppressed if RANK[one.diagnostic.severity] >= least),
            tuple(self._repositories),
        )

    def _suppress(self) -> tuple[list[Diagnostic], list[Suppressed]]:
        """What was found, in order: the findings that count, and those that comments or the settings suppress."""
        found, suppressed = list(self._found.values()), list[Suppressed]()
        if any(MARK in source.text for source in {diagnostic.primary.span.file for diagnostic in found}) or (
            self._commented
        ):
            found, suppressed = self._obey_comments(found)
        if self.settings.per_file_ignores:
            found, ignored = per_file(found, self.settings)
            suppressed += ignored
        suppressed.sort(key=lambda one: one.diagnostic.order)
        return sorted(found, key=lambda diagnostic: diagnostic.order), suppressed

    def _obey_comments(self, found: list[Diagnostic]) -> tuple[list[Diagnostic], list[Suppressed]]:
        """Apply the comments to what was found, then say what is wrong with the comments, which they may suppress."""
        from grpo_lint.suppress import Suppressions

        comments = Suppressions(enforced(self.settings), self._failed)
        kept, suppressed = comments.apply(found)
        for own in (False, True):
            self._found = {}
            for file in self._commented:
                if not own:
                    for problem in comments.faults(file.source, self.settings.require_reason):
                        self._judge_text(problem)
                for problem in comments.unused(file.source, self._judged(file), own):
                    self._judge_text(problem)
            more, hidden = comments.apply(self._found.values()) if not own else (self._found.values(), ())
            kept += more
            suppressed += hidden
        return kept, suppressed

    def _judged(self, file: File) -> Callable[[str], bool]:
        """Tells by its id whether a rule was enabled and had its say about a file.

        What uses a config file may lie outside of what is linted, unless that is the whole repository.
        """
        alone = file.kind != "shell" and not self._holds_repository(file.below)
        judged = file.whole and not alone
        ids = {rule.id for rule in self.rules if rule.judges or rule.kinds} if judged else set()
        path = shown(file.path)
        ids -= {rule for rule, where in self._undecided if file.kind != "shell" or where == path}
        return ids.__contains__

    # -- reading

    def read(self, paths: Iterable[str]) -> Iterator[File]:
        """Each file of ours under the paths, read into its runs; what can't be read becomes a notice."""
        paths = list(paths)
        for path in paths:
            if path not in self.given and not os.path.lexists(path):
                raise MissingPath(path)
        seen = set[str]()
        for path in paths:
            named = not os.path.isdir(path)
            for name in (path,) if named else walk(path, self._unlisted, self._left_out):
                real = os.path.realpath(name)
                if real not in seen and not self._excluded(name, named) and self._counts(name, named):
                    seen.add(real)
                    self.files += 1
                    if self.progress is not None:
                        self.progress(self.files, len(self._found))
                    file = self._read_file(name, path, named)
                    if file is not None:
                        yield file

    def _read_file(self, path: str, below: str, named: bool) -> File | None:
        try:
            data = self.given[path] if path in self.given else read_bytes(path)
            kind = kind_of(path, data)
            ours = kind is not None and relevant(data, registry.markers(kind))
            if kind is None or not (ours or may_hold_credentials(data)):
                return None
            source = SourceFile(shown(path), decode(data))
        except Unreadable as error:
            self._unreadable(path, str(error), named)
            return None
        if not ours and not source.credentials:
            return None
        assembler = self._assembler(below)
        assembler.repository.put(path, source)
        try:
            reading = assembler.read(source, path, kind) if ours else Reading()
            if source.credentials:
                from grpo_lint.rules.security.credentials import problems

                reading.problems += problems(source)
        except Exception as error:
            self._failed(path, error)
            return None
        self.runs += len(reading.runs)
        return File(path, source, kind, reading, below)

    def _holds_repository(self, path: str) -> bool:
        """Whether a path that the user named holds all of its repository."""
        root = self._assembler(path).repository.root
        return os.path.isdir(path) and f"{root}{os.sep}".startswith(os.path.realpath(path).rstrip(os.sep) + os.sep)

    def _left_out(self, path: str) -> bool:
        return any(patterns.match(path) for patterns in self.settings.exclude)

    def _excluded(self, path: str, named: bool) -> bool:
        """Whether the settings leave a file out; a file that the user named isn't passed over in silence."""
        for patterns in self.settings.exclude if named else ():
            if patterns.match(path):
                self.notices.append(Notice(shown(path), f"not linted: {patterns.origin} excludes it"))
                return True
        include = self.settings.include
        return not named and bool(include) and not any(patterns.match(path) for patterns in include)

    def _counts(self, name: str, named: bool) -> bool:
        """Whether a file is of a kind that the settings let count; documentation has to be asked for."""
        if self.settings.include_docs or os.path.splitext(name)[1].lower() not in DOCUMENTATION:
            return True
        if named:
            self.notices.append(Notice(shown(name), "not linted: documentation is read with --include-docs"))
        return False

    def _assembler(self, path: str) -> Assembler:
        """One for each repository, of however many files of it are named, so that what they share is read once."""
        if path not in self._assemblers:
            new = Repository.around(path)
            same = self._repositories.setdefault(new.root, Assembler(new, self._targets))
            self._assemblers[path] = same
        return self._assemblers[path]

    def _unreadable(self, path: str, why: str, named: bool) -> None:
        """A file that can't be read matters when the user named it or when it is ours by its head."""
        ours = head_is_relevant(path, registry.markers)
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
        for run in self.variants(file):
            self._judge_run(run)

    def variants(self, file: File) -> Iterator[RunConfig]:
        """The runs of a file, once for each combination of the values that their options may take."""
        for run in file.reading.runs:
            for variant in variants(run):
                if self.settings.hardware:
                    from grpo_lint.hardware import assume

                    assume(variant, self.settings)
                yield variant

    def _judge_text(self, problem: Problem) -> None:
        for rule in self.rules:
            if problem.kind in rule.kinds and rule.text_check is not None:
                for finding in rule.text_check(problem):
                    self._add(rule, finding, problem.span, ())

    def _judge_run(self, run: RunConfig) -> None:
        frameworks = run.frameworks
        found = [
            (rule, finding) for rule in self.rules if rule.applies(frameworks) for finding in self._apply(rule, run)
        ]
        if self.settings.strict_forms:
            from grpo_lint.verdicts import with_strict_forms

            found = with_strict_forms(found, run, self.rules, self.settings.profile)
        for rule, finding in found:
            self._add(rule, finding, run.anchor, run.when)

    def _apply(self, rule: Rule, run: RunConfig) -> Iterable[Finding]:
        reason = rule.undecided(run)
        if reason:
            path = run.anchor.file.path
            self._undecided.setdefault((rule.id, path), Undecided(rule.id, path, reason))
            return ()
        return () if rule.silent(run) or rule.check is None else rule.check(run)

    def _add(self, rule: Rule, finding: Finding, anchor: Span, when: tuple[str, ...]) -> Diagnostic:
        """Make a finding a diagnostic; the same rule at the same place in several runs is one."""
        diagnostic = located(rule, finding, anchor, when)
        diagnostic.severity = self.levels.get(rule.id, diagnostic.severity)
        key = (rule.id, diagnostic.primary.span)
        before = self._found.setdefault(key, diagnostic)
        if not diagnostic.when:
            before.when = ()
        return before


def per_file(found: list[Diagnostic], settings: Settings) -> tuple[list[Diagnostic], list[Suppressed]]:
    """The findings that stay, and those that `per-file-ignores` suppresses."""
    kept: list[Diagnostic] = []
    suppressed: list[Suppressed] = []
    matching: dict[str, dict[str, str]] = {}  # path: {id of a rule: which patterns and settings ignore it there}
    for diagnostic in found:
        path = diagnostic.primary.span.file.path
        if path not in matching:
            matching[path] = {
                rule.id: f"{entry.origin} ignores it in {entry.patterns[0]}"
                for entry in settings.per_file_ignores
                if entry.match(path)
                for name in entry.names
                for rule in meant(name)
            }
        reason = matching[path].get(diagnostic.rule)
        if reason is None:
            kept.append(diagnostic)
        else:
            suppressed.append(Suppressed(diagnostic, "per-file-ignores", reason))
    return kept, suppressed


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
        related += [Label(place, _role(place, span)) for place in _innermost(at.origin.via)]
        related += [Label(origin.span, "overrides this") for origin in at.chain[:-1] if origin.span is not None]
    for other, text in others:
        place = other.span if isinstance(other, Setting) else other
        if place is not None:
            related.append(Label(place, text))
    return Diagnostic(
        rule.id,
        finding.severity or rule.severity,
        finding.message,
        Label(span, label),
        tuple(label for label in _distinct(related) if label.span != span),
        finding.help,
        finding.fix if finding.fix and not any(span.masked for span, _ in finding.fix.edits) else None,
        key,
        when,
    )


def _innermost(places: tuple[Span, ...]) -> Iterator[Span]:
    """Places without those that hold another of them: of `${N:-8}` and the 8 in it, the 8 is the value."""
    for place in places:
        if not any(
            other is not place and other.file is place.file and place.start <= other.start and other.end <= place.end
            for other in places
        ):
            yield place


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
