"""Relations of TRL, ms-swift and of the environment: what they count, and what keeps them silent."""

from __future__ import annotations

from pathlib import Path

import pytest

from grpo_lint.engine import Linter
from grpo_lint.settings import Settings

SCRIPT = "grpo.py --model_name_or_path Qwen/Qwen2.5-1.5B --output_dir out --learning_rate 1e-6 --num_generations 8"
SWIFT = "swift rlhf --rlhf_type grpo --model m --dataset d.jsonl --use_vllm true --vllm_mode colocate"
OPENRLHF = "python3 -m openrlhf.cli.train_ppo_ray --pretrain m --vllm_num_engines 8"
VERL = "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=8"


def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, rule: str) -> list[str]:
    """What a rule says of a script, as (severity: message)."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.sh").write_text(f"#!/bin/bash\n{text}\n")
    report = Linter(Settings()).check(["run.sh"])
    return [f"{d.severity}: {d.message}" for d in report.diagnostics if d.rule == rule]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (f"CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node 4 {SCRIPT}", 1),
        (f"CUDA_VISIBLE_DEVICES=0,1,2,3 torchrun --nproc_per_node 4 {SCRIPT}", 0),
        (f"CUDA_VISIBLE_DEVICES=$GPUS torchrun --nproc_per_node 4 {SCRIPT}", 0),
        (f"#SBATCH --gres=gpu:a100:2\ntorchrun --nproc_per_node 4 {SCRIPT}", 1),
        (f"#SBATCH --gpus-per-node=4\ntorchrun --nproc_per_node 4 {SCRIPT}", 0),
        (f"##SBATCH --gres=gpu:2\ntorchrun --nproc_per_node 4 {SCRIPT}", 0),
        (f"#SBATCH --gres=gpu:2\n#SBATCH --gpus-per-node=4\ntorchrun --nproc_per_node 4 {SCRIPT}", 0),
        (f"#SBATCH --gres=gpu:4\n{VERL}", 1),  # trainer.n_gpus_per_node is 8 by default
        (f"CUDA_VISIBLE_DEVICES=0,1,2,3 {VERL} trainer.n_gpus_per_node=4", 0),
        (f"CUDA_VISIBLE_DEVICES=0 {VERL} trainer.n_gpus_per_node=8 trainer.nnodes=2", 0),
        (f"CUDA_VISIBLE_DEVICES=0,1 NPROC_PER_NODE=4 {SWIFT}", 1),
        (f"ray start --head \\\n  --num-gpus 4\n{VERL}", 1),
        (f"ray start --head --num-gpus=8\n{VERL}", 0),
        (f"# ray start --head --num-gpus 4\n{VERL}", 0),
        (f"ray start --head --num-gpus 4\nray start --num-gpus 8\n{VERL}", 0),
        (f"ray start --head --num-gpus 4\ntorchrun --nproc_per_node 8 {SCRIPT}", 0),
        (f"#SBATCH --gres=gpu:4\n{OPENRLHF} --actor_num_gpus_per_node 8", 1),
        (f"#SBATCH --gres=gpu:4\n{OPENRLHF}", 0),
    ],
)
def test_gpus_of_a_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, count: int) -> None:
    assert len(found(tmp_path, monkeypatch, text, "INV703")) == count


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (f"CUDA_VISIBLE_DEVICES=0,1 {SWIFT}", 1),
        (f"CUDA_VISIBLE_DEVICES=0,1,2 NPROC_PER_NODE=2 {SWIFT}", 1),
        (f"CUDA_VISIBLE_DEVICES=0 {SWIFT}", 0),
        (f"SWIFT_SINGLE_DEVICE_MODE=1 CUDA_VISIBLE_DEVICES=0,1 {SWIFT}", 0),
        ("CUDA_VISIBLE_DEVICES=0,1 swift sft --model m --dataset d.jsonl --deepspeed zero2", 1),
        ("CUDA_VISIBLE_DEVICES=0,1 swift sft --model m --dataset d.jsonl", 0),
    ],
)
def test_swift_spreads_a_model_over_the_gpus_of_a_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, count: int
) -> None:
    assert len(found(tmp_path, monkeypatch, text, "INV713")) == count


ALLOC = "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (f"{ALLOC} {VERL} actor_rollout_ref.rollout.name=vllm", 1),
        (f"{ALLOC} {VERL} actor_rollout_ref.rollout.name=sglang", 0),
        (f"{ALLOC} {VERL} actor_rollout_ref.rollout.name=vllm actor_rollout_ref.rollout.free_cache_engine=False", 0),
        (f"{ALLOC} ray job submit -- {VERL} actor_rollout_ref.rollout.name=vllm", 0),
        (f"{ALLOC} vllm serve m", 0),
        (f"{ALLOC} accelerate launch {SCRIPT} --use_vllm True --vllm_enable_sleep_mode True", 1),
        (f"{ALLOC} accelerate launch {SCRIPT} --use_vllm True", 0),
        (f"{ALLOC} {OPENRLHF} --colocate_all_models --vllm_enable_sleep", 1),
        (f"{ALLOC} {OPENRLHF} --vllm_enable_sleep", 0),
        (f"{ALLOC} {SWIFT} --sleep_level 1", 0),  # ms-swift switches it off
    ],
)
def test_expandable_segments_and_sleep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, count: int) -> None:
    notes = found(tmp_path, monkeypatch, text, "INV702")
    assert len(notes) == count
    assert all(note.startswith("note: ") for note in notes)


def test_a_trainer_without_a_launcher_sees_one_gpu_or_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for text, count in (
        (f"CUDA_VISIBLE_DEVICES=0,1 python {SCRIPT}", 1),
        (f"CUDA_VISIBLE_DEVICES=0,1 accelerate launch {SCRIPT}", 0),
        (f"CUDA_VISIBLE_DEVICES=0 python {SCRIPT}", 0),
        (f'CUDA_VISIBLE_DEVICES=0,1 python {SCRIPT} --model_init_kwargs \'{{"device_map": "auto"}}\'', 0),
    ):
        assert len(found(tmp_path, monkeypatch, text, "INV516")) == count


def test_a_tuner_fills_in_the_stage_of_zero(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ds.json").write_text('{"train_micro_batch_size_per_gpu": "auto", "autotuning": {"enabled": true}}')
    line = (
        "deepspeed --num_gpus 8 train.py --deepspeed ds.json --logging_steps 10 --save_strategy no --report_to none"
        " --per_device_train_batch_size 8"
    )
    assert not found(tmp_path, monkeypatch, line, "INV544")
    (tmp_path / "ds.json").write_text('{"train_micro_batch_size_per_gpu": "auto", "gradient_clipping": 1.0}')
    assert found(tmp_path, monkeypatch, line, "INV544")


@pytest.mark.parametrize(
    ("release", "more", "count"),
    [
        ("0.15.2", "", 1),
        ("0.19.1", "", 0),  # the script may set the steps that count from 0.17 on
        ("0.19.1", "--gradient_accumulation_steps 8", 0),
        ("0.19.1", "--gradient_accumulation_steps 3", 1),
    ],
)
def test_accumulation_steps_count_from_trl_0_17_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: str, more: str, count: int
) -> None:
    (tmp_path / "requirements.txt").write_text(f"trl=={release}\n")
    line = f"accelerate launch --num_processes 7 {SCRIPT} --per_device_train_batch_size 1 {more}"
    assert len(found(tmp_path, monkeypatch, line, "INV501")) == count


def test_a_manifest_gives_what_its_container_asks_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for processes, count in ((8, 1), (4, 0)):
        (tmp_path / "job.yaml").write_text(
            "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: grpo\nspec:\n  template:\n    spec:\n"
            "      containers:\n      - name: trainer\n        image: trl\n"
            f"        command: [torchrun, --nproc_per_node, '{processes}', {', '.join(SCRIPT.split())}]\n"
            "        resources:\n          limits:\n            nvidia.com/gpu: 4\n"
        )
        report = Linter(Settings()).check(["job.yaml"])
        assert sum(d.rule == "INV703" for d in report.diagnostics) == count
