"""Which release of a framework a repository is pinned to: lock files, exact pins, images, a vendored copy.

Looked for in the folder of the linted file and in each folder above it up to the repository's root; the nearest folder
that tells decides. A lock file outranks a requirement, and a requirement an image; files of one rank that disagree tell
nothing. Ranges (`>=0.9`) pin nothing.
"""

from __future__ import annotations

import os
import re

from grpo_lint.runconfig import Version
from grpo_lint.source import SourceFile, Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.discover import Repository

PACKAGES = (
    "verl",
    "deepspeed",
    "accelerate",
    "torch",
    "vllm",
    "sglang",
    "transformers",
    "trl",
    "openrlhf",
    "ms-swift",
    "megatron-core",
    "slime",
)

_RELEASE = r"v?(\d+(?:\.\d+)+(?:\.?(?:post|dev|rc|a|b)\d+)*)"
_NAME = "|".join(PACKAGES)
# Compiled when a file is there to be searched: most folders have none.
_LOCKED = rf"""(?m)^name\s*=\s*"({_NAME})"\s*\nversion\s*=\s*"{_RELEASE}"""
_PINNED = rf"""(?mx)(?:^|[\s"'=])-?\s*({_NAME})(?:\[[\w,-]*\])?\s*==\s*{_RELEASE}"""
_IMAGE = r"""(?m)^\s*(?:FROM\s+(?:--\S+\s+)?|image:\s*)["']?(\S+)"""
_IN_IMAGE = rf"(?:^|[/:-])(py(?=torch:)|)(torch|vllm|sglang|transformers)(?:-openai(?:-rocm)?)?:?{_RELEASE}"
"""Parts of an image's name: `vllm/vllm-openai:v0.10.2`, `pytorch/pytorch:2.8.0-cuda12.8`, `...-torch2.8.0-...`. The
release of verl isn't taken from its images: they are environments to install it into."""

LOCK, REQUIREMENT, IMAGE = range(3)
"""Ranks of evidence, best first."""

_OWN_PACKAGE = {"verl": "verl/version/version"}
"""Where a repository that holds a framework's source keeps its version."""

_MAX_ENTRIES = 2000
"""A folder with more files is not looked through: it holds data."""


def _rank(name: str) -> int | None:
    """The rank of a file's evidence by its name; None for a file that pins nothing."""
    if name in ("uv.lock", "poetry.lock", "pdm.lock"):
        return LOCK
    if name in ("pyproject.toml", "setup.py", "setup.cfg", "environment.yml", "environment.yaml"):
        return REQUIREMENT
    if name.startswith("requirements") and name.endswith((".txt", ".in")):
        return REQUIREMENT
    if name.startswith(("Dockerfile", "docker-compose")) or name in ("compose.yaml", "compose.yml"):
        return IMAGE
    return None


class Evidence:
    """The pins of one repository, read once for each folder."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self._folders: dict[str, dict[str, Version]] = {}

    def versions(self, path: str) -> dict[str, Version]:
        """{package: its release} for a file of the repository."""
        found: dict[str, Version] = {}
        folder = os.path.dirname(os.path.realpath(path))
        while self.repository.holds(folder):
            for name, version in self._pins(folder).items():
                found.setdefault(name, version)
            if folder == self.repository.root:
                break
            folder = os.path.dirname(folder)
        return found

    def _pins(self, folder: str) -> dict[str, Version]:
        if folder not in self._folders:
            self._folders[folder] = self._read(folder)
        return self._folders[folder]

    def _read(self, folder: str) -> dict[str, Version]:
        pins: dict[str, Version] = {}
        for name, relative in _OWN_PACKAGE.items():
            path = os.path.join(folder, relative)
            # most folders have none, and to resolve a path costs as many calls as it has folders
            source = self.repository.load(path) if os.path.isfile(path) else None
            if source is not None and (match := re.match(_RELEASE, source.text)):
                pins[name] = Version(match[1], source.path, source.span(match.start(1), match.end(1)))
        ranked: dict[int, list[SourceFile]] = {}
        for name in self._names(folder):
            rank = _rank(name)
            source = self.repository.load(os.path.join(folder, name)) if rank is not None else None
            if source is not None and rank is not None:
                ranked.setdefault(rank, []).append(source)
        for rank in sorted(ranked):
            for name, version in _agreed(ranked[rank], rank).items():
                pins.setdefault(name, version)
        return pins

    def _names(self, folder: str) -> list[str]:
        try:
            names = os.listdir(folder)
        except OSError:
            return []
        return sorted(names) if len(names) <= _MAX_ENTRIES else []


def _agreed(sources: list[SourceFile], rank: int) -> dict[str, Version]:
    """The pins of files of one rank, without those that the files disagree about."""
    seen: dict[str, list[Version]] = {}
    for source in sources:
        for name, span in _found(source, rank):
            seen.setdefault(name, []).append(Version(span.text, source.path, span))
    return {name: versions[0] for name, versions in seen.items() if len({version.parts for version in versions}) == 1}


def _found(source: SourceFile, rank: int) -> Iterator[tuple[str, Span]]:
    """(package, place of its release) of each pin in a file."""
    if rank == IMAGE:
        for image in re.finditer(_IMAGE, source.text):
            for match in re.compile(_IN_IMAGE).finditer(source.text, image.start(1), image.end(1)):
                yield match[2], source.span(match.start(3), match.end(3))
    for match in re.finditer(_LOCKED if rank == LOCK else _PINNED, source.text):
        span = source.span(match.start(2), match.end(2))
        if not source.line(span.line).lstrip().startswith("#"):
            yield match[1], span
