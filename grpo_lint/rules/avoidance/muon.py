"""NOT02, NOT13: Muon and gradient clipping."""

from __future__ import annotations

from grpo_lint.diagnostics import ERROR, NOTE, WARNING
from grpo_lint.frameworks import verl
from grpo_lint.rules.avoidance.clipping import SWITCH, is_number, written
from grpo_lint.rules.avoidance.verl_run import trains
from grpo_lint.rules.avoidance.zero import DEEPSPEED_USERS, has_bf16_optimizer, is_off, release_of, stage
from grpo_lint.rules.rule import Finding, Rule, rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.diagnostics import Fix
    from grpo_lint.runconfig import RunConfig
    from grpo_lint.unified import Setting


@rule(
    "NOT02",
    "muon-with-clipping",
    severity=WARNING,
    evidence="conditional",
    needs=("zero_stage",),
    topics=("muon", "clipping"),
    twin="NOT13",
    frameworks=DEEPSPEED_USERS,
    mentions=("optimizer.type",),
)
def muon_with_clipping(run: RunConfig) -> Iterator[Finding]:
    """DeepSpeed clips Muon's finished update instead of its gradient, so that every step shrinks to the clip norm.

    ## What it does
    Warns of DeepSpeed's Muon under ZeRO with a clip above 0: written, "auto", or left out from 0.19.3 on (a note where
    the release isn't known). Reports Muon at stage 3 with `reduce_scatter`, which is on by default, as an error.

    ## Why it matters
    ZeRO replaces the gradient by Muon's orthogonalised update before it clips. The norm of that update depends on the
    model's shape alone and is far above 1, so each step is divided by it: 4 times smaller at width 128, 86 times at
    width 8192. The learning rate then no longer decides the step, and nothing reports it. At stage 3 DeepSpeed
    raises "Muon and reduce scatter cannot be used together".

    ## Example
    ```json
    {"zero_optimization": {"stage": 2}, "optimizer": {"type": "Muon"}, "gradient_clipping": 1.0}
    ```

    ## Use instead
    ```json
    {"zero_optimization": {"stage": 2}, "optimizer": {"type": "Muon"}, "gradient_clipping": 0.0}
    ```
    with `max_grad_norm` 0 under a Hugging Face trainer. It switches clipping off for the AdamW part, too.

    ## Fix
    Unsafe: writes 0.0 where a number stands; at stage 3 writes, or adds, `"reduce_scatter": false`.

    ## When it does not apply
    With a clip of 0; at stage 0, and at stage 1 with bf16 and float32 accumulation, where the gradient is clipped
    before Muon; with optimizer offload at stages 1 and 2 before 0.19.8 and at stage 3 before 0.18.9: Muon's update
    never happens there (DO01). Megatron clips before Muon, too: see NOT13. Muon itself is no fault.

    ## Sources
    Run on a CPU with 0.19.2 and 0.19.8: a clip of 1.0 makes the step exactly `lr * 1.0` long at stages 2 and 3, left
    out it does so in 0.19.8 alone, and stage 3 raises. Read in deepspeed 0.19.8, 0.19.3, 0.19.2, 0.18.9, 0.18.8 and
    0.17.6 (zero/stage_1_and_2.py `get_flat_partition` and `unscale_and_clip_grads`, zero/stage3.py,
    runtime/bf16_optimizer.py); 0.19.8 still clips so. deepspeedai/DeepSpeed#8439 and #7776 (open in September 2026),
    #8068 (the default). Keys: `optimizer.type`, `gradient_clipping` (0.0 to 0.19.2, 1.0 from 0.19.3),
    `zero_optimization.reduce_scatter` (true).
    """
    optimizer = run.option("deepspeed", "optimizer.type")
    if stage(run) < 1 or not optimizer.known or str(optimizer.value).lower() != "muon":
        return
    if stage(run) == 3 and run.before("deepspeed", "0.18.9") is not True:
        yield from _refuses_reduce_scatter(run, optimizer)
    if _clips_the_update(run):
        yield from _clipped(run, optimizer)


def _refuses_reduce_scatter(run: RunConfig, optimizer: Setting) -> Iterator[Finding]:
    scatter = run.option("deepspeed", "zero_optimization.reduce_scatter")
    if (scatter.unset and run.complete) or (scatter.known and scatter.value is True):
        how = "true" if scatter.explicit else "true by default"
        yield Finding(
            f"zero_optimization.reduce_scatter is {how}, and DeepSpeed refuses to build Muon with it at ZeRO stage 3",
            scatter,
            others=((optimizer, "the optimizer is Muon"), (run.zero_stage, "ZeRO stage 3")),
            help='set "reduce_scatter" to false',
            fix=_without_reduce_scatter(scatter, run.zero_stage),
            severity=ERROR,
        )


def _without_reduce_scatter(scatter: Setting, stage: Setting) -> Fix | None:
    title, key = "set reduce_scatter to false", "zero_optimization.reduce_scatter"
    if scatter.explicit:
        from grpo_lint.fixing.values import switched_off

        return switched_off(scatter, title, safe=False)
    if not stage.explicit or stage.span is None:
        return None
    from grpo_lint.fixing.mappings import added

    return added(stage.span, stage.key, key, "false", False, title, safe=False)


def _clips_the_update(run: RunConfig) -> bool:
    """Whether what DeepSpeed clips is Muon's update: not where it never orthogonalises, nor where it does so later."""
    if stage(run) == 3:
        return run.before("deepspeed", "0.18.9") is not True
    on_gpu = is_off(run.offload_optimizer)
    return (on_gpu or run.before("deepspeed", "0.19.8") is False) and not has_bf16_optimizer(run)


def _clipped(run: RunConfig, optimizer: Setting) -> Iterator[Finding]:
    clip, old = run.option("deepspeed", "gradient_clipping"), run.before("deepspeed", SWITCH)
    why = "DeepSpeed clips Muon's orthogonalised update, not its gradient (DeepSpeed #8439)"
    fix, severity = None, WARNING
    if clip.explicit and is_number(clip) and clip.value > 0:
        message = f"gradient_clipping={written(clip)} shrinks every step to the norm {written(clip)}: {why}"
        help_ = 'set "gradient_clipping" to 0.0, and max_grad_norm to 0 under a Hugging Face trainer'
        from grpo_lint.fixing.values import set_to

        fix = set_to(clip, "0.0", "clip nothing", safe=False)
    elif clip.explicit and clip.value == "auto":
        message = f'gradient_clipping="auto" is max_grad_norm, 1.0 by default, to which every step shrinks: {why}'
        help_ = "set the trainer's max_grad_norm to 0"
    elif not clip.explicit and clip.decided and run.complete and old is not True:
        since = release_of(run, "deepspeed", f"DeepSpeed from {SWITCH} on")
        message = f"gradient_clipping is not set, and {since} shrinks every step to the norm 1.0: {why}"
        help_ = 'set "gradient_clipping" to 0.0, and max_grad_norm to 0 under a Hugging Face trainer'
        severity = WARNING if old is False else NOTE
    else:
        return
    others = ((optimizer, "the optimizer is Muon"),)
    yield Finding(message, clip, others=others, help=help_, fix=fix, severity=severity)


@rule(
    "NOT13",
    "muon-global-clipping",
    severity=NOTE,
    evidence="conditional",
    topics=("muon", "clipping"),
    twin="NOT02",
    frameworks=("megatron", "slime", "verl"),
    mentions=("optimizer",),
)
def muon_global_clipping(run: RunConfig) -> Iterator[Finding]:
    """Megatron clips Muon's gradients by the norm of the whole model, which can freeze it when that norm is huge.

    ## What it does
    Notes Muon on Megatron, Megatron-LM's own or verl's, with a clip above 0.

    ## Why it matters
    Clipping comes before the orthogonalisation, which does not care about scale: as a rule it changes nothing for
    Muon. But where the norm over all parameters is very large (5e7 and more in the report), the scaled gradient falls
    below the floor of the normalisation, the update vanishes, the loss stalls, and the norm grows further.

    ## Example
    ```bash
    python3 -m verl.trainer.main_ppo model_engine=megatron actor_rollout_ref.actor.optim.optimizer=muon
    ```

    ## Use instead
    Nothing, as long as grad_norm stays moderate; else `clip_grad` 0, which switches clipping off for the other
    parameters, too.

    ## When it does not apply
    With a clip of 0, with other optimizers, and outside Megatron: for DeepSpeed see NOT02.

    ## Sources
    Read in megatron-core 0.16.1 (core/optimizer/optimizer.py `ChainedOptimizer.step`: one norm for all, a clip only
    above 0.0) and verl 0.9.1 (utils/megatron/optimizer.py). NVIDIA/Megatron-LM#5394 and #5395 (open); the latter's own
    text says that AdamW stalls in the same way. Keys: `--clip-grad` (1.0), `--optimizer`;
    `actor_rollout_ref.actor.optim.clip_grad` (1.0), `.optim.optimizer` (adam).
    """
    megatron = run.fsdp_mode.value == "megatron" or run.framework in ("megatron", "slime")
    optimizer, clip = run.optimizer, run.gradient_clipping
    if not megatron or not optimizer.known or "muon" not in str(optimizer.value).lower():
        return
    if is_number(clip) and clip.value > 0 and (run.framework != verl.NAME or trains(run)):
        yield Finding(
            f"{optimizer.key}={optimizer.value} with clip_grad={written(clip)} freezes when the model's gradient norm "
            "is huge (1e7 and more): Megatron clips by the norm of all parameters (Megatron-LM #5394)",
            optimizer,
            others=((clip, f"the clip is {written(clip)}"),),
            help="watch grad_norm, and set clip_grad to 0 if it grows that large",
        )


RULES: tuple[Rule, ...] = (muon_with_clipping, muon_global_clipping)
