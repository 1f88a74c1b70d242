"""Configs that a script writes from here-documents: read as the files that they become, with places in the script."""

from pathlib import Path

import pytest

from grpo_lint.cli import main

SCRIPT = """#!/bin/bash
STAGE=2
cat > {name} <<{mark}
{body}
EOF
{launch}
"""
JSON = """{
  "zero_optimization": {"stage": $STAGE},
  "bf16": {"enabled": true},
  "fp16": {"enabled": true},
  "train_batch_size": 8, "gradient_clipping": $(date +%s)
}"""
YAML = """compute_environment: LOCAL_MACHINE
distributed_type: MULTI_GPU
mixed_precision: bf16
num_processes: 8"""


def lint(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *more: str
) -> str:
    (tmp_path / "run.sh").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    main([*more, "run.sh"])
    return capsys.readouterr().out


@pytest.mark.parametrize("launch", ["deepspeed train.py --deepspeed ds.json", "echo written for later"])
def test_a_fault_in_a_json_is_marked_in_the_script(
    launch: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = SCRIPT.format(name="ds.json", mark="EOF", body=JSON, launch=launch)
    out = lint(text, tmp_path, monkeypatch, capsys, "--output", "concise")
    assert out.startswith("run.sh:7:23: NOT17 error: bf16.enabled and fp16.enabled are both true")
    assert len(out.splitlines()) == 1


def test_what_the_shell_fills_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = SCRIPT.format(name="ds.json", mark="EOF", body=JSON, launch="deepspeed train.py --deepspeed ds.json")
    out = " ".join(lint(text, tmp_path, monkeypatch, capsys, "show").split())
    assert "zero_stage 2 line 5" in out
    assert "gradient_clipping ? line 8, it is the output of `date +%s`" in out


def test_a_yaml_that_accelerate_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    launch = "accelerate launch --config_file acc.yaml train.py"
    text = SCRIPT.format(name="acc.yaml", mark="'EOF'", body=YAML, launch=launch)
    out = lint(text, tmp_path, monkeypatch, capsys, "show", "--only", "changed")
    assert out.count("num_processes        8              line 7") == 2  # the file by itself, and the launch


def test_a_yaml_with_unknown_parts_is_not_guessed_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = SCRIPT.format(name="acc.yaml", mark="EOF", body=YAML.replace("8", "$(nproc)"), launch="true")
    assert lint(text, tmp_path, monkeypatch, capsys, "show") == "no runs found\n"
