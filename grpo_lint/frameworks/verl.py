"""verl: from its option tree to the unified config, as verl 0.9.1 reads it.

The tree is the same whether it comes from overrides or from a YAML file; `verl_source.py` reads those. Formulas and
spellings by release: verl/workers/config/*.py, verl/workers/engine/*, verl/trainer/ppo/ (0.5.0 to 0.9.1).
"""

from __future__ import annotations

from grpo_lint.frameworks.models import names_mixture_of_experts
from grpo_lint.runconfig import default
from grpo_lint.unified import UNSET, Setting, derived, undecided, unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.runconfig import RunConfig

NAME = "verl"

ACTOR = "actor_rollout_ref.actor"
ROLLOUT = "actor_rollout_ref.rollout"
MODEL = "actor_rollout_ref.model"
FSDP = f"{ACTOR}.fsdp_config"
MEGATRON = f"{ACTOR}.megatron"

MISSING = "???"
"""OmegaConf's mark for a value that must be given."""

MODES = {"fsdp": "fsdp1"}
DTYPES = {
    "half": "fp16", "float16": "fp16", "fp16": "fp16", "torch.float16": "fp16",
    "bf16": "bf16", "bfloat16": "bf16", "torch.bfloat16": "bf16",
    "float": "fp32", "float32": "fp32", "fp32": "fp32", "32": "fp32",
}  # fmt: skip

DIRECT = {
    # unified field: the option that it is
    "group_size": f"{ROLLOUT}.n",
    "algorithm": "algorithm.adv_estimator",
    "rollout_engine": f"{ROLLOUT}.name",
    "enforce_eager": f"{ROLLOUT}.enforce_eager",
    "load_format": f"{ROLLOUT}.load_format",
    "checkpoint_mode": f"{ROLLOUT}.checkpoint_engine.backend",
    "bypass_mode": "algorithm.rollout_correction.bypass_mode",
    "critic_enable": "critic.enable",
    "lora_merge": f"{MODEL}.lora.merge",
    "model_path": f"{MODEL}.path",
    "n_gpus": "trainer.n_gpus_per_node",
    "nnodes": "trainer.nnodes",
    "rollout_tp": f"{ROLLOUT}.tensor_model_parallel_size",
}


def unify(run: RunConfig) -> None:
    """Fill the unified fields from verl's options."""
    fields = run.fields
    for field, key in DIRECT.items():
        setting = option(run, key)
        if not setting.unset:
            fields[field] = setting
    strategy = option(run, f"{ACTOR}.strategy")
    fields["fsdp_mode"] = strategy.map(lambda name: MODES.get(str(name), name))
    megatron = strategy.value == "megatron" if strategy.known else run.engine == "megatron"
    fields["gradient_clipping"] = _gradient_clipping(run, megatron)
    fields["lora_rank"] = _lora_rank(run, megatron)
    fields["use_critic"] = _use_critic(run)
    fields["ref_in_actor"] = _ref_in_actor(run)
    fields["model_dtype"] = _model_dtype(run, megatron)
    fields["router_replay"] = _router_replay(run, megatron)
    fields["moe"] = _moe(run, megatron)
    fields["async_rollout"] = _async_rollout(run)
    optimizer = option(run, f"{ACTOR}.optim.optimizer")
    if optimizer.explicit:  # the default is the engine's own Adam; what matters is whether someone chose another
        fields["optimizer"] = optimizer
    for field, key in (("offload_param", "param_offload"), ("offload_optimizer", "optimizer_offload")):
        setting = option(run, f"{MEGATRON if megatron else FSDP}.{key}")
        fields[field] = setting.map(lambda on: "cpu" if on is True else "none")
    fields["torch_compile"] = UNSET if megatron else option(run, f"{ACTOR}.use_torch_compile")
    if megatron:
        fields["gating_dtype"] = option(run, f"{MEGATRON}.override_transformer_config.moe_router_dtype")
    _unify_shape(run, megatron)


def option(run: RunConfig, key: str) -> Setting:
    """An option as verl gets it; a value that must be given and isn't is unknown."""
    setting = run.option(NAME, key)
    if setting.value == MISSING:
        return unknown(f"{key} must be given, and nothing gives it", *setting.chain)
    return setting


def _gradient_clipping(run: RunConfig, megatron: bool) -> Setting:
    """`actor.optim.clip_grad`; the FSDP workers read `actor.grad_clip` before 0.8.0. `optim.grad_clip` is an alias."""
    alias = option(run, f"{ACTOR}.optim.grad_clip")
    if alias.explicit and alias.value is not None:
        return alias
    if not megatron and run.before(NAME, "0.8.0"):
        return option(run, f"{ACTOR}.grad_clip")
    return option(run, f"{ACTOR}.optim.clip_grad")


def _lora_rank(run: RunConfig, megatron: bool) -> Setting:
    """`model.lora.rank` if positive, else `model.lora_rank`, which the Megatron engine doesn't read."""
    nested, flat = option(run, f"{MODEL}.lora.rank"), option(run, f"{MODEL}.lora_rank")
    if megatron or (nested.known and isinstance(nested.value, int) and nested.value > 0):
        return nested
    return flat if nested.decided else nested


def _use_critic(run: RunConfig) -> Setting:
    """`critic.enable`, or else whether the estimator is GAE."""
    enable, estimator = option(run, "critic.enable"), option(run, "algorithm.adv_estimator")
    if enable.known and isinstance(enable.value, bool):
        return enable
    hidden = undecided(enable, estimator)
    if hidden is not None or estimator.unset:
        return hidden or UNSET
    return derived(estimator.value == "gae", estimator, note="a critic is trained for gae alone")


def _ref_in_actor(run: RunConfig) -> Setting:
    """The reference is the actor without its adapter wherever there is an adapter."""
    rank, adapter = run.fields["lora_rank"], option(run, f"{MODEL}.lora_adapter_path")
    hidden = undecided(rank, adapter)
    if hidden is not None or rank.unset:
        return hidden or UNSET
    note = "the actor without its adapter is the reference"
    return derived(bool(rank.value) or bool(adapter.value), rank, adapter, note=note)


def _model_dtype(run: RunConfig, megatron: bool) -> Setting:
    key = f"{MEGATRON}.dtype" if megatron else f"{FSDP}.dtype"
    setting = option(run, key)
    if setting.unset and not megatron:
        setting = option(run, f"{FSDP}.mixed_precision.param_dtype")
    return setting.map(lambda name: DTYPES.get(str(name), name))


def _router_replay(run: RunConfig, megatron: bool) -> Setting:
    """The engine's own key; `actor.router_replay.mode` in 0.7.0 to 0.9.0."""
    engine = "megatron" if megatron else "veomni"
    for key in (f"{ACTOR}.{engine}.router_replay.mode", f"{ACTOR}.router_replay.mode"):
        setting = option(run, key)
        if not setting.unset:
            return setting
    return UNSET


def _moe(run: RunConfig, megatron: bool) -> Setting:
    """Expert parallelism says so, or else the model's name; no name proves a dense model."""
    for key in (f"{MEGATRON}.expert_model_parallel_size", f"{ROLLOUT}.expert_parallel_size"):
        setting = option(run, key) if megatron or key.startswith(ROLLOUT) else UNSET
        if type(setting.value) is int and setting.value > 1:
            return derived(True, setting, note="experts are spread over ranks")
    path = option(run, f"{MODEL}.path")
    if path.known and isinstance(path.value, str) and names_mixture_of_experts(path.value):
        return derived(True, path, note="by the model's name")
    return UNSET


def _async_rollout(run: RunConfig) -> Setting:
    """Whether rollout has GPUs of its own: an entry point or a trainer mode that separates them."""
    mode = option(run, "trainer.v1.trainer_mode")
    if run.engine in ("fully_async", "one_step_off"):
        return default(True, f"what the {run.engine} trainer does", "trainer")
    if mode.explicit or not mode.decided:
        return mode.map(lambda name: name == "separate_async")
    return default(False, "what main_ppo does", "trainer")


def sequence_parallel_size(run: RunConfig) -> Setting:
    """The actor's, or else the engine's own, which the actor's replaces where it is above 1."""
    actor = option(run, f"{ACTOR}.ulysses_sequence_parallel_size")
    if not actor.decided or (type(actor.value) is int and actor.value > 1):
        return actor
    for key in (f"{FSDP}.ulysses_sequence_parallel_size", f"{ACTOR}.veomni.ulysses_parallel_size"):
        own = option(run, key)
        if own.explicit or not own.decided:
            return own
    return actor


def _unify_shape(run: RunConfig, megatron: bool) -> None:
    """Parallel sizes: tp is the trainer's with Megatron, else the rollout's, since FSDP has none."""
    fields = run.fields
    gpus, nodes = option(run, "trainer.n_gpus_per_node"), option(run, "trainer.nnodes")
    if megatron:
        tp, pp, cp = (
            option(run, f"{MEGATRON}.{name}_parallel_size") for name in ("tensor_model", "pipeline_model", "context")
        )
        fields["tp"], fields["pp"] = tp, pp
        divisors = [tp, pp, cp]
    else:
        fields["tp"] = option(run, f"{ROLLOUT}.tensor_model_parallel_size")
        fields["pp"] = derived(1, option(run, f"{ACTOR}.strategy"), note="FSDP has no pipeline")
        sequence = sequence_parallel_size(run)
        fields["sequence_parallel"] = sequence
        divisors = [sequence]
    hidden = undecided(gpus, nodes, *divisors)
    if hidden is not None or gpus.unset or nodes.unset:
        fields["dp_size"] = hidden or UNSET
        return
    product = 1
    for divisor in divisors:
        product *= divisor.value if type(divisor.value) is int and divisor.value > 0 else 1
    if type(gpus.value) is int and type(nodes.value) is int and gpus.value * nodes.value % product == 0:
        note = "GPUs x nodes / model-parallel size"
        fields["dp_size"] = derived(gpus.value * nodes.value // product, gpus, nodes, *divisors, note=note)
