from typing import Any

import pytest
from deepspeed_runs import accelerated, config, findings, said
from verl_runs import marked

from grpo_lint.rules.avoidance.precision import bf16_and_fp16


@pytest.mark.parametrize("bf16", ["bf16", "bfloat16"])
def test_both(bf16: str) -> None:
    run = config({"zero_optimization": {"stage": 2}, bf16: {"enabled": True}, "fp16": {"enabled": True}})
    assert said(bf16_and_fp16, run) == [
        (
            "error",
            "bf16.enabled and fp16.enabled are both true: they exclude each other, and the run stops at its start",
        )
    ]
    (finding,) = findings(bf16_and_fp16, run)
    assert marked(finding) == "true"
    assert finding.help == "set fp16.enabled to false, or bf16.enabled on a GPU that has no bfloat16"


@pytest.mark.parametrize(
    "sections",
    [
        {"bf16": {"enabled": "auto"}, "fp16": {"enabled": "auto"}},
        {"bf16": {"enabled": True}, "fp16": {"enabled": "auto"}},
        {"bf16": {"enabled": True}, "fp16": {"enabled": False}},
        {"bf16": {"enabled": True}, "fp16": {"loss_scale": 0}},
        {"fp16": {"enabled": True}},
        {},
    ],
)
def test_one_or_the_trainers_choice(sections: dict[str, Any]) -> None:
    assert not findings(bf16_and_fp16, config({"zero_optimization": {"stage": 2}, **sections}))


def test_accelerate_holds_one_word() -> None:
    assert not findings(bf16_and_fp16, accelerated("distributed_type: MULTI_GPU\nmixed_precision: bf16\n"))
