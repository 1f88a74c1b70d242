"""What can be said of a YAML text without parsing it: comments, template code, where to resume after a fault."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

FORBIDDEN = "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
"""A pattern for characters that YAML does not allow anywhere; it takes longer to compile than most files to read."""

_CONTROL_CHARACTER = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]")
_COMMENT = re.compile(r"(?<!\S)#[^\r\n]*")

# compiled on first use: most files have none of these
_PROPERTIES = r"(?:!<[^>\s]*>|[&!][^\s,\[\]{}]*|#[^\r\n]*|\s+)*"
_TOP_LEVEL_KEY = r"^(?:[A-Za-z_][\w./-]*|\"[^\"\n]*\"|'[^'\n]*')[ \t]*:(?=\s|\Z)"
_TEMPLATE = r"\{\{.*?(?:\}\}|$)|\{%.*?(?:%\}|$)"
_CONTROL_CODE = r"\{%|\{\{-?\s*(?:if|else|end|range|with|define|block|template|include)\b"
_BLANK = r"(?:\s|#[^\r\n]*)*"

_TAG_PREFIX = "tag:yaml.org,2002:"


def has_forbidden(text: str) -> bool:
    """Whether FORBIDDEN would match anywhere."""
    if _CONTROL_CHARACTER.search(text) is not None:
        return True
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return "\ufffe" in text or "\uffff" in text


def short_tag(tag: str) -> str:
    """A tag as people write it: `!!int` for `tag:yaml.org,2002:int`."""
    return "!!" + tag[len(_TAG_PREFIX) :] if tag.startswith(_TAG_PREFIX) else tag


def skip_properties(text: str, start: int, end: int) -> int:
    """The offset of a node's content, past its anchor and tag."""
    match = re.compile(_PROPERTIES).match(text, start, end)
    return match.end() if match is not None else start


def block_scalar_end(text: str, start: int, end: int) -> int:
    """A block scalar's end without its last line break, and without blank lines unless it keeps them (`|+`)."""
    header_end = text.find("\n", start, end)
    if "+" in text[start : header_end if header_end >= 0 else end].partition("#")[0]:
        end -= 1 if text[end - 1 : end] == "\n" else 0
        return end - 1 if text[end - 1 : end] == "\r" else end
    while end > start and text[end - 1] in "\r\n":
        end -= 1
    return end


def comments(text: str, scalars: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The (start, end) of each comment, given the places of the scalars that contain a `#`."""
    scalars = sorted(scalars)
    at = 0
    for match in _COMMENT.finditer(text):
        start = match.start()
        while at < len(scalars) and scalars[at][1] <= start:
            at += 1
        if at == len(scalars) or start < scalars[at][0]:
            yield start, match.end()


def template_near(text: str, at: int) -> tuple[int, int] | None:
    """The (start, end) of template code on the line of an offset, or on the line before it."""
    line_start = text.rfind("\n", 0, max(text.rfind("\n", 0, at), 0)) + 1
    line_end = text.find("\n", at)
    match = re.compile(_TEMPLATE, re.MULTILINE).search(text, line_start, line_end if line_end >= 0 else len(text))
    return match.span() if match is not None else None


def is_control(code: str) -> bool:
    """Whether template code decides on what follows it (`{% if %}`, `{{- range }}`)."""
    return re.compile(_CONTROL_CODE).match(code) is not None


def after_indicator(text: str, start: int, end: int, indicator: str) -> int:
    """The offset after a `:` or `-` that has only white space and comments before it; `end` if there is none."""
    match = re.compile(_BLANK).match(text, start, end)
    at = match.end() if match is not None else start
    return at + 1 if text.startswith(indicator, at, end) else end


def next_top_level_key(text: str, at: int) -> int | None:
    """The offset of the first line after an offset that starts with a key."""
    following = text.find("\n", at)
    match = re.compile(_TOP_LEVEL_KEY, re.MULTILINE).search(text, following) if following >= 0 else None
    return match.start() if match is not None else None
