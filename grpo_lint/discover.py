"""Which files to look at, and reading them: a directory walk, a byte sniff before any parse, a bounded loader."""

from __future__ import annotations

import os

from grpo_lint.source import SourceFile, Unreadable, decode, read_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Literal

    from grpo_lint.gitignore import Pattern

    Kind = Literal["shell", "yaml", "json", "toml", "python", "dockerfile", "makefile", "markdown", "notebook"]

KINDS: dict[str, Kind] = {
    ".sh": "shell",
    ".bash": "shell",
    ".zsh": "shell",
    ".slurm": "shell",
    ".sbatch": "shell",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".json": "json",
    ".hjson": "json",
    ".toml": "toml",
    ".py": "python",
    ".dockerfile": "dockerfile",
    ".mk": "makefile",
}
DOCUMENTATION: dict[str, Kind] = {".md": "markdown", ".markdown": "markdown", ".mdx": "markdown", ".ipynb": "notebook"}
"""Read only where documentation counts."""
NAMES: dict[str, Kind] = {
    "dockerfile": "dockerfile",
    "containerfile": "dockerfile",
    "makefile": "makefile",
    "gnumakefile": "makefile",
}
"""What files are by the first part of their names: `Dockerfile.gpu`."""
SHEBANGS = (b"sh", b"bash", b"dash", b"zsh")
SKIPPED = frozenset((".git", ".hg", ".svn", ".venv", "venv", "node_modules", "__pycache__", ".tox", ".mypy_cache"))

SNIFFED = 65_536
"""Bytes of a file's head that are enough to see whether it is ours, where the whole can't be read."""

MAX_IGNORE_BYTES = 256 * 1024
"""A larger .gitignore isn't heeded: each of its patterns is tried on each name."""


def kind_of(path: str, data: bytes = b"") -> Kind | None:
    """What a file is by its name or, without a suffix, by its `#!` line; None for a kind that isn't read."""
    name = os.path.basename(path)
    suffix = os.path.splitext(name)[1].lower()
    kind = KINDS.get(suffix) or DOCUMENTATION.get(suffix) or NAMES.get(name.split(".", 1)[0].lower())
    if suffix or kind is not None:
        return kind
    if data.startswith(b"#!"):
        words = data[2:200].split(b"\n", 1)[0].split()
        program = words[0].rsplit(b"/", 1)[-1] if words else b""
        if program == b"env" and len(words) > 1:
            program = words[-1]
        if program in SHEBANGS:
            return "shell"
    return None


def relevant(data: bytes, markers: tuple[bytes, ...]) -> bool:
    """Whether a file's bytes hold any of the markers; a file without configures nothing that we know."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):  # UTF-16 and UTF-32: the words are not plain bytes there
        return True
    if any(marker in data for marker in markers):
        return True
    return data.startswith(tuple(marker[1:] for marker in markers if marker.startswith(b"\n")))


def head_is_relevant(path: str, markers: Callable[[Kind], tuple[bytes, ...]]) -> bool | None:
    """Whether a file's first bytes hold a word of a framework; None when not even those can be read."""
    try:
        kind = kind_of(path)
        if not os.path.isfile(path):
            return None
        with open(path, "rb") as stream:
            return kind is not None and relevant(stream.read(SNIFFED), markers(kind))
    except OSError:
        return None


def walk(root: str, unreadable: Callable[[str, str], None], left_out: Callable[[str], bool]) -> Iterator[str]:
    """The files below a directory that have a name of ours, sorted; what .gitignore excludes is left out.

    Links to directories aren't followed, so a loop of links ends here. `unreadable` is told of each folder that can't
    be listed, and why; `left_out` says of a folder or file that it doesn't count.
    """
    top = Repository.around(root).root
    names = tuple(part for part in os.path.relpath(os.path.realpath(root), top).split(os.sep) if part != ".")
    ignores: tuple[_Ignores, ...] = ()
    for depth in range(len(names)):
        ignores = _with_ignores(ignores, os.path.join(top, *names[:depth]), depth)
    stack = [(root, names, ignores)]
    while stack:
        folder, names, ignores = stack.pop()
        try:
            with os.scandir(folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            unreadable(folder, error.strerror or str(error))
            continue
        ignores = _with_ignores(ignores, folder, len(names))
        below = []
        for entry in entries:
            path = (*names, entry.name)
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in SKIPPED and not _excluded(ignores, path, True) and not left_out(entry.path):
                    below.append((entry.path, path, ignores))
            elif _named_as_ours(entry.name) and not _excluded(ignores, path, False) and not left_out(entry.path):
                yield entry.path
        stack += reversed(below)


def _named_as_ours(name: str) -> bool:
    suffix = os.path.splitext(name)[1].lower()
    if not suffix or suffix in KINDS or suffix in DOCUMENTATION:
        return True
    return name.split(".", 1)[0].lower() in NAMES


class _Ignores:
    """The patterns of one .gitignore file, and how many folders below the top it lies."""

    __slots__ = ("depth", "patterns")

    def __init__(self, depth: int, patterns: list[Pattern]) -> None:
        self.depth = depth
        self.patterns = patterns


def _with_ignores(ignores: tuple[_Ignores, ...], folder: str, depth: int) -> tuple[_Ignores, ...]:
    """The .gitignore files that hold below a folder: those that hold for it, and its own."""
    path = os.path.join(folder, ".gitignore")
    if not os.path.isfile(path):
        return ignores
    from grpo_lint.gitignore import parse

    try:
        return (*ignores, _Ignores(depth, parse(decode(read_bytes(path, MAX_IGNORE_BYTES)))))
    except Unreadable:
        return ignores


def _excluded(ignores: tuple[_Ignores, ...], path: tuple[str, ...], is_folder: bool) -> bool:
    """What the nearest .gitignore that has a say about a path decides. The path starts at the top."""
    if not ignores:
        return False
    from grpo_lint.gitignore import excluded

    for file in reversed(ignores):
        verdict = excluded(file.patterns, path[file.depth :], is_folder)
        if verdict is not None:
            return verdict
    return False


def shown(path: str) -> str:
    """A path as people see it: relative to the working directory if below it, POSIX separators."""
    relative = os.path.relpath(path)
    return (path if relative.startswith("..") else relative).replace(os.sep, "/")


class Repository:
    """The files that a run may name: regular files below one root, each read once.

    `kept` is for what readers work out from its files and need again for the next run.
    """

    def __init__(self, root: str) -> None:
        self.root = os.path.realpath(root)
        self.kept: dict[str, object] = {}
        self._files: dict[str, SourceFile | None] = {}

    @classmethod
    def around(cls, path: str) -> Repository:
        """The repository of a path: the nearest folder above it that holds `.git`.

        Where none does (an unpacked archive), the nearest that holds a Python project; else the working directory if
        the path lies below it; else the path's own folder.
        """
        start = os.path.realpath(path if os.path.isdir(path) else os.path.dirname(path) or ".")
        for markers in ((".git",), ("pyproject.toml", "setup.py")):
            folder = start
            while not any(os.path.exists(os.path.join(folder, marker)) for marker in markers):
                parent = os.path.dirname(folder)
                if parent == folder:
                    break
                folder = parent
            else:
                return cls(folder)
        here = cls(os.getcwd())
        return here if here.holds(start) else cls(start)

    def put(self, path: str, source: SourceFile) -> None:
        """Keep a file that was read already."""
        self._files[os.path.realpath(path)] = source

    def load(self, path: str) -> SourceFile | None:
        """A text file of the repository; None when it isn't there, lies outside, or isn't text."""
        real = os.path.realpath(path)
        if real not in self._files:
            self._files[real] = self._read(path, real)
        return self._files[real]

    def _read(self, path: str, real: str) -> SourceFile | None:
        if not self.holds(real):
            return None
        try:
            return SourceFile(shown(path), decode(read_bytes(real)))
        except Unreadable:
            return None

    def holds(self, real: str) -> bool:
        """Whether a resolved path lies below the root."""
        return real == self.root or real.startswith(self.root.rstrip(os.sep) + os.sep)

    def find(self, name: str, start: str) -> str | None:
        """Where a path leads that a file in the folder `start` names; None when nowhere.

        It is tried from there and from each folder above up to the root: scripts are run from their own folder or from
        the repository's.
        """
        if os.path.isabs(name):
            return name if self.holds(os.path.realpath(name)) and os.path.isfile(name) else None
        folder = os.path.realpath(start)
        while self.holds(folder):
            path = os.path.normpath(os.path.join(folder, name))
            if os.path.isfile(path) and self.holds(os.path.realpath(path)):
                return path
            if folder == self.root:
                break
            folder = os.path.dirname(folder)
        return None
