"""Write what the linter says of each bad fixture beside it, after a rule or a message was changed on purpose.

    python tools/fixtures.py            # all; prints the fixtures whose output changed
    python tools/fixtures.py NOT07 SRC  # those of some rules, by id or prefix

Read the diff before you commit it: the files are the tests' expectations.
"""

from __future__ import annotations

import io
import os
import shlex
import sys
from contextlib import redirect_stdout
from pathlib import Path

from grpo_lint.cli import main

FIXTURES = Path(__file__).parent.parent / "fixtures"


def output(case: Path) -> str:
    """What the linter prints for a fixture, run in its folder."""
    extra = case.with_suffix(".args")
    arguments = shlex.split(extra.read_text(encoding="utf-8"), comments=True) if extra.exists() else []
    os.chdir(case.parent)
    with redirect_stdout(io.StringIO()) as out:
        main([case.name, "--output", "concise", *arguments])
    return out.getvalue()


def write(prefixes: list[str]) -> None:
    for case in sorted(FIXTURES.glob("*/bad-*")):
        wanted = not prefixes or case.parent.name.startswith(tuple(prefixes))
        if case.suffix in (".out", ".args") or not wanted:
            continue
        target, text = case.with_suffix(".out"), output(case)
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")
            print(f"{case.relative_to(FIXTURES)}:\n{text}", end="")


if __name__ == "__main__":
    write(sys.argv[1:])
