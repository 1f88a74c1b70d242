"""Verdicts on real runs, and findings of strict forms beside those of sound ones."""

import json
from pathlib import Path
from typing import Any

import pytest

from grpo_lint.cli import main

SCRIPT = """\
ulimit -n 65535
python3 -m verl.trainer.main_ppo \\
    algorithm.adv_estimator=grpo \\
    actor_rollout_ref.model.path=Qwen/Qwen2.5-3B-Instruct \\
    actor_rollout_ref.rollout.name=vllm \\
    actor_rollout_ref.rollout.n={size} \\
    trainer.n_gpus_per_node={gpus}
"""

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "run.sh"
    path.write_text(SCRIPT.format(size=8, gpus=1), encoding="utf-8")
    return path


def judged(capsys: Capture, *arguments: str) -> list[dict[str, Any]]:
    main(["run.sh", "--verdicts", "--output", "json", "--target", "verl=0.9.1", *arguments])
    runs: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["runs"]
    return runs


def states(run: dict[str, Any]) -> dict[str, str]:
    return {v["rule"]: v["verdict"] for v in run["verdicts"]}


def found(capsys: Capture, *arguments: str) -> dict[str, tuple[str, str]]:
    main(["run.sh", "--output", "json", "--target", "verl=0.9.1", "--select", "DO,NOT", *arguments])
    listed = json.loads(capsys.readouterr().out)["diagnostics"]
    ids = [one["rule"] for one in listed]
    assert len(ids) == len(set(ids))
    return {one["rule"]: (one["severity"], one["message"]) for one in listed}


def test_each_run_has_a_verdict_of_each_rule(capsys: Capture, script: Path) -> None:
    script.write_text(script.read_text() * 2, encoding="utf-8")
    runs = judged(capsys, "--profile", "rtx4090")
    assert [run["line"] for run in runs] == [2, 9]
    assert all(len(run["verdicts"]) == 36 for run in runs)
    state = states(runs[0])
    assert (state["NOT07"], state["DO03"], state["DO15"], state["NOT12"]) == ("pass", "fail", "fail", "pass")


def test_variants_are_judged_apart(capsys: Capture, script: Path) -> None:
    text = "if [ -d /data ]; then N=1; else N=16; fi\n" + SCRIPT.format(size="$N", gpus=8)
    script.write_text(text, encoding="utf-8")
    runs = judged(capsys, "--select", "NOT07")
    assert sorted(states(run)["NOT07"] for run in runs) == ["fail", "pass"]
    assert all(run["when"] for run in runs)


def test_exit_codes(capsys: Capture, script: Path) -> None:
    assert main(["run.sh", "--verdicts"]) == 0
    assert main(["run.sh", "--verdicts", "--profile", "rtx4090"]) == 1
    assert main(["missing.sh", "--verdicts"]) == 2
    capsys.readouterr()


def test_a_strict_finding_says_whose_word_it_is(capsys: Capture, script: Path) -> None:
    assert not found(capsys)
    severity, message = found(capsys, "--profile", "rtx4090")["DO15"]
    assert severity == "warning"
    assert message == (
        "actor_rollout_ref.rollout.name is vllm, and the profile rtx4090 asks for SGLang (evidence: contested)"
    )


def test_one_fault_is_one_finding(capsys: Capture, script: Path) -> None:
    script.write_text(SCRIPT.format(size=1, gpus=1), encoding="utf-8")
    sound, both = found(capsys), found(capsys, "--profile", "rtx4090")
    assert set(sound) == {"NOT07"}
    assert both["NOT07"] == sound["NOT07"]  # what is certain says more than what is stated
    assert not {"DO07", "NOT11", "DO13"} & set(both)


def test_a_note_becomes_as_severe_as_the_strict_form(capsys: Capture, script: Path) -> None:
    script.write_text(SCRIPT.format(size=2, gpus=1), encoding="utf-8")
    assert found(capsys)["DO07"][0] == "note"
    severity, message = found(capsys, "--profile", "rtx4090")["DO07"]
    assert severity == "warning"
    assert message.endswith("; the profile rtx4090 asks for groups of 4 or more")


def test_what_files_tell_rules_over_what_is_assumed(capsys: Capture, script: Path) -> None:
    overlap = '{"zero_optimization": {"stage": 2, "overlap_comm": true}, "train_batch_size": %d, '
    overlap += '"train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 1, "gradient_clipping": 1.0}'
    for ranks, expected in ((1, "fail"), (8, "not applicable")):
        Path("ds.json").write_text(overlap % ranks, encoding="utf-8")
        main(["ds.json", "--verdicts", "--output", "json", "--profile", "rtx4090"])
        assert states(json.loads(capsys.readouterr().out)["runs"][0])["NOT03"] == expected


def test_levels_and_selection_hold_for_strict_forms(capsys: Capture, script: Path) -> None:
    assert found(capsys, "--profile", "rtx4090", "--level", "DO15=error")["DO15"][0] == "error"
    assert "DO15" not in found(capsys, "--profile", "rtx4090", "--ignore", "DO15")


def test_assumed_hardware_is_shown(capsys: Capture, script: Path) -> None:
    main(["show", "run.sh", "--profile", "rtx4090"])
    assert "assumed by profile rtx4090" in capsys.readouterr().out
    main(["show", "run.sh"])
    assert "assumed" not in capsys.readouterr().out


def test_one_switch_has_one_finding(capsys: Capture, script: Path) -> None:
    Path("run.sh").unlink()
    text = '{"zero_optimization": {"stage": 2, "overlap_comm": true}, "optimizer": {"type": "AdamW"}, '
    Path("run.json").write_text(text + '"gradient_clipping": 1.0}', encoding="utf-8")
    for release, speaker in (("0.18.9", "DO10"), ("0.19.4", "NOT03")):
        main(["run.json", "--output", "json", "--profile", "rtx4090", "--target", f"deepspeed={release}"])
        listed = json.loads(capsys.readouterr().out)["diagnostics"]
        assert [one["rule"] for one in listed if one["key"].endswith("overlap_comm")] == [speaker]
