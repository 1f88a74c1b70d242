"""Snippets and scripts, read by us and run by bash itself."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from grpo_lint.source import SourceFile
from grpo_lint.syntax.shell import Script, run

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
import bash_oracle  # noqa: E402
import bash_parity  # noqa: E402

needs_bash = pytest.mark.skipif(not bash_oracle.available(), reason="needs root, bash and setpriv")
SCRIPTS = sorted((HERE / "scripts").glob("*.sh"))


def snippets() -> list[tuple[str, str, list[list[str]]]]:
    """(title, script, the argv lists that bash starts) of each block of snippets.txt."""
    done = []
    for block in (HERE / "snippets.txt").read_text(encoding="utf-8").split("### ")[1:]:
        title, *lines = block.rstrip("\n").split("\n")
        expected = [json.loads(line[4:]) for line in lines if line.startswith(">>> ")]
        done.append((title, "\n".join(line for line in lines if not line.startswith(">>> ")) + "\n", expected))
    return done


SNIPPETS = snippets()


def in_empty_environment(path: str, text: str) -> Script:
    environment = bash_oracle.environment("/nowhere")
    return run(SourceFile(path, text), bash_parity.loader, path, environment, os.path.dirname(path))


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """A folder that the oracle's user may write to."""
    for folder in (tmp_path, *tmp_path.parents):
        if str(folder).startswith("/tmp/pytest"):
            folder.chmod(0o755)
    tmp_path.chmod(0o777)
    return tmp_path


@pytest.mark.parametrize(("title", "text", "expected"), SNIPPETS, ids=[title for title, _, _ in SNIPPETS])
def test_snippet(title: str, text: str, expected: list[list[str]]) -> None:
    script = in_empty_environment("/s/s.sh", text)
    started = [[word.text for word in command.argv] for command in script.commands]
    assert [argv for argv in started if argv[0] not in bash_oracle.HARMLESS] == expected
    assert not [problem for problem in script.problems if problem.kind in ("syntax", "gave-up")]


@needs_bash
def test_snippets_hold_what_bash_does(scratch: Path) -> None:
    wrong = []
    for number, (title, text, expected) in enumerate(SNIPPETS):
        path = scratch / f"{number}.sh"
        path.write_text(text, encoding="utf-8")
        if bash_oracle.run(str(path), str(scratch)).launches != expected:
            wrong.append(title)
    assert not wrong


@needs_bash
@pytest.mark.parametrize("name", [path.name for path in SCRIPTS])
def test_script(name: str, scratch: Path) -> None:
    shutil.copytree(HERE / "scripts", scratch / "repo")
    for folder in (scratch / "repo", scratch / "repo" / "models"):
        folder.chmod(0o777)
    path = scratch / "repo" / name
    outcome = bash_oracle.run(str(path), str(path.parent))
    script = in_empty_environment(str(path), path.read_text(encoding="utf-8"))
    assert outcome.launches, outcome.stderr
    missing = [argv for argv in outcome.launches if not bash_parity.matched(argv, script.commands)]
    assert not missing
    assert not [problem for problem in script.problems if problem.kind in ("syntax", "gave-up")]


@needs_bash
@pytest.mark.parametrize("name", [path.name for path in SCRIPTS])
def test_nothing_known_is_wrong(name: str, scratch: Path) -> None:
    """Read as a linter reads it, with the environment unknown: what is called known is what bash passes."""
    shutil.copytree(HERE / "scripts", scratch / "repo")
    for folder in (scratch / "repo", scratch / "repo" / "models"):
        folder.chmod(0o777)
    root = str(scratch / "repo")
    path = scratch / "repo" / name
    outcome = bash_oracle.run(str(path), root)
    source = SourceFile(name, path.read_text(encoding="utf-8"))
    script = run(source, lambda other: bash_parity.loader(os.path.join(root, other)))
    assert not [argv for argv in outcome.launches if not bash_parity.matched(argv, script.commands)]


def test_the_oracle_reports_dynamic_parts(scratch: Path) -> None:
    if not bash_oracle.available():
        pytest.skip("needs root, bash and setpriv")
    path = scratch / "x.sh"
    path.write_text('python a.py --date "$(date +%s)" "$1"\n')
    outcome = bash_oracle.run(str(path), str(scratch))
    assert ["python", "a.py", "--date", bash_oracle.MARK, ""] in outcome.launches
