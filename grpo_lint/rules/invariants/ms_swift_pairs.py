"""INV712 to INV719: ms-swift's engine, its processes, and arguments of which one needs or forbids another."""

from __future__ import annotations

from grpo_lint.diagnostics import WARNING
from grpo_lint.rules.invariants.launchers import VISIBLE, visible_gpus
from grpo_lint.rules.invariants.ms_swift import LAUNCH
from grpo_lint.rules.invariants.relation import (
    Operands,
    divisors,
    environment,
    given,
    listed,
    number,
    processes,
    relation,
    relations,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Finding, Rule
    from grpo_lint.runconfig import RunConfig

SIZES = "--per_device_train_batch_size 1 --gradient_accumulation_steps 1 --num_generations 8"
PACKAGE = "ms-swift"
MOST = 0.8
"""The share of a GPU from which on an engine that never sleeps leaves too little for training."""
ARGUMENTS = "ms-swift 4.0.0 to 4.6.0 `arguments/rlhf_args.py`"
COLOCATED = "--use_vllm true --vllm_mode colocate --sleep_level 1"


def rlhf(run: RunConfig) -> bool:
    """Whether `swift rlhf` is started, on Hugging Face's trainer."""
    return run.engine == "swift rlhf" and bool(run.command)


def trains(run: RunConfig) -> bool:
    """Whether `swift` itself starts a trainer that is Hugging Face's, with no launcher before it."""
    started = run.command[0].text.rsplit("/", 1)[-1] if run.command else ""
    return run.engine in ("swift rlhf", "swift sft", "swift pt") and started == "swift"


@relation(
    "INV712", "engine-and-its-mode", "ms_swift",
    vllm=given("--use_vllm"), mode=given("--vllm_mode"), kind=given("--rlhf_type"), host=given("--vllm_server_host"),
    url=given("--vllm_server_base_url"), later=given("--async_generate"),
    when=rlhf, since="4.0.0", package=PACKAGE,
    mentions=("vllm", "async_generate"),
    topics=("rollout",),
    bad=f"{LAUNCH} {SIZES} --use_vllm true",
    good=f"{LAUNCH} {SIZES} {COLOCATED}",
    target="ms-swift=4.6.0",
    unless="Before 4.0.0 the mode had a default.",
    source=f"{ARGUMENTS}: `_init_rollout`.",
)  # fmt: skip
def engine_mode(o: Operands) -> Iterator[Finding]:
    """vLLM runs beside the trainer or on a server, and ms-swift wants to be told which, and where the server is."""
    if o.kind not in ("grpo", "gkd") or not o.run.complete:
        return
    if o.vllm is True and o.mode is None:
        yield o.fault(
            "vllm",
            "--use_vllm without --vllm_mode, which ms-swift refuses",
            help="add --vllm_mode colocate, or server",
        )
    elif o.mode is not None and o.vllm is not True:
        yield o.fault(
            "mode", f"{o('mode')} without --use_vllm true, which ms-swift refuses", help="add --use_vllm true"
        )
    elif o.mode == "server" and o.host is None and o.url is None:
        yield o.fault(
            "mode",
            "--vllm_mode server without --vllm_server_host or --vllm_server_base_url, which ms-swift asserts",
            help="name the server that swift rollout has started",
        )
    elif o.later is True and o.mode != "server":
        yield o.fault("later", "--async_generate without --vllm_mode server, which ms-swift asserts", "mode")


@relation(
    "INV713", "several-gpus-for-one-process-of-swift", "ms_swift",
    devices=environment("CUDA_VISIBLE_DEVICES"), count=environment("NPROC_PER_NODE"),
    single=environment("SWIFT_SINGLE_DEVICE_MODE"), vllm=given("--use_vllm"), kind=given("--rlhf_type"),
    zero=given("--deepspeed"),
    when=trains,
    mentions=VISIBLE,
    topics=("parallel",),
    bad="$ CUDA_VISIBLE_DEVICES=0,1,2,3 swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-7B-Instruct"
    f" --dataset data.jsonl {SIZES} {COLOCATED}",
    good="$ CUDA_VISIBLE_DEVICES=0,1,2,3 NPROC_PER_NODE=4 swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-7B-Instruct"
    f" --dataset data.jsonl {SIZES.replace('8', '4')} {COLOCATED}",
    unless="Judged where CUDA_VISIBLE_DEVICES says how many GPUs there are.",
    source="ms-swift 3.3.0 to 4.6.0 `utils/env.py`: `is_mp`; 3.9.3 to 4.6.0 `rlhf_args.py`: \"GRPO with vLLM is not "
    'compatible with `device_map`"; 3.3.0 to 4.6.0: "DeepSpeed is not compatible with `device_map`".',
)  # fmt: skip
def model_parallel(o: Operands) -> Iterator[Finding]:
    """ms-swift spreads the model over the GPUs that a process has, and neither vLLM nor DeepSpeed goes with that.

    Without `NPROC_PER_NODE` there is one process, whatever CUDA_VISIBLE_DEVICES shows.
    """
    seen = visible_gpus(o.run)
    text = "1" if o.count is None else str(o.count)
    if not seen.known or not text.isdigit() or text == "0" or str(o.single) == "1":
        return
    o.put("seen", seen, seen.value)
    ranks = int(text)
    at = "devices" if o.count is None else "count"
    if ranks <= seen.value and seen.value % ranks:
        yield o.fault(at, f"{seen.value} GPUs are not a multiple of NPROC_PER_NODE {ranks}, which ms-swift asserts")
    elif seen.value // ranks >= 2:
        name = "vllm" if o.vllm is True and o.kind == "grpo" else "zero" if isinstance(o.zero, str) else ""
        if name:
            what = "vLLM" if name == "vllm" else "DeepSpeed"
            told = (
                "no NPROC_PER_NODE, so one process has" if o.count is None else f"NPROC_PER_NODE {ranks}, so each has"
            )
            yield o.fault(
                at,
                f"{told} {seen.value // ranks} GPUs and the model is spread over them, which {what} does not go with:"
                " ms-swift refuses to start",
                name,
                help=f"set NPROC_PER_NODE={seen.value}",
            )


@relation(
    "INV714", "rewards-and-engines-that-need-more", "ms_swift",
    functions=given("--reward_funcs"), cache=given("--soft_cache_length"), later=given("--async_generate"),
    turns=given("--multi_turn_scheduler"), kind=given("--rlhf_type"),
    when=rlhf,
    mentions=("reward_funcs", "async_generate"),
    topics=("reward", "rollout"),
    bad=f"{LAUNCH} {SIZES} --reward_funcs accuracy soft_overlong",
    good=f"{LAUNCH} {SIZES} --reward_funcs accuracy soft_overlong --soft_cache_length 1024",
    source="ms-swift 3.3.0 to 4.6.0 `rlhf_args.py`: `_init_grpo`, `_check_grpo`.",
)  # fmt: skip
def needs_more(o: Operands) -> Iterator[Finding]:
    """The penalty for long answers starts before the end, and wants to know how far before."""
    if o.kind != "grpo" or not o.run.complete:
        return
    functions = o.functions if isinstance(o.functions, list) else [o.functions]
    if "soft_overlong" in functions and o.cache is None:
        yield o.fault(
            "functions",
            "reward_funcs soft_overlong without --soft_cache_length, which ms-swift asserts",
            help="add --soft_cache_length",
        )
    if o.later is True and o.turns is not None:
        yield o.fault("later", f"--async_generate with {o('turns')}, which ms-swift refuses", "turns")


@relation(
    "INV715", "limits-of-the-liger-loss", "ms_swift",
    liger=given("--use_liger_kernel"), kind=given("--rlhf_type"), delta=given("--delta"),
    sp=given("--sequence_parallel_size"), free=given("--padding_free"), quantile=given("--top_entropy_quantile"),
    entropy=given("--log_entropy"), estimator=given("--advantage_estimator"),
    level=given("--importance_sampling_level"),
    when=rlhf, since="4.0.0", package=PACKAGE,
    mentions=("liger",),
    topics=("loss",),
    bad=f"{LAUNCH} {SIZES} --use_liger_kernel true --padding_free true",
    good=f"{LAUNCH} {SIZES} --use_liger_kernel true",
    target="ms-swift=4.6.0",
    source=f"{ARGUMENTS}: `_check_grpo`.",
)  # fmt: skip
def liger(o: Operands) -> Iterator[Finding]:
    """Liger's fused loss knows the plain objective of GRPO."""
    if o.liger is not True or o.kind != "grpo":
        return
    wrong = (
        ("delta", o.delta is not None),
        ("sp", type(o.sp) is int and o.sp > 1),
        ("free", o.free is True),
        ("quantile", type(o.quantile) in (int, float) and o.quantile < 1),
        ("entropy", o.entropy is True),
        ("estimator", o.estimator not in (None, "grpo")),
        ("level", o.level not in (None, "token", "sequence")),
    )
    for name, broken in wrong:
        if broken:
            yield o.fault(name, f"{o(name)} with --use_liger_kernel true, which ms-swift refuses", "liger")
            return


@relation(
    "INV716", "fsdp-with-deepspeed", "ms_swift",
    fsdp=given("--fsdp"), zero=given("--deepspeed"),
    when=trains, since="4.0.0", package=PACKAGE,
    mentions=("fsdp",),
    topics=("zero",),
    bad=f"{LAUNCH} {SIZES} --fsdp fsdp2 --deepspeed zero3",
    good=f"{LAUNCH} {SIZES} --fsdp fsdp2",
    target="ms-swift=4.6.0",
    source="ms-swift 4.0.0 to 4.6.0 `arguments/sft_args.py`: \"FSDP2 is not compatible with DeepSpeed.\"",
)  # fmt: skip
def one_backend(o: Operands) -> Iterator[Finding]:
    """One of FSDP and DeepSpeed shards the model."""
    if o.fsdp and o.zero:
        yield o.fault("fsdp", f"{o('fsdp')} with {o('zero')}, which ms-swift refuses", "zero", help="remove one")


@relation(
    "INV717", "generation-batch-of-swift", "ms_swift",
    whole=given("--generation_batch_size"), batch=given("--per_device_train_batch_size"),
    reuse=given("--steps_per_generation"), group=given("--num_generations"), kind=given("--rlhf_type"),
    strategy=given("--eval_strategy"), each=given("--per_device_eval_batch_size"),
    own=given("--num_generations_eval"), world=processes(),
    when=rlhf, since="3.5.0", package=PACKAGE,
    mentions=("generation_batch_size", "eval"),
    topics=("batch", "group"),
    bad=f"{LAUNCH} {SIZES} --generation_batch_size 20",
    good=f"{LAUNCH} {SIZES} --generation_batch_size 16",
    target="ms-swift=4.6.0",
    unless="Only sizes that are written are compared.",
    source="ms-swift 3.9.3 `trainers/rlhf_arguments.py`; 4.6.0 `rlhf_trainers/args_mixin.py`: "
    "`_init_generation_batch_params`.",
)  # fmt: skip
def generation(o: Operands) -> Iterator[Finding]:
    """What is generated at once is whole batches of all processes, and whole groups; so is what is evaluated."""
    if o.kind != "grpo" or not all(type(size) is int and size > 0 for size in (o.batch, o.group)):
        return
    step = o.batch * o.world
    if type(o.whole) is int:
        if o.whole % step:
            yield o.fault(
                "whole",
                f"{o('whole')} is not a multiple of {o('batch')} x {o.world} processes = {step}, which ms-swift"
                " refuses",
                "batch", "world", help=f"set it to a multiple of {step}",
            )  # fmt: skip
        elif o.group > 1 and o.whole % o.group:
            yield o.fault("group", f"{o('group')} does not divide {o('whole')}, which ms-swift refuses", "whole")
    size = o.own if type(o.own) is int else o.group
    if o.strategy not in (None, "no") and type(o.each) is int and size > 1 and o.each * o.world % size:
        name = "own" if type(o.own) is int else "group"
        yield o.fault(
            name,
            f"{o(name)} does not divide {o('each')} x {o.world} processes = {o.each * o.world} responses of"
            " evaluation: ms-swift refuses to start",
            "each", "world", "strategy",
        )  # fmt: skip


@relation(
    "INV718", "engine-tensor-size-does-not-divide-processes-of-swift", "ms_swift",
    vllm=given("--use_vllm"), mode=given("--vllm_mode"), tp=given("--vllm_tensor_parallel_size"), world=processes(),
    when=rlhf,
    mentions=("vllm_tensor_parallel",),
    topics=("parallel", "rollout"),
    bad=f"{LAUNCH} {SIZES} {COLOCATED} --vllm_tensor_parallel_size 3",
    good=f"{LAUNCH} {SIZES} {COLOCATED} --vllm_tensor_parallel_size 4",
    source="ms-swift 4.0.0 to 4.6.0 `rlhf_trainers/rollout_mixin.py`; 3.9.3 `trainers/rlhf_trainer/grpo_trainer.py`.",
)  # fmt: skip
def engine_size(o: Operands) -> Iterator[Finding]:
    """A colocated engine is spread over `vllm_tensor_parallel_size` of the training processes."""
    if o.vllm is True and o.mode == "colocate" and type(o.tp) is int and o.tp > 1 and o.world % o.tp:
        yield o.fault(
            "tp",
            f"{o('tp')} does not divide {o.world} processes: ms-swift refuses to start",
            "world",
            "mode",
            help=f"set it to {listed(divisors(o.world, 64))}",
        )


@relation(
    "INV719", "engine-keeps-the-memory-of-swift", "ms_swift",
    vllm=given("--use_vllm"), mode=given("--vllm_mode"), share=number("--vllm_gpu_memory_utilization", otherwise=0.9),
    sleep=given("--sleep_level"), kind=given("--rlhf_type"),
    when=rlhf, severity=WARNING,
    mentions=("vllm",),
    topics=("memory", "rollout"),
    bad=f"{LAUNCH} {SIZES} --use_vllm true --vllm_mode colocate",
    good=f"{LAUNCH} {SIZES} {COLOCATED} --vllm_gpu_memory_utilization 0.5",
    target="ms-swift=4.6.0",
    unless=f"Below {MOST}, and with an engine that sleeps while the trainer works, nothing is said.",
    source="ms-swift 3.9.3, 4.6.0 (`rlhf_trainers/args_mixin.py`): `vllm_gpu_memory_utilization` is 0.9 by default, "
    "and `sleep_level` 0.",
)  # fmt: skip
def memory(o: Operands) -> Iterator[Finding]:
    """A colocated engine takes its share of each GPU when it starts, nine tenths by default, and keeps it.

    What is left has to hold the trained model, its gradients, the optimizer and the activations.
    """
    awake = o.sleep in (None, 0)
    if o.vllm is True and o.mode == "colocate" and o.kind == "grpo" and awake and o.share >= MOST and o.run.complete:
        yield o.fault(
            "share",
            f"{o('share')} with {o('mode')} and no --sleep_level: the engine keeps that share of each GPU while the"
            " trainer works in what is left",
            "mode",
            "sleep",
            help="set --sleep_level 1, and --vllm_gpu_memory_utilization to 0.5 or so",
        )


RULES: tuple[Rule, ...] = tuple(relations(globals()))
