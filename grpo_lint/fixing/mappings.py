"""A key that a JSON or YAML config lacks, added so that every other byte stays.

The edit is tried, and offered only if the config then reads as before with the key in it.
"""

from __future__ import annotations

import re

from grpo_lint.diagnostics import Fix
from grpo_lint.discover import kind_of
from grpo_lint.edits import edited
from grpo_lint.source import SourceFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from grpo_lint.edits import Edit
    from grpo_lint.located import Value
    from grpo_lint.source import Span

MANY = 20
"""Lines that start with a brace, before a place in a script, of which one may open the config around it."""


class _Text:
    """The text of a config: a JSON or YAML file, or JSON in a script, from `start` to `end` in its file."""

    __slots__ = ("end", "file", "kind", "start")

    def __init__(self, file: SourceFile, kind: str, start: int, end: int) -> None:
        self.file = file
        self.kind = kind
        self.start = start
        self.end = end

    def roots(self) -> list[Value | None]:
        """The roots of its documents; none where its reader would refuse it."""
        text = self.file.text[self.start : self.end]
        if self.kind == "json":
            from grpo_lint.syntax import json

            documents = [json.read_text(text, lambda low, high: self.file.span(self.start + low, self.start + high))]
        else:
            from grpo_lint.syntax import yaml

            documents = yaml.read(self.file, "pyyaml")
        if any(problem.fatal for document in documents for problem in document.problems):
            return []
        return [document.root for document in documents]

    def edited(self, edits: list[Edit]) -> _Text:
        file = SourceFile(self.file.path, edited(self.file.text, edits))
        return _Text(file, self.kind, self.start, self.end + len(file.text) - len(self.file.text))


LONGEST = 100_000
"""Characters of a file into which a key is added: each try reads the file anew, and one may have many configs."""


def added(place: Span, beside: str, path: str, text: str, data: Any, title: str, safe: bool) -> Fix | None:
    """Add the key of a dotted path to the config in which a value of another key, `beside`, stands at `place`.

    The config may be a section of its file. `text` is the value as JSON writes it, which YAML reads the same; `data` is
    what it reads as. None where the section isn't there or has the key, where the text is neither JSON nor YAML, and in
    files that are longer than LONGEST.
    """
    if len(place.file.text) > LONGEST:
        return None
    config = _around(place)
    at = _document_of(config, place) if config is not None else None
    if config is None or at is None:
        return None
    index, root = at
    here = next((key for key, leaf in root.leaves() if leaf.span == place), "")
    if not f".{here}".endswith(f".{beside}"):
        return None
    path = here[: len(here) - len(beside)] + path
    section, _, key = path.rpartition(".")
    parent = root.get(section) if section else root
    if parent is None or (parent.is_mapping and key in parent.data):
        return None
    for edits in _ways(parent, path, text, data, config.kind, index):
        if edits and _gains(config, edits, index, path, data):
            spans = tuple((place.file.span(start, end), new) for start, end, new in edits)
            return Fix(title, spans, safe, (root.span,))
    return None


def _around(place: Span) -> _Text | None:
    """The config that holds a place: its file, or the outermost braces around it in a script, which start a line."""
    file = place.file
    kind = kind_of(file.path, file.text[:2].encode("utf-8", "replace"))
    if kind in ("json", "yaml"):
        return _Text(file, kind, 0, len(file.text))
    if kind != "shell":
        return None
    start, text = place.start, file.text
    for _ in range(MANY):
        start = text.rfind("\n{", 0, start) + 1
        if not start:
            return None
        end = _closed(text, start)
        if end >= place.end:
            return _Text(file, "json", start, end)
    return None


def _closed(text: str, start: int) -> int:
    """Just past the brace that closes one; -1 if none does."""
    depth = 0
    for found in re.compile(r'"(?:[^"\\\n]|\\.)*"|[{}]').finditer(text, start):
        depth += {"{": 1, "}": -1}.get(found.group(), 0)
        if not depth:
            return found.end()
    return -1


def _document_of(config: _Text, place: Span) -> tuple[int, Value] | None:
    """Which document of a config a place is in, and its root, if that is a mapping."""
    for index, root in enumerate(config.roots()):
        if root is not None and root.is_mapping and root.span.start <= place.start and place.end <= root.span.end:
            return index, root
    return None


def _ways(parent: Value, path: str, text: str, data: Any, kind: str | None, index: int) -> Iterator[list[Edit]]:
    """Edits to try in turn."""
    key = path.rpartition(".")[2]
    if parent.is_mapping and parent.span.text.startswith("{"):
        yield _in_braces(parent, key, text, ",")
        yield _in_braces(parent, key, text, "")  # HJSON may do without commas, and can't have one after bare text
    elif parent.is_mapping and parent.data:
        yield _in_block(parent, key, text)
    if kind == "yaml" and index == 0:
        from grpo_lint.fixing.round_trip import insertion

        yield insertion(parent.span.file.text, path, data)


def _in_braces(parent: Value, key: str, text: str, comma: str) -> list[Edit]:
    """After the last member of `{...}`: on a line of its own if that one is."""
    whole, span = parent.span.file.text, parent.span
    if not parent.data:
        return [(span.start + 1, span.start + 1, f'"{key}": {text}')]
    last = list(parent.data.values())[-1]
    name, end = last.key_span, last.span.end
    assert name is not None
    member = f'"{key}": {text}' if name.text[:1] == '"' else f"{key}: {text}"
    line = whole.rfind("\n", 0, name.start) + 1
    margin = whole[line : name.start]
    if margin.strip() or line <= span.start:
        return [(end, end, f"{comma} {member}")] if comma else []
    stop = whole.find("\n", end)
    rest = whole[end:stop] if 0 <= stop < span.end else ""
    if rest.lstrip().startswith(","):  # after the last member, as the file writes it
        at = end + rest.index(",") + 1
        return [(at, at, f"\n{margin}{member},")]
    if rest.strip():  # a comment, which stays beside its member
        at = end + len(rest.rstrip("\r"))
        return [*([(end, end, comma)] if comma else []), (at, at, f"\n{margin}{member}")]
    return [(end, end, f"{comma}\n{margin}{member}")]


def _in_block(parent: Value, key: str, text: str) -> list[Edit]:
    """On a line of its own after a block mapping's last key and all that belongs to it."""
    whole = parent.span.file.text
    last = list(parent.data.values())[-1]
    name = last.key_span
    if name is None:
        return []
    line = whole.rfind("\n", 0, name.start) + 1
    end = max((leaf.span.end for _, leaf in last.leaves()), default=last.span.end)
    stop = whole.find("\n", max(end - 1, name.end))
    stop = len(whole) if stop < 0 else stop
    at = stop - 1 if whole[stop - 1 : stop] == "\r" else stop
    return [(at, at, f"\n{' ' * (name.start - line)}{key}: {text}")]


def _gains(config: _Text, edits: list[Edit], index: int, path: str, data: Any) -> bool:
    """Whether a config reads as it does now, but for the key that the edits add."""
    wanted: list[Any] = [None if each is None else each.plain() for each in config.roots()]
    node = wanted[index]
    *sections, key = path.split(".")
    for name in sections:
        if node.get(name) is None:
            node[name] = {}
        node = node[name]
        if not isinstance(node, dict):
            return False
    node[key] = data
    return [None if each is None else each.plain() for each in config.edited(edits).roots()] == wanted
