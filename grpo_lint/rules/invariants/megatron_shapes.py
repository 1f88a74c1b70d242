"""INV333 to INV341: more of Megatron's shapes: batches, pipelines, query groups and routers."""

from __future__ import annotations

from grpo_lint.diagnostics import ERROR, NOTE
from grpo_lint.rules.invariants.megatron import ALSO, CP, EP, EXPERTS, HEADS, HIDDEN, LAYERS, PP, READ, TP
from grpo_lint.rules.invariants.relation import (
    Operands,
    divisors,
    environment,
    flag,
    given,
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

GLOBAL, MICRO = "--global-batch-size", "--micro-batch-size"
STAGES, CHUNK = "--num-virtual-stages-per-pipeline-rank", "--num-layers-per-virtual-pipeline-stage"
LAYOUT = "--pipeline-model-parallel-layout"
LEAN = "--transformer-impl inference_optimized --normalization RMSNorm --disable-bias-linear"
CONFIG = "`core/transformer/transformer_config.py`: `__post_init__`"


@relation(
    "INV333", "query-groups-do-not-divide", "megatron",
    groups=given("--num-query-groups"), on=flag("--group-query-attention"), tp=number(TP),
    also=ALSO,
    mentions=("num-query-groups",),
    topics=("parallel", "model"),
    bad=f"{HEADS} 24 {HIDDEN} 3072 --group-query-attention --num-query-groups 6 {TP} 4",
    good=f"{HEADS} 24 {HIDDEN} 3072 --group-query-attention --num-query-groups 6 {TP} 2",
    unless="From 0.16.0 on, ranks may also share a group: 4 groups go with 8 ranks.",
    source=f"Megatron-LM core_v0.8.0 to core_v0.19.0 and main of 2026-08-22, {CONFIG}.",
)  # fmt: skip
def query_groups(o: Operands) -> Iterator[Finding]:
    """Each tensor-parallel rank takes whole groups of keys and values, or shares one evenly with others."""
    if not o.on or type(o.groups) is not int or o.groups < 1 or o.tp <= 1 or o.groups % o.tp == 0:
        return
    shared = o.tp % o.groups == 0
    if shared and o.run.before("megatron-core", "0.16.0") is not True:
        return
    sizes = divisors(o.groups, 64)
    yield o.fault(
        "tp",
        f"{o('groups')} is not a multiple of {o('tp')}"
        + ("" if shared else ", nor a divisor")
        + ": Megatron refuses it",
        "groups",
        help=f"use tensor-parallel size {listed(sizes)}",
    )


@relation(
    "INV334", "global-batch-does-not-divide", "megatron",
    whole=given(GLOBAL), micro=number(MICRO), tp=number(TP), pp=number(PP), cp=number(CP), world=processes(),
    ramp=value("--rampup-batch-size"), schedule=value("--step-batch-size-schedule"),
    decrease=flag("--decrease-batch-size-if-needed"), shards=value("--tensor-parallel-num-weight-shards"),
    mentions=("global-batch-size",),
    topics=("batch", "parallel"),
    bad=f"{MICRO} 4 {GLOBAL} 100 {TP} 2",
    good=f"{MICRO} 4 {GLOBAL} 128 {TP} 2",
    unless="A batch that grows, or that may be decreased, is rounded.",
    source="Megatron-LM core_v0.8.0 to main of 2026-08-22, `core/num_microbatches_calculator.py`: "
    '"global batch size is not divisible by micro batch size times data parallel size".',
)  # fmt: skip
def global_batch(o: Operands) -> Iterator[Finding]:
    """A global batch is a whole number of micro-batches on each data-parallel rank."""
    model = o.tp * o.pp * o.cp
    if type(o.whole) is not int or o.ramp is not None or o.schedule is not None or o.decrease or o.shards is not None:
        return
    if min(model, o.micro, o.whole) < 1 or o.world % model:
        return  # told by INV301
    ranks = o.world // model
    each = ranks * o.micro
    if o.whole % each:
        yield o.fault(
            "whole",
            f"{o('whole')} is not a multiple of {o('micro')} x {ranks} data-parallel ranks = {each}: Megatron can't"
            " share it out",
            "micro", "tp", "pp", "world",
            help=f"set {GLOBAL} to {o.whole // each * each or each}",
        )  # fmt: skip


@relation(
    "INV335", "interleaved-schedule-of-too-few-stages", "megatron",
    chunk=given(CHUNK), stages=given(STAGES), layout=given(LAYOUT), pp=number(PP), layers=value(LAYERS),
    apart=flag("--no-overlap-p2p-communication"), first=given("--decoder-first-pipeline-num-layers"),
    last=given("--decoder-last-pipeline-num-layers"), embedding=flag("--account-for-embedding-in-pipeline-split"),
    loss=flag("--account-for-loss-in-pipeline-split"),
    also=ALSO,
    mentions=("virtual",),
    topics=("parallel",),
    bad=f"{LAYERS} 32 {PP} 1 {CHUNK} 4",
    good=f"{LAYERS} 32 {PP} 4 {CHUNK} 4",
    source=f"{READ}; the same from core_v0.8.0 on.",
)  # fmt: skip
def interleaved(o: Operands) -> Iterator[Finding]:
    """Virtual pipeline stages need a pipeline: two ranks, or three without overlapped communication."""
    told = [name for name in ("chunk", "stages", "layout") if o[name].value is not None]
    if len(told) > 1:
        if o.run.before("megatron-core", "0.14.0") is not True:
            yield o.fault(
                told[1], f"{o[told[1]].key} beside {o[told[0]].key}: Megatron takes one of them at most", told[0]
            )
        return
    if not told or told == ["layout"]:
        return
    stages = o.stages if told == ["stages"] else 0
    if told == ["chunk"]:
        layers = o.layers + o.embedding + o.loss if type(o.layers) is int else 0
        if o.first is not None or o.last is not None:
            yield o.fault("chunk", f"{o('chunk')} with stages of unequal size, which Megatron asserts against",
                          "first" if o.first is not None else "last", help=f"use {STAGES}")  # fmt: skip
            return
        if not layers or layers % o.pp or type(o.chunk) is not int or o.chunk < 1:
            return  # told by INV303
        share = layers // o.pp
        if share % o.chunk:
            yield o.fault(
                "chunk",
                f"{share} layers of each stage are not a multiple of {o('chunk')}, which Megatron asserts",
                "layers", "pp",
                help=f"use {listed(divisors(share, 64))}",
            )  # fmt: skip
            return
        stages = share // o.chunk
    least = 3 if o.apart else 2
    if type(stages) is int and stages > 1 and o.pp < least:
        yield o.fault(
            told[0],
            f"{o(told[0])} makes {stages} virtual stages, but {o('pp')}: Megatron wants {least} pipeline stages "
            f"at least" + (" where communication is not overlapped" if o.apart else ""),
            "pp",
            "apart" if o.apart else "layers",
            help=f"set {PP} to {least} or more, or remove {o[told[0]].key}",
        )


@relation(
    "INV336", "router-without-gradient", "megatron",
    experts=number(EXPERTS), top=number("--moe-router-topk"), score=value("--moe-router-score-function"),
    before=flag("--moe-router-pre-softmax"), balance=value("--moe-router-load-balancing-type"),
    also=ALSO,
    package="megatron-core",
    since="0.12.0",
    mentions=("moe-router-topk",),
    topics=("moe",),
    bad=f"{EXPERTS} 8 --moe-router-topk 1",
    good=f"{EXPERTS} 8 --moe-router-topk 1 --moe-router-pre-softmax",
    unless="With the sigmoid score, and with sinkhorn, one expert of each token is fine.",
    target="megatron-core=0.19.0",
    source=f'Megatron-LM core_v0.12.0 to main of 2026-08-22, {CONFIG}: "use --moe-router-pre-softmax when topk is 1".',
)  # fmt: skip
def router_gradient(o: Operands) -> Iterator[Finding]:
    """The softmax over a single chosen expert is always 1, so that the router would get no gradient."""
    balance = o.balance[0] if isinstance(o.balance, list) and len(o.balance) == 1 else o.balance
    if o.experts > 1 and o.top == 1 and o.score in (None, "softmax") and not o.before and balance != "sinkhorn":
        yield o.fault(
            "top",
            f"{o('top')} with the softmax after the choice: the router gets no gradient, and Megatron refuses it",
            "experts",
            help="add --moe-router-pre-softmax",
        )


@relation(
    "INV337", "expert-bias-with-softmax", "megatron",
    bias=flag("--moe-router-enable-expert-bias"), score=value("--moe-router-score-function"), experts=number(EXPERTS),
    also=ALSO,
    mentions=("enable-expert-bias",),
    topics=("moe",),
    bad=f"{EXPERTS} 64 --moe-router-enable-expert-bias",
    good=f"{EXPERTS} 64 --moe-router-enable-expert-bias --moe-router-score-function sigmoid",
    source=f"Megatron-LM core_v0.12.0 to main of 2026-08-22, {CONFIG}; sqrtsoftplus is a newer score.",
)  # fmt: skip
def expert_bias(o: Operands) -> Iterator[Finding]:
    """Balancing by a bias for each expert is made for scores that don't sum to 1."""
    if o.bias and o.score in (None, "softmax"):
        yield o.fault(
            "bias",
            f"{o['bias'].key} with the softmax score, which Megatron refuses",
            "score",
            help="add --moe-router-score-function sigmoid",
        )


@relation(
    "INV338", "router-groups", "megatron",
    experts=number(EXPERTS), top=given("--moe-router-group-topk"), groups=given("--moe-router-num-groups"),
    devices=given("--moe-router-topk-limited-devices"),
    also=ALSO,
    mentions=("group-topk",),
    topics=("moe",),
    bad=f"{EXPERTS} 60 --moe-router-num-groups 8 --moe-router-group-topk 4",
    good=f"{EXPERTS} 64 --moe-router-num-groups 8 --moe-router-group-topk 4",
    source=f"Megatron-LM core_v0.12.0 to main of 2026-08-22, {CONFIG}.",
)  # fmt: skip
def router_groups(o: Operands) -> Iterator[Finding]:
    """Group-limited routing chooses groups of experts of equal size, and then experts in them."""
    if type(o.top) is not int or o.top < 1:
        return
    if o.devices:
        yield o.fault("devices", f"{o('devices')} beside {o('top')}: the one replaces the other", "top",
                      help="remove --moe-router-topk-limited-devices")  # fmt: skip
    elif type(o.groups) is not int or o.groups < 1:
        yield o.fault("top", f"{o('top')} without --moe-router-num-groups, which Megatron refuses",
                      help="add --moe-router-num-groups")  # fmt: skip
    elif o.experts % o.groups:
        yield o.fault("groups", f"{o('experts')} is not a multiple of {o('groups')}, which Megatron asserts", "experts",
                      help=f"use {listed(divisors(o.experts, 64))} groups")  # fmt: skip
    elif o.top > o.groups:
        yield o.fault("top", f"{o('top')} > {o('groups')}, which Megatron asserts against", "groups")


@relation(
    "INV339", "experts-on-the-inference-path", "megatron",
    path=value("--transformer-impl"), experts=number(EXPERTS), kind=value("--moe-router-dtype"),
    etp=value("--expert-tensor-parallel-size"), tp=number(TP), capacity=value("--moe-expert-capacity-factor"),
    package="megatron-core",
    since="0.19.0",
    mentions=("transformer-impl",),
    topics=("moe", "rollout"),
    bad=f"{LEAN} {EXPERTS} 64 {EP} 8",
    good=f"{LEAN} {EXPERTS} 64 {EP} 8 --moe-router-dtype fp32",
    target="megatron-core=0.19.0",
    source=f"Megatron-LM core_v0.19.0 and main of 2026-08-22, {CONFIG} (not in core_v0.16.0).",
)  # fmt: skip
def inference_path(o: Operands) -> Iterator[Finding]:
    """Layers that are made for inference take an fp32 router, whole experts and every token."""
    if o.path != "inference_optimized" or o.experts < 1:
        return
    if o.kind != "fp32":
        yield o.fault("path", f"{o('path')} with experts needs --moe-router-dtype fp32, which Megatron asks for",
                      "kind",
                      help="add --moe-router-dtype fp32")  # fmt: skip
    size, name = (o.etp, "etp") if type(o.etp) is int else (o.tp, "tp")
    if size > 1:
        yield o.fault(name, f"experts in {size} tensor-parallel parts with {o('path')}, which Megatron refuses", "path",
                      help="set --expert-tensor-parallel-size to 1")  # fmt: skip
    if o.capacity is not None:
        yield o.fault("capacity", f"{o('capacity')} with {o('path')}, which Megatron refuses", "path")


@relation(
    "INV340", "sequence-parallel-without-tensor", "megatron",
    sequence=flag("--sequence-parallel"), tp=number(TP), overlap=flag("--tp-comm-overlap"),
    severity=NOTE,
    also=ALSO,
    mentions=("sequence-parallel", "tp-comm-overlap"),
    topics=("parallel",),
    bad=f"{TP} 1 --sequence-parallel",
    good=f"{TP} 2 --sequence-parallel",
    source=f"{READ} turns it off; {CONFIG} would refuse it.",
)  # fmt: skip
def sequence(o: Operands) -> Iterator[Finding]:
    """Sequence parallelism shares out over tensor-parallel ranks, and does nothing where there is one.

    Overlapping the communication of tensor parallelism is built on it, and refused without it.
    """
    if o.overlap and not (o.sequence and o.tp > 1):
        lacking = f"at {o('tp')}" if o.tp <= 1 else "without --sequence-parallel"
        yield o.fault(
            "overlap", f"--tp-comm-overlap {lacking}, which Megatron asserts against", "tp", severity=ERROR,
            help="add --sequence-parallel" if o.tp > 1 else "remove it",
        )  # fmt: skip
    elif o.sequence and o.tp == 1:
        yield o.fault("sequence", f"--sequence-parallel does nothing at {o('tp')}: Megatron turns it off", "tp",
                      help="remove it")  # fmt: skip


@relation(
    "INV341", "one-connection-for-collectives", "megatron",
    connections=environment("CUDA_DEVICE_MAX_CONNECTIONS"), tp=number(TP), cp=number(CP),
    torch=flag("--use-torch-fsdp2"), own=flag("--use-megatron-fsdp"),
    experts=flag("--overlap-moe-expert-parallel-comm"),
    severity=NOTE,
    mentions=("CUDA_DEVICE_MAX_CONNECTIONS",),
    topics=("parallel", "overlap"),
    bad=f"$ CUDA_DEVICE_MAX_CONNECTIONS=8 torchrun --nproc_per_node 8 pretrain_gpt.py {LAYERS} 32 {HIDDEN} 4096"
    f" {HEADS} 32 {MICRO} 1 {TP} 2",
    good=f"$ CUDA_DEVICE_MAX_CONNECTIONS=1 torchrun --nproc_per_node 8 pretrain_gpt.py {LAYERS} 32 {HIDDEN} 4096"
    f" {HEADS} 32 {MICRO} 1 {TP} 2",
    unless="From Blackwell on the order of collectives needs no such variable. Where a script doesn't set it, "
    "its caller "
    "may.",
    source=f"{READ}; the same from core_v0.12.0 on. For FSDP: the same place, for every GPU.",
)  # fmt: skip
def connections(o: Operands) -> Iterator[Finding]:
    """Before Blackwell, the order in which kernels start decides what overlaps: one connection keeps it.

    FSDP wants the opposite.
    """
    if o.connections is None:
        return
    one = str(o.connections) == "1"
    name = "torch" if o.torch else "own" if o.own else ""
    if name and one:
        yield o.fault(
            "connections", f"CUDA_DEVICE_MAX_CONNECTIONS=1 with {o[name].key}, which Megatron asserts against", name,
            help="set it to 8, or leave it out", severity=ERROR,
        )  # fmt: skip
    elif not name and not one and not o.experts and (o.tp > 1 or o.cp > 1):
        other = "tp" if o.tp > 1 else "cp"
        yield o.fault(
            "connections",
            f"CUDA_DEVICE_MAX_CONNECTIONS={o.connections} with {o(other)}: before Blackwell Megatron asks for 1",
            other,
            help="export CUDA_DEVICE_MAX_CONNECTIONS=1",
        )


RULES: tuple[Rule, ...] = tuple(relations(globals()))
