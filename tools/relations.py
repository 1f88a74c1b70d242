"""Start a rule's fixtures from the examples on its page: `python tools/relations.py [IDS...]`.

    python tools/relations.py            every relation that has none yet
    python tools/relations.py INV101     these relations, by id or prefix; another rule by its whole id

Then `python tools/fixtures.py INV101` writes down what the bad one gives. Add others by hand where a page says when the
rule does not apply: an existing file is left alone.
"""

from __future__ import annotations

import sys
from pathlib import Path

from grpo_lint.rules import RULES
from grpo_lint.rules.invariants.pages import whole
from grpo_lint.rules.invariants.relation import Relation
from grpo_lint.rules.rule import Rule

FIXTURES = Path(__file__).parent.parent / "fixtures"
SUFFIXES = {"sh": ".sh", "json": ".json", "yaml": ".yaml"}


def write(rule: Relation) -> None:
    folder = FIXTURES / rule.id
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in rule.files.items():
        (folder / name).write_text(f"{text.rstrip()}\n", encoding="utf-8")
    for kind, example in (("bad", rule.bad), ("good", rule.good)):
        if any(path.suffix in SUFFIXES.values() for path in folder.glob(f"{kind}-*")):
            continue
        language, text = whole(rule, example)
        head = "#!/usr/bin/env bash\n" if language == "sh" else ""
        path = folder / f"{kind}-example{SUFFIXES[language]}"
        path.write_text(head + text, encoding="utf-8")
        if rule.target:
            path.with_suffix(".args").write_text(f"--target {rule.target}\n", encoding="utf-8")
        print(path.relative_to(FIXTURES.parent))


def write_shown(rule: Rule) -> None:
    """The first example of each section of a rule's page."""
    from rule_docs import examples

    folder = FIXTURES / rule.id
    folder.mkdir(parents=True, exist_ok=True)
    for kind, title in (("bad", "Example"), ("good", "Use instead")):
        for example in examples(rule, title)[:1]:
            path = folder / f"{kind}-example{Path(example.name).suffix}"
            if not any(folder.glob(f"{kind}-*")):
                head = "#!/usr/bin/env bash\n" if path.suffix == ".sh" else ""
                path.write_text(head + example.text, encoding="utf-8")
                print(path.relative_to(FIXTURES.parent))


if __name__ == "__main__":
    wanted = tuple(sys.argv[1:])
    for rule in (listed.declared for listed in RULES):
        if isinstance(rule, Relation) and (not wanted or rule.id.startswith(wanted)):
            write(rule)
        elif rule.id in wanted:
            write_shown(rule)
