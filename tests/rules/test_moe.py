import pytest
from verl_runs import FULLY_ASYNC, MAIN, findings, launched, marked, severities

from grpo_lint.rules.avoidance.moe import router_dtype, router_replay
from grpo_lint.unified import Origin, known

MEGATRON = "model_engine=megatron actor_rollout_ref.rollout.name=vllm "
MODE = "actor_rollout_ref.actor.megatron.router_replay.mode="
RECORD = "actor_rollout_ref.rollout.enable_rollout_routing_replay="
MOE = "actor_rollout_ref.model.path=Qwen/Qwen3-30B-A3B "
DTYPE = "+actor_rollout_ref.actor.megatron.override_transformer_config.moe_router_dtype="


def test_r3_without_a_record() -> None:
    (finding,) = findings(router_replay, launched(f"{MAIN}{MEGATRON}{MODE}R3"))
    assert marked(finding) == "R3"
    assert severities(router_replay, launched(f"{MAIN}{MEGATRON}{MODE}R3 {RECORD}False")) == ["error"]
    assert not findings(router_replay, launched(f"{MAIN}{MEGATRON}{MODE}R3 {RECORD}True"))


def test_r2_with_a_record() -> None:
    assert severities(router_replay, launched(f"{MAIN}{MEGATRON}{MODE}R2 {RECORD}True")) == ["error"]
    assert not findings(router_replay, launched(f"{MAIN}{MEGATRON}{MODE}R2"))


def test_fully_async_drops_the_record_under_r2() -> None:
    run = launched(f"{FULLY_ASYNC}actor_rollout_ref.actor.strategy=megatron +{MODE}R2 {RECORD}True")
    assert severities(router_replay, run) == ["warning"]


@pytest.mark.parametrize(
    ("versions", "found"),
    [({"verl": "0.9.1", "vllm": "0.21.0"}, 1), ({"verl": "0.9.1", "vllm": "0.22.0"}, 0), ({"vllm": "0.21.0"}, 0)],
)
def test_engine_that_reports_experts(versions: dict[str, str], found: int) -> None:
    run = launched(f"{MAIN}{MEGATRON}{MODE}R3 {RECORD}True", **versions)
    assert severities(router_replay, run) == ["error"] * found


def test_replay_on_a_dense_model() -> None:
    run = launched(f"{MAIN}{MEGATRON}{MODE}R3 {RECORD}True")
    run.fields["moe"] = known(False, Origin("file"))
    assert severities(router_replay, run) == ["warning"]


def test_mixture_without_replay_or_correction() -> None:
    assert severities(router_replay, launched(MAIN + MEGATRON + MOE)) == ["note"]


@pytest.mark.parametrize(
    "command",
    [
        f"{MAIN}{MEGATRON}{MOE}algorithm.rollout_correction.rollout_is=token",
        f"{MAIN}{MEGATRON}{MOE}algorithm.rollout_correction.bypass_mode=True",
        f"{MAIN}{MEGATRON}{MOE}actor_rollout_ref.actor.policy_loss.loss_mode=gspo",
        f"{MAIN}{MEGATRON}{MOE}+actor_rollout_ref.actor.tis_imp_ratio_cap=2.0",
        f"{MAIN}{MOE}actor_rollout_ref.rollout.name=vllm",
        f"{MAIN}{MEGATRON}actor_rollout_ref.model.path=Qwen/Qwen3-8B",
    ],
)
def test_mixture_that_is_corrected_or_none(command: str) -> None:
    assert not findings(router_replay, launched(command))


@pytest.mark.parametrize("path", ["Qwen/Qwen3-30B-A3B", "/models/Qwen3-235B-A22B-Instruct-2507"])
def test_router_in_bfloat16(path: str) -> None:
    (finding,) = findings(router_dtype, launched(f"{MAIN}{MEGATRON}actor_rollout_ref.model.path={path}"))
    assert marked(finding) == path
    assert "bf16" in finding.message


def test_router_in_float16() -> None:
    run = launched(f"{MAIN}{MEGATRON}{MOE}actor_rollout_ref.actor.megatron.dtype=float16")
    assert "fp16" in findings(router_dtype, run)[0].message


@pytest.mark.parametrize(
    "command",
    [
        f"{MAIN}{MEGATRON}{MOE}{DTYPE}fp32",
        f"{MAIN}{MOE}actor_rollout_ref.rollout.name=vllm",
        f"{MAIN}{MEGATRON}actor_rollout_ref.model.path=deepseek-ai/DeepSeek-V3",
        f"{MAIN}{MEGATRON}actor_rollout_ref.model.path=Qwen/Qwen3-VL-30B-A3B-Instruct",
        f"{MAIN}{MEGATRON}actor_rollout_ref.model.path=Qwen/Qwen3-8B",
        f"python3 -m recipe.mine.main {MOE}actor_rollout_ref.actor.strategy=megatron",
    ],
)
def test_router_that_is_set_or_not_known(command: str) -> None:
    assert not findings(router_dtype, launched(command))
