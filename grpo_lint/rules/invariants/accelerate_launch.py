"""INV540 to INV544: `accelerate launch`, and the configs that it names."""

from __future__ import annotations

from grpo_lint.frameworks import deepspeed
from grpo_lint.rules.invariants.huggingface import PROGRAM, on_trainer
from grpo_lint.rules.invariants.relation import Operands, given, relation, relations, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Finding, Rule
    from grpo_lint.runconfig import RunConfig

CHECK = "accelerate 1.15.0, `commands/launch.py`: `_validate_launch_command`"
TRAIN = "train.py --output_dir out --per_device_train_batch_size 8 --learning_rate 1e-6 --bf16 True --logging_steps 10"
HEAD = (
    "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nnum_processes: 8\nmixed_precision: bf16\n"
    "fsdp_config:\n"
)
SAVE = "--gradient_checkpointing True --save_strategy no --report_to none"


@relation(
    "INV540", "several-backends", "accelerate",
    multi=value("--multi_gpu"), cpu=value("--cpu"), tpu=value("--tpu"), zero=value("--use_deepspeed"),
    fsdp=value("--use_fsdp"),
    mentions=("--multi_gpu", "--cpu", "--tpu", "--use_deepspeed", "--use_fsdp"),
    topics=("parallel",),
    bad=f"$ accelerate launch --multi_gpu --use_deepspeed --num_processes 8 {TRAIN} {SAVE}",
    good=f"$ accelerate launch --multi_gpu --num_processes 8 {TRAIN} {SAVE}",
    source=CHECK + ".",
)  # fmt: skip
def backends(o: Operands) -> Iterator[Finding]:
    """A launch has one backend: several GPUs, DeepSpeed, FSDP, a TPU or the CPU."""
    on = [name for name in ("multi", "cpu", "tpu", "zero", "fsdp") if getattr(o, name) is True]
    if len(on) > 1:
        names = " and ".join(o[name].key for name in on)
        yield o.fault(on[1], f"{names} exclude each other, which accelerate checks", on[0], help="keep one")


@relation(
    "INV541", "multi-gpu-with-one-process", "accelerate",
    multi=value("--multi_gpu"), count=value("--num_processes"),
    mentions=("--multi_gpu",),
    topics=("parallel",),
    bad=f"$ accelerate launch --multi_gpu --num_processes 1 {TRAIN} {SAVE}",
    good=f"$ accelerate launch --num_processes 1 {TRAIN} {SAVE}",
    source=CHECK + ".",
)  # fmt: skip
def one_process(o: Operands) -> Iterator[Finding]:
    """Several GPUs take several processes."""
    if o.multi is True and type(o.count) is int and o.count < 2:
        yield o.fault("multi", f"--multi_gpu with {o('count')}, which accelerate refuses", "count", help="remove it")


@relation(
    "INV542", "parallelism-without-fsdp2", "accelerate",
    on=value("--use_parallelism_config"), fsdp=value("--use_fsdp"), version=value("--fsdp_version"),
    mentions=("use_parallelism",),
    topics=("parallel",),
    bad=f"$ accelerate launch --num_processes 8 --use_parallelism_config --use_fsdp {TRAIN} {SAVE}",
    good="$ accelerate launch --num_processes 8 --use_parallelism_config --use_fsdp --fsdp_version 2"
    f" {TRAIN} {SAVE}",
    source=CHECK + "; `--fsdp_version`: default 1.",
)  # fmt: skip
def parallelism(o: Operands) -> Iterator[Finding]:
    """accelerate's own tensor and context parallelism stand on FSDP2."""
    on = o.on is True or str(o.on).lower() == "true"
    if on and (o.fsdp is not True or str(o.version) != "2"):
        yield o.fault(
            "on",
            "--use_parallelism_config without --use_fsdp and --fsdp_version 2, which accelerate refuses",
            "fsdp",
            "version",
            help="add --use_fsdp --fsdp_version 2",
        )


@relation(
    "INV543", "offloaded-checkpoints-need", "accelerate",
    offload=value("fsdp_config.fsdp_activation_checkpointing_offload"),
    checkpointing=value("fsdp_config.fsdp_activation_checkpointing"), version=value("fsdp_config.fsdp_version"),
    mentions=("checkpointing_offload",),
    topics=("memory",),
    bad=HEAD + "  fsdp_version: 2\n  fsdp_activation_checkpointing_offload: true",
    good=HEAD + "  fsdp_version: 2\n  fsdp_activation_checkpointing_offload: true\n"
    "  fsdp_activation_checkpointing: true",
    source="accelerate 1.15.0, `utils/dataclasses.py`: two ValueErrors of `FullyShardedDataParallelPlugin`.",
)  # fmt: skip
def offloaded(o: Operands) -> Iterator[Finding]:
    """What activation checkpointing keeps can be moved to the host, under FSDP2 and where there is checkpointing."""
    if o.offload is True and o.checkpointing is not True:
        yield o.fault(
            "offload",
            f"{o('offload')} without fsdp_activation_checkpointing, which accelerate refuses",
            "checkpointing",
            help="set fsdp_activation_checkpointing: true",
        )
    elif o.offload is True and o.version != 2:
        yield o.fault("offload", f"{o('offload')} without fsdp_version 2, which accelerate refuses", "version")


def through_accelerate(run: RunConfig) -> bool:
    """Whether accelerate hands DeepSpeed its config, as it does for Hugging Face's Trainer too."""
    named = run.option("accelerate", "deepspeed_config.deepspeed_config_file")
    return on_trainer(run) or named.explicit


@relation(
    "INV544", "no-zero-block", "deepspeed",
    batch=given("train_micro_batch_size_per_gpu"),
    when=through_accelerate,
    mentions=("--", "deepspeed_config"),
    topics=("zero",),
    files={"ds.json": '{"train_micro_batch_size_per_gpu": 8, "gradient_clipping": 1.0, "bf16": {"enabled": true}}',
           "zero.json": '{"train_micro_batch_size_per_gpu": 8, "gradient_clipping": 1.0, "bf16": {"enabled": true},\n'
           ' "zero_optimization": {"stage": 2}}'},
    bad=f"{PROGRAM} --per_device_train_batch_size 8 --bf16 True",
    good=f"{PROGRAM.replace('ds.json', 'zero.json')} --per_device_train_batch_size 8 --bf16 True",
    unless="DeepSpeed by itself, without accelerate, takes a config without one.",
    source="accelerate 1.15.0, `utils/dataclasses.py`: \"Please specify the ZeRO optimization config in the DeepSpeed "
    'config."',
)  # fmt: skip
def no_zero(o: Operands) -> Iterator[Finding]:
    """accelerate, and with it Hugging Face's Trainer, wants to be told the stage of ZeRO, be it 0."""
    keys = list(o.run.options.keys(deepspeed.NAME))
    filled = any(key.split(".")[0] in ("zero_optimization", "autotuning") for key in keys)  # the tuner adds stages
    if keys and not filled and o.run.complete:
        first = next(setting for _, _, setting in o.run.options.written(deepspeed.NAME) if setting.explicit)
        o.put("first", first, first.value)
        yield o.fault(
            "first",
            "DeepSpeed's config has no zero_optimization, which accelerate refuses",
            help='add "zero_optimization": {"stage": 0}, or the stage that you want',
        )


RULES: tuple[Rule, ...] = tuple(relations(globals()))
