"""Microsoft's own validator on our SARIF, with its rules for what GitHub takes: `pytest -m multitool`.

It comes from npm: `npm install --global @microsoft/sarif-multitool`.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from report_samples import SCRIPT, at, evil, finding, output, report, several

from grpo_lint.cli import main
from grpo_lint.report import Report, Suppressed

PROGRAM = next((path for name in ("Sarif.Multitool", "sarif-multitool") if (path := shutil.which(name))), None)

pytestmark = [
    pytest.mark.multitool,
    pytest.mark.skipif(PROGRAM is None, reason="there is no Sarif.Multitool here"),
]

WITHOUT = "SARIF2005"
"""The one warning that stays: the tool has no informationUri, since the project has no address yet."""


def complaints(text: str, folder: Path) -> list[tuple[str, str]]:
    """(level, rule) of all errors and warnings that the validator has, by SARIF's rules and by those of GitHub."""
    log, answer = folder / "log.sarif", folder / "answer.sarif"
    log.write_text(text, encoding="utf-8")
    found: list[tuple[str, str]] = []
    # One kind at a time: the npm package's command passes a `;` to a shell.
    for kind in ("Sarif", "Ghas"):
        command = [PROGRAM, "validate", log, "--output", answer, "--log", "ForceOverwrite", "--rule-kind", kind]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert answer.exists(), result.stdout + result.stderr
        (run,) = json.loads(answer.read_text(encoding="utf-8-sig"))["runs"]
        found += [(one.get("level", "warning"), one["ruleId"].split("/")[0]) for one in run["results"]]
        answer.unlink()
    return found


def unwanted(text: str, folder: Path) -> list[tuple[str, str]]:
    return [one for one in complaints(text, folder) if one[1] != WITHOUT]


def with_suppressed() -> Report:
    given = several()
    given.suppressed = (Suppressed(finding(at(SCRIPT, "set")), "comment", "known", at(SCRIPT, "-x")),)
    return given


@pytest.mark.parametrize("sample", [report, several, evil, with_suppressed])
def test_reports(sample: Callable[[], Report], tmp_path: Path) -> None:
    assert unwanted(output("sarif", sample()), tmp_path) == []


def test_a_real_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    assert main(["fixtures", "--output", "sarif", "--exit-zero"]) == 0
    assert unwanted(capsys.readouterr().out, tmp_path) == []


def test_verdicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    main(["fixtures/NOT07", "--verdicts", "--output", "sarif"])
    assert unwanted(capsys.readouterr().out, tmp_path) == []


def broken(change: Callable[[dict[str, Any]], object]) -> str:
    document = json.loads(output("sarif", several()))
    change(document["runs"][0])
    return json.dumps(document)


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (lambda run: run["results"][0]["locations"].clear(), "GH1017"),
        (lambda run: run["results"][0].pop("message"), "JSON1002"),
        (lambda run: run["results"][0].update(ruleIndex=99), "SARIF1009"),
    ],
)
def test_a_fault_would_be_found(change: Callable[[dict[str, Any]], object], rule: str, tmp_path: Path) -> None:
    assert ("error", rule) in unwanted(broken(change), tmp_path)
