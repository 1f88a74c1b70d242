import pytest
from verl_runs import FULLY_ASYNC, MAIN, ONE_STEP_OFF, findings, launched, marked, severities

from grpo_lint.rules.avoidance.rollout import bypass_mode, checkpoint_engine, enforce_eager, stale_encoder_cache

BYPASS = "algorithm.rollout_correction.bypass_mode=True "
LOG_PROBS = "actor_rollout_ref.rollout.calculate_log_probs="
BACKEND = "actor_rollout_ref.rollout.checkpoint_engine.backend="
SEPARATE = "trainer.v1.trainer_mode=separate_async "
R2 = "actor_rollout_ref.actor.megatron.router_replay.mode=R2 actor_rollout_ref.actor.strategy=megatron "
VISION = "actor_rollout_ref.model.path=Qwen/Qwen2.5-VL-7B-Instruct actor_rollout_ref.rollout.name=vllm "


def test_bypass_without_log_probs() -> None:
    (finding,) = findings(bypass_mode, launched(f"{MAIN}{BYPASS}{LOG_PROBS}False"))
    assert marked(finding) == "True"


@pytest.mark.parametrize(("version", "found"), [("0.6.1", 1), ("0.8.0", 1), ("0.9.0", 0)])
def test_default_of_log_probs_by_release(version: str, found: int) -> None:
    assert severities(bypass_mode, launched(MAIN + BYPASS, verl=version)) == ["error"] * found


@pytest.mark.parametrize(
    "command",
    [
        f"{MAIN}{BYPASS}",  # the default depends on the release, which isn't known
        f"{MAIN}{BYPASS}{LOG_PROBS}True",
        f"{MAIN}{LOG_PROBS}False",
        f"{FULLY_ASYNC}{BYPASS}",
        f"python3 -m recipe.mine.main {BYPASS}actor_rollout_ref.rollout.name=vllm actor_rollout_ref.rollout.n=8",
    ],
)
def test_bypass_with_log_probs(command: str) -> None:
    assert not findings(bypass_mode, launched(command))


def test_fully_async_bypasses_by_default() -> None:
    assert severities(bypass_mode, launched(f"{FULLY_ASYNC}{LOG_PROBS}False")) == ["error"]


def test_bypass_with_r2() -> None:
    (finding,) = findings(bypass_mode, launched(f"{MAIN}{BYPASS}{LOG_PROBS}True {R2}model_engine=megatron"))
    assert marked(finding) == "R2"


@pytest.mark.parametrize(
    ("command", "version", "found"),
    [
        ("actor_rollout_ref.rollout.enforce_eager=False", "0.4.1", 1),
        ("actor_rollout_ref.rollout.enforce_eager=False", "0.5.0", 0),
        ("actor_rollout_ref.rollout.enforce_eager=True", "0.4.1", 0),
        (
            "actor_rollout_ref.rollout.enforce_eager=False actor_rollout_ref.rollout.free_cache_engine=False",
            "0.4.1",
            0,
        ),
    ],
)
def test_cuda_graphs_and_a_freed_cache(command: str, version: str, found: int) -> None:
    assert severities(enforce_eager, launched(MAIN + command, verl=version)) == ["error"] * found


def test_naive_backend_by_default_with_separate_gpus() -> None:
    (finding,) = findings(checkpoint_engine, launched(MAIN + SEPARATE))
    assert marked(finding) == "separate_async"
    assert "naive (its default)" in finding.message


@pytest.mark.parametrize("start", [FULLY_ASYNC, ONE_STEP_OFF, MAIN + SEPARATE])
def test_naive_backend_written_down_with_separate_gpus(start: str) -> None:
    assert severities(checkpoint_engine, launched(f"{start}{BACKEND}naive")) == ["error"]
    assert not findings(checkpoint_engine, launched(f"{start}{BACKEND}nccl"))


@pytest.mark.parametrize("start", [FULLY_ASYNC, ONE_STEP_OFF])
def test_asynchronous_trees_have_another_default(start: str) -> None:
    assert not findings(checkpoint_engine, launched(start + "trainer.nnodes=1"))


def test_backend_that_is_overwritten() -> None:
    assert severities(checkpoint_engine, launched(f"{MAIN}{BACKEND}nccl", verl="0.9.1")) == ["note"]
    assert severities(checkpoint_engine, launched(f"{MAIN}{BACKEND}nccl trainer.use_v1=True")) == ["note"]


@pytest.mark.parametrize(
    ("command", "version"),
    [
        (f"{MAIN}{BACKEND}nccl", "0.8.0"),
        (f"{MAIN}{BACKEND}nccl trainer.use_v1=False", "0.9.1"),
        (f"python3 -m verl.trainer.main_ppo_v0 {BACKEND}nccl", "0.9.1"),
        (f"{MAIN}{BACKEND}naive", "0.9.1"),
        (f"{MAIN}data.train_batch_size=8", "0.9.1"),
    ],
)
def test_backend_of_a_colocated_run(command: str, version: str) -> None:
    assert not findings(checkpoint_engine, launched(command, verl=version))


@pytest.mark.parametrize(
    ("versions", "found"),
    [
        ({"verl": "0.7.1"}, 1),
        ({"verl": "0.7.1", "vllm": "0.10.1"}, 0),
        ({"verl": "0.8.0"}, 0),
        ({"verl": "0.8.0", "vllm": "0.16.0"}, 1),
        ({"verl": "0.8.0", "vllm": "0.17.0"}, 0),
        ({"verl": "0.9.0", "vllm": "0.16.0"}, 0),
        ({}, 0),
    ],
)
def test_encoder_cache(versions: dict[str, str], found: int) -> None:
    assert severities(stale_encoder_cache, launched(MAIN + VISION, **versions)) == ["warning"] * found


def test_encoder_cache_of_a_rollout_that_never_sleeps() -> None:
    assert severities(stale_encoder_cache, launched(FULLY_ASYNC + VISION, verl="0.8.0")) == ["warning"]


@pytest.mark.parametrize(
    "command",
    [
        VISION + "actor_rollout_ref.actor.freeze_vision_tower=True",
        VISION + "actor_rollout_ref.model.lora_rank=32",
        VISION.replace("vllm", "sglang"),
        VISION.replace("Qwen2.5-VL-7B", "Qwen2.5-7B"),
        VISION + "actor_rollout_ref.actor.strategy=megatron",
    ],
)
def test_vision_tower_that_stays(command: str) -> None:
    assert not findings(stale_encoder_cache, launched(MAIN + command, verl="0.7.1"))
