"""NOT04, and the rules that no config can show, or that their twins report: DO12, DO13, DO14, NOT10, NOT11, NOT14."""

from __future__ import annotations

from grpo_lint.diagnostics import NOTE, WARNING
from grpo_lint.rules.rule import Finding, Rule, rule, stated_rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.runconfig import RunConfig

KEEPS_ADAPTERS_ONLY = ("roll", "unified")
"""Frameworks that send an engine adapters alone after level 2. verl, TRL and ms-swift bring the base weights back."""


@rule(
    "NOT04",
    "sleep-level-2",
    severity=WARNING,
    evidence="refuted",
    needs=("sleep_level", "lora_rank", "lora_merge"),
    topics=("rollout", "weight-sync", "lora"),
    twin="DO14",
    mentions=("sleep_level",),
)
def sleep_without_base_weights(run: RunConfig) -> Iterator[Finding]:
    """Sleep level 2 throws the engine's weights away, and an adapter sync does not bring the base model back.

    ## What it does
    Warns of a sleep level of 2 that someone wrote, where LoRA adapters are served and the framework syncs those alone:
    ROLL, and a unified config.

    ## Why it matters
    Level 1 moves the engine's weights to the CPU, level 2 discards them. After the next wake-up the memory of the base
    model holds nothing, and an adapter on top of nothing gives garbage, without an error. On any GPU: the size of its
    memory plays no part, and for full fine-tuning level 2 is the better choice, since the sync brings all weights.

    ## Example
    ```sh
    grpo-lint validate --select NOT04 --config '{"lora_rank": 32, "lora_merge": false, "sleep_level": 2}'
    ```

    ## Use instead
    ```sh
    grpo-lint validate --select NOT04 --config '{"lora_rank": 32, "lora_merge": false, "sleep_level": 1}'
    ```

    ## When it does not apply
    Full fine-tuning, and merged weights. verl chooses the level itself: 2 for full weights, 1 for adapters and for an
    MTP drafter. ms-swift sends the whole model when the level is 2; TRL uses level 2 and sends all weights always.

    ## Sources
    - ROLL main of 2026-08-19, `distributed/strategy/vllm_strategy.py` (`sleep_level`, default 1; `load_format` auto
      with LoRA), `third_party/vllm/worker.py` (`reload_model` wakes up and loads nothing),
      `third_party/fsdp2/model_update.py` (gathers the adapter alone).
    - verl 0.9.1, `vllm_async_server.py`: `_resolve_sleep_level`; verl-project/verl#3461 brings base weights back in
      0.6.0, before any release had the fault. ms-swift 4.6.0, `rlhf_trainers/rollout_mixin.py`: `_move_model_to_vllm`;
      `--sleep_level`, default 0. TRL 1.16.0, `generation/vllm_generation.py`.
    - vllm-project/vllm#21336 and #54235 (garbage without a reload), #39934 (LoRA and reloading).
    """
    level, rank, merge = run.sleep_level, run.lora_rank, run.lora_merge
    if run.framework not in KEEPS_ADAPTERS_ONLY or level.value != 2 or not level.explicit:
        return
    if not rank.known or not rank.value or merge.value is True:
        return
    yield Finding(
        f"{level.key} is 2 with LoRA adapters: the engine's base weights are thrown away, and the adapter sync does not"
        " bring them back (DO14 says the same)",
        level,
        label="discards the weights",
        others=[(rank, "the adapter"), *([(merge, "adapters aren't merged")] if merge.known else [])],
        help="set it to 1, which keeps the weights on the CPU",
    )


SHAPED_REWARDS = stated_rule(
    "DO12",
    "shaped-rewards",
    """Whether a reward is shaped or tells the outcome alone stands in code, not in a config.

    ## What it does
    Nothing by default. In the unified config, `reward_kind` may tell it to the profile rtx4090.

    ## Why it matters
    What is true of it: when all responses to a prompt get the same reward, the advantage of each is 0, and the prompt
    teaches nothing. With binary rewards and a pass rate p that happens to a group of n with probability
    p^n + (1-p)^n. Shaping the reward is one remedy; filtering such groups is another, and is a setting:
    `algorithm.filter_groups.enable=True` in verl, `rllm.rejection_sample.filter_uniform_groups=True` in rLLM. GRPO was
    published with outcome rewards, and verl's `grpo` is documented to take them only.

    ## Example
    ```sh
    grpo-lint validate --select DO12 --profile rtx4090 --config '{"reward_kind": "outcome"}'
    ```

    ## Use instead
    ```sh
    grpo-lint validate --select DO12 --profile rtx4090 --config '{"reward_kind": "shaped"}'
    ```

    ## When it does not apply
    Outside of that profile. Outcome rewards are what most public recipes use.

    ## Sources
    - rllm-org/rllm#663, which the source document names, fills in an unset field; it says nothing of rewards.
    - verl 0.9.1, `trainer/ppo/core_algos.py` (`compute_grpo_outcome_advantage`), `trainer/config/ppo_trainer.yaml`
      (`filter_groups.enable`, default false). rLLM main of 2026-08-15, `trainer/algorithms/config.py`
      (`filter_uniform_groups`, default false).
    """,
    severity=WARNING,
    evidence="unverifiable",
    topics=("grpo", "reward"),
)

GROUP_SIZE_8_SPARSE = stated_rule(
    "DO13",
    "group-size-8-sparse",
    """No source connects a mixture of experts with the group size; sparse rewards are another matter.

    ## What it does
    Nothing by default. In the profile rtx4090 it asks for groups of 8 where the model is a mixture of experts or the
    reward is sparse.

    ## Why it matters
    The rule began as "8 or more for sparse rewards" and lost its last word on the way. Of rewards it is reasonable:
    a prompt that is solved once in ten tries gives four equal rewards, and so no gradient, in 66 % of the cases, and
    eight in 43 %. The sparsity of experts has no part in that.

    ## Example
    ```sh
    grpo-lint validate --select DO13 --profile rtx4090 --config '{"group_size": 4, "reward_kind": "sparse"}'
    ```

    ## Use instead
    ```sh
    grpo-lint validate --select DO13 --profile rtx4090 --config '{"group_size": 8, "reward_kind": "sparse"}'
    ```

    ## When it does not apply
    Outside of that profile. A group too small for any estimator is reported by DO07 and NOT07.

    ## Sources
    - rllm-org/rllm#605, which the source document names, is about the ids of groups (see DO04).
    - The probabilities: p^n + (1-p)^n for p = 0.1.
    """,
    severity=WARNING,
    evidence="refuted",
    topics=("grpo", "moe", "reward"),
)

SLEEP_LEVEL_1 = stated_rule(
    "DO14",
    "sleep-level-1",
    """Sleep level 1 is right for adapters and slower for full weights; it has nothing to do with the GPU.

    ## What it does
    Nothing by default: a level that does harm is reported by NOT04. In the profile rtx4090 it asks for level 1.

    ## Why it matters
    Level 1 copies the engine's weights to the CPU at each sleep and back at each wake-up. Where the sync that follows
    replaces them all, that is time and memory for nothing; where it sends adapters alone, it is needed.

    ## Example
    ```sh
    grpo-lint validate --select DO14 --profile rtx4090 --config '{"sleep_level": 0}'
    ```

    ## Use instead
    ```sh
    grpo-lint validate --select DO14 --profile rtx4090 --config '{"sleep_level": 1}'
    ```

    ## When it does not apply
    Outside of that profile. Most frameworks have no such key: verl derives the level, TRL always takes 2.

    ## Sources
    - verl 0.9.1, `workers/rollout/vllm_rollout/vllm_async_server.py`: `_resolve_sleep_level`. TRL 1.16.0,
      `generation/vllm_generation.py`. ms-swift 4.6.0 `--sleep_level` (0). ROLL main of 2026-08-19 `sleep_level` (1).
    - vLLM's documentation of sleep mode, `features/sleep_mode`.
    """,
    severity=WARNING,
    evidence="refuted",
    topics=("rollout", "weight-sync"),
    twin="NOT04",
)

NCCL_CHECKPOINT_ENGINE = stated_rule(
    "NOT10",
    "nccl-checkpoint-engine",
    """The NCCL checkpoint engine is needed where trainer and rollout have GPUs of their own, and overwritten elsewhere.

    ## What it does
    Nothing by itself: DO09 compares the engine with where the rollout runs, and names this rule. In the profile rtx4090
    it forbids nccl on one data-parallel rank, under DO09's name.

    ## Why it matters
    It carries weights from trainer to rollout. What decides is whether the two share their GPUs; the data-parallel size
    doesn't. With separate GPUs, `naive` is refused, and nccl on one rank each is a normal choice.

    ## Example
    ```sh
    grpo-lint validate --select NOT10 --profile rtx4090 --config '{"checkpoint_mode": "nccl"}'
    ```

    ## Use instead
    ```sh
    grpo-lint validate --select NOT10 --profile rtx4090 --config '{"checkpoint_mode": "naive"}'
    ```

    ## When it does not apply
    Outside of that profile, and on more than one data-parallel rank.

    ## Sources
    - verl 0.9.1, `checkpoint_engine/base.py`, `trainer/ppo/v1/trainer_separate_async.py`.
      `actor_rollout_ref.rollout.checkpoint_engine.backend`: from 0.7.1, default naive.
    """,
    severity=WARNING,
    evidence="refuted",
    topics=("rollout", "weight-sync"),
    twin="DO09",
)

OUTCOME_REWARD_SMALL_GROUP = stated_rule(
    "NOT11",
    "outcome-reward-small-group",
    """Sixteen responses a prompt do not make outcome rewards less noisy where prompts are too easy or too hard.

    ## What it does
    Nothing by default. In the profile rtx4090 it warns of groups below 16 whose reward isn't known to be shaped.

    ## Why it matters
    With binary rewards and a pass rate p, all n rewards of a group are equal, and the prompt teaches nothing, with
    probability p^n + (1-p)^n:

    | p | n = 4 | n = 8 | n = 16 |
    |---|---|---|---|
    | 0.5 | 0.125 | 0.008 | 0.000 |
    | 0.1 or 0.9 | 0.656 | 0.430 | 0.185 |

    At one half, 8 are as good as 16; at one tenth, 16 still lose every fifth group. Filtering uniform groups (see DO12)
    helps at every size. The source document's own config has 8.

    ## Example
    ```sh
    grpo-lint validate --select NOT11 --profile rtx4090 --config '{"group_size": 8}'
    ```

    ## Use instead
    ```sh
    grpo-lint validate --select NOT11 --profile rtx4090 --config '{"group_size": 8, "reward_kind": "shaped"}'
    ```

    ## When it does not apply
    Outside of that profile: it would speak of nearly every public recipe.

    ## Sources
    - rllm-org/rllm#663, which the source document names, fills in an unset field. No source was found for 16.
    - Defaults: verl 0.9.1 `rollout.n` 1 (its examples use 5 most often), TRL 1.16.0 `num_generations` 8, rLLM
      `rllm.rollout.n` 8.
    """,
    severity=NOTE,
    evidence="unverifiable",
    topics=("grpo", "reward"),
)

FP16_ROUTER = stated_rule(
    "NOT14",
    "fp16-router",
    """A router in fp16 can overflow in its matrix product; its softmax does not.

    ## What it does
    Nothing by itself: DO17 looks at the router's type, and names this rule. In the profile rtx4090 it forbids a router
    in fp16, under DO17's name.

    ## Why it matters
    float16 ends at 65504. A router's logit beyond that is infinite before any softmax sees it, and infinity minus
    infinity is NaN, also when the softmax itself is in float32. A softmax over finite logits subtracts their maximum
    first and cannot overflow. No framework has a setting for the softmax alone: the router follows the model's type
    unless it has one of its own (`moe_router_dtype` in Megatron).

    ## Example
    ```sh
    grpo-lint validate --select NOT14 --profile rtx4090 --config '{"moe": true, "gating_dtype": "fp16"}'
    ```

    ## Use instead
    ```sh
    grpo-lint validate --select NOT14 --profile rtx4090 --config '{"moe": true, "gating_dtype": "fp32"}'
    ```

    ## When it does not apply
    Outside of that profile DO17 says what is certain. bfloat16 reaches as far as float32; its danger is precision.

    ## Sources
    - megatron-core 0.16.1, `transformer/moe/router.py` (`gating`: the input's type unless `moe_router_dtype` is set)
      and `moe_utils.py`.
    - vllm-project/vllm-ascend#10579, which the source document names, mends the sign of an index.
    """,
    severity=WARNING,
    evidence="conditional",
    topics=("moe", "moe-nan", "precision"),
    twin="DO17",
)

RULES: tuple[Rule, ...] = (
    sleep_without_base_weights,
    SHAPED_REWARDS,
    GROUP_SIZE_8_SPARSE,
    SLEEP_LEVEL_1,
    NCCL_CHECKPOINT_ENGINE,
    OUTCOME_REWARD_SMALL_GROUP,
    FP16_ROUTER,
)
