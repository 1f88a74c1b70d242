"""Strict forms about DeepSpeed ZeRO, the optimizer and the number format."""

from __future__ import annotations

from grpo_lint.rules.verdict import Form, Verdict, fails, form, hidden, inapplicable, lacking, number, passes, untold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.runconfig import RunConfig
    from grpo_lint.unified import Setting

CPU_ADAM = ("cpu_adam", "cpuadam", "deepspeedcpuadam")
MEGATRON = ("megatron", "slime")


def is_muon(optimizer: Setting) -> bool:
    return optimizer.known and "muon" in str(optimizer.value).lower()


def is_cpu_adam(run: RunConfig) -> bool:
    """Whether the optimizer is CPU Adam by its name, or Adam with its state offloaded."""
    name = str(run.optimizer.value).lower()
    return name in CPU_ADAM or (name in ("adam", "adamw") and run.offload_optimizer.value in ("cpu", "nvme"))


@form("DO01", "zero_stage", "optimizer", "offload_optimizer")
def zero2_cpu_adam(run: RunConfig) -> Verdict:
    """Stated: ZeRO-2 with CPU Adam, since ZeRO-3 on one data-parallel rank is pure overhead.

    Fails when the stage is not 2, or the optimizer is neither CPU Adam nor Adam with its state offloaded. Stage 3 is
    reported as NOT01, Muon as NOT02.
    """
    stage, optimizer = run.zero_stage, run.optimizer
    undecided = hidden(("zero_stage", stage), ("optimizer", optimizer))
    if undecided is not None:
        return undecided
    demand = "asks for ZeRO-2 with CPU Adam"
    if stage.known and stage.value != 2:
        return fails(stage, "zero_stage", demand, "use ZeRO stage 2", "NOT01" if stage.value == 3 else "")
    if optimizer.known and optimizer.value is not None and not is_cpu_adam(run):
        help_ = "use AdamW with offload_optimizer on the CPU, for which DeepSpeed builds its CPU Adam"
        return fails(optimizer, "optimizer", demand, help_, "NOT02" if is_muon(optimizer) else "")
    if stage.unset or optimizer.unset:
        return untold("zero_stage" if stage.unset else "optimizer")
    return Verdict("pass", f"ZeRO-2 with {optimizer.value}", stage)


@form("NOT01", "zero_stage")
def zero3(run: RunConfig) -> Verdict:
    """Stated: no ZeRO-3, since it is pure overhead on one data-parallel rank.

    Fails at stage 3, with parameter offload or without.
    """
    stage = run.zero_stage
    undecided = hidden(("zero_stage", stage))
    if undecided is not None or stage.unset:
        return undecided or untold("zero_stage")
    if stage.value == 3:
        return fails(stage, "zero_stage", "forbids ZeRO-3", "use ZeRO stage 2 with CPU Adam")
    return passes(stage, "zero_stage")


@form("NOT02", "optimizer")
def muon(run: RunConfig) -> Verdict:
    """Stated: no Muon, since it does not care about scale, and clipping stalls it.

    Fails when the optimizer is Muon, with clipping or without.
    """
    optimizer = run.optimizer
    undecided = hidden(("optimizer", optimizer))
    if undecided is not None or optimizer.unset or optimizer.value is None:
        return undecided or untold("optimizer")
    if is_muon(optimizer):
        return fails(optimizer, "optimizer", "forbids Muon", "use AdamW, offloaded to the CPU")
    return passes(optimizer, "optimizer")


@form("NOT13", "optimizer", "gradient_clipping", "fsdp_mode")
def muon_clipped_globally(run: RunConfig) -> Verdict:
    """Stated: no clipping of Muon by Megatron's global norm.

    Fails for Muon on Megatron with a clip above 0; reported as NOT02.
    """
    optimizer, clip, mode = run.optimizer, run.gradient_clipping, run.fsdp_mode
    undecided = hidden(("optimizer", optimizer))
    if undecided is not None or optimizer.unset or optimizer.value is None:
        return undecided or untold("optimizer")
    if not is_muon(optimizer):
        return passes(optimizer, "optimizer")
    undecided = hidden(("gradient_clipping", clip), ("fsdp_mode", mode))
    if undecided is not None:
        return undecided
    size = number(clip)
    if size == 0:
        return passes(clip, "gradient_clipping")
    on_megatron = mode.value == "megatron" or run.framework in MEGATRON
    if not on_megatron and (mode.known or not run.zero_stage.unset):
        return inapplicable("Megatron does not clip here", mode if mode.known else run.zero_stage)
    if size is None or not on_megatron:
        return lacking("gradient_clipping" if size is None else "fsdp_mode", optimizer, "the optimizer is Muon")
    help_ = "use AdamW, or set the clip to 0"
    return fails(optimizer, "optimizer", "forbids Muon under a global clip", help_, "NOT02", ((clip, "the clip"),))


@form("NOT03", "overlap_comm", "dp_size")
def overlap_on_one_rank(run: RunConfig) -> Verdict:
    """Stated: no overlap_comm on one data-parallel rank, since it can give NaN and has no benefit.

    Fails when overlap_comm is true and the data-parallel size is 1. Reported as NOT15 where the model is compiled, and
    as NOT01 at stage 3, where it is the default.
    """
    overlap, size = run.overlap_comm, run.dp_size
    undecided = hidden(("overlap_comm", overlap))
    if undecided is not None or overlap.unset:
        return undecided or untold("overlap_comm")
    if overlap.value is not True:
        return passes(overlap, "overlap_comm")
    undecided = hidden(("dp_size", size))
    if undecided is not None or size.unset:
        return undecided or lacking("dp_size", overlap, "overlap_comm is true")
    if size.value != 1:
        return inapplicable(f"the data-parallel size is {size.value}", size)
    speaker = "NOT15" if run.torch_compile.value is True else "NOT01" if run.zero_stage.value == 3 else ""
    others = ((size, "one data-parallel rank"),)
    demand = "forbids overlap_comm on one data-parallel rank"
    return fails(overlap, "overlap_comm", demand, "set overlap_comm to false", speaker, others)


@form("NOT15", "overlap_comm", "torch_compile")
def compiled_with_overlap(run: RunConfig) -> Verdict:
    """Stated: no torch.compile together with overlap_comm, since it gives NaN.

    Fails when both are on, whatever the release of DeepSpeed.
    """
    overlap, compiled = run.overlap_comm, run.torch_compile
    for field, setting in (("overlap_comm", overlap), ("torch_compile", compiled)):
        if setting.known and setting.value is not True:
            return passes(setting, field)
    undecided = hidden(("overlap_comm", overlap), ("torch_compile", compiled))
    if undecided is not None:
        return undecided
    if overlap.unset and run.zero_stage.unset and run.framework != "unified":
        return inapplicable("DeepSpeed takes no part")
    if overlap.unset and compiled.unset:
        return untold("overlap_comm", "torch_compile")
    if overlap.unset or compiled.unset:
        missing, there = ("overlap_comm", compiled) if overlap.unset else ("torch_compile", overlap)
        return lacking(missing, there, f"{there.key or 'the other'} is on")
    others = ((compiled, "the model is compiled"),)
    demand = "forbids overlap_comm with torch.compile"
    return fails(overlap, "overlap_comm", demand, "set overlap_comm to false", "", others)


@form("DO10", "record_stream")
def record_stream(run: RunConfig) -> Verdict:
    """Stated: record_stream, for the safety of asynchronous CUDA streams.

    No framework has such a key. Fails when the unified config says `"record_stream": false`, or the launch sets
    `TORCH_NCCL_AVOID_RECORD_STREAMS` to true.
    """
    setting, variable = run.record_stream, run.environment("TORCH_NCCL_AVOID_RECORD_STREAMS")
    undecided = hidden(("record_stream", setting), ("TORCH_NCCL_AVOID_RECORD_STREAMS", variable))
    if undecided is not None:
        return undecided
    demand = "asks for record_stream"
    if setting.known and setting.value is False:
        return fails(setting, "record_stream", demand, "set record_stream to true")
    if variable.known and str(variable.value).lower() in ("1", "y", "yes", "t", "true"):
        return fails(variable, "TORCH_NCCL_AVOID_RECORD_STREAMS", demand, "remove TORCH_NCCL_AVOID_RECORD_STREAMS")
    return passes(setting, "record_stream") if setting.known else untold("record_stream")


@form("NOT17", "bf16", "fp16", "model_dtype")
def both_formats(run: RunConfig) -> Verdict:
    """Stated: bf16 alone, never bf16 and fp16 together.

    Fails when both are on, as the sound form does.
    """
    bf16, fp16 = run.bf16, run.fp16
    for field, setting in (("fp16", fp16), ("bf16", bf16)):
        if setting.known and setting.value is not True:
            return passes(setting, field)
    undecided = hidden(("bf16", bf16), ("fp16", fp16))
    if undecided is not None:
        return undecided
    if bf16.unset or fp16.unset:
        return untold("bf16" if bf16.unset else "fp16")
    others = ((bf16, "bf16 is switched on here"),)
    return fails(fp16, "fp16", "forbids bf16 and fp16 together", "set fp16 to false", "", others)


FORMS: tuple[Form, ...] = (
    zero2_cpu_adam,
    zero3,
    muon,
    muon_clipped_globally,
    overlap_on_one_rank,
    compiled_with_overlap,
    record_stream,
    both_formats,
)
