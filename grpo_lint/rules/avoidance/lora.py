"""DO08, DO15, NOT05: LoRA adapters, and whether the rollout engine can take them."""

from __future__ import annotations

from grpo_lint.diagnostics import ERROR, NOTE, WARNING
from grpo_lint.frameworks import verl
from grpo_lint.rules.avoidance.verl_run import adapters, effective, fsdp, is_verl, positive
from grpo_lint.rules.rule import Finding, rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.diagnostics import Fix
    from grpo_lint.rules.rule import Rule
    from grpo_lint.runconfig import RunConfig
    from grpo_lint.unified import Setting

RANK = f"{verl.MODEL}.lora_rank"
NESTED_RANK = f"{verl.MODEL}.lora.rank"
MERGE = f"{verl.MODEL}.lora.merge"
LOAD_FORMAT = f"{verl.ROLLOUT}.load_format"
LAYERED = f"{verl.ROLLOUT}.layered_summon"
VLLM_RANKS = (8, 16, 32, 64, 128, 256, 320, 512)
"""What vLLM's `max_lora_rank` takes (0.33.0 takes 1 too). Its largest is verl's limit."""


@rule(
    "DO08",
    "lora-rank-32",
    severity=ERROR,
    evidence="refuted",
    needs=("lora_rank", "lora_merge", "async_rollout"),
    topics=("lora", "rollout"),
    twin="NOT05",
    frameworks=("verl",),
    mentions=("lora",),
)
def load_format(run: RunConfig) -> Iterator[Finding]:
    """`layered_summon` sends adapters only, so the rollout engine has to load the base model itself.

    ## What it does
    Reports LoRA in verl on FSDP with `rollout.layered_summon=True` while `rollout.load_format` is a dummy format, which
    is verl's default.

    ## Why it matters
    A dummy format starts vLLM with random weights and leaves the first weight sync to bring the base model. With
    `layered_summon` the sync collects the adapter layer by layer and can't bring it: verl raises ValueError ("you must
    make sure base-model is preloaded in vllm") at the first sync, after everything is loaded.

    ## Example
    ```sh
    python3 -m verl.trainer.main_ppo \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=8 \\
        actor_rollout_ref.rollout.name=vllm \\
        actor_rollout_ref.model.lora_rank=32 \\
        actor_rollout_ref.rollout.layered_summon=True
    ```

    ## Use instead
    ```sh
    python3 -m verl.trainer.main_ppo \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=8 \\
        actor_rollout_ref.rollout.name=vllm \\
        actor_rollout_ref.model.lora_rank=32 \\
        actor_rollout_ref.rollout.layered_summon=True \\
        actor_rollout_ref.rollout.load_format=safetensors
    ```

    ## Fix
    Safe, where `load_format` is written out: the run can't start with the dummy format. Adds nothing where it isn't.

    ## When it does not apply
    Without `layered_summon` verl syncs the base model once and a dummy format works, although its documentation calls
    `load_format=safetensors` required. The rank itself is free: verl's documentation recommends 32 or more, and 128 for
    a 32B model; what the source document calls an effect of rank 64 was a stale merge (see NOT05).

    ## Sources
    - verl 0.4.1, 0.5.0, `workers/sharding_manager/fsdp_vllm.py`; 0.6.1 to 0.9.1, `utils/fsdp_utils.py`:
      `collect_lora_params` raises. `rollout.load_format`: default dummy (dummy_dtensor before 0.6.0).
      `rollout.layered_summon`: default false.
    - verl 0.9.1, `docs/advance/ppo_lora.rst`.
    """
    if not is_verl(run) or not positive(adapters(run)) or not fsdp(run) or run.async_rollout.value is not False:
        return
    layered, loading = verl.option(run, LAYERED), effective(run, LOAD_FORMAT)
    if layered.value is not True or run.rollout_engine.value != "vllm" or not _is_dummy(loading):
        return
    from grpo_lint.fixing.values import set_to

    shown = f"{loading.value}" if loading.explicit else f"{loading.value or 'dummy'} (its default)"
    yield Finding(
        f"layered_summon with load_format={shown}: vLLM starts without the base model, and this sync"
        " carries adapters only, so verl raises ValueError at the first one",
        layered,
        label="syncs the adapter alone",
        others=[(loading, "loads random weights"), (run.lora_rank, "the adapter")],
        help=f"set {LOAD_FORMAT}=safetensors",
        fix=set_to(loading, "safetensors", "load the base model from disk", safe=True),
    )


def _is_dummy(loading: Setting) -> bool:
    """Whether the engine starts with random weights: so by default, whatever the release calls it."""
    if loading.known:
        return "dummy" in str(loading.value)
    return loading.state == "unknown" and loading.origin is not None and loading.origin.layer == "default"


@rule(
    "NOT05",
    "lora-rank-64-vllm",
    severity=ERROR,
    evidence="refuted",
    needs=("lora_rank", "lora_merge"),
    topics=("lora", "rollout", "weight-sync"),
    twin="DO08",
    frameworks=("verl",),
    mentions=("lora",),
)
def stale_merge_or_rank(run: RunConfig) -> Iterator[Finding]:
    """Merged LoRA weights reach the rollout only from verl 0.9.0 on, and vLLM serves adapters up to rank 512.

    ## What it does
    Reports, in verl: `lora.merge=true` on FSDP before 0.9.0; an adapter rank above 512 with vLLM; and, before 0.6.1, a
    rank that vLLM has no size for.

    ## Why it matters
    Before 0.9.0 the FSDP engine built the merged weights lazily and read them after the merge was undone: vLLM got the
    base model without the adapter after every step. Rewards stay flat, or the model stops ending its answers, which was
    first taken for an effect of rank 64. A rank that vLLM can't serve stops the run at start.

    ## Example
    For verl 0.8.0 (`--target verl=0.8.0`):

    ```sh
    python3 -m verl.trainer.main_ppo \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=8 \\
        actor_rollout_ref.rollout.name=vllm \\
        actor_rollout_ref.model.lora_rank=64 \\
        actor_rollout_ref.model.lora.merge=True
    ```

    ## Use instead
    ```sh
    python3 -m verl.trainer.main_ppo \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=8 \\
        actor_rollout_ref.rollout.name=vllm \\
        actor_rollout_ref.model.lora_rank=64 \\
        actor_rollout_ref.model.lora.merge=False
    ```
    or verl 0.9.0 or newer.

    ## Fix
    Unsafe: switches the merge off, or writes the next rank that vLLM has a size for (the largest, if none is).

    ## When it does not apply
    Every other rank: verl rounds it up to the next size that vLLM has. Merging on the Megatron engine was never
    affected. Where the release of verl isn't known, the merge is mentioned by NOT09 instead.

    ## Sources
    - verl-project/verl#6782 (Qwen3.5-27B, rank 64), fixed by #7014 (first in 0.9.0).
    - verl 0.8.0, 0.9.0, `workers/engine/fsdp/transformer_impl.py`: `get_per_tensor_param`.
    - verl 0.6.1 to 0.9.1, `get_vllm_max_lora_rank`; 0.4.1 to 0.6.0 pass the rank as it is. vLLM 0.33.0
      `--max-lora-rank`: 1, 8, 16, 32, 64, 128, 256, 320, 512; default 16.
    """
    rank = run.lora_rank
    if not is_verl(run) or not positive(rank):
        return
    if run.lora_merge.value is True:
        if fsdp(run) and run.before(verl.NAME, "0.9.0"):
            from grpo_lint.fixing.values import switched_off

            yield Finding(
                f"{MERGE} is true: before verl 0.9.0 the FSDP engine sends the rollout the base model without the"
                " adapter (verl #6782)",
                run.lora_merge,
                label="merged too late",
                others=[(rank, "the adapter that the rollout never gets")],
                help=f"set {MERGE}=false, or upgrade verl to 0.9.0 or newer",
                fix=switched_off(run.lora_merge, "send adapters", safe=False),
                severity=WARNING,
            )
        return
    if run.rollout_engine.value != "vllm" or not positive(adapters(run)):
        return
    if rank.value > VLLM_RANKS[-1]:
        problem = f"vLLM serves adapters up to rank {VLLM_RANKS[-1]}, and verl refuses to start"
    elif run.before(verl.NAME, "0.6.1") and rank.value not in VLLM_RANKS:
        problem = "before 0.6.1 verl hands the rank to vLLM as it is, and vLLM refuses all but " + ", ".join(
            str(size) for size in VLLM_RANKS
        )
    else:
        return
    yield Finding(
        f"{rank.key} is {rank.value}: {problem}",
        rank,
        label="the adapter's rank",
        others=[(run.rollout_engine, "serves the adapter")],
        help="choose a rank that vLLM has a size for: " + ", ".join(str(size) for size in VLLM_RANKS),
        fix=_served(rank),
    )


def _served(rank: Setting) -> Fix | None:
    """The next rank that vLLM has a size for, or its largest."""
    from grpo_lint.fixing.values import set_to

    size = next((size for size in VLLM_RANKS if size >= rank.value), VLLM_RANKS[-1])
    return set_to(rank, str(size), f"train an adapter of rank {size}", safe=False)


@rule(
    "DO15",
    "sglang-rollout",
    severity=WARNING,
    evidence="contested",
    needs=("rollout_engine", "lora_rank", "lora_merge"),
    topics=("lora", "rollout", "sglang"),
    frameworks=("verl",),
    mentions=("lora",),
)
def sglang_adapters(run: RunConfig) -> Iterator[Finding]:
    """Serving LoRA adapters from SGLang works in verl only from 0.9.1 on.

    ## What it does
    Reports LoRA adapters (`lora.merge=false`) with SGLang as rollout engine before verl 0.9.1; where the release isn't
    known, as a note.

    ## Why it matters
    The pair had never run to completion before: seven defects stood one behind the other, from target modules read
    letter by letter to base weights with vLLM's names. It fails at start or at the first sync.

    ## Example
    For verl 0.9.0 (`--target verl=0.9.0`):

    ```sh
    python3 -m verl.trainer.main_ppo \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=8 \\
        actor_rollout_ref.rollout.name=sglang \\
        actor_rollout_ref.model.lora_rank=32
    ```

    ## Use instead
    verl 0.9.1 or newer, `actor_rollout_ref.model.lora.merge=true`, or vLLM.

    ## When it does not apply
    Full fine-tuning and merged adapters. SGLang and vLLM both sleep and wake under verl; neither is preferred here.

    ## Sources
    - verl-project/verl#7413 (merged 2026-08); verl 0.9.0 and 0.9.1, `workers/engine_workers.py`: `update_weights`.
      `docs/advance/ppo_lora.rst` of 2026-07: "For SGLang, merge=True is currently required".
    """
    served = adapters(run)
    old = run.before(verl.NAME, "0.9.1")
    if not is_verl(run) or run.rollout_engine.value != "sglang" or not positive(served) or old is False:
        return
    if not served.explicit or run.async_rollout.value is not False:
        return  # with separate GPUs the adapter isn't sent at all: DO19
    yield Finding(
        f"rollout.name=sglang with adapters of rank {served.value}: before verl 0.9.1 the adapter sync to SGLang fails"
        " (verl #7413)",
        run.rollout_engine,
        label="serves the adapters",
        others=[(served, "the adapter")],
        help=f"use verl 0.9.1 or newer, or set {MERGE}=true",
        severity=WARNING if old else NOTE,
    )


RULES: tuple[Rule, ...] = (load_format, sglang_adapters, stale_merge_or_rank)
