"""INV301 to INV319: shapes and switches of Megatron, on its own command line and on slime's."""

from __future__ import annotations

from grpo_lint.rules.invariants.relation import (
    Operands,
    divisors,
    flag,
    listed,
    number,
    processes,
    relation,
    relations,
    value,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Finding, Rule

TP, PP, CP = "--tensor-model-parallel-size", "--pipeline-model-parallel-size", "--context-parallel-size"
EP, EXPERTS = "--expert-model-parallel-size", "--num-experts"
LAYERS, HEADS, HIDDEN = "--num-layers", "--num-attention-heads", "--hidden-size"
ALSO = ("slime",)
READ = "Megatron-LM main of 2026-08-22, `training/arguments.py`: `validate_args`"


def started(world: int) -> str:
    """How a message tells the number of processes: "8 processes are"."""
    return "1 process is" if world == 1 else f"{world} processes are"


@relation(
    "INV301", "shape-does-not-divide-world", "megatron",
    tp=number(TP), pp=number(PP), cp=number(CP), world=processes(),
    also=ALSO,
    topics=("parallel",),
    bad=f"{TP} 4 {PP} 4",
    good=f"{TP} 4 {PP} 2",
    source=f"{READ}; Megatron-Core 0.16.1, `parallel_state.py`: `initialize_model_parallel`.",
)  # fmt: skip
def world(o: Operands) -> Iterator[Finding]:
    """Tensor, pipeline and context parallelism divide the processes among themselves."""
    size = o.tp * o.pp * o.cp
    if size > 0 and o.world % size:
        yield o.fault(
            "tp",
            f"{started(o.world)} not a multiple of tensor {o.tp} x pipeline {o.pp} x context {o.cp} = {size}:"
            " Megatron can't start",
            "pp",
            "cp",
            "world",
            help=f"choose sizes whose product divides {o.world}",
        )


@relation(
    "INV302", "heads-do-not-divide", "megatron",
    heads=number(HEADS), tp=number(TP),
    also=ALSO,
    topics=("parallel", "model"),
    bad=f"{HEADS} 28 {HIDDEN} 3584 {TP} 8",
    good=f"{HEADS} 28 {HIDDEN} 3584 {TP} 4",
    source="Megatron-Core 0.16.1, `transformer/transformer_config.py`: `__post_init__`. THU-KEG/AdaptThink#1.",
)  # fmt: skip
def heads(o: Operands) -> Iterator[Finding]:
    """Each tensor-parallel rank takes the same number of attention heads."""
    if o.tp > 1 and o.heads % o.tp:
        yield o.fault(
            "tp",
            f"{o('heads')} is not a multiple of {o('tp')}: heads can't be shared out evenly",
            "heads",
            help=f"use tensor-parallel size {listed(divisors(o.heads, 64))}",
        )


@relation(
    "INV303", "layers-do-not-divide", "megatron",
    layers=number(LAYERS), pp=number(PP), layout=value("--pipeline-model-parallel-layout"),
    first=value("--decoder-first-pipeline-num-layers"), last=value("--decoder-last-pipeline-num-layers"),
    embedding=flag("--account-for-embedding-in-pipeline-split"), loss=flag("--account-for-loss-in-pipeline-split"),
    hybrid=value("--hybrid-layer-pattern"), virtual=value("--num-virtual-stages-per-pipeline-rank"),
    also=ALSO,
    topics=("parallel", "model"),
    bad=f"{LAYERS} 30 {PP} 4",
    good=f"{LAYERS} 32 {PP} 4",
    unless="A layout, numbers of layers for the first or last stage, and hybrid patterns split in their own way.",
    source=READ + ".",
)  # fmt: skip
def layers(o: Operands) -> Iterator[Finding]:
    """Pipeline stages take equal shares of the layers, unless a layout says otherwise."""
    if any(part is not None for part in (o.layout, o.first, o.last, o.hybrid, o.virtual)) or o.pp <= 1:
        return
    count = o.layers + o.embedding + o.loss
    if count % o.pp:
        yield o.fault(
            "pp",
            f"{o('layers')}" + (f" (with embedding or loss {count})" if count != o.layers else "")
            + f" does not divide by {o('pp')}: Megatron refuses to start",
            "layers",
            help=f"use {listed(n for n in divisors(count, 64) if n > 1)} stages, or --decoder-last-pipeline-num-layers",
        )  # fmt: skip


@relation(
    "INV304", "experts-do-not-divide", "megatron",
    ep=number(EP), experts=value(EXPERTS), saved=flag("--use-checkpoint-args"),
    also=ALSO,
    topics=("parallel", "moe"),
    unless="With --use-checkpoint-args the checkpoint says how many experts there are.",
    bad=f"{EXPERTS} 60 {EP} 8",
    good=f"{EXPERTS} 64 {EP} 8",
    source=READ + ".",
)  # fmt: skip
def experts(o: Operands) -> Iterator[Finding]:
    """Expert parallelism shares out experts, so there have to be some, and they have to divide."""
    if o.ep <= 1 or o.saved:
        return
    if o.experts is None and o.run.complete:
        yield o.fault("ep", f"{o('ep')} without {EXPERTS}: a dense model has no experts to share out")
    elif type(o.experts) is int and o.experts % o.ep:
        yield o.fault(
            "ep",
            f"{o('experts')} is not a multiple of {o('ep')}, which Megatron asserts",
            "experts",
            help=f"use expert-parallel size {listed(divisors(o.experts, 64))}",
        )


@relation(
    "INV305", "expert-shape-does-not-divide-world", "megatron",
    ep=number(EP), etp=value("--expert-tensor-parallel-size"), tp=number(TP), pp=number(PP), world=processes(),
    also=ALSO,
    topics=("parallel", "moe"),
    bad=f"{EXPERTS} 64 {EP} 8 {TP} 2 --expert-tensor-parallel-size 2 --sequence-parallel",
    good=f"{EXPERTS} 64 {EP} 4 {TP} 2 --expert-tensor-parallel-size 2 --sequence-parallel",
    unless="By default experts use the trainer's tensor-parallel size.",
    source="Megatron-Core 0.16.1, `parallel_state.py`: `expert_tensor_model_pipeline_parallel_size`. "
    "NVIDIA-NeMo/Megatron-Bridge#546.",
)  # fmt: skip
def expert_world(o: Operands) -> Iterator[Finding]:
    """Expert-tensor, expert and pipeline parallelism divide the processes, too."""
    etp = o.etp if type(o.etp) is int else o.tp
    size = etp * o.ep * o.pp
    if o.ep > 1 and size > 0 and o.world % size:
        yield o.fault(
            "ep",
            f"{started(o.world)} not a multiple of expert-tensor {etp} x expert {o.ep} x pipeline {o.pp} = {size}:"
            " Megatron can't start",
            "etp",
            "pp",
            "world",
            help=f"choose sizes whose product divides {o.world}",
        )


@relation(
    "INV306", "moe-tensor-without-sequence-parallel", "megatron",
    experts=number(EXPERTS), tp=number(TP), sequence=flag("--sequence-parallel"),
    also=ALSO, when=lambda run: bool(run.command),
    topics=("parallel", "moe"),
    bad=f"{EXPERTS} 64 {TP} 2",
    good=f"{EXPERTS} 64 {TP} 2 --sequence-parallel",
    source="Megatron-Core 0.16.1, `transformer/moe/moe_layer.py`: `MoELayer.forward` raises. ROCm/Megatron-LM#85.",
)  # fmt: skip
def moe_sequence(o: Operands) -> Iterator[Finding]:
    """Training experts under tensor parallelism needs sequence parallelism."""
    if o.experts > 1 and o.tp > 1 and not o.sequence:
        yield o.fault(
            "tp",
            f"{o('tp')} with {o('experts')} and no --sequence-parallel: Megatron refuses to train the pair",
            "experts",
            help="add --sequence-parallel",
        )


@relation(
    "INV308", "parameter-overlap-needs-gradient-overlap", "megatron",
    param=flag("--overlap-param-gather"), grad=flag("--overlap-grad-reduce"),
    distributed=flag("--use-distributed-optimizer"), fsdp=flag("--use-megatron-fsdp"), name=value("--optimizer"),
    also=ALSO,
    topics=("overlap",),
    bad="--use-distributed-optimizer --overlap-param-gather",
    good="--use-distributed-optimizer --overlap-param-gather --overlap-grad-reduce",
    source=READ + ".",
)  # fmt: skip
def overlap(o: Operands) -> Iterator[Finding]:
    """Gathering parameters while computing is part of the distributed optimizer, and goes with overlapped reduction."""
    if not o.param:
        return
    if not (o.distributed or o.fsdp or o.name == "dist_muon"):
        yield o.fault("param", "--overlap-param-gather needs --use-distributed-optimizer, which Megatron asserts")
    elif not o.grad:
        yield o.fault(
            "param",
            "--overlap-param-gather without --overlap-grad-reduce, which Megatron refuses",
            help="add --overlap-grad-reduce",
        )


@relation(
    "INV309", "hidden-size-does-not-divide", "megatron",
    hidden=number(HIDDEN), heads=number(HEADS), channels=value("--kv-channels"),
    also=ALSO,
    topics=("model",),
    bad=f"{HIDDEN} 4096 {HEADS} 24",
    good=f"{HIDDEN} 4096 {HEADS} 32",
    unless="With --kv-channels the size of a head is given.",
    source=READ + ".",
)  # fmt: skip
def hidden_size(o: Operands) -> Iterator[Finding]:
    """Without --kv-channels, heads share the hidden size evenly."""
    if o.channels is None and o.heads > 0 and o.hidden % o.heads and o.run.complete:
        yield o.fault(
            "heads",
            f"{o('hidden')} is not a multiple of {o('heads')}, and no --kv-channels tells the size of a head",
            "hidden",
        )


@relation(
    "INV310", "sequence-does-not-divide-by-context", "megatron",
    length=number("--seq-length"), cp=number(CP),
    topics=("parallel", "length"),
    bad=f"--seq-length 4100 --max-position-embeddings 8192 {CP} 4",
    good=f"--seq-length 4096 --max-position-embeddings 8192 {CP} 4",
    source=READ + ".",
)  # fmt: skip
def context(o: Operands) -> Iterator[Finding]:
    """Context parallelism cuts a sequence into two pieces for each rank."""
    if o.cp > 1 and o.length % (2 * o.cp):
        yield o.fault(
            "length",
            f"{o('length')} is not a multiple of 2 x {o('cp')} = {2 * o.cp}, which Megatron asserts",
            "cp",
            help=f"use {o.length // (2 * o.cp) * 2 * o.cp or 2 * o.cp}",
        )


@relation(
    "INV311", "positions-below-sequence", "megatron",
    positions=number("--max-position-embeddings"), length=number("--seq-length"),
    topics=("length",),
    bad="--seq-length 8192 --max-position-embeddings 4096",
    good="--seq-length 8192 --max-position-embeddings 8192",
    source=READ + ".",
)  # fmt: skip
def positions(o: Operands) -> Iterator[Finding]:
    """A model has a position for each token of a sequence."""
    if o.positions < o.length:
        yield o.fault(
            "positions",
            f"{o('positions')} < {o('length')}, which Megatron refuses",
            "length",
            help=f"set it to {o.length}",
        )


@relation(
    "INV312", "saving-without-interval", "megatron",
    save=value("--save"), interval=value("--save-interval"),
    topics=("checkpoint",),
    bad="--seq-length 4096 --max-position-embeddings 4096 --save /checkpoints",
    good="--seq-length 4096 --max-position-embeddings 4096 --save /checkpoints --save-interval 500",
    source=READ + ".",
)  # fmt: skip
def interval(o: Operands) -> Iterator[Finding]:
    """A folder for checkpoints needs a time for them."""
    if o.save is not None and o["save"].explicit and o.interval is None and o.run.complete:
        yield o.fault("save", "--save without --save-interval, which Megatron asserts", help="add --save-interval")


@relation(
    "INV313", "smallest-rate-above-rate", "megatron",
    least=number("--min-lr"), rate=number("--lr"),
    also=ALSO,
    topics=("optimizer",),
    bad="--lr 1e-6 --min-lr 1e-5",
    good="--lr 1e-6 --min-lr 1e-7",
    source=READ + ".",
)  # fmt: skip
def least_rate(o: Operands) -> Iterator[Finding]:
    """The rate that a schedule decays to lies below the one that it starts from."""
    if o.least > o.rate:
        yield o.fault("least", f"{o('least')} > {o('rate')}, which Megatron refuses", "rate")


@relation(
    "INV314", "offloaded-optimizer-needs-precision-aware", "megatron",
    offload=flag("--optimizer-cpu-offload"), aware=flag("--use-precision-aware-optimizer"),
    also=ALSO,
    topics=("offload",),
    bad="--use-distributed-optimizer --optimizer-cpu-offload",
    good="--use-distributed-optimizer --optimizer-cpu-offload --use-precision-aware-optimizer",
    source=READ + ".",
)  # fmt: skip
def offload(o: Operands) -> Iterator[Finding]:
    """Megatron's optimizer on the CPU re-uses the path of the precision-aware one."""
    if o.offload and not o.aware:
        yield o.fault(
            "offload",
            "--optimizer-cpu-offload without --use-precision-aware-optimizer, which Megatron asserts",
            help="add --use-precision-aware-optimizer",
        )


@relation(
    "INV315", "selective-recompute-with-method", "megatron",
    granularity=value("--recompute-granularity"), method=value("--recompute-method"),
    also=ALSO,
    topics=("memory",),
    bad="--recompute-granularity selective --recompute-method uniform",
    good="--recompute-granularity full --recompute-method uniform --recompute-num-layers 1",
    source=READ + ".",
)  # fmt: skip
def recompute(o: Operands) -> Iterator[Finding]:
    """A method of recomputation belongs to the full granularity."""
    if o.granularity == "selective" and o.method is not None:
        yield o.fault(
            "method",
            f"{o('method')} with {o('granularity')}, which Megatron asserts against",
            "granularity",
            help="remove --recompute-method, or set --recompute-granularity full",
        )


RULES: tuple[Rule, ...] = tuple(relations(globals()))
