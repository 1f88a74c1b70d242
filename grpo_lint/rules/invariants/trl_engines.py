"""INV512 to INV518, INV535 to INV537: the engine, the model and the processes of TRL's online trainers."""

from __future__ import annotations

from grpo_lint.diagnostics import NOTE, WARNING
from grpo_lint.frameworks.models import mixture_of_experts
from grpo_lint.rules.invariants.launchers import VISIBLE, visible_gpus
from grpo_lint.rules.invariants.relation import (
    Operands,
    divisors,
    flag,
    given,
    listed,
    number,
    of,
    processes,
    relation,
    relations,
    told,
    value,
)
from grpo_lint.rules.invariants.trl import BATCH, ENTRY, GROUP, LAUNCH, grpo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Finding, Rule

FILE = (
    "model_name_or_path: Qwen/Qwen2.5-1.5B-Instruct\noutput_dir: out\nnum_generations: 8\nlearning_rate: 1.0e-6\n"
    "per_device_train_batch_size: 8\nuse_vllm: true\n"
)
TP, MODE = "--vllm_tensor_parallel_size", "--vllm_mode"
SPLIT = f"{LAUNCH} {BATCH} 7 {GROUP} 7"


@relation(
    "INV512", "engine-tensor-size-does-not-divide-processes", "trl",
    vllm=flag("--use_vllm"), mode=value(MODE), tp=number(TP), world=processes(),
    when=grpo, since="0.18.0",
    mentions=("vllm_tensor_parallel",),
    topics=("parallel", "rollout"),
    bad=f"{SPLIT} --use_vllm True {MODE} colocate {TP} 2",
    good=f"{SPLIT} --use_vllm True {MODE} colocate {TP} 1",
    source="TRL 0.18.2 to 0.29.1 `trainer/grpo_trainer.py`; 1.0.0 to 1.16.0 `generation/vllm_generation.py`: "
    '"must divide world size". `vllm_mode`: default server before 1.0, colocate from 1.0 on.',
)  # fmt: skip
def engine_size(o: Operands) -> Iterator[Finding]:
    """A colocated engine is spread over `vllm_tensor_parallel_size` of the training processes."""
    if o.vllm and o.mode == "colocate" and o.tp > 1 and o.world % o.tp:
        yield o.fault(
            "tp",
            f"{o('tp')} does not divide {o.world} processes: TRL refuses to start",
            "world",
            "mode",
            help=f"set it to {listed(divisors(o.world, 64))}",
        )


@relation(
    "INV513", "truncation-without-bounds", "trl",
    correction=value("--vllm_importance_sampling_correction"), mode=value("--vllm_importance_sampling_mode"),
    low=value("--vllm_importance_sampling_clip_min"),
    high=value("--vllm_importance_sampling_clip_max", "--vllm_importance_sampling_cap"),
    when=grpo, since="1.9.0",
    mentions=("importance_sampling_mode",),
    topics=("clipping",),
    bad=f"{FILE}vllm_importance_sampling_mode: token_truncate\nvllm_importance_sampling_clip_max: null",
    good=f"{FILE}vllm_importance_sampling_mode: token_truncate\nvllm_importance_sampling_clip_max: 3.0",
    target="trl=1.16.0",
    source="TRL 1.9.2 to 1.16.0 `trainer/grpo_config.py`; `vllm_importance_sampling_clip_max`: default 3.0.",
)  # fmt: skip
def truncation(o: Operands) -> Iterator[Finding]:
    """Weights are truncated at a bound, and one has to be there."""
    none = [getattr(o, name) in (None, "None", "null") for name in ("low", "high")]
    if o.correction is not False and o.mode in ("token_truncate", "sequence_truncate") and all(none):
        if o["mode"].explicit and o["high"].explicit:
            yield o.fault("mode", f"{o('mode')} with neither bound set, which TRL refuses", "low", "high")


@relation(
    "INV514", "sequence-dimension-parallelism", "trl",
    cp=of("accelerate", "parallelism_config.parallelism_config_cp_size"),
    sp=of("accelerate", "parallelism_config.parallelism_config_sp_size"),
    when=grpo, since="1.5.0",
    mentions=("parallelism_config",),
    topics=("parallel", "length"),
    files={"fsdp.yaml": "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nnum_processes: 8\n"
           "fsdp_config:\n  fsdp_version: 2\nparallelism_config:\n  parallelism_config_cp_size: 2\n",
           "plain.yaml": "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nnum_processes: 8\n"
           "fsdp_config:\n  fsdp_version: 2\n"},
    bad="$ accelerate launch --config_file fsdp.yaml grpo.py --model_name_or_path Qwen/Qwen2.5-1.5B-Instruct"
    f" --output_dir out --learning_rate 1e-6 {BATCH} 8 {GROUP} 8",
    good="$ accelerate launch --config_file plain.yaml grpo.py --model_name_or_path Qwen/Qwen2.5-1.5B-Instruct"
    f" --output_dir out --learning_rate 1e-6 {BATCH} 8 {GROUP} 8",
    target="trl=1.16.0",
    source="TRL 1.5.1 to 1.16.0 `trainer/grpo_config.py`: `__post_init__`.",
)  # fmt: skip
def sequence_dimension(o: Operands) -> Iterator[Finding]:
    """GRPO makes its inputs inside the trainer, so accelerate can't cut their sequences into pieces."""
    for name, what in (("cp", "context"), ("sp", "sequence")):
        size = getattr(o, name)
        if type(size) is int and size > 1:
            yield o.fault(name, f"{o(name)}: GRPO has no {what} parallelism, and TRL refuses it", help="set it to 1")


@relation(
    "INV515", "loss-and-importance-level", "trl",
    level=value("--importance_sampling_level"), loss=value("--loss_type"),
    when=grpo, severity=WARNING, since="0.29.0",
    mentions=("loss_type", "importance_sampling_level"),
    topics=("loss",),
    bad=f"{ENTRY} --loss_type luspo --importance_sampling_level token",
    good=f"{ENTRY} --loss_type luspo --importance_sampling_level sequence",
    target="trl=1.16.0",
    source="TRL 0.29.1 to 1.16.0 `trainer/grpo_trainer.py`: warnings; `importance_sampling_level`: default token.",
)  # fmt: skip
def levels(o: Operands) -> Iterator[Finding]:
    """LUSPO weighs sequences, and VESPO tokens."""
    wanted = {"luspo": "sequence", "vespo": "token"}.get(str(o.loss))
    if wanted is not None and isinstance(o.level, str) and o.level != wanted:
        yield o.fault(
            "loss", f"{o('loss')} with {o('level')}, and its paper weighs by {wanted}", "level",
            help=f"set --importance_sampling_level {wanted}",
        )  # fmt: skip


@relation(
    "INV516", "several-gpus-for-one-process", "trl",
    world=processes(),
    when=grpo, since="0.14.0",
    mentions=VISIBLE,
    severity=WARNING,
    topics=("parallel",),
    bad="$ CUDA_VISIBLE_DEVICES=0,1,2,3 python grpo.py --model_name_or_path Qwen/Qwen2.5-1.5B-Instruct"
    f" --output_dir out --learning_rate 1e-6 {BATCH} 8 {GROUP} 8",
    good="$ CUDA_VISIBLE_DEVICES=0 python grpo.py --model_name_or_path Qwen/Qwen2.5-1.5B-Instruct"
    f" --output_dir out --learning_rate 1e-6 {BATCH} 8 {GROUP} 8",
    target="trl=1.16.0",
    unless="A model that `device_map` spreads over the GPUs is left alone, and so is a script that may start others.",
    source="TRL 1.16.0 `trainer/grpo_trainer.py`: \"does not support `nn.DataParallel`\". Before, transformers' "
    "Trainer wraps the model in it (`trainer.py`: `n_gpu > 1`).",
)  # fmt: skip
def data_parallel(o: Operands) -> Iterator[Finding]:
    """Without a launcher there is one process, and the Trainer then spreads each batch over all GPUs that it sees.

    That is torch's DataParallel, which GRPO's forward pass does not work with.
    """
    seen = visible_gpus(o.run)
    spread = any("device_map" in f"{key}{setting.value}" for _, key, setting in o.run.options.written("trl"))
    if o.world != 1 or not seen.known or seen.value < 2 or spread or o.run.command[0].text == "accelerate":
        return
    refused = o.run.before("trl", "1.16.0") is False
    yield o.fault(
        "world",
        f"one process sees {seen.value} GPUs: unless the script spreads its model over them, "
        + ("TRL refuses to start" if refused else "batches are spread by DataParallel, which TRL 1.16.0 refuses"),
        help=f"start it with accelerate launch --num_processes {seen.value}, or show it one GPU",
        severity=WARNING if refused else NOTE,
    )


@relation(
    "INV517", "fused-loss-of-liger", "trl",
    liger=flag("--use_liger_kernel"), config=given("--liger_kernel_config"),
    when=grpo, since="1.16.0",
    mentions=("liger",),
    topics=("loss",),
    bad=f"{ENTRY} --use_liger_kernel True"
    " --liger_kernel_config '{\"fused_linear_cross_entropy\": true}'",
    good=f"{ENTRY} --use_liger_kernel True --liger_kernel_config '{{\"rms_norm\": true}}'",
    target="trl=1.16.0",
    source="TRL 1.16.0 `trainer/grpo_trainer.py`.",
)  # fmt: skip
def liger(o: Operands) -> Iterator[Finding]:
    """TRL puts a fused head on the model itself, and Liger's would take its place."""
    text = str(o.config).replace(" ", "").replace("'", '"').lower()
    on = '"fused_linear_cross_entropy":true' in text
    if o.liger and on:
        yield o.fault("config", "liger_kernel_config with fused_linear_cross_entropy, which TRL refuses", "liger")


@relation(
    "INV518", "non-reentrant-checkpointing-with-adapter", "trl",
    peft=flag("--use_peft"), checkpointing=value("--gradient_checkpointing"),
    kwargs=given("--gradient_checkpointing_kwargs", "--gradient_checkpointing_kwargs.use_reentrant"),
    stage=of("deepspeed", "zero_optimization.stage"),
    when=grpo, severity=WARNING, since="0.14.0",
    mentions=("gradient_checkpointing_kwargs",),
    topics=("lora", "zero", "memory"),
    files={"ds.json": '{"zero_optimization": {"stage": 3}, "bf16": {"enabled": true}, "gradient_clipping": 1.0,\n'
           ' "train_micro_batch_size_per_gpu": "auto"}'},
    bad="$ accelerate launch --num_processes 8 grpo.py --model_name_or_path Qwen/Qwen2.5-1.5B-Instruct --bf16 True"
    f" --output_dir out --deepspeed ds.json {BATCH} 8 {GROUP} 8 --use_peft True --gradient_checkpointing True"
    " --gradient_checkpointing_kwargs '{\"use_reentrant\": false}'",
    good="$ accelerate launch --num_processes 8 grpo.py --model_name_or_path Qwen/Qwen2.5-1.5B-Instruct --bf16 True"
    f" --output_dir out --deepspeed ds.json {BATCH} 8 {GROUP} 8 --use_peft True --gradient_checkpointing True"
    " --gradient_checkpointing_kwargs '{\"use_reentrant\": true}'",
    target="trl=1.16.0",
    source="TRL 1.9.2 to 1.16.0 `trainer/grpo_trainer.py`, a warning: it is forced to True; huggingface/trl#2514 tells "
    "how the pair fails before.",
)  # fmt: skip
def reentrant(o: Operands) -> Iterator[Finding]:
    """An adapter over ZeRO-3 trains right with reentrant checkpointing alone."""
    text = str(o.kwargs).replace(" ", "").replace("'", '"').lower()
    off = o.kwargs is False or '"use_reentrant":false' in text
    if o.peft and o.stage == 3 and o.checkpointing is True and off:
        forced = o.run.before("trl", "1.9.0") is False
        yield o.fault(
            "kwargs",
            "use_reentrant false with an adapter over ZeRO-3: "
            + ("TRL forces it to true" if forced else "the backward pass fails"),
            "peft",
            "stage",
            help="remove it, or set it to true",
        )


@relation(
    "INV535", "adapter-on-the-head", "trl",
    peft=flag("--use_peft"), modules=given("--lora_target_modules"),
    when=grpo, since="1.16.0",
    mentions=("target_modules",),
    topics=("lora",),
    bad=f"{ENTRY} --use_peft True --lora_target_modules q_proj v_proj lm_head",
    good=f"{ENTRY} --use_peft True --lora_target_modules q_proj v_proj",
    target="trl=1.16.0",
    source="TRL 1.16.0 `trainer/grpo_trainer.py`: \"Applying a PEFT adapter to `lm_head` is not supported\".",
)  # fmt: skip
def head(o: Operands) -> Iterator[Finding]:
    """TRL multiplies by the head's own weights, so an adapter on it would never be trained."""
    modules = o.modules if isinstance(o.modules, list) else [o.modules]
    if o.peft and "lm_head" in modules:
        yield o.fault("modules", "lora_target_modules with lm_head, which TRL refuses: it would never be trained",
                      "peft", help="leave lm_head out")  # fmt: skip


@relation(
    "INV536", "router-loss-of-a-dense-model", "trl",
    coefficient=number("--router_aux_loss_coef"), path=told("model_path"),
    when=grpo, since="1.16.0",
    mentions=("router_aux",),
    topics=("moe", "loss"),
    bad=f"{ENTRY} --router_aux_loss_coef 0.001",
    good="$ trl grpo --model_name_or_path Qwen/Qwen3-30B-A3B --dataset_name trl-lib/tldr --output_dir out"
    " --reward_funcs accuracy_reward --router_aux_loss_coef 0.001",
    target="trl=1.16.0",
    unless="A model is known to be dense by the whole name of a released one.",
    source="TRL 1.16.0 `trainer/grpo_trainer.py`: \"is not a Mixture-of-Experts model\".",
)  # fmt: skip
def router_loss(o: Operands) -> Iterator[Finding]:
    """Only a mixture of experts has routers whose load can be balanced."""
    if o.coefficient and o["coefficient"].explicit and isinstance(o.path, str) and mixture_of_experts(o.path) is False:
        yield o.fault(
            "coefficient", f"{o('coefficient')} on {o.path}, a dense model: TRL refuses it", "path", help="remove it"
        )


@relation(
    "INV537", "device-of-the-engine-is-taken", "trl",
    vllm=flag("--use_vllm"), device=given("--vllm_device"), world=processes(),
    when=grpo, since="0.14.0", until="0.16.0",
    mentions=("use_vllm",),
    topics=("parallel", "rollout"),
    bad=f"$ CUDA_VISIBLE_DEVICES=0 python grpo.py --model_name_or_path Qwen/Qwen2.5-1.5B-Instruct --output_dir out"
    f" --learning_rate 1e-6 {BATCH} 8 {GROUP} 8 --use_vllm True",
    good=f"$ CUDA_VISIBLE_DEVICES=0,1 accelerate launch --num_processes 1 grpo.py --output_dir out"
    f" --model_name_or_path Qwen/Qwen2.5-1.5B-Instruct --learning_rate 1e-6 {BATCH} 8 {GROUP} 8 --use_vllm True",
    target="trl=0.15.2",
    unless="From 0.16 on vLLM runs as a server, and from 0.18 on beside the trainer too.",
    source="TRL 0.14.0, 0.15.2 `trainer/grpo_trainer.py`: \"The requested device for vllm (cuda:1) is not available\". "
    "huggingface/trl#2826.",
)  # fmt: skip
def taken(o: Operands) -> Iterator[Finding]:
    """Up to TRL 0.15 vLLM takes the GPU after those of the training processes."""
    seen = visible_gpus(o.run)
    if o.vllm and o.device in (None, "auto") and seen.known and o.world >= seen.value:
        yield o.fault(
            "vllm",
            f"vLLM wants GPU {o.world} (cuda:{o.world}) and {seen.value} are visible: TRL before 0.16 refuses to start",
            "world",
            help="leave a GPU to vLLM by fewer processes, or take TRL 0.18 and --vllm_mode colocate",
        )


RULES: tuple[Rule, ...] = tuple(relations(globals()))
