"""DO03, DO05, DO09, NOT12: what verl's rollout engine is given, and what it gives back."""

from __future__ import annotations

import re
from itertools import takewhile

from grpo_lint.diagnostics import ERROR, NOTE, WARNING
from grpo_lint.frameworks import verl
from grpo_lint.rules.avoidance.verl_run import effective, fsdp, is_verl, launched
from grpo_lint.rules.rule import Finding, rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Rule
    from grpo_lint.runconfig import RunConfig

BACKEND = f"{verl.ROLLOUT}.checkpoint_engine.backend"
SEPARATE = ("fully_async", "one_step_off")
_VISION = r"(?i)(?:^|[-_./\d])VL(?:[-_./]|$)|InternVL|MiniCPM-V\b|Omni\b"


@rule(
    "DO03",
    "bypass-mode",
    severity=ERROR,
    evidence="contested",
    needs=("bypass_mode",),
    topics=("rollout", "moe"),
    frameworks=("verl",),
)
def bypass_mode(run: RunConfig) -> Iterator[Finding]:
    """Bypass mode trains on the rollout's own log-probabilities, so something has to compute them.

    ## What it does
    Reports `algorithm.rollout_correction.bypass_mode=true` in verl where the rollout returns no log-probabilities, and
    where router replay R2 needs the forward pass that bypass mode skips.

    ## Why it matters
    With bypass mode, `rollout_log_probs` stand in for the old policy's. Without `rollout.calculate_log_probs` they are
    missing, and the first step fails after the model is loaded and the first batch is generated. Router replay R2
    records the experts in the very forward pass that is skipped; verl 0.9.1 refuses the pair at start.

    ## Example
    ```sh
    python3 -m verl.trainer.main_ppo \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=8 \\
        algorithm.rollout_correction.bypass_mode=True \\
        actor_rollout_ref.rollout.calculate_log_probs=False
    ```

    ## Use instead
    ```sh
    python3 -m verl.trainer.main_ppo \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=8 \\
        algorithm.rollout_correction.bypass_mode=True \\
        actor_rollout_ref.rollout.calculate_log_probs=True
    ```
    With router replay: R3, or `bypass_mode=False`.

    ## When it does not apply
    The decoupled mode (`bypass_mode=false`, the default) is as good a choice; nothing here asks for bypass mode.

    ## Sources
    - verl 0.6.1 to 0.9.1, `trainer/ppo/rollout_corr_helper.py`: `apply_bypass_mode` raises ValueError; 0.9.1,
      `trainer/ppo/v1/trainer_base.py` reads the missing field. `rollout.calculate_log_probs`: default false up to
      0.8.0, true from 0.9.0. `bypass_mode`: default false; true in the fully-async and one-step-off trees.
    - verl 0.9.1, `utils/config.py`: `_validate_router_replay_config`; `trainer/config/engine/megatron.yaml`.
    """
    mode = effective(run, "algorithm.rollout_correction.bypass_mode")
    if mode.value is not True:
        return
    log_probs = effective(run, f"{verl.ROLLOUT}.calculate_log_probs")
    if log_probs.known and log_probs.value is False:
        default = "" if log_probs.explicit else ", its default before verl 0.9.0"
        yield Finding(
            "bypass_mode is true, but rollout.calculate_log_probs is false"
            f"{default}: the rollout returns no log-probabilities, and the first step fails",
            mode,
            label="needs the rollout's log-probabilities",
            others=[(log_probs, "they are not computed")],
            help=f"set {verl.ROLLOUT}.calculate_log_probs=True",
        )
    if run.router_replay.value == "R2":
        yield Finding(
            "bypass_mode is true with router replay R2: R2 records the experts in the forward pass that bypass mode"
            " skips, so there is nothing to replay",
            run.router_replay,
            label="records in a pass that is skipped",
            others=[(mode, "skips the recording pass")],
            help="set bypass_mode=False, or use router replay R3",
        )


@rule(
    "DO05",
    "enforce-eager",
    severity=ERROR,
    evidence="refuted",
    needs=("enforce_eager",),
    topics=("rollout",),
    frameworks=("verl", "sglang"),
)
def enforce_eager(run: RunConfig) -> Iterator[Finding]:
    """Before verl 0.5.0, CUDA graphs and a freed cache engine exclude each other.

    ## What it does
    Reports `rollout.enforce_eager=False` together with `rollout.free_cache_engine=True` (the default) in verl before
    0.5.0. Warns of an SGLang server before 0.5.14 that serves several LoRA adapters with CUDA graphs (a note where the
    release isn't known).

    ## Why it matters
    verl's rollout worker asserts that it isn't so, and the run ends after the models are loaded. SGLang's default LoRA
    backend, csgmv, fixed the number of segments when it captured a graph, with one adapter: a batch that mixes adapters
    then loses some, or applies stale ones, and the answers are wrong without an error.

    ## Example
    For verl 0.4.1 (`--target verl=0.4.1`):

    ```sh
    python3 -m verl.trainer.main_ppo \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=8 \\
        actor_rollout_ref.rollout.enforce_eager=False
    ```

    ## Use instead
    ```sh
    python3 -m verl.trainer.main_ppo \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=8 \\
        actor_rollout_ref.rollout.enforce_eager=False \\
        actor_rollout_ref.rollout.free_cache_engine=False
    ```
    or a newer verl, or eager mode.

    ## When it does not apply
    From 0.5.0 on the two go together, and from 0.6.0 `enforce_eager` is false by default: CUDA graphs make decoding
    faster. Eager mode is a way to save their memory, not a safety measure; no rule asks for it.

    ## Sources
    - verl 0.2 to 0.4.1, `workers/rollout/vllm_rollout/vllm_rollout_spmd.py` and `sglang_rollout.py`: the assertion,
      "disable CUDA graph (enforce_eager = False) if free cache engine". 0.5.0 keeps it only in `vllm_rollout.py`, for
      vLLM up to 0.6.3. Defaults up to 0.5.0: enforce_eager true, free_cache_engine true.
    - sgl-project/sglang#28371; sglang 0.5.12.post1 and 0.5.13 (`bs if use_cuda_graph else num_segments` in
      `chunked_sgmv_shrink.py`), 0.5.14 and 0.5.23 (the whole buffer). `--lora-backend`: csgmv from 0.5.3 on.
    """
    yield from _several_adapters(run)
    if not is_verl(run) or not run.before(verl.NAME, "0.5.0"):
        return
    eager, free = run.enforce_eager, effective(run, f"{verl.ROLLOUT}.free_cache_engine")
    if eager.explicit and eager.value is False and free.known and free.value is True:
        default = "" if free.explicit else ", its default,"
        yield Finding(
            f"enforce_eager is false while free_cache_engine is true{default} which verl before 0.5.0 refuses",
            eager,
            label="keeps CUDA graphs",
            others=[(free, "frees the cache that the graphs point into")],
            help=f"set {verl.ROLLOUT}.free_cache_engine=False, or upgrade verl",
        )


def _several_adapters(run: RunConfig) -> Iterator[Finding]:
    """SGLang servers that mix adapters in one batch, as their command line says."""
    if run.framework != "sglang" or run.before("sglang", "0.5.14") is False or run.before("sglang", "0.5.3"):
        return
    backend, most = run.option("sglang", "--lora-backend"), run.option("sglang", "--max-loras-per-batch")
    eager = run.enforce_eager
    if not eager.decided or eager.value is True or most.value == 1 or backend.value not in ("csgmv", None):
        return
    words = list(run.command)
    start = next((at for at, word in enumerate(words) if word.text == "--lora-paths"), len(words))
    served = list(takewhile(lambda word: not word.text.startswith("--"), words[start + 1 :]))
    if len(served) < 2 or any(word.dynamic for word in served):
        return
    old = run.before("sglang", "0.5.14")
    yield Finding(
        f"--lora-paths serves {len(served)} adapters with CUDA graphs: before SGLang 0.5.14 a batch that mixes them"
        " loses some, or applies stale ones (SGLang #28371)",
        words[start].span,
        label="several adapters",
        help="use SGLang 0.5.14 or newer, --lora-backend triton, or --disable-cuda-graph",
        severity=WARNING if old else NOTE,
    )


@rule(
    "DO09",
    "naive-checkpoint-engine",
    severity=ERROR,
    evidence="refuted",
    needs=("checkpoint_mode", "async_rollout"),
    topics=("rollout", "weight-sync"),
    twin="NOT10",
    frameworks=("verl",),
)
def checkpoint_engine(run: RunConfig) -> Iterator[Finding]:
    """The naive checkpoint engine copies weights inside one process: it can't reach a rollout on other GPUs.

    ## What it does
    Compares `rollout.checkpoint_engine.backend` in verl with where the rollout runs. The `naive` backend with a rollout
    pool of its own is an error; another backend in a run that shares the GPUs is a note, since it is overwritten.

    ## Why it matters
    The checkpoint engine carries the trained weights to the rollout; it has nothing to do with checkpoints on disk.
    `naive` hands them over inside the worker that holds both. The `separate_async` trainer asserts another backend,
    and the fully-async and one-step-off trainers' actors have no rollout to hand anything to.

    ## Example
    ```sh
    python3 -m verl.trainer.main_ppo \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=8 \\
        trainer.v1.trainer_mode=separate_async \\
        actor_rollout_ref.rollout.nnodes=1
    ```
    `checkpoint_engine.backend` stays at `naive`, its default.

    ## Use instead
    ```sh
    python3 -m verl.trainer.main_ppo \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=8 \\
        trainer.v1.trainer_mode=separate_async \\
        actor_rollout_ref.rollout.nnodes=1 \\
        actor_rollout_ref.rollout.checkpoint_engine.backend=nccl
    ```

    ## When it does not apply
    What decides is whether trainer and rollout share their GPUs, not the data-parallel size.

    ## Sources
    - verl 0.9.0, 0.9.1, `trainer/ppo/v1/trainer_separate_async.py`: the assertion; `trainer/ppo/v1/trainer_base.py`
      sets the backend to naive for the trainers that share GPUs. Default `naive`; `nccl` in the fully-async and
      one-step-off trees. Others: nixl, mooncake, kimi_ckpt_engine, delta_sharded.
    - verl 0.7.1 to 0.9.1, `workers/engine_workers.py`: `update_weights`; `checkpoint_engine/base.py`.
    """
    backend, mode = effective(run, BACKEND), verl.option(run, "trainer.v1.trainer_mode")
    if not is_verl(run) or not backend.known or verl.option(run, "trainer.use_v1").value is False:
        return
    separate = mode.explicit and mode.value == "separate_async"
    if backend.value == "naive":
        if separate or (run.engine in SEPARATE and backend.explicit):
            who = "trainer_mode separate_async" if separate else f"the {run.engine} trainer"
            default = "" if backend.explicit else " (its default)"
            yield Finding(
                f"{BACKEND} is naive{default}, which can't reach the separate rollout GPUs of {who}: the run fails",
                mode if separate else backend,
                label="trainer and rollout on GPUs of their own",
                others=[(backend, "copies inside one process")],
                help=f"set {BACKEND}=nccl, or another backend that crosses processes",
            )
    elif backend.explicit and _overwrites_backend(run) and run.async_rollout.value is False:
        yield Finding(
            f"{BACKEND}={backend.value} has no effect: a trainer that shares its GPUs with the rollout uses naive"
            + (" (NOT10 says the same)" if backend.value == "nccl" else ""),
            backend,
            label="overwritten with naive",
            help="remove it, or choose trainer.v1.trainer_mode=separate_async if the rollout has GPUs of its own",
            severity=NOTE,
        )


def _overwrites_backend(run: RunConfig) -> bool:
    """verl's v1 trainers do: the default of main_ppo from 0.9.0."""
    if not launched(run) or any("main_ppo_v0" in word.text for word in run.command):
        return False
    use_v1 = verl.option(run, "trainer.use_v1")
    return use_v1.value is True and (use_v1.explicit or run.before(verl.NAME, "0.9.0") is False)


@rule(
    "NOT12",
    "stale-encoder-cache",
    severity=WARNING,
    evidence="solid",
    needs=("model_path", "rollout_engine", "lora_rank", "async_rollout"),
    topics=("rollout", "multimodal", "stale-cache"),
    frameworks=("verl", "trl"),
)
def stale_encoder_cache(run: RunConfig) -> Iterator[Finding]:
    """vLLM keeps image embeddings of the old vision tower across weight updates unless it is told to forget them.

    ## What it does
    Reports a vision-language model whose vision tower is trained, with vLLM as rollout engine and a trainer that does
    not reset vLLM's encoder cache: verl 0.7.0 and 0.7.1; 0.8.0 with vLLM before 0.17.0 or with a rollout on GPUs of its
    own; TRL, in every release up to 1.16.0.

    ## Why it matters
    The cache is keyed by the image's hash alone. After a weight update, an image that comes again is answered with the
    embedding that the old tower computed: the rollout samples from a model that is no longer trained, and nothing
    fails.

    ## Example
    For verl 0.7.1 (`--target verl=0.7.1`):

    ```sh
    python3 -m verl.trainer.main_ppo \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=8 \\
        actor_rollout_ref.rollout.name=vllm \\
        actor_rollout_ref.model.path=Qwen/Qwen2.5-VL-7B-Instruct
    ```

    ## Use instead
    ```sh
    python3 -m verl.trainer.main_ppo \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=8 \\
        actor_rollout_ref.rollout.name=vllm \\
        actor_rollout_ref.model.path=Qwen/Qwen2.5-VL-7B-Instruct \\
        actor_rollout_ref.actor.freeze_vision_tower=True
    ```
    or verl 0.9.0 or newer.

    ## When it does not apply
    A frozen vision tower, LoRA adapters (the base tower stays), text-only models, SGLang; vLLM before 0.10.2, whose
    cache entries live as long as their request.

    ## Sources
    - vllm-project/vllm#44910 (the hazard), #45093 (a reset on update) and #46125 (its revert), #33452
      (`reset_encoder_cache`).
    - verl 0.7.1, `vllm_async_server.py`: the call is commented out; 0.8.0: `_sleep_hybrid` resets with vLLM 0.17.0 or
      newer; 0.9.0: `clear_kv_cache` resets after every update (verl-project/verl#6522).
    - TRL 1.16.0, `generation/vllm_generation.py` resets the prefix cache alone; huggingface/trl#7198 (open).
      `actor.freeze_vision_tower`, default false.
    """
    if run.framework == "trl":
        yield from _stale_in_trl(run)
        return
    path, frozen = run.model_path, verl.option(run, f"{verl.ACTOR}.freeze_vision_tower")
    if not fsdp(run) or not path.explicit or run.rollout_engine.value != "vllm" or not _unreset(run):
        return
    if not re.search(_VISION, str(path.value)) or frozen.value is True or not frozen.decided or run.lora_rank.value:
        return
    yield Finding(
        f"{path.value} is trained with its vision tower, and this verl does not reset vLLM's encoder cache: after an"
        " update, repeated images keep the old tower's embeddings (vLLM #44910)",
        path,
        label="a vision-language model",
        others=[(run.rollout_engine, "caches image embeddings by hash")],
        help="upgrade verl to 0.9.0 or newer, or set actor_rollout_ref.actor.freeze_vision_tower=True",
    )


def _stale_in_trl(run: RunConfig) -> Iterator[Finding]:
    """GRPO and its like train the whole model, tower included, unless there is an adapter."""
    path, engine, rank = run.model_path, run.rollout_engine, run.lora_rank
    if not run.complete or not path.explicit or engine.value != "vllm" or rank.value or not rank.decided:
        return
    if run.before("vllm", "0.10.2") or run.before("trl", "1.16.1") is False:
        return
    if not re.search(_VISION, str(path.value)):
        return
    yield Finding(
        f"{path.value} is trained with its vision tower, and TRL up to 1.16.0 does not reset vLLM's encoder cache:"
        " after an update, repeated images keep the old tower's embeddings (TRL #7198)",
        path,
        label="a vision-language model",
        others=[(engine, "caches image embeddings by hash")],
        help="train an adapter (--use_peft) that leaves the tower alone, or generate without vLLM",
    )


def _unreset(run: RunConfig) -> bool:
    """Whether verl is known not to reset the cache; vLLM keeps entries past their request from 0.10.2."""
    if run.before(verl.NAME, "0.7.0") is not False or run.before("vllm", "0.10.2"):
        return False
    if run.before(verl.NAME, "0.8.0"):
        return True
    old_engine = run.before("vllm", "0.17.0") is True
    return run.before(verl.NAME, "0.9.0") is True and (old_engine or run.async_rollout.value is True)


RULES: tuple[Rule, ...] = (bypass_mode, enforce_eager, checkpoint_engine, stale_encoder_cache)
