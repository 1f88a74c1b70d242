"""Relations of servers and trainers: shapes of models by name, what isn't known, and releases."""

from __future__ import annotations

from pathlib import Path

import pytest

from grpo_lint.engine import Linter
from grpo_lint.rules.invariants import shapes
from grpo_lint.rules.invariants.shapes import shape_of
from grpo_lint.settings import Settings

SGLANG = "python3 -m sglang.launch_server --model-path Qwen/Qwen3-30B-A3B"
MEGATRON = "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32"


def found(folder: Path, line: str) -> list[tuple[str, str]]:
    (folder / "run.sh").write_text(f"#!/usr/bin/env bash\n{line}\n", encoding="utf-8")
    report = Linter(Settings()).check([str(folder)])
    return [(one.rule, one.severity) for one in report.diagnostics if one.rule.startswith("INV")]


@pytest.mark.parametrize(
    ("path", "heads", "kv_heads", "positions"),
    [
        ("Qwen/Qwen2.5-7B-Instruct", 28, 4, 131072),
        ("/models/Qwen2.5-Math-7B/", 28, 4, 4096),
        ("Qwen/Qwen2.5-7B-Instruct-AWQ", None, None, None),
        ("Qwen/Qwen3-30B-A3B-FP8", 32, 4, 0),
        ("unsloth/Llama-3.1-8B", 32, 8, 0),
        ("outputs/actor", None, None, None),
    ],
)
def test_a_name_tells_a_shape(path: str, heads: int | None, kv_heads: int | None, positions: int | None) -> None:
    shape = shape_of(path)
    if heads is None:
        assert shape is None
    else:
        assert shape is not None
        assert (shape.heads, shape.kv_heads, shape.positions) == (heads, kv_heads, positions)


def test_sizes_heed_key_value_heads() -> None:
    shape = shape_of("Qwen/Qwen2.5-7B-Instruct")
    assert shape is not None
    assert shape.sizes() == [1, 2, 4, 28]


def test_the_table_has_possible_shapes() -> None:
    for line in Path(shapes.TABLE).read_text(encoding="utf-8").splitlines():
        name, *counts = line.split("\t")
        heads, kv_heads, layers, positions = map(int, counts)
        assert heads % (kv_heads or 1) == 0, name
        assert layers >= 0, name
        assert positions == 0 or positions >= 2048, name


@pytest.mark.parametrize(
    "line",
    [
        "vllm serve Qwen/Qwen2.5-7B-Instruct --tensor-parallel-size $1",
        "vllm serve $1 --tensor-parallel-size 7",
        "vllm serve Qwen/Qwen2.5-Math-7B --max-model-len $LENGTH",
        "vllm serve Qwen/Qwen3-30B-A3B --tensor-parallel-size $1 --nnodes 3",
        f"{SGLANG} --tp-size 8 --moe-dp-size $1 --ep-size 8",
        f"{SGLANG} --tp-size 8 --enable-two-batch-overlap --moe-a2a-backend $1",
        f"{MEGATRON} --micro-batch-size $1 --global-batch-size 100 --tensor-model-parallel-size 2",
        f"{MEGATRON} --micro-batch-size 1 --num-experts 8 --moe-router-topk 1 $EXTRA",
    ],
)
def test_nothing_is_said_of_what_is_not_known(line: str, tmp_path: Path) -> None:
    assert found(tmp_path, line) == []


def test_a_check_of_newer_releases_is_a_warning_where_the_release_is_not_known(tmp_path: Path) -> None:
    assert found(tmp_path, f"{SGLANG} --tp-size 8 --enable-two-batch-overlap") == [("INV437", "warning")]
    (tmp_path / "requirements.txt").write_text("sglang==0.5.16\n", encoding="utf-8")
    assert found(tmp_path, f"{SGLANG} --tp-size 8 --enable-two-batch-overlap") == [("INV437", "error")]
    (tmp_path / "requirements.txt").write_text("sglang==0.5.3\n", encoding="utf-8")
    assert found(tmp_path, f"{SGLANG} --tp-size 8 --enable-two-batch-overlap") == []


def test_an_allocator_of_the_caller_is_not_guessed(tmp_path: Path) -> None:
    connector = """--kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_both"}'"""
    (tmp_path / "requirements.txt").write_text("vllm==0.33.0\n", encoding="utf-8")
    assert found(tmp_path, f"vllm serve Qwen/Qwen3-8B {connector}") == []
    growing = "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n"
    assert found(tmp_path, f"{growing}vllm serve Qwen/Qwen3-8B {connector}") == [("INV418", "error")]
    assert found(tmp_path, f"{growing}vllm serve Qwen/Qwen3-8B {connector} --enable-sleep-mode") == []
