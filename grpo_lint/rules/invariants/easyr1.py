"""INV750 to INV754: EasyR1's batches, lengths and engines."""

from __future__ import annotations

from grpo_lint.rules.invariants.relation import Operands, divisors, listed, number, relation, relations, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Finding, Rule
    from grpo_lint.runconfig import RunConfig

TRAINER = "EasyR1 main of September 2026, `verl/trainer/ray_trainer.py`"
WORKERS = "EasyR1 main of September 2026, `verl/workers/fsdp_workers.py`"
ENGINE = "EasyR1 main of September 2026, `verl/workers/rollout/vllm_rollout_spmd.py`"
ACTOR, ROLLOUT = "worker.actor", "worker.rollout"
BATCH, N = "data.rollout_batch_size", f"{ROLLOUT}.n"
GPUS, NODES = "trainer.n_gpus_per_node", "trainer.nnodes"
FILES = {
    "easyr1.yaml": "data:\n  rollout_batch_size: 512\n  max_prompt_length: 2048\n  max_response_length: 2048\n"
    "algorithm:\n  adv_estimator: grpo\nworker:\n  actor:\n    global_batch_size: 128\n"
    "    micro_batch_size_per_device_for_update: 4\n    micro_batch_size_per_device_for_experience: 16\n"
    "  rollout:\n    n: 8\n    tensor_parallel_size: 2\ntrainer:\n  n_gpus_per_node: 8\n  nnodes: 1\n"
}
LAUNCH = "$ python3 -m verl.trainer.main config=easyr1.yaml"


def started(run: RunConfig) -> bool:
    """Whether the trainer is started, on a file that is at hand: a file alone is a base for others."""
    return bool(run.command)


@relation(
    "INV750", "batches-of-easyr1", "easyr1",
    batch=number(BATCH, otherwise=512), n=number(N, otherwise=1),
    whole=number(f"{ACTOR}.global_batch_size", otherwise=256),
    infer=number(f"{ACTOR}.micro_batch_size_per_device_for_experience", otherwise=16),
    when=started,
    mentions=("batch_size", "rollout.n"),
    topics=("batch",),
    files=FILES,
    bad=f"{LAUNCH} {BATCH}=384 {ACTOR}.global_batch_size=256",
    good=f"{LAUNCH} {BATCH}=512 {ACTOR}.global_batch_size=256",
    source=f"{TRAINER}: two ValueErrors of `__init__`.",
)  # fmt: skip
def batches(o: Operands) -> Iterator[Finding]:
    """A rollout's prompts are trained on in batches of `global_batch_size` prompts."""
    if min(o.whole, o.infer) <= 0:
        return
    if o.batch % o.whole:
        yield o.fault(
            "batch",
            f"{o('batch')} is not a multiple of worker.actor.{o('whole')}, which EasyR1 refuses: both count prompts",
            "whole",
            help=f"set {BATCH} to {(o.batch // o.whole + 1) * o.whole}",
        )
    elif o.batch * o.n % o.infer:
        yield o.fault(
            "infer",
            f"{o('infer')} does not divide {o('batch')} x {o('n')} responses, which EasyR1 refuses",
            "batch",
            "n",
        )


@relation(
    "INV751", "share-of-a-device-in-easyr1", "easyr1",
    whole=number(f"{ACTOR}.global_batch_size", otherwise=256), n=number(N, otherwise=1),
    each=number(f"{ACTOR}.micro_batch_size_per_device_for_update", otherwise=4), sp=value(f"{ACTOR}.ulysses_size"),
    gpus=number(GPUS, otherwise=8), nodes=number(NODES, otherwise=1), offload=value(f"{ACTOR}.fsdp.enable_cpu_offload"),
    when=started,
    mentions=("batch_size", "rollout.n", "n_gpus", "nnodes", "offload"),
    topics=("batch", "parallel", "offload"),
    files=FILES,
    bad=f"{LAUNCH} {ACTOR}.micro_batch_size_per_device_for_update=6",
    good=f"{LAUNCH} {ACTOR}.micro_batch_size_per_device_for_update=8",
    source=f"{WORKERS}: three ValueErrors of `_init_dist_mesh`.",
)  # fmt: skip
def share(o: Operands) -> Iterator[Finding]:
    """A device works through its share of a batch's responses in micro-batches, or in one where FSDP offloads."""
    ranks = o.gpus * o.nodes // (o.sp if type(o.sp) is int and o.sp > 0 else 1)
    if ranks <= 0 or o.each <= 0:
        return
    own = o.whole * o.n // ranks
    told = f"{o.whole} x {o.n} responses over {ranks} ranks"
    if own == 0:
        yield o.fault("whole", f"{told} leave none for each, which EasyR1 refuses", "n", "gpus", "nodes")
    elif own % o.each:
        yield o.fault(
            "each", f"{o('each')} does not divide {own}, a device's share of {told}: EasyR1 refuses it", "whole", "n",
            help=f"set it to {listed(divisors(own, 16))}",
        )  # fmt: skip
    elif o.offload is True and own != o.each:
        yield o.fault(
            "offload", f"fsdp.{o('offload')} with {o('each')} of {own} responses of a device: EasyR1 refuses to"
            " accumulate gradients beside it", "each",
            help="set worker.actor.offload.offload_params=true instead",
        )  # fmt: skip


@relation(
    "INV752", "batched-tokens-of-easyr1", "easyr1",
    budget=number(f"{ROLLOUT}.max_num_batched_tokens", otherwise=8192),
    prompt=number("data.max_prompt_length", otherwise=512), response=number("data.max_response_length", otherwise=512),
    when=started,
    mentions=("max_num_batched", "_length"),
    topics=("length", "rollout"),
    files=FILES,
    bad=f"{LAUNCH} data.max_prompt_length=4096 data.max_response_length=8192",
    good=f"{LAUNCH} data.max_prompt_length=4096 data.max_response_length=8192 {ROLLOUT}.max_num_batched_tokens=16384",
    source=f"{ENGINE}: \"max_num_batched_tokens should be greater than ...\"; default 8192. hiyouga/EasyR1#3425.",
)  # fmt: skip
def tokens(o: Operands) -> Iterator[Finding]:
    """A step of the engine has to hold a whole prompt and its response."""
    total = o.prompt + o.response
    if o.budget < total:
        yield o.fault(
            "budget",
            f"{o('budget')} < {o('prompt')} + {o('response')} = {total}, which EasyR1 refuses",
            "prompt",
            "response",
            help=f"set {ROLLOUT}.max_num_batched_tokens to {total} or more",
        )


@relation(
    "INV753", "engines-of-easyr1", "easyr1",
    tp=number(f"{ROLLOUT}.tensor_parallel_size", otherwise=2), gpus=number(GPUS, otherwise=8),
    nodes=number(NODES, otherwise=1),
    when=started,
    mentions=("tensor_parallel_size", "n_gpus", "nnodes"),
    topics=("parallel", "rollout"),
    files=FILES,
    bad=f"{LAUNCH} {GPUS}=1 {ACTOR}.global_batch_size=128",
    good=f"{LAUNCH} {GPUS}=1 {ROLLOUT}.tensor_parallel_size=1",
    source=f"{WORKERS}: \"rollout world size ... is not divisible by tp size\"; `tensor_parallel_size`: default 2.",
)  # fmt: skip
def engines(o: Operands) -> Iterator[Finding]:
    """Rollout engines share out the trainer's GPUs, and one takes two of them by default."""
    world = o.gpus * o.nodes
    if o.tp > 0 and world > 0 and world % o.tp:
        yield o.fault(
            "tp",
            f"rollout {o('tp')} does not divide {world} GPU{'s' * (world != 1)}, which EasyR1 refuses",
            "gpus",
            "nodes",
            help=f"set {ROLLOUT}.tensor_parallel_size to {listed(divisors(world, 8))}",
        )


@relation(
    "INV754", "resume-path-of-easyr1", "easyr1",
    path=value("trainer.load_checkpoint_path"),
    when=started,
    mentions=("load_checkpoint_path",),
    topics=("checkpoint",),
    files=FILES,
    bad=f"{LAUNCH} trainer.load_checkpoint_path=/checkpoints/geo3k",
    good=f"{LAUNCH} trainer.load_checkpoint_path=/checkpoints/geo3k/global_step_100",
    source=f"{TRAINER}: \"`load_checkpoint_path` should end with `global_step_*`.\"",
)  # fmt: skip
def resume(o: Operands) -> Iterator[Finding]:
    """EasyR1 resumes from the folder of one step, and knows it by its name."""
    if isinstance(o.path, str) and o.path and "global_step_" not in o.path.rstrip("/").rsplit("/", 1)[-1]:
        yield o.fault(
            "path", f"{o('path')} names no global_step_N folder, which EasyR1 refuses", help="name the folder of a step"
        )


RULES: tuple[Rule, ...] = tuple(relations(globals()))
