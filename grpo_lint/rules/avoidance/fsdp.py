"""DO06, NOT06: which FSDP shards the actor in verl."""

from __future__ import annotations

from grpo_lint.diagnostics import NOTE, WARNING
from grpo_lint.frameworks import verl
from grpo_lint.rules.avoidance.verl_run import effective, is_verl
from grpo_lint.rules.rule import Finding, rule
from grpo_lint.unified import Setting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Rule
    from grpo_lint.runconfig import RunConfig

FSDP_STRATEGIES = ("fsdp", "fsdp2", "fsdp_turbo")
PAIRS = (
    # the key that is overwritten, and the key that rules
    (f"{verl.FSDP}.strategy", f"{verl.ACTOR}.strategy"),
    ("critic.fsdp.strategy", "critic.strategy"),
)


@rule("DO06", "fsdp1", severity=WARNING, evidence="refuted", topics=("fsdp",), twin="NOT06", frameworks=("verl",))
def strategy_overwritten(run: RunConfig) -> Iterator[Finding]:
    """verl takes the FSDP version from `actor.strategy` and overwrites `actor.fsdp_config.strategy` with it.

    ## What it does
    Reports `actor_rollout_ref.actor.fsdp_config.strategy` (and `critic.fsdp.strategy`) where it is written down and
    differs from the `strategy` one level up.

    ## Why it matters
    The inner key looks like the switch between FSDP1 and FSDP2, and does nothing: the actor's config copies the outer
    value over it. A run that asks for fsdp2 there trains with FSDP1, with its memory and its offloading.

    ## Example
    ```sh
    python3 -m verl.trainer.main_ppo \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=8 \\
        actor_rollout_ref.actor.fsdp_config.strategy=fsdp2
    ```

    ## Use instead
    ```sh
    python3 -m verl.trainer.main_ppo \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=8 \\
        actor_rollout_ref.actor.strategy=fsdp2
    ```

    ## When it does not apply
    verl before 0.8.0 with `trainer.use_legacy_worker_impl=disable`, as in its fully-async and one-step-off trees: those
    workers read the inner key. Neither FSDP1 nor FSDP2 is required for GRPO; verl's default is `fsdp` (FSDP1), and its
    documentation recommends migrating to FSDP2.

    ## Sources
    - verl 0.8.0, 0.9.0, 0.9.1, `workers/config/actor.py` and `critic.py`: `__post_init__` of FSDPActorConfig and
      FSDPCriticConfig set `engine.strategy`. `fsdp_config.strategy` exists from 0.6.0 (default fsdp).
    - verl 0.6.1, 0.7.1, `workers/fsdp_workers.py`: the legacy workers read `actor.strategy` alone; 0.7.1,
      `workers/engine_workers.py`: the new ones read the engine's.
    """
    if not is_verl(run) or _reads_inner(run):
        return
    for inner_key, outer_key in PAIRS:
        inner, outer = verl.option(run, inner_key), effective(run, outer_key)
        if not inner.explicit or not inner.known or not outer.known or inner.value == outer.value:
            continue
        if inner.value in FSDP_STRATEGIES and outer.value in FSDP_STRATEGIES:
            yield _overwritten(inner, outer)


def _overwritten(inner: Setting, outer: Setting) -> Finding:
    default = "" if outer.explicit else " (its default)"
    return Finding(
        f"{inner.key}={inner.value} has no effect: verl overwrites it with {outer.key}, which is {outer.value}"
        f"{default}",
        inner,
        label="overwritten",
        others=[(outer, "the value in force")],
        help=f"set {outer.key}={inner.value}, or remove the inner key",
    )


def _reads_inner(run: RunConfig) -> bool:
    """Whether the new workers of before 0.8.0 may run, which did: a default of 0.7.1's asynchronous trees."""
    legacy = verl.option(run, "trainer.use_legacy_worker_impl")
    return not legacy.decided or legacy.value == "disable"


@rule(
    "NOT06",
    "fsdp2",
    severity=NOTE,
    evidence="refuted",
    needs=("fsdp_mode",),
    topics=("fsdp", "memory"),
    twin="DO06",
    frameworks=("verl",),
)
def old_fsdp2(run: RunConfig) -> Iterator[Finding]:
    """FSDP2 takes more memory in old releases: when loading with torch 2.6, and when it exports weights.

    ## What it does
    Reports FSDP2 in verl in two known ranges: with torch 2.6 before verl 0.5.0, and with parameter offload on more than
    one node before verl 0.9.0.

    ## Why it matters
    Before 0.5.0, loading a large model under torch 2.6 put whole tensors on the GPU and ran out of memory. Before
    0.9.0, every weight sync moved the rank's whole shard onto the GPU first, offloaded or not, while the rollout's
    weights were already there.

    ## Example
    For verl 0.8.0 (`--target verl=0.8.0`):

    ```sh
    python3 -m verl.trainer.main_ppo \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=8 \\
        actor_rollout_ref.actor.strategy=fsdp2 \\
        actor_rollout_ref.actor.fsdp_config.param_offload=True \\
        trainer.nnodes=2
    ```

    ## Use instead
    verl 0.9.0 or newer. There FSDP2's export peaks lower than FSDP1's, which needs the whole shard. With LoRA both do.

    ## When it does not apply
    Current releases: FSDP2 is what verl's documentation recommends. The two reports behind the source document's ban
    are one unexplained growth of CPU memory (verl-project/verl#6468, open) and one out-of-memory on Ascend (#6772).

    ## Sources
    - verl-project/verl#2464, fixed by #2606 (first in 0.5.0); #6772; #7005 (first in 0.9.0).
    - verl 0.8.0 and 0.9.0, `workers/engine/fsdp/transformer_impl.py`: `get_per_tensor_param`.
    """
    if not is_verl(run) or run.fsdp_mode.value != "fsdp2":
        return
    torch = run.versions.get("torch")
    if torch is not None and torch.parts[:2] == (2, 6) and run.before(verl.NAME, "0.5.0"):
        yield Finding(
            f"fsdp2 with torch {torch.text} and verl before 0.5.0: loading a large model runs out of GPU memory"
            " (verl #2464)",
            run.fsdp_mode,
            label="FSDP2",
            help="upgrade verl to 0.5.0 or newer, or torch to 2.7 or newer",
            severity=WARNING,
        )
    nodes, offload = run.nnodes, run.offload_param
    if not run.before(verl.NAME, "0.9.0") or run.before(verl.NAME, "0.5.0"):
        return
    if nodes.known and type(nodes.value) is int and nodes.value > 1 and offload.value == "cpu":
        yield Finding(
            "fsdp2 with param_offload on several nodes: before verl 0.9.0 each weight sync puts the whole shard on the"
            " GPU beside the rollout's weights (verl #6772)",
            run.fsdp_mode,
            label="FSDP2",
            others=[(offload, "offloaded between steps, but not during the sync"), (nodes, "the nodes")],
            help=_roomier(run),
        )


def _roomier(run: RunConfig) -> str:
    """What helps a sync that runs out of memory: 0.9.0 does without the whole shard only where no adapter is merged."""
    rank = run.lora_rank
    if rank.known and type(rank.value) is int and rank.value > 0:
        return "lower gpu_memory_utilization if the sync runs out of memory: with LoRA newer releases do the same"
    return "upgrade verl to 0.9.0 or newer if the sync runs out of memory"


RULES: tuple[Rule, ...] = (strategy_overwritten, old_fsdp2)
