"""Code fences of Markdown: what language each is said to be in, and the text between its lines.

for fence in fences(source.text): fence.language, fence.start, fence.end
"""

from __future__ import annotations

from grpo_lint.patterns import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_FENCE = lazy(r"(?m)^([ \t>]*(?:[-*+]|\d+\.)?[ \t]*)(`{3,}|~{3,})[ \t]*\{?\.?([\w+-]*)[^\n]*$")
_PROMPT = lazy(r"(?m)^([ \t]*)(?:\([\w.-]+\)[ \t]*)?(?:[\w.-]+@[\w.:~/-]+)?[$%#>][ \t]+(?=\S)")
MAX_FENCES = 1_000


class Fence:
    """A fence: its language in lower case ("" where none is said), and the offsets of its text."""

    __slots__ = ("end", "language", "start")

    def __init__(self, language: str, start: int, end: int) -> None:
        self.language = language
        self.start = start
        self.end = end


def fences(text: str) -> Iterator[Fence]:
    """The fences of a document, in order; one that nothing closes goes on to the end."""
    at = 0
    for _ in range(MAX_FENCES):
        opened = _FENCE.search(text, at)
        if opened is None:
            return
        start, mark = min(opened.end() + 1, len(text)), opened[2]
        end, at = len(text), len(text)
        closed = start
        while closed < len(text):
            stop = text.find("\n", closed)
            stop = len(text) if stop < 0 else stop
            line = text[closed:stop].strip().lstrip(">").strip()
            if line and not line.strip(mark[0]) and len(line) >= len(mark):
                end, at = closed, stop
                break
            closed = stop + 1
        yield Fence(opened[3].lower(), start, end)


def commands_of(text: str) -> str:
    """A terminal's session as a script of the same length: prompts are blank, and so is what commands print.

    Text without prompts is a script as it is.
    """
    if _PROMPT.search(text) is None or not any(_is_dollar(match[0]) for match in _PROMPT.finditer(text)):
        return text
    lines = []
    goes_on = False
    for line in text.split("\n"):
        match = _PROMPT.match(line)
        if match is not None and (not goes_on or match[0].strip() == ">"):
            line = " " * match.end() + line[match.end() :]
        elif not goes_on:
            line = " " * len(line)
        goes_on = line.rstrip().endswith("\\")
        lines.append(line)
    return "\n".join(lines)


def _is_dollar(prompt: str) -> bool:
    """`#` and `>` alone may start a comment or a quotation."""
    return "$" in prompt or "%" in prompt
