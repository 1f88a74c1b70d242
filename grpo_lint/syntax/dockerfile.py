"""What the images of a Dockerfile start: ENTRYPOINT and CMD in both of their forms, with the environment around them.

for image in images(source): image.argv, image.script, image.env, image.base

Read: the reference of the Dockerfile format 1.x. Lines are joined by the escape character at their end, and comments
between them left out. `FROM a AS b` starts an image; one that starts from an earlier one has its entry point, command
and variables. `ARG` and `ENV` fill in `$X`, `${X}`, `${X:-y}` and `${X:+y}` in the image's name, and are variables of
the shell that the shell form starts.
"""

from __future__ import annotations

from grpo_lint.located import Piece, Word
from grpo_lint.patterns import lazy
from grpo_lint.source import Span
from grpo_lint.syntax.excerpt import Excerpt, unix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.source import SourceFile

_INSTRUCTION = lazy(r"[ \t]*([A-Za-z]+)[ \t]+")
_PAIR = lazy(r"([A-Za-z_]\w*)=")
_STAGE = lazy(r"(?i)[ \t]+as[ \t]+([\w.-]+)")
_HERE = lazy(r"""<<-?["']?(\w+)""")
MAX_IMAGES = 50
"""More stages than these aren't read."""


class Image:
    """An image that a Dockerfile builds. `script` is the place of shell text, where CMD or ENTRYPOINT is that.

    `base` is the image that it starts from; `whole` says that the file gives the program itself, and not only
    arguments for the one that the base image starts.
    """

    __slots__ = ("base", "command", "env", "name", "parent", "program")

    def __init__(self, name: str, base: Word | None) -> None:
        self.name = name
        self.base = base
        self.env: dict[str, Word] = {}
        self.program: list[Word] | Span | None = None
        self.command: list[Word] | Span | None = None
        self.parent: Image | None = None

    @property
    def script(self) -> Span | None:
        """The shell form wins over words: an ENTRYPOINT of that form gets no CMD."""
        if isinstance(self.program, Span):
            return self.program
        return self.command if isinstance(self.command, Span) and not self.program else None

    @property
    def argv(self) -> list[Word]:
        parts = [part for part in (self.program, self.command) if isinstance(part, list)]
        return [word for part in parts for word in part]

    @property
    def whole(self) -> bool:
        return bool(self.program)


def images(source: SourceFile) -> Iterator[Image]:
    """The images that a file builds, each with what it starts; one that another starts from is a step to that."""
    stages: dict[str, Image] = {}
    image: Image | None = None
    arguments: dict[str, Word] = {}
    found: list[Image] = []
    for name, start, end in _instructions(source.text):
        if name == "FROM" and len(found) < MAX_IMAGES:
            image = _from(source, start, end, stages, arguments)
            found.append(image)
        elif name in ("ENV", "ARG"):
            env = arguments if image is None else image.env
            env.update(_pairs(source, start, end, name == "ENV", env))
        elif image is not None and name == "CMD":
            image.command = _words(source, start, end)
        elif image is not None and name == "ENTRYPOINT":
            image.program, image.command = _words(source, start, end), None
    steps = {id(image.parent) for image in found}
    return (image for image in found if id(image) not in steps)


def _instructions(text: str) -> Iterator[tuple[str, int, int]]:
    """(name, start and end of its arguments) of each instruction."""
    escape = "`" if text.startswith(("# escape=`", "#escape=`")) else "\\"
    at = 0
    while at < len(text):
        stop = _line_end(text, at)
        line = text[at:stop].strip()
        if not line or line.startswith("#"):
            at = stop + 1
            continue
        start = at
        while text[at:stop].rstrip().endswith(escape) or text[at:stop].lstrip().startswith("#"):
            if stop >= len(text):
                break
            at, stop = stop + 1, _line_end(text, stop + 1)
        match = _INSTRUCTION.match(text, start)
        if match is not None:
            yield match[1].upper(), match.end(), stop
            here = _HERE.search(text, match.end(), stop) if match[1].upper() in ("RUN", "COPY", "ADD") else None
            if here is not None:
                stop = _after_here_document(text, stop, here[1])
        at = stop + 1


def _after_here_document(text: str, at: int, tag: str) -> int:
    """The end of the line that ends a here-document; that of the text where none does."""
    while at < len(text):
        start, at = at + 1, _line_end(text, at + 1)
        if text[start:at].strip() == tag:
            break
    return at


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def joined(text: str) -> str:
    """An instruction as one line of the same length, without the comments between its lines."""
    lines = unix(text).replace("\r", " ").split("\n")
    kept = [lines[0], *(" " * len(line) if line.lstrip().startswith("#") else line for line in lines[1:])]
    done = []
    for line in kept:
        bare = line.rstrip()
        done.append(bare[:-1] + " " * (len(line) - len(bare) + 1) if bare.endswith(("\\", "`")) else line)
    return " ".join(done)


def _shell_words(source: SourceFile, start: int, end: int, env: dict[str, Word]) -> list[Word]:
    """An instruction's arguments as a shell takes them apart; the command before them takes the instruction's place."""
    from grpo_lint.syntax import shell

    before = source.text.rfind("\n", 0, start) + 1
    stretches = [(before, "x" + " " * (start - before - 1)), (start, joined(source.text[start:end]))]
    excerpt = Excerpt(source, stretches)
    with excerpt as file:
        commands = shell.run(file, variables=env, bounds=excerpt.bounds).commands
    return list(commands[0].argv[1:]) if commands else []


def _from(source: SourceFile, start: int, end: int, stages: dict[str, Image], arguments: dict[str, Word]) -> Image:
    words = [word for word in _shell_words(source, start, end, arguments) if not word.text.startswith("--")]
    named = _STAGE.search(source.text, start, end)
    image = Image(named[1] if named else "", words[0] if words else None)
    parent = stages.get(words[0].text) if words else None
    if parent is not None:
        image.parent, image.base, image.env = parent, parent.base, dict(parent.env)
        image.program, image.command = parent.program, parent.command
    if image.name:
        stages[image.name] = image
    return image


def _pairs(source: SourceFile, start: int, end: int, old_form: bool, env: dict[str, Word]) -> dict[str, Word]:
    """`A=1 B=2` as words; `ENV A 1` is the old form of one pair, and an ARG without a value has none."""
    found: dict[str, Word] = {}
    text = source.text[start:end]
    parts = text.split(None, 1)
    if old_form and parts and "=" not in parts[0]:
        if len(parts) == 2:
            at = start + text.index(parts[1], len(parts[0]))
            span = source.span(at, at + len(parts[1].rstrip()))
            found[parts[0]] = Word((Piece(span.text, span),), span)
        return found
    for word in _shell_words(source, start, end, env):
        name, equals, _ = word.text.partition("=")
        if equals:
            found[name] = word.cut(len(name) + 1)
    return found


def _words(source: SourceFile, start: int, end: int) -> list[Word] | Span:
    """The exec form, a JSON list of texts, as words; the place of the shell form's text."""
    text = source.text[start:end]
    if text.lstrip().startswith("["):
        from grpo_lint.syntax import json

        root = json.read_text(joined(text), lambda low, high: source.span(start + low, start + high), False).root
        if root is not None and root.is_list and all(isinstance(item.data, str) for item in root.data):
            return [_literal(str(item.data), item.span) for item in root.data]
    return source.span(start, end)


def _literal(text: str, span: Span) -> Word:
    """A JSON text as a word: its place is exact within the quotes where it has no escapes."""
    if span.text[1:-1] == text:
        span = Span(span.file, span.start + 1, span.end - 1)
    return Word((Piece(text, span),), span)
