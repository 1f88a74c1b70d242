"""INV601 to INV613: OpenRLHF's trainer over Ray, with dotted arguments from 0.10 on, and flat ones before."""

from __future__ import annotations

from grpo_lint.diagnostics import NOTE
from grpo_lint.frameworks.openrlhf import spelled
from grpo_lint.rules.invariants.relation import Operands, flag, given, number, relation, relations, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Finding, Rule
    from grpo_lint.runconfig import RunConfig

READ = "OpenRLHF 0.11.2, and 0.6.4 to 0.9.3 with flat names, `cli/train_ppo_ray.py`"
ACTOR_NODES, ACTOR_GPUS = "--actor.num_nodes", "--actor.num_gpus_per_node"
ENGINES, TP = "--vllm.num_engines", "--vllm.tensor_parallel_size"
ALL, LATER = "--train.colocate_all", "--train.async_enable"
REF_NODES, REF_GPUS = "--ref.num_nodes", "--ref.num_gpus_per_node"
SIZE, MICRO = "--rollout.batch_size", "--rollout.micro_batch_size"
REMOTE, AGENT = "--reward.remote_url", "--train.agent_func_path"


def ray(run: RunConfig) -> bool:
    """Whether it is the trainer over Ray."""
    return run.engine == "train_ppo_ray"


@relation(
    "INV601", "actor-and-reference-differ", "openrlhf",
    all=flag(ALL), pair=flag("--train.colocate_actor_ref"), kl=number("--algo.kl.init_coef"), nodes=number(ACTOR_NODES),
    gpus=number(ACTOR_GPUS), ref_nodes=number("--ref.num_nodes"), ref_gpus=number("--ref.num_gpus_per_node"),
    when=ray,
    topics=("parallel",),
    bad=f"{ALL} {ACTOR_GPUS} 4 --ref.num_gpus_per_node 8 {ENGINES} 2 {TP} 2",
    good=f"{ALL} {ACTOR_GPUS} 4 --ref.num_gpus_per_node 4 {ENGINES} 2 {TP} 2",
    unless="With `--algo.kl.init_coef 0` there is no reference.",
    source=READ + ": the first assertion of `train`.",
)  # fmt: skip
def reference(o: Operands) -> Iterator[Finding]:
    """Actor and reference on the same GPUs need as many of them."""
    if (o.all or o.pair) and o.kl > 0 and (o.nodes, o.gpus) != (o.ref_nodes, o.ref_gpus):
        yield o.fault(
            "gpus",
            f"the actor has {o.nodes} x {o.gpus} GPUs and the reference {o.ref_nodes} x {o.ref_gpus} while they are"
            " colocated, which OpenRLHF asserts to be equal",
            "ref_gpus",
            "ref_nodes",
            "nodes",
            "all" if o.all else "pair",
            help=f"set {spelled(o.run, REF_NODES)} and {spelled(o.run, REF_GPUS)} to the actor's",
        )


@relation(
    "INV602", "engines-do-not-fill-actor", "openrlhf",
    all=flag(ALL), asynchronous=flag("--train.async_enable"), nodes=number(ACTOR_NODES), gpus=number(ACTOR_GPUS),
    engines=number(ENGINES), tp=number(TP),
    when=ray,
    topics=("parallel", "rollout"),
    bad=f"{ALL} {ACTOR_GPUS} 8 --ref.num_gpus_per_node 8 {ENGINES} 2 {TP} 2",
    good=f"{ALL} {ACTOR_GPUS} 8 --ref.num_gpus_per_node 8 {ENGINES} 4 {TP} 2",
    source=READ + ": `train`.",
)  # fmt: skip
def engines(o: Operands) -> Iterator[Finding]:
    """Colocated engines take all of the actor's GPUs."""
    world, used = o.nodes * o.gpus, o.engines * o.tp
    if o.all and not o.asynchronous and o.engines > 0 and world != used:
        yield o.fault(
            "engines",
            f"{o('engines')} x {o('tp')} = {used} is not the actor's {o.nodes} x {o.gpus} = {world} GPUs, which"
            " OpenRLHF asserts while all are colocated",
            "tp",
            "gpus",
            "nodes",
            help=f"set {spelled(o.run, ENGINES)} to {world // o.tp}"
            if o.tp and world % o.tp == 0
            else f"choose {spelled(o.run, TP)} to divide {world}",
        )


@relation(
    "INV603", "critic-and-reward-differ", "openrlhf",
    pair=flag("--train.colocate_critic_reward"), estimator=value("--algo.advantage.estimator"),
    nodes=number("--critic.num_nodes"), gpus=number("--critic.num_gpus_per_node"),
    reward_nodes=number("--reward.num_nodes"), reward_gpus=number("--reward.num_gpus_per_node"),
    when=ray,
    topics=("parallel", "critic"),
    bad="--train.colocate_critic_reward --critic.num_gpus_per_node 4 --reward.num_gpus_per_node 2",
    good="--train.colocate_critic_reward --critic.num_gpus_per_node 4 --reward.num_gpus_per_node 4",
    unless="Estimators other than gae have no critic.",
    source=READ + ": `train`.",
)  # fmt: skip
def critic(o: Operands) -> Iterator[Finding]:
    """Critic and reward model on the same GPUs need as many of them."""
    if o.pair and o.estimator == "gae" and (o.nodes, o.gpus) != (o.reward_nodes, o.reward_gpus):
        yield o.fault(
            "gpus",
            f"the critic has {o.nodes} x {o.gpus} GPUs and the reward model {o.reward_nodes} x {o.reward_gpus} while"
            " they are colocated, which OpenRLHF asserts to be equal",
            "reward_gpus",
            "pair",
        )


@relation(
    "INV604", "asleep-while-asynchronous", "openrlhf",
    sleep=flag("--vllm.enable_sleep"), asynchronous=flag("--train.async_enable"), all=flag(ALL),
    partial=flag("--train.partial_rollout_enable"),
    when=ray,
    topics=("rollout",),
    bad=f"--vllm.enable_sleep --train.async_enable {ALL}",
    good="--train.async_enable",
    source=READ + ".",
)  # fmt: skip
def asleep(o: Operands) -> Iterator[Finding]:
    """Engines that generate all the time don't sleep; partial rollouts are theirs."""
    if o.sleep and o.asynchronous and o.all:
        yield o.fault(
            "sleep",
            f"{o['sleep'].key} with {o['asynchronous'].key}, which OpenRLHF refuses",
            "asynchronous",
            help="remove one",
        )
    if o.partial and not o.asynchronous:
        yield o.fault(
            "partial",
            "--train.partial_rollout_enable without --train.async_enable, which OpenRLHF refuses",
            help="add --train.async_enable",
        )


@relation(
    "INV605", "sleep-without-colocation", "openrlhf",
    sleep=flag("--vllm.enable_sleep"), all=flag(ALL),
    when=ray, severity=NOTE,
    topics=("rollout",),
    bad=f"--vllm.enable_sleep {ENGINES} 4",
    good=f"--vllm.enable_sleep {ENGINES} 8 {ALL}",
    source=READ + ": it is set to False, with a line in the log.",
)  # fmt: skip
def sleep_unused(o: Operands) -> Iterator[Finding]:
    """Engines on GPUs of their own have nobody to free memory for."""
    if o.sleep and not o.all:
        yield o.fault("sleep", f"{o['sleep'].key} has no effect without {spelled(o.run, ALL)}: OpenRLHF turns it off")


@relation(
    "INV606", "packing-without-engines", "openrlhf",
    packing=flag("--ds.packing_samples"), engines=value(ENGINES),
    when=ray,
    topics=("rollout",),
    bad=f"--ds.packing_samples {ENGINES} 0",
    good=f"--ds.packing_samples {ENGINES} 4",
    source=READ + ': "Only support `--packing_samples` with vLLM."',
)  # fmt: skip
def packing(o: Operands) -> Iterator[Finding]:
    """Packed samples come from vLLM."""
    if o.packing and o.engines == 0:
        yield o.fault("packing", f"{o['packing'].key} with {o('engines')}, which OpenRLHF refuses", "engines")


@relation(
    "INV607", "filter-bounds", "openrlhf",
    on=flag("--algo.dynamic_filtering_enable"), bounds=value("--algo.dynamic_filtering_range"),
    n=number("--rollout.n_samples_per_prompt"), remote=value("--reward.remote_url"),
    agent=value("--train.agent_func_path"),
    when=ray,
    topics=("group",),
    bad="--algo.dynamic_filtering_enable --rollout.n_samples_per_prompt 8 --algo.advantage.estimator rloo",
    good="--algo.dynamic_filtering_enable --rollout.n_samples_per_prompt 8 --algo.advantage.estimator rloo"
    " --reward.remote_url reward.py",
    source=READ + ".",
)  # fmt: skip
def filtering(o: Operands) -> Iterator[Finding]:
    """Groups are filtered by the scores of a remote reward or an agent, between two bounds."""
    if not o.on:
        return
    if isinstance(o.bounds, list) and len(o.bounds) == 2 and o.bounds[0] >= o.bounds[1]:
        yield o.fault("bounds", f"{o['bounds'].key} {o.bounds[0]} to {o.bounds[1]} is empty")
    elif o.n <= 1:
        yield o.fault("on", f"{o['on'].key} with {o('n')}: one response is no group", "n")
    elif o.remote is None and o.agent is None and o.run.complete:
        yield o.fault(
            "on",
            f"{o['on'].key} without {spelled(o.run, REMOTE)} or {spelled(o.run, AGENT)}, of which OpenRLHF asserts one",
        )


@relation(
    "INV608", "generating-more-than-a-batch", "openrlhf",
    generate=number("--rollout.vllm_generate_batch_size"), batch=number("--rollout.batch_size"),
    asynchronous=flag("--train.async_enable"),
    when=ray,
    topics=("batch",),
    bad="--rollout.vllm_generate_batch_size 256 --rollout.batch_size 128",
    good="--rollout.vllm_generate_batch_size 128 --rollout.batch_size 128",
    source=READ + ".",
)  # fmt: skip
def oversampling(o: Operands) -> Iterator[Finding]:
    """What is generated beyond a batch has to wait in the queue of the asynchronous trainer."""
    if o.generate > o.batch and not o.asynchronous:
        yield o.fault(
            "generate",
            f"{o('generate')} > {o('batch')} without {spelled(o.run, LATER)}, which OpenRLHF refuses",
            "batch",
        )


@relation(
    "INV609", "ranks-without-samples", "openrlhf",
    n=number("--rollout.n_samples_per_prompt"), batch=number("--rollout.batch_size"),
    micro=number("--rollout.micro_batch_size"), nodes=number(ACTOR_NODES), gpus=number(ACTOR_GPUS),
    ring=number("--ds.ring_attn_size"), tp=number("--ds.tensor_parallel_size"),
    when=ray,
    topics=("batch", "parallel"),
    bad=f"--rollout.batch_size 16 --rollout.micro_batch_size 4 {ACTOR_GPUS} 8 --rollout.n_samples_per_prompt 1",
    good=f"--rollout.batch_size 64 --rollout.micro_batch_size 4 {ACTOR_GPUS} 8 --rollout.n_samples_per_prompt 1",
    source=READ + ": the last assertion.",
)  # fmt: skip
def samples(o: Operands) -> Iterator[Finding]:
    """Each rank of the actor gets a micro-batch of samples at least."""
    if min(o.micro, o.ring, o.tp) <= 0:
        return
    pieces, ranks = o.n * o.batch // o.micro, o.nodes * o.gpus // o.ring // o.tp
    if pieces < ranks:
        yield o.fault(
            "batch",
            f"{o('batch')} x {o.n} samples in micro-batches of {o.micro} are {pieces}, fewer than {ranks} ranks of the"
            " actor: OpenRLHF refuses to start",
            "micro",
            "gpus",
            help=f"raise {spelled(o.run, SIZE)}, or lower {spelled(o.run, MICRO)}",
        )


@relation(
    "INV610", "kl-estimator-and-place", "openrlhf",
    loss=flag("--algo.kl.use_loss"), estimator=value("--algo.kl.estimator"), kl=number("--algo.kl.init_coef"),
    free=flag("--algo.kl.unbiased_gradient"),
    when=ray, severity=NOTE,
    topics=("kl",),
    bad="--algo.kl.use_loss --algo.kl.estimator k1",
    good="--algo.kl.use_loss --algo.kl.estimator k2",
    source=READ + ": a recommendation in the log.",
)  # fmt: skip
def estimator(o: Operands) -> Iterator[Finding]:
    """The k1 estimate belongs into the reward; as a loss its gradient is zero on average."""
    if o.kl > 0 and o.loss and o.estimator == "k1" and not o.free:
        yield o.fault("loss", f"{o['loss'].key} with {o('estimator')}: OpenRLHF recommends k2 or k3", "estimator")


GROUPED = ("rloo", "reinforce_baseline", "group_norm", "dr_grpo")


@relation(
    "INV611", "group-of-one-by-default", "openrlhf",
    estimator=value("--algo.advantage.estimator"), n=number("--rollout.n_samples_per_prompt"),
    only=flag("--eval.eval_only"),
    when=ray,
    topics=("group",),
    bad=f"--algo.advantage.estimator group_norm --reward.remote_url reward.py {ENGINES} 4",
    good=f"--algo.advantage.estimator group_norm --reward.remote_url reward.py {ENGINES} 4"
    " --rollout.n_samples_per_prompt 8",
    unless="A group of one that is written out is NOT07's.",
    source=READ + ': "requires n_samples_per_prompt > 1". `n_samples_per_prompt`: default 1.',
)  # fmt: skip
def group_of_one(o: Operands) -> Iterator[Finding]:
    """Estimators that compare responses need several for a prompt, and one is the default."""
    if o.estimator in GROUPED and o["estimator"].explicit and o.n <= 1 and not o["n"].explicit and not o.only:
        yield o.fault(
            "estimator",
            f"{o('estimator')} with {o('n')}: there is nothing to compare, and OpenRLHF asserts more than 1",
            "n",
            help=f"add {spelled(o.run, '--rollout.n_samples_per_prompt')} 8",
        )


@relation(
    "INV612", "evaluation-without-a-reward", "openrlhf",
    data=given("--eval.dataset"), remote=given(REMOTE), agent=given(AGENT),
    when=ray,
    topics=("reward",),
    bad=f"--eval.dataset test.jsonl {ENGINES} 4",
    good=f"--eval.dataset test.jsonl --reward.remote_url reward.py {ENGINES} 4",
    source="OpenRLHF 0.8.11 to 0.11.2, `cli/train_ppo_ray.py`. Before 0.10 a remote reward alone will do.",
)  # fmt: skip
def evaluation(o: Operands) -> Iterator[Finding]:
    """What is evaluated is scored by a remote reward, or by an agent."""
    if o.data and o.remote is None and o.agent is None and o.run.complete:
        yield o.fault(
            "data",
            f"{o['data'].key} without {spelled(o.run, REMOTE)} or {spelled(o.run, AGENT)}: OpenRLHF asserts one",
        )


@relation(
    "INV613", "images-with-critic-or-packing", "openrlhf",
    images=number("--data.max_images_per_prompt"), estimator=value("--algo.advantage.estimator"),
    packing=flag("--ds.packing_samples"),
    when=ray, since="0.10.0",
    topics=("multimodal", "critic"),
    bad=f"--data.max_images_per_prompt 4 --algo.advantage.estimator gae {ENGINES} 4",
    good=f"--data.max_images_per_prompt 4 --algo.advantage.estimator rloo --rollout.n_samples_per_prompt 8 {ENGINES} 4",
    target="openrlhf=0.11.2",
    source="OpenRLHF 0.11.2, `cli/train_ppo_ray.py`; `--algo.advantage.estimator`: default gae.",
)  # fmt: skip
def images(o: Operands) -> Iterator[Finding]:
    """Prompts with images train without a critic, and unpacked."""
    if o.images <= 0:
        return
    if o.estimator == "gae":
        yield o.fault("images", f"{o('images')} with {o('estimator')}, which trains a critic: OpenRLHF refuses it",
                      "estimator", help="choose rloo, reinforce_baseline or group_norm")  # fmt: skip
    elif o.packing:
        yield o.fault(
            "images",
            f"{o('images')} with {o['packing'].key}: packing loses where images belong, and OpenRLHF refuses it",
            "packing",
            help="remove one",
        )


RULES: tuple[Rule, ...] = tuple(relations(globals()))
