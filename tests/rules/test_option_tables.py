"""Options compared with what the releases of a framework have: what is told, and above all what isn't."""

import sys
from pathlib import Path

import pytest
from deepspeed_runs import config
from verl_runs import MAIN, findings, launched

sys.path.insert(0, str(Path(__file__).parent.parent / "frameworks"))
from framework_runs import run_of

from grpo_lint.frameworks import tables
from grpo_lint.frameworks.slips import edits, meant
from grpo_lint.rules.option_tables.dead import option_that_nothing_reads as dead
from grpo_lint.rules.option_tables.deprecated import deprecated_option as deprecated
from grpo_lint.rules.option_tables.release import option_of_another_release as moved
from grpo_lint.rules.option_tables.types import value_that_no_parser_takes as types
from grpo_lint.rules.option_tables.unknown import option_of_no_release as unknown
from grpo_lint.rules.rule import Rule
from grpo_lint.runconfig import RunConfig

PROGRAMS = {
    "vllm": "vllm serve Qwen/Qwen3-8B",
    "sglang": "python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B",
    "openrlhf": "python3 -m openrlhf.cli.train_ppo_ray",
    "trl": "trl grpo",
    "ms_swift": "swift rlhf",
    "slime": "python3 train.py --hf-checkpoint a --rollout-batch-size 1 --n-samples-per-prompt 8",
    "megatron": "python3 pretrain_gpt.py --num-layers 2 --hidden-size 8 --micro-batch-size 1 --seq-length 8",
}
RELEASES = [
    (name, release) for name in ("vllm", "sglang", "openrlhf", "trl") for release in tables.table(name).releases
]
ZERO = {"train_batch_size": 8, "gradient_clipping": 1.0}


def line(folder: Path, text: str, **targets: str) -> RunConfig:
    return run_of(folder, "run.sh", text + "\n", **targets)


def told(rule: Rule, run: RunConfig) -> list[str]:
    return [finding.message for finding in findings(rule, run)]


def flags(framework: str, release: str | None = None) -> list[str]:
    """The flags that a table has, at a release or at any."""
    table = tables.table(framework)
    names = list(table.options) if release is None else [n for n in table.options if table.presence(n, release) is True]
    return [name for name in names if name.startswith("--") and ("." not in name or framework == "openrlhf")]


@pytest.mark.parametrize("framework", PROGRAMS)
def test_no_option_of_any_release_is_unknown(framework: str, tmp_path: Path) -> None:
    for name in flags(framework):
        run = line(tmp_path, f"{PROGRAMS[framework]} {name}")
        assert not told(unknown, run), name
        assert not told(moved, run), name


@pytest.mark.parametrize(("framework", "release"), RELEASES)
def test_a_release_has_its_own_options(framework: str, release: str, tmp_path: Path) -> None:
    names = flags(framework, release)
    run = line(tmp_path, f"{PROGRAMS[framework]} {' '.join(names)}", **{framework: release})
    assert len(names) > 20
    assert not told(unknown, run)
    assert not told(moved, run)


@pytest.mark.parametrize("release", tables.table("deepspeed").releases)
def test_deepspeed_has_its_own_keys(release: str) -> None:
    table = tables.table("deepspeed")
    for name in table.options:
        if not name.startswith("-") and table.presence(name, release) is True:
            data: object = "auto!"
            for part in reversed(name.split(".")):
                data = {part: data}
            run = config({**ZERO, **data}, deepspeed=release)  # type: ignore[dict-item]
            assert not told(unknown, run), name
            assert not told(moved, run), name


@pytest.mark.parametrize(
    ("written", "known", "expected"),
    [
        ("--max-modle-len", ["--max-model-len", "--max-num-seqs"], "--max-model-len"),
        ("--tensor_parallel_size", ["--tensor-parallel-size"], "--tensor-parallel-size"),
        ("--mem-static-fraction", ["--mem-fraction-static"], "--mem-fraction-static"),
        ("--maxmodel-len", ["--max-model-len"], "--max-model-len"),
        ("--q_lora_rank", ["--lora_rank"], ""),
        ("--num_layers", ["--num_labels"], ""),
        ("--dp-size", ["--tp-size", "--pp-size"], ""),
        ("--rotary-scale-factor", ["--rotary-scaling-factor"], ""),
        ("--fp8-format", ["--fp4-format"], ""),
        ("--enable-lora", ["--no-enable-lora"], ""),
        ("--max-loraz", ["--max-lorax", "--max-loray"], ""),
    ],
)
def test_slips(written: str, known: list[str], expected: str) -> None:
    assert meant(written, known) == expected


@pytest.mark.parametrize(
    ("one", "other", "distance"), [("model", "modle", 1), ("abc", "abc", 0), ("abcd", "abxy", 2), ("a", "abcdef", 3)]
)
def test_edits(one: str, other: str, distance: int) -> None:
    assert edits(one, other, 2) == distance
    assert edits(other, one, 2) == distance


def test_a_name_that_is_no_slip_makes_the_line_a_forks(tmp_path: Path) -> None:
    command = f"{PROGRAMS['megatron']} --hiden-size 8"
    assert told(unknown, line(tmp_path, command))
    assert not told(unknown, line(tmp_path, f"{command} --patch-tokenizer-type Qwen"))


def test_a_release_that_was_read_settles_it(tmp_path: Path) -> None:
    command = f"{PROGRAMS['vllm']} --enable-turbo-mode"
    assert told(unknown, line(tmp_path, command, vllm="0.18.1"))
    assert not told(unknown, line(tmp_path, command, vllm="0.18.2"))
    assert not told(unknown, line(tmp_path, command))


@pytest.mark.parametrize(
    "command",
    [
        "python3 train_grpo.py --num_generations 8 --reward_funcs a --max_completion_lenght 5 --output_dir o",
        "python3 -m openrlhf.cli.train_sft --pretrian a",
        "trl sft --model_name_or_path a --dataset_nmae b",
        "vllm serve Qwen/Qwen3-8B --additional-config.anything 1 --kv-transfer-config.kv_connector_extra_config.a 2",
        "vllm serve Qwen/Qwen3-8B --tensor-parallel 2 --no-enable-prefix-caching",
    ],
)
def test_what_nobody_can_know(command: str, tmp_path: Path) -> None:
    assert not told(unknown, line(tmp_path, command))


def test_the_place_of_a_slip_and_its_fix(tmp_path: Path) -> None:
    (finding,) = findings(unknown, line(tmp_path, f"{PROGRAMS['vllm']} --max_modle_len=8192"))
    assert finding.fix is not None
    assert [(span.text, text) for span, text in finding.fix.edits] == [("--max_modle_len", "--max-model-len")]
    assert finding.fix.safe


def test_keys_of_a_file_that_a_server_reads(tmp_path: Path) -> None:
    files = {"run.sh": "vllm serve --config server.yaml\n", "server.yaml": "model: a\nmax-modle-len: 8192\n"}
    (finding,) = findings(unknown, run_of(tmp_path, "run.sh", files))
    assert getattr(finding.at, "text", "") == "max-modle-len"
    assert finding.fix is not None
    assert [text for _, text in finding.fix.edits] == ["max-model-len"]


def test_sections_of_deepspeed_that_refuse(tmp_path: Path) -> None:
    zero = {**ZERO, "zero_optimization": {"stage": 2, "no_such_key": 1}}
    (message,) = told(unknown, config(zero))
    assert message.startswith("deepspeed refuses zero_optimization.no_such_key")
    assert not told(unknown, config({**ZERO, "zero_optimization": {"no_such_key": "auto"}}))
    half = {**ZERO, "bf16": {"enabled": True, "no_such_key": 1}}
    assert not told(unknown, config(half))  # before 0.17 nothing reads it, and nothing minds
    assert told(unknown, config(half, deepspeed="0.19.8"))


def test_a_section_that_no_release_has_is_told_once() -> None:
    offload = {"offload_optimiser": {"device": "cpu", "pin_memory": True}}
    (finding,) = findings(unknown, config({**ZERO, "zero_optimization": {"stage": 2, **offload}}))
    assert getattr(finding.at, "text", "") == '"offload_optimiser"'
    assert finding.help == "did you mean offload_optimizer?"


@pytest.mark.parametrize(
    "extra",
    [
        {"my_own_notes": "x"},
        {"optimizer": {"type": "Adam", "params": {"lr": 1e-6, "anything": 1}}},
        {"tensor_parallel": {"partition_config": {"anything": {"deep": 1}}}},
        {"data_efficiency": {"enabled": True, "data_routing": {"anything": 1}}},
        {"zero_optimization": {"stage": 3, "stage3_max_live_parameters": 1, "max_reuse_distance": 1}},
    ],
)
def test_what_deepspeed_leaves_open(extra: dict[str, object]) -> None:
    assert not told(unknown, config({**ZERO, **extra}, deepspeed="0.19.8"))


def test_renamed_flags_and_what_they_are_called_now(tmp_path: Path) -> None:
    run = line(tmp_path, f"{PROGRAMS['openrlhf']} --zero_stage 2", openrlhf="0.11.2")
    (finding,) = findings(moved, run)
    assert "0.9.10 is the last that was read to have it" in finding.message
    assert finding.help == "write --ds.zero_stage"


def test_an_old_name_that_is_an_alias_now(tmp_path: Path) -> None:
    command = f"{PROGRAMS['sglang']} --hierarchical-sparse-attention-extra-config '{{}}'"
    assert not told(moved, line(tmp_path, command, sglang="0.5.23"))
    newest = next(name for name, entry in tables.table("sglang").options.items() if entry["spells"][0][0] == 9)
    assert not told(moved, line(tmp_path, f"{command} {newest} 1"))


def test_flags_of_two_releases(tmp_path: Path) -> None:
    command = f"{PROGRAMS['openrlhf']} --zero_stage 2 --ds.adam_offload"
    assert told(moved, line(tmp_path, command))
    assert not told(moved, line(tmp_path, f"{command} --of-a-fork 1"))


def test_keys_that_deepspeed_dropped() -> None:
    gone = {**ZERO, "sparse_gradients": False}
    assert told(moved, config(gone, deepspeed="0.19.8")) == [
        "deepspeed 0.19.8 refuses sparse_gradients: it was removed"
    ]
    assert not told(moved, config(gone, deepspeed="0.19.2"))
    assert not told(moved, config(gone))


@pytest.mark.parametrize(
    ("option", "refused"),
    [
        ("--max-model-len 16k", False),
        ("--max-model-len auto", False),
        ("--max-model-len long", True),
        ("--gpu-memory-utilization 90%", True),
        ("--gpu-memory-utilization .9", False),
        ("--tensor-parallel-size <tp>", False),
        ("--tensor-parallel-size TP_SIZE", False),
        ("--dtype BFLOAT16", True),
        ("--dtype of_another_release", False),
        ("--kv-cache-dtype anything", False),
    ],
)
def test_values_of_a_server(option: str, refused: bool, tmp_path: Path) -> None:
    quoted = option.replace("<tp>", "'<tp>'")
    assert bool(told(types, line(tmp_path, f"{PROGRAMS['vllm']} {quoted}"))) is refused


@pytest.mark.parametrize(
    ("framework", "option", "refused"),
    [
        ("openrlhf", "--bf16 True", True),
        ("openrlhf", "--bf16", False),
        ("openrlhf", "--n_samples_per_prompt 8.0", True),
        ("openrlhf", "--ds.zero_stage=3", False),
        ("trl", "--bf16 maybe", True),
        ("trl", "--bf16 yes", False),
        ("trl", "--beta None", True),
        ("ms_swift", "--learning_rate 1e-6", False),
        ("ms_swift", "--save_strategy no", False),
        ("slime", "--colocate true", True),
        ("slime", "--advantage-estimator GRPO", True),
    ],
)
def test_values_of_trainers(framework: str, option: str, refused: bool, tmp_path: Path) -> None:
    assert bool(told(types, line(tmp_path, f"{PROGRAMS[framework]} {option}"))) is refused


def test_the_script_of_somebody_has_types_of_its_own(tmp_path: Path) -> None:
    command = "python3 train_grpo.py --num_generations many --reward_funcs a --output_dir o --bf16 perhaps"
    assert not told(types, line(tmp_path, command))


@pytest.mark.parametrize(
    ("override", "refused"),
    [
        ("actor_rollout_ref.actor.loss_agg_mode=True", True),
        ("actor_rollout_ref.actor.loss_agg_mode=token_mean", True),
        ("actor_rollout_ref.actor.loss_agg_mode=token-sum", False),
        ("algorithm.adv_estimator=my_own", False),
        ("algorithm.adv_estimator=1", True),
        ("actor_rollout_ref.actor.loss_agg_mode=${critic.loss_agg_mode}", False),
        ("critic.ppo_micro_batch_size_per_gpu=None", True),
        ("critic.ppo_micro_batch_size_per_gpu=null", False),
        ("trainer.experiment_name=None", False),
    ],
)
def test_values_of_verl(override: str, refused: bool) -> None:
    assert bool(told(types, launched(f"{MAIN}{override}", verl="0.9.1"))) is refused


@pytest.mark.parametrize(
    ("zero", "refused"),
    [
        ({"overlap_comm": "None"}, True),
        ({"overlap_comm": None}, False),
        ({"overlap_comm": "TRUE"}, False),
        ({"stage": 4}, True),
        ({"stage": "auto"}, False),
        ({"reduce_bucket_size": 5e8}, False),
        ({"reduce_bucket_size": "5e8 elements"}, True),
        ({"reduce_bucket_size": "BUCKET_SIZE"}, False),
        ({"offload_optimizer": {"device": "gpu"}}, True),
        ({"offload_optimizer": {"device": "{{ device }}"}}, False),
    ],
)
def test_values_of_deepspeed(zero: dict[str, object], refused: bool) -> None:
    assert bool(told(types, config({**ZERO, "zero_optimization": zero}))) is refused


def test_deprecated_flags_need_a_release(tmp_path: Path) -> None:
    command = f"{PROGRAMS['trl']} --use_transformers_paged"
    assert told(deprecated, line(tmp_path, command, trl="1.16.0"))
    assert not told(deprecated, line(tmp_path, command))


def test_a_deprecated_key_that_is_off_is_a_note() -> None:
    (finding,) = findings(deprecated, config({**ZERO, "zero_optimization": {"cpu_offload": False}}))
    assert finding.severity == "note"


@pytest.mark.parametrize(
    ("options", "reported"),
    [
        ("--lora_alpha 32", True),
        ("--lora_alpha 32 --lora_rank 0", False),
        ("--ds.lora.alpha 32", True),
        ("--ds.lora.alpha 32 --ds.lora.rank 8", False),
    ],
)
def test_an_adapter_that_isnt_trained(options: str, reported: bool, tmp_path: Path) -> None:
    assert bool(told(dead, line(tmp_path, f"{PROGRAMS['openrlhf']} {options}"))) is reported


@pytest.mark.parametrize(
    ("overrides", "reported"),
    [
        ("actor_rollout_ref.model.lora_alpha=32", True),
        ("actor_rollout_ref.model.lora_alpha=32 actor_rollout_ref.model.lora_rank=8", False),
        ("actor_rollout_ref.model.lora_alpha=32 actor_rollout_ref.actor.strategy=megatron", False),
        ("actor_rollout_ref.model.lora_alpha=32 actor_rollout_ref.model.lora_adapter_path=/a", False),
    ],
)
def test_an_adapter_that_verl_doesnt_train(overrides: str, reported: bool) -> None:
    assert bool(told(dead, launched(f"{MAIN}{overrides}", verl="0.9.1"))) is reported


def test_no_table_is_loaded_of_a_framework_that_takes_no_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_TABLES", {})
    run = launched(f"{MAIN}actor_rollout_ref.rollout.n=8", verl="0.9.1")
    for rule in (unknown, moved, types, deprecated, dead):
        if rule.applies(run.frameworks):
            assert not told(rule, run)
    assert not tables._TABLES


@pytest.mark.parametrize(
    ("overrides", "reported"),
    [
        ("rllm.rollout.n=8 rllm.data.train_batch_size=64 actor_rollout_ref.rollout.n=4", True),
        ("rllm.rollout.n=8 rllm.data.train_batch_size=64 actor_rollout_ref.rollout.n=8", False),
        ("rllm.rollout.n=null rllm.data.train_batch_size=64 actor_rollout_ref.rollout.n=4", False),
        ("rllm.trainer.save_freq=8 rllm.data.train_batch_size=64 actor_rollout_ref.rollout.n=4", False),
    ],
)
def test_an_override_that_rllm_overwrites(overrides: str, reported: bool, tmp_path: Path) -> None:
    assert bool(told(dead, line(tmp_path, f"python3 -m rllm.trainer.train {overrides}"))) is reported
