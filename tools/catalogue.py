"""Write the catalogue of the rules: what is known of each without importing its module.

    python tools/catalogue.py           # writes grpo_lint/rules/catalogue.py
    python tools/catalogue.py --check   # fails if it isn't up to date

Run it after a rule was added, renamed, moved, or given other needs, topics, frameworks, mentions or kinds.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path

import grpo_lint.rules
from grpo_lint.rules.rule import Rule

TARGET = Path(__file__).parent.parent / "grpo_lint" / "rules" / "catalogue.py"

HEAD = '''"""Every rule without its code, so that a linting imports only the modules of the rules that apply.

Written by tools/catalogue.py; a test holds it to the modules.
"""

# ruff: noqa: E501
# fmt: off
ROWS = (
    # id, name, module, judges, kinds, severity, evidence, needs, topics, since, twin, frameworks, mentions
'''


def declared() -> dict[str, tuple[str, Rule]]:
    """{id: (module, rule)} of every rule that a module lists in its RULES."""
    found: dict[str, tuple[str, Rule]] = {}
    for info in sorted(pkgutil.walk_packages(grpo_lint.rules.__path__, "grpo_lint.rules."), key=lambda i: i.name):
        module = importlib.import_module(info.name)
        if info.ispkg or info.name.endswith((".catalogue", ".rule")):
            continue
        for rule in getattr(module, "RULES", ()):
            found[rule.id] = (info.name.removeprefix("grpo_lint.rules."), rule)
    return dict(sorted(found.items()))


def row(module: str, rule: Rule) -> tuple[object, ...]:
    """What the catalogue holds of a rule, in the order of `Rule.listed`."""
    return (
        rule.id, rule.name, module, rule.judges, rule.kinds,
        rule.severity, rule.evidence, rule.needs, rule.topics, rule.since, rule.twin, rule.frameworks,
        rule.mentions,
    )  # fmt: skip


def text() -> str:
    rows = "".join(f"    {row(module, rule)!r},\n" for module, rule in declared().values())
    return f"{HEAD}{rows})\n"


def main() -> int:
    if "--check" in sys.argv:
        if TARGET.read_text(encoding="utf-8") != text():
            print("grpo_lint/rules/catalogue.py is not up to date: run python tools/catalogue.py")
            return 1
        return 0
    TARGET.write_text(text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
