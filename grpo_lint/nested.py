"""Commands inside commands: `bash -c '...'`, `ssh host '...'`, `docker run ... image cmd`, `sbatch --wrap='...'`.

What the inner shell runs is read like a script of its own, in the environment of the outer one; its words keep their
places in the outer one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from grpo_lint.launch import find, literal, peeled
from grpo_lint.located import DYNAMIC, Piece, Value, Word
from grpo_lint.source import SourceFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grpo_lint.launch import Launch
    from grpo_lint.source import Span

SHELLS = frozenset(("bash", "sh", "zsh", "dash"))
CONTAINERS = frozenset(("docker", "podman", "nerdctl", "singularity", "apptainer"))
DOCKERS = frozenset(("docker", "podman", "nerdctl"))
CONTAINER_SWITCHES = frozenset(
    (
        "-d", "--detach", "-i", "--interactive", "-t", "--tty", "-it", "-ti", "-dit", "-itd", "--rm", "--privileged",
        "--init", "-P", "--publish-all", "--read-only", "--no-healthcheck", "-q", "--quiet", "--nv", "--nvccli",
        "--cleanenv", "-e", "--contain", "-c", "--containall", "-C", "--fakeroot", "--writable", "--writable-tmpfs",
        "--no-home", "--compat", "--rocm", "--sig-proxy",
    )
)  # fmt: skip
"""Flags of `docker run` and `singularity exec` without a value; docker's `-e` has one and is told apart below."""
SSH_VALUES = frozenset(f"-{letter}" for letter in "BbcDEeFIiJLlmOopQRSWw")

MAX_DEPTH = 4
"""How deep commands are looked for inside commands."""


def launches(argv: Sequence[Word], env: dict[str, Word], depth: int = 0) -> Iterator[Launch]:
    """The launches that a command starts inside another shell or a container; none for an ordinary command."""
    if depth == MAX_DEPTH:
        return
    env = dict(env)
    words, wrappers = peeled(argv, env)
    if not words or words[0].dynamic:
        return
    for launch in _inside(words, env, depth):
        launch.wrappers = (*wrappers, *launch.wrappers)
        yield launch


def _inside(words: Sequence[Word], env: dict[str, Word], depth: int) -> Iterator[Launch]:
    name = words[0].text.rsplit("/", 1)[-1]
    if name in SHELLS:
        yield from of_text(_after_c(words), env, depth)
    elif name == "sbatch":
        yield from of_text(_wrapped(words), env, depth)
    elif name == "ssh":
        rest = _after_host(words)
        yield from of_text(rest[0], {}, depth) if len(rest) == 1 else _of_words(rest, {}, depth)
    elif name in CONTAINERS:
        inner = dict[str, Word]() if name in DOCKERS else env
        asked = _gpus(words) if name in DOCKERS else None
        for launch in _of_words(_after_image(words, name, env, inner), inner, depth):
            launch.gpus = launch.gpus or asked
            yield launch


def _of_words(words: Sequence[Word], env: dict[str, Word], depth: int) -> Iterator[Launch]:
    if words:
        launch = find(words, env)
        if launch is not None:
            yield launch
        else:
            yield from launches(words, env, depth + 1)


def of_text(script: Word | None, env: dict[str, Word], depth: int = 0) -> Iterator[Launch]:
    """The launches of a word that another shell reads."""
    if script is None:
        return
    from grpo_lint.syntax import shell

    inner = _Inner(script)
    for command in shell.run(inner.source, variables=env).commands:
        words = [inner.moved(word) for word in command.argv]
        outer = {**env, **{name: inner.moved(word) for name, word in command.env.items()}}
        yield from _of_words(words, outer, depth)


class _Inner:
    """A script that is a word of another file: its own places, moved to where they stand there."""

    def __init__(self, script: Word) -> None:
        self.source = SourceFile(script.span.file.path, script.text)
        self.script = script
        self.starts: list[int] = []
        at = 0
        for piece in script.pieces:
            self.starts.append(at)
            at += len(piece.text)

    def moved(self, word: Word) -> Word:
        pieces = tuple(moved for piece in word.pieces for moved in self._pieces(piece))
        return Word(pieces, self.place(word.span), tuple(self.place(span) for span in word.via))

    def place(self, span: Span) -> Span:
        if span.file is not self.source:
            return span
        cut = self._cut(span.start, span.end)
        return cut.span if cut.pieces else self.script.cut(span.start, span.end).span

    def _cut(self, start: int, end: int) -> Word:
        """The part of the script between two offsets of its text."""
        first = max(bisect_right(self.starts, start) - 1, 0)
        last = max(bisect_left(self.starts, end), first + 1)
        base = self.starts[first] if self.starts else 0
        part = Word(self.script.pieces[first:last], self.script.span, self.script.via)
        return part.cut(start - base, end - base)

    def _pieces(self, piece: Piece) -> Iterator[Piece]:
        """A piece with its places moved; what the outer shell didn't know stands in its text as DYNAMIC, and is cut
        out."""
        via = tuple(self.place(span) for span in piece.via)
        exact = piece.span.file is self.source and piece.span.text == piece.text
        at = 0
        for number, known in enumerate(piece.text.split(DYNAMIC) if not piece.reason else [piece.text]):
            if number:
                cover = self._covering(piece, at, len(DYNAMIC), exact)
                reason = next((part.reason for part in cover.pieces if part.reason), self.script.reason)
                yield Piece(DYNAMIC, self._at(piece, cover), via, reason)
                at += len(DYNAMIC)
            if known or piece.text == "":
                cover = self._covering(piece, at, len(known), exact)
                origin = tuple(span for part in cover.pieces[:1] for span in part.via)
                note = piece.note or next((part.note for part in cover.pieces if part.note), "")
                yield Piece(known, self._at(piece, cover), (*via, *origin), piece.reason, note)
            at += len(known)

    def _covering(self, piece: Piece, at: int, length: int, exact: bool) -> Word:
        """The part of the script that a range of a piece's text stands in; an empty word where that is elsewhere."""
        span = piece.span
        if span.file is not self.source:
            return Word((), span)
        return self._cut(span.start + at, span.start + at + length) if exact else self._cut(span.start, span.end)

    def _at(self, piece: Piece, cover: Word) -> Span:
        return cover.span if cover.pieces else self.place(piece.span)


def _after_c(words: Sequence[Word]) -> Word | None:
    """The script of `bash -c`, `bash -lc`, `bash -x -c`."""
    for at, word in enumerate(words[1:], 1):
        text = word.text
        if not text.startswith(("-", "+")):
            return None
        if text.startswith("-") and not text.startswith("--") and "c" in text:
            return words[at + 1] if at + 1 < len(words) else None
    return None


def _wrapped(words: Sequence[Word]) -> Word | None:
    """The command of `sbatch --wrap`."""
    for at, word in enumerate(words[1:], 1):
        if word.text.startswith("--wrap="):
            return word.cut(len("--wrap="))
        if word.text == "--wrap":
            return words[at + 1] if at + 1 < len(words) else None
    return None


def _after_host(words: Sequence[Word]) -> Sequence[Word]:
    at = 1
    while at < len(words) and words[at].text.startswith("-"):
        at += 2 if words[at].text in SSH_VALUES else 1
    return words[at + 1 :]


def _after_image(words: Sequence[Word], name: str, env: dict[str, Word], inner: dict[str, Word]) -> Sequence[Word]:
    """The command that a container runs, after the flags and the image; `inner` gains what `-e` puts in its
    environment, which docker's containers don't inherit from `env`."""
    at = next((at for at, word in enumerate(words[1:3], 1) if word.text in ("run", "exec")), 0)
    if not at:
        return ()
    at += 1
    runs = words[at - 1].text == "run" and name in DOCKERS
    switches = CONTAINER_SWITCHES - ({"-e", "-c"} if name in DOCKERS else set())
    program: list[Word] | None = None
    while at < len(words) and words[at].text.startswith("-"):
        text = words[at].text
        flag, equals, _ = text.partition("=")
        if flag == "--entrypoint":
            value = words[at].cut(len(flag) + 1) if equals else words[at + 1] if at + 1 < len(words) else None
            program = [value] if value is not None and value.text else None
        elif flag in ("-e", "--env") and flag not in switches:
            _set(words[at].cut(len(flag) + 1) if equals else words[min(at + 1, len(words) - 1)], env, inner)
        at += 1 if equals or text in switches else 2
    rest = list(words[at + 1 :])
    if program is not None:
        return [*program, *rest]
    return [*own_program(words[at], rest), *rest] if runs and at < len(words) else rest


def _gpus(words: Sequence[Word]) -> tuple[Value, object] | None:
    """What `docker run --gpus` gives a container: a number, `device=0,1`, or all."""
    for at, word in enumerate(words):
        name, equals, _ = word.text.partition("=")
        if name != "--gpus" or (not equals and at + 1 >= len(words)):
            continue
        value = word.cut(len(name) + 1) if equals else words[at + 1]
        text = value.text.strip("\"'")
        ids = text.removeprefix("device=") if text.startswith("device=") else ""
        return Value(text, value.span), len(ids.split(",")) if ids else text
    return None


def _set(word: Word, env: dict[str, Word], inner: dict[str, Word]) -> None:
    """`NAME=value`, or a NAME whose value is that around the container."""
    name, equals, _ = word.text.partition("=")
    if equals:
        inner[name] = word.cut(len(name) + 1)
    elif name in env:
        inner[name] = env[name]


def own_program(image: Word, arguments: Sequence[Word]) -> list[Word]:
    """The program that a server's image starts by itself, before arguments that name none.

    vllm/vllm-openai: `python3 -m vllm.entrypoints.openai.api_server`, and from 0.11 on `vllm serve`, which takes the
    model as its first word as well.
    """
    first = arguments[0].text if arguments else ""
    if "vllm-openai" not in image.text or find(arguments) is not None:
        return []
    if first == "" or first.startswith("-"):
        words: tuple[str, ...] = ("python3", "-m", "vllm.entrypoints.openai.api_server")
    elif "/" in first and not first.startswith(("/bin/", "/usr/", "./")):
        words = ("vllm", "serve")
    else:
        return []
    return [literal(text, image.span) for text in words]
