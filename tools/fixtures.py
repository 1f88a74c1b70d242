"""Write down what each bad fixture gives, and what its fixes change: `python tools/fixtures.py [IDS...]`.

    python tools/fixtures.py                    all of them
    python tools/fixtures.py NOT07 DO           those of some rules, by id or prefix

Read the diff before you commit it: the files are the tests' expectations.
"""

from __future__ import annotations

import io
import json
import os
import shlex
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from grpo_lint.cli import main

FIXTURES = Path(__file__).parent.parent / "fixtures"
UNIFIED = ".unified.json"
"""How the name of a unified config ends: it is validated, not linted."""


def cases() -> list[Path]:
    """Every fixture: its file, without those that hold its arguments or its output."""
    return sorted(
        path
        for path in FIXTURES.glob("*/*")
        if path.name.startswith(("bad-", "good-")) and path.suffix not in (".out", ".args", ".diff")
    )


def arguments(case: Path) -> list[str]:
    """The command line of a fixture, run in its folder."""
    extra = case.with_suffix(".args")
    more = shlex.split(extra.read_text(encoding="utf-8"), comments=True) if extra.exists() else []
    if case.name.endswith(UNIFIED):
        return ["validate", "--config-file", case.name, "--output", "json", *more]
    return [case.name, "--output", "concise", "--fail-on", "note", *more]


def fixing(case: Path) -> list[str]:
    """The command line that shows what fixes change, safe and unsafe ones; empty for a unified config."""
    if case.name.endswith(UNIFIED):
        return []
    extra = arguments(case)[5:]
    return [case.name, "--diff", "--unsafe-fixes", *extra]


def lines(case: Path, out: str) -> str:
    """What a fixture's output comes to: a line for each finding, or for each verdict that something is wrong."""
    if not case.name.endswith(UNIFIED):
        return out
    (run,) = json.loads(out)["runs"]
    found = ""
    for verdict in run["verdicts"]:
        if verdict["verdict"] in ("fail", "warn") and not verdict["reported_as"]:
            place = verdict["place"] or {"line": run["line"], "column": 1}
            found += f"{case.name}:{place['line']}:{place['column']}: {verdict['rule']} {verdict['verdict']}: "
            found += verdict["reason"] + "\n"
    return found


def output(case: Path) -> str:
    os.chdir(case.parent)
    with redirect_stdout(io.StringIO()) as out:
        main(arguments(case))
    return lines(case, out.getvalue())


def diff(case: Path) -> str:
    """What the fixes of a fixture change, as a unified diff."""
    os.chdir(case.parent)
    if not fixing(case):
        return ""
    buffer = io.BytesIO()
    with (
        redirect_stdout(io.TextIOWrapper(buffer, encoding="utf-8")) as out,
        redirect_stderr(io.StringIO()),
    ):
        main(fixing(case))
        out.flush()
        return buffer.getvalue().decode("utf-8")


def write(prefixes: list[str]) -> None:
    for case in cases():
        wanted = not prefixes or case.parent.name.startswith(tuple(prefixes))
        if case.name.startswith("good-") or not wanted:
            continue
        target, text = case.with_suffix(".out"), output(case)
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")
            print(f"{case.relative_to(FIXTURES)}:\n{text}", end="")
        target, text = case.with_suffix(".diff"), diff(case)
        if text and (not target.exists() or target.read_bytes() != text.encode()):
            target.write_bytes(text.encode())
            print(f"{target.relative_to(FIXTURES)}:\n{text}", end="")
        elif not text:
            target.unlink(missing_ok=True)


if __name__ == "__main__":
    write(sys.argv[1:])
