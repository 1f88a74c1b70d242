from typing import Any

import pytest
from deepspeed_runs import accelerated, config, findings, said

from grpo_lint.rules.avoidance.overlap import compile_with_overlap_comm, overlap_comm_single_rank, record_stream
from grpo_lint.runconfig import RunConfig

RULES = (compile_with_overlap_comm, record_stream, overlap_comm_single_rank)
ONE_RANK = {"train_batch_size": 4, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 1}
COMPILED = (
    "distributed_type: DEEPSPEED\nmixed_precision: bf16\n"
    "deepspeed_config:\n  deepspeed_config_file: ds.json\n"
    "dynamo_config:\n  dynamo_backend: {}\n"
)


def zero(stage: int = 2, **more: Any) -> dict[str, Any]:
    return {"zero_optimization": {"stage": stage, "overlap_comm": True, **more}}


def compiled(named: dict[str, Any], backend: str = "INDUCTOR", **versions: str) -> RunConfig:
    return accelerated(COMPILED.format(backend), named, **versions)


def speakers(run: RunConfig) -> list[str]:
    return [rule.id for rule in RULES if findings(rule, run)]


@pytest.mark.parametrize(
    ("versions", "release"),
    [({}, "DeepSpeed before 0.19.3"), ({"deepspeed": "0.19.2"}, "DeepSpeed 0.19.2")],
)
@pytest.mark.parametrize("stage", [1, 2])
def test_compiled(stage: int, versions: dict[str, str], release: str) -> None:
    assert said(compile_with_overlap_comm, compiled(zero(stage), **versions)) == [
        (
            "warning",
            (
                f"zero_optimization.overlap_comm=true with torch.compile can turn the loss NaN in {release}: the "
                "reduction does not wait for every stream that fills the bucket (DeepSpeed #8061)"
            ),
        )
    ]


def test_offload_makes_gradients_contiguous() -> None:
    kept = zero(contiguous_gradients=False)
    assert not speakers(compiled(kept))
    kept["zero_optimization"]["offload_optimizer"] = {"device": "cpu"}
    assert speakers(compiled(kept)) == ["NOT15"]


@pytest.mark.parametrize(
    "run",
    [
        compiled(zero(), deepspeed="0.19.3"),
        compiled(zero(), backend="NO"),
        compiled(zero(0)),
        compiled(zero(3)),
        compiled({"zero_optimization": {"stage": 2}}),
        compiled({"zero_optimization": {"stage": 2, "overlap_comm": False}}),
        compiled({**zero(1), "bf16": {"enabled": True}, "data_types": {"grad_accum_dtype": "fp32"}}),
        config({**zero(1), "compile": {"deepcompile": True}}),
        config(zero()),
    ],
)
def test_nothing_to_say(run: RunConfig) -> None:
    assert not speakers(run)


def test_buffers_of_old_releases() -> None:
    assert said(record_stream, config(zero(), deepspeed="0.18.9")) == [
        (
            "warning",
            (
                "zero_optimization.overlap_comm=true at ZeRO stage 2 with DeepSpeed 0.18.9 frees buffers that the "
                "reduction still reads, and gradients can turn NaN (DeepSpeed #7965)"
            ),
        )
    ]
    assert not findings(record_stream, config(zero(), deepspeed="0.19.0"))
    assert not findings(record_stream, config(zero(3), deepspeed="0.18.9"))


def test_one_rank() -> None:
    run = config({**zero(), **ONE_RANK})
    assert said(overlap_comm_single_rank, run) == [
        (
            "note",
            (
                "zero_optimization.overlap_comm=true on one data-parallel rank overlaps nothing and keeps a second "
                "gradient bucket"
            ),
        )
    ]
    (finding,) = findings(overlap_comm_single_rank, run)
    assert finding.fix is not None
    assert finding.fix.safe
    assert [(span.text, text) for span, text in finding.fix.edits] == [("true", "false")]


def test_one_rank_with_something_to_overlap() -> None:
    assert not speakers(config({**zero(offload_optimizer={"device": "cpu"}), **ONE_RANK}))
    assert not speakers(config({**zero(), **ONE_RANK, "sequence_parallel_size": 2}))
    assert not speakers(config({"zero_optimization": {"stage": 3}, **ONE_RANK}))


def test_one_switch_one_finding() -> None:
    one_rank = {**zero(), **ONE_RANK}
    assert speakers(compiled(one_rank, deepspeed="0.18.9")) == ["NOT15"]
    assert speakers(config(one_rank, deepspeed="0.18.9")) == ["DO10"]
    assert speakers(compiled(one_rank, deepspeed="0.19.3")) == ["NOT03"]
