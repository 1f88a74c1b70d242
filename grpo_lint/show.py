"""What a run really gets, as a table for people and as JSON for programs.

The JSON is a contract, versioned by "schema": for each run its file and line, the conditions it is reached under, its
argv as bash would pass it, every raw option and every unified field with state, value, layer and place. Lines and
columns count from 1, columns in code points, ends are exclusive; a value that stands in no file has null places.
"""

from __future__ import annotations

from grpo_lint.located import Unknown
from grpo_lint.source import masked
from grpo_lint.unified import FIELDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, TextIO

    from grpo_lint.located import Word
    from grpo_lint.runconfig import RunConfig
    from grpo_lint.source import Span
    from grpo_lint.unified import Setting

SCHEMA = 1


def write_json(runs: Iterable[RunConfig], out: TextIO, changed: bool = False, memory: bool = False) -> None:
    """Write the runs as JSON: with `changed` without the defaults that nothing overrides, with `memory` an estimate."""
    import json

    data = [as_data(run, changed) | (_memory(run) if memory else {}) for run in runs]
    json.dump({"schema": SCHEMA, "runs": data}, out, indent=1, ensure_ascii=False)
    out.write("\n")


def _memory(run: RunConfig) -> dict[str, Any]:
    from grpo_lint.show_memory import as_data

    return {"memory": as_data(run)}


def as_data(run: RunConfig, changed: bool = False) -> dict[str, Any]:
    """One run in the shape of the contract."""
    return {
        "file": run.anchor.file.path,
        "line": _line(run),
        "when": list(run.when),
        "framework": run.framework,
        "versions": {name: {"version": v.text, "from": v.source} for name, v in sorted(run.versions.items())},
        "argv": [_word(word) for word in run.command],
        "options": [
            {"framework": framework, "key": key, **_setting(setting)}
            for framework, key, setting in (run.options.written() if changed else run.options.all())
        ],
        "config": {
            field: _setting(getattr(run, field)) for field in FIELDS if not changed or getattr(run, field).explicit
        },
    }


def _line(run: RunConfig) -> int:
    """The line where a run's command starts, where the file itself has it; else that of the file's first key."""
    if run.command:
        first = run.command[0]
        for span in (*reversed(first.via), first.span):  # a program that stands in an array starts where that is used
            if span.file.path == run.anchor.file.path:
                return span.line
    return run.anchor.line


def _word(word: Word) -> dict[str, Any]:
    end_line, end_column = word.span.end_position
    return {
        "text": word.text,
        "dynamic": word.dynamic,
        **_place(word.span),
        "end_line": end_line,
        "end_column": end_column,
    }


def _place(span: Span | None) -> dict[str, Any]:
    if span is None:
        return {"file": None, "line": None, "column": None}
    return {"file": span.file.path, "line": span.line, "column": span.column}


def _setting(setting: Setting) -> dict[str, Any]:
    origin = setting.origin
    data: dict[str, Any] = {"state": setting.state, "value": _plain(setting.value)}
    if setting.state == "alternatives":
        data["alternatives"] = [{"when": when, "value": _plain(value)} for when, value in setting.alternatives]
    if setting.state == "unknown":
        data["reason"] = setting.reason
    if origin is None:
        return {**data, "layer": None, **_place(None), "via": []}
    data |= {"layer": origin.layer, **_place(origin.span), "via": [_place(span) for span in origin.via]}
    if origin.note:
        data["note"] = origin.note
    overridden = [{"layer": o.layer, "value": _plain(o.data), **_place(o.span)} for o in setting.chain[:-1]]
    if overridden:
        data["overrides"] = overridden
    return data


def _plain(value: Any) -> Any:
    """A value as JSON can hold it."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, dict):
        return {str(key): _plain(child) for key, child in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(child) for child in value]
    return str(value)


def write_table(
    runs: list[RunConfig], out: TextIO, changed: bool = False, width: int = 80, memory: bool = False
) -> None:
    """Write each run as a table of the unified config, then of its raw options: name, value, where it comes from.

    With `memory`, the estimate of its memory stands in their place.
    """
    if not runs:
        out.write("no runs found\n")
    for number, run in enumerate(runs):
        out.write("\n" if number else "")
        when = f", when {' and '.join(run.when)}" if run.when else ""
        out.write(_clean(f"{run.anchor.file.path}:{_line(run)}: {run.framework}{when}") + "\n")
        for name, version in sorted(run.versions.items()):
            out.write(_clean(f"  {name} {version.text} ({version.source})") + "\n")
        if memory:
            from grpo_lint.show_memory import lines

            out.write("".join(_clean(line) + "\n" for line in lines(run)))
            continue
        _write_rows("config", _config_rows(run, changed), out, width)
        _write_rows("options", _option_rows(run, changed), out, width)


def _config_rows(run: RunConfig, changed: bool) -> Iterator[tuple[str, str, str]]:
    for field in FIELDS:
        setting: Setting = getattr(run, field)
        if not setting.unset and (not changed or setting.explicit):
            yield field, value_text(setting), origin_text(setting, run.anchor.file.path)


def _option_rows(run: RunConfig, changed: bool) -> Iterator[tuple[str, str, str]]:
    for framework, key, setting in run.options.written() if changed else run.options.all():
        name = key if framework == run.framework else f"{framework} {key}"
        yield name, value_text(setting), origin_text(setting, run.anchor.file.path)


def _write_rows(title: str, rows: Iterable[tuple[str, str, str]], out: TextIO, width: int) -> None:
    """Aligned columns; a row whose name or value is long takes the room it needs."""
    listed = list(rows)
    if not listed:
        return
    out.write(f"  {title}\n")
    name_width = min(max(len(row[0]) for row in listed), width // 2)
    value_width = min(max(len(row[1]) for row in listed), 16)
    for name, value, place in listed:
        out.write(_clean(f"    {name:<{name_width}}  {value:<{value_width}}  {place}").rstrip() + "\n")


def value_text(setting: Setting) -> str:
    """A setting's value as people read it: `?` where it isn't known, `a | b` where it is one of several."""
    if setting.state == "unknown":
        return "?"
    if setting.state == "alternatives":
        return " | ".join(spelt(value) for _, value in setting.alternatives)
    text = masked(spelt(setting.value))
    return text if len(text) <= 60 else text[:57] + "..."


def spelt(value: Any) -> str:
    """A value as a config file spells it; a part that isn't known reads `?`."""
    if isinstance(value, Unknown):
        return "?"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_inner, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_inner(child)}" for key, child in value.items()) + "}"
    return str(value)


def _inner(value: Any) -> str:
    return repr(value) if isinstance(value, str) else spelt(value)


def origin_text(setting: Setting, home: str) -> str:
    """Where a value comes from, in one line; a place in the run's own file is told by its line alone."""
    origin = setting.origin
    if setting.state == "unknown" and (origin is None or origin.span is None):
        return setting.reason
    if origin is None:
        return ""
    spans = [span for span in (origin.span, *origin.via) if span is not None]
    places = [f"line {s.line}" if s.file.path == home else f"{s.file.path}:{s.line}" for s in spans]
    parts = [" <- ".join(dict.fromkeys(places))] if places else []
    if setting.state == "unknown":
        parts.append(setting.reason)
    elif origin.note:
        parts.append(origin.note)
    return ", ".join(parts) or origin.layer


def _clean(text: str) -> str:
    """A line without control characters, which a terminal would obey."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)
