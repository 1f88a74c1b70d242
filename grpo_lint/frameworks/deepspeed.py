"""DeepSpeed: its JSON config, read and mapped as deepspeed 0.19.8 does (runtime/config.py, runtime/zero/config.py)."""

from __future__ import annotations

from grpo_lint.located import Unknown, Value
from grpo_lint.runconfig import default
from grpo_lint.unified import UNSET, Origin, Setting, derived, undecided, unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from grpo_lint.discover import Repository
    from grpo_lint.launch import Flag
    from grpo_lint.located import Problem
    from grpo_lint.runconfig import Options, RunConfig
    from grpo_lint.unified import Layer

NAME = "deepspeed"

TELLING = frozenset(
    (
        "zero_optimization", "train_micro_batch_size_per_gpu", "zero_allow_untested_optimizer",
        "zero_force_ds_cpu_optimizer", "wall_clock_breakdown", "prescale_gradients", "steps_per_print",
        "gradient_predivide_factor", "compression_training", "data_efficiency", "flops_profiler",
    )
)  # fmt: skip
"""Top keys that only a DeepSpeed config has."""
SHARED = frozenset(
    ("train_batch_size", "gradient_accumulation_steps", "gradient_clipping", "fp16", "bf16", "optimizer")
)
"""Top keys that other configs may have, too; two of them together with a section of DeepSpeed's shape are enough."""

AUTO = "auto"
"""What Hugging Face's integration replaces by the trainer's own argument before DeepSpeed reads it."""


def recognises_document(root: Value) -> bool:
    """Whether a JSON document is a DeepSpeed config."""
    if not isinstance(root.data, dict):
        return False
    keys = root.data.keys()
    sections = [root.data[key] for key in ("fp16", "bf16", "bfloat16", "optimizer") if key in keys]
    return bool(TELLING & keys) or (len(SHARED & keys) >= 2 and any(section.is_mapping for section in sections))


def read_document(root: Value, path: str, run: RunConfig, repository: Repository) -> list[Problem]:
    """Read a config into the run's options."""
    read_into(root, run.options)
    return []


def read_into(root: Value, options: Options, layer: Layer = "file", prefix: str = "") -> None:
    """Put every key of a config into `options`, by its dotted path; old spellings under their present names."""
    for key, value in root.leaves():
        name = prefix + key
        if name == "zero_optimization" and isinstance(value.data, bool):
            name, data = "zero_optimization.stage", int(value.data)
        else:
            data = value.data
        if name.startswith("bfloat16."):
            name = "bf16." + name[len("bfloat16.") :]
        options.put(NAME, name, as_setting(value, name, layer, data))
    _read_old_offload(root, options, layer)


def _read_old_offload(root: Value, options: Options, layer: Layer) -> None:
    """`cpu_offload: true` is `offload_optimizer.device: cpu`, `cpu_offload_params: true` the same for parameters."""
    for old, section in (("cpu_offload", "offload_optimizer"), ("cpu_offload_param", "offload_param")):
        value = root.get(f"zero_optimization.{old}")
        if value is not None and value.data is True:
            name = f"zero_optimization.{section}.device"
            options.put(NAME, name, as_setting(value, name, layer, "cpu"))


def as_setting(value: Value, key: str, layer: Layer, data: object = None) -> Setting:
    """A document's value as a setting of one layer."""
    data = value.plain() if data is None else data
    origin = Origin(layer, value.span, value.via, "", key, data)
    if isinstance(data, Unknown):
        return unknown(data.reason, origin)
    return Setting("known", data, (origin,))


FILLED_BY_TRAINER = {
    "bf16.enabled": "--bf16",
    "fp16.enabled": "--fp16",
    "gradient_clipping": "--max_grad_norm",
    "train_micro_batch_size_per_gpu": "--per_device_train_batch_size",
    "gradient_accumulation_steps": "--gradient_accumulation_steps",
    "optimizer.params.lr": "--learning_rate",
}
"""Read in transformers 5.24.0 (integrations/deepspeed.py): the arguments that replace "auto"."""


def fill_auto(options: Options, argument: Callable[[str], Setting]) -> None:
    """Replace "auto" by the trainer's argument where the run gives it."""
    for key, name in FILLED_BY_TRAINER.items():
        setting, filled = options.get(NAME, key), argument(name)
        if setting.value == AUTO and filled.explicit:
            options.put(NAME, key, filled)


def flag_setting(flag: Flag, key: str) -> Setting:
    """A command-line flag as a setting: a switch is true, words that read as numbers or bools are those."""
    if flag.value is None:
        return Setting("known", True, (Origin("override", flag.span, (), "", key, True),))
    via = tuple(place for piece in flag.value.pieces for place in piece.via)
    note = next((piece.note for piece in flag.value.pieces if piece.note), "")
    data = plain(flag.value.text)
    origin = Origin("override", flag.value.span, via, note, key, data)
    if flag.value.dynamic:
        return unknown(flag.value.reason, origin)
    return Setting("known", data, (origin,))


def plain(text: str) -> object:
    """The number or bool that a command-line word stands for, else the word itself."""
    lowered = text.lower()
    if lowered in ("true", "false"):
        return lowered == "true"
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    return text


def configured(options: Options) -> bool:
    """Whether a DeepSpeed config takes part; its launcher's flags alone configure nothing."""
    return any(not key.startswith("-") for _, key, _ in options.written(NAME))


def unify(run: RunConfig) -> None:
    """Fill the unified fields that a DeepSpeed config decides."""
    options, fields = run.options, run.fields
    stage = _or(options.get(NAME, "zero_optimization.stage"), 0, "zero_optimization.stage")
    fields["zero_stage"] = stage
    fields["offload_optimizer"] = _device(options, "offload_optimizer")
    fields["offload_param"] = _device(options, "offload_param")
    fields["optimizer"] = _optimizer(options, fields["offload_optimizer"])
    fields["gradient_clipping"] = _gradient_clipping(run)
    fields["overlap_comm"] = _overlap_comm(options, stage)
    fields["bf16"] = _or(options.get(NAME, "bf16.enabled"), False, "bf16.enabled")
    fields["fp16"] = _or(options.get(NAME, "fp16.enabled"), False, "fp16.enabled")
    fields["model_dtype"] = _model_dtype(options, fields["bf16"], fields["fp16"])
    size = _data_parallel_size(options)
    if not size.unset:
        fields["dp_size"] = size
    deepcompile = options.get(NAME, "compile.deepcompile")
    if not deepcompile.unset:
        fields["torch_compile"] = deepcompile


def _or(setting: Setting, value: object, key: str) -> Setting:
    return default(value, "default of deepspeed", key) if setting.unset else setting


def _device(options: Options, section: str) -> Setting:
    key = f"zero_optimization.{section}.device"
    setting = options.get(NAME, key)
    return _or(setting, "none", key).map(lambda device: device if isinstance(device, str) else "none")


def _optimizer(options: Options, offload: Setting) -> Setting:
    """The optimizer's name; "cpu_adam" where DeepSpeed picks its CPU Adam for offloaded state."""
    type_ = options.get(NAME, "optimizer.type")
    if not type_.known or not offload.known:
        return type_
    on_gpu = options.get(NAME, "optimizer.params.torch_adam")
    if offload.value in ("cpu", "nvme") and str(type_.value).lower() in ("adam", "adamw") and on_gpu.value is not True:
        return derived("cpu_adam", type_, offload, note="optimizer state is offloaded")
    return type_


def _gradient_clipping(run: RunConfig) -> Setting:
    """The threshold; by default 0.0, no clipping, before 0.19.3 and 1.0 from then on."""
    setting = run.options.get(NAME, "gradient_clipping")
    if not setting.unset:
        return setting
    old = run.before(NAME, "0.19.3")
    if old is None:
        pairs = (("deepspeed < 0.19.3", 0.0), ("deepspeed >= 0.19.3", 1.0))
        note = "default of deepspeed, by release"
        return Setting("alternatives", None, (Origin("default", None, (), note, "gradient_clipping"),), pairs)
    return default(0.0 if old else 1.0, f"default of deepspeed {run.versions[NAME].text}", "gradient_clipping")


def _overlap_comm(options: Options, stage: Setting) -> Setting:
    """Unset (or null) means true for stage 3 and false for the others."""
    setting = options.get(NAME, "zero_optimization.overlap_comm")
    if not setting.unset and setting.value is not None:
        return setting
    if not stage.known:
        return undecided(stage) or UNSET
    return default(stage.value == 3, f"default of deepspeed for stage {stage.value}", "zero_optimization.overlap_comm")


def _model_dtype(options: Options, bf16: Setting, fp16: Setting) -> Setting:
    if not options.get(NAME, "torch_autocast.enabled").unset:
        return unknown("torch_autocast decides the type")
    for name, setting in (("bf16", bf16), ("fp16", fp16)):
        if setting.value is True:
            return Setting("known", name, setting.chain)
    for setting in (bf16, fp16):
        if setting.value == AUTO:
            return Setting("known", AUTO, setting.chain)
    return undecided(bf16, fp16) or default("fp32", "default of deepspeed", "bf16.enabled")


def _data_parallel_size(options: Options) -> Setting:
    """train_batch_size / (micro batch x accumulation steps), where all three are numbers."""
    names = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
    total, micro, steps = settings = [options.get(NAME, name) for name in names]
    if not all(type(setting.value) is int and setting.value > 0 for setting in settings):
        return UNSET
    size, rest = divmod(total.value, micro.value * steps.value)
    return (
        UNSET
        if rest or not size
        else derived(size, total, micro, steps, note=f"{names[0]} / ({names[1]} x {names[2]})")
    )
