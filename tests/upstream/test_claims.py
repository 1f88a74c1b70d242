"""What the rules' pages claim of torch, verl and DeepSpeed, shown by these themselves on a CPU: `pytest -m upstream`.

Each test needs the package that it is about and is skipped where that isn't installed.
"""

import math
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.upstream, pytest.mark.filterwarnings("ignore")]


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch")


def test_clipping_to_the_norm_0_stops_all_learning_but_weight_decay(torch: Any) -> None:
    """NOT16: torch has no off switch."""
    weight = torch.nn.Parameter(torch.ones(4))
    optimizer = torch.optim.AdamW([weight], lr=0.1, weight_decay=0.5)
    (weight * torch.arange(4.0)).sum().backward()
    norm = torch.nn.utils.clip_grad_norm_([weight], max_norm=0.0)
    assert norm > 3  # as logged, it looks healthy
    assert weight.grad.abs().max() == 0
    optimizer.step()
    assert torch.allclose(weight, torch.full((4,), 1 - 0.1 * 0.5))


def test_a_large_norm_clips_nothing(torch: Any) -> None:
    """NOT16: 1e9 is what to write for no clipping."""
    weight = torch.nn.Parameter(torch.ones(4))
    (weight * torch.arange(4.0)).sum().backward()
    torch.nn.utils.clip_grad_norm_([weight], max_norm=1e9)
    assert torch.equal(weight.grad, torch.arange(4.0))


def test_softmax_in_fp16_does_not_overflow_but_its_exponential_would(torch: Any) -> None:
    """DO17, NOT14: exp overflows from ln 65504 on; a softmax subtracts the maximum first."""
    assert math.log(torch.finfo(torch.float16).max) == pytest.approx(11.0899, abs=1e-4)
    assert torch.isinf(torch.tensor(11.1, dtype=torch.float16).exp())
    logits = torch.tensor([60000.0, 59000.0, 0.0], dtype=torch.float16)
    assert torch.softmax(logits, 0).tolist() == [1.0, 0.0, 0.0]


def test_a_logit_that_is_infinite_is_nan_in_any_softmax(torch: Any) -> None:
    """DO17, NOT14: the matrix product before the softmax is what has to be wide."""
    hidden = torch.full((8,), 200.0, dtype=torch.float16)
    logit = (hidden * hidden).sum()
    assert torch.isinf(logit)
    assert torch.softmax(torch.stack([logit, logit - 1]).float(), 0).isnan().all()
    wide = (hidden.float() * hidden.float()).sum()
    assert not torch.softmax(torch.stack([wide, wide - 1]), 0).isnan().any()


def test_bf16_has_eight_significant_bits(torch: Any) -> None:
    """DO17: close calls between experts are decided by rounding."""
    first, second = torch.tensor([1.001, 1.002])
    assert first != second
    assert first.to(torch.bfloat16) == second.to(torch.bfloat16)


def advantages(torch: Any, name: str, rewards: list[float], groups: list[str]) -> list[float]:
    """The advantage that an estimator of verl gives each response."""
    core = pytest.importorskip("verl.trainer.ppo.core_algos")
    numpy = pytest.importorskip("numpy")
    scores = torch.tensor(rewards).unsqueeze(-1)
    estimate = getattr(core, name)
    result, _ = estimate(scores, torch.ones_like(scores), index=numpy.array(groups, dtype=object))
    values: list[float] = result.squeeze(-1).tolist()
    return values


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("compute_grpo_outcome_advantage", [1.0, 0.25]),
        ("compute_rloo_outcome_advantage", [1.0, 0.25]),
        ("compute_opo_outcome_advantage", [1.0, 0.25]),
        ("compute_gpg_outcome_advantage", [1.0, 0.25]),
        ("compute_grpo_vectorized_outcome_advantage", [1.0, 0.25]),
        ("compute_rloo_vectorized_outcome_advantage", [0.0, 0.0]),
    ],
)
def test_groups_of_one(torch: Any, name: str, expected: list[float]) -> None:
    """NOT07: the raw reward, or nothing at all."""
    assert advantages(torch, name, [1.0, 0.25], ["a", "b"]) == pytest.approx(expected, abs=1e-4)


def test_the_group_baseline_of_reinforce_plus_plus_is_nothing_in_groups_of_one(torch: Any) -> None:
    """NOT07: what is left is the whitening over the batch, as without a group."""
    name = "compute_reinforce_plus_plus_baseline_outcome_advantage"
    assert advantages(torch, name, [1.0, 0.25], ["a", "b"]) == pytest.approx([1 / math.sqrt(2), -1 / math.sqrt(2)])


def test_pass_at_k_takes_no_group_of_one(torch: Any) -> None:
    """NOT07."""
    with pytest.raises((AssertionError, ValueError)):
        advantages(torch, "compute_grpo_passk_outcome_advantage", [1.0, 0.25], ["a", "b"])


def test_groups_of_two_know_three_advantages(torch: Any) -> None:
    """DO07: with two responses, how much better one is makes no difference."""
    for better in (0.1, 1.0, 100.0):
        pair = advantages(torch, "compute_grpo_outcome_advantage", [better, 0.0], ["a", "a"])
        assert pair == pytest.approx([1 / math.sqrt(2), -1 / math.sqrt(2)], abs=1e-3)
    assert advantages(torch, "compute_grpo_outcome_advantage", [1.0, 1.0], ["a", "a"]) == [0.0, 0.0]


def test_equal_rewards_teach_nothing(torch: Any) -> None:
    """DO12, NOT11."""
    assert advantages(torch, "compute_grpo_outcome_advantage", [1.0] * 4, ["a"] * 4) == [0.0] * 4


@pytest.mark.parametrize(("rate", "size"), [(0.5, 4), (0.9, 8)])
def test_how_many_groups_teach_nothing(torch: Any, rate: float, size: int) -> None:
    """NOT11: p^n + (1-p)^n of the groups have equal rewards, and no gradient."""
    torch.manual_seed(1)
    groups = 400
    rewards = (torch.rand(groups * size) < rate).float().tolist()
    names = [str(index // size) for index in range(groups * size)]
    found = advantages(torch, "compute_grpo_outcome_advantage", rewards, names)
    idle = sum(not any(found[start : start + size]) for start in range(0, groups * size, size))
    assert idle / groups == pytest.approx(rate**size + (1 - rate) ** size, abs=0.06)


def test_verl_overwrites_the_inner_fsdp_strategy() -> None:
    """DO06."""
    config = pytest.importorskip("verl.workers.config")
    sizes = {"rollout_n": 8, "ppo_micro_batch_size_per_gpu": 1, "ppo_mini_batch_size": 8}
    actor = config.FSDPActorConfig(strategy="fsdp", fsdp_config=config.FSDPEngineConfig(strategy="fsdp2"), **sizes)
    assert actor.fsdp_config.strategy == "fsdp"


def test_trl_takes_no_group_of_one(tmp_path: Path) -> None:
    """NOT07."""
    trl = pytest.importorskip("trl")
    with pytest.raises(ValueError, match="at least 2 generations"):
        trl.GRPOConfig(output_dir=str(tmp_path), num_generations=1, use_cpu=True, bf16=False)
    assert trl.GRPOConfig(output_dir=str(tmp_path), use_cpu=True, bf16=False).num_generations == 8


def test_the_trainer_refuses_both_formats(tmp_path: Path) -> None:
    """NOT17."""
    transformers = pytest.importorskip("transformers")
    with pytest.raises(ValueError, match="At most one of fp16 and bf16"):
        transformers.TrainingArguments(output_dir=str(tmp_path), fp16=True, bf16=True, use_cpu=True)


def deepspeed_config(**settings: Any) -> Any:
    """DeepSpeed's own reading of a config, for one rank."""
    config = pytest.importorskip("deepspeed.runtime.config")
    return config.DeepSpeedConfig({"train_micro_batch_size_per_gpu": 1, **settings})


def test_deepspeed_refuses_both_formats() -> None:
    """NOT17."""
    with pytest.raises(Exception, match="cannot be simultaneously enabled"):
        deepspeed_config(bf16={"enabled": True}, fp16={"enabled": True})
    assert deepspeed_config(bf16={"enabled": True}, fp16={"enabled": False}).bfloat16_config.enabled


def test_what_deepspeed_does_without_a_clip() -> None:
    """DO02: off up to 0.19.2, 1.0 from 0.19.3 on."""
    deepspeed = pytest.importorskip("deepspeed")
    parts = tuple(int(part) for part in deepspeed.__version__.split("+")[0].split(".")[:3])
    assert deepspeed_config().gradient_clipping == (1.0 if parts >= (0, 19, 3) else 0.0)
    assert deepspeed_config(gradient_clipping=0.0).gradient_clipping == 0.0


@pytest.mark.parametrize(("stage", "overlap"), [(1, False), (2, False), (3, True)])
def test_overlap_comm_is_on_by_default_at_stage_3_alone(stage: int, overlap: bool) -> None:
    """NOT03."""
    assert deepspeed_config(zero_optimization={"stage": stage}).zero_config.overlap_comm is overlap
