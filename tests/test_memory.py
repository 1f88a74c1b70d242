"""The memory estimate: its arithmetic against published counts and figures, and what it says of runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from grpo_lint import memory
from grpo_lint.cli import main
from grpo_lint.estimate import Estimate, estimate
from grpo_lint.frameworks import shapes
from grpo_lint.frameworks.shapes import shape_of
from grpo_lint.memory import GIB, Shape

sys.path.insert(0, str(Path(__file__).parent.parent / "tools"))
import memory_docs

shape_of("Qwen2.5-7B")  # reads the table
TABLE = dict(shapes._shapes)


@pytest.mark.parametrize("shape", TABLE.values(), ids=lambda shape: shape.name)
def test_a_shape_has_as_many_parameters_as_are_published(shape: Shape) -> None:
    assert memory.parameters(shape) == shape.parameters


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("Qwen/Qwen2.5-7B-Instruct", "qwen2.5-7b"),
        ("/models/Qwen3-4B-Instruct-2507/", "qwen3-4b"),
        ("Qwen/Qwen2.5-Math-7B", "qwen2.5-7b"),
        ("meta-llama/Meta-Llama-3.1-8B-Instruct", "llama-3.1-8b"),
        ("Qwen/Qwen2.5-VL-7B-Instruct", ""),
        ("Qwen/Qwen3-8B-FP8", ""),
        ("Qwen/Qwen2.5-7B-Instruct-AWQ", ""),
        ("mine/qwen2.5-7b-sft", ""),
    ],
)
def test_a_shape_is_known_by_the_whole_name(path: str, name: str) -> None:
    found = shape_of(path)
    assert (found.name if found else "") == name


def test_zero_is_as_in_its_paper() -> None:
    # figure 1 of arXiv:1910.02054: 7.5 B parameters, 64 ranks, K = 12; GB are 10^9
    count, per_rank = 7.5e9, {0: 120, 1: 31.4, 2: 16.6, 3: 1.9}
    for stage, published in per_rank.items():
        weights, gradients, optimizer = memory.zero_shards(stage, 64)
        total = (
            memory.weights(count, 2, weights)
            + memory.gradients(count, 2, gradients)
            + memory.optimizer(count, shards=optimizer)
        )
        assert round(total / 1e9, 1) == published


def test_megatron_counts_18_bytes_without_a_distributed_optimizer() -> None:
    assert memory.distributed_optimizer(1, 1) == 18
    assert memory.distributed_optimizer(1, 4) == 9


def test_an_adapter_has_as_many_parameters_as_peft_prints() -> None:
    # PEFT's print_trainable_parameters for Llama-2-7B: rank 8 on q and v, and on every linear layer
    llama = TABLE["llama-2-7b"]
    assert memory.adapter(llama, 8, every_linear=False) == 4_194_304
    assert memory.adapter(llama, 8) == 19_988_480


def test_an_engine_with_more_ranks_than_heads_copies_them() -> None:
    small = TABLE["qwen2.5-1.5b"]  # 2 key-value heads
    assert memory.kv_bytes_per_token(small, 2, 4) == memory.kv_bytes_per_token(small, 2, 2)


def test_what_is_stored_agrees_with_published_figures_and_the_page_says_what_does_not() -> None:
    errors = [abs(ours / figure - 1) for _, _, figure, ours, _ in memory_docs.FIGURES]
    assert len(errors) >= 10
    assert sum(one < 0.015 for one in errors) >= 12
    explained = [remark for _, _, figure, ours, remark in memory_docs.FIGURES if abs(ours / figure - 1) > 0.01]
    assert all(explained)
    assert all(abs(ours / theirs - 1) < 0.01 for _, _, theirs, ours in memory_docs.ESTIMATOR)


def test_the_page_is_what_the_formulas_make_it() -> None:
    assert memory_docs.PAGE.read_text(encoding="utf-8") == memory_docs.page(), "run python tools/memory_docs.py"


# -- runs

SETTINGS = "[hardware]\ngpu-memory = 80\n"
VERL = """python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=8 \\
    actor_rollout_ref.rollout.name=vllm actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct \\
    actor_rollout_ref.rollout.tensor_model_parallel_size=2 {more}
"""


@pytest.fixture
def show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    """Shows a script's memory: {phase: {term: (low, high) in GiB}} of its first run, and the whole as data."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "settings.toml").write_text(SETTINGS, encoding="utf-8")

    def shown(script: str, **files: str):  # type: ignore[no-untyped-def]
        (tmp_path / "run.sh").write_text(script, encoding="utf-8")
        for name, text in files.items():
            (tmp_path / f"{name}.json").write_text(text, encoding="utf-8")
        assert main(["show", "run.sh", "--memory", "--format", "json", "--settings", "settings.toml"]) == 0
        data = json.loads(capsys.readouterr().out)["runs"][0]["memory"]
        phases = {
            phase["name"]: {t["name"]: (round(t["low"] / GIB, 1), round(t["high"] / GIB, 1)) for t in phase["terms"]}
            for phase in data["phases"]
        }
        return phases, data

    return shown


def test_verl_keeps_everything_for_the_update_and_what_is_not_offloaded_for_the_rollout(show) -> None:  # type: ignore[no-untyped-def]
    more = (
        "trainer.n_gpus_per_node=8 actor_rollout_ref.actor.fsdp_config.optimizer_offload=True "
        "actor_rollout_ref.rollout.gpu_memory_utilization=0.6"
    )
    phases, data = show(VERL.format(more=more))
    assert phases["update"] == {
        "weights": (3.5, 3.5),
        "gradients": (3.5, 3.5),
        "optimizer": (7.1, 7.1),
        "gathered": (2.0, 2.0),
    }
    assert phases["rollout"] == {"weights": (3.5, 3.5), "engine": (48.0, 48.0)}
    assert any("KV cache holds" in note for note in data["notes"])


def test_a_reference_and_an_adapter_count(show) -> None:  # type: ignore[no-untyped-def]
    phases, _ = show(VERL.format(more="trainer.n_gpus_per_node=8 actor_rollout_ref.actor.use_kl_loss=True"))
    assert phases["update"]["reference"] == (3.5, 3.5)
    more = "trainer.n_gpus_per_node=8 actor_rollout_ref.actor.use_kl_loss=True actor_rollout_ref.model.lora_rank=32"
    phases, _ = show(VERL.format(more=more))
    assert "reference" not in phases["update"]
    assert phases["update"]["optimizer"][1] <= 0.1


def test_an_unknown_number_of_gpus_makes_a_range(show) -> None:  # type: ignore[no-untyped-def]
    phases, _ = show(VERL.format(more="trainer.n_gpus_per_node=$GPUS"))
    low, high = phases["update"]["optimizer"]
    assert low <= 0.1
    assert high == 56.7


def test_deepspeed_shards_and_offloads(show) -> None:  # type: ignore[no-untyped-def]
    script = "deepspeed --num_gpus 8 train.py --model_name_or_path Qwen/Qwen2.5-7B --deepspeed ds.json\n"
    config = '{"zero_optimization": {"stage": 2}, "bf16": {"enabled": true}}'
    phases, _ = show(script, ds=config)
    assert phases["update"] == {"weights": (14.2, 14.2), "gradients": (0.0, 1.8), "optimizer": (0.0, 10.6)}
    config = '{"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}}, "bf16": {"enabled": true}}'
    phases, _ = show(script, ds=config)
    assert phases["update"] == {"weights": (1.8, 1.8), "gathered": (1.0, 1.0)}


def test_a_servers_share_holds_weights_and_cache(show) -> None:  # type: ignore[no-untyped-def]
    phases, data = show("vllm serve Qwen/Qwen3-32B --tensor-parallel-size 2\n")
    assert phases["serving"] == {"weights": (30.5, 30.5), "kv cache": (0.0, 41.5)}
    assert data["gpu_memory"] == 80 * GIB


def test_an_unknown_model_gets_no_estimate(show) -> None:  # type: ignore[no-untyped-def]
    _, data = show("vllm serve mine/some-model\n")
    assert data["phases"] == []
    assert data["missing"] == "the model isn't known: the table has no shape for mine/some-model"


def test_the_table_fits_80_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.sh").write_text(VERL.format(more="trainer.n_gpus_per_node=$GPUS"), encoding="utf-8")
    assert main(["show", "run.sh", "--memory", "--no-settings"]) == 0
    out = capsys.readouterr().out
    assert "update in all" in out
    assert max(map(len, out.splitlines())) <= 100


def test_no_estimate_fails_on_a_run_without_anything() -> None:
    from grpo_lint.runconfig import Options, RunConfig
    from grpo_lint.source import SourceFile

    found = estimate(RunConfig("verl", Options(), SourceFile("x", "x").span(0, 1)))
    assert isinstance(found, Estimate)
    assert found.missing
