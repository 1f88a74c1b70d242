"""Files that a command line names: found in the repository and read into located values."""

from __future__ import annotations

import os

from grpo_lint.located import DYNAMIC, Unknown
from grpo_lint.source import SourceFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from grpo_lint.discover import Repository
    from grpo_lint.launch import Launch
    from grpo_lint.located import Value, Word


WRITTEN = "written"
"""Where a repository keeps, by their paths, the texts of the files that the script at hand writes itself."""


def read_written(body: Word, suffix: str, consumer: str) -> Value | None:
    """The root of a file whose text a script holds in a here-document, with its places in the script.

    What the shell would fill in is unknown. A YAML text with such parts isn't read: its lines could be any.
    """
    if suffix in (".json", ".hjson"):
        from grpo_lint.syntax import json

        root = json.read_text(body.text, lambda start, end: body.cut(start, end).span).root
        if root is not None and body.dynamic:
            _mark_unknown(root, body.reason)
        return root
    if suffix == ".toml":  # as with YAML
        return None
    if body.dynamic or body.span.text.rstrip("\n") != body.text.rstrip("\n"):
        return None
    from grpo_lint.syntax import yaml

    file = body.span.file
    before = "".join(c if c == "\n" else " " for c in file.text[: body.span.start])
    padded = SourceFile(file.path, before + body.text)
    root = next((document.root for document in yaml.read(padded, consumer)), None)
    padded.text = file.text
    padded.forget_lines()
    return root


def _mark_unknown(value: Value, reason: str) -> None:
    """Make each scalar of which a part isn't known unknown as a whole."""
    for _, leaf in value.leaves():
        if isinstance(leaf.data, str) and DYNAMIC in leaf.data:
            leaf.data = Unknown(reason)


def named_word(words: Sequence[Word], names: tuple[str, ...]) -> Word | None:
    """The value of the last of some flags: `--config x`, `--config=x`."""
    found = None
    for at, word in enumerate(words):
        name, equals, _ = word.text.partition("=")
        if name in names:
            if equals:
                found = word.cut(len(name) + 1)
            elif at + 1 < len(words):
                found = words[at + 1]
    return found


def paths_of(word: Word) -> tuple[str, ...]:
    """The paths that a word may name, most likely first; none if it isn't known."""
    if not word.dynamic:
        return (word.text,)
    from grpo_lint.syntax.shell import paths

    return paths(word)


def named_document(
    words: Sequence[Word], names: tuple[str, ...], folder: str, repository: Repository, consumer: str
) -> Value | None:
    """The root of the YAML or JSON file that a flag names; None where there is none, or it can't be had."""
    word = named_word(words, names)
    for name in paths_of(word) if word is not None else ():
        root = document_at(name, folder, repository, consumer)
        if root is not None:
            return root
    return None


def names_config(
    launch: Launch, folder: str, repository: Repository, consumer: str, recognises: Callable[[Value], bool]
) -> bool:
    """Whether the YAML that a program names by `--config` is there, and one that a framework recognises as its own."""
    root = named_document(launch.args, ("--config",), folder, repository, consumer)
    return root is not None and recognises(root)


def document_at(name: str, folder: str, repository: Repository, consumer: str) -> Value | None:
    """The root of a YAML, JSON or TOML file of the repository, whose scalars a consumer's rules resolve.

    A relative path counts from the folder, one above it, or the repository's root.
    """
    suffix = os.path.splitext(name)[1].lower()
    if suffix not in (".yaml", ".yml", ".json", ".hjson", ".toml"):
        return None
    written = repository.kept.get(WRITTEN)
    if isinstance(written, dict) and name in written:
        return read_written(written[name], suffix, consumer)
    path = repository.find(name, folder) or repository.find(name, repository.root)
    source = repository.load(path) if path is not None else None
    if source is None:
        return None
    if suffix in (".json", ".hjson"):
        from grpo_lint.syntax import json

        return json.read(source).root
    if suffix == ".toml":
        from grpo_lint.syntax import toml

        return toml.read(source).root
    from grpo_lint.syntax import yaml

    return next((document.root for document in yaml.read(source, consumer)), None)
