"""DeepSpeed's overlap_comm at ZeRO 1 and 2: one switch, of which three rules have something to say."""

from __future__ import annotations

from grpo_lint.diagnostics import NOTE, WARNING
from grpo_lint.rules.avoidance.zero import (
    DEEPSPEED_USERS,
    is_alone,
    named,
    partitions_gradients_in_buckets,
    release_of,
    stage,
    steps_on_cpu,
    steps_on_gpu,
)
from grpo_lint.rules.rule import Finding, Rule, rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.diagnostics import Fix
    from grpo_lint.runconfig import RunConfig
    from grpo_lint.unified import Setting


def _overlap_rule(run: RunConfig) -> str:
    """Which one of NOT15, DO10 and NOT03 speaks about `overlap_comm`: they are three views of one switch."""
    if run.overlap_comm.value is not True or not partitions_gradients_in_buckets(run):
        return ""
    # DeepCompile reduces gradients by operators of its own (compile/init_z1.py removes the optimizer's hooks)
    compiled = run.torch_compile.value is True and not run.torch_compile.key.endswith("deepcompile")
    if compiled and _copies_into_buckets(run) and run.before("deepspeed", "0.19.3") is not False:
        return "NOT15"
    if run.before("deepspeed", "0.19.0") is True:
        return "DO10"
    return "NOT03" if run.overlap_comm.explicit and is_alone(run) and steps_on_gpu(run) else ""


def _copies_into_buckets(run: RunConfig) -> bool:
    """`contiguous_gradients`, which offload switches on by itself (zero/stage_1_and_2.py, 0.19.8)."""
    contiguous = run.option("deepspeed", "zero_optimization.contiguous_gradients")
    return steps_on_cpu(run) or contiguous.unset or (contiguous.known and contiguous.value is not False)


def _switch_off(setting: Setting, safe: bool) -> Fix | None:
    from grpo_lint.fixing.values import switched_off

    return switched_off(setting, "set overlap_comm to false", safe)


@rule(
    "NOT03",
    "overlap-comm-single-rank",
    severity=NOTE,
    evidence="conditional",
    needs=("zero_stage", "overlap_comm"),
    topics=("zero", "performance"),
    frameworks=DEEPSPEED_USERS,
)
def overlap_comm_single_rank(run: RunConfig) -> Iterator[Finding]:
    """With one rank and no offload there is no communication that overlap_comm could overlap.

    ## What it does
    Notes an explicit `overlap_comm: true` at ZeRO stage 1 or 2 where ZeRO is known to have one rank and nothing is
    offloaded.

    ## Why it matters
    Nothing is sent, so nothing is hidden; the second gradient bucket and the extra stream cost memory all the same.
    It is no danger by itself: the NaN reports have other conditions, see NOT15 and DO10, which speak first.

    ## Example
    ```json
    {
      "zero_optimization": {"stage": 2, "overlap_comm": true},
      "train_batch_size": 4,
      "train_micro_batch_size_per_gpu": 4,
      "gradient_accumulation_steps": 1,
      "gradient_clipping": 1.0
    }
    ```

    ## Use instead
    ```json
    {"zero_optimization": {"stage": 2, "overlap_comm": false}, "gradient_clipping": 1.0}
    ```

    ## Fix
    Safe: writes false. One rank has nothing to reduce, so the gradients stay what they are.

    ## When it does not apply
    With optimizer offload, whose copies to the CPU overlap only with `overlap_comm: true`; on two ranks or more, and
    where the number isn't known (sequence-parallel ranks count); at stage 3, where it is the default.

    ## Sources
    Read in deepspeed 0.19.8 (runtime/zero/config.py `overlap_comm_valid`, zero/stage_1_and_2.py).
    deepspeedai/DeepSpeed#8061 needs several producer streams, not one rank. Key: `zero_optimization.overlap_comm`
    (default: true at stage 3, false below).
    """
    if _overlap_rule(run) != "NOT03":
        return
    yield Finding(
        f"{named(run.overlap_comm, 'zero_optimization.overlap_comm')}=true on one data-parallel rank overlaps nothing "
        "and keeps a second gradient bucket",
        run.overlap_comm,
        others=((run.dp_size, "one data-parallel rank"),),
        help="set overlap_comm to false",
        fix=_switch_off(run.overlap_comm, safe=True),
    )


@rule(
    "NOT15",
    "compile-with-overlap-comm",
    severity=WARNING,
    evidence="solid",
    needs=("zero_stage", "overlap_comm", "torch_compile"),
    topics=("zero", "nan", "cuda-streams"),
    frameworks=DEEPSPEED_USERS,
)
def compile_with_overlap_comm(run: RunConfig) -> Iterator[Finding]:
    """A compiled model with overlap_comm reduces gradients before they are written, in DeepSpeed before 0.19.3.

    ## What it does
    Warns of ZeRO stage 1 or 2 with `overlap_comm: true`, contiguous gradients (the default) and torch.compile, with
    DeepSpeed before 0.19.3 or of an unknown release.

    ## Why it matters
    Gradients are copied into one bucket from the streams that the compiled backward pass runs on. Before 0.19.3 the
    reduction waits for one of them, reads a half-filled bucket, and the loss is NaN from the first steps on. In the
    report, switching either off removes it.

    ## Example
    `zero2.json`:

    ```json
    {"zero_optimization": {"stage": 2, "overlap_comm": true}, "gradient_clipping": "auto"}
    ```

    and a config of accelerate's that names it:

    ```yaml
    compute_environment: LOCAL_MACHINE
    distributed_type: DEEPSPEED
    deepspeed_config:
      deepspeed_config_file: zero2.json
    dynamo_config:
      dynamo_backend: INDUCTOR
    num_processes: 8
    ```

    ## Use instead
    DeepSpeed 0.19.3 or later, or `"overlap_comm": false`.

    ## Fix
    Unsafe: writes false, which costs the overlap; a newer DeepSpeed keeps it.

    ## When it does not apply
    From DeepSpeed 0.19.3 on; at stages 0 and 3; with `contiguous_gradients: false` and no optimizer offload; with
    DeepCompile, which reduces gradients by itself; with bf16 and float32 accumulation at stage 1 (BF16_Optimizer).
    verl's `use_torch_compile` is no case of it: verl has no DeepSpeed engine. A model that code compiles is not seen.

    ## Sources
    Read in deepspeed 0.19.8, 0.19.3 and 0.19.2 (runtime/zero/stage_1_and_2.py `average_tensor`, `IPGBucket`).
    deepspeedai/DeepSpeed#8061, fixed by #8080. Keys: `zero_optimization.overlap_comm` (default false at stages 1, 2),
    `.contiguous_gradients` (true); `torch_compile` of TrainingArguments (false); accelerate
    `dynamo_config.dynamo_backend` (no).
    """
    if _overlap_rule(run) != "NOT15":
        return
    release = release_of(run, "deepspeed", "DeepSpeed before 0.19.3")
    yield Finding(
        f"{named(run.overlap_comm, 'zero_optimization.overlap_comm')}=true with torch.compile can turn the loss NaN in "
        f"{release}: the reduction does not wait for every stream that fills the bucket (DeepSpeed #8061)",
        run.overlap_comm,
        others=((run.torch_compile, "the model is compiled"), (run.zero_stage, f"ZeRO stage {stage(run)}")),
        help="use DeepSpeed 0.19.3 or later, or set overlap_comm to false",
        fix=_switch_off(run.overlap_comm, safe=False),
    )


@rule(
    "DO10",
    "record-stream",
    severity=WARNING,
    evidence="conditional",
    needs=("zero_stage", "overlap_comm"),
    topics=("zero", "nan", "cuda-streams"),
    frameworks=DEEPSPEED_USERS,
)
def record_stream(run: RunConfig) -> Iterator[Finding]:
    """Before DeepSpeed 0.19.0, overlap_comm at ZeRO 1 and 2 reuses buffers that the reduction still reads.

    ## What it does
    Warns of ZeRO stage 1 or 2 with `overlap_comm: true` where DeepSpeed is known to be older than 0.19.0.

    ## Why it matters
    Reduced buffers were used on the reduction stream without `record_stream`, so that the allocator could hand them
    out again before the queued copies had run. The fix's own example has a NaN loss at the third step of stage 2.
    `record_stream` is a call inside DeepSpeed, not a setting: the release decides.

    ## Example
    ```json
    {"zero_optimization": {"stage": 2, "overlap_comm": true}, "gradient_clipping": 1.0}
    ```
    with `deepspeed==0.18.9` in the requirements.

    ## Use instead
    DeepSpeed 0.19.0 or later (0.19.3 with torch.compile), or `"overlap_comm": false`.

    ## Fix
    Unsafe: writes false, which costs the overlap; a newer DeepSpeed keeps it.

    ## When it does not apply
    From 0.19.0 on, or with an unknown release; at stages 0 and 3. `TORCH_NCCL_AVOID_RECORD_STREAMS` is about torch's
    own collectives and plays no part. With torch.compile, NOT15 speaks instead.

    ## Sources
    Read in deepspeed 0.19.0 and 0.18.9 (runtime/zero/stage_1_and_2.py `allreduce_and_copy`,
    `allreduce_and_copy_with_multiple_ranks`). deepspeedai/DeepSpeed#7965. Key: `zero_optimization.overlap_comm`
    (default false at stages 1 and 2).
    """
    if _overlap_rule(run) != "DO10":
        return
    release = release_of(run, "deepspeed", "DeepSpeed before 0.19.0")
    yield Finding(
        f"{named(run.overlap_comm, 'zero_optimization.overlap_comm')}=true at ZeRO stage {stage(run)} with {release} "
        "frees buffers that the reduction still reads, and gradients can turn NaN (DeepSpeed #7965)",
        run.overlap_comm,
        others=((run.zero_stage, f"ZeRO stage {stage(run)}"),),
        help="use DeepSpeed 0.19.0 or later, or set overlap_comm to false",
        fix=_switch_off(run.overlap_comm, safe=False),
    )


RULES: tuple[Rule, ...] = (overlap_comm_single_rank, compile_with_overlap_comm, record_stream)
