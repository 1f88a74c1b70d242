"""Insertions into YAML by a round trip through ruamel.yaml, where an edit by places can't tell where to write.

A round trip writes the whole file anew. It is trusted only where it gives the file back as it is, byte for byte, when
nothing changes; what differs when the key is added is then the insertion alone.
"""

from __future__ import annotations

import io

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from grpo_lint.edits import Edit

_STYLES = ((2, 4, 2), (2, 2, 0), (4, 4, 2), (4, 2, 0), (4, 6, 4))
"""Indentations to try: of mappings, of lists, and of a list's dash."""


def insertion(text: str, path: str, data: Any) -> list[Edit]:
    """The edits that add a dotted path's key to a file of one document; none where that can't be done by insertion."""
    from ruamel.yaml import YAML
    from ruamel.yaml.comments import CommentedMap
    from ruamel.yaml.error import YAMLError

    plain = text.replace("\r\n", "\n")
    for mapping, sequence, offset in _STYLES:
        yaml = YAML()
        yaml.preserve_quotes = True
        yaml.width = 1 << 20
        yaml.indent(mapping=mapping, sequence=sequence, offset=offset)
        try:
            root = yaml.load(plain)
            if not isinstance(root, CommentedMap) or _dumped(yaml, root) != plain:
                continue
            *sections, key = path.split(".")
            node = root
            for name in sections:
                if node.get(name) is None:
                    node[name] = CommentedMap()
                node = node[name]
            if not isinstance(node, CommentedMap) or key in node:
                return []
            node[key] = data
            return _inserted(text, plain, _dumped(yaml, root))
        except (YAMLError, ValueError, TypeError, AttributeError, RecursionError):
            continue
    return []


def _dumped(yaml: Any, root: Any) -> str:
    out = io.StringIO()
    yaml.dump(root, out)
    return out.getvalue()


def _inserted(text: str, before: str, after: str) -> list[Edit]:
    """What was put in between a common beginning and a common end, as an edit of the text with its own line ends."""
    start = 0
    while start < len(before) and before[start : start + 1] == after[start : start + 1]:
        start += 1
    left = len(before) - start
    if left and after[-left:] != before[start:]:
        return []
    new = after[start : len(after) - left]
    at = start + (before.count("\n", 0, start) if "\r\n" in text else 0)
    if text.replace("\r\n", "\n")[: len(before)] != before or (
        "\r\n" in text and text.count("\r\n") != text.count("\n")
    ):
        return []
    return [(at, at, new)]
