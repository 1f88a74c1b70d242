"""Each framework's command lines, in the forms that people use, and the unified config that they come to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from framework_runs import fields, line_of, reading, run_of, runs, value_of

SLIME = "python3 train.py --hf-checkpoint /m/Qwen3-4B --rollout-batch-size 32 --num-rollout 10 "
RAY = "ray job submit -- python3 train_async.py --actor-num-nodes 2 --actor-num-gpus-per-node 8 --rollout-num-gpus 8 "
MEGATRON = (
    "torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py --num-layers 4 --hidden-size 64"
    " --num-attention-heads 8 --seq-length 128 "
)
OPENRLHF = "python -m openrlhf.cli.train_ppo_ray "
SWIFT = "NPROC_PER_NODE=4 swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-7B-Instruct "
TRL = "trl grpo --model_name_or_path Qwen/Qwen2.5-7B "
HF = (
    "torchrun --nproc_per_node=4 sft.py --per_device_train_batch_size 2 --save_strategy no --report_to none"
    " --lr_scheduler_type cosine "
)

NEMO = "uv run examples/run_grpo.py "
RLLM = "python -m examples.train rllm.algorithm.adv_estimator=rloo rllm.trainer.total_epochs=1 "
EASYR1 = "python3 -m verl.trainer.main trainer.n_gpus_per_node=8 trainer.nnodes=1 "
CHAT = (
    "python main.py --per_device_train_batch_size 4 --gradient_accumulation_steps 1 --num_train_epochs 1"
    " --lr_scheduler_type cosine --zero_stage 3"
)

CASES: list[tuple[str, str, dict[str, Any]]] = [
    # slime and miles
    ("slime", SLIME, {"group_size": 1, "algorithm": "grpo", "use_critic": False, "rollout_engine": "sglang"}),
    ("slime", SLIME + "--n-samples-per-prompt 8 --n-samples-per-prompt 4", {"group_size": 4}),
    ("slime", SLIME + "--n-samples-per-prompt=16 --advantage-estimator ppo", {"group_size": 16, "use_critic": True}),
    (
        "slime",
        SLIME + "--clip-grad 0.5 --optimizer-cpu-offload",
        {"gradient_clipping": 0.5, "offload_optimizer": "cpu"},
    ),
    ("slime", SLIME + "--sglang-disable-cuda-graph --colocate", {"enforce_eager": True, "async_rollout": False}),
    ("slime", SLIME + "--sglang-enable-dp-attention --sglang-dp-size 4", {"rollout_engine": "sglang"}),
    (
        "slime",
        RAY + "--tensor-model-parallel-size 4 --context-parallel-size 2 --num-experts 128 --moe-router-dtype fp32",
        {"n_gpus": 8, "nnodes": 2, "dp_size": 2, "tp": 4, "moe": True, "gating_dtype": "fp32", "async_rollout": True},
    ),
    ("slime", SLIME + "--ref-load /r --use-kl-loss --kl-loss-coef 0.01", {"ref_in_actor": True}),
    # Megatron-LM
    ("megatron", MEGATRON, {"optimizer": "adam", "gradient_clipping": 1.0, "dp_size": 16, "algorithm": "pretrain"}),
    ("megatron", MEGATRON + "--bf16 --overlap-grad-reduce", {"model_dtype": "bf16", "overlap_comm": True}),
    ("megatron", MEGATRON + "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 4", {"dp_size": 2, "pp": 4}),
    ("megatron", MEGATRON + "--optimizer muon --clip-grad 0.0", {"optimizer": "muon", "gradient_clipping": 0.0}),
    ("megatron", MEGATRON + "--use-megatron-fsdp --num-experts 8", {"fsdp_mode": "megatron_fsdp", "moe": True}),
    (
        "megatron",
        MEGATRON.replace("pretrain_gpt", "train_rl") + "--perform-rl-step --grpo-group-size 16",
        {"algorithm": "grpo", "group_size": 16, "use_critic": False},
    ),
    # OpenRLHF: dotted, flat, abbreviated
    ("openrlhf", OPENRLHF, {"algorithm": "gae", "group_size": 1, "use_critic": True, "zero_stage": 2, "lora_rank": 0}),
    (
        "openrlhf",
        OPENRLHF + "--ds.zero_stage 3 --ds.lora.rank 16",
        {"zero_stage": 3, "lora_rank": 16, "overlap_comm": True},
    ),
    ("openrlhf", OPENRLHF + "--zero_stage 1 --max_norm 0.5", {"zero_stage": 1, "gradient_clipping": 0.5}),
    (
        "openrlhf",
        OPENRLHF + "--algo.advantage.estimator group_norm --rollout.n_samples_per_prompt 8",
        {"algorithm": "group_norm", "group_size": 8, "use_critic": False},
    ),
    (
        "openrlhf",
        OPENRLHF + "--actor.num_gpus_per_node 4 --ds.ring_attn_size 2 --vllm.num_engines 2 --ds.adam_offload",
        {"n_gpus": 4, "dp_size": 2, "rollout_engine": "vllm", "optimizer": "cpu_adam", "offload_optimizer": "cpu"},
    ),
    (
        "openrlhf",
        OPENRLHF + "--train.colocate_all --vllm.enable_sleep --vllm.enforce_eager",
        {"sleep_level": 1, "enforce_eager": True, "async_rollout": False},
    ),
    # ms-swift
    (
        "ms_swift",
        SWIFT,
        {"algorithm": "grpo", "group_size": 8, "lora_rank": 8, "n_gpus": 4, "dp_size": 4, "moe": False},
    ),
    ("ms_swift", SWIFT + "--tuner_type full --num_generations 14", {"lora_rank": 0, "group_size": 14}),
    ("ms_swift", SWIFT + "--train_type lora --lora_rank 32 --beta 0.04", {"lora_rank": 32, "ref_in_actor": True}),
    (
        "ms_swift",
        SWIFT + "--deepspeed zero2_offload",
        {"zero_stage": 2, "offload_optimizer": "cpu", "offload_param": "unset"},
    ),
    (
        "ms_swift",
        SWIFT + "--use_vllm true --vllm_mode colocate --sleep_level 1",
        {"rollout_engine": "vllm", "async_rollout": False, "sleep_level": 1},
    ),
    (
        "ms_swift",
        "NPROC_PER_NODE=8 megatron rlhf --rlhf_type grpo --tensor_model_parallel_size 2 --moe_router_dtype fp32",
        {"tp": 2, "dp_size": 4, "gating_dtype": "fp32", "fsdp_mode": "megatron"},
    ),
    ("ms_swift", "swift rollout --model m --vllm_tensor_parallel_size 2", {"rollout_engine": "vllm", "tp": 2}),
    ("ms_swift", "torchrun --nproc_per_node 2 swift/cli/sft.py --tuner_type lora", {"n_gpus": 2, "lora_rank": 8}),
    # TRL
    ("trl", TRL, {"algorithm": "grpo", "use_critic": False, "group_size": 8, "moe": False, "lora_rank": "unset"}),
    ("trl", TRL + "--num-generations 4 --bf16", {"group_size": 4, "bf16": True, "model_dtype": "bf16"}),
    ("trl", TRL + "--use_peft --lora_r 32 --beta 0.04", {"lora_rank": 32, "ref_in_actor": True}),
    ("trl", TRL + "--lora_r 32", {"lora_rank": 0}),
    ("trl", TRL + "--use_vllm --vllm_mode server", {"rollout_engine": "vllm", "checkpoint_mode": "nccl"}),
    ("trl", TRL + "--use_vllm True --vllm_enable_sleep_mode true", {"sleep_level": 2}),
    ("trl", TRL + "--accelerate_config zero3 --num_processes 4", {"zero_stage": 3, "n_gpus": 4, "dp_size": 4}),
    ("trl", TRL + "--max_grad 0.2", {"gradient_clipping": 0.2}),
    ("trl", "trl vllm-serve --model m --tensor_parallel_size 2", {"rollout_engine": "vllm", "tp": 2}),
    ("trl", "trl rloo --num_generations 2", {"algorithm": "rloo", "group_size": 2}),
    (
        "trl",
        "accelerate launch --num_processes 2 my_grpo.py --num_generations 6 --output_dir o --learning_rate 1e-6",
        {"group_size": 6, "algorithm": "grpo", "n_gpus": 2, "dp_size": 2},
    ),
    # TrainingArguments behind other programs
    ("transformers", HF, {"n_gpus": 4, "dp_size": 4, "bf16": "unset"}),
    ("transformers", HF + "--bf16 True --fp16 True", {"bf16": True, "fp16": True}),
    (
        "transformers",
        HF + "--max_grad_norm 0 --optim adamw_torch",
        {"gradient_clipping": 0.0, "optimizer": "adamw_torch"},
    ),
    ("transformers", HF + "--no_such_option 3 --torch_compile", {"torch_compile": True}),
    ("transformers", HF.replace("_", "-").replace("nproc-per-node", "nproc_per_node"), {"dp_size": 4}),
    # vLLM
    ("vllm", "vllm serve Qwen/Qwen3-30B-A3B -tp 4", {"rollout_engine": "vllm", "tp": 4, "moe": True}),
    ("vllm", "vllm serve m --tensor_parallel_size=2 --enforce_eager", {"tp": 2, "enforce_eager": True}),
    ("vllm", "vllm serve m --no-enforce-eager --dtype half", {"enforce_eager": False, "model_dtype": "fp16"}),
    ("vllm", "vllm serve m -O0", {"enforce_eager": True}),
    ("vllm", "python -m vllm.entrypoints.openai.api_server --model m --pipeline-parallel-size 2", {"pp": 2}),
    ("vllm", "uv run vllm serve m --enable-lora --max-lora-rank 64", {"lora_rank": 64}),
    # SGLang
    ("sglang", "python3 -m sglang.launch_server --model-path m --tp 2", {"rollout_engine": "sglang", "tp": 2}),
    ("sglang", "python3 -m sglang.launch_server --model m --tensor-parallel-size 8", {"tp": 8, "model_path": "m"}),
    ("sglang", "sglang serve meta-llama/Llama-3.1-8B --disable-cuda-graph", {"enforce_eager": True, "moe": False}),
    ("sglang", "sglang serve --model-path m --dtype bfloat16 --nnodes 2", {"model_dtype": "bf16", "nnodes": 2}),
    (
        "sglang",
        "sglang serve m --cuda-graph-backend-decode=disabled --cuda-graph-backend-prefill=disabled",
        {"enforce_eager": True},
    ),
    # EasyR1, NeMo-RL, rLLM
    (
        "easyr1",
        EASYR1 + "worker.rollout.n=5 algorithm.adv_estimator=grpo worker.actor.ulysses_size=2",
        {"group_size": 5, "algorithm": "grpo", "dp_size": 4, "rollout_engine": "vllm", "use_critic": False},
    ),
    (
        "nemo_rl",
        NEMO + "cluster.gpus_per_node=8 grpo.num_generations_per_prompt=4 policy.precision=bfloat16",
        {"n_gpus": 8, "group_size": 4, "model_dtype": "bf16", "algorithm": "grpo"},
    ),
    (
        "rllm",
        RLLM + "rllm.rollout.n=4 actor_rollout_ref.rollout.n=8 actor_rollout_ref.rollout.name=vllm",
        {"group_size": 4, "algorithm": "rloo", "use_critic": False, "rollout_engine": "vllm"},
    ),
]

CASES += [
    # modules and scripts behind the commands
    ("megatron", MEGATRON.replace("pretrain_gpt.py", "-m mine.pretrain_gpt"), {"n_gpus": 8, "dp_size": 16}),
    ("slime", SLIME.replace("train.py", "-m miles.train") + "--lora-rank 8", {"lora_rank": 8, "group_size": 1}),
    ("trl", "python -m trl.scripts.vllm_serve --model m --tensor_parallel_size 2", {"rollout_engine": "vllm", "tp": 2}),
    ("vllm", "python -m vllm.entrypoints.openai.run_batch --model m -tp 2 -i a -o b", {"tp": 2}),
    (
        "llama_factory",
        "torchrun --nproc_per_node 4 src/train.py --stage sft --dataset d --template q --finetuning_type full",
        {"lora_rank": 0, "dp_size": 4},
    ),
    ("nemo_rl", "uv run examples/run_grpo_math.py grpo.num_generations_per_prompt=4", {"group_size": 4}),
]


@pytest.mark.parametrize(("framework", "command", "expected"), CASES, ids=[case[1][-60:] for case in CASES])
def test_command_line(framework: str, command: str, expected: dict[str, Any], tmp_path: Path) -> None:
    run = run_of(tmp_path, "run.sh", command + "\n")
    assert run.framework == framework
    assert fields(run, expected) == expected


@pytest.mark.parametrize(
    "command",
    [
        "python train.py --batch-size 32 --lr 0.1",
        "python pretrain.py --num-layers 3 --hidden-size 8",
        "python train.py --colocate",
        "vllm bench serve --model m",
        "vllm --help",
        "trl env",
        "swift build -c release",
        "swift package init",
        "megatron",
        "sglang generate --model-path m",
        "python -m vllm.benchmarks.serve --model m",
        "python convert.py --tensor-model-parallel-size 2 --num-layers 3 --hidden-size 8 --seq-length 9",
        "python -m mylib.launch_server --model-path m",
        CHAT,
    ],
)
def test_what_is_not_ours_yields_no_run(command: str, tmp_path: Path) -> None:
    assert runs(tmp_path, "run.sh", command + "\n") == []


def test_an_unknown_word_leaves_the_run_incomplete(tmp_path: Path) -> None:
    run = run_of(tmp_path, "run.sh", f"{SLIME} --n-samples-per-prompt 8 $EXTRA\n")
    assert not run.complete
    assert run.group_size.value == 8


def test_an_unknown_value_is_unknown_with_its_reason(tmp_path: Path) -> None:
    size = run_of(tmp_path, "run.sh", f"{SLIME} --n-samples-per-prompt $1\n").group_size
    assert size.state == "unknown"
    assert "$1" in size.reason


def test_a_value_stands_where_the_array_has_it(tmp_path: Path) -> None:
    script = """
        ARGS=(
           # --n-samples-per-prompt 2
           --n-samples-per-prompt 8
           --advantage-estimator gspo
        )
        python3 train.py --hf-checkpoint /m --colocate ${ARGS[@]}
    """
    run = run_of(tmp_path, "run.sh", script)
    assert (value_of(run.group_size), line_of(run.group_size)) == (8, 3)
    assert (value_of(run.algorithm), line_of(run.algorithm)) == ("gspo", 4)


def test_a_sourced_file_holds_the_model(tmp_path: Path) -> None:
    files = {
        "scripts/models/moe.sh": "MODEL_ARGS=(\n  --num-experts 64\n  --moe-router-dtype fp64\n)\n",
        "scripts/run.sh": 'cd "$(dirname "$0")"\nsource models/moe.sh\n' + SLIME + '"${MODEL_ARGS[@]}"\n',
    }
    run = run_of(tmp_path, "scripts/run.sh", files)
    assert run.moe.value is True
    assert run.moe.span is not None
    assert run.moe.span.file.path.endswith("models/moe.sh")
    assert line_of(run.gating_dtype) == 3


def test_miles_is_told_by_its_repository(tmp_path: Path) -> None:
    files = {"miles/utils/arguments.py": "", "run.sh": SLIME + "--lora-rank 16\n"}
    run = run_of(tmp_path, "run.sh", files)
    assert (run.framework, run.engine, run.lora_rank.value) == ("slime", "miles", 16)


def test_defaults_go_by_the_release(tmp_path: Path) -> None:
    old = run_of(tmp_path, "run.sh", "trl grpo\n", trl="0.14.0")
    new = run_of(tmp_path, "run.sh", "trl grpo\n", trl="1.16.0")
    unknown = run_of(tmp_path, "run.sh", "trl grpo\n")
    assert [run.option("trl", "--beta").value for run in (old, new, unknown)] == [0.04, 0.0, None]
    assert unknown.option("trl", "--beta").state == "unknown"


def test_the_launcher_rules_over_accelerates_file(tmp_path: Path) -> None:
    files = {
        "zero3.yaml": """
            compute_environment: LOCAL_MACHINE
            distributed_type: DEEPSPEED
            deepspeed_config:
              zero_stage: 3
            mixed_precision: bf16
            num_machines: 1
            num_processes: 8
        """,
        "run.sh": "accelerate launch --config_file zero3.yaml --num_processes 6 grpo.py --num_generations 6"
        " --output_dir o --bf16 true\n",
    }
    run = run_of(tmp_path, "run.sh", files)
    expected = {"n_gpus": 6, "dp_size": 6, "nnodes": 1, "zero_stage": 3, "model_dtype": "bf16"}
    assert fields(run, expected) == expected


def test_auto_is_filled_by_the_trainers_argument(tmp_path: Path) -> None:
    files = {
        "ds.json": '{"zero_optimization": {"stage": 2}, "gradient_clipping": "auto", "bf16": {"enabled": "auto"}}',
        "run.sh": "torchrun --nproc_per_node 2 grpo.py --num_generations 4 --output_dir o --learning_rate 1e-6"
        " --deepspeed ds.json --max_grad_norm 0.3 --bf16 true\n",
    }
    run = run_of(tmp_path, "run.sh", files)
    expected = {"zero_stage": 2, "gradient_clipping": 0.3, "bf16": True, "model_dtype": "bf16", "dp_size": 2}
    assert fields(run, expected) == expected


def test_a_launchers_flags_alone_configure_no_deepspeed(tmp_path: Path) -> None:
    run = run_of(tmp_path, "run.sh", "deepspeed --module openrlhf.cli.train_sft --ds.zero_stage 3\n")
    assert (run.framework, run.zero_stage.value, run.offload_param.state) == ("openrlhf", 3, "unset")


DEEPSPEED = {
    "ds.json": '{"zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": 1}',
    "hosts": "# two\nw0 slots=4\nw1 slots=4\n",
}


@pytest.mark.parametrize(
    ("launcher", "expected"),
    [
        ("deepspeed --num_gpus 4 --num_nodes=2", {"n_gpus": 4, "nnodes": 2}),
        ("deepspeed --include localhost:0,1,2,3", {"n_gpus": 4, "nnodes": 1}),
        ("deepspeed -i w0:0,2@w1:0,1", {"n_gpus": 2, "nnodes": 2}),
        ("deepspeed --hostfile hosts --include w0@w1", {"n_gpus": 4, "nnodes": 2}),
        ("deepspeed --hostfile hosts --include w0@w1:0", {"n_gpus": "unset", "nnodes": 2}),
        ("deepspeed --hostfile hosts", {"n_gpus": 4, "nnodes": 2}),
        ("deepspeed --hostfile hosts --num_gpus 2", {"n_gpus": 2, "nnodes": 2}),
        ("deepspeed --hostfile hosts --exclude w0:1", {"n_gpus": "unset", "nnodes": "unset"}),
        ("CUDA_VISIBLE_DEVICES=0,1 deepspeed", {"n_gpus": 2}),
        ("CUDA_VISIBLE_DEVICES=0,1 deepspeed --num_gpus 1", {"n_gpus": 1}),
        ("deepspeed", {"n_gpus": "unset", "nnodes": "unset"}),
        ("torchrun --nproc_per_node gpu", {"n_gpus": "unknown"}),
        ("CUDA_VISIBLE_DEVICES=4,5,6 torchrun --nproc-per-node=auto --nnodes 1:4", {"n_gpus": 3, "nnodes": "unknown"}),
    ],
)
def test_how_many_processes_a_launcher_starts(launcher: str, expected: dict[str, Any], tmp_path: Path) -> None:
    run = run_of(tmp_path, "run.sh", {"run.sh": f"{launcher} train.py --deepspeed ds.json\n", **DEEPSPEED})
    assert fields(run, expected) == expected


@pytest.mark.parametrize(
    ("directives", "command", "expected"),
    [
        ("-N 4\n--gpus-per-node=8", "srun torchrun", {"n_gpus": 8, "nnodes": 4}),
        ("--nodes=2\n--gres=gpu:a100:4", "srun torchrun", {"n_gpus": 4, "nnodes": 2}),
        ("--nodes 2\n--gpus=16", "srun", {"n_gpus": 8, "nnodes": 2}),
        ("--nodes=2\n--ntasks-per-node=8", "srun", {"n_gpus": 8, "nnodes": 2}),
        ("--nodes=2", "srun -N 1 --ntasks-per-node 4", {"n_gpus": 4, "nnodes": 1}),
        ("--nodes=4", "torchrun --nproc_per_node 8 --nnodes $SLURM_NNODES", {"n_gpus": 8, "nnodes": 4, "dp_size": 32}),
        ("--nodes=4", "torchrun --nproc_per_node 8 --nnodes ${SLURM_JOB_NUM_NODES:-1}", {"nnodes": 4}),
        ("--gres=shard:8", "srun", {"n_gpus": "unset"}),
        ("--time=1:00", "srun", {"n_gpus": "unset", "nnodes": "unset"}),
    ],
)
def test_what_slurm_is_asked_for(directives: str, command: str, expected: dict[str, Any], tmp_path: Path) -> None:
    head = "".join(f"#SBATCH {line}\n" for line in directives.split("\n"))
    program = "" if command.startswith(("torchrun", "srun torchrun")) else "python "
    rest = MEGATRON.partition(" pretrain_gpt.py")[2]
    run = run_of(tmp_path, "job.sbatch", f"#!/bin/bash\n{head}{command} {program}pretrain_gpt.py{rest}\n")
    assert fields(run, expected) == expected


def test_a_config_for_deepspeed_may_stand_on_the_line(tmp_path: Path) -> None:
    line = """torchrun train.py --deepspeed '{"zero_optimization": {"stage": 2}, "train_batch_size": 8}'"""
    run = run_of(tmp_path, "run.sh", line + "\n")
    assert (run.framework, value_of(run.zero_stage), line_of(run.zero_stage)) == ("deepspeed", 2, 1)
    files = {"run.sh": "deepspeed train.py --deepspeed --deepspeed_config ds.json\n", **DEEPSPEED}
    assert value_of(run_of(tmp_path, "run.sh", files).zero_stage) == 3


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("", {"lora_rank": 16, "bf16": True}),
        ("--lora-r 32 --no-bf16", {"lora_rank": 32, "bf16": False}),
        ("--rl=grpo --trl.num-generations 4 -- --num_processes 2", {"group_size": 4, "algorithm": "grpo"}),
    ],
)
def test_axolotls_flags_rule_over_its_file(flags: str, expected: dict[str, Any], tmp_path: Path) -> None:
    config = "base_model: m\nadapter: lora\nlora_r: 16\nmicro_batch_size: 1\nsequence_len: 20\nbf16: true\n"
    run = run_of(tmp_path, "run.sh", {"run.sh": f"axolotl train x.yaml {flags}\n", "x.yaml": config})
    assert run.complete
    assert fields(run, expected) == expected


def test_a_file_takes_the_place_of_megatrons_line(tmp_path: Path) -> None:
    whole = """
        language_model: {num_layers: 24, hidden_size: 1024}
        model_parallel: {tensor_model_parallel_size: 2, pipeline_model_parallel_size: 2}
        clip_grad: 0.5
        bf16: true
    """
    line = "torchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py --clip-grad 2.0 --yaml-cfg a.yaml\n"
    run = run_of(tmp_path, "run.sh", {"run.sh": line, "a.yaml": whole})
    expected = {"tp": 2, "pp": 2, "dp_size": 2, "gradient_clipping": 0.5, "model_dtype": "bf16"}
    assert (run.framework, run.complete, fields(run, expected)) == ("megatron", True, expected)
    assert not run_of(tmp_path, "run.sh", line.replace("a.yaml", "none.yaml")).complete


def test_the_line_rules_over_a_recipes_overrides(tmp_path: Path) -> None:
    recipe = """
        train: {train_iters: 10, global_batch_size: 8}
        model: {tensor_model_parallel_size: 2, seq_length: 4096}
        optimizer: {clip_grad: 0.5}
        ddp: {overlap_grad_reduce: true}
        peft: {dim: 8}
    """
    line = "torchrun --nproc_per_node 8 pretrain_llama.py --config-file c.yaml optimizer.clip_grad=0.1\n"
    run = run_of(tmp_path, "run.sh", {"run.sh": line, "c.yaml": recipe})
    expected = {"tp": 2, "gradient_clipping": 0.1, "overlap_comm": True, "lora_rank": 8}
    assert (run.framework, fields(run, expected)) == ("megatron", expected)
    alone = run_of(tmp_path, "c.yaml", recipe)
    assert (alone.framework, value_of(alone.gradient_clipping), line_of(alone.gradient_clipping)) == (
        "megatron",
        0.5,
        3,
    )


@pytest.mark.parametrize(
    ("config", "moe"),
    [
        ('{"model_type": "x", "num_experts": 8}', True),
        ('{"architectures": ["X"], "text_config": {"num_local_experts": 4}}', True),
        ('{"model_type": "x", "num_experts": 1}', False),
        ('{"model_type": "x"}', False),
        ('{"other": 1}', "unset"),
    ],
)
def test_a_models_config_tells_its_experts(config: str, moe: Any, tmp_path: Path) -> None:
    line = "vllm serve models/mine -tp 2\n"
    run = run_of(tmp_path, "run.sh", {"run.sh": line, "models/mine/config.json": config})
    assert value_of(run.moe) == moe


def test_a_file_that_sources_itself_is_told_and_not_followed(tmp_path: Path) -> None:
    files = {
        "run.sh": "source a.sh\nvllm serve m -tp $TP\n",
        "a.sh": "TP=2\nsource b.sh\n",
        "b.sh": "source a.sh\n",
    }
    found = reading(tmp_path, "run.sh", files)
    assert [problem.kind for problem in found.problems] == ["gave-up"]
    assert [run.tp.value for run in found.runs] == [2]


@pytest.mark.parametrize(
    ("flag", "expected"),
    [
        ("""--runtime-env-json='{"env_vars": {"A": "1", "B": "x"}}'""", ("1", "x")),
        ("""--runtime-env-json "{\\"env_vars\\": {\\"A\\": \\"$1\\", \\"B\\": \\"x\\"}}" """, ("unknown", "x")),
        ("--runtime-env r.yaml", ("2", "unset")),
        ("--runtime-env=none.yaml", ("0", "unset")),
    ],
)
def test_a_ray_jobs_environment(flag: str, expected: tuple[str, str], tmp_path: Path) -> None:
    line = f"export A=0\nray job submit {flag} -- {SLIME}\n"
    run = run_of(tmp_path, "run.sh", {"run.sh": line, "r.yaml": "env_vars:\n  A: 2\n"})
    assert tuple(value_of(run.environment(name)) for name in "AB") == expected


@pytest.mark.parametrize(
    ("gpus", "expected"), [("2", 2), ("'\"device=0,3\"'", 2), ("device=1", 1), ("all", "unknown"), ("=4", 4)]
)
def test_how_many_gpus_docker_gives(gpus: str, expected: Any, tmp_path: Path) -> None:
    between = "" if gpus.startswith("=") else " "
    run = run_of(tmp_path, "run.sh", f"docker run --gpus{between}{gpus} vllm/vllm-openai --model m -tp 2\n")
    assert value_of(run.n_gpus) == expected
