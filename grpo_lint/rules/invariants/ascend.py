"""INV450 to INV454: what vllm-ascend refuses in `--additional-config` of vLLM's server."""

from __future__ import annotations

from grpo_lint.diagnostics import NOTE
from grpo_lint.rules.invariants.relation import Operands, environment, flag, given, number, relation, relations
from grpo_lint.rules.invariants.vllm_server import dense

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Finding, Rule

MORE = "--additional-config"
RL, BALANCE, PARTS = f"{MORE}.rl_config", f"{MORE}.eplb_config", f"{MORE}.finegrained_tp_config"
READ = "vllm-ascend, main of 2026-08-22, `vllm_ascend/ascend_config.py`"
SERVE = "$ vllm serve Qwen/Qwen3-30B-A3B --tensor-parallel-size 4"
SWITCHES = ("enabled", "sleep_mode_extra_cleanup", "enable_training_consistency", "enable_batch_invariant")


def _example(config: str, more: str = "") -> str:
    return f"{SERVE} {MORE} '{config}'{more}"


@relation(
    "INV450", "rl-config-of-vllm-ascend", "vllm",
    whole=given(RL), moved=given(f"{MORE}.enable_sleep_mode_extra_cleanup"),
    mentions=("additional-config",),
    topics=("rollout",),
    bad=_example('{"rl_config": {"enabled": true, "extra_cleanup": true}}'),
    good=_example('{"rl_config": {"enabled": true, "sleep_mode_extra_cleanup": true}}'),
    source=f"{READ}: `RLConfig`, `AscendConfig.__init__`.",
)  # fmt: skip
def rl_config(o: Operands) -> Iterator[Finding]:
    """The block for reinforcement learning takes four switches, each true or false."""
    if not o["moved"].unset:
        yield o.fault("moved", f"{MORE}.enable_sleep_mode_extra_cleanup was removed: vllm-ascend refuses it",
                      help="set rl_config.sleep_mode_extra_cleanup")  # fmt: skip
    prefix = f"{RL}."
    for _, key, setting in tuple(o.run.options.written("vllm")):
        if not key.startswith(prefix) or not setting.known:
            continue
        name = key[len(prefix) :].split(".")[0]
        o.put(name, setting, setting.value)
        if name not in SWITCHES:
            yield o.fault(name, f"vllm-ascend knows no rl_config.{name}", help=f"it takes {', '.join(SWITCHES)}")
        elif not isinstance(setting.value, bool):
            yield o.fault(name, f"rl_config.{name} is {setting.value}, not true or false, which vllm-ascend refuses")


@relation(
    "INV451", "rl-config-turns-nz-off", "vllm",
    on=given(f"{RL}.enabled"), format=environment("VLLM_ASCEND_ENABLE_NZ"), mode=given(f"{MORE}.weight_nz_mode"),
    severity=NOTE,
    mentions=("additional-config",),
    topics=("rollout", "weight-sync"),
    bad="$ export VLLM_ASCEND_ENABLE_NZ=1\n" + _example('{"rl_config": {"enabled": true}}')[2:],
    good="$ export VLLM_ASCEND_ENABLE_NZ=0\n" + _example('{"rl_config": {"enabled": true}}')[2:],
    source=f"{READ}: `RLConfig.apply` warns and overrides it.",
)  # fmt: skip
def nz(o: Operands) -> Iterator[Finding]:
    """Weights in the format NZ can't be written anew after each step, so that RL turns it off.

    What a launch asks for is overridden with no more than a warning in the log.
    """
    if o.on is not True:
        return
    if o.format is not None and str(o.format) != "0":
        yield o.fault("format", f"VLLM_ASCEND_ENABLE_NZ={o.format} with rl_config.enabled true: vllm-ascend "
            f"sets it to 0", "on",
                      help="export VLLM_ASCEND_ENABLE_NZ=0")  # fmt: skip
    if type(o.mode) is int and o.mode != 0:
        yield o.fault("mode", f"weight_nz_mode {o.mode} with rl_config.enabled true: vllm-ascend sets it to 0", "on")


@relation(
    "INV452", "fine-grained-tensor-parallel", "vllm",
    oproj=given(f"{PARTS}.oproj_tensor_parallel_size"), lmhead=given(f"{PARTS}.lmhead_tensor_parallel_size"),
    embedding=given(f"{PARTS}.embedding_tensor_parallel_size"), mlp=given(f"{PARTS}.mlp_tensor_parallel_size"),
    olora=given(f"{PARTS}.olora_tensor_parallel_size"), tp=number("--tensor-parallel-size"),
    dp=number("--data-parallel-size"), eager=flag("--enforce-eager"), role=given("--kv-transfer-config.kv_role"),
    transfer=given("--kv-transfer-config"), sampling=given(f"{MORE}.enable_reduce_sample"), path=given("--model"),
    mentions=("additional-config",),
    topics=("parallel", "moe"),
    bad="$ vllm serve Qwen/Qwen3-30B-A3B --data-parallel-size 8 --additional-config"
    " '{\"finegrained_tp_config\": {\"lmhead_tensor_parallel_size\": 3}}'",
    good="$ vllm serve Qwen/Qwen3-30B-A3B --data-parallel-size 8 --additional-config"
    " '{\"finegrained_tp_config\": {\"lmhead_tensor_parallel_size\": 4}}'",
    source=f"{READ}: `FinegrainedTPConfig`, `AscendConfig.__init__`.",
)  # fmt: skip
def fine_grained(o: Operands) -> Iterator[Finding]:
    """Single modules are cut along the data-parallel ranks, in equal groups, and for a mixture of experts alone."""
    sizes = [name for name in ("oproj", "lmhead", "embedding", "mlp", "olora") if _positive(o[name].value)]
    for name in sizes:
        short = str(o[name].key).rsplit(".", 1)[-1]
        told = f"{short} {o[name].value}"
        if dense(o.path):
            yield o.fault(name, f"{told} for a dense model, which vllm-ascend refuses", "path")
        elif o.dp % o[name].value:
            yield o.fault(name, f"{o('dp')} is not a multiple of {told}, which vllm-ascend refuses", "dp")
        elif name == "oproj" and o.tp > 1:
            yield o.fault(name, f"{told} with {o('tp')}, which vllm-ascend refuses", "tp")
        elif name in ("oproj", "olora") and o.eager:
            yield o.fault(name, f"{told} with --enforce-eager, which vllm-ascend refuses", "eager")
        elif name in ("oproj", "olora") and (o["transfer"].unset or o.role == "kv_producer"):
            yield o.fault(name, f"{told} on a node that decodes for no other, which vllm-ascend refuses", "role")
    if "lmhead" in sizes and o.sampling is True:
        yield o.fault(
            "sampling", "enable_reduce_sample with lmhead_tensor_parallel_size, which vllm-ascend refuses", "lmhead"
        )


def _positive(size: object) -> bool:
    return type(size) is int and size > 0


@relation(
    "INV453", "balancing-on-ascend", "vllm",
    on=given(f"{BALANCE}.dynamic_eplb"), policy=given(f"{BALANCE}.eplb_policy_type"),
    map=given(f"{BALANCE}.expert_map_path"),
    record=given(f"{BALANCE}.expert_map_record_path"), spare=given(f"{BALANCE}.num_redundant_experts"),
    dynamic=environment("DYNAMIC_EPLB"), recording=environment("EXPERT_MAP_RECORD"),
    mentions=("additional-config",),
    topics=("moe", "parallel"),
    bad=f"$ export DYNAMIC_EPLB=false\n{SERVE[2:]} {MORE} '{{\"eplb_config\": {{\"dynamic_eplb\": true}}}}'",
    good=f"$ export DYNAMIC_EPLB=true\n{SERVE[2:]} {MORE} '{{\"eplb_config\": {{\"dynamic_eplb\": true}}}}'",
    unless="Where a script sets neither variable, its caller may.",
    source=f"{READ}: `EplbConfig._validate_config`.",
)  # fmt: skip
def balancing(o: Operands) -> Iterator[Finding]:
    """Experts are moved while the server runs where both the config and the environment say so."""
    for name in ("map", "record"):
        text = o[name].value
        if isinstance(text, str) and not text.endswith(".json"):
            yield o.fault(
                name, f"eplb_config.{str(o[name].key).rsplit('.', 1)[-1]} {text} is no .json, which vllm-ascend refuses"
            )
    if o.policy is not None and o.policy not in (0, 1, 2, 3):
        yield o.fault("policy", f"eplb_policy_type {o.policy}: vllm-ascend takes 0 to 3")
    if type(o.spare) is int and o.spare < 0:
        yield o.fault("spare", f"num_redundant_experts {o.spare}: vllm-ascend takes 0 and more")
    moves = "on" if o.on is True else "record" if o.record is not None else ""
    if moves and o.dynamic is not None and str(o.dynamic).lower() not in ("true", "1") and str(o.recording) != "true":
        yield o.fault("dynamic", f"DYNAMIC_EPLB={o.dynamic} with dynamic balancing: vllm-ascend asserts that it "
            f"is true", moves,
                      help="export DYNAMIC_EPLB=true")  # fmt: skip


COMPILE = f"{MORE}.ascend_compilation_config"


@relation(
    "INV454", "modes-of-vllm-ascend", "vllm",
    static=given(f"{COMPILE}.enable_static_kernel"), graph=given(f"{COMPILE}.enable_npugraph_ex"),
    cache=given(f"{MORE}.enable_kv_nz"), transfer=given("--kv-transfer-config"),
    role=given("--kv-transfer-config.kv_role"), place=given(f"{MORE}.mix_placement"),
    shared=given(f"{MORE}.enable_shared_expert_dp"), stream=given(f"{MORE}.multistream_overlap_shared_expert"),
    tokens=given(f"{MORE}.mega_moe_max_tokens"), sampling=given(f"{MORE}.enable_reduce_sample"),
    mentions=("additional-config",),
    topics=("moe", "memory"),
    bad=_example('{"ascend_compilation_config": {"enable_static_kernel": true, "enable_npugraph_ex": false}}'),
    good=_example('{"ascend_compilation_config": {"enable_static_kernel": true, "enable_npugraph_ex": true}}'),
    source=f"{READ}: `AscendConfig.__init__`, `_check_mix_placement`, `AscendCompilationConfig`.",
)  # fmt: skip
def modes(o: Operands) -> Iterator[Finding]:
    """A few modes build on others, or take their place."""
    if o.static is True and o.graph is False:
        yield o.fault("static", "enable_static_kernel without enable_npugraph_ex, which vllm-ascend asserts", "graph")
    if o.cache is True and (o["transfer"].unset or o.role == "kv_producer"):
        yield o.fault("cache", "enable_kv_nz on a node that decodes for no other, which vllm-ascend refuses", "role")
    if o.place is True:
        for name in ("shared", "stream"):
            if o[name].value is True:
                short = str(o[name].key).rsplit(".", 1)[-1]
                yield o.fault(name, f"{short} with mix_placement, which vllm-ascend refuses", "place")
    if not o["tokens"].unset and not _positive(o.tokens):
        yield o.fault("tokens", f"mega_moe_max_tokens {o.tokens}: vllm-ascend takes a whole number above 0")
    if o.sampling is True and o.role == "kv_producer":
        yield o.fault(
            "sampling", "enable_reduce_sample on a node that prefills for others, which vllm-ascend refuses", "role"
        )


RULES: tuple[Rule, ...] = tuple(relations(globals()))
