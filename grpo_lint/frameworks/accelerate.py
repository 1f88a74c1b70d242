"""accelerate: the YAML of `accelerate config`, read as accelerate 1.15.0 does (commands/config/config_args.py)."""

from __future__ import annotations

from grpo_lint.frameworks.deepspeed import as_setting, flag_setting
from grpo_lint.unified import UNSET, Origin, Setting, derived, undecided

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpo_lint.discover import Repository
    from grpo_lint.launch import Flag
    from grpo_lint.located import Problem, Value
    from grpo_lint.runconfig import Options, RunConfig

NAME = "accelerate"

TELLING = frozenset(("compute_environment", "distributed_type", "main_training_function", "mixed_precision"))
"""Top keys of the file; two of them make it one."""

FSDP, DEEPSPEED = "FSDP", "DEEPSPEED"
KINDS = frozenset((FSDP, DEEPSPEED, "NO", "MULTI_GPU", "MULTI_NPU", "MULTI_XPU", "MULTI_CPU", "MEGATRON_LM"))
PARTS = frozenset(("deepspeed_config", "fsdp_config", "num_processes", "num_machines"))
"""With a distributed type of these, one of these parts makes the file one, too."""


def recognises_document(root: Value) -> bool:
    """Whether a YAML document is an accelerate config."""
    if not isinstance(root.data, dict):
        return False
    keys = root.data.keys()
    kind = root.data.get("distributed_type")
    return len(TELLING & keys) >= 2 or (kind is not None and kind.data in KINDS and bool(PARTS & keys))


def read_document(root: Value, path: str, run: RunConfig, repository: Repository) -> list[Problem]:
    """Read the file into the run's options; the DeepSpeed JSON that it names is the run's to read."""
    read_into(root, run.options)
    return []


def read_into(root: Value, options: Options) -> None:
    """Put every key into `options`, by its dotted path."""
    for key, value in root.leaves():
        options.put(NAME, key, as_setting(value, key, "file"))


FLAGS = {
    # flag of `accelerate launch`: the file's key that it takes the place of
    "--mixed_precision": "mixed_precision",
    "--dynamo_backend": "dynamo_config.dynamo_backend",
    "--zero_stage": "deepspeed_config.zero_stage",
    "--gradient_clipping": "deepspeed_config.gradient_clipping",
    "--offload_optimizer_device": "deepspeed_config.offload_optimizer_device",
    "--offload_param_device": "deepspeed_config.offload_param_device",
    "--deepspeed_config_file": "deepspeed_config.deepspeed_config_file",
    "--fsdp_version": "fsdp_config.fsdp_version",
}
CHOICES = {"--use_deepspeed": DEEPSPEED, "--use_fsdp": FSDP, "--multi_gpu": "MULTI_GPU"}


def read_flags(flags: Sequence[Flag], options: Options) -> None:
    """Put the launcher's flags into `options` under the keys of the file, over which they rule."""
    for flag in flags:
        if flag.name in FLAGS:
            key = FLAGS[flag.name]
            options.put(NAME, key, flag_setting(flag, flag.name))
        elif flag.name in CHOICES:
            kind = CHOICES[flag.name]
            origin = Origin("override", flag.span, (), "", flag.name, kind)
            options.put(NAME, "distributed_type", Setting("known", kind, (origin,)))


def deepspeed_file(options: Options) -> Setting:
    """The DeepSpeed JSON that the file names, whose keys then rule."""
    return options.get(NAME, "deepspeed_config.deepspeed_config_file")


def unify(run: RunConfig) -> None:
    """Fill the unified fields that an accelerate config decides; a DeepSpeed JSON that it names has filled its own."""
    options, fields = run.options, run.fields
    kind = options.get(NAME, "distributed_type")
    deepspeed = kind.value == DEEPSPEED
    if deepspeed:
        _unify_deepspeed(options, fields)
    if kind.value == FSDP:
        fields["fsdp_mode"] = _fsdp_mode(options)
    precision = options.get(NAME, "mixed_precision")
    if precision.known and "model_dtype" not in fields:
        fields["model_dtype"] = precision.map(lambda word: "fp32" if word in ("no", False) else word)
        fields["bf16"] = precision.map(lambda word: word == "bf16")
        fields["fp16"] = precision.map(lambda word: word == "fp16")
    for field, key in (("n_gpus", "num_processes"), ("nnodes", "num_machines")):
        setting = options.get(NAME, key)
        if not setting.unset:
            fields.setdefault(field, setting)  # the launcher's own flag rules over the file
    backend = options.get(NAME, "dynamo_config.dynamo_backend")
    if backend.known:
        fields["torch_compile"] = backend.map(lambda word: word is not False and str(word).upper() != "NO")
    if not fields.get("n_gpus", UNSET).unset:
        _unify_shape(options, fields)


def _unify_deepspeed(options: Options, fields: dict[str, Setting]) -> None:
    """The plugin's own spellings of DeepSpeed's keys. A named JSON file replaces them all."""
    if not deepspeed_file(options).unset:
        return
    for field, key in (
        ("zero_stage", "zero_stage"),
        ("offload_optimizer", "offload_optimizer_device"),
        ("offload_param", "offload_param_device"),
        ("gradient_clipping", "gradient_clipping"),
    ):
        setting = options.get(NAME, f"deepspeed_config.{key}")
        if not setting.unset:
            fields[field] = setting


def _fsdp_mode(options: Options) -> Setting:
    """`fsdp_version` 1 or 2; unset means 1."""
    version = options.get(NAME, "fsdp_config.fsdp_version")
    return (
        derived("fsdp1", options.get(NAME, "distributed_type")) if version.unset else version.map(lambda n: f"fsdp{n}")
    )


def _unify_shape(options: Options, fields: dict[str, Setting]) -> None:
    """Data-parallel size: processes / (tensor x context x sequence parallel sizes)."""
    total = fields["n_gpus"]
    sizes = [options.get(NAME, f"parallelism_config.parallelism_config_{name}_size") for name in ("tp", "cp", "sp")]
    hidden = undecided(total, *sizes)
    if hidden is not None:
        fields["dp_size"] = hidden
        return
    product = 1
    for size in sizes:
        product *= size.value if type(size.value) is int and size.value > 0 else 1
    if type(total.value) is int and total.value % product == 0:
        fields["dp_size"] = derived(total.value // product, total, *sizes, note="num_processes")
    fields["tp"] = derived(sizes[0].value or 1, total, sizes[0])
    fields["pp"] = derived(1, total)
