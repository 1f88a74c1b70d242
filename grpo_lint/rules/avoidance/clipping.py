"""DO02, NOT16: gradient clipping that is off, or that nothing reads."""

from __future__ import annotations

from grpo_lint.diagnostics import ERROR, NOTE, WARNING
from grpo_lint.frameworks import verl
from grpo_lint.rules.avoidance.verl_run import trains
from grpo_lint.rules.avoidance.zero import DEEPSPEED_USERS, named, release_of, stage, steps_on_cpu
from grpo_lint.rules.rule import Finding, Rule, rule
from grpo_lint.unified import Setting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.diagnostics import Fix, Severity
    from grpo_lint.runconfig import RunConfig

SWITCH = "0.19.3"
"""The DeepSpeed release in which the default of `gradient_clipping` became 1.0; it was 0.0, no clipping."""

ROLES = (verl.ACTOR, "critic")
FSDP = ("fsdp", "fsdp2")
CLIPS_NOTHING = "to clip nothing set it to a large number such as 1e9"


def is_muon(optimizer: Setting) -> bool:
    """Whether an optimizer is Muon by its name, or may be."""
    return not optimizer.decided or (optimizer.known and "muon" in str(optimizer.value).lower())


def is_number(setting: Setting) -> bool:
    return setting.known and type(setting.value) in (int, float)


def is_zero(setting: Setting) -> bool:
    """Whether someone wrote 0."""
    return setting.explicit and is_number(setting) and setting.value == 0


def written(setting: Setting) -> str:
    """A number as it stands in the file (hjson reads `1.0` as 1), else as it is."""
    text = setting.span.text if setting.span is not None else ""
    try:
        return text if float(text) == setting.value else str(setting.value)
    except ValueError:
        return str(setting.value)


@rule(
    "DO02",
    "gradient-clipping-1",
    severity=WARNING,
    evidence="conditional",
    topics=("clipping",),
    twin="NOT16",
    frameworks=("deepspeed", "verl"),
)
def gradient_clipping_1(run: RunConfig) -> Iterator[Finding]:
    """A gradient clipping that the config leaves out, or puts where nothing reads it, is not what its author thinks.

    ## What it does
    Reports a DeepSpeed config that trains and lacks `gradient_clipping`: a warning with DeepSpeed before 0.19.3, a note
    where the release isn't known. In verl, reports `actor.grad_clip` and `critic.grad_clip` where they differ from the
    `optim.clip_grad` beside them: a warning from 0.8.0 on, a note where the release isn't known.

    ## Why it matters
    DeepSpeed's documentation has given the default as 1.0 since 2021; the code had 0.0, no clipping, up to 0.19.2.
    Hugging Face's trainer does not help: it replaces `"auto"`, never an absent key, and under DeepSpeed its own
    `max_grad_norm` clips nothing. In verl, every engine since 0.8.0 reads `optim.clip_grad` alone, and the older key
    is still accepted without a word.

    ## Example
    ```json
    {"zero_optimization": {"stage": 2}, "optimizer": {"type": "AdamW"}}
    ```

    ## Use instead
    ```json
    {"zero_optimization": {"stage": 2}, "optimizer": {"type": "AdamW"}, "gradient_clipping": "auto"}
    ```
    with a Hugging Face trainer, else the norm itself. In verl: `actor_rollout_ref.actor.optim.clip_grad=0.5`.

    ## Fix
    Unsafe: adds `"gradient_clipping"` to a JSON or YAML file: "auto" where the config has other such values, else 1.0.
    On a command line of verl's, writes `optim.clip_grad` for `grad_clip`, or takes that out where both are given.

    ## When it does not apply
    From DeepSpeed 0.19.3 on; to accelerate's own YAML, which fills in "auto" (1.0); with Muon (NOT02); to a config
    that shows no sign of training (no optimizer, scheduler, accumulation, optimizer offload or stage 1 or 2), as those
    for inference and for a frozen reference model are. In verl before 0.8.0, whose FSDP workers read `grad_clip`,
    unless `trainer.use_legacy_worker_impl=disable`; Megatron workers never did. Any norm will do; 1.0 is a convention.

    ## Sources
    Read in deepspeed 0.19.8, 0.19.3 and 0.19.2 (runtime/constants.py `GRADIENT_CLIPPING_DEFAULT`), transformers 5.24.0
    (integrations/deepspeed.py `fill_match`), accelerate 1.15.0 (accelerator.py, utils/dataclasses.py), and verl 0.2 to
    0.9.1 (workers/actor/dp_actor.py, workers/critic/dp_critic.py, workers/engine/fsdp/, utils/megatron/optimizer.py).
    deepspeedai/DeepSpeed#8068. Keys: `gradient_clipping` (0.0 to 0.19.2, 1.0 from 0.19.3);
    `actor_rollout_ref.actor.grad_clip`, `actor_rollout_ref.actor.optim.clip_grad` and the same of `critic` (1.0).
    """
    yield from _left_out(run)
    for role in ROLES:
        yield from _read_by_nothing(run, role)


def _left_out(run: RunConfig) -> Iterator[Finding]:
    clipping, optimizer = run.option("deepspeed", "gradient_clipping"), run.option("deepspeed", "optimizer.type")
    old = run.before("deepspeed", SWITCH)
    if clipping.explicit or not clipping.decided or not run.complete or old is False or is_muon(optimizer):
        return
    sign = _sign_of_training(run)
    if sign is None:
        return
    before = f"DeepSpeed before {SWITCH}"
    if old:
        outcome = (
            f"{release_of(run, 'deepspeed', before)} then clips nothing, whatever the trainer's max_grad_norm says"
        )
    else:
        outcome = f"{before} then clips nothing, later releases clip to 1.0"
    yield Finding(
        f"gradient_clipping is not set: {outcome}",
        clipping,
        others=((sign, "this config trains"),),
        help='set "gradient_clipping" to "auto" under a Hugging Face trainer, else to a norm such as 1.0',
        fix=_clip(run, sign),
        severity=WARNING if old else NOTE,
    )


def _clip(run: RunConfig, sign: Setting) -> Fix | None:
    """Add the key to the file that lacks it: "auto" where something fills that in, else 1.0."""
    from grpo_lint.fixing.mappings import added
    from grpo_lint.frameworks.deepspeed_keys import written as given

    origin = next((origin for origin in sign.chain if origin.layer == "file" and origin.span is not None), None)
    if origin is None or origin.span is None:
        return None
    filled_in = any(key.data == "auto" for key in given(run))
    text, data = ('"auto"', "auto") if filled_in else ("1.0", 1.0)
    return added(origin.span, origin.key, "gradient_clipping", text, data, f"clip to {text}", safe=False)


def _sign_of_training(run: RunConfig) -> Setting | None:
    """A setting of a DeepSpeed config that only training has use for."""
    for key in ("optimizer.type", "scheduler.type", "gradient_accumulation_steps"):
        setting = run.option("deepspeed", key)
        if setting.explicit:
            return setting
    written = run.option("deepspeed", "zero_optimization.stage")
    if written.explicit and (stage(run) in (1, 2) or steps_on_cpu(run)):
        return written
    return None


def _read_by_nothing(run: RunConfig, role: str) -> Iterator[Finding]:
    old, new = verl.option(run, f"{role}.grad_clip"), _engine_clip(run, role)
    if not old.explicit or not is_number(old) or not new.decided or not _is_trained(run, role):
        return
    read, used = reads_old_key(run, role), 1.0 if new.unset else new.value
    if read or used == old.value or (read is None and old.value == 0):  # NOT16 speaks about that 0
        return
    where = release_of(run, verl.NAME, "verl from 0.8.0 on")
    help_ = f"set {role}.optim.clip_grad={written(old)} instead" if old.value else f"remove it; {CLIPS_NOTHING}"
    yield Finding(
        f"{role}.grad_clip={written(old)} is read by nothing in {where}: optim.clip_grad={used} clips",
        old,
        others=() if new.unset else ((new, f"what clips: {used}"),),
        help=help_,
        fix=_read_by_the_engine(old, new, role),
        severity=WARNING if read is False else NOTE,
    )


def _read_by_the_engine(old: Setting, new: Setting, role: str) -> Fix | None:
    """Write the key that is read, or take the dead one out where that one is written, too."""
    from grpo_lint.fixing.values import argument_of, key_of, renamed

    key, whole = key_of(old), argument_of(old)
    if key is None or whole is None:
        return None
    if old.value and not new.explicit:
        return renamed(key, old.key, f"{role}.optim.clip_grad", safe=False)
    from grpo_lint.fixing.words import without

    return without(whole, f"remove {old.key}", safe=False)


def _engine_clip(run: RunConfig, role: str) -> Setting:
    """`optim.clip_grad`, or its deprecated alias `optim.grad_clip`, which overwrites it (0.6.0 to 0.9.1)."""
    alias = verl.option(run, f"{role}.optim.grad_clip")
    if alias.unset or (alias.known and alias.value is None):
        return verl.option(run, f"{role}.optim.clip_grad")
    return alias


def _strategy(run: RunConfig, role: str) -> Setting:
    return verl.option(run, f"{role}.strategy")


def _is_trained(run: RunConfig, role: str) -> bool:
    return trains(run) and (role == verl.ACTOR or (run.use_critic.known and run.use_critic.value is True))


def reads_old_key(run: RunConfig, role: str) -> bool | None:
    """Whether verl clips to `grad_clip` of a role: the FSDP workers before 0.8.0; None where that isn't known."""
    strategy = _strategy(run, role)
    if strategy.known and isinstance(strategy.value, str) and strategy.value not in FSDP:
        return False
    old, worker = run.before(verl.NAME, "0.8.0"), verl.option(run, "trainer.use_legacy_worker_impl")
    if old is False or (worker.known and worker.value == "disable"):
        return False
    if worker.explicit and worker.known:  # the key came with 0.5.0 and went with 0.8.0
        return True
    return True if old and worker.decided and strategy.decided else None


@rule(
    "NOT16",
    "gradient-clipping-zero",
    severity=NOTE,
    evidence="conditional",
    topics=("clipping",),
    twin="DO02",
    frameworks=(*DEEPSPEED_USERS, "megatron", "slime", "miles", "verl", "roll", "nemo_rl", "areal", "easyr1"),
)
def gradient_clipping_zero(run: RunConfig) -> Iterator[Finding]:
    """A clipping norm of 0 switches clipping off in DeepSpeed and Megatron, and stops all learning in verl's FSDP.

    ## What it does
    Reports a clip of 0 that someone wrote: an error where verl's FSDP workers read it (a warning where the release
    decides whether they do), a note where it means "off". accelerate's YAML gets a warning with DeepSpeed from 0.19.3
    on, where its 0 comes to 1.0.

    ## Why it matters
    torch's `clip_grad_norm_` has no off switch: it multiplies gradients by `max_norm / (norm + 1e-6)`, which is 0 for
    `max_norm=0`. verl hands its `clip_grad` straight to it, so the optimizer steps on zeros: only weight decay still
    moves the weights, and grad_norm, which is taken before, looks healthy. DeepSpeed and Megatron test for
    `clip_grad > 0` first. accelerate leaves a 0 out of the config that it builds, and DeepSpeed's default applies.

    ## Example
    ```bash
    python3 -m verl.trainer.main_ppo actor_rollout_ref.actor.optim.clip_grad=0
    ```

    ## Use instead
    ```bash
    python3 -m verl.trainer.main_ppo actor_rollout_ref.actor.optim.clip_grad=1.0
    ```
    or 1e9 to clip nothing.

    ## Fix
    Unsafe, where 0 is not the off switch: writes 1.0. A 0 that switches clipping off, as in DeepSpeed, is left alone.

    ## When it does not apply
    With Muon in DeepSpeed and Megatron, where 0 is the value to use (NOT02); with
    `zero_optimization.compute_grad_norm: false`, which demands it; to the critic of a run that trains none.

    ## Sources
    Run with torch 2.13.0 on a CPU: `clip_grad_norm_(max_norm=0)` and `_clip_grads_with_norm_` set every gradient to 0,
    and AdamW then applies its weight decay alone. Read in verl 0.2 to 0.9.1 (workers/actor/dp_actor.py,
    workers/engine/fsdp/transformer_impl.py `optimizer_step`, utils/fsdp_utils.py), deepspeed 0.19.8
    (zero/stage_1_and_2.py `unscale_and_clip_grads`), megatron-core 0.16.1 (core/optimizer/optimizer.py), accelerate
    1.15.0 (utils/dataclasses.py). deepspeedai/DeepSpeed#8068. Keys: `actor_rollout_ref.actor.optim.clip_grad` (1.0; up
    to 0.7.1 `actor.grad_clip`), the same of `critic`, `gradient_clipping`, `deepspeed_config.gradient_clipping`.
    """
    for role in ROLES:
        yield from _zeroes_gradients(run, role)
    yield from _switched_off(run)
    yield from _lost_by_accelerate(run)


def _zeroes_gradients(run: RunConfig, role: str) -> Iterator[Finding]:
    old, new, strategy = verl.option(run, f"{role}.grad_clip"), _engine_clip(run, role), _strategy(run, role)
    if not _is_trained(run, role) or not strategy.known or strategy.value not in FSDP:
        return
    read = reads_old_key(run, role)
    both = is_zero(old) and is_zero(new)
    if is_zero(new) and (both or not read):
        yield _zero(new, ERROR if both or read is False else WARNING, "" if both or read is False else "from 0.8.0 on")
    elif is_zero(old) and read is not False:
        yield _zero(old, ERROR if read else WARNING, "" if read else "before 0.8.0")


def _zero(clip: Setting, severity: Severity, when: str) -> Finding:
    where = f" in verl {when}" if when else ""
    return Finding(
        f"{clip.key}={written(clip)} multiplies every gradient by 0{where}: torch clips to the norm 0, and nothing is "
        "learned",
        clip,
        help=f"set it to 1.0; {CLIPS_NOTHING}",
        fix=_to_one(clip),
        severity=severity,
    )


def _to_one(clip: Setting) -> Fix | None:
    from grpo_lint.fixing.values import set_to

    return set_to(clip, "1.0", "clip to 1.0", safe=False)


def _switched_off(run: RunConfig) -> Iterator[Finding]:
    """DeepSpeed and Megatron, where 0 is the off switch."""
    clip, optimizer = run.option("deepspeed", "gradient_clipping"), run.option("deepspeed", "optimizer.type")
    needed = run.option("deepspeed", "zero_optimization.compute_grad_norm")
    if needed.explicit and needed.value is not True:
        return
    if not clip.explicit and (run.fsdp_mode.value == "megatron" or run.framework in ("megatron", "slime")):
        clip, optimizer = run.gradient_clipping, run.optimizer
    if is_zero(clip) and not is_muon(optimizer) and (run.framework != verl.NAME or trains(run)):
        yield Finding(
            f"{named(clip, 'gradient_clipping')}={written(clip)} switches gradient clipping off",
            clip,
            help="set it to a norm such as 1.0 if gradients should be clipped",
        )


def _lost_by_accelerate(run: RunConfig) -> Iterator[Finding]:
    clip = run.option("accelerate", "deepspeed_config.gradient_clipping")
    deepspeed = run.option("accelerate", "distributed_type").value == "DEEPSPEED"
    named_file = run.option("accelerate", "deepspeed_config.deepspeed_config_file")
    if not is_zero(clip) or not deepspeed or not named_file.unset:
        return
    old = run.before("deepspeed", SWITCH)
    if old is False:
        outcome = f"{release_of(run, 'deepspeed', f'DeepSpeed from {SWITCH} on')} clips to its default, 1.0"
    else:
        outcome = f"clipping is off before DeepSpeed {SWITCH}, and at 1.0 from then on"
    yield Finding(
        f"deepspeed_config.gradient_clipping={written(clip)} is left out of the config that accelerate builds: "
        + outcome,
        clip,
        help='name a DeepSpeed JSON with "gradient_clipping": 0.0 to clip nothing, or set a norm such as 1.0',
        fix=_to_one(clip) if old is False else None,
        severity=WARNING if old is False else NOTE,
    )


RULES: tuple[Rule, ...] = (gradient_clipping_1, gradient_clipping_zero)
