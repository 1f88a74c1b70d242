"""INV376: a mixture of experts whose router runs twice, in slime."""

from __future__ import annotations

from grpo_lint.diagnostics import NOTE
from grpo_lint.rules.invariants.relation import Operands, flag, given, relation, relations, value
from grpo_lint.unified import derived

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Finding, Rule

MODEL = "--num-rollout 100 --rollout-batch-size 32 --hf-checkpoint Qwen/Qwen3-30B-A3B --moe-router-dtype fp32"


@relation(
    "INV376", "mixture-without-replay", "slime",
    replay=flag("--use-routing-replay"), rollout=flag("--use-rollout-routing-replay"), corrected=flag("--use-tis"),
    custom=given("--custom-tis-function-path"), estimator=value("--advantage-estimator"),
    severity=NOTE,
    evidence="conditional",
    topics=("rollout",),
    bad=MODEL,
    good=f"{MODEL} --use-rollout-routing-replay",
    unless="Dense models need no replay. GSPO compares whole sequences, for this very reason, and `--use-tis` "
    "corrects the "
    "ratio.",
    source="slime, main of 2026-08-21, `slime/utils/arguments.py`: `--use-rollout-routing-replay`. arXiv 2510.11370. "
    "NVIDIA/Megatron-LM#4168: three of three runs collapsed.",
)  # fmt: skip
def experts(o: Operands) -> Iterator[Finding]:
    """Engine and trainer compute the router apart and, on close calls, choose different experts.

    The ratio between rollout and trainer is then off for those tokens, and runs have collapsed by it.
    """
    moe = o.run.moe
    if not moe.known or moe.value is not True or o.estimator == "gspo" or o.custom is not None:
        return
    if o.replay or o.rollout or o.corrected:
        return
    o.put("moe", derived(True, moe, note="a mixture of experts"), True)
    yield o.fault(
        "moe",
        "a mixture of experts with neither --use-rollout-routing-replay nor --use-tis: on close calls engine "
        "and trainer"
        " choose different experts, and the ratio between them is off",
        help="add --use-rollout-routing-replay",
    )


RULES: tuple[Rule, ...] = tuple(relations(globals()))
