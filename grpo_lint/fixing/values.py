"""Edits of a value or a name where it stands as such."""

from __future__ import annotations

import re

from grpo_lint.diagnostics import Fix
from grpo_lint.discover import kind_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from grpo_lint.source import SourceFile, Span
    from grpo_lint.unified import Setting

QUOTES = ("'", '"')
_PLAIN = r"[\w.,:/+-]+"
"""Text that reads the same plain and in quotes, in a script, in YAML and, in quotes, in JSON."""
_USE = r"\$(?:(\w+)|\{(\w+)(?::?[-=][^{}]*)?\})"
_ALIAS = r"(?m)(?:^|[\s\[{,])\*\w"
_SOURCES = r"(?m)^\s*(?:source|\.)\s"
_WRITTEN = ("file", "environment", "override")


def set_to(setting: Setting, new: str, title: str, safe: bool) -> Fix | None:
    """Write another value in place of a setting's; None where it doesn't stand in one place that is its alone.

    In quotes it is written in the same ones.
    """
    span = literal(setting)
    if span is None or re.fullmatch(_PLAIN, new) is None:
        return None
    text = span.text
    quote = text[0] if len(text) > 1 and text[0] in QUOTES and text[-1] == text[0] else ""
    return Fix(title, ((span, f"{quote}{new}{quote}"),), safe)


def literal(setting: Setting) -> Span | None:
    """Where a setting's value is written out, if what stands there is the value of this option and of nothing else."""
    origin = setting.origin
    if origin is None or origin.span is None or origin.layer not in _WRITTEN:
        return None
    if reads_as(origin.span.text, origin.data):
        return None if origin.layer == "file" and _is_repeated(origin.span, origin.via) else origin.span
    used = re.fullmatch(_USE, origin.span.text)
    places = [place for place in origin.via if reads_as(place.text, origin.data)]
    if used is None or len(places) != 1 or any(not _around(place, places[0]) for place in origin.via):
        return None
    return places[0] if _is_only_use(used[1] or used[2], origin.span, places[0]) else None


def reads_as(text: str, data: Any) -> bool:
    """Whether a text, quoted or not, is plainly the writing of a value."""
    if len(text) > 1 and text[0] in QUOTES and text[-1] == text[0]:
        text = text[1:-1]
    if isinstance(data, bool):
        return text.lower() == str(data).lower()
    if isinstance(data, (int, float)):
        try:
            return float(text) == data
        except ValueError:
            return False
    return text == ("null" if data is None else data)


def _around(place: Span, inner: Span) -> bool:
    return place.file is inner.file and place.start <= inner.start and inner.end <= place.end


def _is_repeated(span: Span, via: tuple[Span, ...]) -> bool:
    """Whether a value of a document may stand for others as well: by an alias, or by what an alias repeats."""
    return bool(via) or (kind_of(span.file.path) == "yaml" and re.compile(_ALIAS).search(span.file.text) is not None)


def _is_only_use(name: str, use: Span, value: Span) -> bool:
    """Whether a variable is set at one place and used at another, and nowhere else in the script or beyond it."""
    file = use.file
    if value.file is not file or kind_of(file.path, file.text[:2].encode("utf-8", "replace")) != "shell":
        return False
    line = file.text[file.text.rfind("\n", 0, value.start) + 1 : value.start]
    if re.fullmatch(rf"""\s*{name}=["']?(?:\$\{{{name}:?[-=]["']?)?""", line) is None:
        return False
    others = [
        found.start()
        for found in re.compile(rf"\b{name}\b").finditer(file.text)
        if file.position(found.start())[0] != value.line and not _in_comment(file, found.start())
    ]
    return len(others) == 1 and use.start <= others[0] < use.end and not re.compile(_SOURCES).search(file.text)


def _in_comment(file: SourceFile, offset: int) -> bool:
    return file.line(file.position(offset)[0]).lstrip().startswith("#")


def switched_off(setting: Setting, title: str, safe: bool) -> Fix | None:
    """Write false in place of true, in capitals where that one is."""
    capital = setting.span is not None and any(place.text.strip("\"'") == "True" for place in _places(setting))
    return set_to(setting, "False" if capital else "false", title, safe) if setting.value is True else None


def _places(setting: Setting) -> tuple[Span, ...]:
    origin = setting.origin
    return (
        *((origin.span,) if origin is not None and origin.span is not None else ()),
        *(origin.via if origin else ()),
    )


def option_renamed(span: Span, name: str, safe: bool) -> Fix | None:
    """Write another option's name, `--` included, where one stands; a file's key has no `--`."""
    text = span.text
    old = text.strip("\"'").partition("=")[0]
    if re.fullmatch(r"(?:--)?[\w.-]+", old) is None or not name:
        return None
    new = name if old.startswith("--") else name.removeprefix("--")
    if text != old and text.startswith(f"{old}="):
        span = span.file.span(span.start, span.start + len(old))
    return renamed(span, old, new, safe)


def key_of(setting: Setting) -> Span | None:
    """Where the key of a `key=value` argument stands; None where value and key are not one word of a file."""
    origin = setting.origin
    if origin is None or origin.span is None or not origin.key:
        return None
    file, end = origin.span.file, origin.span.start
    end -= file.text[end - 1 : end] in QUOTES
    start = end - 1 - len(origin.key)
    if start < 0 or file.text[start:end] != f"{origin.key}=" or re.match(r"[\w.+~]", file.text[start - 1 : start]):
        return None
    return file.span(start, end - 1)


def argument_of(setting: Setting) -> Span | None:
    """Where a whole `key=value` argument stands."""
    key, value = key_of(setting), setting.span
    if key is None or value is None:
        return None
    text, end = key.file.text, value.end
    if text[key.end + 1 : key.end + 2] in QUOTES and text[end : end + 1] == text[key.end + 1]:
        end += 1
    return key.file.span(key.start, end)


def renamed(span: Span, old: str, new: str, safe: bool, title: str = "") -> Fix | None:
    """Write another name in place of one, in its quotes if it has such; None where something else stands there."""
    text = span.text
    if not old or text.strip("\"'") != old or re.fullmatch(_PLAIN, new) is None:
        return None
    return Fix(title or f"write {new}", ((span, text.replace(old, new)),), safe)


def replaced(span: Span, old: str, new: str, title: str, safe: bool) -> Fix | None:
    """Write another text in place of a part of a word or a document, quoted as its place asks for."""
    file = span.file
    if span.text != old:
        return None
    if kind_of(file.path, file.text[:2].encode("utf-8", "replace")) != "shell":
        return renamed(span, old, new, safe, title)
    from grpo_lint.syntax.shell.quoting import text_for

    text = text_for(file.text, span.start, span.end, new)
    return None if text is None else Fix(title, ((span, text),), safe)
