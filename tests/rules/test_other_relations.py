"""Relations of OpenRLHF, slime, rLLM, NeMo RL and ROLL: both spellings, and what keeps them silent."""

from __future__ import annotations

from pathlib import Path

import pytest

from grpo_lint.engine import Linter
from grpo_lint.rules.invariants.roll import devices
from grpo_lint.settings import Settings

FLAT = (
    "python3 -m openrlhf.cli.train_ppo_ray --pretrain m --colocate_all_models --actor_num_gpus_per_node 8"
    " --ref_num_gpus_per_node 8 --vllm_tensor_parallel_size 2 --vllm_num_engines {}"
)
DOTTED = (
    "python3 -m openrlhf.cli.train_ppo_ray --actor.model_name_or_path m --train.colocate_all"
    " --actor.num_gpus_per_node 8 --ref.num_gpus_per_node 8 --vllm.tensor_parallel_size 2 --vllm.num_engines {}"
)
RLLM = "python3 -m train rllm/backend={} rllm.rollout.n=8 rllm.algorithm.adv_estimator=grpo {}"
ASYNC = "rllm.async_training.enable=true rllm.async_training.mini_batch_size=8 rllm.async_training.fwd_bwd_group_size=4"
SLIME = (
    "python3 train.py --advantage-estimator grpo --n-samples-per-prompt 8 --rollout-batch-size 32 --num-rollout 9 {}"
)
NEMO = """\
policy:
  model_name: Qwen/Qwen2.5-7B
  train_micro_batch_size: 4
  logprob_batch_size: 8
  dtensor_cfg:
    enabled: true
    tensor_parallel_size: 4
    context_parallel_size: 1
cluster:
  gpus_per_node: 8
  num_nodes: 1
grpo:
  num_prompts_per_step: 32
  num_generations_per_prompt: 16
"""


def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, rule: str, name: str = "run.sh") -> list[str]:
    """The messages of a rule about a file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(text + "\n")
    return [d.message for d in Linter(Settings()).check([name]).diagnostics if d.rule == rule]


@pytest.mark.parametrize("line", [FLAT, DOTTED])
def test_openrlhf_is_judged_in_both_spellings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    (message,) = found(tmp_path, monkeypatch, line.format(2), "INV602")
    assert ("--vllm_num_engines 2" in message) is (line is FLAT)
    assert not found(tmp_path, monkeypatch, line.format(4), "INV602")


def test_a_group_of_one_counts_for_estimators_that_compare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for estimator, count in (("group_norm", 1), ("gae", 0), ("reinforce", 0)):
        line = FLAT.format(4) + f" --advantage_estimator {estimator}"
        assert len(found(tmp_path, monkeypatch, line, "INV611")) == count
        assert not found(tmp_path, monkeypatch, f"{line} --n_samples_per_prompt 8", "INV611")


@pytest.mark.parametrize(("backend", "count"), [("verl", 1), ("tinker", 0), ("fireworks", 0)])
def test_what_verl_asks_of_rllm_holds_on_verl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str, count: int
) -> None:
    assert len(found(tmp_path, monkeypatch, RLLM.format(backend, ASYNC), "INV722")) == count


@pytest.mark.parametrize(
    ("more", "rule", "count"),
    [
        ("--use-kl-loss", "INV350", 1),
        ("--use-kl-loss --ref-load /m", "INV350", 0),
        ("--use-kl-loss $ARGS", "INV350", 0),
        ("--save-interval 20", "INV351", 1),
        ("--save-interval 20 --save /c", "INV351", 0),
        ("--colocate --actor-num-nodes 1 --actor-num-gpus-per-node 4 --rollout-num-gpus-per-engine 8", "INV356", 1),
        ("--actor-num-nodes 1 --actor-num-gpus-per-node 4 --rollout-num-gpus-per-engine 8", "INV356", 0),
        ("--rollout-num-gpus 12 --rollout-num-gpus-per-engine 8", "INV356", 1),
        ("--hf-checkpoint /models/Qwen3-4B --num-attention-heads 16", "INV358", 1),
        ("--hf-checkpoint /models/mine --num-attention-heads 16", "INV358", 0),
    ],
)
def test_pairs_of_slime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: str, rule: str, count: int) -> None:
    assert len(found(tmp_path, monkeypatch, SLIME.format(more), rule)) == count


def test_a_file_of_nemo_does_not_tell_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not found(tmp_path, monkeypatch, NEMO, "INV735", "grpo.yaml")
    line = "uv run examples/run_grpo.py --config grpo.yaml"
    assert len(found(tmp_path, monkeypatch, line, "INV735")) == 1
    assert not found(tmp_path, monkeypatch, f"NRL_IGNORE_TP_ACCURACY_CHECK=1 {line}", "INV735")
    assert len(found(tmp_path, monkeypatch, f"{line} policy.dtensor_cfg.tensor_parallel_size=3", "INV730")) == 1


EASYR1 = """\
data:
  rollout_batch_size: 512
algorithm:
  adv_estimator: grpo
worker:
  actor:
    global_batch_size: 128
  rollout:
    n: 5
"""


@pytest.mark.parametrize(
    ("more", "rule", "count"),
    [
        ("", "INV750", 0),
        ("worker.actor.global_batch_size=96", "INV750", 1),
        ("worker.actor.micro_batch_size_per_device_for_update=3", "INV751", 1),
        ("worker.actor.global_batch_size=1 trainer.n_gpus_per_node=8", "INV751", 1),
        ("worker.actor.fsdp.enable_cpu_offload=true", "INV751", 1),
        ("data.max_response_length=16384", "INV752", 1),
        ("trainer.n_gpus_per_node=1", "INV753", 1),
        ("trainer.n_gpus_per_node=$GPUS", "INV753", 0),
    ],
)
def test_easyr1_counts_in_units_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: str, rule: str, count: int
) -> None:
    (tmp_path / "base.yaml").write_text(EASYR1)
    line = f"python3 -m verl.trainer.main config=base.yaml {more}"
    assert len(found(tmp_path, monkeypatch, line, rule)) == count


def test_a_base_of_easyr1_alone_proves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not found(tmp_path, monkeypatch, EASYR1.replace("128", "96"), "INV750", "base.yaml")


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("list(range(0,8))", 8),
        ("list(range(4, 12))", 8),
        ("list(range(6))", 6),
        ("[0, 1, 2]", 3),
        ([0, 1], 2),
        ("list(range(0,8)) + [9]", None),
        ("__import__('os')", None),
        (None, None),
    ],
)
def test_devices_are_counted_and_never_evaluated(text: object, count: int | None) -> None:
    assert devices(text) == count
