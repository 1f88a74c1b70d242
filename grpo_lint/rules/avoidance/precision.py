"""NOT17: the number format of training."""

from __future__ import annotations

from grpo_lint.diagnostics import ERROR
from grpo_lint.rules.avoidance.zero import named
from grpo_lint.rules.rule import Finding, Rule, rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.runconfig import RunConfig


@rule(
    "NOT17",
    "bf16-and-fp16",
    severity=ERROR,
    evidence="solid",
    needs=("bf16", "fp16"),
    topics=("precision",),
    mentions=("fp16",),
)
def bf16_and_fp16(run: RunConfig) -> Iterator[Finding]:
    """bf16 and fp16 exclude each other: DeepSpeed, Megatron and the Hugging Face trainer all refuse both.

    ## What it does
    Reports a config in which both are switched on, after "auto" is replaced by the trainer's own argument.

    ## Why it matters
    The run stops when its config is read: DeepSpeed asserts "bfloat16 and fp16 modes cannot be simultaneously
    enabled", TrainingArguments raises "At most one of fp16 and bf16 can be True, but not both".

    ## Example
    ```json
    {"train_micro_batch_size_per_gpu": 4, "bf16": {"enabled": true}, "fp16": {"enabled": true}}
    ```

    ## Use instead
    ```json
    {"train_micro_batch_size_per_gpu": 4, "bf16": {"enabled": true}, "fp16": {"enabled": false}}
    ```
    On GPUs older than Ampere, fp16 alone.

    ## When it does not apply
    To `"auto"`, which the trainer decides; to an fp16 section with loss-scale keys and no `enabled` (false by
    default); to verl's `dtype` and accelerate's `mixed_precision`, which hold one word. It depends on no GPU.

    ## Sources
    Read in deepspeed 0.19.8 and 0.16.9 (runtime/config.py), transformers 5.24.0 (training_args.py), megatron-core
    0.16.1 (core/transformer/transformer_config.py). Keys: `bf16.enabled` (alias `bfloat16.enabled`), `fp16.enabled`,
    both false by default; `--bf16`, `--fp16`.
    """
    if run.bf16.value is True and run.fp16.value is True:
        first, second = named(run.bf16, "bf16"), named(run.fp16, "fp16")
        yield Finding(
            f"{first} and {second} are both true: they exclude each other, and the run stops at its start",
            run.fp16,
            others=((run.bf16, "bf16 is switched on here"),),
            help=f"set {second} to false, or {first} on a GPU that has no bfloat16",
        )


RULES: tuple[Rule, ...] = (bf16_and_fp16,)
