"""INV780: what a run keeps on each GPU against what a GPU has."""

from __future__ import annotations

from grpo_lint.diagnostics import NOTE
from grpo_lint.rules.rule import Finding, rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.runconfig import RunConfig

MARGIN = 1.25
"""The sum of what is sure has to exceed a GPU's memory by so much: formulas err by some percent, and nobody by a
quarter (docs/memory.md)."""


@rule(
    "INV780",
    "states-exceed-gpu-memory",
    severity=NOTE,
    evidence="conditional",
    needs=("gpu_memory", "model_path", "n_gpus"),
    topics=("memory",),
    mentions=("gpu_memory",),
)
def states_exceed_gpu_memory(run: RunConfig) -> Iterator[Finding]:
    """What a run keeps on each GPU is far more than a GPU has.

    ## What it does
    Adds up what lies on a GPU for certain in a phase of the run: weights, gradients, optimizer state, the reference,
    and the rollout engine's share, split and offloaded as the config says. Reports a sum that exceeds the GPU's memory
    by a quarter or more. `grpo-lint show --memory` shows the terms, docs/memory.md their formulas and sources.

    ## Why it matters
    The run ends with an out-of-memory error, after the model has been loaded, or as soon as the engine starts.

    ## Example
    With `--profile rtx4090`, a machine with one GPU of 24 GiB:

    ```sh
    python3 -m verl.trainer.main_ppo \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct \\
        actor_rollout_ref.rollout.name=vllm \\
        actor_rollout_ref.rollout.tensor_model_parallel_size=1 \\
        actor_rollout_ref.rollout.n=8 \\
        trainer.n_gpus_per_node=1
    ```

    ## Use instead
    More GPUs, an adapter, or a smaller model:

    ```sh
    python3 -m verl.trainer.main_ppo \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.model.path=Qwen/Qwen2.5-0.5B-Instruct \\
        actor_rollout_ref.rollout.name=vllm \\
        actor_rollout_ref.rollout.tensor_model_parallel_size=1 \\
        actor_rollout_ref.rollout.n=8 \\
        trainer.n_gpus_per_node=1
    ```

    ## When it does not apply
    Where the GPU's memory isn't known: `gpu-memory` of the settings' `hardware` tells it. Models that the table of
    shapes doesn't hold, trainers that keep a model in ways that aren't known here, and sums within a quarter of the
    GPU's memory, where activations decide. What isn't known counts as little as it can be.

    ## Sources
    Each term's is in docs/memory.md.
    """
    from grpo_lint.estimate import estimate
    from grpo_lint.memory import GIB

    found = estimate(run)
    worst = max(found.phases, key=lambda phase: phase.low, default=None)
    if found.gpu is None or worst is None or worst.low < MARGIN * found.gpu:
        return
    largest = ", ".join(
        f"{term.name} {term.low / GIB:.0f}"
        for term in sorted(worst.terms, key=lambda term: -term.low)[:3]
        if term.low >= GIB
    )
    message = f"the {worst.name} takes {worst.low / GIB:.0f} GiB of each GPU at least ({largest}), and it has"
    message += f" {found.gpu / GIB:g} GiB"
    help = "use more GPUs, an adapter, offloading or a smaller model; `grpo-lint show --memory` tells the terms"
    yield Finding(message, run.model_path, others=[(run.n_gpus, "GPUs to share it")], help=help)


RULES = (states_exceed_gpu_memory,)
