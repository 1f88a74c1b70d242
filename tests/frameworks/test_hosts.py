"""What is ours inside files of other kinds: where it is found, what it comes to, and where it stands there."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from framework_runs import fields, line_of, reading, run_of, runs, value_of

from grpo_lint.engine import Linter
from grpo_lint.settings import Settings

VERL = "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo"
RECIPE = """
    model_name_or_path: Qwen/Qwen2.5-7B
    num_generations: 8
    learning_rate: 1.0e-6
    per_device_train_batch_size: 8
    gradient_accumulation_steps: 2
"""
GRPO = """
    from trl import GRPOConfig, GRPOTrainer

    args = GRPOConfig(
        output_dir="out",
        num_generations=8,
        learning_rate=-1e-6,
        max_steps=steps,
        vllm_mode="colocate",
        bf16=True,
    )
    trainer = GRPOTrainer(model="Qwen/Qwen3-30B-A3B", args=args, reward_funcs=length)
"""
SGLANG_IMAGE = """
    FROM x AS a
    ENTRYPOINT ["python3", \\
      "-m", "sglang.launch_server"]
    # c
    CMD ["--model-path", "m", \\
    "--tp", "2"]
"""
SERVICE = """
    services:
      s:
        entrypoint: python3 -m sglang.launch_server
        command: >
          --model-path m
          --tp 2
"""
RESERVED = """
    services:
      s:
        command: vllm serve m -tp ${TP:-4}
        deploy:
          resources:
            reservations:
              devices:
                - {driver: nvidia, count: 4, capabilities: [gpu]}
"""
WORKFLOW = """
    apiVersion: argoproj.io/v1alpha1
    kind: Workflow
    spec:
      templates:
      - container: {image: x, command: [vllm], args: [serve, m, -tp, '2']}
"""
PRIME = """
    max_steps = 9
    [model]
    name = 'Qwen/Qwen3-30B-A3B'
    [deployment]
    num_train_gpus = 2
    [trainer.optim]
    max_norm = 0.5
    [trainer.model.lora]
    rank = 8
    [orchestrator]
    batch_size = 128
    group_size = 16
    [inference]
"""
KUBERNETES = """
    apiVersion: apps/v1
    kind: Deployment
    spec:
      template:
        spec:
          containers:
"""

# name, text, framework, fields, {field: line}
CASES: list[tuple[str, str, str, dict[str, Any], dict[str, int]]] = [
    # Dockerfiles
    ("Dockerfile", 'FROM x\nCMD ["vllm", "serve", "m", "-tp", "4"]\n', "vllm", {"tp": 4}, {"tp": 2}),
    (
        "Dockerfile.gpu",
        SGLANG_IMAGE,
        "sglang",
        {"tp": 2},
        {"tp": 6},
    ),
    (
        "Dockerfile",
        'FROM x AS a\nENTRYPOINT ["vllm", "serve"]\nFROM a\nCMD ["m", "-tp", "2"]\n',
        "vllm",
        {"tp": 2, "model_path": "m"},
        {"tp": 4},
    ),
    (
        "Containerfile",
        "ARG BASE=x\nFROM ${BASE}\nENV TP=4 A=b\nCMD vllm serve m \\\n  # note\n  --tensor-parallel-size $TP\n",
        "vllm",
        {"tp": 4},
        {"tp": 6},
    ),
    (
        "vllm.Dockerfile",
        'FROM vllm/vllm-openai:v0.10.2\nCMD ["--model", "m", "--tensor-parallel-size", "4"]\n',
        "vllm",
        {"tp": 4},
        {"tp": 2},
    ),
    (
        "Dockerfile",
        "FROM x\nRUN <<EOF\nCMD no\nEOF\nENTRYPOINT exec vllm serve m -tp 2\n",
        "vllm",
        {"tp": 2},
        {"tp": 5},
    ),
    # Makefiles
    ("Makefile", "TP ?= 4\nserve:\n\t@vllm serve m -tp $(TP)\n", "vllm", {"tp": 4}, {"tp": 3}),
    (
        "train.mk",
        f"N := 5\nARGS = actor_rollout_ref.rollout.n=${{N}}\ntrain: data\n\t{VERL} \\\n\t\t$(ARGS)\n",
        "verl",
        {"group_size": 5},
        {"group_size": 5},
    ),
    ("Makefile", "A += -tp\nA += 2 # two\nx: ; vllm serve m $(A)\n", "vllm", {"tp": 2}, {}),
    ("GNUmakefile", "x:\n\tTP=2; vllm serve m -tp $$TP\n", "vllm", {"tp": 2}, {}),
    (
        "Makefile",
        "ifdef BIG\nTP = 8\nelse\nTP = 4\nendif\nx:\n\tvllm serve m -tp $(TP)\n",
        "vllm",
        {"tp": "unknown"},
        {},
    ),
    ("Makefile", "x:\n\tvllm serve m -tp $(shell nproc)\n", "vllm", {"tp": "unknown"}, {}),
    # compose
    (
        "compose.yaml",
        "services:\n  s:\n    image: vllm/vllm-openai\n    command: --model m --tensor-parallel-size 2\n",
        "vllm",
        {"tp": 2},
        {"tp": 4},
    ),
    (
        "compose.yaml",
        SERVICE,
        "sglang",
        {"tp": 2},
        {"tp": 6},
    ),
    (
        "docker-compose.yml",
        RESERVED,
        "vllm",
        {"tp": 4, "n_gpus": 4},
        {"tp": 3, "n_gpus": 8},
    ),
    (
        "compose.yaml",
        RESERVED.replace("count: 4", "device_ids: ['0', '3']"),
        "vllm",
        {"n_gpus": 2},
        {"n_gpus": 8},
    ),
    # Kubernetes
    (
        "pod.yaml",
        KUBERNETES
        + "          - command: [bash, -lc]\n            args: ['vllm serve m -tp $(TP) --max-num-seqs $N']\n"
        + "            env: [{name: TP, value: '4'}, {name: N, value: '8'}]\n",
        "vllm",
        {"tp": 4},
        {"tp": 8},
    ),
    (
        "pod.yaml",
        KUBERNETES + "          - image: vllm/vllm-openai:v0.11.0\n            args: [org/model, -tp, '2']\n",
        "vllm",
        {"tp": 2, "model_path": "org/model"},
        {},
    ),
    (
        "job.yaml",
        f"apiVersion: ray.io/v1\nkind: RayJob\nspec:\n  entrypoint: {VERL} actor_rollout_ref.rollout.n=5\n",
        "verl",
        {"group_size": 5},
        {"group_size": 4},
    ),
    (
        "map.yaml",
        "apiVersion: v1\nkind: ConfigMap\ndata:\n  run.sh: |\n    TP=4\n    vllm serve m -tp $TP\n",
        "vllm",
        {"tp": 4},
        {"tp": 6},
    ),
    (
        "wf.yaml",
        WORKFLOW,
        "vllm",
        {"tp": 2},
        {"tp": 5},
    ),
    # descriptions of jobs
    (
        ".github/workflows/ci.yml",
        "env: {TP: 2}\njobs:\n  a:\n    steps:\n    - run: vllm serve ${{ matrix.model }} -tp $TP\n",
        "vllm",
        {"tp": 2, "model_path": "unknown"},
        {"tp": 5},
    ),
    (
        ".gitlab-ci.yml",
        f"train:\n  script:\n    - pip install verl\n    - N=5\n    - {VERL} actor_rollout_ref.rollout.n=$N\n",
        "verl",
        {"group_size": 5},
        {"group_size": 5},
    ),
    ("task.yaml", 'run: "vllm serve \\"m\\" -tp 2"\n', "vllm", {"tp": 2}, {"tp": 1}),
    # servers that other descriptions give
    (
        "values.yaml",
        """
        servingEngineSpec:
          modelSpec:
          - modelURL: "org/m"
            requestGPU: 4
            vllmConfig: {tensorParallelSize: 4, dtype: "half", extraArgs: ["--enforce-eager"]}
        """,
        "vllm",
        {"tp": 4, "n_gpus": 4, "model_dtype": "fp16", "model_path": "org/m", "enforce_eager": True},
        {"tp": 5, "model_path": 3, "n_gpus": 4},
    ),
    (
        "runtime.yaml",
        """
        apiVersion: production-stack.vllm.ai/v1alpha1
        kind: VLLMRuntime
        spec:
          model: {modelURL: m}
          vllmConfig: {tensorParallelSize: 2}
          deploymentConfig: {resources: {gpu: "2"}}
        """,
        "vllm",
        {"tp": 2, "n_gpus": 2},
        {"tp": 5},
    ),
    (
        "tests.json",
        '[{"test_name": "a", "server_parameters": {"model": "m", "tensor_parallel_size": 2, "enforce_eager": ""}}]\n',
        "vllm",
        {"tp": 2, "model_path": "m"},
        {"tp": 1},
    ),
    (
        "service.yaml",
        """
        apiVersion: ray.io/v1
        kind: RayService
        spec:
          serveConfigV2: |
            applications:
            - args:
                llm_configs:
                - model_loading_config: {model_id: q, model_source: org/m}
                  engine_kwargs: {tensor_parallel_size: 2, enforce_eager: true}
        """,
        "vllm",
        {"tp": 2, "enforce_eager": True, "model_path": "org/m"},
        {"tp": 9},
    ),
    # Python
    (
        "train.py",
        GRPO,
        "trl",
        {"group_size": 8, "algorithm": "grpo", "bf16": True, "moe": True, "rollout_engine": "unset"},
        {"group_size": 5},
    ),
    (
        "train.py",
        "import trl\nc = trl.RLOOConfig(num_generations=2)\n",
        "trl",
        {"algorithm": "rloo", "group_size": 2},
        {},
    ),
    ("train.py", "from trl import GRPOConfig as C\nü = C(max_grad_norm=0.5)\n", "trl", {"gradient_clipping": 0.5}, {}),
    # documentation
    (
        "a.md",
        f"# t\n\n```bash\n{VERL} \\\n  actor_rollout_ref.rollout.n=5\n```\n",
        "verl",
        {"group_size": 5},
        {"group_size": 5},
    ),
    (
        "a.md",
        "1. do\n\n   ```console\n   $ vllm serve m \\\n   > -tp 2\n   INFO vllm serve\n   ```\n",
        "vllm",
        {"tp": 2},
        {"tp": 5},
    ),
    ("a.md", f"```yaml\n{RECIPE}```\n", "trl", {"group_size": 8}, {"group_size": 4}),
    ("a.md", '~~~json\n{"zero_optimization": {"stage": 3}}\n~~~\n', "deepspeed", {"zero_stage": 3}, {"zero_stage": 2}),
    ("a.md", f"* x\n\n  ```python\n{GRPO}\n  ```\n", "trl", {"group_size": 8}, {"group_size": 9}),
    # prime-rl
    (
        "rl.toml",
        PRIME,
        "prime_rl",
        {"group_size": 16, "gradient_clipping": 0.5, "lora_rank": 8, "n_gpus": 2, "dp_size": 2, "moe": True},
        {"group_size": 12},
    ),
    (
        "orch.toml",
        "batch_size = 8\nrollouts_per_example = 4\n[[train.source]]\nname = 'x'\n",
        "prime_rl",
        {"group_size": 4},
        {},
    ),
]


@pytest.mark.parametrize(("name", "text", "framework", "expected", "lines"), CASES)
def test_what_a_file_holds(
    name: str, text: str, framework: str, expected: dict[str, Any], lines: dict[str, int], tmp_path: Path
) -> None:
    run = run_of(tmp_path, name, text)
    assert run.framework == framework
    assert fields(run, expected) == expected
    assert {field: line_of(getattr(run, field)) for field in lines} == lines


def notebook(*cells: str) -> str:
    return json.dumps(
        {"cells": [{"cell_type": "code", "source": cell.splitlines(keepends=True)} for cell in cells], "nbformat": 4},
        indent=1,
    )


def test_a_notebooks_cells_are_python_and_what_they_hand_to_a_shell(tmp_path: Path) -> None:
    text = notebook(
        "%pip install trl\nfrom trl import GRPOConfig",
        'args = GRPOConfig(output_dir="o",\n  num_generations=8)',
        '!vllm serve "m" \\\n  -tp 2',
        f"%%bash\n{VERL} actor_rollout_ref.rollout.n=5",
    )
    found = runs(tmp_path, "n.ipynb", text)
    assert [run.framework for run in found] == ["vllm", "verl", "trl"]
    assert [found[0].tp.value, found[1].group_size.value, found[2].group_size.value] == [2, 5, 8]
    for setting in (found[0].tp, found[1].group_size, found[2].group_size):
        assert setting.span is not None
        assert setting.span.text == str(setting.value)


@pytest.mark.parametrize(
    ("name", "text", "count"),
    [
        ("Dockerfile", 'FROM x\nENV \nARG\nENV A\nFROM\nCMD ["vllm", "serve", "m", "-tp", "2"]\n', 1),
        ("Makefile", "x:\n\tvllm serve m -tp $(T\nA = $(A)\ny:\n\tvllm serve $(A)\nifeq\n", 2),
        ("a.ipynb", '{"cells": [{"cell_type": "code"}, 3, {"cell_type": "code", "source": ["!vllm serve m", 1]}', 1),
        (
            "compose.yaml",
            "services: {s: {command: 'vllm serve \"m'}, t: 3, u: {command: {a: 1}}, v: {command: vllm serve m}}\n",
            1,
        ),
        ("rl.toml", "[orchestrator\n[orchestrator]\ngroup_size = \n[inference]\n", 1),
        ("a.md", "```bash\nvllm serve m\n", 1),
    ],
)
def test_what_is_broken_costs_nothing_else(name: str, text: str, count: int, tmp_path: Path) -> None:
    assert len(runs(tmp_path, name, text)) == count


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.py", "class GRPOConfig: ...\nx = GRPOConfig(num_generations=8)\n"),
        ("a.py", "from nemo_rl.algorithms.grpo import GRPOConfig\nx = GRPOConfig(num_generations=8)\n"),
        ("a.py", "from trl import GRPOConfig\nx: GRPOConfig\n"),
        ("test_a.py", "from trl import GRPOConfig\nx = GRPOConfig(num_generations=3)\n"),
        ("a.py", "from trl import GRPOConfig\nx = GRPOConfig(\n"),
        ("Dockerfile", "FROM x\nRUN vllm serve m\nHEALTHCHECK CMD vllm serve m\n"),
        ("Makefile", "serve: # vllm serve m\n\techo x\nA = vllm serve m\n"),
        ("a.md", "    vllm serve m\n\n`vllm serve m`\n\n```c\nvllm serve m\n```\n"),
        ("pyproject.toml", "[tool.ruff]\n[orchestrator]\nx = 1\n"),
        ("compose.yaml", "services:\n  s:\n    image: redis\n    command: redis-server --save 60 1\n"),
    ],
)
def test_what_is_not_ours_yields_no_run(name: str, text: str, tmp_path: Path) -> None:
    assert runs(tmp_path, name, text) == []


def test_documentation_counts_only_where_it_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(f"```bash\n{VERL}\n```\n", encoding="utf-8")
    settings = Settings()
    assert list(Linter(settings).read([str(tmp_path)])) == []
    named = Linter(settings)
    assert list(named.read([str(tmp_path / "README.md")])) == []
    assert [notice.message for notice in named.notices] == ["not linted: documentation is read with --include-docs"]
    settings.include_docs = True
    (file,) = Linter(settings).read([str(tmp_path)])
    assert [run.framework for run in file.reading.runs] == ["verl"]


def test_a_launch_gets_the_config_that_its_program_builds(tmp_path: Path) -> None:
    run = run_of(tmp_path, "run.sh", {"run.sh": "accelerate launch --num_processes 4 train.py\n", "train.py": GRPO})
    assert (run.framework, value_of(run.group_size), value_of(run.dp_size)) == ("trl", 8, 4)
    assert value_of(run.option("trl", "--max_steps")) == "unknown"
    assert run.option("trl", "--learning_rate").value == -1e-6


def test_two_configs_of_a_program_tell_nothing_of_its_launch(tmp_path: Path) -> None:
    files = {
        "run.sh": "accelerate launch train.py\n",
        "train.py": GRPO + "\n    other = GRPOConfig(num_generations=4)\n",
    }
    assert reading(tmp_path, "run.sh", files).runs == []
    assert [run.group_size.value for run in runs(tmp_path, "train.py", files["train.py"])] == [8, 4]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("uv run rl @ rl.toml --orchestrator.group-size 4", 4),
        ("uv run rl @rl.toml", 16),
        ("uv run rl @ rl.toml @ more.toml", 32),
        ("uv run rl @ rl.toml --orchestrator @ orch.toml", 2),
        ("python -m prime_rl.entrypoints.rl @ rl.toml --orchestrator.group_size=4", 4),
    ],
)
def test_prime_rl_merges_its_files_from_left_to_right(command: str, expected: int, tmp_path: Path) -> None:
    run = run_of(
        tmp_path,
        "run.sh",
        {
            "run.sh": command + "\n",
            "rl.toml": "[orchestrator]\ngroup_size = 16\n[inference]\n",
            "more.toml": "[orchestrator]\ngroup_size = 32\n",
            "orch.toml": "group_size = 2\n",
        },
    )
    assert (run.framework, value_of(run.group_size)) == ("prime_rl", expected)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("docker run --gpus all vllm/vllm-openai:v0.9.0 --model m -tp 2", {"tp": 2}),
        ("docker run vllm/vllm-openai org/m -tp 2", {"tp": 2, "model_path": "org/m"}),
        ("docker run --entrypoint vllm -e TP=2 x serve m -tp 2", {"tp": 2}),
        ("docker run -e TP=2 x sh -c 'vllm serve m -tp $TP'", {"tp": 2}),
        ("export TP=2; docker run x sh -c 'vllm serve m -tp $TP'", {"tp": "unknown"}),
        ("export TP=2; docker run -e TP x sh -c 'vllm serve m -tp $TP'", {"tp": 2}),
        ("export TP=2; bash -c 'vllm serve m -tp $TP'", {"tp": 2}),
    ],
)
def test_a_container_has_a_program_and_an_environment_of_its_own(
    command: str, expected: dict[str, Any], tmp_path: Path
) -> None:
    assert fields(run_of(tmp_path, "run.sh", command + "\n"), expected) == expected


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("compose.yaml", "services:\r\n  s:\r\n    command: >\r\n      vllm serve m\r\n      -tp 2\r\n"),
        ("task.yaml", "run: |\r\n  vllm serve m \\\r\n    -tp 2\r\n"),
        ("a.md", "```bash\r\nvllm serve m \\\r\n  -tp 2\r\n```\r\n"),
        ("Dockerfile", "FROM x\r\nCMD vllm serve m \\\r\n  -tp 2\r\n"),
    ],
)
def test_line_ends_of_windows_are_line_ends(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / name).write_bytes(text.encode())
    settings = Settings()
    settings.include_docs = True
    (file,) = Linter(settings).read([str(tmp_path / name)])
    assert [run.tp.value for run in file.reading.runs] == [2]


def test_many_parts_cost_no_more_than_their_number(tmp_path: Path) -> None:
    """The text before a part is not read again for it: 20 times the parts take less than 60 times the steps."""
    steps = []
    for count in (20, 400):
        text = "".join(f"```bash\nvllm serve m -tp {number}\n```\n" for number in range(1, count + 1))
        (tmp_path / f"{count}.md").write_text(text, encoding="utf-8")
        settings = Settings()
        settings.include_docs = True
        calls = 0

        def count_call(frame: Any, event: str, argument: Any) -> None:
            nonlocal calls
            calls += event == "call"

        sys.setprofile(count_call)
        try:
            found = [
                run for file in Linter(settings).read([str(tmp_path / f"{count}.md")]) for run in file.reading.runs
            ]
        finally:
            sys.setprofile(None)
        assert len(found) == count
        steps.append(calls)
    assert steps[1] < 60 * steps[0]


def test_what_documentation_leaves_out_is_no_fault(tmp_path: Path) -> None:
    text = f"```bash\n{VERL} \\\n  actor_rollout_ref.rollout.n=5 \\\n  [other overrides...] ...\n```\n"
    found = reading(tmp_path, "a.md", {"a.md": text})
    assert ([run.group_size.value for run in found.runs], found.problems) == ([5], [])
    assert reading(tmp_path, "a.sh", {"a.sh": f"{VERL} ...\n"}).problems
