"""INV214 to INV223, INV227: DeepSpeed's batch, words, optimizers, mixtures of experts and ZenFlow."""

from __future__ import annotations

from grpo_lint.diagnostics import ERROR, WARNING
from grpo_lint.rules.invariants.deepspeed_config import MICRO, STAGE, STEPS, TRAIN, ZERO, example, json_example
from grpo_lint.rules.invariants.huggingface import PROGRAM as WITH_TRAINER
from grpo_lint.rules.invariants.huggingface import TRAINERS, on_trainer
from grpo_lint.rules.invariants.relation import Operands, argument, flag, listed, number, relation, relations, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Finding, Rule

CLIP = {"gradient_clipping": "1.0"}
EXPERTS = {"expert_parallel": '{"enabled": true}'}
PROGRAM = "$ deepspeed --num_gpus 8 train.py"


def _number(value: object) -> bool:
    return type(value) in (int, float)


@relation(
    "INV214", "no-batch-size", "deepspeed",
    train=value(TRAIN), micro=value(MICRO), stage=value(STAGE),
    severity=WARNING,
    when=lambda run: bool(run.command),
    topics=("batch",),
    files={
        "ds.json": '{"gradient_accumulation_steps": 4, "gradient_clipping": 1.0,\n "zero_optimization": {"stage": 2}}',
        "full.json": '{"train_batch_size": 64, "gradient_clipping": 1.0,\n "zero_optimization": {"stage": 2}}',
    },
    bad=f"{PROGRAM} --deepspeed_config ds.json",
    good=f"{PROGRAM} --deepspeed_config full.json",
    unless="A config that no launch names may be completed by the program that reads it; so may one that a program "
    "reads by itself, which is why this is a warning where Hugging Face's Trainer is not the program.",
    source="DeepSpeed 0.14.2 to 0.19.8 `runtime/config.py`: `_set_batch_related_parameters`. transformers 5.24.0 "
    '`integrations/deepspeed.py` and accelerate 1.15.0 fill in values that are "auto", and none that are missing.',
)  # fmt: skip
def no_batch(o: Operands) -> Iterator[Finding]:
    """A batch size can't be worked out from the accumulation steps alone."""
    if o["train"].unset and o["micro"].unset and not o["stage"].unset:
        trainer = o.run.framework in TRAINERS
        yield o.fault(
            "stage",
            f"neither {TRAIN} nor {MICRO} is in DeepSpeed's config: DeepSpeed asks for one of them",
            help=f'add {MICRO}, "auto" where Hugging Face\'s Trainer is to fill it in',
            severity=ERROR if trainer else None,
        )


@relation(
    "INV215", "batch-of-nothing", "deepspeed",
    train=value(TRAIN), micro=value(MICRO), steps=value(STEPS),
    topics=("batch",),
    bad=json_example(train_batch_size="32", gradient_accumulation_steps="0", **CLIP, zero_optimization='{"stage": 2}'),
    good=json_example(train_batch_size="32", gradient_accumulation_steps="1", **CLIP, zero_optimization='{"stage": 2}'),
    source="DeepSpeed 0.14.2 to 0.19.8 `runtime/config.py`: `_batch_assertion`.",
)  # fmt: skip
def empty_batch(o: Operands) -> Iterator[Finding]:
    """Batch, micro-batch and accumulation steps are each at least 1; where they are worked out, the same holds."""
    for name in ("train", "micro", "steps"):
        if _number(o[name].value) and o[name].value <= 0:
            yield o.fault(name, f"{o(name)}: DeepSpeed wants more than 0", help="set it to 1 or more")
            return
    parts = [o[name].value for name in ("micro", "steps") if _number(o[name].value)]
    if _number(o.train) and len(parts) == 1 and o.train < parts[0]:
        name, other = ("micro", STEPS) if _number(o.micro) else ("steps", MICRO)
        yield o.fault(
            "train",
            f"{o('train')} is less than {o(name)}: {other} comes to 0, which DeepSpeed refuses",
            name,
            help=f"set {TRAIN} to {parts[0]} times the number of GPUs, or a multiple of that",
        )


WORDS = {
    # operand: (the words, whether they are read without regard to case)
    "reduce": (("mean", "sum"), True),
    "wire": (("fp32", "fp16", "bf16"), True),
    "tag": (("warn", "ignore", "fail"), True),
    "autocast": (
        ("torch.float16", "fp16", "float16", "half", "torch.float32", "fp32", "float32", "float", "torch.int8", "int8",
         "torch.bfloat16", "bf16", "bfloat16"), False,
    ),
}  # fmt: skip


@relation(
    "INV216", "word-that-deepspeed-does-not-know", "deepspeed",
    reduce=value("gradient_allreduce_op"), wire=value("communication_data_type"),
    tag=value("checkpoint.tag_validation"), autocast=value("torch_autocast.dtype"), scale=value("fp16.loss_scale"),
    modules=value("torch_autocast.lower_precision_safe_modules"), keep=value("data_types.keep_in_fp32_modules"),
    topics=("precision", "zero"),
    bad=example('{"stage": 2}', **CLIP, communication_data_type='"bfloat16"'),
    good=example('{"stage": 2}', **CLIP, communication_data_type='"bf16"'),
    unless="`gradient_allreduce_op` is read from 0.19.6 on, and `keep_in_fp32_modules` from 0.19.8 on; releases before "
    "them ignore the key.",
    source="DeepSpeed 0.19.8 `runtime/config.py`: `get_communication_data_type`, `get_gradient_allreduce_op`, "
    "`get_torch_autocast_dtype`, `get_checkpoint_tag_validation_mode`; `runtime/precision_config.py`.",
)  # fmt: skip
def words(o: Operands) -> Iterator[Finding]:
    """A few options take one of a few words, which DeepSpeed checks when it starts."""
    for name, (known, folds) in WORDS.items():
        text = o[name].value
        if isinstance(text, str) and text != "auto" and (text.lower() if folds else text) not in known:
            shown = [word for word in known if "." not in word]
            yield o.fault(name, f"DeepSpeed knows no {o[name].key} {text}", help=f"use {listed(shown)}")
    if isinstance(o.scale, bool):
        yield o.fault(
            "scale", f"{o['scale'].key} is a bool: DeepSpeed wants a number", help="set it to 0 for a dynamic scale"
        )
    for name in ("modules", "keep"):
        names = o[name].value
        wrong = isinstance(names, list) and not all(isinstance(each, str) for each in names)
        if wrong or (name == "keep" and isinstance(names, str) and names != "auto"):
            yield o.fault(
                name, f"{o[name].key} is no list of names, which DeepSpeed refuses", help="give a list of names"
            )


LIKE_ADAMW = ("adamw_torch", "adamw_torch_fused", "adamw_hf", "adamw_torch_xla", "adamw_torch_npu_fused", "adamw_bnb")
KEPT = ("lion_32bit", "paged_lion_32bit", "paged_adamw_32bit", "paged_adamw", "adagrad", "lion", "paged_lion")
"""Optimizers of Hugging Face's Trainer that have a counterpart on the CPU, which accelerate takes."""


@relation(
    "INV217", "optimizer-replaced-by-cpu-adam", "deepspeed",
    device=value(f"{ZERO}.offload_optimizer.device"), own=value("optimizer.type"),
    force=value("zero_force_ds_cpu_optimizer"), chosen=argument("--optim"),
    when=on_trainer,
    severity=WARNING,
    mentions=("offload_optimizer",),
    topics=("offload", "optimizer"),
    files={
        "ds.json": '{"train_micro_batch_size_per_gpu": "auto", "gradient_clipping": 1.0,\n'
        ' "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}}}'
    },
    bad=f"{WITH_TRAINER} --per_device_train_batch_size 4 --optim adafactor",
    good=f"{WITH_TRAINER} --per_device_train_batch_size 4 --optim adamw_torch",
    unless="With `zero_force_ds_cpu_optimizer` false the optimizer stays, and with a block `optimizer` in the JSON "
    "that one counts.",
    source="accelerate 0.24.0 to 1.15.0 `accelerator.py`: `_prepare_deepspeed`; `utils/deepspeed.py`: "
    "`map_pytorch_optim_to_deepspeed`. DeepSpeed 0.19.8 `runtime/engine.py`: `_configure_optimizer` refuses others.",
)  # fmt: skip
def replaced(o: Operands) -> Iterator[Finding]:
    """With the optimizer state on the CPU, accelerate takes DeepSpeed's own Adam in place of most optimizers.

    The run then trains with Adam, whatever its arguments say, and no message tells. For an 8-bit AdamW weight decay
    is no longer decoupled either.
    """
    if o.device not in ("cpu", "nvme") or o.own is not None or o.force is False or not o["chosen"].explicit:
        return
    name = o.chosen
    if isinstance(name, str) and name not in LIKE_ADAMW and name not in KEPT:
        yield o.fault(
            "chosen",
            f"{o('chosen')} with the optimizer offloaded to {o.device}: accelerate puts DeepSpeedCPUAdam in its place",
            "device",
            help="use adamw_torch, set zero_force_ds_cpu_optimizer to false, or don't offload the optimizer",
        )


UNTESTED = ("lamb", "sgd", "rmsprop", "adamax", "nadam", "radam", "asgd", "adadelta", "rprop", "sparseadam")
WITHOUT_ZERO = ("onebitadam", "zerooneadam", "onebitlamb")


@relation(
    "INV218", "optimizer-untested-with-zero", "deepspeed",
    type=value("optimizer.type"), stage=number(STAGE), allow=flag("zero_allow_untested_optimizer"),
    scale=value("fp16.loss_scale"), half=flag("fp16.enabled"), device=value(f"{ZERO}.offload_optimizer.device"),
    mentions=("optimizer.type",),
    topics=("zero", "optimizer"),
    bad=example('{"stage": 1}', **CLIP, optimizer='{"type": "SGD", "params": {"lr": 1e-3}}'),
    good=example(
        '{"stage": 1}', **CLIP, optimizer='{"type": "SGD", "params": {"lr": 1e-3}}',
        zero_allow_untested_optimizer="true",
    ),
    unless="Without ZeRO any optimizer goes. An offloaded optimizer without a version for the CPU is DO01's.",
    source="DeepSpeed 0.14.2 to 0.19.8 `runtime/engine.py`: `_do_optimizer_sanity_check`, "
    "`_configure_basic_optimizer`, `_do_sanity_check`; `runtime/zero/utils.py`: `ZERO_SUPPORTED_OPTIMIZERS`.",
)  # fmt: skip
def untested(o: Operands) -> Iterator[Finding]:
    """ZeRO is tested with Adam, AdamW, Adagrad, Lion and Muon; others have to be allowed, and some are refused."""
    name = o.type.lower() if isinstance(o.type, str) else ""
    if o.device in ("cpu", "nvme"):
        return
    if o.stage >= 1 and name in WITHOUT_ZERO:
        yield o.fault("type", f"optimizer.{o('type')} doesn't go with ZeRO, which DeepSpeed asserts", "stage")
    elif o.stage >= 1 and name in UNTESTED and not o.allow:
        yield o.fault(
            "type",
            f"optimizer.{o('type')} is untested with ZeRO {o('stage')}, and DeepSpeed refuses it",
            "stage",
            help="set zero_allow_untested_optimizer to true, or use AdamW",
        )
    elif name == "lamb" and o.half and _number(o.scale) and o.scale > 0:
        yield o.fault(
            "scale",
            f"fp16.{o('scale')} with LAMB: DeepSpeed wants a dynamic loss scale",
            "type",
            help="set fp16.loss_scale to 0",
        )


@relation(
    "INV219", "accumulation-that-the-program-manages", "deepspeed",
    managed=value("managed_gradient_accumulation"), stage=value(STAGE), overlap=flag(f"{ZERO}.overlap_comm"),
    compile=flag("compile.deepcompile"),
    mentions=("managed_gradient_accumulation",),
    topics=("batch", "overlap"),
    bad=example('{"stage": 1, "overlap_comm": true}', **CLIP, managed_gradient_accumulation="false"),
    good=example('{"stage": 2, "overlap_comm": true}', **CLIP, managed_gradient_accumulation="false"),
    target="deepspeed=0.19.8",
    source="DeepSpeed 0.19.4 to 0.19.8 `runtime/engine.py`: `_do_sanity_check`. The option is new in 0.19.4.",
)  # fmt: skip
def managed(o: Operands) -> Iterator[Finding]:
    """A program that marks the end of accumulation itself can't have gradients of stage 1 reduced on the way."""
    if o.managed is not False:
        return
    if o.overlap and o.stage in (None, 0, 1):
        yield o.fault(
            "overlap",
            "overlap_comm with managed_gradient_accumulation false needs ZeRO stage 2 or 3",
            "managed",
            "stage",
        )
    elif o.compile:
        yield o.fault(
            "compile", "DeepCompile with managed_gradient_accumulation false, which DeepSpeed refuses", "managed"
        )


@relation(
    "INV220", "muon-with-quantised-gradients", "deepspeed",
    type=value("optimizer.type"), stage=number(STAGE), quantised=flag(f"{ZERO}.zero_quantized_gradients"),
    since="0.18.9",
    mentions=("zero_quantized_gradients",),
    topics=("zero", "optimizer"),
    bad=example(
        '{"stage": 3, "reduce_scatter": false, "zero_quantized_gradients": true}', gradient_clipping="0.0",
        optimizer='{"type": "Muon", "params": {"lr": 2e-4}}',
    ),
    good=example(
        '{"stage": 3, "reduce_scatter": false}', gradient_clipping="0.0",
        optimizer='{"type": "Muon", "params": {"lr": 2e-4}}',
    ),
    target="deepspeed=0.19.8",
    source='DeepSpeed 0.18.9 to 0.19.8 `runtime/zero/stage3.py`: "Muon and all2all process group cannot be used '
    'together" (not in 0.17.6).',
)  # fmt: skip
def quantised_muon(o: Operands) -> Iterator[Finding]:
    """Muon orthogonalises whole gradients, which ZeRO++'s quantised exchange doesn't bring together."""
    if o.stage == 3 and o.quantised and isinstance(o.type, str) and o.type.lower() == "muon":
        yield o.fault(
            "quantised", "zero_quantized_gradients true with Muon at stage 3, which DeepSpeed refuses", "type"
        )


@relation(
    "INV221", "mixture-without-its-gradients", "deepspeed",
    on=flag("expert_parallel.enabled"), stage=number(STAGE), contiguous=value(f"{ZERO}.contiguous_gradients"),
    scatter=value(f"{ZERO}.reduce_scatter"),
    mentions=("expert_parallel",),
    topics=("moe", "zero"),
    bad=example('{"stage": 2, "contiguous_gradients": false}', **CLIP, **EXPERTS),
    good=example('{"stage": 2, "contiguous_gradients": true}', **CLIP, **EXPERTS),
    unless="Whether a model has DeepSpeed's own MoE layers is not in its config: only `expert_parallel` tells.",
    source="DeepSpeed 0.14.2 to 0.19.8 `runtime/zero/stage_1_and_2.py`: `_configure_moe_settings`.",
)  # fmt: skip
def moe_gradients(o: Operands) -> Iterator[Finding]:
    """Gradients of experts go by contiguous buffers that are scattered while they are reduced."""
    if not o.on or o.stage not in (1, 2):
        return
    if o.contiguous is False and o.stage == 2:
        yield o.fault("contiguous", "contiguous_gradients false with experts at stage 2, which DeepSpeed refuses", "on")
    if o.scatter is False:
        yield o.fault("scatter", f"reduce_scatter false with experts at {o('stage')}, which DeepSpeed refuses", "on")


@relation(
    "INV222", "experts-at-stage-3", "deepspeed",
    on=flag("expert_parallel.enabled"), stage=number(STAGE), sequence=value("sequence_parallel_size"),
    quantised=flag(f"{ZERO}.zero_quantized_gradients"), secondary=value(f"{ZERO}.zero_hpz_partition_size"),
    tensor=value("expert_parallel.expert_tensor_parallel_size"),
    mentions=("expert_parallel",),
    topics=("moe", "zero", "parallel"),
    bad=example('{"stage": 3, "zero_hpz_partition_size": 8}', **CLIP, **EXPERTS),
    good=example('{"stage": 3}', **CLIP, **EXPERTS),
    source="DeepSpeed 0.19.8 `runtime/engine.py`: AutoEP with ZeRO stage 3 raises AssertionError.",
)  # fmt: skip
def moe_stage_3(o: Operands) -> Iterator[Finding]:
    """Expert parallelism at stage 3 goes without sequence parallelism and most of ZeRO++."""
    if not o.on or o.stage != 3:
        return
    large = (name for name in ("sequence", "secondary", "tensor") if type(o[name].value) is int and o[name].value > 1)
    name = "quantised" if o.quantised else next(large, "")
    if name:
        yield o.fault(name, f"{o(name)} with expert_parallel at stage 3, which DeepSpeed refuses", "on", "stage")


@relation(
    "INV223", "accumulation-type-without-zero", "deepspeed",
    stage=value(STAGE), bf16=value("bf16.enabled"), fp16=value("fp16.enabled"),
    kind=value("data_types.grad_accum_dtype"), norm=value(f"{ZERO}.compute_grad_norm"),
    device=value(f"{ZERO}.offload_optimizer.device"), amp=value("amp.enabled"),
    mentions=("grad_accum_dtype",),
    topics=("precision", "zero"),
    bad=example('{"stage": 0}', **CLIP, bf16='{"enabled": true}', data_types='{"grad_accum_dtype": "fp32"}'),
    good=example('{"stage": 1}', **CLIP, bf16='{"enabled": true}', data_types='{"grad_accum_dtype": "fp32"}'),
    target="deepspeed=0.19.8",
    source="DeepSpeed 0.19.8 `runtime/engine.py`: `_do_optimizer_sanity_check` raises NotImplementedError; up to "
    "0.17.6 bf16 with fp32 gradients had an optimizer of its own.",
)  # fmt: skip
def accumulation_type(o: Operands) -> Iterator[Finding]:
    """Without ZeRO, gradients are accumulated in the type of the model; at stage 1 bf16 may have fp32 gradients."""
    names = {"fp16": "fp16", "float16": "fp16", "half": "fp16", "bf16": "bf16", "bfloat16": "bf16", "fp32": "fp32"}
    kind = names.get(str(o.kind), "")
    if not kind or o.amp is True or not all(each in (None, True, False) for each in (o.bf16, o.fp16)):
        return
    model = "bf16" if o.bf16 is True else "fp16" if o.fp16 is True else "fp32"
    if o.stage in (None, 0) and kind != model and not (model == "bf16" and kind == "fp32" and not _new(o)):
        yield o.fault(
            "kind",
            f"{o('kind')} for a model in {model} without ZeRO, which DeepSpeed does not implement",
            "stage", "bf16", "fp16",
            help="remove data_types.grad_accum_dtype, or use ZeRO stage 1",
        )  # fmt: skip
    elif o.stage == 1 and (model, kind) == ("bf16", "fp32") and o.norm is False and o.device in (None, "none"):
        yield o.fault(
            "norm", "compute_grad_norm false at stage 1 for bf16 with fp32 gradients, which DeepSpeed refuses", "kind"
        )


def _new(o: Operands) -> bool:
    """Whether the release is known to have no optimizer for bf16 with fp32 gradients outside ZeRO."""
    return o.run.before("deepspeed", "0.18.9") is False


@relation(
    "INV227", "zero-as-a-switch", "deepspeed",
    stage=value(STAGE),
    severity=WARNING,
    topics=("zero",),
    bad='{\n  "train_micro_batch_size_per_gpu": 1,\n  "gradient_clipping": 1.0,\n  "zero_optimization": true\n}',
    good=example('{"stage": 1}', gradient_clipping="1.0"),
    source="DeepSpeed 0.14.2 to 0.19.8 `runtime/zero/config.py`: `read_zero_config_deprecated`.",
)  # fmt: skip
def switch(o: Operands) -> Iterator[Finding]:
    """`zero_optimization: true` is the spelling of a first release, and means stage 1.

    Stage 2 or 3, offloading and all else that the block could say are left out.
    """
    span = o["stage"].origin.span if o["stage"].origin is not None else None
    if o.stage == 1 and span is not None and span.text == "true":
        yield o.fault(
            "stage",
            "zero_optimization true is deprecated: it means stage 1",
            help='write {"stage": 1}, or the stage that is meant',
        )


RULES: tuple[Rule, ...] = tuple(relations(globals()))
