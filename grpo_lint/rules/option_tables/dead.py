"""Options that are accepted and that nothing reads, since another one is off."""

from __future__ import annotations

from grpo_lint.diagnostics import WARNING
from grpo_lint.rules.rule import Finding, rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.diagnostics import Fix
    from grpo_lint.runconfig import RunConfig
    from grpo_lint.unified import Setting

TRL_VLLM = (
    "--vllm_mode", "--vllm_gpu_memory_utilization", "--vllm_tensor_parallel_size", "--vllm_server_base_url",
    "--vllm_server_host", "--vllm_server_port", "--vllm_server_timeout", "--vllm_enable_sleep_mode",
)  # fmt: skip
"""Read where `use_vllm` is on only (trl 0.24.0 and 1.16.0, trainer/grpo_trainer.py)."""
VLLM_LORA = ("--max-lora-rank", "--max-loras", "--max-cpu-loras", "--fully-sharded-loras", "--lora-dtype")
"""Parts of a LoRAConfig, which is made where `enable_lora` is on only (vllm, engine/arg_utils.py)."""
VLLM_GRAPHS = (
    "--cuda-graph-sizes", "--cudagraph-capture-sizes", "--max-cudagraph-capture-size",
    "--compilation-config.cudagraph_capture_sizes",
)  # fmt: skip
"""Sizes of CUDA graphs, which `enforce_eager` empties (vllm, config/vllm.py)."""
OPENRLHF_LORA = {
    "--ds.lora.rank": ("--ds.lora.alpha", "--ds.lora.dropout", "--ds.lora.target_modules"),
    "--lora_rank": ("--lora_alpha", "--lora_dropout", "--target_modules"),
}
"""Read where the rank is above 0 only (OpenRLHF 0.11.2, models/actor.py)."""
MODEL = "actor_rollout_ref.model"
SHARED = {
    # rLLM's key: verl's, which is set from it
    "rllm.algorithm.adv_estimator": "algorithm.adv_estimator",
    "rllm.algorithm.norm_adv_by_std_in_grpo": "algorithm.norm_adv_by_std_in_grpo",
    "rllm.algorithm.rollout_correction.bypass_mode": "algorithm.rollout_correction.bypass_mode",
    "rllm.algorithm.kl_beta": "actor_rollout_ref.actor.kl_loss_coef",
    "rllm.algorithm.loss_fn": "actor_rollout_ref.actor.policy_loss.loss_mode",
    "rllm.algorithm.loss_agg_mode": "actor_rollout_ref.actor.loss_agg_mode",
    "rllm.algorithm.eps_clip_high": "actor_rollout_ref.actor.clip_ratio_high",
    "rllm.algorithm.router_replay": "actor_rollout_ref.actor.router_replay.mode",
    "rllm.rollout.n": "actor_rollout_ref.rollout.n",
    "rllm.rollout.n_val": "actor_rollout_ref.rollout.val_kwargs.n",
    "rllm.rollout.train.temperature": "actor_rollout_ref.rollout.temperature",
    "rllm.rollout.train.top_p": "actor_rollout_ref.rollout.top_p",
    "rllm.rollout.train.top_k": "actor_rollout_ref.rollout.top_k",
    "rllm.rollout.train.max_tokens": "actor_rollout_ref.rollout.response_length",
    "rllm.trainer.save_freq": "trainer.save_freq",
    "rllm.trainer.test_freq": "trainer.test_freq",
    "rllm.trainer.total_epochs": "trainer.total_epochs",
    "rllm.trainer.project_name": "trainer.project_name",
    "rllm.trainer.experiment_name": "trainer.experiment_name",
    "rllm.data.train_batch_size": "data.train_batch_size",
    "rllm.data.max_prompt_length": "data.max_prompt_length",
    "rllm.data.max_response_length": "data.max_response_length",
}
"""Read in rLLM, main of 2026-08-15 (trainer/verl/utils.py: `sync_config`): of two overrides rLLM's own wins."""

READ = ("openrlhf", "rllm", "trl", "verl", "vllm")


@rule(
    "OPT14",
    "option-that-nothing-reads",
    severity=WARNING,
    evidence="solid",
    topics=("options", "lora"),
    frameworks=READ,
)
def option_that_nothing_reads(run: RunConfig) -> Iterator[Finding]:
    """An option is given that another one overwrites, or whose reader is switched off.

    ## What it does
    Reports options of LoRA where no adapter is trained or served (verl's FSDP engine, OpenRLHF, `vllm serve`),
    `vllm_*` options of `trl grpo` without `use_vllm`, and sizes of CUDA graphs beside `enforce_eager`.
    Also overrides of verl whose mirror among rLLM's own says something else on the same line.

    ## Why it matters
    The option is accepted and does nothing. A run that was meant to train an adapter trains all weights.

    ## Example
    ```bash
    vllm serve Qwen/Qwen3-8B --max-lora-rank 64
    ```

    ## Use instead
    ```bash
    vllm serve Qwen/Qwen3-8B --max-lora-rank 64 --enable-lora
    ```

    ## Fix
    Unsafe: takes the option out. The run stays what it is; whether its author wants another one nobody can tell.

    ## When it does not apply
    An adapter that is switched off in so many words (`lora_rank=0`); lines of which a part isn't known. LoRA options
    of `trl` and of verl's Megatron engine are DO19's, what verl's engine overwrites DO02's and DO06's.

    ## Sources
    trl 0.24.0 and 1.16.0 (`trainer/grpo_trainer.py`), OpenRLHF 0.11.2 (`models/actor.py`), verl
    0.5.0 to 0.9.1 (`workers/fsdp_workers.py`, `workers/engine/fsdp/transformer_impl.py`), vllm
    (`engine/arg_utils.py`, `config/vllm.py`), rLLM, main of 2026-08-15 (`trainer/verl/utils.py`: `sync_config`).
    """
    if run.command and run.framework == "rllm":
        yield from _of_rllm(run)
    if not run.command or not run.complete:
        return
    if run.framework == "verl":
        yield from _of_verl(run)
    elif run.framework in ("trl", "openrlhf", "vllm"):
        from grpo_lint.frameworks.programs import program_of

        if program_of(run) is not None:
            yield from _of_program(run)


def _of_program(run: RunConfig) -> Iterator[Finding]:
    framework = run.framework
    if framework == "trl":
        yield from _switched_off(run, "--use_vllm", TRL_VLLM)
    elif framework == "vllm":
        if not run.option(framework, "--lora-modules").explicit:
            yield from _switched_off(run, "--enable-lora", VLLM_LORA)
        if run.option(framework, "--enforce-eager").value is True:
            for setting in _given(run, VLLM_GRAPHS):
                message = f"{setting.key} does nothing: --enforce-eager captures no graphs"
                others = ((run.option(framework, "--enforce-eager"), "no graphs"),)
                yield Finding(message, setting, "", others, fix=_without(run, setting))
    else:
        dotted = any(name.startswith("--ds.") for name in run.options.keys(framework))
        rank = "--ds.lora.rank" if dotted else "--lora_rank"
        if not run.option(framework, rank).explicit:
            for setting in _given(run, OPENRLHF_LORA[rank]):
                message = f"{setting.key} does nothing: without {rank} no adapter is trained"
                help = f"set {rank}, or remove {setting.key}"
                yield Finding(message, setting, help=help, fix=_without(run, setting))


def _switched_off(run: RunConfig, switch: str, names: tuple[str, ...]) -> Iterator[Finding]:
    """The options given of those that nothing reads while a switch, which nothing sets, is off."""
    setting = run.option(run.framework, switch)
    if setting.explicit or setting.value not in (False, None) or not setting.decided:
        return
    for given in _given(run, names):
        message = f"{given.key} does nothing: {switch} is off, as it is by default"
        help = f"add {switch}, or remove {given.key}"
        yield Finding(message, given, help=help, fix=_without(run, given))


def _given(run: RunConfig, names: tuple[str, ...]) -> Iterator[Setting]:
    for name in names:
        setting = run.option(run.framework, name)
        if setting.explicit and setting.value not in (None, False):
            yield setting


def _of_rllm(run: RunConfig) -> Iterator[Finding]:
    """Two overrides of one thing."""
    from grpo_lint.frameworks.verl import NAME

    for own, mirrored in SHARED.items():
        wins, loses = run.option("rllm", own), run.option(NAME, mirrored)
        both = wins.known and loses.known and wins.explicit and loses.explicit
        if both and wins.value is not None and wins.value != loses.value:
            message = f"{mirrored}={loses.value} does nothing: rllm sets it to {wins.value}, from {own}"
            yield Finding(message, loses, "", ((wins, "wins"),), f"remove {mirrored}", _without_override(loses))


def _of_verl(run: RunConfig) -> Iterator[Finding]:
    """The FSDP engine wraps the model where the rank is above 0 or an adapter is named."""
    given = list(_given(run, (f"{MODEL}.lora_alpha", f"{MODEL}.target_modules")))
    if not given:
        return
    others = (f"{MODEL}.lora_rank", f"{MODEL}.lora_adapter_path", f"{MODEL}.lora.rank")
    rank, adapter, nested = (run.option(run.framework, key) for key in others)
    strategy = run.option(run.framework, "actor_rollout_ref.actor.strategy")
    if rank.explicit or rank.value != 0 or not adapter.decided or adapter.value or not nested.decided or nested.value:
        return
    if strategy.value not in ("fsdp", "fsdp2"):
        return
    for setting in given:
        message = (
            f"{setting.key}={setting.value} does nothing: lora_rank is 0, its default, so that no adapter is trained"
        )
        help = "set actor_rollout_ref.model.lora_rank, or remove this"
        yield Finding(message, setting, help=help, fix=_without_override(setting))


def _without_override(setting: Setting) -> Fix | None:
    """Take a `key=value` out of the command. The run stays what it is, but its author may have meant another."""
    from grpo_lint.fixing.values import argument_of
    from grpo_lint.fixing.words import without

    whole = argument_of(setting)
    return without(whole, f"remove {setting.key}", safe=False) if whole is not None else None


def _without(run: RunConfig, setting: Setting) -> Fix | None:
    """Take a flag and its value out of the command, if they stand side by side."""
    from grpo_lint.fixing.words import without
    from grpo_lint.frameworks.programs import program_of

    program = program_of(run)
    uses = [use for use in program.uses if setting.key in (use.name, use.written)] if program is not None else []
    if len(uses) != 1 or uses[0].origin is not None:
        return None
    span, file = uses[0].span, uses[0].span.file
    ends = [word.span.end for word in uses[0].words if word.span.file is file]
    end = max((span.end, *ends))
    if len(ends) < len(uses[0].words) or end < span.end or "\n" in file.text[span.start : end]:
        return None
    return without(file.span(span.start, end), f"remove {setting.key}", safe=False)


RULES = (option_that_nothing_reads,)
