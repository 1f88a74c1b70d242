"""What is worth telling of a script's text: faults anywhere, and the rest where it touches a launch of ours."""

from __future__ import annotations

from grpo_lint.located import Problem
from grpo_lint.patterns import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from grpo_lint.launch import Launch
    from grpo_lint.located import Piece
    from grpo_lint.source import Span

FAULTS = ("syntax", "continuation-blank-line", "continuation-trailing-blank", "comment-swallows", "carriage-return")
"""Kinds that are wrong whatever the command is."""

CUTS = ("continuation-blank-line", "continuation-trailing-blank", "comment-swallows")
_NOTHING = lazy(r"(?:\s|\\|#.*)*")

UNSET = "is not set in the script"
"""What the shell reader gives as the reason for a variable that the script never sets."""


_OPENED = lazy(r"<[\w][\w .:/-]*$")


def _placeholder(problem: Problem) -> Problem:
    """A syntax error at the `>` of `<your port>`, told as what it is."""
    span = problem.span
    before = span.file.text[max(span.file.text.rfind("\n", 0, span.start) + 1, span.start - 80) : span.start]
    opened = _OPENED.search(before)
    if problem.kind != "syntax" or not span.text.startswith(">") or opened is None:
        return problem
    place = span.file.span(span.start - len(opened[0]), span.start + 1)
    message = f"{place.text} is left to be filled in: bash takes its brackets for redirections"
    return Problem(message, place, "fill it in", problem.kind, problem.related, problem.fatal)


def telling(problems: Iterable[Problem], launches: list[Launch]) -> Iterator[Problem]:
    """The problems of a script to report, given the launches that a framework recognised."""
    for problem in problems:
        if problem.kind in FAULTS or (problem.kind == "gave-up" and launches):
            yield _placeholder(problem)
        elif problem.kind in ("placeholder", "unquoted-split") and _touches(problem.span, launches):
            yield _as(problem, "placeholder-in-launch") if problem.kind == "placeholder" else problem
    for launch in launches:
        yield from _unset(launch)


def cuts_short(command: Span, problems: Iterable[Problem]) -> bool:
    """Whether arguments that were meant for a command are lost right after it."""
    if command.file.text[command.end - 2 : command.end + 1] == "\\\r\n":
        return True
    for problem in problems:
        if problem.kind in CUTS and problem.span.file is command.file and problem.span.start >= command.end:
            if _NOTHING.fullmatch(command.file.text, command.end, problem.span.start):
                return True
    return False


def first_causes(problems: list[Problem]) -> list[Problem]:
    """The problems without those that follow from another: what Hydra can't read because bash split or cut it."""
    split = any(problem.kind == "unquoted-split" for problem in problems)
    return [
        problem
        for problem in problems
        if problem.kind != "hydra-syntax" or not (split or problem.span.text.strip(" \t\\") == "")
    ]


def _as(problem: Problem, kind: str) -> Problem:
    return Problem(problem.message, problem.span, problem.help, kind, problem.related, problem.fatal)


def _touches(span: Span, launches: list[Launch]) -> bool:
    """Whether a place lies in a word of a launch, or in what such a word was expanded from."""
    for launch in launches:
        for word in launch.argv:
            if any(_within(span, place) for place in (word.span, *(piece.span for piece in word.pieces))):
                return True
    return False


def _within(span: Span, outer: Span) -> bool:
    return span.file is outer.file and outer.start <= span.start and span.end <= outer.end


def _unset(launch: Launch) -> Iterator[Problem]:
    """One problem for all the variables of a launch that nothing sets."""
    first: dict[str, Piece] = {}
    for word in launch.args:
        for piece in word.pieces:
            name = piece.reason.removesuffix(UNSET).strip()
            if name != piece.reason:
                from grpo_lint.syntax.shell.names import from_environment

                if not from_environment(name):
                    first.setdefault(name, piece)
    if not first:
        return
    names, pieces = list(first), list(first.values())
    verb = "is" if len(names) == 1 else "are"
    message = f"{', '.join(names)} {verb} never set here: without the caller's environment, bash passes nothing"
    related = tuple((piece.span, name) for name, piece in list(first.items())[1:])
    help = f"give a default, such as ${{{names[0]}:-...}}, or stop without it: ${{{names[0]}:?}}"
    yield Problem(message, pieces[0].span, help, "unset-in-launch", related)
