from typing import Any

import pytest
from deepspeed_runs import accelerated, config, findings, said

from grpo_lint.rules.avoidance.zero import zero2_cpu_adam, zero3_single_rank
from grpo_lint.unified import Origin, known, unknown


def offloaded(type_: str, stage: int = 2, device: str = "cpu", **more: Any) -> dict[str, Any]:
    params = more.pop("params", {})
    zero = {"stage": stage, "offload_optimizer": {"device": device}}
    return {"zero_optimization": zero, "optimizer": {"type": type_, "params": params}, **more}


@pytest.mark.parametrize("type_", ["SGD", "Lamb", "OneBitAdam", "MuAdamW"])
@pytest.mark.parametrize("device", ["cpu", "nvme"])
def test_an_optimizer_without_a_cpu_version_is_refused(type_: str, device: str) -> None:
    assert said(zero2_cpu_adam, config(offloaded(type_, device=device))) == [
        (
            "error",
            (
                f'optimizer.type="{type_}" has no CPU version for offloaded state, and DeepSpeed refuses it under ZeRO '
                "as an untested optimizer"
            ),
        )
    ]


def test_lamb_fails_even_where_it_is_allowed() -> None:
    run = config(offloaded("Lamb", zero_allow_untested_optimizer=True))
    assert said(zero2_cpu_adam, run) == [
        ("error", 'optimizer.type="Lamb" runs on CUDA tensors alone, so its first step fails on offloaded state')
    ]


def test_torch_adam_is_slow_on_the_cpu() -> None:
    run = config(offloaded("AdamW", params={"torch_adam": True}))
    assert said(zero2_cpu_adam, run) == [
        (
            "warning",
            (
                "optimizer.params.torch_adam=true with offloaded optimizer state steps with torch's Adam on the CPU, "
                "far slower than DeepSpeedCPUAdam"
            ),
        )
    ]
    assert not findings(zero2_cpu_adam, config(offloaded("AdamW", params={"torch_adam": False})))


@pytest.mark.parametrize("stage", [1, 2])
@pytest.mark.parametrize("versions", [{}, {"deepspeed": "0.19.7"}])
def test_offloaded_muon_is_sgd_in_old_releases(stage: int, versions: dict[str, str]) -> None:
    assert said(zero2_cpu_adam, config(offloaded("Muon", stage), **versions)) == [
        (
            "warning",
            (
                'optimizer.type="Muon" with offloaded optimizer state is plain SGD in DeepSpeed before 0.19.8: '
                f"stage {stage} never orthogonalises the update there (DeepSpeed #8463)"
            ),
        )
    ]


@pytest.mark.parametrize(
    "run",
    [
        config(offloaded("AdamW")),
        config(offloaded("adam", device="nvme", stage=3)),
        config(offloaded("Adagrad")),
        config(offloaded("Lion")),
        config(offloaded("SGD", zero_allow_untested_optimizer=True)),
        config(offloaded("SGD", zero_allow_untested_optimizer="auto")),
        config(offloaded("SGD", device="none")),
        config(offloaded("SGD", stage=0)),
        config(offloaded("Muon"), deepspeed="0.19.8"),
        config(offloaded("Muon", stage=3)),
        config({"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}}),
    ],
)
def test_an_optimizer_that_steps_on_the_cpu(run: Any) -> None:
    assert not findings(zero2_cpu_adam, run)


def test_an_unknown_device_is_not_judged() -> None:
    run = config(offloaded("SGD"))
    run.fields["offload_optimizer"] = unknown("$1")
    assert not findings(zero2_cpu_adam, run)


ONE_RANK = {"train_batch_size": 8, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2}


def test_stage_3_on_one_rank() -> None:
    run = config({"zero_optimization": {"stage": 3}, **ONE_RANK})
    assert said(zero3_single_rank, run) == [
        (
            "note",
            (
                "zero_optimization.stage=3 on one data-parallel rank partitions nothing: without offload_param it "
                "saves no memory"
            ),
        )
    ]


def test_stage_3_on_one_process_of_accelerate() -> None:
    run = accelerated(
        "distributed_type: DEEPSPEED\nmixed_precision: bf16\nnum_processes: 1\ndeepspeed_config:\n  zero_stage: 3\n"
    )
    ((severity, message),) = said(zero3_single_rank, run)
    assert severity == "note"
    assert message.startswith(("zero_stage=3 on one", "deepspeed_config.zero_stage=3 on one"))


@pytest.mark.parametrize(
    "zero",
    [
        {"stage": 2},
        {"stage": 3, "offload_param": {"device": "cpu"}},
        {"stage": 3, "offload_optimizer": {"device": "nvme"}},
        {"stage": 3, "offload_optimizer": {"device": "cpu", "ratio": 0.5}},
        {"stage": 3, "offload_optimizer": {"device": "cpu", "super_offload": True}},
    ],
)
def test_one_rank_with_a_use_for_its_stage(zero: dict[str, Any]) -> None:
    assert not findings(zero3_single_rank, config({"zero_optimization": zero, **ONE_RANK}))


def test_more_ranks_or_an_unknown_number() -> None:
    stage_3: dict[str, Any] = {"zero_optimization": {"stage": 3}}
    assert not findings(zero3_single_rank, config(stage_3))
    assert not findings(zero3_single_rank, config({**stage_3, **ONE_RANK, "train_batch_size": 16}))
    assert not findings(zero3_single_rank, config({**stage_3, **ONE_RANK, "train_batch_size": "auto"}))


def test_sequence_parallel_ranks_share_the_weights() -> None:
    run = config({"zero_optimization": {"stage": 3}, **ONE_RANK, "sequence_parallel_size": 8})
    assert not findings(zero3_single_rank, run)
    run = config({"zero_optimization": {"stage": 3}, **ONE_RANK})
    run.fields["sequence_parallel"] = known(8, Origin("file"))
    assert not findings(zero3_single_rank, run)


def test_nan_of_stage_3_on_new_torch() -> None:
    bf16 = {"zero_optimization": {"stage": 3}, "bf16": {"enabled": True}}
    assert said(zero3_single_rank, config(bf16, deepspeed="0.18.7", torch="2.10.0")) == [
        (
            "warning",
            (
                "zero_optimization.stage=3 with bf16 on PyTorch 2.10.0 and DeepSpeed 0.18.7 can turn weights NaN: "
                "gradients are reduced before they are written (DeepSpeed #7898)"
            ),
        )
    ]
    for versions in (
        {},
        {"deepspeed": "0.18.7"},
        {"torch": "2.10.0"},
        {"deepspeed": "0.18.8", "torch": "2.10.0"},
        {"deepspeed": "0.18.7", "torch": "2.9.1"},
    ):
        assert not findings(zero3_single_rank, config(bf16, **versions))
    apart = {"zero_optimization": {"stage": 3, "overlap_comm": False}, "bf16": {"enabled": True}}
    assert not findings(zero3_single_rank, config(apart, deepspeed="0.18.7", torch="2.10.0"))
