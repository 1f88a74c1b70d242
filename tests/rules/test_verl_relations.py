"""Relations of verl that depend on the release, and what keeps them silent."""

from __future__ import annotations

import pytest
from verl_runs import MAIN, launched

from grpo_lint.rules.invariants.models import positions, positions_of
from grpo_lint.rules.invariants.relation import Relation
from grpo_lint.rules.invariants.verl_pools import teacher_pool
from grpo_lint.rules.invariants.verl_shares import spanning
from grpo_lint.rules.invariants.verl_silent import filtering, long_answers, validation, warmup
from grpo_lint.rules.invariants.verl_training import cut_off, greedy, kl_effect, precision, unsaved

ROLLOUT = "actor_rollout_ref.rollout"
ACTOR = "actor_rollout_ref.actor"
VLLM = f"{MAIN} {ROLLOUT}.name=vllm "


def severities(rule: Relation, text: str, **versions: str) -> list[str]:
    """The severities of what a relation finds in a launch."""
    assert rule.check is not None
    return [found.severity or rule.severity for found in rule.check(launched(text, **versions))]


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ("trainer.n_gpus_per_node=4 trainer.nnodes=2 {}=8", ["note"]),
        ("trainer.n_gpus_per_node=4 trainer.nnodes=3 {}=6", ["error"]),
        ("trainer.n_gpus_per_node=8 trainer.nnodes=2 {}=8", []),
        ("trainer.n_gpus_per_node=1 trainer.nnodes=1 {}=2", []),  # INV121 says so
    ],
)
def test_an_engine_over_nodes(more: str, found: list[str]) -> None:
    assert severities(spanning, VLLM + more.format(f"{ROLLOUT}.tensor_model_parallel_size"), verl="0.9.1") == found


@pytest.mark.parametrize(
    ("release", "more", "found"),
    [
        ("0.9.1", f"{ACTOR}.fsdp_config.dtype=float16 {ROLLOUT}.dtype=float16", ["warning"]),
        ("0.7.1", f"{ACTOR}.fsdp_config.dtype=float16 {ROLLOUT}.dtype=float16", []),
        ("0.7.1", f"{ACTOR}.fsdp_config.dtype=float16", ["warning"]),
        ("0.9.1", f"+{ACTOR}.fsdp_config.mixed_precision.param_dtype=fp16 {ROLLOUT}.dtype=half", []),
        ("0.9.1", f"{ROLLOUT}.dtype=float32", []),
    ],
)
def test_half_precisions_are_those_that_the_release_reads(release: str, more: str, found: list[str]) -> None:
    assert severities(precision, VLLM + more, verl=release) == found


MATH = f"{VLLM} actor_rollout_ref.model.path={{}}Qwen2.5-Math-7B data.max_response_length=8192 {{}}"


@pytest.mark.parametrize(
    ("prefix", "more", "release", "found"),
    [
        ("Qwen/", "", "0.6.1", ["error"]),
        ("Qwen/", "", "0.9.1", ["warning"]),
        ("Qwen/", f"{ROLLOUT}.max_model_len=9216", "0.9.1", ["error"]),
        ("Qwen/", f"{ROLLOUT}.max_model_len=9216", "0.7.0", []),
        ("/models/", "", "0.6.1", []),
        ("Qwen/", "+actor_rollout_ref.model.override_config.max_position_embeddings=32768", "0.6.1", []),
    ],
)
def test_a_sequence_is_held_against_a_hub_models_positions(
    prefix: str, more: str, release: str, found: list[str]
) -> None:
    assert severities(positions, MATH.format(prefix, more), verl=release) == found


def test_positions_are_known_by_whole_names_only() -> None:
    assert positions_of("Qwen/Qwen2.5-Math-7B") == 4096
    assert positions_of("me/Qwen2.5-Math-7B") is None


@pytest.mark.parametrize(("steps", "every", "found"), [(500, -1, 1), (50, -1, 0), (500, 100, 0)])
def test_a_long_run_that_saves_nothing(steps: int, every: int, found: int) -> None:
    text = f"{MAIN} trainer.total_training_steps={steps} trainer.save_freq={every}"
    assert len(severities(unsaved, text)) == found
    assert not severities(unsaved, f"{text} trainer.val_only=True")


def test_validation_may_be_greedy_and_cut_off() -> None:
    text = f"{MAIN} {ROLLOUT}.n=8 {ROLLOUT}.val_kwargs.temperature=0 {ROLLOUT}.val_kwargs.top_p=0.7 {ROLLOUT}.top_k=-1"
    assert not severities(greedy, text)
    assert not severities(cut_off, text)
    assert severities(cut_off, f"{MAIN} {ROLLOUT}.top_k=50") == ["note"]
    assert severities(greedy, f"{MAIN} {ROLLOUT}.n=8 {ROLLOUT}.temperature=0") == ["error"]


def test_a_kl_loss_that_is_switched_off_in_so_many_words() -> None:
    assert not severities(kl_effect, f"{MAIN} {ACTOR}.use_kl_loss=False {ACTOR}.kl_loss_coef=0.001")


def test_several_teachers_have_sizes_of_their_own() -> None:
    one = f"{MAIN} distillation.enabled=True distillation.nnodes=1 distillation.n_gpus_per_node=7"
    assert severities(teacher_pool, one, verl="0.9.1") == ["error"]
    several = f"{one} +distillation.teacher_models.a.key=x +distillation.teacher_models.b.key=y"
    assert not severities(teacher_pool, several, verl="0.9.1")


def test_a_critic_that_is_there_may_warm_up() -> None:
    assert severities(warmup, f"{MAIN} algorithm.adv_estimator=grpo trainer.critic_warmup=20") == ["warning"]
    assert not severities(warmup, f"{MAIN} algorithm.adv_estimator=gae trainer.critic_warmup=20")
    assert not severities(warmup, f"{MAIN} trainer.critic_warmup=20", verl="0.9.1")  # gae is the default


def test_validation_at_its_default_temperature_is_greedy() -> None:
    assert severities(validation, f"{MAIN} {ROLLOUT}.val_kwargs.n=4", verl="0.9.1") == ["warning"]
    assert not severities(validation, f"{MAIN} {ROLLOUT}.val_kwargs.n=4 {ROLLOUT}.val_kwargs.temperature=1.0")
    assert not severities(validation, f"{MAIN} {ROLLOUT}.val_kwargs.n=1")


@pytest.mark.parametrize(
    ("release", "more", "found"),
    [
        ("0.7.1", "", ["warning"]),
        ("0.9.1", "", []),
        ("0.9.1", "trainer.use_v1=False", ["warning"]),
    ],
)
def test_groups_are_filtered_by_the_newer_trainer(release: str, more: str, found: list[str]) -> None:
    text = f"{MAIN} ++algorithm.filter_groups.enable=True {more}"
    assert severities(filtering, text, verl=release) == found


BUFFER = "+reward_model.reward_kwargs.overlong_buffer_cfg"


@pytest.mark.parametrize(
    ("manager", "more", "release", "found"),
    [
        ("naive", "", "0.6.1", ["error"]),
        ("dapo", f"{BUFFER}.len=4096 +reward_model.reward_kwargs.max_resp_len=20480", "0.6.1", []),
        ("dapo", f"{BUFFER}.len=4096 +reward_model.reward_kwargs.max_resp_len=2048", "0.6.1", ["error"]),
        ("mine", "", "0.6.1", []),
    ],
)
def test_the_penalty_for_long_answers_is_one_managers(manager: str, more: str, release: str, found: list[str]) -> None:
    text = f"{MAIN} reward_model.reward_manager={manager} {BUFFER}.enable=True {more}"
    assert severities(long_answers, text, verl=release) == found
