"""The settings that hold, as a TOML file that says where each comes from."""

from __future__ import annotations

from grpo_lint.settings_values import OPTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TextIO

    from grpo_lint.settings import FilePatterns, Settings


def write(settings: Settings, out: TextIO) -> None:
    """All settings, those of which nothing was said too. Patterns are written as their file gives them."""
    lists = {name: _list(getattr(settings, name)) for name in ("select", "ignore", "enforce")}
    patterns = {name: _list(_patterns(getattr(settings, name))) for name in ("exclude", "include")}
    plain = {
        "profile": _text(settings.profile),
        **lists,
        "strict-forms": str(settings.strict_forms).lower(),
        "require-reason": str(settings.require_reason).lower(),
        "fail-on": _text(settings.fail_on),
        "min-severity": _text(settings.min_severity),
        **patterns,
        "include-docs": str(settings.include_docs).lower(),
    }
    for name in OPTIONS:
        if name in plain:
            origin = _comment(settings.origins.get(name, "default"))
            out.write(f"{name} = {plain[name]}  # {origin}\n")
    per_file: dict[str, tuple[str, ...]] = {}
    for entry in settings.per_file_ignores:
        per_file[entry.patterns[0]] = (*per_file.get(entry.patterns[0], ()), *entry.names)
    tables = {
        "levels": {name: _text(level) for name, level in settings.levels.items()},
        "per-file-ignores": {pattern: _list(names) for pattern, names in per_file.items()},
        "targets": {name: _text(version) for name, version in settings.targets.items()},
        "hardware": {name: str(value) for name, value in settings.hardware.items()},
    }
    for table, rows in tables.items():
        if rows:
            out.write(f"\n[{table}]\n")
        for key, value in rows.items():
            out.write(f"{_text(key)} = {value}  # {_comment(settings.origins.get(f'{table}.{key}', 'default'))}\n")


def _patterns(entries: Iterable[FilePatterns]) -> Iterator[str]:
    return (pattern for entry in entries for pattern in entry.patterns)


def _list(items: Iterable[str]) -> str:
    return f"[{', '.join(map(_text, items))}]"


def _text(text: str) -> str:
    """A basic string of TOML."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped) + '"'


def _comment(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)
