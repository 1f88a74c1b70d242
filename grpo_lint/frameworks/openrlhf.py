"""OpenRLHF: `python -m openrlhf.cli.train_ppo_ray` and its siblings.

Read: 0.6.4 to 0.11.2 (cli/train_ppo_ray.py, utils/deepspeed/). Flags are flat up to 0.9 (`--zero_stage`) and dotted
from 0.10 on (`--ds.zero_stage`); a line has the one or the other, and says by it which releases it is for.
"""

from __future__ import annotations

from grpo_lint.frameworks import flags
from grpo_lint.frameworks.shape import copy, experts, given, quotient
from grpo_lint.patterns import lazy
from grpo_lint.unified import UNSET, Origin, Setting, derived, undecided

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.discover import Repository
    from grpo_lint.launch import Launch
    from grpo_lint.located import Problem
    from grpo_lint.runconfig import RunConfig

NAME = "openrlhf"

DIALECT = flags.Dialect(NAME, (("openrlhf", ""),), abbreviates=True)

_ENTRY = lazy(r"(?:^|[./])openrlhf[./]cli[./](train_\w+?)(?:\.py)?$")
RAY = ("train_ppo_ray",)

FLAT = {
    # dotted since 0.10: the same up to 0.9
    "--ds.zero_stage": "--zero_stage",
    "--actor.max_norm": "--max_norm",
    "--ds.lora.rank": "--lora_rank",
    "--rollout.n_samples_per_prompt": "--n_samples_per_prompt",
    "--algo.advantage.estimator": "--advantage_estimator",
    "--vllm.enforce_eager": "--enforce_eager",
    "--vllm.num_engines": "--vllm_num_engines",
    "--vllm.tensor_parallel_size": "--vllm_tensor_parallel_size",
    "--vllm.enable_sleep": "--vllm_enable_sleep",
    "--vllm.sync_backend": "--vllm_sync_backend",
    "--train.colocate_all": "--colocate_all_models",
    "--train.async_enable": "--async_train",
    "--actor.num_gpus_per_node": "--actor_num_gpus_per_node",
    "--actor.num_nodes": "--actor_num_nodes",
    "--actor.model_name_or_path": "--pretrain",
    "--ds.ring_attn_size": "--ring_attn_size",
    "--ds.tensor_parallel_size": "--ds_tensor_parallel_size",
    "--ds.adam_offload": "--adam_offload",
    "--ds.overlap_comm": "--overlap_comm",
    "--ds.deepcompile": "--deepcompile",
    "--ds.param_dtype": "--param_dtype",
    "--actor.optim": "",
    "--ref.num_nodes": "--ref_num_nodes",
    "--ref.num_gpus_per_node": "--ref_num_gpus_per_node",
    "--critic.num_nodes": "--critic_num_nodes",
    "--critic.num_gpus_per_node": "--critic_num_gpus_per_node",
    "--reward.num_nodes": "--reward_num_nodes",
    "--reward.num_gpus_per_node": "--reward_num_gpus_per_node",
    "--reward.remote_url": "--remote_rm_url",
    "--train.colocate_actor_ref": "--colocate_actor_ref",
    "--train.colocate_critic_reward": "--colocate_critic_reward",
    "--train.agent_func_path": "--agent_func_path",
    "--ds.packing_samples": "--packing_samples",
    "--rollout.batch_size": "--rollout_batch_size",
    "--rollout.micro_batch_size": "--micro_rollout_batch_size",
    "--algo.kl.init_coef": "--init_kl_coef",
    "--algo.kl.use_loss": "--use_kl_loss",
    "--algo.kl.estimator": "--kl_estimator",
    "--algo.dynamic_filtering_enable": "--dynamic_filtering",
    "--algo.dynamic_filtering_range": "--dynamic_filtering_reward_range",
    "--eval.dataset": "--eval_dataset",
}


def recognises(launch: Launch) -> bool:
    """Whether a launch runs one of OpenRLHF's trainers."""
    return _ENTRY.search(launch.program) is not None


def read(launch: Launch, path: str, run: RunConfig, repository: Repository) -> list[Problem]:
    """Read a launch's arguments into `run`, over the defaults of the PPO trainer."""
    entry = _ENTRY.search(launch.program)
    run.engine = entry[1] if entry else ""
    if run.engine in RAY:
        flags.use_defaults(run, DIALECT, {})
    flags.put(flags.parse(launch.args, DIALECT), run, DIALECT)
    return []


def spelled(run: RunConfig, name: str) -> str:
    """How a line spells an option: flat where none of its names is dotted, and the option has a flat name."""
    dotted = any("." in key for key in run.options.keys(NAME))
    return name if dotted else FLAT.get(name) or name


def option(run: RunConfig, name: str) -> Setting:
    """An option under its dotted name: as given in either spelling, else the default, which is the same for both."""
    found = given(run, *(spelled for spelled in (name, FLAT[name]) if spelled))
    return found if not found.unset else run.option(NAME, name)


def unify(run: RunConfig) -> None:
    """Fill the unified fields from OpenRLHF's options."""
    fields = run.fields
    for field, name in (
        ("zero_stage", "--ds.zero_stage"),
        ("gradient_clipping", "--actor.max_norm"),
        ("lora_rank", "--ds.lora.rank"),
        ("model_path", "--actor.model_name_or_path"),
    ):
        setting = option(run, name)
        if not setting.unset and setting.value is not None:
            fields[field] = setting
    fields["overlap_comm"] = _overlap_comm(run)
    offload = option(run, "--ds.adam_offload")
    fields["offload_optimizer"] = offload.map(lambda on: "cpu" if on is True else "none")
    fields["optimizer"] = _optimizer(run, offload)
    _unify_precision(run)
    copy(run, {"torch_compile": "--ds.deepcompile"}, option)
    experts(run, fields.get("model_path", UNSET))
    if run.engine in RAY:
        _unify_online(run)


def _overlap_comm(run: RunConfig) -> Setting:
    """The key is in the DeepSpeed config only where the switch is given; DeepSpeed's own default then is by stage."""
    switch, stage = given(run, "--ds.overlap_comm", "--overlap_comm"), run.fields.get("zero_stage", UNSET)
    if switch.explicit or not stage.known:
        return switch
    return derived(stage.value == 3, stage, note="default of deepspeed for the stage")


def _optimizer(run: RunConfig, offload: Setting) -> Setting:
    """Adam, which is DeepSpeed's CPU Adam where its state is offloaded, or Muon."""
    name = option(run, "--actor.optim")
    if offload.value is True and name.value in (None, "adam"):
        return derived("cpu_adam", offload, note="optimizer state is offloaded")
    return name


def _unify_precision(run: RunConfig) -> None:
    """`param_dtype` from 0.9 on, `--bf16` before."""
    kind, switch = given(run, "--ds.param_dtype", "--param_dtype"), given(run, "--bf16")
    if kind.known:
        run.fields["model_dtype"] = kind
    elif switch.known:
        run.fields["model_dtype"] = switch.map(lambda on: "bf16" if on is True else "fp32")
    elif any(key.count(".") for _, key, _ in run.options.written(NAME)):
        run.fields["model_dtype"] = run.option(NAME, "--ds.param_dtype")


def _unify_online(run: RunConfig) -> None:
    """Groups, the estimator, the rollout engines and the actor's GPUs."""
    fields = run.fields
    estimator = option(run, "--algo.advantage.estimator")
    fields["algorithm"] = estimator
    fields["group_size"] = option(run, "--rollout.n_samples_per_prompt")
    if estimator.known:
        fields["use_critic"] = derived(estimator.value == "gae", estimator, note="gae alone trains a critic")
    engines = option(run, "--vllm.num_engines")
    if engines.known and type(engines.value) is int:
        fields["rollout_engine"] = engines.map(lambda count: "vllm" if count > 0 else "transformers")
    fields["enforce_eager"] = option(run, "--vllm.enforce_eager")
    copy(run, {"rollout_tp": "--vllm.tensor_parallel_size"}, option)
    fields["n_gpus"] = option(run, "--actor.num_gpus_per_node")
    fields["nnodes"] = option(run, "--actor.num_nodes")
    sizes = (option(run, "--ds.ring_attn_size"), option(run, "--ds.tensor_parallel_size"))
    fields["sequence_parallel"], fields["tp"] = sizes
    fields["pp"] = _one(run)
    fields["dp_size"] = quotient((fields["n_gpus"], fields["nnodes"]), sizes, "the actor's GPUs / model-parallel size")
    colocated = option(run, "--train.colocate_all")
    asleep = option(run, "--vllm.enable_sleep")
    if undecided(colocated, asleep) is None:
        level = 1 if colocated.value is True and asleep.value is True else 0
        fields["sleep_level"] = derived(level, asleep, colocated, note="its colocated engines sleep at level 1")
    fields["async_rollout"] = colocated.map(lambda on: on is not True)
    backend = option(run, "--vllm.sync_backend")
    if colocated.value is not True and backend.known and backend.explicit:
        fields["checkpoint_mode"] = backend


def _one(run: RunConfig) -> Setting:
    return Setting("known", 1, (Origin("derived", None, (), "DeepSpeed runs without a pipeline here", "", 1),))
