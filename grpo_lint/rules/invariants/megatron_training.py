"""INV342 to INV349: Megatron's optimizers, sharding, checkpoints, graphs and types."""

from __future__ import annotations

from grpo_lint.diagnostics import WARNING
from grpo_lint.rules.invariants.megatron import EP, HEADS, PP, READ, TP
from grpo_lint.rules.invariants.relation import (
    Operands,
    environment,
    flag,
    given,
    number,
    relation,
    relations,
    value,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Finding, Rule

TORCH, OWN, ZERO = "--use-torch-fsdp2", "--use-megatron-fsdp", "--use-distributed-optimizer"
FORMAT = "--ckpt-format"
UNFUSED, UNTIED = "--no-gradient-accumulation-fusion", "--untie-embeddings-and-output-weights"
AWARE = "--use-precision-aware-optimizer"
CONFIG = "`core/optimizer/optimizer_config.py`: `__post_init__`"


@relation(
    "INV342", "torch-fsdp2", "megatron",
    on=flag(TORCH), pp=number(PP), ep=number(EP), distributed=flag(ZERO), unfused=flag(UNFUSED), untied=flag(UNTIED),
    half=flag("--fp16"), format=value(FORMAT), optimizer=value("--optimizer"),
    mentions=("use-torch-fsdp2",),
    topics=("fsdp",),
    bad=f"{TORCH} {UNFUSED} {UNTIED} {ZERO}",
    good=f"{TORCH} {UNFUSED} {UNTIED}",
    source=f"{READ}; the same from core_v0.12.0 on.",
)  # fmt: skip
def torch_fsdp2(o: Operands) -> Iterator[Finding]:
    """Torch's FSDP2 takes the place of most that Megatron shards with, and asks for a few switches of its own."""
    if not o.on:
        return
    for name, size in (("pp", o.pp), ("ep", o.ep)):
        if size > 1:
            yield o.fault(name, f"{TORCH} with {o(name)}, which Megatron refuses", "on", help="set it to 1")
    for name in ("distributed", "half"):
        if o[name].value is True:
            yield o.fault(
                name, f"{TORCH} with {o[name].key}, which Megatron refuses", "on", help=f"remove {o[name].key}"
            )
    for name, switch in (("unfused", UNFUSED), ("untied", UNTIED)):
        if o[name].value is not True:
            yield o.fault("on", f"{TORCH} without {switch}, which Megatron asserts", help=f"add {switch}")
    if o.format not in ("torch_dist", "torch_dcp", None):
        yield o.fault("format", f"{TORCH} with {o('format')}, which Megatron asserts against", "on",
                      help="use torch_dist or torch_dcp")  # fmt: skip


@relation(
    "INV343", "megatron-fsdp", "megatron",
    on=flag(OWN), optimizer=value("--optimizer"), format=value(FORMAT), version=value("--megatron-fsdp-version"),
    distributed=flag(ZERO), meta=flag("--init-model-with-meta-device"),
    strategy=given("--data-parallel-sharding-strategy"),
    package="megatron-core",
    since="0.19.0",
    mentions=("use-megatron-fsdp",),
    topics=("fsdp", "checkpoint"),
    bad=f"{OWN} --data-parallel-sharding-strategy optim_grads_params",
    good=f"{OWN} --data-parallel-sharding-strategy optim_grads_params {FORMAT} fsdp_dtensor",
    target="megatron-core=0.19.0",
    source=f"{READ}; Megatron-LM core_v0.19.0 (in core_v0.16.0 without these checks).",
)  # fmt: skip
def megatron_fsdp(o: Operands) -> Iterator[Finding]:
    """Megatron's own FSDP saves tensors in a format of its own, and steps with Adam or SGD."""
    if not o.on:
        return
    if o.format != "fsdp_dtensor":
        yield o.fault("on", f"{OWN} with {o('format')}, which Megatron asserts against", "format",
                      help=f"add {FORMAT} fsdp_dtensor")  # fmt: skip
    if isinstance(o.optimizer, str) and o.optimizer not in ("sgd", "adam"):
        yield o.fault(
            "optimizer", f"{OWN} with {o('optimizer')}, which Megatron asserts against", "on", help="use adam"
        )
    if o.version == 2 and o.distributed:
        yield o.fault("distributed", f"{ZERO} with {o('version')}, which Megatron refuses", "version", help="remove it")
    if o.meta and o.strategy == "no_shard":
        yield o.fault("meta", f"--init-model-with-meta-device with {o('strategy')}, which Megatron refuses", "strategy")


@relation(
    "INV344", "checkpoint-format-of-another-engine", "megatron",
    format=given(FORMAT), torch=flag(TORCH), own=flag(OWN), tp=number(TP), pp=number(PP),
    mentions=("ckpt-format",),
    topics=("checkpoint", "fsdp"),
    bad=f"{FORMAT} torch_dcp",
    good=f"{FORMAT} torch_dist",
    source=f"{READ}; torch_dcp from core_v0.12.0 on, fsdp_dtensor from core_v0.14.0 on.",
)  # fmt: skip
def checkpoint_format(o: Operands) -> Iterator[Finding]:
    """Two formats of checkpoints belong to the two kinds of FSDP."""
    needs = {"torch_dcp": ("torch", TORCH), "fsdp_dtensor": ("own", OWN)}.get(str(o.format))
    if needs is None:
        return
    if o[needs[0]].value is not True:
        yield o.fault(
            "format", f"{o('format')} without {needs[1]}, which Megatron asserts", help=f"use {FORMAT} torch_dist"
        )
    elif o.format == "torch_dcp" and (o.tp > 1 or o.pp > 1):
        name = "tp" if o.tp > 1 else "pp"
        yield o.fault("format", f"{o('format')} with {o(name)}, which Megatron asserts against", name,
                      help=f"use {FORMAT} torch_dist")  # fmt: skip


@relation(
    "INV345", "optimizer-that-is-neither-adam-nor-sgd", "megatron",
    name=value("--optimizer"), torch=flag(TORCH), own=flag(OWN), format=value(FORMAT), half=flag("--fp16"),
    mentions=("--optimizer",),
    topics=("optimizer",),
    bad="--optimizer muon --fp16 --loss-scale 4096 --clip-grad 0",
    good="--optimizer muon --bf16 --clip-grad 0",
    source="Megatron-LM core_v0.16.0, core_v0.19.0 and main of 2026-08-22, `training/arguments.py`: `validate_args`; "
    '`core/optimizer/`: "emerging optimizer with fp16 is not supported".',
)  # fmt: skip
def emerging(o: Operands) -> Iterator[Finding]:
    """Muon, Lion, SOAP and the like go with bf16, without FSDP, and with two formats of checkpoints."""
    if not isinstance(o.name, str) or o.name in ("adam", "sgd"):
        return
    for switch in ("torch", "own", "half"):
        if o[switch].value is True and not (switch == "own" and o.run.before("megatron-core", "0.19.0") is False):
            yield o.fault("name", f"{o('name')} with {o[switch].key}, which Megatron refuses", switch,
                          help=f"remove {o[switch].key}, or use adam")  # fmt: skip
    if o["format"].explicit and o.format not in ("torch", "torch_dist"):
        yield o.fault("format", f"{o('format')} with {o('name')}, which Megatron asserts against", "name",
                      help=f"use {FORMAT} torch_dist")  # fmt: skip
    if o.name == "dist_muon" and o.run.before("megatron-core", "0.19.0") is False:
        yield o.fault("name", f"{o('name')} is a deprecated name", severity=WARNING,
                      help=f"use --optimizer muon {ZERO}")  # fmt: skip


@relation(
    "INV346", "precision-aware-optimizer", "megatron",
    aware=flag(AWARE), name=value("--optimizer"), distributed=flag(ZERO), own=flag(OWN),
    grads=given("--main-grads-dtype"), params=given("--main-params-dtype"), first=given("--exp-avg-dtype"),
    second=given("--exp-avg-sq-dtype"),
    mentions=("precision-aware", "-dtype"),
    topics=("optimizer", "precision"),
    bad=f"{ZERO} --exp-avg-dtype bf16",
    good=f"{ZERO} --exp-avg-dtype bf16 {AWARE}",
    source=f"Megatron-LM core_v0.12.0 to main of 2026-08-22, {CONFIG}; `core/optimizer/__init__.py`.",
)  # fmt: skip
def precision_aware(o: Operands) -> Iterator[Finding]:
    """Optimizer states below fp32 are kept by one optimizer: Adam, distributed, and aware of it."""
    if o.aware:
        if isinstance(o.name, str) and o.name != "adam":
            yield o.fault("name", f"{o('name')} with {AWARE}, which Megatron asserts against", "aware", help="use adam")
        if not (o.distributed or o.own):
            yield o.fault("aware", f"{AWARE} without {ZERO}, which Megatron refuses", help=f"add {ZERO}")
        return
    for name in ("grads", "params", "first", "second"):
        if isinstance(o[name].value, str) and o[name].value != "fp32":
            yield o.fault(name, f"{o(name)} without {AWARE}, which Megatron asserts", help=f"add {AWARE}")


@relation(
    "INV347", "low-precision-parameters", "megatron",
    fp8=given("--fp8-format"), fp4=given("--fp4-format"), gather8=flag("--fp8-param-gather"),
    gather4=flag("--fp4-param-gather"), distributed=flag(ZERO), torch=flag(TORCH), own=flag(OWN),
    offload=flag("--optimizer-cpu-offload"), recipe=value("--fp8-recipe"),
    mentions=("fp8", "fp4"),
    topics=("precision",),
    bad="--bf16 --fp8-format hybrid --fp8-param-gather",
    good=f"--bf16 --fp8-format hybrid --fp8-param-gather {ZERO}",
    unless="Inference needs no optimizer that shards.",
    source=f"{READ}; fp8 from core_v0.12.0 on, fp4 from core_v0.16.0 on.",
)  # fmt: skip
def low_precision(o: Operands) -> Iterator[Finding]:
    """Parameters that are gathered in fp8 are sharded ones, and fp4 and fp8 don't mix."""
    if o.fp8 is not None and o.fp4 is not None:
        yield o.fault("fp4", f"{o('fp4')} beside {o('fp8')}, which Megatron refuses", "fp8", help="choose one")
    if o.gather8 and o.run.engine and not (o.distributed or o.torch or o.own):
        yield o.fault(
            "gather8", f"--fp8-param-gather without {ZERO} or FSDP, which Megatron asserts", help=f"add {ZERO}"
        )
    if o.gather4 and o.fp4 is None:
        yield o.fault(
            "gather4", "--fp4-param-gather without --fp4-format, which Megatron refuses", help="add --fp4-format"
        )
    if o.gather8 and o.offload and o.recipe != "delayed" and o["recipe"].explicit:
        yield o.fault("recipe", f"{o('recipe')} with --fp8-param-gather and --optimizer-cpu-offload, which Megatron"
                      " asserts against", "gather8", "offload", help="use --fp8-recipe delayed")  # fmt: skip


@relation(
    "INV348", "graph-capture", "megatron",
    graphs=given("--cuda-graph-impl"), unchecked=flag("--no-check-for-nan-in-loss-and-grad"),
    modules=given("--cuda-graph-modules"), allocator=environment("PYTORCH_CUDA_ALLOC_CONF"),
    register=environment("NCCL_GRAPH_REGISTER"),
    mentions=("cuda-graph",),
    topics=("memory", "overlap"),
    bad="--cuda-graph-impl full_iteration",
    good="--cuda-graph-impl full_iteration --no-check-for-nan-in-loss-and-grad",
    source=f"{READ}; the same in core_v0.16.0 and core_v0.19.0.",
)  # fmt: skip
def graphs(o: Operands) -> Iterator[Finding]:
    """A graph of a whole iteration can't stop to look for NaN; one of the layers can't grow its memory."""
    if o.graphs == "full_iteration":
        if not o.unchecked:
            yield o.fault("graphs", f"{o('graphs')} with the check for NaN, which Megatron asserts against",
                          help="add --no-check-for-nan-in-loss-and-grad")  # fmt: skip
        if o.modules:
            yield o.fault(
                "modules", f"--cuda-graph-modules with {o('graphs')}, which Megatron asserts against", "graphs"
            )
    elif o.graphs == "transformer_engine" and "expandable_segments:True" in str(o.allocator) and str(o.register) != "0":
        yield o.fault(
            "allocator",
            f"PYTORCH_CUDA_ALLOC_CONF={o.allocator} with {o('graphs')}: Megatron asks for NCCL_GRAPH_REGISTER=0",
            "graphs",
            help="export NCCL_GRAPH_REGISTER=0",
        )


@relation(
    "INV349", "attention-and-recomputation", "megatron",
    latent=flag("--multi-latent-attention"), grouped=flag("--group-query-attention"),
    spread=value("--distribute-saved-activations"), granularity=value("--recompute-granularity"),
    method=value("--recompute-method"), tp=number(TP), overlap=flag("--overlap-moe-expert-parallel-comm"),
    bf16=flag("--bf16"), fp16=flag("--fp16"), residual=flag("--fp32-residual-connection"),
    mentions=("multi-latent", "distribute-saved", "overlap-moe", "fp32-residual"),
    topics=("memory", "model"),
    bad=f"--multi-latent-attention --group-query-attention --num-query-groups 8 {HEADS} 32",
    good=f"--group-query-attention --num-query-groups 8 {HEADS} 32",
    unless="Up to 0.15 latent attention and groups of queries are not compared.",
    target="megatron-core=0.19.0",
    source=f"{READ}; latent attention in core_v0.16.0 and newer, the others from core_v0.8.0 on.",
)  # fmt: skip
def attention(o: Operands) -> Iterator[Finding]:
    """Some switches of the layers exclude each other, and some belong together."""
    if o.latent and o.grouped and o.run.before("megatron-core", "0.16.0") is False:
        yield o.fault("grouped", "--group-query-attention with --multi-latent-attention, which Megatron asserts "
            "against",
                      "latent", help="remove --group-query-attention")  # fmt: skip
    if o.spread is True:
        lacking = (
            f"more than {o('tp')}" if o.tp <= 1 else "--recompute-granularity full" if o.granularity != "full"
            else "a --recompute-method" if o.method is None else ""
        )  # fmt: skip
        if lacking:
            yield o.fault("spread", f"--distribute-saved-activations needs {lacking}, which Megatron asserts", "tp")
    for name in ("overlap", "residual"):
        if o[name].value is True and not (o.bf16 or o.fp16):
            yield o.fault(name, f"{o[name].key} in fp32, which Megatron asserts against", help="add --bf16")


RULES: tuple[Rule, ...] = tuple(relations(globals()))
