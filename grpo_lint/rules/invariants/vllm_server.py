"""INV405 to INV418: more of vLLM's server: shapes over nodes, experts, adapters, lengths, types and double settings."""

from __future__ import annotations

from grpo_lint.diagnostics import WARNING
from grpo_lint.frameworks.models import mixture_of_experts
from grpo_lint.rules.invariants.relation import (
    Operands,
    divisors,
    environment,
    flag,
    given,
    listed,
    number,
    relation,
    relations,
    told,
    value,
)
from grpo_lint.rules.invariants.shapes import shape_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Finding, Rule

TP, PP, DP, PCP = (
    f"--{name}-size" for name in ("tensor-parallel", "pipeline-parallel", "data-parallel", "prefill-context-parallel")
)
SPREAD, BALANCE = "--enable-expert-parallel", "--enable-eplb"
MODELS = "vLLM 0.33.0, `config/model.py`"
ARGUMENTS = "vLLM 0.33.0, `engine/arg_utils.py`: `create_engine_config`"
PARALLEL = "vLLM 0.33.0, `config/parallel.py`"
MIXED = "$ vllm serve Qwen/Qwen3-30B-A3B"
NEW = "vllm=0.33.0"


def dense(path: object) -> bool:
    """Whether a model is known to be dense, by its name."""
    return isinstance(path, str) and mixture_of_experts(path) is False


@relation(
    "INV405", "experts-of-a-dense-model", "vllm",
    path=told("model_path"), spread=flag(SPREAD), dp=number(DP), rank=given("--data-parallel-rank"),
    outside=flag("--data-parallel-external-lb"),
    mentions=("expert-parallel", "data-parallel"),
    topics=("moe", "parallel", "model"),
    bad=f"{TP} 2 {SPREAD}",
    good=f"{TP} 2",
    unless="Whether a model is dense is known for released ones of common families, by their names.",
    source=f"{MODELS}: `_verify_with_expert_parallelism`; the same from 0.8.5 on. Ranks of a dense model: {ARGUMENTS}, "
    "from 0.25.1 on.",
)  # fmt: skip
def dense_experts(o: Operands) -> Iterator[Finding]:
    """A dense model has no experts to spread over ranks, and its replicas have nothing to do with each other."""
    if not dense(o.path):
        return
    name = o.path.rstrip("/").rsplit("/", 1)[-1]
    if o.spread:
        yield o.fault("spread", f"{SPREAD}, but {name} is dense: vLLM refuses it", "path", help=f"remove {SPREAD}")
    elif o.dp > 1 and (o.rank is not None or o.outside) and o.run.before("vllm", "0.25.0") is False:
        yield o.fault(
            "rank" if o.rank is not None else "outside",
            f"{o('dp')} with a load balancer outside, but {name} is dense: vLLM refuses it",
            "dp", "path",
            help="start independent servers, without --data-parallel-*",
        )  # fmt: skip


@relation(
    "INV406", "balancing-of-one-vllm-rank", "vllm",
    balance=flag(BALANCE), spread=flag(SPREAD), tp=number(TP), dp=number(DP), pcp=value(PCP),
    spare=given("--eplb-config.num_redundant_experts", "--num-redundant-experts"), elastic=flag("--enable-elastic-ep"),
    since="0.10.0",
    mentions=("eplb", "elastic-ep", "redundant-experts"),
    topics=("moe", "parallel"),
    bad=f"{MIXED} {SPREAD} {BALANCE}",
    good=f"{MIXED} {SPREAD} {BALANCE} {TP} 8",
    target=NEW,
    source=f"{PARALLEL}: `EPLB requires tensor, prefill-context, or data parallelism`; the same in 0.10.2.",
)  # fmt: skip
def one_rank(o: Operands) -> Iterator[Finding]:
    """Balancing moves experts between ranks, and copies of experts are its own."""
    if o.balance and o.spread:
        size = o.tp * o.dp * (o.pcp if type(o.pcp) is int else 1)
        if size <= 1:
            yield o.fault(
                "balance", f"{BALANCE} with {o('tp')} and {o('dp')}: vLLM asks for more than one rank", "tp", "dp"
            )
    if not o.balance and type(o.spare) is int and o.spare != 0:
        yield o.fault("spare", f"{o('spare')} without {BALANCE}, which vLLM refuses", help=f"add {BALANCE}")
    if not o.balance and o.elastic:
        yield o.fault("elastic", f"--enable-elastic-ep without {BALANCE}, which vLLM refuses", help=f"add {BALANCE}")


@relation(
    "INV407", "replicas-here-and-in-all", "vllm",
    dp=number(DP), here=given("--data-parallel-size-local"), outside=flag("--data-parallel-external-lb"),
    hybrid=flag("--data-parallel-hybrid-lb"),
    mentions=("data-parallel",),
    topics=("parallel",),
    bad=f"{MIXED} {DP} 2 --data-parallel-size-local 4",
    good=f"{MIXED} {DP} 8 --data-parallel-size-local 4",
    source=f"{PARALLEL}: `_validate_parallel_config`; the sizes from 0.10.2 on.",
)  # fmt: skip
def replicas(o: Operands) -> Iterator[Finding]:
    """The replicas of a node are some of all, and one way of sharing out requests is enough."""
    if type(o.here) is int and o.here > o.dp:
        yield o.fault(
            "here", f"{o('here')} > {o('dp')}, which vLLM refuses", "dp", help=f"set {DP} to the replicas of all nodes"
        )
    if o.outside and o.hybrid:
        yield o.fault(
            "hybrid", "--data-parallel-hybrid-lb beside --data-parallel-external-lb, which vLLM refuses", "outside"
        )
    elif o.outside and o.dp <= 1:
        yield o.fault("outside", f"--data-parallel-external-lb with {o('dp')}, which vLLM refuses", "dp")


@relation(
    "INV408", "vllm-ranks-do-not-tile-nodes", "vllm",
    nodes=number("--nnodes"), rank=number("--node-rank"), tp=number(TP), pp=number(PP), dp=number(DP), pcp=value(PCP),
    backend=value("--data-parallel-backend"),
    mentions=("nnodes",),
    topics=("parallel",),
    bad=f"{TP} 8 --nnodes 3",
    good=f"{TP} 8 --nnodes 2",
    source=f"{ARGUMENTS}: \"must evenly divide the total world size\" (0.33.0; ranks are counted so from 0.11.2 on).",
)  # fmt: skip
def nodes(o: Operands) -> Iterator[Finding]:
    """A server's ranks are spread evenly over its nodes, which are counted from 0."""
    if o.nodes <= 1:
        return
    size = o.tp * o.pp * o.dp * (o.pcp if type(o.pcp) is int else 1)
    if size % o.nodes:
        yield o.fault(
            "nodes",
            f"{size} ranks are not a multiple of {o('nodes')}, which vLLM refuses",
            "tp", "pp", "dp",
            help=f"use {listed(n for n in divisors(size, 64) if n > 1)} nodes" if size > 1 else "",
        )  # fmt: skip
    if not 0 <= o.rank < o.nodes:
        yield o.fault("rank", f"{o('rank')} of {o('nodes')}: vLLM counts nodes from 0 to {o.nodes - 1}", "nodes")
    if isinstance(o.backend, str) and o.backend != "mp":
        yield o.fault("backend", f"{o('backend')} with {o('nodes')}, which vLLM refuses", "nodes", help="use mp")


@relation(
    "INV409", "adapters-and-drafts-in-one-step", "vllm",
    on=flag("--enable-lora"), budget=number("--max-num-batched-tokens"), sequences=number("--max-num-seqs"),
    drafts=number("--speculative-config.num_speculative_tokens"),
    since="0.11.0",
    mentions=("speculative",),
    topics=("lora", "length"),
    bad="--enable-lora --max-num-batched-tokens 512 --max-num-seqs 256"
    " --speculative-config.num_speculative_tokens 3 --speculative-config.method ngram",
    good="--enable-lora --max-num-batched-tokens 2048 --max-num-seqs 256"
    " --speculative-config.num_speculative_tokens 3 --speculative-config.method ngram",
    target=NEW,
    source=f'{ARGUMENTS}: "decreasing num_speculative_tokens"; the same in 0.11.2.',
)  # fmt: skip
def drafts(o: Operands) -> Iterator[Finding]:
    """With adapters, a step has to hold the draft of every sequence and a token more."""
    need = o.sequences * (o.drafts + 1)
    if o.on and o.budget < need:
        yield o.fault(
            "budget",
            f"{o('budget')} < {o('sequences')} x ({o.drafts} drafted tokens + 1) = {need}: vLLM refuses it with "
            f"adapters",
            "sequences", "drafts", "on",
            help=f"set --max-num-batched-tokens to {need}",
        )  # fmt: skip


@relation(
    "INV410", "scheduler-limits", "vllm",
    length=value("--max-model-len"), long=given("--long-prefill-token-threshold"), sequences=value("--max-num-seqs"),
    active=given("--max-num-active-seqs"),
    mentions=("long-prefill", "active-seqs"),
    topics=("length",),
    bad="--max-model-len 4096 --long-prefill-token-threshold 8192",
    good="--max-model-len 16384 --long-prefill-token-threshold 8192",
    source="vLLM 0.33.0, `config/scheduler.py`: `verify_max_model_len`; the threshold from 0.8.5 on.",
)  # fmt: skip
def scheduler(o: Operands) -> Iterator[Finding]:
    """What counts as a long prompt is no longer than the model's context, and those that run are among those held."""
    for limit, whole in (("long", "length"), ("active", "sequences")):
        if type(o[limit].value) is int and type(o[whole].value) is int and o[limit].value > o[whole].value > 0:
            yield o.fault(limit, f"{o(limit)} > {o(whole)}, which vLLM refuses", whole)


UNSTABLE = ("gemma-2-", "gemma-3-", "glm-4-9b-0414", "glm-4-32b-0414", "glm-z1-9b-0414", "glm-z1-32b-0414")
"""Beginnings of the names of models whose types (gemma2, gemma3, glm4) vLLM refuses in float16."""


@relation(
    "INV411", "float16-of-a-model-that-overflows", "vllm",
    path=told("model_path"), kind=given("--dtype"),
    since="0.10.2",
    mentions=("dtype",),
    topics=("precision", "model"),
    bad="$ vllm serve google/gemma-3-12b-it --dtype float16",
    good="$ vllm serve google/gemma-3-12b-it --dtype bfloat16",
    target=NEW,
    source=f"{MODELS}: `_FLOAT16_NOT_SUPPORTED_MODELS`; the same in 0.10.2.",
)  # fmt: skip
def half(o: Operands) -> Iterator[Finding]:
    """Activations of some models leave the range of float16, and vLLM doesn't serve them in it."""
    name = o.path.rstrip("/").rsplit("/", 1)[-1] if isinstance(o.path, str) else ""
    if o.kind in ("float16", "half") and name.lower().startswith(UNSTABLE):
        yield o.fault("kind", f"{o('kind')} for {name}, which vLLM refuses: it overflows", "path", help="use bfloat16")


@relation(
    "INV412", "piecewise-compilation-by-another-backend", "vllm",
    mode=given("--compilation-config.mode", "--compilation-config.level"),
    backend=given("--compilation-config.backend"),
    since="0.11.0",
    mentions=("compilation-config",),
    topics=("memory",),
    bad="--compilation-config.mode 3 --compilation-config.backend onnxrt",
    good="--compilation-config.mode 3 --compilation-config.backend inductor",
    target=NEW,
    source="vLLM 0.33.0, `config/compilation.py`: \"Invalid backend for piecewise compilation\"; the same in 0.11.2.",
)  # fmt: skip
def piecewise(o: Operands) -> Iterator[Finding]:
    """vLLM's own compilation cuts the model into pieces for inductor, or for no compiler at all."""
    if o.mode in (3, "3", "VLLM_COMPILE") and isinstance(o.backend, str) and o.backend not in ("", "eager", "inductor"):
        yield o.fault("backend", f"{o('backend')} with {o('mode')}, which vLLM refuses", "mode", help="use inductor")


TWICE = (
    # flag, key of a JSON option
    ("--attention-backend", "--attention-config.backend"),
    ("--enable-flashinfer-autotune", "--kernel-config.enable_flashinfer_autotune"),
    ("--cudagraph-capture-sizes", "--compilation-config.cudagraph_capture_sizes"),
    ("--max-cudagraph-capture-size", "--compilation-config.max_cudagraph_capture_size"),
)


@relation(
    "INV413", "set-by-flag-and-by-json", "vllm",
    flag0=given(TWICE[0][0]), key0=given(TWICE[0][1]), flag1=given(TWICE[1][0]), key1=given(TWICE[1][1]),
    flag2=given(TWICE[2][0]), key2=given(TWICE[2][1]), flag3=given(TWICE[3][0]), key3=given(TWICE[3][1]),
    mentions=("attention-backend", "autotune", "cudagraph"),
    topics=("options",),
    bad="--attention-backend FLASH_ATTN --attention-config.backend FLASHINFER",
    good="--attention-config.backend FLASHINFER",
    source=f'{ARGUMENTS}: "are mutually exclusive"; the same from 0.11.2 on.',
)  # fmt: skip
def twice(o: Operands) -> Iterator[Finding]:
    """A few flags are short for a key of a JSON option, and vLLM takes one of the two."""
    for at, (name, key) in enumerate(TWICE):
        if o[f"flag{at}"].value is not None and o[f"key{at}"].value is not None:
            yield o.fault(
                f"flag{at}", f"{name} beside {key}: vLLM takes one of them", f"key{at}", help="remove one of them"
            )


@relation(
    "INV414", "asynchronous-scheduling-with-a-pipeline", "vllm",
    on=flag("--async-scheduling"), pp=number(PP), method=given("--speculative-config.method"),
    since="0.14.0", until="0.19.0",
    mentions=("async-scheduling",),
    topics=("parallel",),
    bad="--async-scheduling --pipeline-parallel-size 2",
    good="--async-scheduling --pipeline-parallel-size 1",
    target="vllm=0.14.1",
    source="vLLM 0.14.1 and 0.18.1, `config/vllm.py`: \"hard fail any incompatibilities\"; pipelines in 0.14.1 "
    "alone. Newer "
    "releases have a second runner that takes both.",
)  # fmt: skip
def asynchronous(o: Operands) -> Iterator[Finding]:
    """Scheduling ahead of the results was not made for pipelines, nor for n-gram drafts."""
    if o.on and o.pp > 1 and o.run.before("vllm", "0.15.0"):
        yield o.fault("on", f"--async-scheduling with {o('pp')}, which this vLLM refuses", "pp", help="remove it")
    elif o.on and o.method in ("ngram", "suffix"):
        yield o.fault(
            "on", f"--async-scheduling with {o('method')}, which this vLLM refuses", "method", help="remove it"
        )


@relation(
    "INV415", "overlapped-half-batches", "vllm",
    on=flag("--enable-dbo"), parts=value("--ubatch-size"), decode=number("--dbo-decode-token-threshold"),
    prefill=number("--dbo-prefill-token-threshold"), exchange=given("--all2all-backend"),
    mentions=("enable-dbo",),
    topics=("moe", "overlap"),
    bad=f"{MIXED} {SPREAD} {DP} 8 --enable-dbo --all2all-backend pplx",
    good=f"{MIXED} {SPREAD} {DP} 8 --enable-dbo --all2all-backend deepep_low_latency",
    unless="ROCm takes allgather_reducescatter as well, which is why that one is left alone.",
    source="vLLM 0.33.0, `config/vllm.py`: \"Microbatching currently only supports\", the same in 0.11.2; "
    "`config/parallel.py`: thresholds, in 0.33.0.",
)  # fmt: skip
def half_batches(o: Operands) -> Iterator[Finding]:
    """Two halves of a batch overlap where the exchange between experts has a kernel for it."""
    if not o.on:
        return
    takes = ("deepep_low_latency", "deepep_high_throughput")
    if isinstance(o.exchange, str) and o.exchange not in (*takes, "nixl_ep", "allgather_reducescatter"):
        yield o.fault(
            "exchange", f"{o('exchange')} with --enable-dbo, which vLLM refuses", "on", help=f"use {listed(takes)}"
        )
    parts = o.parts if type(o.parts) is int and o.parts > 0 else 2
    for name in ("decode", "prefill"):
        if o[name].value < parts:
            yield o.fault(name, f"{o(name)} < {parts} parts of a batch, which vLLM refuses", "parts")


@relation(
    "INV416", "context-beyond-the-model", "vllm",
    path=told("model_path"), length=given("--max-model-len", "--context-length"),
    allowed=environment("VLLM_ALLOW_LONG_MAX_MODEL_LEN"),
    overwritten=environment("SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"),
    overrides=given("--hf-overrides", "--json-model-override-args"), scaling=given("--rope-scaling"),
    also=("sglang",),
    mentions=("max-model-len", "context-length"),
    topics=("length", "model"),
    bad="$ vllm serve Qwen/Qwen2.5-Math-7B-Instruct --max-model-len 8192",
    good="$ vllm serve Qwen/Qwen2.5-Math-7B-Instruct --max-model-len 4096",
    unless="Positions are known for released models of common families, by their names. An override of the "
    "model's config "
    "may change them. SGLang before 0.5.3 warns, and goes on.",
    source=f"{MODELS}: `_get_and_verify_max_len`; the same in 0.8.5. SGLang 0.5.23, `configs/model_config.py`: "
    "`_derive_context_length`.",
)  # fmt: skip
def positions(o: Operands) -> Iterator[Finding]:
    """Past its positions a model has learnt nothing: it may answer nonsense or NaN, and the engine refuses to go there.

    Models for mathematics are the usual case: Qwen2.5-Math ends at 4096.
    """
    shape = shape_of(o.path) if isinstance(o.path, str) else None
    if shape is None or not shape.positions or type(o.length) is not int or o.length <= shape.positions:
        return
    if any(str(allowed).lower() in ("1", "true") for allowed in (o.allowed, o.overwritten)):
        return
    if o.overrides or o.scaling:
        return
    if any(word.text.startswith(("--hf-overrides.", "--rope-")) for word in o.run.command):
        return
    name = o.path.rstrip("/").rsplit("/", 1)[-1]
    lax = o.run.framework == "sglang" and o.run.before("sglang", "0.5.3") is not False
    outcome = "past them its answers are wrong" if lax else "the engine refuses to start"
    yield o.fault(
        "length",
        f"{o('length')} > the {shape.positions} positions of {name}: {outcome}",
        "path",
        help=f"set it to {shape.positions} at most",
        severity=WARNING if lax else None,
    )


@relation(
    "INV417", "share-of-memory-above-all", "vllm",
    share=given("--gpu-memory-utilization"),
    mentions=("memory-utilization",),
    topics=("memory",),
    bad="--gpu-memory-utilization 90",
    good="--gpu-memory-utilization 0.9",
    source="vLLM 0.33.0, `config/cache.py`: `gpu_memory_utilization`, greater than 0 and 1 at most; in 0.8.5 1 "
    "at most.",
)  # fmt: skip
def share(o: Operands) -> Iterator[Finding]:
    """An engine's memory is a share of the GPU's, between 0 and 1."""
    if type(o.share) in (int, float) and not 0 < o.share <= 1:
        help = f"use {o.share / 100:g}" if 1 < o.share <= 100 else "use 0.9"
        yield o.fault(
            "share",
            f"{o['share'].key} {o.share:g} is no share of the memory: it lies above 0, and is 1 at most",
            help=help,
        )


RULES: tuple[Rule, ...] = tuple(relations(globals()))
