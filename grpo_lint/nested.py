"""Commands inside commands: `bash -c '...'`, `ssh host '...'`, `docker run ... image cmd`, `sbatch --wrap='...'`.

What the inner shell runs is read like a script of its own; its words keep their places in the outer one.
"""

from __future__ import annotations

from grpo_lint.launch import find, peeled
from grpo_lint.located import DYNAMIC, Piece, Word
from grpo_lint.source import SourceFile, Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grpo_lint.launch import Launch

SHELLS = frozenset(("bash", "sh", "zsh", "dash"))
CONTAINERS = frozenset(("docker", "podman", "nerdctl", "singularity", "apptainer"))
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
        yield from _of_text(_after_c(words), env, depth)
    elif name == "sbatch":
        yield from _of_text(_wrapped(words), env, depth)
    elif name == "ssh":
        rest = _after_host(words)
        yield from _of_text(rest[0], env, depth) if len(rest) == 1 else _of_words(rest, env, depth)
    elif name in CONTAINERS:
        yield from _of_words(_after_image(words, name), env, depth)


def _of_words(words: Sequence[Word], env: dict[str, Word], depth: int) -> Iterator[Launch]:
    if words:
        launch = find(words, env)
        if launch is not None:
            yield launch
        else:
            yield from launches(words, env, depth + 1)


def _of_text(script: Word | None, env: dict[str, Word], depth: int) -> Iterator[Launch]:
    """The launches of a word that another shell reads."""
    if script is None:
        return
    from grpo_lint.syntax import shell

    source = SourceFile(script.span.file.path, script.text)
    for command in shell.run(source).commands:
        words = [_moved(word, source, script) for word in command.argv]
        inner = {**env, **{name: _moved(word, source, script) for name, word in command.env.items()}}
        yield from _of_words(words, inner, depth)


def _moved(word: Word, source: SourceFile, script: Word) -> Word:
    """A word of the inner script with its places in the outer one."""
    pieces = tuple(moved for piece in word.pieces for moved in _moved_pieces(piece, source, script))
    return Word(pieces, _place(word.span, source, script), tuple(_place(s, source, script) for s in word.via))


def _moved_pieces(piece: Piece, source: SourceFile, script: Word) -> Iterator[Piece]:
    """A piece of an inner word; what the outer shell didn't know stands in its text as DYNAMIC, and is cut out."""
    via = tuple(_place(span, source, script) for span in piece.via)
    exact = piece.span.file is source and piece.span.text == piece.text
    at = 0
    for number, known in enumerate(piece.text.split(DYNAMIC) if not piece.reason else [piece.text]):
        if number:
            yield Piece(DYNAMIC, _part(piece, at, len(DYNAMIC), exact, source, script), via, script.reason)
            at += len(DYNAMIC)
        if known or piece.text == "":
            yield Piece(known, _part(piece, at, len(known), exact, source, script), via, piece.reason, piece.note)
        at += len(known)


def _part(piece: Piece, at: int, length: int, exact: bool, source: SourceFile, script: Word) -> Span:
    start = piece.span.start + at
    return _place(source.span(start, start + length) if exact else piece.span, source, script)


def _place(span: Span, source: SourceFile, script: Word) -> Span:
    return script.cut(span.start, span.end).span if span.file is source else span


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


def _after_image(words: Sequence[Word], name: str) -> Sequence[Word]:
    """The command that a container runs, after the flags and the image."""
    at = next((at for at, word in enumerate(words[1:3], 1) if word.text in ("run", "exec")), 0)
    if not at:
        return ()
    at += 1
    switches = CONTAINER_SWITCHES - ({"-e", "-c"} if name in ("docker", "podman", "nerdctl") else set())
    while at < len(words) and words[at].text.startswith("-"):
        text = words[at].text
        at += 1 if "=" in text or text in switches else 2
    return words[at + 1 :]
