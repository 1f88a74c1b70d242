import pytest
from verl_runs import FULLY_ASYNC, MAIN, ONE_STEP_OFF, findings, launched, marked, severities

from grpo_lint.rules.avoidance.lora import (
    load_format,
    sglang_adapters,
    stale_merge_or_rank,
)
from grpo_lint.rules.avoidance.lora_sync import lora_that_nothing_reads, merged_sync

RANK = "actor_rollout_ref.model.lora_rank="
NESTED = "actor_rollout_ref.model.lora.rank="
MERGE = "actor_rollout_ref.model.lora.merge="
LAYERED = "actor_rollout_ref.rollout.layered_summon=True "
FORMAT = "actor_rollout_ref.rollout.load_format="
VLLM = "actor_rollout_ref.rollout.name=vllm "
SGLANG = "actor_rollout_ref.rollout.name=sglang "
MEGATRON = "actor_rollout_ref.actor.strategy=megatron "


@pytest.mark.parametrize("version", ["0.4.1", "0.5.0", "0.6.1", "0.7.1", "0.8.0", "0.9.0", "0.9.1"])
def test_layered_summon_with_the_default_format(version: str) -> None:
    (finding,) = findings(load_format, launched(f"{MAIN}{VLLM}{LAYERED}{RANK}32", verl=version))
    assert marked(finding) == "True"
    assert finding.fix is None


def test_default_format_is_a_dummy_in_every_release() -> None:
    (finding,) = findings(load_format, launched(f"{MAIN}{VLLM}{LAYERED}{RANK}32"))
    assert "load_format=dummy (its default)" in finding.message


def test_format_that_only_the_caller_knows() -> None:
    command = f"{MAIN}{VLLM}{LAYERED}{RANK}32 {FORMAT}${{FORMAT}}"
    assert not findings(load_format, launched(command, dynamic="${FORMAT}"))


def test_layered_summon_in_an_unknown_release() -> None:
    run = launched(f"{MAIN}{VLLM}{LAYERED}{RANK}32 {FORMAT}dummy")
    (finding,) = findings(load_format, run)
    assert finding.fix is not None
    assert [(span.text, text) for span, text in finding.fix.edits] == [("dummy", "safetensors")]


@pytest.mark.parametrize(
    "command",
    [
        f"{MAIN}{VLLM}{LAYERED}{RANK}32 {FORMAT}safetensors",
        f"{MAIN}{VLLM}{RANK}32",
        f"{MAIN}{VLLM}{LAYERED}{RANK}0",
        f"{MAIN}{VLLM}{LAYERED}{RANK}32 {MERGE}True",
        f"{MAIN}{VLLM}{LAYERED}{MEGATRON}{NESTED}32",
        f"{FULLY_ASYNC}{VLLM}{LAYERED}{RANK}32",
        f"python3 -m recipe.dapo.main_dapo {VLLM}{LAYERED}{RANK}32",
    ],
)
def test_base_model_reaches_the_engine(command: str) -> None:
    assert not findings(load_format, launched(command, verl="0.9.1"))


@pytest.mark.parametrize(("version", "found"), [("0.7.1", 1), ("0.8.0", 1), ("0.9.0", 0), ("0.9.1", 0)])
def test_merge_was_stale_before_0_9_0(version: str, found: int) -> None:
    run = launched(f"{MAIN}{VLLM}{RANK}64 {MERGE}true", verl=version)
    assert severities(stale_merge_or_rank, run) == ["warning"] * found
    assert severities(merged_sync, run) == ["note"] * (1 - found)


def test_merge_on_megatron_was_never_stale() -> None:
    run = launched(f"{MAIN}{VLLM}{MEGATRON}{NESTED}64 {MERGE}true model_engine=megatron", verl="0.8.0")
    assert not findings(stale_merge_or_rank, run)
    (finding,) = findings(merged_sync, run)
    assert "6782" not in finding.message


def test_merge_in_an_unknown_release_is_one_note() -> None:
    run = launched(f"{MAIN}{VLLM}{RANK}64 {MERGE}true")
    assert not findings(stale_merge_or_rank, run)
    (finding,) = findings(merged_sync, run)
    assert "before verl 0.9.0" in finding.message


@pytest.mark.parametrize(
    "command",
    [
        f"{MAIN}{SGLANG}{RANK}64 {MERGE}true",
        f"{FULLY_ASYNC}{VLLM}{RANK}64 {MERGE}true",
        f"{MAIN}{VLLM}{RANK}0 {MERGE}true",
        f"{MAIN}{VLLM}{RANK}64 {MERGE}false",
    ],
)
def test_merge_that_is_needed_or_moot(command: str) -> None:
    assert not findings(merged_sync, launched(command))


@pytest.mark.parametrize(
    ("rank", "version", "found"),
    [(1024, "0.9.1", 1), (1024, "0.5.0", 1), (512, "0.9.1", 0), (48, "0.5.0", 1), (48, "0.6.1", 0), (64, "0.5.0", 0)],
)
def test_ranks_of_vllm(rank: int, version: str, found: int) -> None:
    run = launched(f"{MAIN}{VLLM}{RANK}{rank}", verl=version)
    assert severities(stale_merge_or_rank, run) == ["error"] * found


def test_ranks_that_no_engine_serves_as_adapters() -> None:
    assert not findings(stale_merge_or_rank, launched(f"{MAIN}{VLLM}{RANK}1024 {MERGE}true", verl="0.9.1"))
    assert not findings(stale_merge_or_rank, launched(f"{MAIN}{SGLANG}{RANK}1024", verl="0.9.1"))


@pytest.mark.parametrize("how", [MEGATRON, "model_engine=megatron ", "--config-name=ppo_megatron_trainer "])
def test_flat_rank_on_megatron(how: str) -> None:
    (finding,) = findings(lora_that_nothing_reads, launched(f"{MAIN}{how}{VLLM}{RANK}32"))
    assert marked(finding) == "32"
    assert "the whole model is trained" in finding.message


@pytest.mark.parametrize(
    "command", [f"{MEGATRON}{NESTED}32 {RANK}32", f"{MEGATRON}{RANK}0", f"{RANK}32", f"{MEGATRON}{NESTED}32"]
)
def test_rank_that_is_read(command: str) -> None:
    assert not findings(lora_that_nothing_reads, launched(MAIN + VLLM + command))


@pytest.mark.parametrize("start", [FULLY_ASYNC, ONE_STEP_OFF, MAIN + "trainer.v1.trainer_mode=separate_async "])
def test_adapters_never_leave_the_trainer(start: str) -> None:
    (finding,) = findings(lora_that_nothing_reads, launched(f"{start}{VLLM}{RANK}32"))
    assert "7495" in finding.message
    assert not findings(lora_that_nothing_reads, launched(f"{start}{VLLM}{RANK}32 {MERGE}true"))
    assert not findings(lora_that_nothing_reads, launched(f"{start}{VLLM}{RANK}0"))


@pytest.mark.parametrize(
    ("versions", "found"), [({"verl": "0.9.0"}, ["warning"]), ({"verl": "0.9.1"}, []), ({}, ["note"])]
)
def test_sglang_adapters(versions: dict[str, str], found: list[str]) -> None:
    assert severities(sglang_adapters, launched(f"{MAIN}{SGLANG}{RANK}32", **versions)) == found


@pytest.mark.parametrize("command", [f"{SGLANG}{RANK}32 {MERGE}true", f"{SGLANG}{RANK}0", f"{VLLM}{RANK}32"])
def test_sglang_without_adapters(command: str) -> None:
    assert not findings(sglang_adapters, launched(MAIN + command, verl="0.8.0"))


def test_separate_gpus_are_one_fault_only() -> None:
    run = launched(f"{FULLY_ASYNC}{SGLANG}{RANK}32", verl="0.9.0")
    assert severities(lora_that_nothing_reads, run) == ["warning"]
    assert not findings(sglang_adapters, run)
