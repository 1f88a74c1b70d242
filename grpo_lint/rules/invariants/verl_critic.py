"""INV107, INV108: the batches of verl's critic."""

from __future__ import annotations

from grpo_lint.frameworks.verl import ROLLOUT
from grpo_lint.rules.invariants.relation import Operands, flag, number, relation, relations, value
from grpo_lint.rules.invariants.verl_batches import BATCH, MINI, PER_GPU, one_of, validated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Finding, Rule


@relation(
    "INV107", "critic-micro-batch-unclear", "verl",
    total=value("critic.ppo_micro_batch_size"), each=value("critic.ppo_micro_batch_size_per_gpu"),
    dynamic=flag("critic.use_dynamic_bsz"), estimator=value("algorithm.adv_estimator"), enable=value("critic.enable"),
    when=validated,
    since="0.2",
    topics=("batch", "critic"),
    bad=f"algorithm.adv_estimator=gae {MINI}=64 {ROLLOUT}.n=1 {PER_GPU}=4"
    f" {ROLLOUT}.log_prob_micro_batch_size_per_gpu=4",
    good=f"algorithm.adv_estimator=gae {MINI}=64 {ROLLOUT}.n=1 {PER_GPU}=4"
    f" {ROLLOUT}.log_prob_micro_batch_size_per_gpu=4"
    " critic.ppo_micro_batch_size_per_gpu=4",
    target="verl=0.7.1",
    unless="Without a critic, and with `critic.use_dynamic_bsz`, nothing is asked for.",
    source="verl 0.5.0 to 0.9.1, `workers/config/critic.py`: `__post_init__`, `_check_mutually_exclusive`.",
)  # fmt: skip
def critic_micro(o: Operands) -> Iterator[Finding]:
    """A critic is trained in micro-batches of its own, sized over all GPUs or per GPU."""
    if o.enable is True or (o.enable is None and o.estimator == "gae"):
        yield from one_of(o, "the critic", "critic.ppo_micro_batch_size_per_gpu")


@relation(
    "INV108", "critic-mini-batch-exceeds-batch", "verl",
    mini=number("critic.ppo_mini_batch_size"), batch=number(BATCH), dynamic=flag("critic.use_dynamic_bsz"),
    estimator=value("algorithm.adv_estimator"), enable=value("critic.enable"),
    when=validated,
    since="0.3.0",
    topics=("batch", "critic"),
    bad=f"algorithm.adv_estimator=gae {ROLLOUT}.n=1 {BATCH}=64 {MINI}=64 {PER_GPU}=4"
    f" {ROLLOUT}.log_prob_micro_batch_size_per_gpu=4 critic.ppo_mini_batch_size=128"
    " critic.ppo_micro_batch_size_per_gpu=4",
    good=f"algorithm.adv_estimator=gae {ROLLOUT}.n=1 {BATCH}=64 {MINI}=64 {PER_GPU}=4"
    f" {ROLLOUT}.log_prob_micro_batch_size_per_gpu=4 critic.ppo_mini_batch_size=64"
    " critic.ppo_micro_batch_size_per_gpu=4",
    target="verl=0.9.1",
    unless="By default the critic's mini-batch is the actor's, and then the actor's rule speaks.",
    source="verl 0.5.0 to 0.9.1, `workers/config/critic.py`: `validate`.",
)  # fmt: skip
def critic_mini(o: Operands) -> Iterator[Finding]:
    """The critic's mini-batches are cut out of the same batch of prompts as the actor's."""
    trained = o.enable is True or (o.enable is None and o.estimator == "gae")
    if trained and not o.dynamic and o.batch and o.mini > o.batch and o["mini"].key.startswith("critic."):
        yield o.fault(
            "mini",
            f"critic.{o('mini')} > {o('batch')}: verl counts prompts, and refuses a mini-batch larger than the batch",
            "batch",
            help=f"set critic.ppo_mini_batch_size to {o.batch} or less",
        )


RULES: tuple[Rule, ...] = tuple(relations(globals()))
