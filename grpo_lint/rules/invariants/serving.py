"""INV401 to INV439: the command lines of vLLM's and SGLang's servers."""

from __future__ import annotations

from grpo_lint.rules.invariants.relation import (
    Operands,
    divisors,
    flag,
    given,
    listed,
    number,
    relation,
    relations,
    value,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Finding, Rule

VLLM = "vLLM 0.33.0, "
SGLANG = "SGLang 0.5.3 `server_args.py`, 0.5.23 `arg_groups/validation_hook.py`: `check_server_args`."


@relation(
    "INV401", "budget-below-model-length", "vllm",
    budget=number("--max-num-batched-tokens"), length=number("--max-model-len"),
    chunked=given("--enable-chunked-prefill"), off=given("--no-enable-chunked-prefill"),
    topics=("length",),
    bad="--no-enable-chunked-prefill --max-num-batched-tokens 8192 --max-model-len 16384",
    good="--no-enable-chunked-prefill --max-num-batched-tokens 16384 --max-model-len 16384",
    source=VLLM + "`config/scheduler.py`: `verify_max_model_len`.",
)  # fmt: skip
def budget(o: Operands) -> Iterator[Finding]:
    """Without chunked prefill, a step has to hold the longest prompt at once."""
    if (o.off is True or str(o.chunked).lower() == "false") and o.budget < o.length:
        yield o.fault(
            "budget",
            f"{o('budget')} < {o('length')} without chunked prefill: vLLM refuses to start",
            "length",
            "off" if o.off is True else "chunked",
            help=f"set --max-num-batched-tokens to {o.length}, or leave chunked prefill on",
        )


@relation(
    "INV402", "budget-below-sequences", "vllm",
    budget=number("--max-num-batched-tokens"), sequences=number("--max-num-seqs"),
    topics=("length",),
    bad="--max-num-batched-tokens 512 --max-num-seqs 1024",
    good="--max-num-batched-tokens 2048 --max-num-seqs 1024",
    source=VLLM + "`config/scheduler.py`: `verify_max_model_len`.",
)  # fmt: skip
def sequences(o: Operands) -> Iterator[Finding]:
    """A step decodes one token of each running sequence, and has to hold them all."""
    if o.budget < o.sequences:
        yield o.fault(
            "budget",
            f"{o('budget')} < {o('sequences')}: a step can't hold a token of each, and vLLM refuses to start",
            "sequences",
        )


@relation(
    "INV403", "adapters-on-host", "vllm",
    host=number("--max-cpu-loras"), device=number("--max-loras"),
    topics=("lora",),
    bad="--enable-lora --max-loras 8 --max-cpu-loras 4",
    good="--enable-lora --max-loras 8 --max-cpu-loras 16",
    source=VLLM + "`config/lora.py`: `_validate_lora_config`.",
)  # fmt: skip
def host_adapters(o: Operands) -> Iterator[Finding]:
    """The host keeps at least the adapters that the GPU serves."""
    if o.host < o.device:
        yield o.fault("host", f"{o('host')} < {o('device')}, which vLLM refuses", "device")


@relation(
    "INV404", "balancing-without-experts", "vllm",
    balance=flag("--enable-eplb"), spread=flag("--enable-expert-parallel"),
    since="0.10.0",
    topics=("moe", "parallel"),
    bad="$ vllm serve Qwen/Qwen3-235B-A22B --tensor-parallel-size 8 --enable-eplb",
    good="$ vllm serve Qwen/Qwen3-235B-A22B --tensor-parallel-size 8 --enable-expert-parallel --enable-eplb",
    target="vllm=0.33.0",
    source=VLLM + "`config/parallel.py`: \"enable_expert_parallel must be True to use EPLB\".",
)  # fmt: skip
def balancing(o: Operands) -> Iterator[Finding]:
    """Experts are balanced over ranks only where they are spread over ranks."""
    if o.balance and not o.spread:
        yield o.fault(
            "balance",
            "--enable-eplb without --enable-expert-parallel, which vLLM refuses",
            help="add --enable-expert-parallel",
        )


@relation(
    "INV421", "shape-does-not-tile-nodes", "sglang",
    tp=number("--tp-size"), pp=given("--pp-size"), nodes=number("--nnodes"),
    topics=("parallel",),
    bad="--tp-size 8 --nnodes 3",
    good="--tp-size 8 --nnodes 2",
    source=SGLANG,
)  # fmt: skip
def tiles(o: Operands) -> Iterator[Finding]:
    """An engine's ranks are spread evenly over its nodes."""
    size = o.tp * (o.pp if type(o.pp) is int else 1)
    if o.nodes > 1 and size % o.nodes:
        yield o.fault(
            "nodes",
            f"{size} ranks are not a multiple of {o('nodes')}, which SGLang asserts",
            "tp",
            "pp",
            help=f"use {listed(n for n in divisors(size, 64))} nodes",
        )


@relation(
    "INV422", "unpadded-graphs-with-compile", "sglang",
    unpadded=flag("--disable-cuda-graph-padding"), compile=flag("--enable-torch-compile"),
    since="0.5.23",
    topics=("memory",),
    bad="--disable-cuda-graph-padding --enable-torch-compile",
    good="--enable-torch-compile",
    target="sglang=0.5.23",
    source="SGLang 0.5.23 `arg_groups/validation_hook.py`: `check_server_args` (not in 0.5.3).",
)  # fmt: skip
def unpadded(o: Operands) -> Iterator[Finding]:
    """Without padding every batch size is compiled on its own."""
    if o.unpadded and o.compile:
        yield o.fault(
            "unpadded", "--disable-cuda-graph-padding with --enable-torch-compile, which SGLang refuses", "compile"
        )


@relation(
    "INV423", "replicas-over-nodes", "sglang",
    dp=number("--dp-size"), nodes=number("--nnodes"),
    topics=("parallel",),
    bad="--tp-size 8 --dp-size 2 --nnodes 2",
    good="--tp-size 8 --dp-size 2 --nnodes 2 --enable-dp-attention",
    source=SGLANG,
)  # fmt: skip
def replicas(o: Operands) -> Iterator[Finding]:
    """Replicas stay on one node; over several, data parallelism is that of the attention."""
    # the flag is an old spelling in newer releases, and so in no table of them
    attention = any(word.text == "--enable-dp-attention" for word in o.run.command)
    if o.dp > 1 and o.nodes > 1 and not attention and o.run.complete:
        yield o.fault(
            "dp", f"{o('dp')} over {o('nodes')} without attention data parallelism, which SGLang refuses", "nodes"
        )


@relation(
    "INV424", "chunk-is-no-whole-pages", "sglang",
    chunk=number("--chunked-prefill-size"), page=number("--page-size"), mode=value("--disaggregation-mode"),
    topics=("memory",),
    bad="--chunked-prefill-size 4100 --page-size 64",
    good="--chunked-prefill-size 4096 --page-size 64",
    source=SGLANG,
)  # fmt: skip
def pages(o: Operands) -> Iterator[Finding]:
    """A chunk of a prompt fills whole pages of the cache."""
    if o.chunk > 0 and o.page > 0 and o.chunk % o.page and o.mode != "decode":
        yield o.fault(
            "chunk",
            f"{o('chunk')} is not a multiple of {o('page')}, which SGLang asserts",
            "page",
            help=f"use {o.chunk // o.page * o.page or o.page}",
        )


@relation(
    "INV425", "adapters-of-no-shape", "sglang",
    on=flag("--enable-lora"), paths=value("--lora-paths"), rank=value("--max-lora-rank"),
    modules=value("--lora-target-modules"),
    topics=("lora",),
    bad="--enable-lora --max-lora-rank 64",
    good="--enable-lora --max-lora-rank 64 --lora-target-modules all",
    source="SGLang 0.5.3 `server_args.py`, 0.5.23 `arg_groups/lora_hook.py`: `check_lora_server_args`.",
)  # fmt: skip
def adapter_shape(o: Operands) -> Iterator[Finding]:
    """Memory for adapters is laid out by rank and modules, which either the first adapters tell or the line."""
    if o.on and o.paths is None and (o.rank is None or o.modules is None) and o.run.complete:
        yield o.fault(
            "on",
            "--enable-lora without --lora-paths needs --max-lora-rank and --lora-target-modules: SGLang asserts both",
            "rank",
            "modules",
        )


@relation(
    "INV426", "fewer-adapters-than-a-batch", "sglang",
    loaded=number("--max-loaded-loras"), batch=number("--max-loras-per-batch"),
    topics=("lora",),
    bad="--enable-lora --lora-paths a=/a --max-loaded-loras 4 --max-loras-per-batch 8",
    good="--enable-lora --lora-paths a=/a --max-loaded-loras 8 --max-loras-per-batch 8",
    source="SGLang 0.5.3 `server_args.py`, 0.5.23 `arg_groups/lora_hook.py`: `check_lora_server_args`.",
)  # fmt: skip
def loaded_adapters(o: Operands) -> Iterator[Finding]:
    """The adapters of a batch are among those that are loaded."""
    if o.loaded < o.batch:
        yield o.fault("loaded", f"{o('loaded')} < {o('batch')}, which SGLang asserts", "batch")


@relation(
    "INV427", "balancing-of-one-rank", "sglang",
    balance=flag("--enable-eplb"), ep=number("--ep-size"),
    topics=("moe", "parallel"),
    bad="--tp-size 8 --enable-eplb --ep-size 1",
    good="--tp-size 8 --enable-eplb --ep-size 8",
    source="SGLang 0.5.3 `server_args.py`; 0.5.23 `arg_groups/parallel_hook.py`.",
)  # fmt: skip
def one_rank(o: Operands) -> Iterator[Finding]:
    """Experts are balanced over ranks only where they are spread over ranks."""
    if o.balance and o.ep == 1 and o["ep"].explicit:
        yield o.fault("balance", f"--enable-eplb with {o('ep')}, which SGLang asserts against", "ep")


@relation(
    "INV428", "hierarchical-cache-without-tree", "sglang",
    hierarchical=flag("--enable-hierarchical-cache"), no_tree=flag("--disable-radix-cache"),
    topics=("memory",),
    bad="--enable-hierarchical-cache --disable-radix-cache",
    good="--enable-hierarchical-cache",
    source="SGLang 0.5.23 `arg_groups/kv_cache_hook.py`.",
)  # fmt: skip
def hierarchy(o: Operands) -> Iterator[Finding]:
    """The hierarchical cache is one of the radix tree."""
    if o.hierarchical and o.no_tree:
        yield o.fault(
            "hierarchical", "--enable-hierarchical-cache with --disable-radix-cache, which SGLang refuses", "no_tree"
        )


@relation(
    "INV429", "dense-tensor-size", "sglang",
    dense=number("--moe-dense-tp-size"), tp=number("--tp-size"),
    topics=("moe", "parallel"),
    bad="--tp-size 8 --moe-dense-tp-size 4",
    good="--tp-size 8 --moe-dense-tp-size 1",
    source=SGLANG + " Up to 0.5.3 only 1 is taken.",
)  # fmt: skip
def dense(o: Operands) -> Iterator[Finding]:
    """The dense layers of a mixture are whole on each rank, or split as everything is."""
    if o.dense not in (1, o.tp):
        yield o.fault("dense", f"{o('dense')} is neither 1 nor {o('tp')}, which SGLang asserts", "tp")


@relation(
    "INV430", "priorities-without-their-order", "sglang",
    on=flag("--enable-priority-scheduling"), policy=value("--schedule-policy"),
    topics=("rollout",),
    bad="--enable-priority-scheduling --schedule-policy lpm",
    good="--enable-priority-scheduling --schedule-policy fcfs",
    source=SGLANG,
)  # fmt: skip
def priorities(o: Operands) -> Iterator[Finding]:
    """Priorities order requests that otherwise come first, or last, as they came."""
    if o.on and o.policy is not None and o.policy not in ("fcfs", "lof"):
        yield o.fault("policy", f"{o('policy')} with --enable-priority-scheduling: SGLang takes fcfs and lof", "on")


RULES: tuple[Rule, ...] = tuple(relations(globals()))
