"""DO16, DO17: mixture-of-experts routers in verl, replayed and computed."""

from __future__ import annotations

import re

from grpo_lint.diagnostics import ERROR, NOTE, WARNING
from grpo_lint.frameworks import verl
from grpo_lint.rules.avoidance.verl_run import effective, is_verl, launched, megatron, positive
from grpo_lint.rules.rule import Finding, rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Rule
    from grpo_lint.runconfig import RunConfig

RECORD = f"{verl.ROLLOUT}.enable_rollout_routing_replay"
ROUTER_DTYPE = f"{verl.MEGATRON}.override_transformer_config.moe_router_dtype"
CORRECTION = "algorithm.rollout_correction"
_CORRECTED = r"\.(?:rollout_is|rollout_rs)\w*$|\.tis_imp_ratio_cap$"
_QWEN3_MOE = r"(?i)(?:^|/)qwen3-(?:30B-A3B|235B-A22B)(?:$|[-_/])"
"""128 experts, and no bridge of verl's sets their router's type. Other models' bridges do, or weren't read."""

MANY_EXPERTS = 32
"""From here on Megatron itself asks for a wider router."""


@rule(
    "DO16",
    "indexer-and-router-replay",
    severity=ERROR,
    evidence="conditional",
    needs=("router_replay",),
    topics=("moe", "discrete-decisions"),
    frameworks=("verl",),
    mentions=("replay", "moe"),
)
def router_replay(run: RunConfig) -> Iterator[Finding]:
    """Router replay has two sides, the trainer's and the rollout's, and they have to agree.

    ## What it does
    Reports, in verl: R3 without `rollout.enable_rollout_routing_replay`; R2 with it; R3 with a vLLM that can't report
    its experts; either on a dense model. Notes a mixture of experts on Megatron with neither replay nor rollout
    correction.

    ## Why it matters
    Rollout and trainer compute the router apart and, on close calls, choose different experts. R3 replays the rollout's
    choices, so the rollout has to record them, or the first training step finds none and raises. R2 replays the
    trainer's own; if the rollout's are there too, the older trainer raises ValueError and the newer one replays the
    rollout's choices instead, which is R3.

    ## Example
    ```sh
    python3 -m verl.trainer.main_ppo \\
        model_engine=megatron \\
        actor_rollout_ref.model.path=Qwen/Qwen3-30B-A3B \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=8 \\
        +actor_rollout_ref.actor.megatron.override_transformer_config.moe_router_dtype=fp32 \\
        actor_rollout_ref.actor.megatron.router_replay.mode=R3
    ```

    ## Use instead
    ```sh
    python3 -m verl.trainer.main_ppo \\
        model_engine=megatron \\
        actor_rollout_ref.model.path=Qwen/Qwen3-30B-A3B \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=8 \\
        +actor_rollout_ref.actor.megatron.override_transformer_config.moe_router_dtype=fp32 \\
        actor_rollout_ref.actor.megatron.router_replay.mode=R3 \\
        actor_rollout_ref.rollout.enable_rollout_routing_replay=True
    ```

    ## When it does not apply
    Dense models need no replay, and the FSDP engine has none. Another policy loss than `vanilla` (gspo compares whole
    sequences, for this very reason) gets no note. A replay of the sparse-attention indexer (DSA), which the
    source document asks for, exists in no release.

    ## Sources
    - verl 0.9.1, `workers/engine/megatron/transformer_impl.py` ("router_replay REPLAY: micro_batch has no
      routed_experts") and `workers/engine/veomni/transformer_impl.py`; `trainer/ppo/ray_trainer.py` (the ValueError,
      0.7.1 to 0.9.1); `experimental/separation/ray_trainer.py` drops the rollout's routes under R2.
      `rollout.enable_rollout_routing_replay`: from 0.7.0, default false.
    - verl 0.9.0, 0.9.1, `vllm_async_server.py`: recording needs vLLM 0.22.0 or newer.
    - NVIDIA/Megatron-LM#5384, #5386 (indexer replay, open); #4256 (R3).
    """
    mode, record = run.router_replay, effective(run, RECORD)
    if not is_verl(run) or not mode.known:
        return
    if mode.value == "R3" and record.known and record.value is False:
        default = "" if record.explicit else " (its default)"
        yield Finding(
            f"router replay R3 with enable_rollout_routing_replay false{default}: the rollout records no experts, and"
            " the first training step has nothing to replay",
            mode,
            label="replays the rollout's experts",
            others=[(record, "they aren't recorded")],
            help=f"set {RECORD}=True",
        )
    if mode.value == "R2" and record.value is True:
        separate = run.engine in ("fully_async", "one_step_off")
        outcome = "the recorded experts are thrown away" if separate else "verl refuses the pair, or replays R3 instead"
        yield Finding(
            f"router replay R2 with enable_rollout_routing_replay true: {outcome}",
            record,
            label="only R3 uses it",
            others=[(mode, "replays the trainer's own experts")],
            help=f"remove {RECORD}, or choose R3",
            severity=WARNING if separate else ERROR,
        )
    yield from _engine_or_model(run)


def _engine_or_model(run: RunConfig) -> Iterator[Finding]:
    mode, record = run.router_replay, effective(run, RECORD)
    engine = run.versions.get("vllm")
    if record.value is True and run.rollout_engine.value == "vllm" and engine is not None:
        if run.before(verl.NAME, "0.9.0") is False and run.before("vllm", "0.22.0"):
            yield Finding(
                f"enable_rollout_routing_replay with vLLM {engine.text}: verl needs 0.22.0 or newer for it and refuses"
                " to start",
                record,
                label="needs vLLM 0.22.0",
                help="upgrade vLLM, or switch router replay off",
            )
    if mode.value in ("R2", "R3") and run.moe.known and run.moe.value is False:
        yield Finding(
            f"router replay {mode.value} on a dense model: there is no router to replay",
            mode,
            label="no effect",
            help="remove it",
            severity=WARNING,
        )
    if mode.value == "disabled" and run.moe.value is True and launched(run) and megatron(run) and not _corrected(run):
        yield Finding(
            "a mixture of experts with neither router replay nor rollout correction: on close calls rollout and trainer"
            " choose different experts, and the ratio between them is off",
            run.moe,
            label="a mixture of experts",
            others=[(mode, "no replay"), (run.model_path, "the model")],
            help="consider router replay R3, or algorithm.rollout_correction.rollout_is=token",
            severity=NOTE,
        )


def _corrected(run: RunConfig) -> bool:
    """Whether the mismatch is handled otherwise, in any spelling that a release of verl had; or can't be known."""
    loss = verl.option(run, f"{verl.ACTOR}.policy_loss.loss_mode")
    if verl.option(run, f"{CORRECTION}.bypass_mode").value is not False or (loss.explicit and loss.value != "vanilla"):
        return True
    return any(
        re.search(_CORRECTED, key) and (not setting.known or setting.value not in (None, False))
        for _, key, setting in run.options.written(verl.NAME)
    )


@rule(
    "DO17",
    "fp32-router",
    severity=WARNING,
    evidence="conditional",
    needs=("moe", "gating_dtype", "model_path", "model_dtype"),
    topics=("moe", "moe-nan", "precision"),
    twin="NOT14",
    frameworks=("verl", "megatron", "slime"),
    mentions=("moe", "num-experts"),
)
def router_dtype(run: RunConfig) -> Iterator[Finding]:
    """Megatron computes the router in the parameters' type unless `moe_router_dtype` says otherwise.

    ## What it does
    Reports Qwen3 mixtures of experts (128 experts) on verl's Megatron engine without `moe_router_dtype`; and command
    lines of Megatron-LM and slime with `--num-experts` and without `--moe-router-dtype`: a note below 32 experts in
    bf16.

    ## Why it matters
    The router's matrix product, and with it the choice of the top experts, runs in bfloat16 or float16. Eight
    significant bits decide between 128 experts, so rollout and trainer disagree more often; in float16 a logit beyond
    65504 is infinite before any softmax sees it. Megatron itself warns at 32 experts and more. The softmax is not the
    danger: it subtracts the maximum first, and Megatron computes it in float32 anyway.

    ## Example
    ```sh
    python3 -m verl.trainer.main_ppo \\
        model_engine=megatron \\
        actor_rollout_ref.model.path=Qwen/Qwen3-30B-A3B \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=8 \\
        algorithm.rollout_correction.rollout_is=token
    ```

    ## Use instead
    ```sh
    python3 -m verl.trainer.main_ppo \\
        model_engine=megatron \\
        actor_rollout_ref.model.path=Qwen/Qwen3-30B-A3B \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=8 \\
        algorithm.rollout_correction.rollout_is=token \\
        +actor_rollout_ref.actor.megatron.override_transformer_config.moe_router_dtype=fp32
    ```

    ## When it does not apply
    Dense models, float32 training, the FSDP engine (the transformers library routes in float32), models whose bridge
    sets the type itself, such as DeepSeek-V3, and runs of Megatron that only generate.

    ## Sources
    - megatron-core 0.16.1, `transformer/transformer_config.py` (default None; warns from 32 experts on) and
      `transformer/moe/router.py`. `--moe-router-dtype` exists from core 0.12.0 on. slime's own scripts for models with
      experts set it to fp32. DeepEP and HybridEP need float32 probabilities: `token_dispatcher.py` converts them
      and logs a warning.
    - verl 0.9.1, `workers/engine/megatron/transformer_impl.py` passes `override_transformer_config` on, and
      `models/mcore/config_converter.py` sets a type for DeepSeek-V3 alone. Neither Megatron-Bridge
      (`models/qwen/qwen3_moe_bridge.py`, 2026) nor mbridge (`models/qwen3moe.py`) sets one for Qwen3.
    """
    if run.framework in ("megatron", "slime"):
        yield from _megatron_router(run)
        return
    gate, path, dtype = run.gating_dtype, run.model_path, run.model_dtype
    if not is_verl(run) or not launched(run) or not megatron(run) or gate.value is not None:
        return
    if not path.known or not re.search(_QWEN3_MOE, str(path.value)) or dtype.value not in ("bf16", "fp16"):
        return
    yield Finding(
        f"{path.value} routes its 128 experts in {dtype.value}: nothing sets moe_router_dtype, and Megatron then uses"
        " the parameters' type" + (" (NOT14 says the same)" if dtype.value == "fp16" else ""),
        path,
        label="a mixture of 128 experts",
        others=[(dtype, "the parameters' type"), (gate, "the router's type")],
        help=f"set +{ROUTER_DTYPE}=fp32",
    )


def _megatron_router(run: RunConfig) -> Iterator[Finding]:
    """Megatron's own options, which slime passes on."""
    count, gate = run.option(run.framework, "--num-experts"), run.option(run.framework, "--moe-router-dtype")
    narrow = run.model_dtype.value == "fp16"
    if not run.complete or not positive(count) or not count.explicit or gate.explicit or not gate.decided:
        return
    if gate.value is not None or run.model_dtype.value not in ("bf16", "fp16") or _only_generates(run):
        return
    yield Finding(
        f"--num-experts is {count.value}, and nothing sets --moe-router-dtype: Megatron routes in"
        f" {run.model_dtype.value}, the parameters' type" + (" (NOT14 says the same)" if narrow else ""),
        count,
        label="a mixture of experts",
        others=[(run.model_dtype, "the parameters' type")],
        help="add --moe-router-dtype fp32 (from core 0.12.0 on)",
        severity=WARNING if narrow or count.value >= MANY_EXPERTS else NOTE,
    )


def _only_generates(run: RunConfig) -> bool:
    """Whether Megatron's inference is started: it is told how much to generate, and not how long to train."""
    length = (run.option(run.framework, name) for name in ("--train-iters", "--train-samples"))
    generates = run.option(run.framework, "--num-tokens-to-generate").explicit
    return generates and not any(setting.explicit for setting in length)


RULES: tuple[Rule, ...] = (router_replay, router_dtype)
