from pathlib import Path
from typing import Any

import pytest
from deepspeed_runs import accelerated, config, findings, said
from verl_runs import MAIN, document, launched, marked

from grpo_lint.cli import main
from grpo_lint.rules.avoidance.clipping import gradient_clipping_1, gradient_clipping_zero
from grpo_lint.runconfig import RunConfig
from grpo_lint.unified import Origin, known

ADAMW: dict[str, Any] = {"zero_optimization": {"stage": 2}, "optimizer": {"type": "AdamW"}}
ACTOR = "actor_rollout_ref.actor"
OLD, NEW = f"{ACTOR}.grad_clip", f"{ACTOR}.optim.clip_grad"
DISABLED = "trainer.use_legacy_worker_impl=disable "


def verl(overrides: str, release: str = "") -> RunConfig:
    return launched(MAIN + overrides, **({"verl": release} if release else {}))


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        (
            {},
            (
                "note",
                "gradient_clipping is not set: DeepSpeed before 0.19.3 then clips nothing, later releases clip to 1.0",
            ),
        ),
        (
            {"deepspeed": "0.19.2"},
            (
                "warning",
                (
                    "gradient_clipping is not set: DeepSpeed 0.19.2 then clips nothing, whatever the trainer's "
                    "max_grad_norm says"
                ),
            ),
        ),
    ],
)
def test_left_out_of_a_deepspeed_config(versions: dict[str, str], expected: tuple[str, str]) -> None:
    run = config(ADAMW, **versions)
    assert said(gradient_clipping_1, run) == [expected]
    (finding,) = findings(gradient_clipping_1, run)
    assert marked(finding) == ""
    ((sign, _),) = finding.others
    assert sign.key == "optimizer.type"


@pytest.mark.parametrize(
    "text",
    [
        {"zero_optimization": {"stage": 1}},
        {"zero_optimization": {"stage": 3}, "scheduler": {"type": "WarmupLR"}},
        {"zero_optimization": {"stage": 3}, "gradient_accumulation_steps": "auto"},
        {"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "nvme"}}},
    ],
)
def test_signs_of_training(text: dict[str, Any]) -> None:
    assert findings(gradient_clipping_1, config(text))


@pytest.mark.parametrize(
    "run",
    [
        config(ADAMW, deepspeed="0.19.3"),
        config({**ADAMW, "gradient_clipping": "auto"}, deepspeed="0.19.2"),
        config({**ADAMW, "gradient_clipping": 0.5}, deepspeed="0.19.2"),
        config({"zero_optimization": {"stage": 2}, "optimizer": {"type": "Muon"}}, deepspeed="0.19.2"),
        config({"zero_optimization": {"stage": 3, "offload_param": {"device": "cpu"}}, "train_batch_size": 1}),
        config({"zero_optimization": {"stage": 3}, "bf16": {"enabled": True}, "train_micro_batch_size_per_gpu": 4}),
        accelerated("distributed_type: DEEPSPEED\nmixed_precision: bf16\ndeepspeed_config:\n  zero_stage: 2\n"),
    ],
)
def test_nothing_to_say_about_deepspeed(run: RunConfig) -> None:
    assert not findings(gradient_clipping_1, run)


def test_absence_proves_nothing_where_a_file_could_not_be_read() -> None:
    run = config(ADAMW, deepspeed="0.19.2")
    run.complete = False
    assert not findings(gradient_clipping_1, run)


def test_the_key_that_verl_reads_no_longer() -> None:
    run = verl(f"{OLD}=0.5", "0.9.1")
    assert said(gradient_clipping_1, run) == [
        ("warning", f"{OLD}=0.5 is read by nothing in verl 0.9.1: optim.clip_grad=1.0 clips")
    ]
    (finding,) = findings(gradient_clipping_1, run)
    assert finding.help == f"set {NEW}=0.5 instead"
    assert marked(finding) == "0.5"


def test_the_key_of_an_unknown_release() -> None:
    assert said(gradient_clipping_1, verl(f"{OLD}=0.5")) == [
        ("note", f"{OLD}=0.5 is read by nothing in verl from 0.8.0 on: optim.clip_grad=1.0 clips")
    ]


@pytest.mark.parametrize(
    ("overrides", "release"),
    [
        (f"{OLD}=0.5", "0.7.1"),
        (f"{OLD}=0.5", "0.4.1"),
        (f"{OLD}=1.0", "0.9.1"),
        (f"{OLD}=0.5 {NEW}=0.5", "0.9.1"),
        (f"{OLD}=0.5 {ACTOR}.optim.grad_clip=0.5", "0.9.1"),
        (f"{NEW}=0.5", "0.9.1"),
        ("critic.grad_clip=0.5 algorithm.adv_estimator=grpo", "0.9.1"),
        (f"{OLD}=0.5 trainer.val_only=true", "0.9.1"),
        (f"{OLD}=0.5 trainer.use_legacy_worker_impl=enable", ""),
    ],
)
def test_nothing_to_say_about_verl(overrides: str, release: str) -> None:
    assert not findings(gradient_clipping_1, verl(overrides, release))


def test_the_new_workers_of_old_releases_and_the_critic() -> None:
    assert said(gradient_clipping_1, verl(f"{DISABLED}{OLD}=0.5", "0.7.1"))[0][0] == "warning"
    ((severity, message),) = said(
        gradient_clipping_1, verl("critic.grad_clip=0.5 algorithm.adv_estimator=gae", "0.9.1")
    )
    assert severity == "warning"
    assert message.startswith("critic.grad_clip=0.5 is read by nothing in verl 0.9.1")


@pytest.mark.parametrize(
    ("overrides", "release", "severity", "message"),
    [
        (f"{NEW}=0", "0.9.1", "error", f"{NEW}=0 multiplies every gradient by 0: "),
        (f"{NEW}=0.0", "", "warning", f"{NEW}=0.0 multiplies every gradient by 0 in verl from 0.8.0 on: "),
        (f"{OLD}=0", "0.7.1", "error", f"{OLD}=0 multiplies every gradient by 0: "),
        (f"{OLD}=0", "", "warning", f"{OLD}=0 multiplies every gradient by 0 in verl before 0.8.0: "),
        (f"{OLD}=0 {NEW}=0", "", "error", f"{NEW}=0 multiplies every gradient by 0: "),
        (f"{ACTOR}.optim.grad_clip=0", "0.9.1", "error", f"{ACTOR}.optim.grad_clip=0 multiplies every gradient by 0: "),
        (f"{ACTOR}.strategy=fsdp2 {NEW}=0", "0.9.1", "error", f"{NEW}=0 multiplies every gradient by 0: "),
    ],
)
def test_zero_stops_learning_in_verl(overrides: str, release: str, severity: str, message: str) -> None:
    run = verl(overrides, release)
    why = "torch clips to the norm 0, and nothing is learned"
    assert said(gradient_clipping_zero, run) == [(severity, message + why)]
    assert not findings(gradient_clipping_1, run)


def test_a_zero_that_nothing_reads() -> None:
    run = verl(f"{OLD}=0", "0.9.1")
    assert not findings(gradient_clipping_zero, run)
    (finding,) = findings(gradient_clipping_1, run)
    assert finding.help == "remove it; to clip nothing set it to a large number such as 1e9"
    assert not findings(gradient_clipping_zero, verl(f"{NEW}=0", "0.7.1"))
    assert not findings(gradient_clipping_zero, verl("critic.optim.clip_grad=0 algorithm.adv_estimator=grpo", "0.9.1"))


def test_zero_is_off_in_megatron() -> None:
    run = verl(f"model_engine=megatron {NEW}=0", "0.9.1")
    assert said(gradient_clipping_zero, run) == [("note", f"{NEW}=0 switches gradient clipping off")]
    muon = verl(f"model_engine=megatron {NEW}=0 {ACTOR}.optim.optimizer=muon", "0.9.1")
    assert not findings(gradient_clipping_zero, muon)


def test_zero_is_off_on_megatron_by_a_defaults_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where the release isn't known: the engine is that of the config that is composed."""
    file = tmp_path / "grpo.yaml"
    head = "hydra:\n  searchpath: [pkg://verl.trainer.config]\ndefaults: [BASE, _self_]\n"
    text = head + "algorithm:\n  adv_estimator: grpo\nactor_rollout_ref:\n  actor:\n    optim:\n      clip_grad: 0.0\n"
    for base, what in (("ppo_megatron_trainer", "switches gradient clipping off"), ("ppo_trainer", "multiplies every")):
        file.write_text(text.replace("BASE", base), encoding="utf-8")
        main(["--select", "NOT16", "--output", "concise", str(file)])
        assert what in capsys.readouterr().out


def test_zero_is_off_in_deepspeed() -> None:
    assert said(gradient_clipping_zero, config({**ADAMW, "gradient_clipping": 0})) == [
        ("note", "gradient_clipping=0 switches gradient clipping off")
    ]
    written = '{"zero_optimization": {"stage": 2}, "gradient_clipping": 0.0}'
    assert said(gradient_clipping_zero, config(written)) == [
        ("note", "gradient_clipping=0.0 switches gradient clipping off")
    ]
    zero = {"stage": 2, "compute_grad_norm": False}
    for run in (
        config({**ADAMW, "gradient_clipping": 0, "optimizer": {"type": "Muon"}}),
        config({**ADAMW, "gradient_clipping": 0, "zero_optimization": zero}),
        config({**ADAMW, "gradient_clipping": "auto"}),
        config({**ADAMW, "gradient_clipping": False}),
    ):
        assert not findings(gradient_clipping_zero, run)


YAML = (
    "distributed_type: DEEPSPEED\nmixed_precision: bf16\ndeepspeed_config:\n  gradient_clipping: {}\n  zero_stage: 2\n"
)


def test_accelerate_loses_a_zero() -> None:
    start = "deepspeed_config.gradient_clipping=0.0 is left out of the config that accelerate builds: "
    assert said(gradient_clipping_zero, accelerated(YAML.format("0.0"))) == [
        ("note", start + "clipping is off before DeepSpeed 0.19.3, and at 1.0 from then on")
    ]
    assert said(gradient_clipping_zero, accelerated(YAML.format("0.0"), deepspeed="0.19.8")) == [
        ("warning", start + "DeepSpeed 0.19.8 clips to its default, 1.0")
    ]
    assert not findings(gradient_clipping_zero, accelerated(YAML.format("1.0")))
    assert not findings(gradient_clipping_zero, accelerated(YAML.replace("DEEPSPEED", "MULTI_GPU").format("0.0")))
    named = YAML.format("0.0") + "  deepspeed_config_file: ds.json\n"
    assert not findings(gradient_clipping_zero, accelerated(named, {"zero_optimization": {"stage": 2}}))


def test_megatron_of_its_own() -> None:
    run = config({"zero_optimization": {"stage": 0}})
    run.framework = "megatron"
    run.fields["gradient_clipping"] = known(0.0, Origin("override", run.anchor, key="--clip-grad"))
    assert said(gradient_clipping_zero, run) == [("note", "--clip-grad=0.0 switches gradient clipping off")]


def test_a_yaml_file_of_verl() -> None:
    run = document("actor_rollout_ref:\n  actor:\n    strategy: fsdp\n    optim:\n      clip_grad: 0\n", verl="0.9.1")
    assert said(gradient_clipping_zero, run)[0][0] == "error"
