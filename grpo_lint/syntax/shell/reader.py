"""From a script's text to what it would start."""

from __future__ import annotations

import re

from grpo_lint.located import Piece
from grpo_lint.patterns import lazy
from grpo_lint.source import SourceFile, Span
from grpo_lint.syntax.shell.compound import parse
from grpo_lint.syntax.shell.evaluator import Evaluator
from grpo_lint.syntax.shell.script import FolderPiece, Problem, Script, normalize
from grpo_lint.syntax.shell.tree import ListNode, Simple
from grpo_lint.syntax.shell.values import Text, Variable, World, Written
from grpo_lint.syntax.shell.worlds import summary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from grpo_lint.located import Word


ARGUMENT = lazy(r"--?[A-Za-z]|\+{0,2}~?[A-Za-z_][\w]*(?:\.[\w]+)+=|\+{1,2}[A-Za-z_]\w*=")
"""How a line starts that belongs to a command above it and is no command of its own."""
BETWEEN = r"[ \t\n\\]*(?:#[^\n]*(?:\n[ \t\n\\]*|$))*"
"""Blanks, line ends, backslashes and comments."""
TRAILING = lazy(r"\\[ \t]+$")


def read(
    source: SourceFile,
    load: Callable[[str], SourceFile | None] | None,
    path: str,
    environment: dict[str, str] | None,
    directory: str,
    variables: dict[str, Word] | None = None,
    bounds: tuple[int, int | None] = (0, None),
) -> Script:
    """`directory`: the working directory, where an environment is given. `variables`: what surrounds the script, which
    lies between the offsets `bounds`."""
    text = source.text
    evaluator = prepared(source, load, path, environment, directory)
    script = evaluator.script
    at = text.find("\r\n")
    if at >= 0:
        from grpo_lint.syntax.shell import returns

        script.problems.append(Problem("carriage-return", "lines end with CR LF", Span(source, at, at + 1)))
        body, faults = returns.parse(text)
    else:
        body, faults = parse(text, *bounds)
    script.problems.extend(Problem(f.kind, f.message, Span(source, f.start, f.end)) for f in faults)
    if at < 0:  # else each continued line is broken, and all for one cause
        cut_off(body, source, script)
    world = World()
    span = Span(source, 0, 0)
    for name, word in (variables or {}).items():
        world.vars[name] = variable = Variable(word.span, Text(word.pieces))
        variable.exported = True
    if environment is None:
        folders = tuple(dict.fromkeys((path.rpartition("/")[0], "")))
        world.cwd = Text((FolderPiece(folders, span, (), "the working directory depends on the caller"),))
        world.open_at = 0
    else:
        world.cwd = Text((Piece(directory, span),))
    evaluator.finish(evaluator.execute(body, [world]))
    evaluator.unset_variables()
    for records in evaluator.emitted.values():
        for command, whens in records:
            command.when = summary(whens) if len(whens) > 1 else whens[0]
    return script


def prepared(
    source: SourceFile,
    load: Callable[[str], SourceFile | None] | None,
    path: str,
    environment: dict[str, str] | None,
    directory: str,
) -> Evaluator:
    evaluator = Evaluator()
    span = Span(source, 0, 0)
    folder, _, name = path.rpartition("/")
    evaluator.environment = environment
    evaluator.script_folders = (folder,)
    evaluator.place = Written(source, (folder,))
    if environment is None:
        evaluator.script_name = Text((FolderPiece((normalize(folder) or "",), span), Piece("/" + name, span)))
    else:
        evaluator.script_name = Text((Piece(path, span),))
    evaluator.main, evaluator.load, evaluator.script = source, load, Script()
    evaluator.trees, evaluator.evaluated, evaluator.emitted, evaluator.said = {}, {}, {}, set()
    evaluator.route, evaluator.trail = [], []
    evaluator.steps = evaluator.nested = evaluator.calls = evaluator.sourcing = 0
    evaluator.background = evaluator.piped = evaluator.capturing = False
    evaluator.said_caller = evaluator.exhausted = False
    evaluator.unread = ""
    evaluator.missing = []
    evaluator.at_exit = None
    return evaluator


def cut_off(body: ListNode, source: SourceFile, script: Script) -> None:
    """Finds arguments that a broken continuation separates from their command."""
    previous: Simple | None = None
    for item, _ in body.items:
        if isinstance(item, Simple) and previous is not None and item.start < len(source.text):
            if previous.words and looks_lost(source.text, item):
                found = break_between(source, previous, item)
                if found is not None:
                    script.problems.append(found)
        previous = item if isinstance(item, Simple) else None


def looks_lost(text: str, command: Simple) -> bool:
    """Whether a command starts as an argument does. Most start with a name and have neither a dot nor a sign there."""
    if text[command.start] in "-+~" or "." in text[command.start : command.end].partition("=")[0]:
        return ARGUMENT.match(text, command.start) is not None
    return False


def break_between(source: SourceFile, first: Simple, second: Simple) -> Problem | None:
    """Why the second command's words do not reach the first, if that looks like an accident."""
    between = source.text[first.end : second.start]
    if not re.fullmatch(BETWEEN, between):
        return None
    lost = Span(source, second.start, second.end)
    lines = between.split("\n")
    if "#" in between:
        at = first.end + between.index("#")
        stop = source.text.find("\n", at)
        return Problem(
            "comment-swallows", "a comment ends the command, and what follows is lost", lost, Span(source, at, stop)
        )
    last_line = source.line(source.position(first.end)[0])
    if TRAILING.search(last_line) or (first.words and source.text[first.end - 2 : first.end - 1] == "\\"):
        return Problem(
            "continuation-trailing-blank", "a blank after the backslash ends the command", lost,
            Span(source, first.end - 1, first.end),
        )  # fmt: skip
    if any(line.rstrip().endswith("\\") for line in lines[:-1]) or len(lines) > 2:
        broken = first.end + len(lines[0]) + 1
        return Problem("continuation-blank-line", "a blank line ends the command", lost, Span(source, broken, broken))
    return None


__all__ = ["Fault", "read"] if TYPE_CHECKING else ["read"]
