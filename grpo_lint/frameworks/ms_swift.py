"""ms-swift: `swift rlhf` and its like on Hugging Face's trainer, `megatron rlhf` on Megatron, `swift rollout`.

Read: ms-swift 4.6.0 (cli/main.py, arguments/, megatron/arguments/). The first argument may be a YAML or JSON file,
whose keys are flags before those of the line. NPROC_PER_NODE and NNODES in the environment start torchrun.
"""

from __future__ import annotations

import os

from grpo_lint.frameworks import deepspeed, flags, huggingface, megatron
from grpo_lint.frameworks.documents import document_at
from grpo_lint.frameworks.shape import copy, dtype, experts, given, quotient
from grpo_lint.patterns import lazy
from grpo_lint.runconfig import default
from grpo_lint.unified import UNSET, Origin, Setting, derived

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.discover import Repository
    from grpo_lint.launch import Launch
    from grpo_lint.located import Problem, Value
    from grpo_lint.runconfig import RunConfig

NAME = "ms_swift"

DIALECT = flags.Dialect(NAME, (("ms_swift", ""), ("trl", "")), folds="_", bools="optional", inherits=True)

COMMANDS = frozenset(("rlhf", "sft", "pt", "rollout"))
MEGATRON = "megatron"
_PRESET = lazy(r"zero([0-3])(_offload)?")
_MODULE = lazy(r"(?:^|[./])swift[./]cli[./](_megatron[./])?(rlhf|sft|pt|rollout)(?:\.py)?$")
TUNERS = ("tuner_type", "train_type", "sft_type")
"""What chooses adapters: in 4.x, 3.x and 2.x."""
TUNER = tuple(f"--{name}" for name in TUNERS)
FILE_KEYS = frozenset(
    (
        *TUNERS, "rlhf_type", "dataset", "torch_dtype", "lora_rank", "learning_rate", "per_device_train_batch_size",
        "gradient_accumulation_steps", "max_length", "num_train_epochs", "output_dir", "deepspeed", "target_modules",
    )
)  # fmt: skip


def recognises(launch: Launch) -> bool:
    """Whether a launch runs a command of `swift` or `megatron` that trains or rolls out."""
    return _command(launch) is not None


def _command(launch: Launch) -> tuple[bool, str, int] | None:
    """(on Megatron, command, how many arguments name it)."""
    if launch.program in ("swift", MEGATRON) and launch.args and not launch.word.dynamic:
        command = launch.args[0].text
        if command in COMMANDS and (launch.program == "swift" or command != "rollout"):
            return launch.program == MEGATRON, command, 1
    module = _MODULE.search(launch.program)
    return (bool(module[1]), module[2], 0) if module else None


def read(launch: Launch, path: str, run: RunConfig, repository: Repository) -> list[Problem]:
    """Read a launch's file and arguments into `run`, over ms-swift's defaults."""
    command = _command(launch)
    if command is None:
        return []
    run.engine = " ".join((MEGATRON if command[0] else "swift", command[1]))
    words = launch.args[command[2] :]
    if words and words[0].text.endswith((".yaml", ".yml", ".json")):
        root = document_at(words[0].text, os.path.dirname(path), repository, "pyyaml")
        run.complete = root is not None
        if root is not None and root.is_mapping:
            _put_document(root, run)
        words = words[1:]
    flags.put(flags.parse(words, DIALECT), run, DIALECT)
    return []


def recognises_document(root: Value) -> bool:
    """Whether a YAML document is a file of flags: a model and a tuner or an algorithm, as ms-swift calls them."""
    if not isinstance(root.data, dict) or "model" not in root.data:
        return False
    return len(FILE_KEYS & root.data.keys()) >= 3 and bool({*TUNERS, "rlhf_type"} & root.data.keys())


def read_document(root: Value, path: str, run: RunConfig, repository: Repository) -> list[Problem]:
    """Read a file of flags into `run`; the command that takes it may say more."""
    run.complete = False
    keys = root.data.keys()
    program = MEGATRON if any(str(key).endswith("model_parallel_size") for key in keys) else "swift"
    run.engine = f"{program} {'rlhf' if 'rlhf_type' in keys else 'sft'}"
    _put_document(root, run)
    return []


def _put_document(root: Value, run: RunConfig) -> None:
    for key, value in root.data.items():
        if key == "ENV" and value.is_mapping:
            for name, text in value.data.items():
                run.env.setdefault(name, deepspeed.as_setting(text, name, "environment", str(text.plain())))
        else:
            run.options.put(NAME, f"--{key}", flags.file_setting(value, f"--{key}", DIALECT))


def unify(run: RunConfig) -> None:
    """Fill the unified fields from ms-swift's options."""
    fields = run.fields
    experts(run, given(run, "--model"))
    if run.engine.endswith("rollout"):
        _unify_rollout(run)
        return
    if run.engine.startswith(MEGATRON):
        _unify_megatron(run)
    else:
        _unify_trainer(run)
    fields["lora_rank"] = _lora_rank(run)
    if run.engine.endswith("rlhf"):
        _unify_rlhf(run)


def _unify_trainer(run: RunConfig) -> None:
    """Hugging Face's trainer; a preset's name stands for a DeepSpeed config that the package brings."""
    fields = run.fields
    for field, name in (("n_gpus", "NPROC_PER_NODE"), ("nnodes", "NNODES")):
        setting = run.environment(name)
        if not setting.unset:
            fields[field] = setting.map(lambda text: int(text) if str(text).isdigit() else text)
    if "n_gpus" in fields and "nnodes" not in fields:
        fields["nnodes"] = default(1, "what torchrun does where NNODES isn't set", "NNODES")
    if "n_gpus" in fields:
        fields["dp_size"] = quotient((fields["n_gpus"], fields["nnodes"]), (_sequence_parallel(run),), "processes")
        fields["tp"] = derived(1, fields["n_gpus"], note="the trainer has no tensor parallelism")
        fields["pp"] = derived(1, fields["n_gpus"], note="the trainer has no pipeline")
    named = given(run, "--deepspeed")
    preset = _PRESET.fullmatch(named.value) if isinstance(named.value, str) else None
    if preset is not None:
        fields["zero_stage"] = named.map(lambda name: int(name[4]))
        if preset[2]:
            offload = derived("cpu", named, note="what the preset holds")
            fields["offload_optimizer"] = offload
            if preset[1] == "3":
                fields["offload_param"] = offload
    huggingface.unify_trainer(run)
    copy(run, {"model_path": "--model", "sequence_parallel": "--sequence_parallel_size"})


def _sequence_parallel(run: RunConfig) -> Setting:
    return given(run, "--sequence_parallel_size")


def _unify_megatron(run: RunConfig) -> None:
    """Megatron's own options, under the names that ms-swift gives them."""
    fields = run.fields
    copy(
        run,
        {
            "tp": "--tensor_model_parallel_size",
            "pp": "--pipeline_model_parallel_size",
            "model_path": "--model",
            "overlap_comm": "--overlap_grad_reduce",
            "gradient_clipping": "--clip_grad",
            "optimizer": "--optimizer",
            "gating_dtype": "--moe_router_dtype",
        },
    )
    kind = dtype(given(run, "--torch_dtype"))
    if kind.known:
        fields["model_dtype"] = kind
    for field, name in (("n_gpus", "NPROC_PER_NODE"), ("nnodes", "NNODES")):
        setting = run.environment(name)
        if not setting.unset:
            fields[field] = setting.map(lambda text: int(text) if str(text).isdigit() else text)
    sizes = [given(run, f"--{name}_parallel_size") for name in ("tensor_model", "pipeline_model", "context")]
    nodes = fields.get("nnodes", default(1, "what torchrun does where NNODES isn't set", "NNODES"))
    if "n_gpus" in fields:
        fields["nnodes"] = nodes
    fields["dp_size"] = quotient((fields.get("n_gpus", UNSET), nodes), sizes, "processes / model-parallel size")
    fields["fsdp_mode"] = Setting("known", megatron.NAME, (Origin("derived", run.anchor, (), "megatron-swift"),))


def _unify_rlhf(run: RunConfig) -> None:
    """Groups, the estimator, the rollout engine and the reference."""
    fields = run.fields
    kind = given(run, "--rlhf_type")
    if kind.value not in ("grpo", "ppo", "gkd"):
        return
    estimator = given(run, "--advantage_estimator")
    fields["algorithm"] = estimator if estimator.explicit and kind.value == "grpo" else kind
    fields["use_critic"] = derived(kind.value == "ppo", kind, note="ppo alone trains a critic")
    if kind.value == "grpo":
        size = given(run, "--num_generations")
        fields["group_size"] = default(8, "default of ms-swift", "--num_generations") if size.unset else size
    copy(
        run,
        {
            "sleep_level": "--sleep_level",
            "enforce_eager": "--vllm_enforce_eager",
            "rollout_tp": "--vllm_tensor_parallel_size",
        },
    )
    engine, mode = given(run, "--use_vllm"), given(run, "--vllm_mode")
    if engine.known:
        fields["rollout_engine"] = engine.map(lambda on: "vllm" if on is True else "transformers")
    if engine.value is True and mode.known:
        fields["async_rollout"] = mode.map(lambda name: name == "server")
    copy(run, {"router_replay": "--router_replay_mode"})
    beta, rank = given(run, "--beta"), fields["lora_rank"]
    if kind.value == "grpo" and beta.known and beta.value not in (0, 0.0, None) and rank.known:
        tuner = given(run, *TUNER)
        fields["ref_in_actor"] = derived(
            bool(rank.value), tuner if tuner.explicit else beta, beta, note="beta asks for one"
        )


def _lora_rank(run: RunConfig) -> Setting:
    """`lora_rank` where the tuner is LoRA, which it is where nothing says otherwise (4.6.0: default 8)."""
    tuner, rank = given(run, *TUNER), given(run, "--lora_rank")
    if not tuner.decided:
        return tuner
    if tuner.explicit and tuner.value != "lora":
        return derived(0, tuner, note="the tuner is not LoRA") if tuner.value == "full" else UNSET
    if tuner.unset and (run.engine.startswith(MEGATRON) or run.engine == "swift pt"):
        return rank
    return default(8, "default of ms-swift", "--lora_rank") if rank.unset else rank


def _unify_rollout(run: RunConfig) -> None:
    """`swift rollout`, the vLLM server of a run in server mode."""
    origin = Origin("derived", run.anchor, (), "swift rollout starts vLLM", "", "vllm")
    run.fields["rollout_engine"] = Setting("known", "vllm", (origin,))
    copy(
        run,
        {"tp": "--vllm_tensor_parallel_size", "enforce_eager": "--vllm_enforce_eager", "model_path": "--model"},
    )
