"""Applies suppressing comments to findings, and finds fault with the comments themselves."""

from __future__ import annotations

from grpo_lint import directives
from grpo_lint.diagnostics import Fix
from grpo_lint.discover import kind_of
from grpo_lint.located import Problem
from grpo_lint.report import Suppressed
from grpo_lint.selection import hint, meant
from grpo_lint.source import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from grpo_lint.diagnostics import Diagnostic
    from grpo_lint.directives import Directive, Item
    from grpo_lint.source import SourceFile

UNUSED, NO_REASON, UNKNOWN, UNREADABLE = (
    "unused-suppression",
    "suppression-without-reason",
    "unknown-suppressed-rule",
    "unreadable-suppression",
)
"""Kinds of problems, by which the rules pick them up."""

OWN = "LNT"
"""Ids of the rules about the linting itself start so."""


class Suppressions:
    """The suppressing comments of one linting.

    `enforced` tells by a rule's id that no comment can suppress it; `failed` is told of a file whose comments the
    linter can't read for a fault of its own.
    """

    def __init__(self, enforced: Callable[[str], bool], failed: Callable[[str, Exception], None]) -> None:
        self._enforced = enforced
        self._failed = failed
        self._files: dict[str, list[Directive]] = {}
        self._meant: dict[str, frozenset[str]] = {}
        self._used: set[tuple[Span, Span]] = set()

    def read(self, source: SourceFile) -> list[Directive]:
        """A file's directives, the closest to a finding first: for a line, for a statement (the shortest), the file."""
        path = source.path
        if path not in self._files:
            found: list[Directive] = []
            try:
                found = directives.read(source, kind_of(path, source.text[:200].encode("utf-8", "replace")))
            except Exception as error:
                self._failed(path, error)
            rank = {"line": 0, "next": 1, "file": 2}
            self._files[path] = sorted(found, key=lambda one: (rank[one.scope], one.end - one.start))
        return self._files[path]

    def apply(self, found: Iterable[Diagnostic]) -> tuple[list[Diagnostic], list[Suppressed]]:
        """The findings that stay, and those that a comment suppresses."""
        kept: list[Diagnostic] = []
        suppressed: list[Suppressed] = []
        for diagnostic in found:
            directive = self._for(diagnostic)
            if directive is None:
                kept.append(diagnostic)
            else:
                suppressed.append(Suppressed(diagnostic, "comment", directive.reason, directive.span))
        return kept, suppressed

    def _for(self, diagnostic: Diagnostic) -> Directive | None:
        source = diagnostic.primary.span.file
        if directives.MARK not in source.text or self._enforced(diagnostic.rule):
            return None
        for directive in self.read(source):
            for item in directive.items:
                if (
                    item.concerns(diagnostic.key)
                    and directive.covers(diagnostic.primary.span)
                    and diagnostic.rule in self.meant(item.name)
                ):
                    self._used.add((directive.span, item.span))
                    return directive
        return None

    def meant(self, name: str) -> frozenset[str]:
        """The ids of the rules that a name means."""
        if name not in self._meant:
            self._meant[name] = frozenset(rule.id for rule in meant(name))
        return self._meant[name]

    # -- the comments themselves

    def faults(self, source: SourceFile, require_reason: bool) -> Iterator[Problem]:
        """What is wrong with the comments of a file whatever was found in it."""
        for directive in self.read(source):
            if not directive.items:
                yield Problem(
                    f"`{directive.text}` suppresses nothing: it can't be read",
                    directive.span,
                    "write `grpo-lint: ignore[RULE] reason` or `grpo-lint: ignore-file[RULE] reason`",
                    UNREADABLE,
                    fix=self._readable(directive),
                )
            elif require_reason and not directive.reason:
                yield Problem(
                    f"`{directive.text}` gives no reason, and the settings ask for one",
                    directive.span,
                    "write after the bracket why the finding does not matter here",
                    NO_REASON,
                )
            for item in directive.items:
                if not self.meant(item.name):
                    text = f"no rule, prefix or topic is called {item.name!r}: this suppresses nothing"
                    help = hint(item.name).removeprefix("; ").removesuffix("?")
                    yield Problem(text, item.span, help, UNKNOWN, fix=_named(item, help))

    def _readable(self, directive: Directive) -> Fix | None:
        """Write an instruction in our words where the rules that it means are plain: `ignore[X]` for `disable=X`."""
        place = directives.meant(directive.span)
        if place is None or not all(self.meant(name.strip()) for name in place[1].split(",")):
            return None
        text = f"ignore[{place[1]}]"
        return Fix(f"write {text}", ((place[0], text),), safe=False)

    def unused(self, source: SourceFile, judged: Callable[[str], bool], own: bool) -> Iterator[Problem]:
        """The comments, or rules in them, that suppress nothing; those about the linter's own rules, or all others.

        `judged` tells by a rule's id whether it was enabled and had its say about the file.
        """
        for directive in self.read(source):
            idle = [item for item in directive.items if self._idle(directive, item, judged, own)]
            if idle:
                whole = len(idle) == len(directive.items)
                enforced = all(self._enforced(id) for item in idle for id in self.meant(item.name))
                why = "the settings say that no comment can" if enforced else "there is no such finding here"
                names = ", ".join(item.text for item in idle)
                span = directive.span if whole else idle[0].span
                text = f"`{directive.text if whole else names}` suppresses nothing: {why}"
                yield Problem(text, span, "remove it", UNUSED, fix=_without(directive, idle))

    def _idle(self, directive: Directive, item: Item, judged: Callable[[str], bool], own: bool) -> bool:
        if (directive.span, item.span) in self._used:
            return False
        ids = self.meant(item.name)
        if not ids or all(id.startswith(OWN) for id in ids) != own:
            return False
        return all(judged(id) or self._enforced(id) for id in ids)


def _named(item: Item, help: str) -> Fix | None:
    """Write the name that a rule's may be a slip of the pen for. Something is suppressed then that wasn't."""
    name = help.removeprefix("did you mean ") if help.startswith("did you mean ") else ""
    if not name or item.name[-1:].isdigit():  # of ids, each is near to many
        return None
    span = item.span.file.span(item.span.start, item.span.start + len(item.name))
    return Fix(f"write {name}", ((span, name),), safe=False) if span.text == item.name else None


def _without(directive: Directive, idle: list[Item]) -> Fix | None:
    """The edit that takes rules out of a comment, or the comment away when nothing is left of it."""
    kept = [item for item in directive.items if item not in idle]
    if not kept:
        if directive.removable is None:
            return None
        return Fix("remove the comment", ((directive.removable, ""),), safe=True)
    span = Span(directive.span.file, directive.items[0].span.start, directive.items[-1].span.end)
    title = f"remove {', '.join(item.text for item in idle)} from the comment"
    return Fix(title, ((span, ", ".join(item.text for item in kept)),), safe=True)
