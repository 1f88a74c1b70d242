"""The whole flow: paths -> files -> runs -> findings -> report."""

from __future__ import annotations

import os

from grpo_lint.diagnostics import RANK, Notice
from grpo_lint.discover import DOCUMENTATION, Repository, head_is_relevant, kind_of, relevant, shown, walk
from grpo_lint.frameworks import registry
from grpo_lint.report import Report, Suppressed, Undecided
from grpo_lint.run import Assembler, Reading, variants
from grpo_lint.runconfig import Version
from grpo_lint.selection import enforced, levels, meant, selected
from grpo_lint.source import SourceFile, Unreadable, decode, may_hold_credentials, read_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from grpo_lint.diagnostics import Diagnostic
    from grpo_lint.discover import Kind
    from grpo_lint.located import Problem
    from grpo_lint.rules.rule import Finding, Rule
    from grpo_lint.runconfig import RunConfig
    from grpo_lint.settings import Settings
    from grpo_lint.source import Span

    Key = tuple[str, Span]
    """What a finding is known by: its rule and its place."""

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

    `given` holds the bytes of files that are not to be read from where they lie, by path, `edited` those of files that
    lie there and are read as if they had these bytes, by resolved path. `progress` is told before each file how many
    were looked at and what was found so far.
    """

    def __init__(
        self,
        settings: Settings,
        given: dict[str, bytes] | None = None,
        progress: Callable[[int, int], None] | None = None,
        edited: dict[str, bytes] | None = None,
    ) -> None:
        self.settings = settings
        self.given = given or {}
        self.edited = edited or {}
        self.progress = progress
        self.rules = selected(settings)
        self.levels = levels(self.rules, settings)
        self.notices: list[Notice] = []
        self.errors = False
        self.files = 0
        self.seen: set[str] = set()  # resolved paths of all files that were looked at
        self.runs = 0
        self._undecided: dict[tuple[str, str], Undecided] = {}
        self._found: dict[Key, Diagnostic] = {}
        self._times: dict[Key, int] = {}  # how often a reader told of a problem with the text
        self._judged_runs: list[tuple[RunConfig, RunConfig, set[Key]]] = []  # (run, variant of it, its findings)
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
        self._keep_shared()
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

    def _keep_shared(self) -> None:
        """Offer no fix that changes a run which is not at fault."""
        fixable = {key: found for key, found in self._found.items() if found.fix is not None}
        if fixable and self._judged_runs:
            from grpo_lint.sharing import keep

            keep(fixable, self._judged_runs, self._times)

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
        seen = self.seen
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
            data = self._bytes(path)
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

    def _bytes(self, path: str) -> bytes:
        edited = self.edited.get(os.path.realpath(path)) if self.edited else None
        given = self.given.get(path) if edited is None else edited
        return read_bytes(path) if given is None else given

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
            for real, data in self.edited.items():
                new.put(real, SourceFile(shown(real), decode(data)))
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
        for run in file.reading.runs:
            for variant in self._variants(run):
                self._judged_runs.append((run, variant, self._judge_run(variant)))

    def variants(self, file: File) -> Iterator[RunConfig]:
        """The runs of a file, once for each combination of the values that their options may take."""
        for run in file.reading.runs:
            yield from self._variants(run)

    def _variants(self, run: RunConfig) -> Iterator[RunConfig]:
        for variant in variants(run):
            if self.settings.hardware:
                from grpo_lint.hardware import assume

                assume(variant, self.settings)
            yield variant

    def _judge_text(self, problem: Problem) -> None:
        for rule in self.rules:
            if problem.kind in rule.kinds and rule.text_check is not None:
                for finding in rule.text_check(problem):
                    key = rule.id, self._add(rule, finding, problem.span, ()).primary.span
                    self._times[key] = self._times.get(key, 0) + 1

    def _judge_run(self, run: RunConfig) -> set[Key]:
        """Judge a run, and return what its findings are known by."""
        frameworks = run.frameworks
        found = [
            (rule, finding) for rule in self.rules if rule.applies(frameworks) for finding in self._apply(rule, run)
        ]
        if self.settings.strict_forms:
            from grpo_lint.verdicts import with_strict_forms

            found = with_strict_forms(found, run, self.rules, self.settings.profile)
        return {(rule.id, self._add(rule, finding, run.anchor, run.when).primary.span) for rule, finding in found}

    def _apply(self, rule: Rule, run: RunConfig) -> Iterable[Finding]:
        reason = rule.undecided(run)
        if reason:
            path = run.anchor.file.path
            self._undecided.setdefault((rule.id, path), Undecided(rule.id, path, reason))
            return ()
        return () if rule.silent(run) or rule.check is None else rule.check(run)

    def _add(self, rule: Rule, finding: Finding, anchor: Span, when: tuple[str, ...]) -> Diagnostic:
        """Make a finding a diagnostic; the same rule at the same place in several runs is one."""
        from grpo_lint.placement import diagnosed

        diagnostic = diagnosed(rule, finding, anchor, when)
        diagnostic.severity = self.levels.get(rule.id, diagnostic.severity)
        before = self._found.setdefault((rule.id, diagnostic.primary.span), diagnostic)
        if not diagnostic.when:
            before.when = ()
        if before is not diagnostic and before.fix is not None:
            from grpo_lint.sharing import agreed

            before.fix = agreed(before.fix, diagnostic.fix)
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
