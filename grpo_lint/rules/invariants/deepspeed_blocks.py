"""INV224 to INV226: DeepSpeed's blocks for ZenFlow, for expert parallelism and for loading checkpoints."""

from __future__ import annotations

from grpo_lint.rules.invariants.deepspeed_config import STAGE, ZERO, example
from grpo_lint.rules.invariants.relation import Operands, flag, relation, relations, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Finding, Rule

ZENFLOW = f"{ZERO}.zenflow"
EXPERTS = "expert_parallel"


def _zenflow(keys: str) -> str:
    block = f'{{"stage": 2, "offload_optimizer": {{"device": "cpu"}}, "zenflow": {{{keys}}}}}'
    return example(block, gradient_clipping="1.0")


@relation(
    "INV224", "zenflow-block", "deepspeed",
    strategy=value(f"{ZENFLOW}.select_strategy"), select=value(f"{ZENFLOW}.select_interval"),
    update=value(f"{ZENFLOW}.update_interval"), top=value(f"{ZENFLOW}.topk_ratio"),
    mentions=("zenflow",),
    topics=("zero", "offload"),
    bad=_zenflow('"topk_ratio": 1.0, "update_interval": 4'),
    good=_zenflow('"topk_ratio": 0.1, "update_interval": 4'),
    source="DeepSpeed 0.17.6 to 0.19.8 `runtime/zenflow/zenflow_config.py`.",
)  # fmt: skip
def zenflow(o: Operands) -> Iterator[Finding]:
    """ZenFlow updates a share of the gradients at once, and the others every few steps."""
    if isinstance(o.strategy, str) and o.strategy not in ("auto", "step", "epoch"):
        yield o.fault("strategy", f"DeepSpeed knows no zenflow.{o('strategy')}", help="use auto, step or epoch")
    for name in ("select", "update"):
        text = o[name].value
        if isinstance(text, str) and text != "auto" and not text.isdigit():
            yield o.fault(name, f'zenflow.{o(name)} is neither a number nor "auto"', help='set it to "auto"')
    if type(o.update) is int and o.update < 1:
        yield o.fault("update", f"zenflow.{o('update')}: DeepSpeed wants 1 at least", help='set it to "auto"')
    if type(o.top) in (int, float) and not 0 < o.top < 1:
        yield o.fault(
            "top", f"zenflow.{o('top')} is not between 0 and 1, which DeepSpeed refuses", help="set it to 0.1"
        )


@relation(
    "INV225", "expert-parallel-block", "deepspeed",
    on=flag(f"{EXPERTS}.enabled"), size=value(f"{EXPERTS}.autoep_size"), backend=value(f"{EXPERTS}.comm_backend"),
    tokens=value(f"{EXPERTS}.comm_max_tokens_per_rank"), gate=value(f"{EXPERTS}.gate_up_impl"),
    grouped=value(f"{EXPERTS}.use_grouped_mm"), weighting=value(f"{EXPERTS}.row_weighting_impl"),
    combine=value(f"{EXPERTS}.combine_impl"), tensor=value("tensor_parallel.autotp_size"),
    limited=value(f"{EXPERTS}.num_limited_groups"), groups=value(f"{EXPERTS}.num_expert_groups"),
    mentions=("expert_parallel",),
    topics=("moe", "parallel"),
    bad=example('{"stage": 2}', gradient_clipping="1.0", expert_parallel='{"enabled": true, "comm_backend": "deepep"}'),
    good=example(
        '{"stage": 2}', gradient_clipping="1.0",
        expert_parallel='{"enabled": true, "comm_backend": "deepep", "comm_max_tokens_per_rank": 8192}',
    ),
    source="DeepSpeed 0.19.8 `module_inject/auto_ep_config.py`: `validate_autoep_config`.",
)  # fmt: skip
def expert_block(o: Operands) -> Iterator[Finding]:
    """The implementations of DeepSpeed's expert parallelism go together in a few ways only."""
    if not o.on:
        return
    size = o.size if type(o.size) is int else 1
    deepep = o.backend == "deepep"
    if deepep and o.tokens in (None, 0):
        yield o.fault("backend", f"{EXPERTS}.{o('backend')} without comm_max_tokens_per_rank, which DeepSpeed refuses",
                      help="set it to the micro-batch times the longest sequence")  # fmt: skip
    if o.gate == "fused" and o.grouped is False:
        yield o.fault("gate", f"{EXPERTS}.{o('gate')} with use_grouped_mm false, which DeepSpeed refuses", "grouped")
    if o.weighting == "fused" and (not deepep or size == 1):
        lacking = "comm_backend deepep" if not deepep else "autoep_size above 1"
        yield o.fault(
            "weighting", f"{EXPERTS}.{o('weighting')} needs {lacking}, which DeepSpeed asks for", "backend", "size"
        )
    if o.combine == "fused_weighted_sum" and ((deepep and size > 1) or (type(o.tensor) is int and o.tensor > 1)):
        other = "backend" if deepep and size > 1 else "tensor"
        yield o.fault("combine", f"{EXPERTS}.{o('combine')} with {o(other)}, which DeepSpeed refuses", other)
    if type(o.limited) is int and type(o.groups) is int and o.limited > o.groups:
        yield o.fault("limited", f"{EXPERTS}.{o('limited')} > {o('groups')}, which DeepSpeed refuses", "groups")


@relation(
    "INV226", "checkpoint-loaded-in-turn", "deepspeed",
    turn=flag(f"{ZERO}.pipeline_loading_checkpoint"), stage=value(STAGE),
    mentions=("pipeline_loading_checkpoint",),
    topics=("zero", "checkpoint"),
    bad=example('{"stage": 2, "pipeline_loading_checkpoint": true}', gradient_clipping="1.0"),
    good=example('{"stage": 3, "pipeline_loading_checkpoint": true}', gradient_clipping="1.0"),
    source="DeepSpeed 0.14.2 to 0.19.8 `runtime/engine.py`: `_load_zero_checkpoint` asserts it when a run resumes.",
)  # fmt: skip
def in_turn(o: Operands) -> Iterator[Finding]:
    """Ranks load a checkpoint one after the other at stage 3 alone.

    Nothing is said when training starts: the run stops when it is resumed.
    """
    if o.turn and o.stage != 3:
        yield o.fault(
            "turn",
            "pipeline_loading_checkpoint true without stage 3: DeepSpeed can't load its own checkpoints",
            "stage",
            help="remove it, or use stage 3",
        )


RULES: tuple[Rule, ...] = tuple(relations(globals()))
