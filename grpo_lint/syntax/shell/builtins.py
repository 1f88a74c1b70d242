"""The shell's built-in commands, as far as they change what later words stand for."""

from __future__ import annotations

import re
from abc import abstractmethod

from grpo_lint.located import Piece, Word
from grpo_lint.source import Span
from grpo_lint.syntax.shell.assignments import NAME
from grpo_lint.syntax.shell.conditions import shown
from grpo_lint.syntax.shell.inputs import Call, Inputs
from grpo_lint.syntax.shell.script import FolderPiece, normalize, paths
from grpo_lint.syntax.shell.tree import Redirection, Simple
from grpo_lint.syntax.shell.values import Text, Variable, World, text_of, unknown
from grpo_lint.syntax.shell.worlds import Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from grpo_lint.syntax.shell.conditions import Outcome

FORMAT = r"%(?:%|([-0+ #]*\d*)(?:\.(\d+))?([sdiubqxXofeg]))"
NOTHING = frozenset(
    (
        ":", "true", "alias", "bg", "bind", "compgen", "complete", "disown", "enable", "fc", "fg", "hash", "help",
        "history", "jobs", "kill", "shopt", "suspend", "times", "umask", "unalias", "wait", "logout",
        "popd", "pushd", "dirs", "caller",
    )
)  # fmt: skip
"""Built-in commands that leave variables and words as they are (`pushd` and `popd` are handled as unknown moves)."""


OPEN_FILES = "ulimit -n"
"""The variable, of a name that no script can give one, that holds the hard limit on open files that a script sets."""


class Builtins(Inputs):
    def settle(self, world: World, outcome: Outcome) -> None:
        """Makes a test's outcome the world's status."""
        if isinstance(outcome, Verdict):
            world.status, world.verdict = None, outcome
        else:
            world.status, world.verdict = (0 if outcome else 1), None

    def builtin(self, name: str, node: Simple, argv: list[Word], unsure: list[int], world: World, more: bool) -> bool:
        """Runs a built-in command; False if the name is none. The status is 0 unless it sets another."""
        handler = BUILTINS.get(name)
        if handler is None and name not in NOTHING:
            return False
        span = self.place.span(node.start, node.end)
        world.status, world.verdict = 0, None
        if handler is not None:
            handler(self, Call(name, node, argv, unsure, more, span), world)
        elif name in ("pushd", "popd"):
            world.cwd = Text((unknown("the working directory changed", span),))
        return True

    # output

    def echo(self, call: Call, world: World) -> None:
        self.write_out(call, world, lambda: self.echoed(call.argv[1:], call.span))

    def echoed(self, words: list[Word], span: Span) -> list[Piece]:
        from grpo_lint.syntax.shell.escapes import unescaped

        line_end, escapes = True, False
        while words and re.fullmatch("-[neE]+", words[0].text):
            line_end = line_end and "n" not in words[0].text
            escapes = "e" in words[0].text or (escapes and "E" not in words[0].text)
            words = words[1:]
        pieces: list[Piece] = []
        for number, word in enumerate(words):
            if number:
                pieces.append(Piece(" ", span))
            for piece in word.pieces:
                if escapes and "\\" in piece.text:
                    piece = Piece(unescaped(piece.text), piece.span, piece.via, piece.reason, piece.note)
                pieces.append(piece)
        return [*pieces, Piece("\n", span)] if line_end else pieces

    def printf(self, call: Call, world: World) -> None:
        words = call.argv[1:]
        target = ""
        if len(words) > 1 and words[0].text == "-v":
            target, words = words[1].text, words[2:]
        if words and words[0].text == "--":
            words = words[1:]
        pieces = self.formatted(words, call.span)
        if target:
            if NAME.match(target):
                self.assign(world, target, Text(tuple(pieces)), call.span)
        else:
            self.write_out(call, world, lambda: pieces)

    def formatted(self, words: list[Word], span: Span) -> list[Piece]:
        if not words:
            return []
        form, args = words[0], list(words[1:])
        if form.dynamic:
            return [unknown(form.reason, span)]
        from grpo_lint.syntax.shell.escapes import unescaped

        text = unescaped(form.text)
        takes = sum(1 for found in re.finditer(FORMAT, text) if found.group(3))
        if not takes:
            return [Piece(text.replace("%%", "%"), span)]
        pieces: list[Piece] = []
        for _ in range(min(max(-(-len(args) // takes), 1), 200)):
            at = 0
            for found in re.finditer(FORMAT, text):
                if found.start() > at:
                    pieces.append(Piece(text[at : found.start()], span))
                at = found.end()
                if found.group(3) is None:
                    pieces.append(Piece("%", span))
                else:
                    pieces.extend(_converted(found, args.pop(0) if args else None, span))
            if at < len(text):
                pieces.append(Piece(text[at:], span))
        return pieces

    def write_out(self, call: Call, world: World, make: Callable[[], list[Piece]]) -> None:
        if world.out is not None and not self.is_quiet(call.node.redirects):
            world.out.extend(make())

    def is_quiet(self, redirects: list[Redirection]) -> bool:
        """Whether standard output goes somewhere else."""
        for redirect in redirects:
            if redirect.op in (">", ">>", ">|", "&>", "&>>") and redirect.fd in ("", "1"):
                return True
            if redirect.op == ">&" and redirect.fd in ("", "1"):
                return True
        return False

    # folders

    def cd(self, call: Call, world: World) -> None:
        words = [word for word in call.argv[1:] if word.text not in ("-P", "-L", "--", "-e")]
        moved = self.folder(words[0], world, call.span) if len(words) == 1 else None
        if moved is None:
            reason = f"the working directory after `{shown(call.span.text)}` is not known"
            moved = Text((unknown(reason, call.span),))
        world.cwd = moved
        world.status = None
        world.verdict = (call.node, self.place)

    def folder(self, word: Word, world: World, span: Span) -> Text | None:
        """The folder that a path names, if it is one of the repository's."""
        if self.environment is not None:
            return self.real_folder(word, world, span)
        found = paths(word)
        if not found and not word.dynamic and word.text and not word.text.startswith("/"):
            found = self.below(world, word.text)
        return Text((FolderPiece(found, span),)) if found else None

    def real_folder(self, word: Word, world: World, span: Span) -> Text | None:
        """With a given environment: a folder above the script's or the working directory surely exists."""
        path = word.text if word.text.startswith("/") else f"{world.cwd.text}/{word.text}"
        if word.dynamic or not word.text or not path.startswith("/"):
            return None
        parts = normalize(path.lstrip("/"))
        if parts is None:
            return None
        for known in (self.script_name.text.rpartition("/")[0], world.cwd.text):
            if f"{known}/".startswith(f"/{parts}/") or not parts:
                return Text((Piece(f"/{parts}", span),))
        return None

    def below(self, world: World, path: str) -> tuple[str, ...]:
        """The paths that a relative path may name from the working directory."""
        found: list[str] = []
        for piece in world.cwd.parts:
            if isinstance(piece, FolderPiece) and len(world.cwd.parts) == 1:
                joined = (normalize(f"{folder}/{path}" if folder else path) for folder in piece.folders)
                found.extend(one for one in joined if one is not None)
        return tuple(dict.fromkeys(found))

    def pwd(self, call: Call, world: World) -> None:
        self.write_out(call, world, lambda: [*world.cwd.pieces(), Piece("\n", call.span)])

    # positional parameters, flow

    def set_(self, call: Call, world: World) -> None:
        words = call.argv[1:]
        for number, word in enumerate(words):
            text = word.text
            if text in ("--", "-"):
                self.set_args(call, words[number + 1 :], world)
                return
            takes = number > 0 and words[number - 1].text[:1] in "-+" and "o" in words[number - 1].text
            if takes and text[:1] not in "-+":
                world.allexport = words[number - 1].text[0] == "-" if text == "allexport" else world.allexport
            elif text[:1] in "-+" and len(text) > 1:
                if "a" in text[1:]:
                    world.allexport = text[0] == "-"
            else:
                self.set_args(call, words[number:], world)
                return

    def set_args(self, call: Call, words: list[Word], world: World) -> None:
        limit = next((n - (len(call.argv) - len(words)) for n in call.unsure), None)
        world.args, world.shifted = words, 0
        world.open_at = len(words) if call.more else limit

    def shift(self, call: Call, world: World) -> None:
        count = int(call.argv[1].text) if len(call.argv) > 1 and call.argv[1].text.isdecimal() else 1
        if count > len(world.args) and world.open_at is None:
            world.status = 1
            return
        world.args = world.args[count:]
        if world.open_at is not None:
            world.shifted += max(count - world.open_at, 0)
            world.open_at = max(world.open_at - count, 0)

    def leave(self, call: Call, world: World, before: int | None) -> None:
        status = call.argv[1] if len(call.argv) > 1 else None
        if status is not None:
            world.status = int(status.text[:9]) & 255 if status.text.isdecimal() else None
            if world.status is None:
                world.verdict = Verdict(
                    f"`{shown(call.span.text)}` is 0", f"`{shown(call.span.text)}` is not 0", call.span
                )
        else:
            world.status = before
        inside = call.name == "return" and (world.frames or self.sourcing)
        world.flow = ("return", 0) if inside else ("exit", 0)

    def jump(self, call: Call, world: World) -> None:
        level = call.argv[1].text if len(call.argv) > 1 else "1"
        world.flow = (call.name, int(level) if level.isdecimal() and len(level) < 4 else 1)

    # the rest

    def test_(self, call: Call, world: World) -> None:
        words = call.argv[1:]
        if call.name == "[" and words and words[-1].text == "]":
            words = words[:-1]
        self.settle(world, self.bracket(words, world, call.span, call.unsure))

    def let(self, call: Call, world: World) -> None:
        for word in call.argv[1:]:
            self.settle(world, self.arithmetic_holds(text_of(word), world, call.span))

    @abstractmethod
    def arithmetic_holds(self, value: Text, world: World, span: Span) -> Outcome:
        """Given by the class that puts the evaluator together."""

    sourcing: int

    def declare_(self, call: Call, world: World) -> None:
        self.declare(call.name, call.node, call.argv, world)

    def unset_(self, call: Call, world: World) -> None:
        self.unset_names(call.argv, world)

    def getopts(self, call: Call, world: World) -> None:
        verdict = Verdict("the caller gives options", "the caller gives no more options", call.span)
        verdict.caller = True
        world.status, world.verdict = None, verdict
        if world.open_at is None and not world.args:
            world.status, world.verdict = 1, None
        reason = "it is given by the caller"
        for name in ("OPTARG", call.argv[2].text if len(call.argv) > 2 else "OPTARG"):
            if NAME.match(name):
                self.assign(world, name, Text((unknown(reason, call.span),)), call.span)

    def ulimit(self, call: Call, world: World) -> None:
        """`ulimit -n N` sets the hard limit on open files, too, and children get it, as they do exported variables."""
        flags = "".join(word.text[1:] for word in call.argv[1:] if word.text.startswith("-"))
        values = [word for word in call.argv[1:] if not word.text.startswith("-")]
        soft_only = "S" in flags and "H" not in flags
        if "n" in flags and len(values) == 1 and not soft_only and values[0].text not in ("hard", "soft"):
            limit = Variable(call.span, Text(values[0].pieces))
            limit.exported = True
            self.set_variable(world, OPEN_FILES, limit)

    def trap(self, call: Call, world: World) -> None:
        words = [word for word in call.argv[1:] if word.text != "--"]
        if len(words) > 1 and any(word.text in ("EXIT", "0") for word in words[1:]):
            self.at_exit = (words[0], call.node) if words[0].text not in ("", "-") else None

    at_exit: tuple[Word, Simple] | None

    def look_up(self, call: Call, world: World) -> None:
        """`type`, `command -v`: whether a program is there."""
        text = shown(call.span.text)
        world.status, world.verdict = None, Verdict(f"`{text}` succeeds", f"`{text}` fails", call.span)
        if world.out is not None and not self.is_quiet(call.node.redirects):
            world.out.append(unknown("it depends on what is installed", call.span))


def _converted(found: re.Match[str], word: Word | None, span: Span) -> list[Piece]:
    flags, precision, kind = found.groups()
    pieces = list(word.pieces) if word is not None else []
    if word is not None and word.dynamic:
        return pieces if kind == "s" and not flags else [unknown(word.reason, span)]
    text = word.text if word is not None else ""
    via = tuple(piece.span for piece in pieces[:1])
    if kind in "sb" and not flags and precision is None:
        return pieces
    try:
        if kind in "sbq":
            if kind == "q":
                from grpo_lint.syntax.shell.operators import quoted

                text = quoted(text)
            shaped = f"%{flags}{'.' + precision if precision else ''}s" % text if len(flags) < 5 else text
        elif len(flags) > 4 or len(precision or "") > 2:
            return [unknown("its format is not evaluated", span)]
        elif kind in "feg":
            shaped = f"%{flags}{'.' + precision if precision else ''}{kind}" % float(text or 0)
        else:
            shaped = f"%{flags}{'d' if kind in 'diu' else kind}" % int(text or "0")
    except ValueError:
        return [unknown("its format does not fit its argument", span)]
    return [Piece(shaped, span, via)]


BUILTINS: dict[str, Callable[[Builtins, Call, World], None]] = {
    "echo": Builtins.echo, "printf": Builtins.printf, "cd": Builtins.cd, "pwd": Builtins.pwd, "set": Builtins.set_,
    "shift": Builtins.shift, "break": Builtins.jump, "continue": Builtins.jump, "read": Builtins.read,
    "mapfile": Builtins.mapfile, "readarray": Builtins.mapfile, "test": Builtins.test_, "[": Builtins.test_,
    "let": Builtins.let, "declare": Builtins.declare_, "typeset": Builtins.declare_, "local": Builtins.declare_,
    "export": Builtins.declare_, "readonly": Builtins.declare_, "unset": Builtins.unset_, "getopts": Builtins.getopts,
    "type": Builtins.look_up, "trap": Builtins.trap, "ulimit": Builtins.ulimit,
}  # fmt: skip
