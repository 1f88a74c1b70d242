"""INV740 to INV744: ROLL's roles and batches, and AReaL's settings."""

from __future__ import annotations

import re

from grpo_lint.rules.invariants.relation import Operands, number, relation, relations, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Finding, Rule
    from grpo_lint.runconfig import RunConfig

WORKER = "ROLL main of 2026-08-19, `roll/configs/worker_config.py`: `WorkerConfig.__post_init__`"
AGENTIC = "ROLL main of 2026-08-19, `roll/pipeline/agentic/agentic_config.py`"
FILE = (
    "pretrain: Qwen/Qwen2.5-7B-Instruct\nnum_gpus_per_node: 8\nadv_estimator: grpo\n"
    "num_return_sequences_in_group: 8\nactor_train:\n  strategy_args:\n    strategy_name: megatron_train\n"
)
AGENTS = (
    "pretrain: Qwen/Qwen2.5-7B-Instruct\nadv_estimator: grpo\nactor_train:\n  strategy_args:\n"
    "    strategy_name: megatron_train\nactor_infer:\n  strategy_args:\n    strategy_name: vllm\n"
    "train_env_manager:\n  num_env_groups: 16\n  group_size: 8\n"
)
INFER = (
    "actor_infer:\n  device_mapping: list(range(0,{}))\n  strategy_args:\n    strategy_name: vllm\n"
    "    strategy_config:\n      tensor_parallel_size: 4\n"
)
_RANGE = r"list\(\s*range\(\s*(?:(\d{1,6})\s*,\s*)?(\d{1,6})\s*\)\s*\)"
_LIST = r"\[\s*\d{1,6}(?:\s*,\s*\d{1,6})*\s*\]"
START = "$ python examples/start_rlvr_rollout_pipeline.py --config_path . --config_name {}"
ROLLOUT = (
    "pretrain: Qwen/Qwen2.5-7B-Instruct\nactor_train:\n  strategy_args:\n    strategy_name: megatron_train\n"
    "actor_infer:\n  strategy_args:\n    strategy_name: vllm\n    strategy_config:\n"
    "      load_format: {}\n      sleep_level: 1\n"
)
AREAL = (
    "cluster:\n  n_nodes: 1\n  n_gpus_per_node: 8\nallocation_mode: sglang:d4+fsdp:d4\n"
    "gconfig:\n  n_samples: 8\nactor:\n  path: Qwen/Qwen2.5-1.5B-Instruct\n  optimizer:\n    lr: 1.0e-6\n"
)


def devices(text: object) -> int | None:
    """How many devices an expression of ROLL's names, `list(range(0,8))` or `[0, 1]`; None where it is another."""
    if isinstance(text, list):
        return len(text)
    found = re.fullmatch(_RANGE, text.strip()) if isinstance(text, str) else None
    if found is not None:
        return max(int(found[2]) - int(found[1] or 0), 0)
    return text.count(",") + 1 if isinstance(text, str) and re.fullmatch(_LIST, text.strip()) else None


@relation(
    "INV740", "devices-do-not-divide-by-worker", "roll",
    mapping=value("actor_infer.device_mapping"), kind=value("actor_infer.strategy_args.strategy_name"),
    tp=value("actor_infer.strategy_args.strategy_config.tensor_parallel_size"),
    pp=value("actor_infer.strategy_args.strategy_config.pipeline_parallel_size"),
    each=value("actor_infer.num_gpus_per_worker"),
    mentions=("device_mapping",),
    topics=("parallel", "rollout"),
    bad=FILE + INFER.format(6),
    good=FILE + INFER.format(8),
    unless="Devices are counted in `list(range(a,b))` and in plain lists.",
    source=f"{WORKER}. With vllm a worker has tensor x pipeline GPUs, else `num_gpus_per_worker`.",
)  # fmt: skip
def workers(o: Operands) -> Iterator[Finding]:
    """A role's devices are shared out among workers, each an engine of its own."""
    count = devices(o.mapping)
    tp, pp = (size if type(size) is int else 1 for size in (o.tp, o.pp))
    size = tp * pp if o.kind == "vllm" else o.each if o.kind == "sglang" and type(o.each) is int else 0
    if count and size > 0 and count % size:
        name = "tp" if o.kind == "vllm" else "each"
        yield o.fault(
            name,
            f"actor_infer has {count} devices, which {o(name)}"
            + (f" x {o('pp')} = {size}" if pp > 1 and name == "tp" else "")
            + " does not divide: ROLL refuses to start",
            "mapping",
        )


@relation(
    "INV741", "groups-do-not-fill-agents-batch", "roll",
    batch=value("rollout_batch_size"), size=number("train_env_manager.group_size"),
    mentions=("rollout_batch_size",),
    topics=("batch", "group"),
    bad=f"{AGENTS}rollout_batch_size: 100",
    good=f"{AGENTS}rollout_batch_size: 128",
    source=f"{AGENTIC}: `AgenticConfig.__post_init__`.",
)  # fmt: skip
def agents(o: Operands) -> Iterator[Finding]:
    """Agents' trajectories are collected in whole groups."""
    if type(o.batch) is int and o.batch > 0 and o.size > 0 and o.batch % o.size:
        yield o.fault(
            "batch",
            f"{o('batch')} is not a multiple of train_env_manager.{o('size')}, which ROLL asserts",
            "size",
            help=f"set it to {o.batch // o.size * o.size or o.size}",
        )


@relation(
    "INV742", "validation-does-not-fill-environments", "roll",
    batch=value("val_batch_size"), groups=number("val_env_manager.num_env_groups"),
    size=number("val_env_manager.group_size"),
    mentions=("val_batch_size",),
    topics=("batch", "group"),
    bad=f"{AGENTS}val_batch_size: 100\nval_env_manager:\n  num_env_groups: 32\n  group_size: 1",
    good=f"{AGENTS}val_batch_size: 96\nval_env_manager:\n  num_env_groups: 32\n  group_size: 1",
    source=f"{AGENTIC}: `AgenticConfig.__post_init__`.",
)  # fmt: skip
def validation(o: Operands) -> Iterator[Finding]:
    """Each environment of validation yields as many trajectories as the next."""
    total = o.groups * o.size
    if type(o.batch) is int and o.batch > 0 and total > 0 and o.batch % total:
        yield o.fault(
            "batch",
            f"{o('batch')} is not a multiple of {o('groups')} x {o('size')} = {total} environments, which ROLL asserts",
            "groups",
            "size",
            help=f"set it to {max(o.batch // total, 1) * total}",
        )


def rollout_only(run: RunConfig) -> bool:
    """Whether ROLL's pipeline that only rolls out is started."""
    return any("start_rlvr_rollout_pipeline" in word.text for word in run.command)


@relation(
    "INV743", "rollout-pipeline-of-roll", "roll",
    kind=value("actor_infer.strategy_args.strategy_name"),
    load=value("actor_infer.strategy_args.strategy_config.load_format"),
    sleep=value("actor_infer.strategy_args.strategy_config.sleep_level"),
    when=rollout_only,
    mentions=("actor_infer",),
    topics=("rollout",),
    files={"asleep.yaml": ROLLOUT.format("dummy"), "awake.yaml": ROLLOUT.format("auto")},
    bad=START.format("asleep"),
    good=START.format("awake"),
    source="ROLL main of 2026-08-19, `roll/pipeline/rlvr/rlvr_rollout_pipeline.py`; `load_format`: dummy by default.",
)  # fmt: skip
def rollout(o: Operands) -> Iterator[Finding]:
    """A pipeline that only rolls out has no trainer to bring the weights: its engine loads them, and keeps them."""
    if o.kind in ("vllm", "sglang") and (o.load == "dummy" or (o.load is None and o.run.complete)):
        yield o.fault(
            "load" if o.load is not None else "kind",
            f"{o('load')}: nothing brings the engine its weights, and ROLL asserts another format",
            help="set actor_infer.strategy_args.strategy_config.load_format: auto",
        )
    elif o.kind == "vllm" and o.sleep not in (None, 1):
        yield o.fault("sleep", f"{o('sleep')}, and ROLL asserts 1 for a rollout alone", help="set it to 1")


@relation(
    "INV744", "normalisation-of-areal", "areal",
    mean=value("actor.reward_norm.mean_level"), deviation=value("actor.reward_norm.std_level"),
    size=value("actor.reward_norm.group_size"), amean=value("actor.adv_norm.mean_level"),
    adeviation=value("actor.adv_norm.std_level"), asize=value("actor.adv_norm.group_size"),
    router=value("actor.archon.moe_router_dtype"),
    sapo=value("actor.use_sapo_loss"), decoupled=value("actor.use_decoupled_loss"),
    mentions=("actor",),
    topics=("group", "loss"),
    bad=f"{AREAL}  reward_norm:\n    mean_level: groups\n    std_level: group\n    group_size: 8",
    good=f"{AREAL}  reward_norm:\n    mean_level: group\n    std_level: group\n    group_size: 8",
    source="AReaL 1.0.4, `areal/api/cli_args.py`: `NormConfig`, `ArchonEngineConfig`, `PPOActorConfig`: "
    "`__post_init__`.",
)  # fmt: skip
def areal(o: Operands) -> Iterator[Finding]:
    """AReaL normalises over a batch or over groups of a size, and checks its words when the config is read."""
    for mean, deviation, size in (("mean", "deviation", "size"), ("amean", "adeviation", "asize")):
        for name in (mean, deviation):
            level = getattr(o, name)
            if isinstance(level, str) and level not in ("batch", "group"):
                yield o.fault(name, f"{o(name)} is not one of batch, group and null, and AReaL refuses it")
            elif level == "group" and type(getattr(o, size)) is int and getattr(o, size) < 1:
                yield o.fault(size, f"{o(size)} with {o(name)}, which AReaL refuses", name)
    if o.router is not None and o.router != "fp32":
        yield o.fault("router", f"{o('router')} is neither fp32 nor null, and AReaL refuses it")
    if o.sapo is True and o.decoupled is True:
        yield o.fault("sapo", "use_sapo_loss with use_decoupled_loss true, which AReaL refuses", "decoupled",
                      help="set actor.use_decoupled_loss: false")  # fmt: skip


RULES: tuple[Rule, ...] = tuple(relations(globals()))
