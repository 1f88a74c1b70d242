from typing import Any

import pytest
from deepspeed_runs import config, findings, said
from verl_runs import MAIN, launched, marked

from grpo_lint.rules.avoidance.muon import muon_global_clipping, muon_with_clipping
from grpo_lint.runconfig import RunConfig

WHY = "DeepSpeed clips Muon's orthogonalised update, not its gradient (DeepSpeed #8439)"


def muon(zero: dict[str, Any], clip: object = None, **more: Any) -> dict[str, Any]:
    clipping = {} if clip is None else {"gradient_clipping": clip}
    return {"zero_optimization": zero, "optimizer": {"type": "Muon"}, **clipping, **more}


@pytest.mark.parametrize("zero", [{"stage": 1}, {"stage": 2}, {"stage": 3, "reduce_scatter": False}])
def test_a_written_clip(zero: dict[str, Any]) -> None:
    run = config(muon(zero, 0.5))
    assert said(muon_with_clipping, run) == [
        ("warning", f"gradient_clipping=0.5 shrinks every step to the norm 0.5: {WHY}")
    ]
    (finding,) = findings(muon_with_clipping, run)
    assert marked(finding) == "0.5"
    assert finding.fix is not None
    assert not finding.fix.safe
    assert [(span.text, text) for span, text in finding.fix.edits] == [("0.5", "0.0")]


def test_a_clip_of_the_trainer() -> None:
    run = config(muon({"stage": 2}, "auto"))
    assert said(muon_with_clipping, run) == [
        (
            "warning",
            f'gradient_clipping="auto" is max_grad_norm, 1.0 by default, to which every step shrinks: {WHY}',
        )
    ]
    assert findings(muon_with_clipping, run)[0].fix is None


@pytest.mark.parametrize(
    ("versions", "severity", "release"),
    [({"deepspeed": "0.19.7"}, "warning", "DeepSpeed 0.19.7"), ({}, "note", "DeepSpeed from 0.19.3 on")],
)
def test_the_clip_by_default(versions: dict[str, str], severity: str, release: str) -> None:
    assert said(muon_with_clipping, config(muon({"stage": 2}), **versions)) == [
        (severity, f"gradient_clipping is not set, and {release} shrinks every step to the norm 1.0: {WHY}")
    ]


OFFLOAD = {"stage": 2, "offload_optimizer": {"device": "cpu"}}
FP32_SUM = {"bf16": {"enabled": True}, "data_types": {"grad_accum_dtype": "fp32"}}


@pytest.mark.parametrize(
    "run",
    [
        config(muon({"stage": 2}, 0.0)),
        config(muon({"stage": 2}), deepspeed="0.19.2"),
        config(muon({"stage": 0}, 1.0)),
        config(muon(OFFLOAD, 1.0)),
        config(muon(OFFLOAD, 1.0), deepspeed="0.19.7"),
        config(muon({"stage": 1}, 1.0, **FP32_SUM)),
        config(muon({"stage": 3}, 1.0), deepspeed="0.18.8"),
        config({"zero_optimization": {"stage": 2}, "optimizer": {"type": "AdamW"}, "gradient_clipping": 1.0}),
        config({"zero_optimization": {"stage": 2}, "gradient_clipping": 1.0}),
    ],
)
def test_no_clipped_update(run: RunConfig) -> None:
    assert not findings(muon_with_clipping, run)


def test_offload_that_runs_muon() -> None:
    assert findings(muon_with_clipping, config(muon(OFFLOAD, 1.0), deepspeed="0.19.8"))


@pytest.mark.parametrize(("zero", "how"), [({}, "true by default"), ({"reduce_scatter": True}, "true")])
def test_reduce_scatter_at_stage_3(zero: dict[str, Any], how: str) -> None:
    assert said(muon_with_clipping, config(muon({"stage": 3, **zero}, 0))) == [
        (
            "error",
            f"zero_optimization.reduce_scatter is {how}, and DeepSpeed refuses to build Muon with it at ZeRO stage 3",
        )
    ]


MEGATRON = MAIN + "model_engine=megatron actor_rollout_ref.actor.optim.optimizer="


def test_muon_on_megatron() -> None:
    run = launched(MEGATRON + "muon", verl="0.9.1")
    assert said(muon_global_clipping, run) == [
        (
            "note",
            (
                "actor_rollout_ref.actor.optim.optimizer=muon with clip_grad=1.0 freezes when the model's gradient "
                "norm is huge (1e7 and more): Megatron clips by the norm of all parameters (Megatron-LM #5394)"
            ),
        )
    ]
    assert marked(findings(muon_global_clipping, run)[0]) == "muon"
    assert not findings(muon_with_clipping, run)


@pytest.mark.parametrize(
    "command",
    [
        MEGATRON + "muon actor_rollout_ref.actor.optim.clip_grad=0",
        MEGATRON + "adam",
        MAIN + "actor_rollout_ref.actor.optim.optimizer=Muon",
        MEGATRON + "muon trainer.val_only=true",
    ],
)
def test_no_muon_that_megatron_clips(command: str) -> None:
    assert not findings(muon_global_clipping, launched(command, verl="0.9.1"))
    assert not findings(muon_global_clipping, config(muon({"stage": 2}, 1.0)))
