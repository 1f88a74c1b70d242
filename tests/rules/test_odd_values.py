"""Values of a type that no option has are judged by the rules of types alone: relations don't stumble over them."""

from __future__ import annotations

from pathlib import Path

import pytest

from grpo_lint.cli import main

VERL = "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B "
EASYR1 = "python3 -m verl.trainer.main config=examples/config.yaml "
SWIFT = "swift rlhf --rlhf_type grpo --per_device_train_batch_size 1 --num_generations 8 --generation_batch_size 20"


@pytest.mark.parametrize(
    "launch",
    [
        VERL.replace("=grpo", "=[]"),
        VERL.replace("=grpo", "={}") + "actor_rollout_ref.rollout.n=8",
        VERL + "actor_rollout_ref.rollout.name=[]",
        VERL + "actor_rollout_ref.rollout.name={} actor_rollout_ref.rollout.layered_summon=[]",
        VERL + "actor_rollout_ref.actor.strategy=[1,2]",
        VERL + "trainer.nnodes=1.5",
        VERL + "trainer.n_gpus_per_node=.inf",
        VERL + "trainer.n_gpus_per_node=1e400",
        VERL + "trainer.n_gpus_per_node=99999999999999999999 actor_rollout_ref.rollout.n=7",
        EASYR1 + "data.rollout_batch_size=512 worker.actor.global_batch_size=1.5",
        f"NPROC_PER_NODE=0 {SWIFT}",
    ],
)
def test_values_that_nothing_computes_with(
    launch: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run.sh").write_text(f"{launch}\n")
    monkeypatch.chdir(tmp_path)
    assert main(["run.sh", "--exit-zero"]) == 0
    assert "internal error" not in capsys.readouterr().err
