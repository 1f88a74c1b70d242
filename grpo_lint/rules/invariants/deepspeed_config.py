"""INV202 to INV219: what DeepSpeed refuses in its own JSON."""

from __future__ import annotations

from grpo_lint.diagnostics import NOTE, WARNING
from grpo_lint.rules.invariants.relation import Operands, flag, number, processes, relation, relations, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Finding, Rule

ZERO = "zero_optimization"
STAGE = f"{ZERO}.stage"
TRAIN, MICRO, STEPS = "train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"


def json_example(**blocks: str) -> str:
    """An example file of a few keys, each with its value as JSON."""
    return "{\n" + ",\n".join(f'  "{key}": {text}' for key, text in blocks.items()) + "\n}"


def example(zero: str, **blocks: str) -> str:
    return json_example(train_micro_batch_size_per_gpu="1", **blocks, zero_optimization=zero)


@relation(
    "INV202", "batch-chain", "deepspeed",
    train=number(TRAIN), micro=number(MICRO), steps=number(STEPS),
    topics=("batch",),
    bad=json_example(
        train_batch_size="100", train_micro_batch_size_per_gpu="4", gradient_accumulation_steps="8",
        zero_optimization='{"stage": 2}', gradient_clipping="1.0",
    ),
    good=json_example(
        train_batch_size="128", train_micro_batch_size_per_gpu="4", gradient_accumulation_steps="8",
        zero_optimization='{"stage": 2}', gradient_clipping="1.0",
    ),
    source="DeepSpeed 0.19.8 `runtime/config.py`: `_batch_assertion`; the same in 0.14.2.",
)  # fmt: skip
def batch_chain(o: Operands) -> Iterator[Finding]:
    """A batch is the micro-batch, times the accumulation steps, times the number of GPUs.

    DeepSpeed works out the one of the three that is missing; where all are given they have to agree.
    """
    each = o.micro * o.steps
    if each > 0 and o.train % each:
        yield o.fault(
            "train",
            f"{o('train')} is not a multiple of {o('micro')} x {o('steps')} = {each}: with no number of GPUs do they"
            " agree, and DeepSpeed refuses them",
            "micro",
            "steps",
            help=f"remove one of the three, or set {TRAIN} to a multiple of {each}",
        )


@relation(
    "INV203", "batch-chain-of-the-launch", "deepspeed",
    train=number(TRAIN), micro=value(MICRO), steps=value(STEPS), world=processes(),
    sequence=value("sequence_parallel_size"), mesh=value("data_parallel_size"),
    tensor=value("tensor_parallel.autotp_size"),
    severity=WARNING,
    topics=("batch", "parallel"),
    files={
        "ds.json": json_example(
            train_batch_size="48", train_micro_batch_size_per_gpu="4", gradient_clipping="1.0",
            zero_optimization='{"stage": 2}',
        )
    },
    bad="$ deepspeed --num_gpus 8 train.py --deepspeed_config ds.json",
    good="$ deepspeed --num_gpus 6 train.py --deepspeed_config ds.json",
    unless="Where the launcher is not told how many GPUs to take, it takes what the machine has. A program may group "
    "its processes into pipelines or tensor-parallel groups of its own: that is why this is a warning.",
    source="DeepSpeed 0.19.8 `runtime/config.py`: `_set_batch_related_parameters`, `_batch_assertion`.",
)  # fmt: skip
def batch_chain_of_launch(o: Operands) -> Iterator[Finding]:
    """With the number of GPUs known, the batch has to be the micro-batch times the steps times that number.

    A value that is left out is worked out by a division that drops the rest, and then the product no longer agrees.
    """
    given = [(name, o[name].value) for name in ("micro", "steps") if type(o[name].value) is int and o[name].value > 0]
    if len(given) == 2 and o.train % (given[0][1] * given[1][1]):
        return  # told without any launch
    ranks = o.world // o.sequence if type(o.sequence) is int and o.sequence > 0 else o.world
    if ranks < 1 or o.mesh is not None or o.tensor is not None:
        return
    each = ranks
    for _, factor in given:
        each *= factor
    wrong = o.train != each if len(given) == 2 else bool(o.train % each)
    if wrong:
        told = " x ".join([*(o(name) for name, _ in given), f"{ranks} GPUs"])
        yield o.fault(
            "train",
            f"{o('train')} is not {'' if len(given) == 2 else 'a multiple of '}{told} = {each}: DeepSpeed refuses it",
            *(name for name, _ in given),
            "world",
            help=f"set {TRAIN} to {each}, or remove it" if len(given) == 2 else f"set {TRAIN} to a multiple of {each}",
        )


@relation(
    "INV204", "number-in-quotes", "deepspeed",
    train=value(TRAIN), micro=value(MICRO), steps=value(STEPS), clip=value("gradient_clipping"),
    topics=("batch",),
    bad=json_example(train_micro_batch_size_per_gpu='"8"', gradient_clipping="1.0", zero_optimization='{"stage": 2}'),
    good=json_example(train_micro_batch_size_per_gpu="8", gradient_clipping="1.0", zero_optimization='{"stage": 2}'),
    unless='"auto" is a word that trainers replace.',
    source="DeepSpeed 0.19.8 `runtime/config.py`: these are read without a conversion and compared with 0.",
)  # fmt: skip
def quoted(o: Operands) -> Iterator[Finding]:
    """DeepSpeed takes numbers as they stand, and a number in quotes is text."""
    for name in ("train", "micro", "steps", "clip"):
        text = o[name].value
        if isinstance(text, str) and text.replace(".", "", 1).isdigit():
            yield o.fault(
                name,
                f'{o[name].key} is the text "{text}", not a number: DeepSpeed fails to compare it',
                help="take the quotes away",
            )


@relation(
    "INV206", "summed-gradients", "deepspeed",
    op=value("gradient_allreduce_op"), stage=value(STAGE), compile=flag("compile.deepcompile"),
    zenflow=value(f"{ZERO}.zenflow.topk_ratio", f"{ZERO}.zenflow.select_strategy", f"{ZERO}.zenflow.update_interval"),
    since="0.19.6",
    topics=("zero",),
    bad=example('{"stage": 3}', gradient_clipping="1.0", gradient_allreduce_op='"sum"'),
    good=example('{"stage": 2}', gradient_clipping="1.0", gradient_allreduce_op='"sum"'),
    target="deepspeed=0.19.8",
    source="DeepSpeed 0.19.8 `runtime/config.py`: `_do_error_check`.",
)  # fmt: skip
def summed(o: Operands) -> Iterator[Finding]:
    """Gradients that are summed rather than averaged go with ZeRO up to stage 2, without ZenFlow or DeepCompile."""
    if not isinstance(o.op, str) or o.op.lower() != "sum":
        return
    other = "stage" if o.stage == 3 else "compile" if o.compile else "zenflow" if not o["zenflow"].unset else ""
    if other:
        told = {"stage": "stage 3", "compile": "DeepCompile", "zenflow": "ZenFlow"}[other]
        yield o.fault(
            "op",
            f"gradient_allreduce_op sum is not supported with {told}",
            other,
            help='set it to "mean", or remove it',
        )


@relation(
    "INV207", "low-precision-masters-without-zero", "deepspeed",
    stage=value(STAGE), fp16=flag("fp16.fp16_master_weights_and_grads"),
    bf16=flag("bf16.bf16_master_weights_and_grads"), states=flag("bf16.bf16_optimizer_states"),
    topics=("zero", "precision"),
    bad=json_example(
        train_micro_batch_size_per_gpu="1", gradient_clipping="1.0", zero_optimization='{"stage": 0}',
        bf16='{"enabled": true, "bf16_master_weights_and_grads": true}',
    ),
    good=json_example(
        train_micro_batch_size_per_gpu="1", gradient_clipping="1.0", zero_optimization='{"stage": 2}',
        bf16='{"enabled": true, "bf16_master_weights_and_grads": true}',
    ),
    source="DeepSpeed 0.19.8 `runtime/config.py`: `_do_error_check`.",
)  # fmt: skip
def masters(o: Operands) -> Iterator[Finding]:
    """Master weights and optimizer states in half precision are ZeRO's, at stage 1 or above."""
    for name in ("fp16", "bf16", "states"):
        if o[name].value is True and o.stage in (None, 0):
            yield o.fault(
                name,
                f"{o[name].key} needs ZeRO stage 1, 2 or 3, and {o('stage') if o.stage == 0 else 'none is set'}",
                "stage",
            )
            return
    if o.states and not o.bf16:
        yield o.fault(
            "states",
            "bf16.bf16_optimizer_states needs bf16_master_weights_and_grads: DeepSpeed asserts it",
            "bf16",
            help="set bf16.bf16_master_weights_and_grads to true",
        )


@relation(
    "INV208", "clip-value-in-optimizer", "deepspeed",
    clip=value("optimizer.params.max_grad_norm"), type=value("optimizer.type"),
    topics=("clipping",),
    bad=json_example(
        train_micro_batch_size_per_gpu="1", zero_optimization='{"stage": 2}', gradient_clipping="1.0",
        optimizer='{"type": "AdamW", "params": {"lr": 1e-6, "max_grad_norm": 1.0}}',
    ),
    good=json_example(
        train_micro_batch_size_per_gpu="1", zero_optimization='{"stage": 2}', gradient_clipping="1.0",
        optimizer='{"type": "AdamW", "params": {"lr": 1e-6}}',
    ),
    source="DeepSpeed 0.14.2 to 0.19.8 `runtime/engine.py`: `_configure_basic_optimizer` raises ValueError.",
)  # fmt: skip
def clip_in_optimizer(o: Operands) -> Iterator[Finding]:
    """DeepSpeed clips by its own key, and its optimizers take no clip value."""
    if not o["clip"].unset:
        yield o.fault(
            "clip",
            "optimizer.params.max_grad_norm is refused: DeepSpeed takes the clip value as gradient_clipping",
            "type",
            help="move it to gradient_clipping at the top",
        )


@relation(
    "INV209", "norm-is-needed", "deepspeed",
    norm=value(f"{ZERO}.compute_grad_norm"), stage=value(STAGE), clip=value("gradient_clipping"),
    device=value(f"{ZERO}.offload_optimizer.device"),
    zenflow=value(f"{ZERO}.zenflow.topk_ratio", f"{ZERO}.zenflow.select_strategy", f"{ZERO}.zenflow.update_interval"),
    since="0.19.7",
    topics=("zero", "clipping"),
    bad=example('{"stage": 2, "compute_grad_norm": false}', gradient_clipping="1.0"),
    good=example('{"stage": 2, "compute_grad_norm": true}', gradient_clipping="1.0"),
    target="deepspeed=0.19.8",
    source="DeepSpeed 0.19.8 `runtime/zero/config.py`: `compute_grad_norm_valid`; `stage_1_and_2.py`: `__init__`.",
)  # fmt: skip
def norm_needed(o: Operands) -> Iterator[Finding]:
    """Clipping needs the norm of the gradients, and only stages 1 and 2 can do without it."""
    if o.norm is not False:
        return
    if o.stage in (None, 0, 3):
        yield o.fault("norm", "compute_grad_norm false is supported with ZeRO stage 1 or 2 alone", "stage")
    elif type(o.clip) in (int, float) and o.clip > 0:
        yield o.fault("norm", f"compute_grad_norm false with {o('clip')}: DeepSpeed refuses to clip by no norm", "clip")
    elif o.device not in (None, "none"):
        yield o.fault("norm", "compute_grad_norm false does not go with an offloaded optimizer", "device")
    elif not o["zenflow"].unset:
        yield o.fault("norm", "compute_grad_norm false does not go with ZenFlow", "zenflow")


@relation(
    "INV210", "partial-offload", "deepspeed",
    ratio=number(f"{ZERO}.offload_optimizer.ratio"), stage=value(STAGE),
    topics=("zero", "offload"),
    bad=example('{"stage": 2, "offload_optimizer": {"device": "cpu", "ratio": 0.5}}', gradient_clipping="1.0"),
    good=example('{"stage": 3, "offload_optimizer": {"device": "cpu", "ratio": 0.5}}', gradient_clipping="1.0"),
    source="DeepSpeed 0.19.8 `runtime/zero/config.py`: `offload_ratio_check`; the same in 0.14.2.",
)  # fmt: skip
def partial_offload(o: Operands) -> Iterator[Finding]:
    """A part of the optimizer state is offloaded at stage 3 alone."""
    if o.ratio < 1 and o.stage != 3:
        yield o.fault(
            "ratio",
            f"offload_optimizer.{o('ratio')} needs ZeRO stage 3: DeepSpeed refuses it",
            "stage",
            help="set ratio to 1.0, or use stage 3",
        )


@relation(
    "INV211", "loss-scale", "deepspeed",
    scale=value("fp16.loss_scale"), on=value("fp16.enabled"), window=value("fp16.loss_scale_window"),
    least=value("fp16.min_loss_scale"),
    topics=("precision",),
    bad=example('{"stage": 2}', gradient_clipping="1.0", fp16='{"enabled": true, "loss_scale": -1}'),
    good=example('{"stage": 2}', gradient_clipping="1.0", fp16='{"enabled": true, "loss_scale": 0}'),
    source="DeepSpeed 0.19.8 `runtime/precision_config.py`.",
)  # fmt: skip
def loss_scale(o: Operands) -> Iterator[Finding]:
    """A loss scale is 0, for a dynamic one, or a positive number."""
    if isinstance(o.scale, (int, float)) and not isinstance(o.scale, bool) and o.scale < 0:
        yield o.fault("scale", f"fp16.{o('scale')} is refused: 0 means dynamic, else it is a positive number")
    if o.on is True and o.scale in (0, None):
        for name in ("window", "least"):
            if type(o[name].value) in (int, float) and o[name].value <= 0:
                yield o.fault(
                    name, f"fp16.{o(name)} with a dynamic loss scale: DeepSpeed wants a positive number", "scale"
                )


@relation(
    "INV212", "scaled-gradients-with-reduce-scatter", "deepspeed",
    stage=number(STAGE), factor=value("gradient_predivide_factor"), pre=flag("prescale_gradients"),
    scatter=value(f"{ZERO}.reduce_scatter"),
    topics=("zero",),
    bad=example('{"stage": 2}', gradient_clipping="1.0", prescale_gradients="true"),
    good=example('{"stage": 2}', gradient_clipping="1.0", prescale_gradients="false"),
    unless="At stage 1, and with `reduce_scatter` false, gradients may be scaled.",
    source="DeepSpeed 0.19.8 `runtime/zero/stage_1_and_2.py`, `stage3.py`: \"pre-scale gradients is not yet "
    "supported\". `reduce_scatter`: default true.",
)  # fmt: skip
def prescaled(o: Operands) -> Iterator[Finding]:
    """Stages 2 and 3 scatter gradients while they reduce them, and scale them themselves."""
    if o.stage not in (2, 3) or o.scatter is False:
        return
    if o.pre:
        yield o.fault(
            "pre", f"prescale_gradients is refused at {o('stage')} with reduce_scatter", "stage", help="remove it"
        )
    elif type(o.factor) in (int, float) and o.factor != 1:
        yield o.fault(
            "factor", f"{o('factor')} is refused at {o('stage')} with reduce_scatter", "stage", help="set it to 1"
        )


@relation(
    "INV213", "elastic-checkpoint-at-stage-3", "deepspeed",
    elastic=flag(f"{ZERO}.elastic_checkpoint"), stage=number(STAGE),
    severity=NOTE,
    topics=("zero", "checkpoint"),
    bad=example('{"stage": 3, "elastic_checkpoint": true}', gradient_clipping="1.0"),
    good=example('{"stage": 3, "elastic_checkpoint": false}', gradient_clipping="1.0"),
    source="DeepSpeed 0.19.8 `runtime/zero/config.py`: `elastic_checkpoint_deprecated`, a warning.",
)  # fmt: skip
def elastic(o: Operands) -> Iterator[Finding]:
    """Elastic checkpoints exist at stages 1 and 2; stage 3 has universal checkpoints."""
    if o.elastic and o.stage == 3:
        yield o.fault(
            "elastic", "elastic_checkpoint has no effect at stage 3", "stage", help="use universal checkpoints"
        )


RULES: tuple[Rule, ...] = tuple(relations(globals()))
