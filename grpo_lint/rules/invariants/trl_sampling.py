"""INV531 to INV534, INV538: how TRL's online trainers sample, and lengths, modes and memory of their engine."""

from __future__ import annotations

from grpo_lint.diagnostics import NOTE, WARNING
from grpo_lint.rules.invariants.relation import Operands, flag, given, number, relation, relations, value
from grpo_lint.rules.invariants.trl import ENTRY, grpo
from grpo_lint.rules.invariants.trl_engines import MODE, TP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Finding, Rule


@relation(
    "INV531", "rollout-is-greedy-in-trl", "trl",
    temperature=number("--temperature"),
    when=grpo, since="0.14.0",
    mentions=("temperature",),
    topics=("sampling", "group"),
    bad=f"{ENTRY} --temperature 0",
    good=f"{ENTRY} --temperature 1.0",
    source="TRL 0.15.2 to 1.16.0 `trainer/grpo_trainer.py`: logits are divided by the temperature.",
)  # fmt: skip
def greedy(o: Operands) -> Iterator[Finding]:
    """At temperature 0 a group is one completion many times, and logits are divided by 0."""
    if o.temperature <= 0:
        yield o.fault(
            "temperature",
            f"{o('temperature')}: all completions of a group are the same, and logits are divided by it",
            help="set --temperature 1.0",
        )


@relation(
    "INV532", "distribution-is-cut-off-in-trl", "trl",
    p=given("--top_p"), k=given("--top_k"), minimum=given("--min_p"),
    when=grpo, severity=NOTE, since="0.14.0",
    mentions=("top_p", "top_k", "min_p"),
    topics=("sampling",),
    bad=f"{ENTRY} --top_p 0.9",
    good=f"{ENTRY} --top_p 1.0",
    source="TRL 0.16.1 to 1.16.0 `trainer/grpo_trainer.py`: the trainer's log-probabilities are scaled by the "
    "temperature alone.",
)  # fmt: skip
def cut_off(o: Operands) -> Iterator[Finding]:
    """`top_p`, `top_k` and `min_p` draw from a part of the distribution, and the trainer computes with all of it.

    What is cut off can't be drawn, so it can't be learnt, and the rest is drawn more often than the log-probabilities
    say: the rollout is off-policy by that much.
    """
    for name, low, high in (("p", 0, 1), ("k", 0, float("inf")), ("minimum", 0, float("inf"))):
        size = getattr(o, name)
        if type(size) in (int, float) and low < size < high:
            yield o.fault(
                name,
                f"{o(name)} cuts the distribution that completions are drawn from, which the trainer's"
                " log-probabilities don't know",
                help="remove it",
            )
            return


@relation(
    "INV533", "engine-length-below-sequence", "trl",
    vllm=flag("--use_vllm"), length=number("--vllm_max_model_length", "--vllm_max_model_len"),
    prompt=given("--max_prompt_length"), completion=value("--max_completion_length"),
    when=grpo, since="0.15.0",
    mentions=("vllm_max_model",),
    topics=("length", "rollout"),
    bad=f"{ENTRY} --use_vllm True {MODE} colocate --vllm_max_model_length 2048"
    " --max_completion_length 4096",
    good=f"{ENTRY} --use_vllm True {MODE} colocate --vllm_max_model_length 8192"
    " --max_completion_length 4096",
    target="trl=1.16.0",
    source="TRL 0.15.2 to 1.16.0 hand it to vLLM as `max_model_len`; completions are asked for up to "
    "`max_completion_length`.",
)  # fmt: skip
def engine_length(o: Operands) -> Iterator[Finding]:
    """The engine's context has to hold the prompt and the longest completion.

    Where it doesn't, completions end where the context ends, and count as cut off.
    """
    if not o.vllm or type(o.completion) is not int:
        return
    prompt = o.prompt if type(o.prompt) is int else 0
    if o.length <= o.completion or (prompt and o.length < prompt + o.completion):
        yield o.fault(
            "length",
            f"{o('length')} < {o('completion')}"
            + (f" + {o('prompt')}" if prompt else " and a prompt")
            + f": completions end before {o.completion} tokens",
            "completion",
            *(("prompt",) if prompt else ()),
            help=f"set it to {prompt + o.completion} or more" if prompt else "raise it by the longest prompt",
            severity=WARNING,
        )


@relation(
    "INV534", "engine-options-of-the-other-mode", "trl",
    vllm=flag("--use_vllm"), mode=value(MODE), share=given("--vllm_gpu_memory_utilization"), tp=given(TP),
    sleep=given("--vllm_enable_sleep_mode"), host=given("--vllm_server_host"), url=given("--vllm_server_base_url"),
    when=grpo, severity=WARNING, since="0.18.0",
    mentions=("vllm",),
    topics=("rollout", "memory"),
    bad=f"{ENTRY} --use_vllm True {MODE} server --vllm_gpu_memory_utilization 0.9",
    good=f"{ENTRY} --use_vllm True {MODE} colocate --vllm_gpu_memory_utilization 0.3",
    source="TRL 0.18.2 to 0.29.1 `trainer/grpo_trainer.py`, 1.0.0 to 1.16.0 `generation/vllm_generation.py`: each mode "
    "reads its own. `vllm_mode`: default server before 1.0, colocate from 1.0 on.",
)  # fmt: skip
def other_mode(o: Operands) -> Iterator[Finding]:
    """A server has its own memory share and size, from its own command line; a colocated engine has no address."""
    mine = {"server": ("share", "tp", "sleep"), "colocate": ("host", "url")}.get(str(o.mode), ())
    for name in mine if o.vllm else ():
        if getattr(o, name) not in (None, False):
            yield o.fault(
                name,
                f"{o(name)} has no effect with {o('mode')}",
                "mode",
                help="give it to trl vllm-serve" if o.mode == "server" else f"set {MODE} server, or remove it",
            )


MOST = 0.8
"""The share of a GPU from which on an engine that never sleeps leaves too little for training."""


@relation(
    "INV538", "engine-keeps-the-memory", "trl",
    vllm=flag("--use_vllm"), mode=value(MODE), share=given("--vllm_gpu_memory_utilization"),
    sleep=flag("--vllm_enable_sleep_mode"),
    when=grpo, severity=WARNING, since="0.18.0",
    mentions=("vllm_gpu_memory_utilization",),
    topics=("memory", "rollout"),
    bad=f"{ENTRY} --use_vllm True {MODE} colocate --vllm_gpu_memory_utilization 0.9",
    good=f"{ENTRY} --use_vllm True {MODE} colocate --vllm_gpu_memory_utilization 0.3",
    unless=f"Below {MOST}, and with an engine that sleeps while the trainer works, nothing is said.",
    source="TRL 0.18.2 to 1.16.0: handed to vLLM as `gpu_memory_utilization`; default 0.3. vLLM takes that share of "
    "the whole GPU when it starts. huggingface/trl#2688.",
)  # fmt: skip
def memory(o: Operands) -> Iterator[Finding]:
    """A colocated engine takes its share of each GPU when it starts, and keeps it while the trainer works.

    What is left has to hold the trained model, its gradients, the optimizer and the activations.
    """
    if o.vllm and o.mode == "colocate" and not o.sleep and type(o.share) in (int, float) and o.share >= MOST:
        yield o.fault(
            "share",
            f"{o('share')} with {o('mode')}: the engine keeps that share of each GPU while the trainer works in what"
            " is left",
            "mode",
            help="set it to 0.3 or so, or add --vllm_enable_sleep_mode True",
        )


RULES: tuple[Rule, ...] = tuple(relations(globals()))
