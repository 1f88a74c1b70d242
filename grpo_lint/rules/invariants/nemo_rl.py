"""INV730 to INV736: NeMo-RL's policy, its generation, and the GPUs that they share or split."""

from __future__ import annotations

from grpo_lint.rules.invariants.relation import Operands, number, relation, relations, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Finding, Rule
    from grpo_lint.runconfig import RunConfig

GRPO = "NeMo-RL main of 2026-08-22, `nemo_rl/algorithms/grpo.py`: `setup`"
POLICY = "NeMo-RL main of 2026-08-22, `nemo_rl/models/policy/lm_policy.py`"
FILE = "policy:\n  model_name: Qwen/Qwen2.5-7B\n  max_total_sequence_length: 4096\n"
REST = (
    "cluster:\n  gpus_per_node: 8\n  num_nodes: 1\ngrpo:\n  num_prompts_per_step: 32\n"
    "  num_generations_per_prompt: 16\n"
)
APART = "  generation:\n    colocated:\n      enabled: false\n      resources:\n"
GENERATION, SPLIT = "policy.generation", "policy.generation.colocated"
MEGATRON, DTENSOR = "policy.megatron_cfg", "policy.dtensor_cfg"


def started(run: RunConfig) -> bool:
    """Whether a program is started, so that its environment is known."""
    return bool(run.command)


def whole(run: RunConfig) -> bool:
    """Whether every part of the config is at hand: a child leaves most to its parents."""
    return run.complete


@relation(
    "INV730", "policy-shape-does-not-fit-cluster", "nemo_rl",
    mega=value(f"{MEGATRON}.enabled"), tensor=value(f"{DTENSOR}.enabled"),
    tp=value(f"{MEGATRON}.tensor_model_parallel_size"), pp=value(f"{MEGATRON}.pipeline_model_parallel_size"),
    cp=value(f"{MEGATRON}.context_parallel_size"), dtp=value(f"{DTENSOR}.tensor_parallel_size"),
    dcp=value(f"{DTENSOR}.context_parallel_size"), gpus=number("cluster.gpus_per_node"),
    nodes=number("cluster.num_nodes"), shared=value(f"{SPLIT}.enabled"),
    mentions=("gpus_per_node",),
    topics=("parallel",),
    bad=f"{FILE}  megatron_cfg:\n    enabled: true\n    tensor_model_parallel_size: 3\n"
    f"    pipeline_model_parallel_size: 1\n    context_parallel_size: 1\n{REST}",
    good=f"{FILE}  megatron_cfg:\n    enabled: true\n    tensor_model_parallel_size: 4\n"
    f"    pipeline_model_parallel_size: 1\n    context_parallel_size: 1\n{REST}",
    unless="Where generation has GPUs of its own, the policy's are what is left.",
    source=f'{POLICY}: "World size ... must be divisible by PP * CP * TP", and one backend of two.',
)  # fmt: skip
def shape(o: Operands) -> Iterator[Finding]:
    """The policy's parallel sizes divide the cluster's GPUs, and one backend trains it."""
    if o.mega is True and o.tensor is True:
        yield o.fault("mega", "megatron_cfg.enabled and dtensor_cfg.enabled are both true, which NeMo-RL refuses",
                      "tensor", help="set one to false")  # fmt: skip
        return
    names = ("tp", "pp", "cp") if o.mega is True else ("dtp", "dcp") if o.tensor is True else ()
    sizes = [getattr(o, name) for name in names]
    if not names or o.shared is False or not all(type(size) is int and size > 0 for size in sizes):
        return
    world, product = o.gpus * o.nodes, 1
    for size in sizes:
        product *= size
    if world % product:
        told = " x ".join(o(name) for name in names if getattr(o, name) > 1)
        yield o.fault(
            names[0],
            f"{world} GPUs ({o.gpus} x {o.nodes}) are not a multiple of {told}"
            + (f" = {product}" if " x " in told else "")
            + ", which NeMo-RL refuses",
            "gpus",
            "nodes",
        )


@relation(
    "INV731", "on-policy-ratio-and-batch", "nemo_rl",
    on=value("loss_fn.force_on_policy_ratio"), prompts=number("grpo.num_prompts_per_step"),
    n=number("grpo.num_generations_per_prompt"), batch=number("policy.train_global_batch_size"),
    mentions=("force_on_policy",),
    topics=("batch", "loss"),
    bad=f"{FILE}  train_global_batch_size: 256\n{REST}loss_fn:\n  force_on_policy_ratio: true",
    good=f"{FILE}  train_global_batch_size: 512\n{REST}loss_fn:\n  force_on_policy_ratio: true",
    source=f"{GRPO}.",
)  # fmt: skip
def on_policy(o: Operands) -> Iterator[Finding]:
    """A ratio of 1 holds for the first update of a step, so there may be one."""
    total = o.prompts * o.n
    if o.on is True and total != o.batch:
        yield o.fault(
            "batch",
            f"{o('batch')} is not {o('prompts')} x {o('n')} = {total} with force_on_policy_ratio, which NeMo-RL"
            " asserts",
            "prompts",
            "n",
            "on",
            help=f"set policy.train_global_batch_size to {total}",
        )


@relation(
    "INV732", "generation-with-gpus-of-its-own", "nemo_rl",
    shared=value(f"{SPLIT}.enabled"), gpus=number("cluster.gpus_per_node"), nodes=number("cluster.num_nodes"),
    mine=value(f"{SPLIT}.resources.gpus_per_node"), own=value(f"{SPLIT}.resources.num_nodes"),
    when=whole,
    mentions=("colocated",),
    topics=("parallel", "rollout"),
    bad=f"{FILE}{APART}        gpus_per_node: 8\n{REST}",
    good=f"{FILE}{APART}        gpus_per_node: 4\n{REST}",
    unless="A reward model that takes GPUs too isn't counted.",
    source=f"{GRPO}.",
)  # fmt: skip
def own_gpus(o: Operands) -> Iterator[Finding]:
    """Generation apart from training takes a part of the one node's GPUs, or whole nodes of several."""
    if o.shared is not False:
        return
    if o.nodes == 1:
        if type(o.mine) is not int or o.mine <= 0:
            yield o.fault("shared", f"colocated.enabled is false, but resources.{o('mine')}: NeMo-RL asserts a number",
                          "mine")  # fmt: skip
        elif o.mine >= o.gpus:
            yield o.fault(
                "mine", f"generation takes {o.mine} of {o('gpus')}, which leaves none for training: NeMo-RL refuses it",
                "gpus", help=f"set it to {max(o.gpus // 2, 1)}, say",
            )  # fmt: skip
        elif o.own not in (None, 1):
            yield o.fault("own", f"resources.{o('own')} with one node in all, which NeMo-RL asserts against", "nodes")
    elif type(o.own) is not int or o.own <= 0:
        yield o.fault("shared", f"colocated.enabled is false, but resources.{o('own')}: NeMo-RL asserts nodes", "own")
    elif o.own >= o.nodes:
        yield o.fault("own", f"generation takes {o.own} of {o('nodes')}, which leaves none for training", "nodes")
    elif o.mine != o.gpus:
        yield o.fault(
            "mine", f"resources.{o('mine')} is not cluster.{o('gpus')}, which NeMo-RL asserts for whole nodes", "gpus"
        )


@relation(
    "INV733", "fp8-generation-needs", "nemo_rl",
    precision=value(f"{GENERATION}.vllm_cfg.precision"), cache=value(f"{GENERATION}.vllm_cfg.kv_cache_dtype"),
    correction=value("loss_fn.use_importance_sampling_correction"), tensor=value(f"{DTENSOR}.enabled"),
    later=value(f"{GENERATION}.vllm_cfg.async_engine"), pp=value(f"{MEGATRON}.pipeline_model_parallel_size"),
    mentions=("vllm_cfg",),
    topics=("precision", "rollout"),
    bad=f"{FILE}  generation:\n    backend: vllm\n    vllm_cfg:\n      precision: fp8\n{REST}loss_fn:\n"
    "  use_importance_sampling_correction: false",
    good=f"{FILE}  generation:\n    backend: vllm\n    vllm_cfg:\n      precision: fp8\n{REST}loss_fn:\n"
    "  use_importance_sampling_correction: true",
    source=f"{GRPO}.",
)  # fmt: skip
def fp8(o: Operands) -> Iterator[Finding]:
    """Generation in fp8 is off-policy, so it needs a correction; its cache in fp8 needs more."""
    if o.precision == "fp8" and o.correction is False:
        yield o.fault(
            "precision", f"vllm_cfg.{o('precision')} with {o('correction')}, which NeMo-RL asserts against",
            "correction", help="set loss_fn.use_importance_sampling_correction=true",
        )  # fmt: skip
    if not isinstance(o.cache, str) or not o.cache.startswith("fp8"):
        return
    wrong = (
        ("precision", o["precision"].explicit and o.precision != "fp8"),
        ("tensor", o.tensor is True),
        ("later", o.later is True),
        ("pp", type(o.pp) is int and o.pp > 1),
    )
    for name, broken in wrong:
        if broken:
            yield o.fault("cache", f"vllm_cfg.{o('cache')} with {o(name)}, which NeMo-RL asserts against", name)
            return


@relation(
    "INV734", "packing-and-dynamic-batches", "nemo_rl",
    dynamic=value("policy.dynamic_batching.enabled"), packing=value("policy.sequence_packing.enabled"),
    pp=value(f"{MEGATRON}.pipeline_model_parallel_size"), mega=value(f"{MEGATRON}.enabled"),
    mentions=("dynamic_batching", "sequence_packing"),
    topics=("batch",),
    bad=f"{FILE}  dynamic_batching:\n    enabled: true\n  sequence_packing:\n    enabled: true\n{REST}",
    good=f"{FILE}  dynamic_batching:\n    enabled: false\n  sequence_packing:\n    enabled: true\n{REST}",
    source=f"{POLICY}.",
)  # fmt: skip
def packing(o: Operands) -> Iterator[Finding]:
    """Micro-batches are made by packing, or by their tokens, and the latter without pipeline stages."""
    if o.dynamic is True and o.packing is True:
        yield o.fault("dynamic", "dynamic_batching and sequence_packing are both enabled, which NeMo-RL refuses",
                      "packing", help="set one to false")  # fmt: skip
    elif o.dynamic is True and o.mega is True and type(o.pp) is int and o.pp > 1:
        yield o.fault("dynamic", f"dynamic_batching with {o('pp')}, which NeMo-RL asserts against", "pp")


@relation(
    "INV735", "micro-batch-at-tensor-size-4", "nemo_rl",
    train=number("policy.train_micro_batch_size"), infer=number("policy.logprob_batch_size"),
    mega=value(f"{MEGATRON}.enabled"), tensor=value(f"{DTENSOR}.enabled"),
    tp=value(f"{MEGATRON}.tensor_model_parallel_size"), dtp=value(f"{DTENSOR}.tensor_parallel_size"),
    ratio=value("loss_fn.force_on_policy_ratio"),
    when=started,
    mentions=("logprob_batch_size",),
    topics=("batch", "parallel"),
    files={"grpo.yaml": f"{FILE}  train_micro_batch_size: 4\n  logprob_batch_size: 8\n  dtensor_cfg:\n"
           f"    enabled: true\n    tensor_parallel_size: 4\n    context_parallel_size: 1\n{REST}"},
    bad="$ uv run examples/run_grpo.py --config grpo.yaml",
    good="$ uv run examples/run_grpo.py --config grpo.yaml policy.logprob_batch_size=4",
    unless="`NRL_IGNORE_TP_ACCURACY_CHECK=1` and `force_on_policy_ratio` switch the check off; a file "
    "alone doesn't tell the environment.",
    source=f'{POLICY}: "There is a known batch-variant accuracy issue with TP>=4".',
)  # fmt: skip
def accuracy(o: Operands) -> Iterator[Finding]:
    """From a tensor-parallel size of 4 on, the size of a micro-batch changes its log-probabilities."""
    name = "tp" if o.mega is True else "dtp" if o.tensor is True else ""
    ignored = o.run.environment("NRL_IGNORE_TP_ACCURACY_CHECK")
    if not name or o.ratio is True or not ignored.unset:
        return
    size = getattr(o, name)
    if type(size) is int and size >= 4 and o.train != o.infer:
        yield o.fault(
            "infer", f"{o('train')} and {o('infer')} differ at {o(name)}, which NeMo-RL asserts against", "train", name,
            help="set both alike",
        )  # fmt: skip


@relation(
    "INV736", "settings-of-nemo-that-need-others", "nemo_rl",
    metric=value("grpo.stop_at_validation_metric"), n=value("grpo.val_num_generations_per_prompt"),
    skip=value("grpo.skip_reference_policy_logprobs_calculation"), kl=value("loss_fn.reference_policy_kl_penalty"),
    transport=value(f"{GENERATION}.refit_transport"), backend=value(f"{GENERATION}.backend"),
    fused=value(f"{MEGATRON}.use_fused_linear_logprobs"), packing=value("policy.sequence_packing.enabled"),
    mega=value(f"{MEGATRON}.enabled"), p=value(f"{GENERATION}.top_p"), k=value(f"{GENERATION}.top_k"),
    later=value("grpo.async_grpo.in_flight_weight_updates"), draft=value("policy.draft.enabled"),
    mentions=(
        "stop_at", "val_num_generations", "skip_reference", "refit_transport", "fused_linear", "in_flight", "draft",
    ),
    topics=("loss", "rollout"),
    bad=f"{FILE}{REST}  skip_reference_policy_logprobs_calculation: true\nloss_fn:\n"
    "  reference_policy_kl_penalty: 0.01",
    good=f"{FILE}{REST}  skip_reference_policy_logprobs_calculation: true\nloss_fn:\n"
    "  reference_policy_kl_penalty: 0",
    source=f"{GRPO}; {POLICY}.",
)  # fmt: skip
def needs(o: Operands) -> Iterator[Finding]:
    """Some settings need another one, which NeMo-RL looks up before it allocates GPUs."""
    number_of = (int, float)
    fused = o.fused is True and o.mega is True
    wrong = (
        ("skip", "kl", o.skip is True and type(o.kl) in number_of and o.kl != 0),
        ("metric", "n", o.metric == "pass_k" and type(o.n) is int and o.n <= 1),
        ("n", "n", type(o.n) is int and o.n < 1),
        ("transport", "backend", isinstance(o.transport, str) and isinstance(o.backend, str) and o.backend != "vllm"),
        ("fused", "packing", fused and o.packing is True),
        ("fused", "p", fused and type(o.p) in number_of and o.p != 1),
        ("fused", "k", fused and type(o.k) is int and o.k > 0),
        ("later", "backend", o.later is True and o.backend == "dynamo"),
        ("draft", "packing", o.draft is True and o.packing is True),
    )
    for name, other, broken in wrong:
        if broken:
            what = f" with {o[other].key.rsplit('.', 2)[-2]}.{o(other)}" if other != name else ""
            yield o.fault(name, f"{o(name)}{what}, which NeMo-RL refuses", *((other,) if other != name else ()))


RULES: tuple[Rule, ...] = tuple(relations(globals()))
