"""INV520 to INV539: DeepSpeed's JSON and accelerate's YAML against the trainer's arguments and each other."""

from __future__ import annotations

from grpo_lint.rules.invariants.relation import Operands, argument, of, processes, relation, relations, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Finding, Rule
    from grpo_lint.runconfig import RunConfig

TRAINERS = ("trl", "transformers", "ms_swift", "llama_factory")
"""Programs on Hugging Face's Trainer, which compares its arguments with DeepSpeed's JSON."""
MATCHED = "transformers 5.24.0, `integrations/deepspeed.py`: `trainer_config_process` gathers what differs, and "
RAISED = '`trainer_config_finalize` raises ValueError ("Please correct the following DeepSpeed config values that'
SOURCE = f'{MATCHED}{RAISED} mismatch TrainingArguments values").'
PROGRAM = "$ deepspeed --num_gpus 8 train.py --deepspeed ds.json --logging_steps 10 --save_strategy no --report_to none"


def on_trainer(run: RunConfig) -> bool:
    return run.framework in TRAINERS


def _file(keys: str) -> dict[str, str]:
    return {"ds.json": '{"zero_optimization": {"stage": 2}, "gradient_clipping": 1.0, ' + keys + "}"}


def _differs(o: Operands, name: str, flag: str) -> bool:
    """Whether both are given and differ; words ("auto") are the trainer's to fill."""
    json, told = o[name], o[flag]
    return _number(json.value) and _number(told.value) and told.explicit and json.value != told.value


def _number(value: object) -> bool:
    return type(value) in (int, float)


def _mismatch(o: Operands, name: str, flag: str) -> Iterator[Finding]:
    if _differs(o, name, flag):
        yield o.fault(
            name,
            f"{o[name].key} {o[name].value} in DeepSpeed's config, but {o(flag)}: the Trainer refuses a difference",
            flag,
            help=f'set {o[name].key} to "auto", which takes the argument',
        )


@relation(
    "INV520", "micro-batch-differs-from-argument", "deepspeed",
    json=value("train_micro_batch_size_per_gpu"), told=argument("--per_device_train_batch_size"),
    when=on_trainer,
    topics=("batch",),
    files=_file('"train_micro_batch_size_per_gpu": 4'),
    bad=f"{PROGRAM} --per_device_train_batch_size 8",
    good=f"{PROGRAM} --per_device_train_batch_size 4",
    source=SOURCE,
)  # fmt: skip
def micro_batch(o: Operands) -> Iterator[Finding]:
    """The Trainer's batch size per device is DeepSpeed's micro-batch, and both have to say the same."""
    yield from _mismatch(o, "json", "told")


@relation(
    "INV521", "accumulation-differs-from-argument", "deepspeed",
    json=value("gradient_accumulation_steps"), told=argument("--gradient_accumulation_steps"),
    when=on_trainer,
    topics=("batch",),
    files=_file('"train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": 1'),
    bad=f"{PROGRAM} --per_device_train_batch_size 4 --gradient_accumulation_steps 8",
    good=f"{PROGRAM} --per_device_train_batch_size 4 --gradient_accumulation_steps 1",
    source=SOURCE,
)  # fmt: skip
def accumulation(o: Operands) -> Iterator[Finding]:
    """DeepSpeed and the Trainer both count accumulation steps, and have to count the same."""
    yield from _mismatch(o, "json", "told")


@relation(
    "INV522", "clip-value-differs-from-argument", "deepspeed",
    json=value("gradient_clipping"), told=argument("--max_grad_norm"),
    when=on_trainer,
    topics=("clipping",),
    files=_file('"train_micro_batch_size_per_gpu": 4'),
    bad=f"{PROGRAM} --per_device_train_batch_size 4 --max_grad_norm 0.2",
    good=f"{PROGRAM} --per_device_train_batch_size 4 --max_grad_norm 1.0",
    source=SOURCE,
)  # fmt: skip
def clip_value(o: Operands) -> Iterator[Finding]:
    """DeepSpeed clips, not the Trainer, so both have to name the same value."""
    yield from _mismatch(o, "json", "told")


@relation(
    "INV523", "learning-rate-differs-from-argument", "deepspeed",
    json=value("optimizer.params.lr"), told=argument("--learning_rate"),
    when=on_trainer,
    topics=("optimizer",),
    files=_file('"train_micro_batch_size_per_gpu": "auto", "optimizer": {"type": "AdamW", "params": {"lr": 5e-5}}'),
    bad=f"{PROGRAM} --per_device_train_batch_size 4 --learning_rate 1e-6",
    good=f"{PROGRAM} --per_device_train_batch_size 4 --learning_rate 5e-5",
    source=SOURCE,
)  # fmt: skip
def learning_rate(o: Operands) -> Iterator[Finding]:
    """Where DeepSpeed's config brings the optimizer, its learning rate has to be the Trainer's."""
    yield from _mismatch(o, "json", "told")


@relation(
    "INV524", "precision-differs-from-argument", "deepspeed",
    json_bf16=value("bf16.enabled"), json_fp16=value("fp16.enabled"), bf16=argument("--bf16"), fp16=argument("--fp16"),
    when=on_trainer,
    topics=("precision",),
    files=_file('"train_micro_batch_size_per_gpu": "auto", "fp16": {"enabled": true}'),
    bad=f"{PROGRAM} --per_device_train_batch_size 4 --bf16 True",
    good=f"{PROGRAM} --per_device_train_batch_size 4 --fp16 True",
    source=SOURCE,
)  # fmt: skip
def precision(o: Operands) -> Iterator[Finding]:
    """The half precision that DeepSpeed is told to use has to be the one that the Trainer was told.

    Only arguments that are written are compared: a program may set its own.
    """
    for name, flag, other in (("json_bf16", "bf16", "fp16"), ("json_fp16", "fp16", "bf16")):
        json, told = o[name].value, o[flag]
        off = told.value is False and told.explicit
        if json is True and (off or (o[other].value is True and told.value is not True)):
            yield o.fault(
                name,
                f"{o[name].key} is true in DeepSpeed's config, but {o(flag) if off else o(other)}: the Trainer refuses"
                " a difference",
                flag if off else other,
                help=f'set {o[name].key} to "auto"',
            )
            return


@relation(
    "INV525", "batch-differs-from-arguments", "deepspeed",
    json=value("train_batch_size"), micro=argument("--per_device_train_batch_size"),
    steps=argument("--gradient_accumulation_steps"), world=processes(),
    when=on_trainer,
    topics=("batch", "parallel"),
    files=_file('"train_batch_size": 32'),
    bad=f"{PROGRAM} --per_device_train_batch_size 4 --gradient_accumulation_steps 2",
    good=f"{PROGRAM} --per_device_train_batch_size 4 --gradient_accumulation_steps 1",
    source=SOURCE,
)  # fmt: skip
def whole_batch(o: Operands) -> Iterator[Finding]:
    """DeepSpeed's batch has to be what the Trainer's arguments and the number of processes come to."""
    if not all(type(o[name].value) is int and o[name].explicit for name in ("json", "micro", "steps")):
        return
    each = o.micro * o.steps * o.world
    if o.json != each:
        yield o.fault(
            "json",
            f"{o('json')} in DeepSpeed's config, but {o('micro')} x {o('steps')} x {o.world} processes = {each}: the"
            " Trainer refuses a difference",
            "micro",
            "steps",
            "world",
            help='set train_batch_size to "auto"',
        )


@relation(
    "INV526", "two-sources-for-deepspeed", "accelerate",
    file=value("deepspeed_config.deepspeed_config_file"), steps=value("deepspeed_config.gradient_accumulation_steps"),
    clip=value("deepspeed_config.gradient_clipping"), stage=value("deepspeed_config.zero_stage"),
    optimizer=value("deepspeed_config.offload_optimizer_device"), param=value("deepspeed_config.offload_param_device"),
    save=value("deepspeed_config.zero3_save_16bit_model"),
    topics=("zero",),
    bad="compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\ndeepspeed_config:\n"
    "  deepspeed_config_file: ds.json\n  zero_stage: 3\nmixed_precision: bf16\nnum_processes: 8",
    good="compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\ndeepspeed_config:\n"
    "  deepspeed_config_file: ds.json\nmixed_precision: bf16\nnum_processes: 8",
    files={"ds.json": '{"zero_optimization": {"stage": 3}, "gradient_clipping": 1.0,\n "bf16": {"enabled": true}}'},
    source="accelerate 1.15.0, `utils/dataclasses.py`: `_deepspeed_config_checks` raises ValueError.",
)  # fmt: skip
def two_sources(o: Operands) -> Iterator[Finding]:
    """Where accelerate's file names a DeepSpeed JSON, that JSON alone may say what it says."""
    if not isinstance(o.file, str):
        return
    for name in ("stage", "clip", "steps", "optimizer", "param", "save"):
        if not o[name].unset:
            yield o.fault(
                name,
                f"{o(name)} beside deepspeed_config_file: accelerate refuses a value that the JSON should hold",
                "file",
                help="move it into the JSON",
            )
            return


@relation(
    "INV527", "precision-differs-from-accelerate", "accelerate",
    mixed=value("mixed_precision"), bf16=of("deepspeed", "bf16.enabled"), fp16=of("deepspeed", "fp16.enabled"),
    topics=("precision",),
    bad="compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\ndeepspeed_config:\n"
    "  deepspeed_config_file: ds.json\nmixed_precision: fp16\nnum_processes: 8",
    good="compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\ndeepspeed_config:\n"
    "  deepspeed_config_file: ds.json\nmixed_precision: bf16\nnum_processes: 8",
    files={"ds.json": '{"zero_optimization": {"stage": 3}, "gradient_clipping": 1.0,\n "bf16": {"enabled": true}}'},
    source="accelerate 1.15.0, `utils/dataclasses.py`: \"`--mixed_precision` arg cannot be set to ...\".",
)  # fmt: skip
def accelerate_precision(o: Operands) -> Iterator[Finding]:
    """accelerate's mixed precision has to be the half precision of the DeepSpeed JSON that it names."""
    other = {"fp16": "bf16", "bf16": "fp16"}.get(str(o.mixed))
    if other is not None and o[other].value is True:
        yield o.fault(
            "mixed",
            f"{o('mixed')}, but {other}.enabled is true in DeepSpeed's JSON: accelerate refuses the pair",
            other,
            help=f"set mixed_precision to {other}",
        )


@relation(
    "INV528", "local-state-dict-with-fsdp2", "accelerate",
    version=value("fsdp_config.fsdp_version"), kind=value("fsdp_config.fsdp_state_dict_type"),
    topics=("checkpoint",),
    bad="compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2\n"
    "  fsdp_state_dict_type: LOCAL_STATE_DICT\nmixed_precision: bf16\nnum_processes: 8",
    good="compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2\n"
    "  fsdp_state_dict_type: SHARDED_STATE_DICT\nmixed_precision: bf16\nnum_processes: 8",
    source="accelerate 1.15.0, `utils/dataclasses.py`: `set_state_dict_type` raises ValueError.",
)  # fmt: skip
def state_dict(o: Operands) -> Iterator[Finding]:
    """FSDP2 saves sharded or full state, not the local one."""
    if o.version == 2 and o.kind == "LOCAL_STATE_DICT":
        yield o.fault(
            "kind", "fsdp_state_dict_type LOCAL_STATE_DICT with fsdp_version 2, which accelerate refuses", "version",
            help="set it to SHARDED_STATE_DICT",
        )  # fmt: skip


@relation(
    "INV529", "reshard-is-no-bool", "accelerate",
    version=value("fsdp_config.fsdp_version"), reshard=value("fsdp_config.fsdp_reshard_after_forward"),
    topics=("zero",),
    bad="compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2\n"
    "  fsdp_reshard_after_forward: FULL_SHARD\nmixed_precision: bf16\nnum_processes: 8",
    good="compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2\n"
    "  fsdp_reshard_after_forward: true\nmixed_precision: bf16\nnum_processes: 8",
    source="accelerate 1.15.0, `utils/dataclasses.py`: `str_to_bool` of the value, with fsdp_version 2.",
)  # fmt: skip
def reshard(o: Operands) -> Iterator[Finding]:
    """FSDP2 reshards after the forward pass or doesn't; sharding strategies are FSDP1's."""
    words = ("true", "false", "yes", "no", "y", "n", "t", "f", "1", "0", "on", "off")
    if o.version == 2 and isinstance(o.reshard, str) and o.reshard.lower() not in words:
        yield o.fault(
            "reshard",
            f"{o('reshard')} with fsdp_version 2, which takes true or false",
            "version",
            help="set it to true for what FULL_SHARD did",
        )


@relation(
    "INV530", "ranks-stay-uninitialised", "accelerate",
    loading=value("fsdp_config.fsdp_cpu_ram_efficient_loading"), sync=value("fsdp_config.fsdp_sync_module_states"),
    topics=("memory",),
    bad="compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n"
    "  fsdp_cpu_ram_efficient_loading: true\n  fsdp_sync_module_states: false\nmixed_precision: bf16\nnum_processes: 8",
    good="compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n"
    "  fsdp_cpu_ram_efficient_loading: true\n  fsdp_sync_module_states: true\nmixed_precision: bf16\nnum_processes: 8",
    source="accelerate 1.15.0, `utils/launch.py`: ValueError.",
)  # fmt: skip
def uninitialised(o: Operands) -> Iterator[Finding]:
    """Where one rank alone loads the weights, it has to send them to the others."""
    if o.loading is True and o.sync is False:
        yield o.fault(
            "sync",
            f"{o('sync')} with fsdp_cpu_ram_efficient_loading true: one rank loads, and the others would stay empty",
            "loading",
            help="set fsdp_sync_module_states to true",
        )


RULES: tuple[Rule, ...] = tuple(relations(globals()))
