"""Notes what a script would start, would write, and what is wrong with it."""

from __future__ import annotations

import re

from grpo_lint.located import Piece, Word
from grpo_lint.source import SourceFile, Span
from grpo_lint.syntax.shell import names
from grpo_lint.syntax.shell.builtins import Builtins
from grpo_lint.syntax.shell.conditions import shown
from grpo_lint.syntax.shell.script import Command, FolderPiece, Problem, Redirect, Script, WrittenFile
from grpo_lint.syntax.shell.tree import ListNode, Redirection, Simple
from grpo_lint.syntax.shell.values import World, Woven
from grpo_lint.syntax.shell.worlds import MAX_WORLDS, Verdict, merge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from grpo_lint.syntax.shell.worlds import When

MAX_PROBLEMS = 200
ANSWERS = frozenset(
    ("grep", "egrep", "fgrep", "zgrep", "rg", "diff", "cmp", "pgrep", "pidof", "which", "nc", "systemctl")
)
"""Programs whose exit status is an answer: neither outcome is presumed."""
LIMITS = ((400, MAX_WORLDS), (1_200, 6), (4_000, 3), (float("inf"), 1))
"""Worlds that are kept apart, by the steps taken so far."""

SETS = r"\b([A-Za-z_]\w*)(?:\[[^\]\n]{0,200}\])?\+?="
READS = r"\b(?:read|mapfile|readarray|for|getopts|printf)\b[^\n]*"
PLACEHOLDER = (
    r"(?i)<(?:your|my|path|insert|enter|fill|change|replace|put|the)[ _-][^<>|/]*>|<[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+>|"
    r"<[^<>|/]*(?:[ _-]here|[ _-]path|[ _-]dir|[ _-]key|[ _-]token)>"
)


class Emission(Builtins):
    script: Script
    load: Callable[[str], SourceFile | None] | None
    trees: dict[int, ListNode]
    evaluated: dict[tuple[int, str], tuple[Woven, ListNode]]
    steps: int
    nested: int
    calls: int
    route: list[tuple[int, int]]
    trail: list[Span]
    emitted: dict[object, list[tuple[Command, list[When]]]]
    written: list[tuple[WrittenFile, World]]
    background: bool
    piped: bool
    capturing: bool
    said: set[tuple[str, int]]

    def verdict(self, world: World) -> Verdict:
        """What the world's unknown status is about."""
        about = world.verdict
        if isinstance(about, Verdict):
            return about
        if isinstance(about, tuple):
            node, place = about
            span = place.span(node.start, node.end)
            text = shown(span.text)
            answers = getattr(node.words[0], "plain", "") in ANSWERS if node.words else False
            return Verdict(f"`{text}` succeeds", f"`{text}` fails", span, None, None if answers else True)
        span = self.place.span(0, 0)
        return Verdict("it succeeds", "it fails", span, None, True)

    def merged(self, worlds: list[World], statuses: bool = False) -> list[World]:
        """The worlds with equal ones joined; the more has been done, the fewer are kept apart."""
        return merge(worlds, next(limit for steps, limit in LIMITS if self.steps < steps), statuses)

    def problem(self, kind: str, message: str, span: Span, cause: Span | None = None) -> None:
        """Notes a fact once for each place."""
        key = kind, span.start
        if key not in self.said and len(self.said) < MAX_PROBLEMS:
            self.said.add(key)
            self.script.problems.append(Problem(kind, message, span, cause))

    def gave_up(self, message: str, span: Span) -> None:
        self.problem("gave-up", message, span)

    def split_note(self, found: list[tuple[Span, str]], word: Word) -> None:
        for span, text in found:
            self.problem(
                "unquoted-split", f"{span.text} holds blanks and is not quoted: {shown(text)!r} splits here", span
            )

    def emit(self, node: Simple, argv: list[Word], unsure: list[int], more: bool, world: World) -> None:
        env = self.exports(world)
        if node.assigns:
            env = dict(env)
            for assign in node.assigns:
                value = self.text(assign.value, world)
                where = assign.value or assign
                env[assign.name] = Word(tuple(value.pieces()), self.place.span(where.start, where.end))
        records = self.emitted.setdefault((id(node), *self.route), [])
        for command, whens in records:
            if same_words(command.argv, argv) and same_env(command.env, env):
                whens.append(world.when)
                return
        command = Command(argv, env, self.place.span(node.start, node.end))
        records.append((command, [world.when]))
        command.background, command.piped, command.captured = self.background, self.piped, self.capturing
        command.open_ended, command.unsure = more, tuple(unsure)
        command.via = tuple(reversed(self.trail))
        if world.cwd.parts and isinstance(world.cwd.parts[0], FolderPiece) and len(world.cwd.parts) == 1:
            command.folders = world.cwd.parts[0].folders
        if node.redirects:
            command.redirects = tuple(self.redirect(redirect, world) for redirect in node.redirects)
            self.writes(command, world)
        self.check_words(command, world)
        self.script.commands.append(command)

    def redirect(self, node: Redirection, world: World) -> Redirect:
        body = None
        if node.body is not None:
            span = self.place.span(node.body.start, node.body.end)
            body = Word(tuple(self.text(node.body, world).pieces()), span)
        word = self.redirect_word(node, world)
        if node.op == "<<<":
            body = word
        return Redirect(node.op, node.fd, word, self.place.span(node.start, node.end), body)

    def redirect_word(self, node: Redirection, world: World) -> Word:
        span = self.place.span(node.target.start, node.target.end)
        if node.op in ("<<", "<<-"):
            return Word((Piece(span.text, span),), span)
        return Word(tuple(self.text(node.target, world).pieces()), span)

    def redirected(self, nodes: list[Redirection], worlds: list[World]) -> None:
        """The redirections of a compound command: only what they run matters."""
        for node in nodes:
            if node.target.plain is None and node.op not in ("<<", "<<-", "<<<"):
                for world in worlds:
                    self.redirect_word(node, world)

    def writes(self, command: Command, world: World) -> None:
        """A here-document that the command writes to a file."""
        body = next((r.body for r in command.redirects if r.op in ("<<", "<<-") and r.body is not None), None)
        if body is None:
            return
        name = command.argv[0].text
        targets: list[tuple[Word, bool]] = []
        if name == "cat" and all(word.text == "-" for word in command.argv[1:]):
            targets = [(r.target, r.op == ">>") for r in command.redirects if r.op in (">", ">>", ">|")]
        elif name == "tee":
            append = any(word.text in ("-a", "--append") for word in command.argv)
            targets = [(word, append) for word in command.argv[1:] if not word.text.startswith("-")]
        for path, append in targets:
            written = WrittenFile(path, body, command.span, append, command.folders)
            written.when = world.when
            self.script.files.append(written)

    def check_words(self, command: Command, world: World) -> None:
        for word in command.argv:
            for piece in word.pieces:
                if piece.reason.endswith(" is not set in the script"):
                    name = piece.reason.split(" ", 1)[0]
                    if not names.from_environment(name):
                        self.missing.append((name, piece))
                elif "<" in piece.text and (found := re.search(PLACEHOLDER, piece.text)):
                    self.problem("placeholder", f"{found.group()} is left to be filled in", *written(piece))

    def unset_variables(self) -> None:
        """Notes the variables that commands use and that no file read here sets anywhere."""
        if not self.missing:
            return
        texts = [source.text for source in (self.main, *self.script.sourced)]
        found = {name for text in texts for name in re.findall(SETS, text)}
        found.update(word for text in texts for line in re.findall(READS, text) for word in re.findall(r"\w+", line))
        for name, piece in self.missing:
            if name not in found:
                self.problem("unset-variable", f"{name} is used but never set", *written(piece))

    missing: list[tuple[str, Piece]]
    main: SourceFile


def written(piece: Piece) -> tuple[Span, Span | None]:
    """Where a command uses the piece, and where it was first written if that is elsewhere."""
    return piece.span, piece.via[-1] if piece.via else None


def same_words(first: list[Word], second: list[Word]) -> bool:
    return len(first) == len(second) and all(a is b or a.text == b.text for a, b in zip(first, second, strict=True))


def same_env(first: dict[str, Word], second: dict[str, Word]) -> bool:
    if first is second:
        return True
    return first.keys() == second.keys() and all(word.text == second[name].text for name, word in first.items())
