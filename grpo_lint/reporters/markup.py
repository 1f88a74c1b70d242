"""Text as XML, without the xml package, which takes longer to import than a report to write."""

from __future__ import annotations

from grpo_lint.reporters.characters import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})


def escaped(text: str) -> str:
    r"""Text on one line, for an attribute in double quotes or an element.

    XML 1.0 has no way to say most control characters: what isn't seen is written as `visible` does, `\x1b`. The rest is
    ASCII, so that it is right in whatever encoding the stream has.
    """
    return visible(text).translate(_ENTITIES).encode("ascii", "xmlcharrefreplace").decode("ascii")


def paragraph(lines: Iterable[str]) -> str:
    """Lines as the text of an element."""
    return "\n".join(map(escaped, lines))


def attributes(**values: object) -> str:
    """` name="value"` for each, in the order given."""
    return "".join(f' {name}="{escaped(str(value))}"' for name, value in values.items())
