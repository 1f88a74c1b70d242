"""DeepSpeed ZeRO: the stage, and the optimizer of offloaded state."""

from __future__ import annotations

from grpo_lint.diagnostics import ERROR, NOTE, WARNING
from grpo_lint.rules.rule import Finding, Rule, rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.diagnostics import Fix
    from grpo_lint.runconfig import RunConfig
    from grpo_lint.unified import Setting

NAMES = {"deepspeed": "DeepSpeed", "torch": "PyTorch", "verl": "verl"}
DEEPSPEED_USERS = (
    "deepspeed", "accelerate", "openrlhf", "transformers", "trl", "ms_swift", "llama_factory", "axolotl",
)  # fmt: skip
"""The frameworks whose options may set DeepSpeed up, under names of their own."""

ON_CPU = frozenset(("adam", "adamw", "adagrad", "lion", "muon"))
"""Optimizer types that DeepSpeed builds itself and that step on the CPU (0.16.9 to 0.19.8; muon: see DO01)."""

ADAMW_PARAMETERS = frozenset(("lr", "betas", "eps", "weight_decay", "bias_correction", "amsgrad", "torch_adam"))
"""What DeepSpeedCPUAdam takes, or DeepSpeed takes out before (0.16.9 to 0.19.8, ops/adam/cpu_adam.py, engine.py)."""


def steps_on_cpu(run: RunConfig) -> bool:
    """Whether the optimizer state is known to be offloaded."""
    return run.offload_optimizer.known and run.offload_optimizer.value in ("cpu", "nvme")


def steps_on_gpu(run: RunConfig) -> bool:
    """Whether the optimizer state is known not to be offloaded."""
    return is_off(run.offload_optimizer)


def is_off(device: Setting) -> bool:
    """Whether an offload device is known to be none."""
    return device.unset or (device.known and device.value in (None, "none"))


def stage(run: RunConfig) -> int:
    """The ZeRO stage; -1 where the run isn't known to have one."""
    value = run.zero_stage.value if run.zero_stage.known else None
    return value if type(value) is int else -1


def partitions_gradients_in_buckets(run: RunConfig) -> bool:
    """Whether gradients go through the buckets of DeepSpeed's stage 1 and 2 optimizer.

    bf16 with float32 accumulation at stage 1 and no offload gets the BF16_Optimizer instead, which has no buckets.
    """
    return stage(run) == 2 or (stage(run) == 1 and not has_bf16_optimizer(run))


def has_bf16_optimizer(run: RunConfig) -> bool:
    """Whether DeepSpeed may pick its BF16_Optimizer (engine._do_optimizer_sanity_check, 0.16.9 to 0.19.8)."""
    accumulation = run.option("deepspeed", "data_types.grad_accum_dtype")
    same = accumulation.unset or (
        accumulation.known and accumulation.value not in ("fp32", "float32", "float", "torch.float32")
    )
    return stage(run) == 1 and not same and not steps_on_cpu(run) and run.bf16.value is not False


def _size_is_one(setting: Setting) -> bool:
    return setting.unset or (setting.known and setting.value in (None, 1))


def is_alone(run: RunConfig) -> bool:
    """Whether ZeRO is known to have one rank. It partitions over sequence-parallel ranks, too."""
    sizes = (
        run.sequence_parallel,
        run.option("deepspeed", "sequence_parallel_size"),
        run.option("accelerate", "parallelism_config.parallelism_config_sp_size"),
        run.option("accelerate", "parallelism_config.parallelism_config_cp_size"),
    )
    return run.dp_size.known and run.dp_size.value == 1 and all(_size_is_one(size) for size in sizes)


def release_of(run: RunConfig, framework: str, otherwise: str) -> str:
    """What to call the release in a message: "DeepSpeed 0.19.2" where it is told, else `otherwise`."""
    known = run.versions.get(framework)
    return f"{NAMES[framework]} {known.text}" if known is not None else otherwise


def named(setting: Setting, fallback: str) -> str:
    """The key that a setting was read from, as its framework spells it."""
    return setting.key or fallback


@rule(
    "DO01",
    "zero2-cpu-adam",
    severity=ERROR,
    evidence="conditional",
    needs=("zero_stage", "offload_optimizer"),
    topics=("zero", "memory"),
    twin="NOT01",
    frameworks=("deepspeed",),
)
def zero2_cpu_adam(run: RunConfig) -> Iterator[Finding]:
    """Optimizer state that is offloaded to the CPU needs an optimizer that steps there.

    ## What it does
    Looks at DeepSpeed configs with `zero_optimization.offload_optimizer.device` cpu or nvme, and at the optimizer that
    they ask for: one that DeepSpeed refuses under ZeRO or that runs on CUDA tensors alone (error), `torch_adam: true`
    (warning), and Muon at stage 1 or 2 before 0.19.8 (warning).

    ## Why it matters
    Adam, AdamW, Adagrad and Lion have CPU versions, and DeepSpeed picks them by itself: `type: AdamW` with offload is
    DeepSpeedCPUAdam. Every other type is an untested optimizer, which stops the run with an assertion as soon as the
    engine is built. `FusedLamb` checks that its tensors are on CUDA, so LAMB fails at the first step even when it is
    allowed. `torch_adam: true` replaces DeepSpeedCPUAdam by torch's own Adam, which DeepSpeed refuses from client code
    because it "in most cases will yield poor performance". Before 0.19.8 the offload path of stages 1 and 2 never
    orthogonalises Muon's update: it is plain SGD, and nothing says so.

    ## Example
    ```json
    {
      "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}},
      "optimizer": {"type": "Lamb"},
      "gradient_clipping": 1.0
    }
    ```

    ## Use instead
    ```json
    {
      "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}},
      "optimizer": {"type": "AdamW"},
      "gradient_clipping": 1.0
    }
    ```

    ## Fix
    Unsafe: writes AdamW, if it takes the parameters that are there, or switches `torch_adam` off. Another optimizer
    trains otherwise.

    ## When it does not apply
    Without offload, at stage 0, and where the config names no optimizer: the trainer brings its own then. accelerate
    replaces it by DeepSpeedCPUAdam, and plain DeepSpeed raises unless `zero_force_ds_cpu_optimizer` is false. Other
    types with `zero_allow_untested_optimizer: true` are the author's choice. No stage is preferred here.

    ## Sources
    Run on a CPU: 0.19.2 and 0.19.8 stop at SGD with offload; offloaded Muon at stages 1 and 2 steps by exactly the
    gradient times lr in 0.19.2, and by the orthogonalised update in 0.19.8. Read in deepspeed 0.19.8, 0.19.7, 0.19.2,
    0.18.9, 0.17.6, 0.16.9 (runtime/engine.py `_configure_basic_optimizer` and `_configure_optimizer`,
    runtime/zero/utils.py `ZERO_SUPPORTED_OPTIMIZERS`, zero/stage_1_and_2.py, csrc/lamb/fused_lamb_cuda.cpp),
    accelerate 1.15.0 (accelerator.py, utils/deepspeed.py). deepspeedai/DeepSpeed#8463 (Muon under offload). Keys:
    `zero_optimization.offload_optimizer.device` (default none), `optimizer.type`, `optimizer.params.torch_adam`
    (false), `zero_allow_untested_optimizer` (false); accelerate `deepspeed_config.offload_optimizer_device`.
    """
    type_ = run.option("deepspeed", "optimizer.type")
    if stage(run) < 1 or not steps_on_cpu(run) or not isinstance(type_.value, str) or type_.value == "auto":
        return
    offload = (run.offload_optimizer, f"optimizer state is offloaded to {run.offload_optimizer.value}")
    name = type_.value.lower()
    if name not in ON_CPU:
        yield from _refused(run, type_, offload)
    elif name == "muon":
        yield from _muon_offloaded(run, type_, offload)
    elif name in ("adam", "adamw"):
        own = run.option("deepspeed", "optimizer.params.torch_adam")
        if own.known and own.value is True:
            from grpo_lint.fixing.values import switched_off

            yield Finding(
                "optimizer.params.torch_adam=true with offloaded optimizer state steps with torch's Adam on the CPU, "
                "far slower than DeepSpeedCPUAdam",
                own,
                others=(offload,),
                help="remove torch_adam, and DeepSpeed builds DeepSpeedCPUAdam",
                fix=switched_off(own, "set torch_adam to false", safe=False),
                severity=WARNING,
            )


def _refused(run: RunConfig, type_: Setting, offload: tuple[Setting, str]) -> Iterator[Finding]:
    allowed = run.option("deepspeed", "zero_allow_untested_optimizer")
    if (allowed.unset and run.complete) or (allowed.known and allowed.value in (False, None)):
        yield Finding(
            f'optimizer.type="{type_.value}" has no CPU version for offloaded state, and DeepSpeed refuses it '
            "under ZeRO as an untested optimizer",
            type_,
            others=(offload,),
            help="use AdamW, for which DeepSpeed builds DeepSpeedCPUAdam, or turn the offload off",
            fix=_adamw(run, type_),
        )
    elif type_.value.lower() == "lamb":
        yield Finding(
            f'optimizer.type="{type_.value}" runs on CUDA tensors alone, so its first step fails on offloaded state',
            type_,
            others=(offload,),
            help="use AdamW, for which DeepSpeed builds DeepSpeedCPUAdam, or turn the offload off",
            fix=_adamw(run, type_),
        )


def _adamw(run: RunConfig, type_: Setting) -> Fix | None:
    """AdamW instead, where it takes the parameters that are given."""
    from grpo_lint.fixing.values import set_to

    given = {name for name, _ in run.options.below("deepspeed", "optimizer.params")}
    return set_to(type_, "AdamW", "use AdamW", safe=False) if given <= ADAMW_PARAMETERS else None


def _muon_offloaded(run: RunConfig, type_: Setting, offload: tuple[Setting, str]) -> Iterator[Finding]:
    if stage(run) in (1, 2) and run.before("deepspeed", "0.19.8") is not False:
        yield Finding(
            f'optimizer.type="{type_.value}" with offloaded optimizer state is plain SGD in DeepSpeed before 0.19.8: '
            f"stage {stage(run)} never orthogonalises the update there (DeepSpeed #8463)",
            type_,
            others=(offload,),
            help="use DeepSpeed 0.19.8 or later, or keep Muon's state on the GPU",
            severity=WARNING,
        )


@rule(
    "NOT01",
    "zero3-single-rank",
    severity=NOTE,
    evidence="conditional",
    needs=("zero_stage",),
    topics=("zero", "memory", "nan"),
    twin="DO01",
    frameworks=DEEPSPEED_USERS,
)
def zero3_single_rank(run: RunConfig) -> Iterator[Finding]:
    """ZeRO stage 3 on a single rank partitions nothing, and old releases corrupt its gradients on new PyTorch.

    ## What it does
    Notes stage 3 where ZeRO is known to have one rank and nothing that needs stage 3 is used. Warns of stage 3 with
    bf16 and overlapped communication on PyTorch 2.10 or later with DeepSpeed before 0.18.8.

    ## Why it matters
    With one rank there is nothing to share out: stage 3 keeps the gather hooks and their cost and saves no memory
    unless parameters are offloaded. The second case is a race: before 0.18.8 the reduction waits for the default
    stream, while autograd in PyTorch 2.10 and later writes gradients on the streams of the forward pass. Weights turn
    NaN on some ranks, at random.

    ## Example
    ```json
    {
      "zero_optimization": {"stage": 3},
      "train_batch_size": 8,
      "train_micro_batch_size_per_gpu": 4,
      "gradient_accumulation_steps": 2,
      "gradient_clipping": 1.0
    }
    ```

    ## Use instead
    Stage 0 to 2, with `offload_optimizer` if memory is short; or stage 3 with `offload_param`. For the race: DeepSpeed
    0.18.8 or later.

    ## When it does not apply
    On two ranks or more, and where the number isn't known; sequence-parallel ranks count. With parameter offload
    (ZeRO-3 offload trains a 40B model on one 32 GB GPU), optimizer offload to NVMe, partial offload (`ratio` below 1)
    or SuperOffload, which stage 3 alone has.

    ## Sources
    Read in deepspeed 0.19.8, 0.18.8 and 0.18.7 (runtime/zero/config.py, zero/stage3.py `__add_grad_to_ipg_bucket`,
    zero/parameter_offload.py). deepspeedai/DeepSpeed#7898 (fixed in 0.18.8); DeepSpeed's post "ZeRO-3 Offload" of
    2021-03-08. DeepSpeed #8061, often named here, is about stages 1 and 2 alone. Keys: `zero_optimization.stage`
    (default 0), `.offload_param.device` (none); accelerate `deepspeed_config.zero_stage` (2),
    `.offload_param_device`.
    """
    if stage(run) != 3:
        return
    key = named(run.zero_stage, "zero_optimization.stage")
    racing = run.before("deepspeed", "0.18.8") is True and run.before("torch", "2.10") is False
    if racing and run.bf16.known and run.bf16.value is True and run.overlap_comm.value is not False:
        torch = release_of(run, "torch", "PyTorch from 2.10 on")
        yield Finding(
            f"{key}=3 with bf16 on {torch} and {release_of(run, 'deepspeed', 'DeepSpeed before 0.18.8')} can turn "
            "weights NaN: gradients are reduced before they are written (DeepSpeed #7898)",
            run.zero_stage,
            others=((run.bf16, "bf16 training"),),
            help="use DeepSpeed 0.18.8 or later",
            severity=WARNING,
        )
    if is_alone(run) and not _needs_stage_3(run):
        yield Finding(
            f"{key}=3 on one data-parallel rank partitions nothing: without offload_param it saves no memory",
            run.zero_stage,
            others=((run.dp_size, "one data-parallel rank"),),
            help="use stage 0 to 2, with offload_optimizer if memory is short, or offload the parameters",
        )


def _needs_stage_3(run: RunConfig) -> bool:
    """Whether something is in use, or may be, that stage 3 alone has."""
    section = "zero_optimization.offload_optimizer"
    if not is_off(run.offload_param):
        return True
    if not run.offload_optimizer.decided or run.offload_optimizer.value == "nvme":
        return True
    return any(run.option("deepspeed", f"{section}.{key}").explicit for key in ("ratio", "super_offload"))


RULES: tuple[Rule, ...] = (zero2_cpu_adam, zero3_single_rank)
