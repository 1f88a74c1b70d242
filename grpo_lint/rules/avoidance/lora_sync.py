"""DO19, NOT09: what is synchronised when LoRA trains, and settings of LoRA that nothing reads."""

from __future__ import annotations

from grpo_lint.diagnostics import NOTE, WARNING
from grpo_lint.frameworks import verl
from grpo_lint.rules.avoidance.lora import MERGE, NESTED_RANK, RANK
from grpo_lint.rules.avoidance.verl_run import adapters, fsdp, is_verl, megatron, own_trainer, positive
from grpo_lint.rules.rule import Finding, rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Rule
    from grpo_lint.runconfig import RunConfig

TRL_ADAPTER = ("--lora_r", "--lora_alpha", "--lora_dropout", "--lora_target_modules")


@rule(
    "DO19",
    "lora-adapter-sync",
    severity=WARNING,
    evidence="conditional",
    topics=("lora", "weight-sync"),
    twin="NOT09",
    frameworks=("verl", "trl", "roll"),
    mentions=("lora",),
)
def lora_that_nothing_reads(run: RunConfig) -> Iterator[Finding]:
    """LoRA settings that the engine doesn't read, or adapters that never reach the rollout.

    ## What it does
    Reports, in verl: `model.lora_rank` on the Megatron engine, which reads `model.lora.rank` alone; and adapters in a
    run whose rollout has GPUs of its own. In commands of TRL: `--lora_r` and its like without `--use_peft`. In ROLL:
    `lora_rank` without `lora_target`.

    ## Why it matters
    In all but one of these the whole model is trained, with the memory that takes, and no one says so. With separate
    rollout GPUs the weight sync asks the engine for the base weights only, so the adapter is never delivered: the
    rollout samples from the initial model for the whole run. Nothing fails; it looks like staleness that grows.

    ## Example
    ```sh
    python3 -m verl.trainer.main_ppo \\
        model_engine=megatron \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=8 \\
        actor_rollout_ref.rollout.name=vllm \\
        actor_rollout_ref.model.lora_rank=32
    ```

    ## Use instead
    ```sh
    python3 -m verl.trainer.main_ppo \\
        model_engine=megatron \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=8 \\
        actor_rollout_ref.rollout.name=vllm \\
        actor_rollout_ref.model.lora.rank=32
    ```
    With separate rollout GPUs: `actor_rollout_ref.model.lora.merge=true`, which sends merged weights. In TRL:

    ```sh
    trl grpo --model_name_or_path Qwen/Qwen2.5-7B-Instruct --reward_funcs accuracy_reward \\
        --num_generations 8 --use_peft --lora_r 32
    ```

    ## When it does not apply
    A script of one's own around TRL, which may read `--lora_r` in its own way, and a YAML file alone, which a command
    line may complete. In verl, colocated runs sync adapters alone, after one sync of the base model; that is the
    default and needs no switch.

    ## Sources
    - verl 0.7.0 to 0.9.1, `workers/config/megatron_peft.py` reads `model.lora.rank`; before 0.7.0 Megatron had no LoRA.
      `docs/advance/ppo_lora.rst`: the flat options "will be ignored if set". Defaults: both 0.
    - verl 0.7.1 to 0.9.1, `workers/engine_workers.py`: with any backend but naive, `update_weights` calls
      `get_per_tensor_param()`, whose `base_sync_done` is false by default. verl-project/verl#7495 (open).
    - TRL 0.14.0, 0.19.1, 1.0.0 and 1.16.0, `trainer/utils.py`: `get_peft_config` returns None unless `use_peft`;
      `trainer/model_config.py`: `use_peft` false, `lora_r` 16. All of its commands ask it.
    - ROLL main of 2026-08-19, `configs/model_args.py` and `models/model_providers.py`: no adapter while `lora_target`
      is None, its default.
    """
    yield from _without_peft(run)
    yield from _without_target(run)
    if not is_verl(run):
        return
    flat, nested = verl.option(run, RANK), verl.option(run, NESTED_RANK)
    if megatron(run) and flat.explicit and positive(flat) and (nested.value == 0 or nested.unset):
        yield Finding(
            f"{RANK} is {flat.value}, but the Megatron engine reads {NESTED_RANK} alone: the whole model is trained,"
            " without LoRA",
            flat,
            label="nothing reads this",
            others=[(verl.option(run, f"{verl.ACTOR}.strategy"), "the engine"), (nested, "the rank in force")],
            help=f"set {NESTED_RANK}={flat.value} instead",
        )
        return
    served = adapters(run)
    if positive(served) and served.explicit and run.async_rollout.value is True:
        yield Finding(
            f"{served.key} is {served.value} while the rollout has GPUs of its own: verl's sync sends it the base"
            " weights only, and it samples from the initial model throughout (verl #7495)",
            served,
            label="an adapter that never leaves the trainer",
            others=[(run.async_rollout, "separate rollout GPUs"), (run.lora_merge, "adapters aren't merged")],
            help=f"set {MERGE}=true, so that merged weights are sent",
        )


def _without_peft(run: RunConfig) -> Iterator[Finding]:
    """A command of TRL's own with settings of an adapter that it doesn't make."""
    if run.framework != "trl" or not run.complete or not run.command or run.command[0].text != "trl":
        return
    use = run.option("trl", "--use_peft")
    given = [setting for name in TRL_ADAPTER if (setting := run.option("trl", name)).explicit]
    if not given or not use.decided or use.value is True:
        return
    yield Finding(
        f"{given[0].key} is {given[0].value} without use_peft: TRL makes no adapter and trains the whole model",
        given[0],
        label="nothing reads this",
        others=[(use, "no adapter")] if use.explicit else [],
        help="add --use_peft",
    )


def _without_target(run: RunConfig) -> Iterator[Finding]:
    """ROLL's `lora_rank` alone. The configs that a file composes with may still name targets, so then it is a note."""
    rank, target = (run.option("roll", f"actor_train.model_args.{name}") for name in ("lora_rank", "lora_target"))
    if run.framework != "roll" or not positive(rank) or not rank.explicit or not target.decided or target.value:
        return
    yield Finding(
        f"{rank.key} is {rank.value} without lora_target: ROLL makes no adapter and trains the whole model",
        rank,
        label="nothing reads this",
        help="name the modules that get an adapter, such as lora_target: all-linear",
        severity=WARNING if run.complete else NOTE,
    )


@rule(
    "NOT09",
    "full-param-sync",
    severity=NOTE,
    evidence="conditional",
    needs=("lora_rank", "lora_merge"),
    topics=("lora", "weight-sync"),
    twin="DO19",
    frameworks=("verl",),
    mentions=("lora",),
)
def merged_sync(run: RunConfig) -> Iterator[Finding]:
    """With `lora.merge=true` every sync sends the whole model, where the adapter alone would do.

    ## What it does
    Notes LoRA in verl with merged weights, where the rollout could serve the adapter.

    ## Why it matters
    It is a trade: merging makes each sync as large as full fine-tuning's, and generation a little faster. Before verl
    0.9.0 it doesn't work on FSDP at all (NOT05).

    ## Example
    ```sh
    python3 -m verl.trainer.main_ppo \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=8 \\
        actor_rollout_ref.rollout.name=vllm \\
        actor_rollout_ref.model.lora_rank=32 \\
        actor_rollout_ref.model.lora.merge=True
    ```

    ## Use instead
    ```sh
    python3 -m verl.trainer.main_ppo \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=8 \\
        actor_rollout_ref.rollout.name=vllm \\
        actor_rollout_ref.model.lora_rank=32
    ```
    `lora.merge` is false by default.

    ## When it does not apply
    SGLang as rollout engine, for which verl's documentation asks for it; a rollout on GPUs of its own, which gets no
    adapters (DO19); full fine-tuning, which has to send all weights.

    ## Sources
    - verl 0.9.1, `docs/advance/ppo_lora.rst`; `workers/engine_workers.py`: `update_weights`. `model.lora.merge`:
      from 0.7.1, default false.
    """
    merge, rank = run.lora_merge, run.lora_rank
    if not own_trainer(run) or merge.value is not True or not merge.explicit or not positive(rank):
        return
    if run.rollout_engine.value != "vllm" or run.async_rollout.value is not False:
        return
    stale = fsdp(run) and run.before(verl.NAME, "0.9.0")
    if stale:
        return  # NOT05 says more
    older = ""
    if fsdp(run) and stale is None:
        older = "; before verl 0.9.0 it even sends the base model without the adapter (verl #6782)"
    yield Finding(
        f"{MERGE} is true: each sync sends the whole model instead of an adapter of rank {rank.value}{older}",
        merge,
        label="merged for the sync",
        others=[(rank, "the adapter")],
        help=f"set {MERGE}=false, unless generation speed matters more than the sync",
    )


RULES: tuple[Rule, ...] = (lora_that_nothing_reads, merged_sync)
