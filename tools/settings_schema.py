"""Write the JSON schema of the settings, and the table of them in docs/settings.md, from the table in the code.

python -m tools.settings_schema
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from grpo_lint.run import FRAMEWORKS
from grpo_lint.settings_values import HARDWARE, OPTIONS, PROFILE_OPTIONS, Option

ROOT = Path(__file__).parent.parent
SCHEMA = ROOT / "grpo_lint" / "schema" / "settings.json"
DOCS = ROOT / "docs" / "settings.md"
BEGIN, END = "<!-- settings: begin -->\n", "<!-- settings: end -->\n"

TEXT = {"type": "string", "minLength": 1}
RULE = {
    "type": "string",
    "pattern": "^[A-Za-z][A-Za-z0-9-]*$",
    "description": "A rule's id or name, a prefix of ids, a topic, or ALL.",
}
RULES = {"type": "array", "items": RULE}
KINDS = {
    "text": "a text",
    "rules": "a list of rules",
    "levels": "a table: rule = level",
    "per-file": "a table: pattern = list of rules",
    "flag": "true or false",
    "patterns": "a list of patterns",
    "targets": 'a table: framework = "release"',
    "hardware": "a table",
    "profiles": "a table of tables",
    "number": "a number above 0",
    "count": "a whole number above 0",
}


def schema() -> dict[str, Any]:
    """The schema of a grpo-lint.toml, and of [tool.grpo-lint]; draft 7, which editors understand."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Settings of grpo-lint",
        "description": "grpo-lint.toml, or [tool.grpo-lint] in pyproject.toml",
        **_table(OPTIONS),
    }


def _table(options: dict[str, Option]) -> dict[str, Any]:
    properties = {name: {"description": option.help, **_type(option)} for name, option in options.items()}
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _type(option: Option) -> dict[str, Any]:
    levels = {"enum": list(option.choices)}
    kinds: dict[str, dict[str, Any]] = {
        "text": TEXT,
        "choice": levels,
        "flag": {"type": "boolean"},
        "number": {"type": "number", "exclusiveMinimum": 0},
        "count": {"type": "integer", "minimum": 1},
        "rules": RULES,
        "patterns": {"type": "array", "items": TEXT},
        "levels": {"type": "object", "propertyNames": RULE, "additionalProperties": levels},
        "per-file": {"type": "object", "additionalProperties": RULES},
        "targets": {
            "type": "object",
            "additionalProperties": False,
            "properties": {name: {"type": "string", "pattern": "^[0-9]"} for name in FRAMEWORKS},
        },
        "hardware": {} if option.kind != "hardware" else _table(HARDWARE),
        "profiles": {} if option.kind != "profiles" else {"type": "object", "additionalProperties": _profile()},
    }
    return kinds[option.kind]


def _profile() -> dict[str, Any]:
    return _table(PROFILE_OPTIONS)


def documented() -> str:
    """docs/settings.md with its table as the code has it."""
    head, _, rest = DOCS.read_text(encoding="utf-8").partition(BEGIN)
    _, _, tail = rest.partition(END)
    rows = ["| setting | value | default | what it does |", "|---|---|---|---|"]
    for name, option in OPTIONS.items():
        rows.append(_row(name, option))
        if option.kind == "hardware":
            rows += [_row(f"{name}.{key}", each) for key, each in HARDWARE.items()]
    return f"{head}{BEGIN}\n" + "\n".join(rows) + f"\n\n{END}{tail}"


def _row(name: str, option: Option) -> str:
    value = KINDS.get(option.kind) or ", ".join(f"`{choice}`" for choice in option.choices)
    if option.kind == "levels":
        value += f"; levels are {', '.join(f'`{choice}`' for choice in option.choices)}"
    return f"| `{name}` | {value} | {f'`{option.default}`' if option.default else ''} | {option.help} |"


def main() -> None:
    SCHEMA.parent.mkdir(exist_ok=True)
    SCHEMA.write_text(json.dumps(schema(), indent=1) + "\n", encoding="utf-8")
    DOCS.write_text(documented(), encoding="utf-8")


if __name__ == "__main__":
    main()
