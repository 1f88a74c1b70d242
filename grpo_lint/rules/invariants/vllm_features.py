"""INV418 to INV420: features of vLLM's server that keep others out: connectors, sleep, adapters and types of "
"weights."""

from __future__ import annotations

from grpo_lint.rules.invariants.relation import Operands, environment, flag, given, relation, relations, told

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Finding, Rule

CONNECTOR = "--kv-transfer-config.kv_connector"
NEW = "vllm=0.33.0"
SERVE = "vllm serve Qwen/Qwen3-8B"
NIXL = """--kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_both"}'"""
MORI = NIXL.replace("NixlConnector", "MoRIIOConnector")


@relation(
    "INV418", "expandable-segments-with-kv-connector", "vllm",
    connector=given(CONNECTOR), allocator=environment("PYTORCH_CUDA_ALLOC_CONF"), sleep=flag("--enable-sleep-mode"),
    pool=flag("--enable-cumem-allocator"),
    since="0.21.0",
    mentions=("kv-transfer-config",),
    topics=("memory", "rollout"),
    bad=f"$ export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n{SERVE} {NIXL}",
    good=f"$ export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:512\n{SERVE} {NIXL}",
    target=NEW,
    unless="With sleep mode or `--enable-cumem-allocator` the cache has memory of its own.",
    source="vLLM 0.21.0 to 0.33.0, `config/vllm.py`: `_verify_kv_transfer_compat` (not in 0.20.0).",
)  # fmt: skip
def segments(o: Operands) -> Iterator[Finding]:
    """Segments that grow may be moved, and a connector has told the network where the cache lies."""
    if o.connector is None or "expandable_segments:True" not in str(o.allocator) or o.sleep or o.pool:
        return
    yield o.fault(
        "allocator",
        f"PYTORCH_CUDA_ALLOC_CONF={o.allocator} with {o.connector}, which vLLM refuses",
        "connector",
        help="unset it, or add --enable-cumem-allocator",
    )


SLEEPLESS = ("MoRIIOConnector", "MooncakeStoreConnector")
MEGA = ("deep_gemm_mega_moe", "flashinfer_moe_ep_cutedsl", "flashinfer_moe_ep_deep_gemm", "aiter_mega_moe")


@relation(
    "INV419", "feature-without-its-partner", "vllm",
    connector=given(CONNECTOR), sleep=flag("--enable-sleep-mode"), adapters=flag("--enable-lora"),
    experts=given("--moe-backend", "--kernel-config.moe_backend"),
    since="0.33.0",
    mentions=("kv-transfer-config", "enable-lora"),
    topics=("lora", "rollout", "moe"),
    bad=f"$ {SERVE} --enable-sleep-mode {MORI}",
    good=f"$ {SERVE} --enable-sleep-mode {NIXL}",
    target=NEW,
    source="vLLM 0.33.0, `config/vllm.py`: `_verify_kv_transfer_compat`; `config/lora.py`: `verify_with_kernel_config` "
    "(neither in 0.25.1).",
)  # fmt: skip
def partners(o: Operands) -> Iterator[Finding]:
    """Not every connector finds its cache after sleep, and not every kernel of experts takes adapters."""
    if o.sleep and o.connector in SLEEPLESS:
        yield o.fault("connector", f"{o.connector} with --enable-sleep-mode, which vLLM refuses", "sleep")
    if o.adapters and o.experts in MEGA:
        yield o.fault("experts", f"{o('experts')} with --enable-lora, which vLLM refuses", "adapters", help="use auto")


CHECKPOINTS = (
    # end of a model's name, beginnings of what may be asked for
    ("-awq", ("awq", "auto_awq", "moe_wna16", "compressed-tensors", "humming", "inc")),
    ("-gptq-int4", ("gptq", "auto_gptq", "moe_wna16", "humming", "inc")),
    ("-gptq-int8", ("gptq", "auto_gptq", "moe_wna16", "humming", "inc")),
)


@relation(
    "INV420", "quantisation-of-another-checkpoint", "vllm",
    path=told("model_path"), kind=given("--quantization"),
    mentions=("quantization",),
    topics=("precision", "model"),
    bad="$ vllm serve Qwen/Qwen2.5-7B-Instruct-AWQ --quantization gptq",
    good="$ vllm serve Qwen/Qwen2.5-7B-Instruct-AWQ",
    unless="How a checkpoint is quantised is told by names that end in AWQ or GPTQ-Int4.",
    source='vLLM 0.33.0, `config/model.py`: "does not match the quantization method"; the same in 0.8.5.',
)  # fmt: skip
def checkpoint(o: Operands) -> Iterator[Finding]:
    """A checkpoint says how it is quantised, and can't be read as anything else."""
    if not isinstance(o.path, str) or not isinstance(o.kind, str):
        return
    name = o.path.rstrip("/").rsplit("/", 1)[-1]
    for end, takes in CHECKPOINTS:
        if name.lower().endswith(end) and not o.kind.lower().startswith(takes):
            yield o.fault("kind", f"{o('kind')} for {name}, which vLLM refuses", "path", help="remove --quantization")


RULES: tuple[Rule, ...] = tuple(relations(globals()))
