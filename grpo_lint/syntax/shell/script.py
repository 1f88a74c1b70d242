"""What reading a script gives: the commands it would start, the files it would write, what is wrong with it."""

from __future__ import annotations

from grpo_lint import located
from grpo_lint.located import DYNAMIC, Piece, Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.source import SourceFile, Span


class FolderPiece(Piece):
    """A part of a word that names a folder whose absolute path depends on where the script is run.

    `folders` holds what it may be, most likely first: paths relative to the root of the repository, "" for the root.
    """

    __slots__ = ("folders",)

    def __init__(self, folders: tuple[str, ...], span: Span, via: tuple[Span, ...] = (), reason: str = "") -> None:
        super().__init__(DYNAMIC, span, via, reason or "the folder depends on where the script is run")
        self.folders = folders


class Choice:
    """A place where reading had to follow several ways, because a test isn't decided."""

    __slots__ = ("branches", "presumed")

    def __init__(self, branches: int, presumed: bool = False) -> None:
        self.branches = branches
        self.presumed = presumed
        """It is only about whether a program succeeds."""


class Condition:
    """What has to hold for a command to run.

    `text` is for people: `DEVICE=npu`, `X is not set`. `choice` and `branch` tell which way of which choice it is.
    """

    __slots__ = ("branch", "choice", "key", "span", "text", "ways")

    def __init__(self, text: str, span: Span, choice: Choice, branch: int, key: object = None) -> None:
        self.text = text
        self.span = span
        self.choice = choice
        self.branch = branch
        self.key = key
        self.ways: list[tuple[Condition, ...]] = []
        """For "this or that": the conditions of each of several ways."""

    def __repr__(self) -> str:
        return f"Condition({self.text!r})"


class Redirect:
    """A redirection of a command: `fd` as written ("" for the usual one), `op`, and the word it names.

    `body` is the text of a here-document or here-string.
    """

    __slots__ = ("body", "fd", "op", "span", "target")

    def __init__(self, op: str, fd: str, target: Word, span: Span, body: Word | None = None) -> None:
        self.op = op
        self.fd = fd
        self.target = target
        self.span = span
        self.body = body


class Command:
    """A program that the script would start.

    `env` holds what the script exports or prefixes; `open_ended` says that the script's caller may add arguments;
    `unsure` the indexes of words that may be any number of words (an unquoted variable whose text is unknown);
    `folders` where it may run, relative to the root of the repository; `via` the calls, loops and `source`s that led to
    it.
    """

    __slots__ = (
        "argv",
        "background",
        "captured",
        "env",
        "folders",
        "open_ended",
        "piped",
        "redirects",
        "span",
        "unsure",
        "via",
        "when",
    )

    def __init__(self, argv: list[Word], env: dict[str, Word], span: Span) -> None:
        self.argv = argv
        self.env = env
        self.span = span
        self.when: tuple[Condition, ...] = ()
        self.redirects: tuple[Redirect, ...] = ()
        self.background = False
        self.piped = False
        self.captured = False
        """Its output becomes part of another command's words."""
        self.open_ended = False
        self.unsure: tuple[int, ...] = ()
        self.folders: tuple[str, ...] = ()
        self.via: tuple[Span, ...] = ()

    def __repr__(self) -> str:
        return f"Command({' '.join(word.text for word in self.argv)!r})"


class WrittenFile:
    """A file that the script writes from text it holds itself (`cat > ds.json <<EOF`)."""

    __slots__ = ("append", "body", "folders", "path", "span", "when")

    def __init__(self, path: Word, body: Word, span: Span, append: bool, folders: tuple[str, ...]) -> None:
        self.path = path
        self.body = body
        self.span = span
        self.append = append
        self.folders = folders
        self.when: tuple[Condition, ...] = ()

    def __repr__(self) -> str:
        return f"WrittenFile({self.path.text!r})"


class Problem(located.Problem):
    """A fact about the text that a rule may report.

    Kinds: "syntax"; "continuation-blank-line", "continuation-trailing-blank" and "comment-swallows" (arguments are cut
    off: `span` is what is lost, `cause` the place where the command really ends); "carriage-return"; "unset-variable"
    and "placeholder" (`span` is in a command, `cause` where it comes from if that is elsewhere); "unquoted-split";
    "gave-up" (a bound was reached, what follows is not read).
    """

    __slots__ = ("cause",)

    def __init__(self, kind: str, message: str, span: Span, cause: Span | None = None) -> None:
        related = () if cause is None else ((cause, "the command ends here"),)
        super().__init__(message, span, kind=kind, related=related)
        self.cause = cause


class Script:
    """All of it, in the order in which bash would meet it."""

    __slots__ = ("commands", "files", "problems", "sourced")

    def __init__(self) -> None:
        self.commands: list[Command] = []
        self.files: list[WrittenFile] = []
        self.problems: list[Problem] = []
        self.sourced: list[SourceFile] = []


def paths(word: Word) -> tuple[str, ...]:
    """The paths, relative to the root of the repository, that a word may name; most likely first.

    Empty if a part of it is unknown, and for a word that holds no folder of the repository: such a path counts from
    the command's own folders.
    """
    if not any(isinstance(piece, FolderPiece) for piece in word.pieces):
        return ()
    found = [""]
    for piece in word.pieces:
        if isinstance(piece, FolderPiece):
            if found != [""]:
                return ()
            found = list(piece.folders)
        elif piece.reason:
            return ()
        else:
            found = [path + piece.text for path in found]
    normal = (normalize(path.lstrip("/")) for path in found)
    return tuple(dict.fromkeys(path for path in normal if path is not None))


def normalize(path: str) -> str | None:
    """A relative path without `.` and `..`; None if it leaves the root."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)
