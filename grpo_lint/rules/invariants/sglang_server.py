"""INV431 to INV442: more of SGLang's server: attention and expert data parallelism, pipelines, caches and adapters."""

from __future__ import annotations

from grpo_lint.diagnostics import NOTE, WARNING
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
    value,
)
from grpo_lint.rules.rule import Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Rule

CHECKS = "`arg_groups/validation_hook.py`"
PARALLEL = "`arg_groups/parallel_hook.py`"
MIXED = "$ python3 -m sglang.launch_server --model-path Qwen/Qwen3-30B-A3B"
TARGET = "sglang=0.5.23"


def old_attention(o: Operands) -> bool:
    """Whether --enable-dp-attention is on the line: an old spelling in newer releases, and so in no table of them."""
    return any(word.text == "--enable-dp-attention" for word in o.run.command)


@relation(
    "INV431", "attention-data-parallel-size", "sglang",
    attention=given("--attn-dp-size"), dp=number("--dp-size"), tp=number("--tp-size"),
    topics=("parallel",),
    bad="--tp-size 8 --dp-size 3 --enable-dp-attention",
    good="--tp-size 8 --dp-size 4 --enable-dp-attention",
    source=f"SGLang 0.4.6.post5 to 0.5.19, `handle_data_parallelism`; 0.5.23, {PARALLEL}, where --attn-dp-size "
    f"takes the "
    "place of --dp-size with --enable-dp-attention.",
)  # fmt: skip
def attention(o: Operands) -> Iterator[Finding]:
    """Data-parallel groups of the attention are parts of the tensor-parallel ranks, of equal size."""
    if type(o.attention) is int and o.attention < 1:
        yield o.fault("attention", f"{o('attention')}: SGLang wants a positive number")
        return
    if type(o.attention) is int and o.attention > 1 and o.dp > 1:
        yield o.fault(
            "dp", f"{o('dp')} beside {o('attention')}, which SGLang refuses", "attention", help="remove --dp-size"
        )
        return
    name = "attention" if type(o.attention) is int else "dp" if old_attention(o) else ""
    if name and o.tp % o[name].value:
        yield o.fault(
            name,
            f"{o('tp')} is not a multiple of {o(name)} groups of the attention, which SGLang asserts",
            "tp",
            help=f"use {listed(divisors(o.tp, 64))}",
        )


@relation(
    "INV432", "drafts-in-a-pipeline", "sglang",
    pp=number("--pp-size"), algorithm=given("--speculative-algorithm"), mode=value("--disaggregation-mode"),
    spec=environment("SGLANG_ENABLE_PP_SPEC"),
    mentions=("speculative",),
    topics=("parallel", "rollout"),
    bad="--tp-size 4 --pp-size 2 --speculative-algorithm EAGLE",
    good="--tp-size 8 --speculative-algorithm EAGLE",
    unless="From 0.5.23 on EAGLE goes with a pipeline on prefill nodes, and by SGLANG_ENABLE_PP_SPEC.",
    source=f"SGLang 0.4.6.post5 to 0.5.19, `check_server_args`; 0.5.23, {CHECKS}: `check_pipeline_parallel_compat`.",
)  # fmt: skip
def pipeline(o: Operands) -> Iterator[Finding]:
    """A pipeline hands on the tokens of one step, and most drafts need those of several."""
    if o.pp <= 1 or not isinstance(o.algorithm, str):
        return
    if o.algorithm.upper() in ("EAGLE", "DSPARK") and (o.mode == "prefill" or o.spec):
        return
    yield o.fault(
        "algorithm", f"{o('algorithm')} with {o('pp')}, which SGLang asserts against", "pp", help="set --pp-size to 1"
    )


@relation(
    "INV433", "expert-data-parallel-size", "sglang",
    moe=given("--moe-dp-size"), tp=number("--tp-size"), ep=given("--ep-size"), pp=given("--pp-size"),
    exchange=value("--moe-a2a-backend"),
    mentions=("moe-dp",),
    topics=("moe", "parallel"),
    bad=f"{MIXED} --tp-size 8 --moe-dp-size 2 --ep-size 8",
    good=f"{MIXED} --tp-size 8 --moe-dp-size 2 --ep-size 4",
    unless="A backend for the exchange between experts sets their number by itself.",
    source=f"SGLang 0.5.10 to 0.5.19, `server_args.py`; 0.5.23, {PARALLEL}.",
)  # fmt: skip
def expert_data(o: Operands) -> Iterator[Finding]:
    """Data-parallel groups of experts share out the tensor-parallel ranks with expert parallelism."""
    if type(o.moe) is not int or o.moe <= 1 or o.exchange not in (None, "none"):
        return
    ep = o.ep if type(o.ep) is int else 1
    if o.tp % o.moe:
        yield o.fault("moe", f"{o('tp')} is not a multiple of {o('moe')}, which SGLang asserts", "tp",
                      help=f"use {listed(divisors(o.tp, 64))}")  # fmt: skip
    elif ep * o.moe > o.tp or (ep > 1 and ep * o.moe != o.tp):
        yield o.fault("ep", f"{o('ep')} x {o('moe')} = {ep * o.moe}, not {o('tp')}, which SGLang asserts", "moe",
                      "tp",
                      help=f"set --ep-size to {o.tp // o.moe}")  # fmt: skip
    elif type(o.pp) is int and o.pp != 1:
        yield o.fault(
            "pp", f"{o('pp')} with {o('moe')}, which SGLang asserts against", "moe", help="set --pp-size to 1"
        )


@relation(
    "INV434", "expert-kernels-and-their-parallel-size", "sglang",
    runner=given("--moe-runner-backend"), ep=given("--ep-size"), tp=number("--tp-size"), kind=given("--quantization"),
    exchange=value("--moe-a2a-backend"),
    mentions=("moe-runner",),
    topics=("moe", "parallel"),
    bad=f"{MIXED} --tp-size 8 --ep-size 4 --moe-runner-backend flashinfer_cutlass --quantization modelopt_fp4",
    good=f"{MIXED} --tp-size 8 --ep-size 8 --moe-runner-backend flashinfer_cutlass --quantization modelopt_fp4",
    source="SGLang 0.5.3 to 0.5.19, `_handle_moe_kernel_config`; 0.5.23, `arg_groups/moe_hook.py`. fp8 from 0.5.6 on.",
)  # fmt: skip
def kernels(o: Operands) -> Iterator[Finding]:
    """Kernels of experts are written for experts that are spread over all ranks, or over none."""
    if type(o.ep) is not int or o.exchange not in (None, "none"):
        return
    if o.runner in ("flashinfer_cutlass", "flashinfer_cutedsl") and o.ep not in (1, o.tp):
        yield o.fault(
            "ep", f"{o('ep')} with {o('runner')} is neither 1 nor {o('tp')}, which SGLang asserts", "runner", "tp"
        )
    elif o.runner == "cutlass" and o.kind in ("fp8", "mxfp8") and o.ep != 1:
        yield o.fault("ep", f"{o('ep')} with {o('runner')} and {o('kind')}, which SGLang asserts against", "runner",
                      "kind",
                      help="set --ep-size to 1")  # fmt: skip


@relation(
    "INV435", "lmcache-and-its-neighbours", "sglang",
    on=flag("--enable-lmcache"), hierarchy=flag("--enable-hierarchical-cache"), no_tree=flag("--disable-radix-cache"),
    drafts=given("--speculative-algorithm"), attention=given("--attn-dp-size"),
    since="0.5.23",
    mentions=("lmcache",),
    topics=("memory",),
    bad="--enable-lmcache --enable-hierarchical-cache",
    good="--enable-lmcache",
    target=TARGET,
    source="SGLang 0.5.23, `arg_groups/kv_cache_hook.py` (not in 0.5.19).",
)  # fmt: skip
def lmcache(o: Operands) -> Iterator[Finding]:
    """LMCache takes the place of the hierarchical cache, and builds on the radix tree."""
    if not o.on:
        return
    for name in ("hierarchy", "no_tree"):
        if o[name].value is True:
            yield o.fault(name, f"{o[name].key} with --enable-lmcache, which SGLang refuses", "on")
    if o.drafts is not None:
        yield o.fault("drafts", f"{o('drafts')} with --enable-lmcache, which SGLang has not made yet", "on")
    if type(o.attention) is int and o.attention > 1:
        yield o.fault("attention", f"{o('attention')} with --enable-lmcache, which SGLang has not made yet", "on")


@relation(
    "INV436", "retraction-by-priorities-that-are-off", "sglang",
    policy=given("--retraction-policy"), on=flag("--enable-priority-scheduling"),
    mentions=("retraction",),
    topics=("rollout",),
    bad="--retraction-policy priority",
    good="--retraction-policy priority --enable-priority-scheduling",
    source=f"SGLang 0.5.16, 0.5.19 and 0.5.23, {CHECKS}; the option is as old as the check.",
)  # fmt: skip
def retraction(o: Operands) -> Iterator[Finding]:
    """Requests are taken back by priority where they have one."""
    if o.policy == "priority" and not o.on:
        yield o.fault("policy", f"{o('policy')} without --enable-priority-scheduling, which SGLang refuses",
                      help="add --enable-priority-scheduling")  # fmt: skip


@relation(
    "INV437", "overlapped-batches-without-exchange", "sglang",
    on=flag("--enable-two-batch-overlap"), exchange=value("--moe-a2a-backend"), attention=given("--attn-dp-size"),
    since="0.5.8",
    mentions=("two-batch",),
    topics=("moe", "overlap"),
    bad=f"{MIXED} --tp-size 8 --enable-two-batch-overlap",
    good=f"{MIXED} --tp-size 8 --enable-two-batch-overlap --moe-a2a-backend deepep",
    target=TARGET,
    source=f"SGLang 0.5.8 to 0.5.19, `check_server_args`; 0.5.23, {CHECKS}: `check_two_batch_overlap`.",
)  # fmt: skip
def two_batches(o: Operands) -> Iterator[Finding]:
    """Two batches overlap where there is an exchange between experts to overlap with."""
    spread = old_attention(o) or (type(o.attention) is int and o.attention > 1)
    if o.on and o.exchange in (None, "none") and not spread:
        yield o.fault("on", "--enable-two-batch-overlap with --moe-a2a-backend none, which SGLang refuses", "exchange",
                      help="add --moe-a2a-backend deepep")  # fmt: skip


@relation(
    "INV438", "doors-of-the-server", "sglang",
    port=number("--port"), grpc=given("--grpc-port"), file=flag("--export-metrics-to-file"),
    folder=given("--export-metrics-to-file-dir"), name=given("--served-model-name"),
    mentions=("grpc-port", "export-metrics", "served-model-name"),
    topics=("options",),
    bad="--port 30000 --grpc-port 30000",
    good="--port 30000 --grpc-port 30001",
    unless="A model's name may hold a colon before 0.5.6.",
    source=f"SGLang 0.5.16 to 0.5.23, {CHECKS}; the folder and the name from 0.5.6 on.",
)  # fmt: skip
def doors(o: Operands) -> Iterator[Finding]:
    """Ports differ, metrics need a folder, and a colon in a model's name stands before an adapter's."""
    if type(o.grpc) is int and o.grpc == o.port:
        yield o.fault(
            "grpc", f"{o('grpc')} is {o('port')} as well, which SGLang refuses", "port", help="choose another port"
        )
    if o.file and o.folder is None:
        yield o.fault("file", "--export-metrics-to-file without --export-metrics-to-file-dir, which SGLang refuses")
    if isinstance(o.name, str) and ":" in o.name and "://" not in o.name and o.run.before("sglang", "0.5.6") is False:
        yield o.fault(
            "name", f"{o('name')} has a colon, which SGLang asserts against: it marks an adapter", help="use a dash"
        )


@relation(
    "INV439", "pool-of-adapters", "sglang",
    on=value("--enable-lora"), paths=given("--lora-paths"), modules=given("--lora-target-modules"),
    batch=given("--max-loras-per-batch"), loaded=given("--max-loaded-loras"), chunk=given("--max-lora-chunk-size"),
    mentions=("lora",),
    topics=("lora",),
    bad="--enable-lora --max-lora-rank 64 --lora-target-modules all q_proj",
    good="--enable-lora --max-lora-rank 64 --lora-target-modules all",
    source="SGLang 0.4.10 to 0.5.19, `check_lora_server_args`; 0.5.23, `arg_groups/lora_hook.py`.",
)  # fmt: skip
def pool(o: Operands) -> Iterator[Finding]:
    """The pool of adapters has room for those of a batch, and for modules that are told by name or as all."""
    if type(o.batch) is int and o.batch <= 0:
        yield o.fault("batch", f"{o('batch')}: SGLang wants a positive number")
    if o.on is not True and o.paths is None:
        return
    modules = o.modules if isinstance(o.modules, list) else []
    if "all" in modules and len(modules) > 1:
        yield o.fault("modules", f"--lora-target-modules all beside {len(modules) - 1} more, which SGLang "
            f"asserts against",
                      help="use all alone, or the names alone")  # fmt: skip
    if type(o.loaded) is int and isinstance(o.paths, list) and len(o.paths) > o.loaded:
        yield o.fault("loaded", f"{o('loaded')} < {len(o.paths)} paths of adapters, which SGLang asserts", "paths",
                      help=f"set it to {len(o.paths)}")  # fmt: skip
    if type(o.chunk) is int and o.chunk not in (16, 32, 64, 128):
        yield o.fault("chunk", f"{o('chunk')} is no power of 2 between 16 and 128, which SGLang asserts", help="use 16")


@relation(
    "INV440", "adapters-on-experts", "sglang",
    runner=given("--moe-runner-backend"), on=value("--enable-lora"), paths=given("--lora-paths"),
    backend=value("--lora-backend"), kind=given("--quantization"), exchange=given("--moe-a2a-backend"),
    mentions=("moe-runner",),
    topics=("lora", "moe"),
    bad=f"{MIXED} --tp-size 4 --moe-runner-backend lora_triton --lora-backend triton_v2",
    good=f"{MIXED} --tp-size 4 --moe-runner-backend lora_triton --lora-backend triton_v2 --enable-lora"
    " --max-lora-rank 32 --lora-target-modules all",
    source="SGLang 0.5.23, `arg_groups/lora_hook.py`: `check_lora_moe_runner_args`; no backend has such a name before.",
)  # fmt: skip
def expert_adapters(o: Operands) -> Iterator[Finding]:
    """Kernels for adapters of experts are used with adapters, and know a few types of weights."""
    if not isinstance(o.runner, str) or not o.runner.startswith("lora"):
        return
    if o.on is not True and o.paths is None:
        yield o.fault(
            "runner", f"{o('runner')} without --enable-lora, which SGLang refuses", "on", help="add --enable-lora"
        )
    if o.backend != "triton_v2":
        yield o.fault("runner", f"{o('runner')} without --lora-backend triton_v2, which SGLang refuses", "backend")
    if o.kind not in (None, "fp8", "modelopt_fp4"):
        yield o.fault("kind", f"{o('kind')} with {o('runner')}, which SGLang refuses", "runner")
    elif o.kind == "modelopt_fp4" and o.runner != "lora_marlin":
        yield o.fault("runner", f"{o('runner')} with {o('kind')}, which SGLang refuses", "kind", help="use lora_marlin")
    if o.exchange not in (None, "none"):
        yield o.fault("exchange", f"{o('exchange')} with {o('runner')}, which SGLang refuses", "runner")


KEEP_TREE = ("ascend", "fa3", "fa4", "triton")


@relation(
    "INV441", "deterministic-without-radix-cache", "sglang",
    on=flag("--enable-deterministic-inference"), attention=given("--attention-backend"),
    no_tree=flag("--disable-radix-cache"),
    severity=NOTE,
    since="0.5.13",
    mentions=("deterministic",),
    topics=("rollout", "memory"),
    bad="--enable-deterministic-inference --attention-backend flashinfer",
    good="--enable-deterministic-inference --attention-backend fa3",
    target=TARGET,
    source="SGLang 0.5.13 and 0.5.23, `_handle_deterministic_inference`: "
    "`RADIX_SUPPORTED_DETERMINISTIC_ATTENTION_BACKEND`.",
)  # fmt: skip
def deterministic(o: Operands) -> Iterator[Finding]:
    """Few attention backends are deterministic with cached prefixes; with the others SGLang turns the cache off.

    Each prompt of a group is then computed anew.
    """
    if o.on and isinstance(o.attention, str) and o.attention not in KEEP_TREE and not o.no_tree:
        yield o.fault("attention", f"{o('attention')} with --enable-deterministic-inference: SGLang turns the "
            f"radix cache"
                      " off", "on", help="use fa3 or triton, where the hardware has it")  # fmt: skip


OLD = {
    # flag of the line: (release that deprecates it, what takes its place)
    "--disable-cuda-graph": ("0.5.16", "--cuda-graph-backend-decode disabled --cuda-graph-backend-prefill disabled"),
    "--enable-dp-attention": ("0.5.23", "--attn-dp-size in place of --dp-size"),
}


@relation(
    "INV442", "spelling-of-older-sglang", "sglang",
    model=value("--model-path"),
    severity=WARNING,
    topics=("options", "releases"),
    bad="--tp-size 8 --dp-size 8 --enable-dp-attention",
    good="--tp-size 8 --attn-dp-size 8",
    target=TARGET,
    unless="Where the release isn't known, nothing is said: older ones know no other spelling.",
    source="SGLang 0.5.16 to 0.5.23, `server_args.py`: `DeprecatedStoreTrueAction`.",
)  # fmt: skip
def old_spelling(o: Operands) -> Iterator[Finding]:
    """A few flags are accepted under protest, and their successors say more.

    A later release refuses them.
    """
    for word in o.run.command:
        since, instead = OLD.get(word.text, ("", ""))
        if since and o.run.before("sglang", since) is False:
            yield Finding(f"{word.text} is deprecated from SGLang {since} on", word.span, help=f"use {instead}")


RULES: tuple[Rule, ...] = tuple(relations(globals()))
