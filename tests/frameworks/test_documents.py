"""YAML and JSON files of each framework, files that command lines name, and commands that stand in YAML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from framework_runs import fields, line_of, reading, run_of, runs, value_of

RECIPE = """
    model_name_or_path: Qwen/Qwen2.5-1.5B-Instruct
    torch_dtype: bfloat16
    bf16: true
    use_vllm: true
    num_generations: 16
    learning_rate: 2.0e-05
    per_device_train_batch_size: 16
    gradient_accumulation_steps: 4
    output_dir: out
"""
NEMO = """
    grpo:
      num_generations_per_prompt: 16
    loss_fn:
      ratio_clip_min: 0.2
    policy:
      model_name: Qwen/Qwen2.5-1.5B
      precision: bfloat16
      max_grad_norm: 1.0
      dtensor_cfg:
        enabled: true
        tensor_parallel_size: 2
        context_parallel_size: 1
      megatron_cfg:
        enabled: false
      generation:
        backend: vllm
        colocated: {enabled: true}
        vllm_cfg: {tensor_parallel_size: 1, enforce_eager: false}
    cluster:
      gpus_per_node: 8
      num_nodes: 1
"""
AREAL = """
    cluster: {n_nodes: 1, n_gpus_per_node: 8}
    gconfig:
      n_samples: 4
    actor:
      backend: "megatron:d2p1t2"
      path: Qwen/Qwen2.5-7B
      dtype: bfloat16
      use_lora: false
      optimizer: {type: adam, gradient_clipping: 1.0}
    rollout:
      backend: "sglang:d4p1t1"
    sglang:
      disable_cuda_graph: true
"""
ROLL = """
    num_gpus_per_node: 8
    adv_estimator: grpo
    num_return_sequences_in_group: 8
    pretrain: Qwen/Qwen2.5-7B
    lora_rank: 32
    actor_train:
      model_args: {dtype: bf16, lora_rank: "${lora_rank}"}
      strategy_args:
        strategy_name: megatron_train
        strategy_config: {tensor_model_parallel_size: 2, pipeline_model_parallel_size: 1}
      device_mapping: list(range(0,16))
    actor_infer:
      strategy_args:
        strategy_name: vllm
        strategy_config: {enforce_eager: true, sleep_level: 2}
"""
MINDIE = """
{
  "ServerConfig": {"port": 1025},
  "BackendConfig": {
    "npuDeviceIds": [[0, 1, 2, 3]],
    "ModelDeployConfig": {
      "maxSeqLen": 2560,
      "ModelConfig": [{"modelName": "llama", "modelWeightPath": "/w/Llama-3.1-8B", "worldSize": 4, "tp": 4}]
    }
  }
}
"""

FACTORY = """
    model_name_or_path: Qwen/Qwen3-4B-Instruct-2507
    stage: sft
    finetuning_type: lora
    template: qwen3
    bf16: true
"""
AXOLOTL = """
    base_model: meta-llama/Llama-3.2-1B
    adapter: lora
    lora_r: 16
    micro_batch_size: 1
    sequence_len: 2048
    bf16: auto
"""
SWIFT = """
    rlhf_type: grpo
    model: Qwen/Qwen2.5-7B-Instruct
    tuner_type: full
    torch_dtype: bfloat16
    dataset: [a]
    learning_rate: 1e-5
"""

CASES: list[tuple[str, str, str, dict[str, Any]]] = [
    (
        "recipes/grpo/config.yaml",
        RECIPE,
        "trl",
        {"group_size": 16, "algorithm": "grpo", "rollout_engine": "vllm", "model_dtype": "bf16", "lora_rank": "unset"},
    ),
    ("recipes/rloo/config.yaml", RECIPE, "trl", {"algorithm": "rloo"}),
    (
        "r.yaml",
        RECIPE + "    use_peft: true\n    lora_r: 8\n    beta: 0.04\n",
        "trl",
        {"lora_rank": 8, "ref_in_actor": True},
    ),
    ("r.yaml", RECIPE + "    lora_r: 8\n", "trl", {"lora_rank": 0}),
    (  # argparse types the texts that the file gives it
        "r.yaml",
        RECIPE.replace("num_generations: 16", "num_generations: '16'") + "    max_grad_norm: 1e-1\n    fp16: 'no'\n",
        "trl",
        {"group_size": 16, "gradient_clipping": 0.1, "fp16": False},
    ),
    (
        "s.yaml",
        "    model-path: m\n    tp-size: '4'\n    mem-fraction-static: 0.8\n    disable-cuda-graph: true\n",
        "sglang",
        {"tp": 4, "enforce_eager": True, "model_path": "m"},
    ),
    (
        "t.yaml",
        "    tinker_base_url: null\n    model: {name: Qwen/Qwen3-8B, lora_rank: 32}\n    training: {group_size: 16}\n",
        "rllm",
        {"group_size": 16, "lora_rank": 32, "model_path": "Qwen/Qwen3-8B"},
    ),
    (
        "dapo.yaml",
        "    hydra: {searchpath: ['pkg://verl']}\n    defaults: [ppo_trainer]\n    algorithm: {adv_estimator: grpo}\n",
        "verl",
        {"algorithm": "grpo"},
    ),
    ("r.yaml", RECIPE + "    max_grad_norm: 0.2\n    optim: adamw_8bit\n", "trl", {"gradient_clipping": 0.2}),
    (
        "r.yaml",
        RECIPE + "    deepspeed:\n      zero_optimization: {stage: 3}\n      gradient_clipping: 1.0\n",
        "trl",
        {"zero_stage": 3, "gradient_clipping": 1.0},
    ),
    (
        "nemo.yaml",
        NEMO,
        "nemo_rl",
        {"group_size": 16, "dp_size": 4, "tp": 2, "fsdp_mode": "fsdp2", "rollout_engine": "vllm", "use_critic": False},
    ),
    ("areal.yaml", AREAL, "areal", {"dp_size": 2, "tp": 2, "pp": 1, "fsdp_mode": "megatron", "group_size": 4}),
    ("areal.yaml", AREAL, "areal", {"rollout_engine": "sglang", "enforce_eager": True, "lora_rank": 0}),
    (
        "areal.yaml",
        AREAL.replace('backend: "megatron:d2p1t2"', "ppo_n_minibatches: 1").replace('backend: "sglang:d4p1t1"', "x: 1")
        + "    allocation_mode: sglang:d4p1t1+d4p1t1\n",
        "areal",
        {"dp_size": 4, "fsdp_mode": "fsdp2", "rollout_engine": "sglang"},
    ),
    ("roll.yaml", ROLL, "roll", {"group_size": 8, "algorithm": "grpo", "dp_size": 8, "tp": 2, "fsdp_mode": "megatron"}),
    ("roll.yaml", ROLL, "roll", {"lora_rank": 0, "enforce_eager": True, "sleep_level": 2, "use_critic": False}),
    ("roll.yaml", ROLL.replace("model_args: {", "model_args: {lora_target: q_proj, "), "roll", {"lora_rank": 32}),
    ("config.json", MINDIE, "mindie", {"rollout_engine": "mindie", "n_gpus": 4, "tp": 4, "moe": False}),
    ("f.yaml", FACTORY, "llama_factory", {"lora_rank": 8, "model_dtype": "bf16", "moe": False}),
    ("f.yaml", FACTORY + "    lora_rank: 64\n    max_grad_norm: 0.5\n", "llama_factory", {"lora_rank": 64}),
    (
        "f.yaml",
        FACTORY.replace(": lora", ": full").replace(": sft", ": ppo"),
        "llama_factory",
        {"lora_rank": 0, "use_critic": True},
    ),
    ("a.yml", AXOLOTL, "axolotl", {"lora_rank": 16, "moe": False, "algorithm": "unset", "bf16": "unset"}),
    ("a.yml", AXOLOTL.replace("adapter: lora", "seed: 1"), "axolotl", {"lora_rank": 0}),
    (
        "a.yml",
        AXOLOTL + "    rl: grpo\n    trl: {num_generations: 8, use_vllm: true}\n",
        "axolotl",
        {"algorithm": "grpo", "group_size": 8, "rollout_engine": "vllm", "use_critic": False},
    ),
    (
        "acc.yaml",
        "distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 2\nnum_processes: 2\n",
        "accelerate",
        {"zero_stage": 2, "n_gpus": 2, "dp_size": 2},
    ),
    ("s.yaml", SWIFT, "ms_swift", {"algorithm": "grpo", "lora_rank": 0, "model_dtype": "bf16", "group_size": 8}),
    (
        "e.yaml",
        """
        algorithm: {adv_estimator: grpo}
        worker:
          actor: {model: {lora: {rank: 0}}, offload: {offload_params: true}}
          rollout: {n: 5, enforce_eager: false}
        """,
        "easyr1",
        {"group_size": 5, "lora_rank": 0, "offload_param": "cpu", "enforce_eager": False},
    ),
    (
        "vllm.yaml",
        "model: m\ntensor-parallel-size: 4\nmax_model_len: 8192\nenforce-eager: true\n",
        "vllm",
        {"tp": 4, "enforce_eager": True, "model_path": "m", "rollout_engine": "vllm"},
    ),
    (
        "model_config.yaml",
        """
        ENV_VARS: {NCCL_ALGO: Ring}
        TEST_TYPE: regular
        MODEL_ARGS:
          --tensor-model-parallel-size: 2
          --bf16: true
          --use-megatron-fsdp: false
          --clip-grad: 0.5
        """,
        "megatron",
        {"tp": 2, "bf16": True, "gradient_clipping": 0.5, "fsdp_mode": "unset"},
    ),
    (
        "agent.yaml",
        """
        trainer: {nnodes: 1}
        rllm:
          algorithm: {adv_estimator: grpo}
          rollout: {n: 8}
          trainer: {total_epochs: 1}
        """,
        "rllm",
        {"group_size": 8, "algorithm": "grpo"},
    ),
]


@pytest.mark.parametrize(("name", "text", "framework", "expected"), CASES)
def test_document(name: str, text: str, framework: str, expected: dict[str, Any], tmp_path: Path) -> None:
    run = run_of(tmp_path, name, text)
    assert run.framework == framework
    assert fields(run, expected) == expected


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yaml", "policy: {rules: []}\ncheckpointing: true\n"),
        ("a.yaml", "actor: {name: x}\ncluster: main\n"),
        ("a.yaml", "defaults: base.yaml\npolicy: strict\ngrpo: no\n"),
        ("a.yaml", "num_generations: 4\nlearning_rate: 1\n"),
        (
            "a.yaml",
            "finetuning_type: lora\nstage: build\noutput_dir: o\nbf16: true\nlogging_steps: 1\ndataset_name: d\n",
        ),
        ("a.yaml", "MODEL_ARGS: [a, b]\n"),
        ("a.yaml", "MODEL_ARGS:\n  lr: 1\n"),
        ("a.yaml", "max-model-len: 3\nmodel: m\n"),
        ("a.yaml", "rllm: {enabled: true}\n"),
        ("a.json", '{"ModelDeployConfig": {}}'),
        ("a.yaml", "jobs:\n  build:\n    steps:\n      - run: vllm --version\n      - run: echo grpo\n"),
        ("a.yaml", "services:\n  web:\n    image: nginx\n    command: nginx -g 'daemon off;' # vllm\n"),
    ],
)
def test_what_is_not_ours_yields_no_run(name: str, text: str, tmp_path: Path) -> None:
    assert runs(tmp_path, name, text) == []


def test_a_recipes_values_have_their_lines(tmp_path: Path) -> None:
    run = run_of(tmp_path, "config.yaml", RECIPE)
    found = {name: line_of(getattr(run, name)) for name in ("group_size", "rollout_engine", "model_dtype", "algorithm")}
    assert found == {"group_size": 5, "rollout_engine": 4, "model_dtype": 3, "algorithm": 5}
    assert not run.complete


def test_the_line_rules_over_the_yaml_that_it_names(tmp_path: Path) -> None:
    files = {
        "recipe.yaml": RECIPE,
        "run.sh": "accelerate launch src/grpo.py --config recipe.yaml --num_generations 4\n",
    }
    run = run_of(tmp_path, "run.sh", files)
    assert (run.framework, value_of(run.group_size), value_of(run.rollout_engine)) == ("trl", 4, "vllm")
    assert [origin.layer for origin in run.group_size.chain] == ["default", "file", "override"]


def test_a_files_deepspeed_json_is_read(tmp_path: Path) -> None:
    files = {
        "examples/ds.json": '{"zero_optimization": {"stage": 3}, "bf16": {"enabled": "auto"}}',
        "examples/train.yaml": FACTORY + "    deepspeed: examples/ds.json\n",
        "run.sh": "FORCE_TORCHRUN=1 llamafactory-cli train examples/train.yaml lora_rank=32\n",
    }
    run = run_of(tmp_path, "examples/train.yaml", files)
    assert (value_of(run.zero_stage), value_of(run.lora_rank)) == (3, 8)
    launched = run_of(tmp_path, "run.sh", files)
    assert (value_of(launched.zero_stage), value_of(launched.lora_rank), launched.complete) == (3, 32, True)


def test_a_deepspeed_json_leaves_to_the_trainer_what_it_doesnt_say(tmp_path: Path) -> None:
    files = {
        "ds.json": '{"zero_optimization": {"stage": 2}, "gradient_clipping": "auto", "bf16": {"enabled": "auto"}}',
        "l.yaml": FACTORY + "    deepspeed: ds.json\n    optim: adamw_8bit\n    max_grad_norm: 0.3\n",
        "x.yaml": AXOLOTL.replace("auto", "true")
        + "    deepspeed: ds.json\n    optimizer: muon\n    max_grad_norm: 0.3\n",
    }
    for name, optimizer in (("l.yaml", "adamw_8bit"), ("x.yaml", "muon")):
        run = run_of(tmp_path, name, files)
        expected = {"zero_stage": 2, "optimizer": optimizer, "gradient_clipping": 0.3, "bf16": True}
        assert fields(run, expected) == expected


@pytest.mark.parametrize(
    "command",
    ["axolotl train config.yaml", "accelerate launch -m axolotl.cli.train config.yaml"],
)
def test_axolotls_commands_name_their_yaml(command: str, tmp_path: Path) -> None:
    run = run_of(tmp_path, "run.sh", {"config.yaml": AXOLOTL, "run.sh": command + "\n"})
    assert (run.framework, value_of(run.lora_rank)) == ("axolotl", 16)


def test_swifts_first_argument_may_be_a_file(tmp_path: Path) -> None:
    files = {"args.yaml": SWIFT, "run.sh": "swift rlhf args.yaml --num_generations 4\n"}
    run = run_of(tmp_path, "run.sh", files)
    assert (value_of(run.group_size), value_of(run.lora_rank), value_of(run.algorithm)) == (4, 0, "grpo")


def test_a_missing_yaml_leaves_the_run_incomplete(tmp_path: Path) -> None:
    assert not run_of(tmp_path, "run.sh", "trl grpo --config nowhere.yaml\n").complete


def test_parents_lie_below_the_file_and_a_cycle_ends(tmp_path: Path) -> None:
    files = {
        "base.yaml": NEMO,
        "child.yaml": "defaults: base.yaml\ncluster: {gpus_per_node: 4}\npolicy: {model_name: Qwen/Qwen3-30B-A3B}\n",
        "a.yaml": "defaults: b.yaml\npolicy: {precision: float16}\n",
        "b.yaml": "defaults: a.yaml\npolicy: {max_grad_norm: 2.0}\n",
    }
    run = run_of(tmp_path, "child.yaml", files)
    expected = {"n_gpus": 4, "dp_size": 2, "group_size": 16, "moe": True}
    assert fields(run, expected) == expected
    assert run.complete
    assert not run.group_size.explicit
    cycle = run_of(tmp_path, "a.yaml", files)
    assert (value_of(cycle.model_dtype), value_of(cycle.gradient_clipping), cycle.complete) == ("fp16", 2.0, False)
    (problem,) = reading(tmp_path, "a.yaml", files).problems
    assert problem.message == "the defaults lead back to a.yaml: loading it never ends"
    assert (problem.span.file.path.endswith("b.yaml"), problem.span.text) == (True, "a.yaml")


def test_a_cycle_of_hydras_defaults_is_told(tmp_path: Path) -> None:
    own = "actor_rollout_ref: {rollout: {n: 8}}\nalgorithm: {adv_estimator: grpo}\n"
    files = {"main.yaml": f"defaults: [other, _self_]\n{own}", "other.yaml": "defaults: [main]\n"}
    found = reading(tmp_path, "main.yaml", files)
    assert [problem.message for problem in found.problems] == ["the defaults lists around other include each other"]
    assert [run.group_size.value for run in found.runs] == [8]


def test_overrides_rule_over_the_yaml(tmp_path: Path) -> None:
    files = {
        "c.yaml": NEMO,
        "run.sh": "uv run examples/run_grpo.py --config c.yaml cluster.gpus_per_node=16 ++policy.x=1\n",
    }
    run = run_of(tmp_path, "run.sh", files)
    assert (value_of(run.n_gpus), value_of(run.dp_size), value_of(run.tp)) == (16, 8, 2)


def test_references_are_followed_with_their_places(tmp_path: Path) -> None:
    text = ROLL.replace("model_args: {", "model_args: {lora_target: q_proj, ")
    rank = run_of(tmp_path, "roll.yaml", text).lora_rank
    assert rank.value == 32
    assert rank.origin is not None
    assert [span.line for span in rank.origin.via] == [5]


def test_a_reference_to_itself_is_unknown(tmp_path: Path) -> None:
    text = ROLL.replace("num_return_sequences_in_group: 8", "num_return_sequences_in_group: ${a}\n    a: ${a}")
    assert run_of(tmp_path, "roll.yaml", text).group_size.state == "unknown"


def test_vllm_reads_its_yaml_below_its_line(tmp_path: Path) -> None:
    files = {
        "c.yaml": "tensor-parallel-size: 4\nmax-model-len: 100\n",
        "run.sh": "vllm serve m --config c.yaml -tp 2\n",
    }
    run = run_of(tmp_path, "run.sh", files)
    assert value_of(run.tp) == 2
    assert value_of(run.option("vllm", "--max-model-len")) == 100


def test_json_options_have_their_keys_too(tmp_path: Path) -> None:
    command = """vllm serve m --compilation-config '{"mode": 3}' --max-model-len 2k\n"""
    run = run_of(tmp_path, "run.sh", command)
    keys = ("--compilation-config.mode", "--max-model-len")
    assert [value_of(run.option("vllm", key)) for key in keys] == [3, 2000]


def test_dotted_keys_take_the_place_of_the_json(tmp_path: Path) -> None:
    command = """vllm serve m -cc.cudagraph_mode=NONE --compilation-config '{"mode": 3, "cudagraph_mode": "FULL"}'\n"""
    run = run_of(tmp_path, "run.sh", command)
    keys = ("--compilation-config.mode", "--compilation-config.cudagraph_mode")
    assert [value_of(run.option("vllm", key)) for key in keys][1] == "NONE"
    assert not run.option("vllm", keys[0]).explicit


@pytest.mark.parametrize(
    ("command", "tp"),
    [
        ("vllm serve m --config c.yaml", 4),
        ("vllm serve m --config=c.yaml", "unset"),
        ("python -m sglang.launch_server --model-path m --config c.yaml", 4),
        ("python -m sglang.launch_server --model-path m --config=c.yaml", "unset"),
    ],
)
def test_a_server_reads_its_file_only_where_a_blank_stands_before_it(command: str, tp: Any, tmp_path: Path) -> None:
    files = {"run.sh": f"{command}\n", "c.yaml": "tensor-parallel-size: 4\nserved-model-name: x\n"}
    assert value_of(run_of(tmp_path, "run.sh", files).tp) == tp


MANIFEST = """
    apiVersion: leaderworkerset.x-k8s.io/v1
    kind: LeaderWorkerSet
    spec:
      leaderWorkerTemplate:
        size: 2
        leaderTemplate:
          spec:
            containers:
              - name: leader
                env:
                  - {name: SIZE, value: "4"}
                command:
                  - python3
                  - -m
                  - sglang.launch_server
                  - --model-path
                  - meta-llama/Meta-Llama-3.1-8B-Instruct
                  - --tp
                  - $(SIZE)
                  - --nnodes
                  - $(LWS_GROUP_SIZE)
                resources:
                  limits:
                    nvidia.com/gpu: "1"
"""


def test_a_manifests_container_is_a_run(tmp_path: Path) -> None:
    run = run_of(tmp_path, "lws.yaml", MANIFEST)
    assert (run.framework, value_of(run.rollout_engine), line_of(run.rollout_engine)) == ("sglang", "sglang", 15)
    assert (value_of(run.n_gpus), line_of(run.n_gpus)) == (1, 24)
    assert (value_of(run.tp), line_of(run.tp)) == (4, 19)
    assert (run.nnodes.state, run.nnodes.value, line_of(run.nnodes)) == ("unknown", "$(LWS_GROUP_SIZE)", 21)
    assert value_of(run.moe) is False
    assert run.command[0].span.line == 13


def test_an_images_own_entry_point(tmp_path: Path) -> None:
    text = """
        services:
          api:
            image: vllm/vllm-openai:v0.10.2
            command: ["--model", "m", "--tensor-parallel-size", "2"]
    """
    run = run_of(tmp_path, "compose.yaml", text)
    assert (run.framework, value_of(run.tp), value_of(run.model_path)) == ("vllm", 2, "m")


SHELL_IN_YAML = {
    "literal": "run: |\n  # vllm\n  vllm serve m \\\n    --tensor-parallel-size 2\n",
    "folded": "run: >\n  # comment\n  \n",
    "folded-command": "deployment:\n  - server_cmd: >\n      vllm serve m\n      --tensor-parallel-size 2\n",
    "plain": "cmd: vllm serve m --tensor-parallel-size 2\n",
    "quoted": "cmd: 'vllm serve m --tensor-parallel-size 2'\n",
    "container": """
apiVersion: v1
kind: Pod
spec:
  containers:
    - command: [bash, -c]
      args:
        - |
          export TP=2
          exec vllm serve m --tensor-parallel-size $TP
""",
}


@pytest.mark.parametrize(
    ("form", "line"), [("literal", 4), ("folded-command", 4), ("plain", 1), ("quoted", 1), ("container", 9)]
)
def test_shell_text_in_yaml_keeps_its_places(form: str, line: int, tmp_path: Path) -> None:
    run = run_of(tmp_path, "job.yaml", SHELL_IN_YAML[form])
    assert (run.framework, value_of(run.tp), line_of(run.tp)) == ("vllm", 2, line)
    span = run.tp.span
    assert span is not None
    assert span.text in ("2", "$TP")
    assert span.file.text == (tmp_path / "job.yaml").read_text()


def test_folded_text_is_one_line_to_the_shell(tmp_path: Path) -> None:
    assert reading(tmp_path, "job.yaml", {"job.yaml": SHELL_IN_YAML["folded"]}).runs == []
