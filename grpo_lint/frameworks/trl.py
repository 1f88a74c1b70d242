"""TRL: `trl grpo`, scripts on its configs, and the YAML files that these read with `--config`.

Read: TRL 0.14.0 to 1.16.0 (scripts/utils.py, trainer/grpo_config.py, trainer/model_config.py, cli/). The YAML's values
are the parser's defaults, so that the line wins; its `env` goes into the environment.
"""

from __future__ import annotations

import os

from grpo_lint.frameworks import deepspeed, flags, huggingface
from grpo_lint.frameworks.documents import named_document, names_config
from grpo_lint.frameworks.shape import copy, experts, given
from grpo_lint.patterns import lazy
from grpo_lint.unified import UNSET, Origin, Setting, derived

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.discover import Repository
    from grpo_lint.launch import Launch
    from grpo_lint.located import Problem, Value
    from grpo_lint.runconfig import RunConfig

NAME = "trl"

DIALECT = flags.Dialect(NAME, (("trl", ""),), folds="_", bools="optional", abbreviates=True, inherits=True)
SCRIPT = flags.Dialect(NAME, (("trl", ""),), folds="_", bools="optional", inherits=True)
"""A script has options of its own besides, of which a beginning may be an option of TRL's."""

ALGORITHMS = {"grpo": "grpo", "rloo": "rloo", "online_dpo": "online_dpo", "gspo": "grpo"}
COMMANDS = frozenset(("grpo", "rloo", "sft", "dpo", "kto", "reward", "distillation"))
SERVER = "vllm-serve"
_SERVER = lazy(r"(?:^|[./])trl[./]scripts[./]vllm_serve(?:\.py)?$")

ONLINE = frozenset(
    ("num_generations", "max_completion_length", "reward_funcs", "vllm_mode", "use_vllm", "max_prompt_length")
)
OWN = ONLINE | {
    "dataset_name",
    "use_peft",
    "lora_target_modules",
    "attn_implementation",
    "torch_dtype",
    "dataset_config",
}
"""Keys of TRL's own classes; those of GRPO and its like are a sign of online training."""
TRAINER = frozenset(
    (
        "per_device_train_batch_size", "gradient_accumulation_steps", "learning_rate", "num_train_epochs", "max_steps",
        "lr_scheduler_type", "bf16", "logging_steps", "save_strategy", "output_dir", "gradient_checkpointing",
        "warmup_ratio", "report_to", "seed", "eval_strategy", "save_steps", "push_to_hub",
    )
)  # fmt: skip
FOREIGN = frozenset(
    (
        "stage", "finetuning_type", "template", "base_model", "rlhf_type", "defaults", "adapter", "cutoff_len",
        "tuner_type", "train_type", "actor_train", "policy",
    )
)  # fmt: skip
"""Keys of files that look alike: LLaMA-Factory's, axolotl's, ms-swift's, Hydra's."""


def recognises(launch: Launch) -> bool:
    """Whether a launch is a command of `trl`, or a script with GRPO's own options on its line."""
    if launch.program == NAME:
        return bool(launch.args) and launch.args[0].text in (*COMMANDS, SERVER)
    if _SERVER.search(launch.program) is not None:
        return True
    names = {word.text.partition("=")[0].removeprefix("--").replace("-", "_") for word in launch.args}
    return bool({"num_generations", "reward_funcs"} & names) and len((OWN | TRAINER) & names) >= 3


def names_own_config(launch: Launch, folder: str, repository: Repository) -> bool:
    """Whether the YAML that a program names by `--config` is TRL's."""
    return names_config(launch, folder, repository, "pyyaml", recognises_document)


def recognises_document(root: Value) -> bool:
    """Whether a YAML document is a flat config of TRL's: the trainer's keys, and some of TRL's own."""
    if not isinstance(root.data, dict):
        return False
    keys = root.data.keys()
    return not FOREIGN & keys and len(TRAINER & keys) >= 3 and len(OWN & keys) >= 1


def read(launch: Launch, path: str, run: RunConfig, repository: Repository) -> list[Problem]:
    """Read a launch's YAML and arguments into `run`, over TRL's defaults."""
    command = launch.args[0].text if launch.program == NAME else ""
    server = command == SERVER or _SERVER.search(launch.program) is not None
    run.engine = SERVER if server else _trained(command or launch.program.rsplit("/", 1)[-1])
    words, dialect = (launch.args[1:], DIALECT) if command else (launch.args, SCRIPT)
    if run.engine != SERVER:
        flags.use_defaults(run, dialect, {})
    document = named_document(words, ("--config",), os.path.dirname(path), repository, "pyyaml")
    if document is not None:
        _put_document(document, run)
        run.engine = run.engine or _algorithm_of(document, path)
    arguments = flags.parse(words, dialect)
    flags.put(arguments, run, dialect)
    if document is None and arguments.last("--config") is not None:
        run.complete = False
    if command in COMMANDS:
        _put_launcher_flags(run)
    if not run.engine and command not in COMMANDS:
        run.engine = "grpo"  # only scripts with GRPO's options come here
    return []


def read_document(root: Value, path: str, run: RunConfig, repository: Repository) -> list[Problem]:
    """Read a YAML config into `run`. Its script and its launcher's config are not told."""
    run.complete = False
    run.engine = _algorithm_of(root, path)
    _put_document(root, run)
    return []


def _put_document(root: Value, run: RunConfig) -> None:
    for key, value in root.data.items():
        if key == "env" and value.is_mapping:
            for name, text in value.data.items():
                run.env[name] = deepspeed.as_setting(text, name, "environment", str(text.plain()))
        elif key == "deepspeed" and value.is_mapping:
            deepspeed.read_into(value, run.options)
        else:
            for path, leaf in value.leaves(key):
                run.options.put(NAME, f"--{path}", flags.file_setting(leaf, f"--{path}", SCRIPT))


def _put_launcher_flags(run: RunConfig) -> None:
    """`trl grpo` hands what it doesn't know to `accelerate launch`."""
    for key in ("--num_processes", "--num_machines", "--config_file", "--mixed_precision"):
        setting = run.option(NAME, key)
        if not setting.unset:
            run.options.put("accelerate", key, setting)


def _trained(name: str) -> str:
    """The algorithm by a program's name; "" where it doesn't say."""
    return next((what for part, what in ALGORITHMS.items() if part in name.lower()), "")


def _algorithm_of(root: Value, path: str) -> str:
    if not ONLINE & root.data.keys():
        return ""
    return _trained("/".join(path.replace(os.sep, "/").split("/")[-3:])) or "grpo"


def unify(run: RunConfig) -> None:
    """Fill the unified fields from TRL's options."""
    fields = run.fields
    if run.engine == SERVER:
        _unify_server(run)
        return
    huggingface.unify_trainer(run)
    fields["lora_rank"] = _lora_rank(run)
    preset = given(run, "--accelerate_config")
    if isinstance(preset.value, str) and preset.value.startswith("zero") and preset.value[4:].isdigit():
        fields["zero_stage"] = preset.map(lambda name: int(name[4:]))
    if isinstance(preset.value, str) and preset.value in ("fsdp1", "fsdp2"):
        fields["fsdp_mode"] = preset
    experts(run, given(run, "--model_name_or_path"))
    if run.engine:
        _unify_online(run)


def _unify_online(run: RunConfig) -> None:
    """What the online trainers have: groups, a rollout engine, no critic."""
    fields = run.fields
    size = run.option(NAME, "--num_generations")
    if not size.unset:
        fields["group_size"] = size
    place = size.span if size.explicit else run.anchor
    origin = Origin("derived", place, (), "what the trainer is", size.key if size.explicit else "", run.engine)
    fields["algorithm"] = Setting("known", run.engine, (origin,))
    fields["use_critic"] = derived(False, fields["algorithm"], note=f"{run.engine} has no critic")
    engine = given(run, "--use_vllm")
    if engine.known:
        fields["rollout_engine"] = engine.map(lambda on: "vllm" if on is True else "transformers")
    mode = given(run, "--vllm_mode")
    if engine.value is True and mode.known:
        fields["checkpoint_mode"] = mode.map(lambda name: "nccl" if name == "server" else "naive")
        fields["async_rollout"] = mode.map(lambda name: name == "server")
    sleep = given(run, "--vllm_enable_sleep_mode")
    if sleep.known:
        fields["sleep_level"] = sleep.map(lambda on: 2 if on is True else 0)
    copy(run, {"rollout_tp": "--vllm_tensor_parallel_size"})
    reference = _reference(run)
    if reference is not None:
        fields["ref_in_actor"] = reference


def _lora_rank(run: RunConfig) -> Setting:
    """`lora_r`, while `use_peft` is on: alone it does nothing."""
    use, rank = given(run, "--use_peft"), given(run, "--lora_r")
    if not use.decided:
        return use
    if use.value is True:
        effective = run.option(NAME, "--lora_r")
        return effective if not effective.unset else UNSET
    if use.unset and rank.unset:
        return UNSET
    return derived(0, rank, use, note="without use_peft there is no adapter")


def _reference(run: RunConfig) -> Setting | None:
    """With an adapter and a KL term, the actor without its adapter; None where no KL term is asked for."""
    beta, use = given(run, "--beta"), given(run, "--use_peft")
    if not beta.known or beta.value in (0, 0.0, None) or not use.decided:
        return None
    return derived(use.value is True, use if use.explicit else beta, beta, note="beta asks for a reference")


def _unify_server(run: RunConfig) -> None:
    """`trl vllm-serve`, the rollout engine of a run in server mode."""
    origin = Origin("derived", run.anchor, (), "trl vllm-serve starts vLLM", "", "vllm")
    run.fields["rollout_engine"] = Setting("known", "vllm", (origin,))
    copy(run, {"tp": "--tensor_parallel_size", "enforce_eager": "--enforce_eager", "model_path": "--model"})
    experts(run, given(run, "--model"))
