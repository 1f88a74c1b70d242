"""Rules' pages as HTML: the little Markdown that they are written in."""

from __future__ import annotations

import re

from grpo_lint.reporters.html.elements import element
from grpo_lint.reporters.markup import escaped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_INLINE = re.compile(
    r"`([^`]+)`|\*\*([^*]+)\*\*|<(https://[^\s<>]+)>|\[([^\]]+)\]\((https://[^\s()]+)\)|\[([^\]]+)\]\([^)]*\)"
)


def page(markdown: str) -> str:
    """Headings, paragraphs, lists, tables and fenced code; the first sentence is a paragraph like the others."""
    return "".join(_blocks(markdown.split("\n")))


def _blocks(lines: list[str]) -> Iterator[str]:
    at = 0
    while at < len(lines):
        line = lines[at]
        end = at + 1
        if line.startswith("```"):
            while end < len(lines) and not lines[end].startswith("```"):
                end += 1
            yield element("pre", "\n".join(map(escaped, lines[at + 1 : end])), tabindex=0)
            end += 1
        elif line.startswith("#"):
            yield element("h3", _inline(line.lstrip("# ")))
        elif line.strip():
            while end < len(lines) and lines[end].strip() and not lines[end].startswith(("```", "#")):
                end += 1
            yield _paragraph(lines[at:end])
        at = end


def _paragraph(lines: list[str]) -> str:
    if lines[0].startswith("|"):
        return element("pre", "\n".join(map(escaped, lines)), tabindex=0)
    if not any(line.startswith("- ") for line in lines):
        return element("p", _inline(" ".join(map(str.strip, lines))))
    lead: list[str] = []
    items: list[list[str]] = []
    for line in lines:
        if line.startswith("- "):
            items.append([line[2:]])
        else:
            (items[-1] if items else lead).append(line.strip())
    listed = element("ul", *(element("li", _inline(" ".join(item))) for item in items))
    return (element("p", _inline(" ".join(lead))) if lead else "") + listed


def _inline(text: str) -> str:
    parts: list[str] = []
    at = 0
    for found in _INLINE.finditer(text):
        code, strong, bare, title, address, local = found.groups()
        parts.append(escaped(text[at : found.start()]))
        if code is not None:
            parts.append(element("code", escaped(code)))
        elif strong is not None:
            parts.append(element("strong", _inline(strong)))
        elif local is not None:
            parts.append(_inline(local))
        else:
            parts.append(
                element("a", _inline(title) if title else escaped(bare), href=address or bare, rel="noreferrer")
            )
        at = found.end()
    return "".join((*parts, escaped(text[at:])))
