"""A key that a JSON or YAML file lacks, added so that every other byte stays.

The edit is tried, and offered only if the file then reads as before with the key in it.
"""

from __future__ import annotations

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
    from grpo_lint.syntax.document import Document


def added(place: Span, beside: str, path: str, text: str, data: Any, title: str, safe: bool) -> Fix | None:
    """Add the key of a dotted path to the config in which a value of another key, `beside`, stands at `place`.

    The config may be a section of its file. `text` is the value as JSON writes it, which YAML reads the same; `data` is
    what it reads as. None where the section isn't there or has the key, and where the file is neither JSON nor YAML.
    """
    file = place.file
    kind = kind_of(file.path)
    at = _document_of(file, kind, place)
    if at is None:
        return None
    index, root = at
    here = next((key for key, leaf in root.leaves() if leaf.span == place), "")
    if f".{here}".endswith(f".{beside}"):
        path = here[: len(here) - len(beside)] + path
    else:
        return None
    section, _, key = path.rpartition(".")
    parent = root.get(section) if section else root
    if parent is None or (parent.is_mapping and key in parent.data):
        return None
    for edits in _ways(parent, path, text, data, kind, index):
        spans = tuple((file.span(start, end), new) for start, end, new in edits)
        if _gains(file, edits, kind, index, root, path, data):
            return Fix(title, spans, safe, (root.span,))
    return None


def _document_of(file: SourceFile, kind: str | None, place: Span) -> tuple[int, Value] | None:
    """Which document of a file a place is in, and its root, if that is a mapping."""
    for index, root in enumerate(_roots(file, kind)):
        if root is not None and root.is_mapping and root.span.start <= place.start and place.end <= root.span.end:
            return index, root
    return None


def _roots(file: SourceFile, kind: str | None) -> list[Value | None]:
    """The roots of a file's documents; none where its reader would refuse it."""
    documents: list[Document] = []
    if kind == "json":
        from grpo_lint.syntax import json

        documents = [json.read(file)]
    elif kind == "yaml":
        from grpo_lint.syntax import yaml

        documents = yaml.read(file, "pyyaml")
    if any(problem.fatal for document in documents for problem in document.problems):
        return []
    return [document.root for document in documents]


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


def _gains(
    file: SourceFile, edits: list[Edit], kind: str | None, index: int, root: Value, path: str, data: Any
) -> bool:
    """Whether a file reads as it does now, but for the key that the edits add."""
    if not edits:
        return False
    roots = _roots(SourceFile(file.path, edited(file.text, edits)), kind)
    if index >= len(roots) or roots[index] is None:
        return False
    wanted: list[Any] = [None if each is None else each.plain() for each in _roots(file, kind)]
    node = wanted[index]
    *sections, key = path.split(".")
    for name in sections:
        if node.get(name) is None:
            node[name] = {}
        node = node[name]
        if not isinstance(node, dict):
            return False
    node[key] = data
    return [None if each is None else each.plain() for each in roots] == wanted
