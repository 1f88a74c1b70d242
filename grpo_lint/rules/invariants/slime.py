"""INV320 to INV339: slime's own arguments, and miles' where they are the same."""

from __future__ import annotations

from grpo_lint.diagnostics import WARNING
from grpo_lint.rules.invariants.relation import Operands, flag, number, relation, relations, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Finding, Rule
    from grpo_lint.runconfig import RunConfig

READ = "slime main of 2026-08-21, `slime/utils/arguments.py`: `slime_validate_args`"
DATA = "--num-rollout 100 --rollout-batch-size 32"
REFERENCE = f"{DATA} --ref-load /models/Qwen3-8B_torch_dist"


def slime(run: RunConfig) -> bool:
    """Whether it is slime itself: its fork miles checks some things otherwise."""
    return run.engine != "miles"


@relation(
    "INV320", "greedy-rollout", "slime",
    temperature=number("--rollout-temperature"),
    when=slime,
    topics=("sampling",),
    bad=f"{DATA} --rollout-temperature 0",
    good=f"{DATA} --rollout-temperature 1.0",
    source=READ + ".",
)  # fmt: skip
def greedy(o: Operands) -> Iterator[Finding]:
    """A group sampled at temperature 0 is one response many times, and has nothing to compare."""
    if o.temperature <= 0:
        yield o.fault(
            "temperature", f"{o('temperature')} is greedy decoding, which slime refuses", help="set it to 1.0"
        )


@relation(
    "INV321", "kl-counted-twice-by-slime", "slime",
    reward=number("--kl-coef"), loss=number("--kl-loss-coef"),
    topics=("kl",),
    bad=f"{REFERENCE} --kl-coef 0.01 --kl-loss-coef 0.001 --use-kl-loss",
    good=f"{REFERENCE} --kl-loss-coef 0.001 --use-kl-loss",
    source=READ + "; the same in miles.",
)  # fmt: skip
def kl_twice(o: Operands) -> Iterator[Finding]:
    """A KL term in the reward and one in the loss penalise the same distance twice."""
    if o.reward and o.loss:
        yield o.fault("reward", f"{o('reward')} and {o('loss')} are both set, and slime takes one", "loss")


@relation(
    "INV322", "kl-coefficient-without-loss", "slime",
    loss=number("--kl-loss-coef"), use=flag("--use-kl-loss"),
    severity=WARNING,
    topics=("kl",),
    bad=f"{DATA} --kl-loss-coef 0.001",
    good=f"{REFERENCE} --kl-loss-coef 0.001 --use-kl-loss",
    source="slime main of 2026-08-21, `backends/megatron_utils/loss.py`: the term is computed under `use_kl_loss`.",
)  # fmt: skip
def kl_unused(o: Operands) -> Iterator[Finding]:
    """The coefficient of the KL loss does nothing while that loss is off."""
    if o.loss and not o.use:
        yield o.fault(
            "loss", f"{o('loss')} has no effect without --use-kl-loss", help="add --use-kl-loss, or remove it"
        )


@relation(
    "INV323", "estimator-needs-normalisation", "slime",
    estimator=value("--advantage-estimator"), normalize=flag("--normalize-advantages"),
    topics=("loss",),
    bad=f"{DATA} --advantage-estimator reinforce_plus_plus",
    good=f"{DATA} --advantage-estimator reinforce_plus_plus --normalize-advantages",
    source=READ + ".",
)  # fmt: skip
def normalisation(o: Operands) -> Iterator[Finding]:
    """REINFORCE++ whitens its advantages, and slime wants that said."""
    if o.estimator in ("reinforce_plus_plus", "reinforce_plus_plus_baseline") and not o.normalize:
        yield o.fault(
            "estimator",
            f"{o('estimator')} without --normalize-advantages, which slime asserts",
            help="add --normalize-advantages",
        )


@relation(
    "INV324", "nothing-to-correct", "slime",
    bypass=flag("--use-rollout-logprobs"), tis=flag("--use-tis"),
    topics=("rollout",),
    bad=f"{DATA} --use-rollout-logprobs --use-tis",
    good=f"{DATA} --use-tis",
    source=READ + ".",
)  # fmt: skip
def nothing_to_correct(o: Operands) -> Iterator[Finding]:
    """With the rollout's own log-probabilities as the old policy's, truncated importance sampling has nothing to do."""
    if o.bypass and o.tis:
        yield o.fault("tis", "--use-tis and --use-rollout-logprobs exclude each other, which slime asserts", "bypass")


@relation(
    "INV325", "dynamic-batch-without-tokens", "slime",
    dynamic=flag("--use-dynamic-batch-size"), tokens=value("--max-tokens-per-gpu"),
    topics=("batch",),
    bad=f"{DATA} --use-dynamic-batch-size",
    good=f"{DATA} --use-dynamic-batch-size --max-tokens-per-gpu 9216",
    source=READ + ".",
)  # fmt: skip
def dynamic_tokens(o: Operands) -> Iterator[Finding]:
    """Micro-batches that are made by tokens need a number of tokens."""
    if o.dynamic and o.tokens is None and o.run.complete:
        yield o.fault(
            "dynamic",
            "--use-dynamic-batch-size without --max-tokens-per-gpu, which slime asserts",
            help="add --max-tokens-per-gpu",
        )


@relation(
    "INV326", "global-batch-is-not-the-rollout", "slime",
    whole=number("--global-batch-size"), steps=number("--num-steps-per-rollout"),
    prompts=number("--rollout-batch-size"), n=number("--n-samples-per-prompt"),
    topics=("batch",),
    bad=f"{DATA} --n-samples-per-prompt 8 --num-steps-per-rollout 1 --global-batch-size 128",
    good=f"{DATA} --n-samples-per-prompt 8 --num-steps-per-rollout 1 --global-batch-size 256",
    source=READ + ".",
)  # fmt: skip
def global_batch(o: Operands) -> Iterator[Finding]:
    """A rollout's responses are trained on in so many steps, which says how large a step is."""
    each = o.prompts * o.n // o.steps if o.steps else 0
    if each and o.whole != each:
        yield o.fault(
            "whole",
            f"{o('whole')} is not {o('prompts')} x {o('n')} // {o('steps')} = {each}, which slime asserts",
            "prompts",
            "n",
            "steps",
            help=f"set it to {each}, or remove one of the two",
        )


@relation(
    "INV327", "sampling-fewer-than-needed", "slime",
    over=number("--over-sampling-batch-size"), prompts=number("--rollout-batch-size"),
    topics=("batch",),
    bad=f"{DATA} --over-sampling-batch-size 16",
    good=f"{DATA} --over-sampling-batch-size 64",
    source=READ + "; the same in miles.",
)  # fmt: skip
def over_sampling(o: Operands) -> Iterator[Finding]:
    """Over-sampling draws at least as many prompts as a rollout needs."""
    if o.over < o.prompts:
        yield o.fault("over", f"{o('over')} < {o('prompts')}, which slime asserts", "prompts")


@relation(
    "INV328", "prompt-fills-context", "slime",
    prompt=number("--rollout-max-prompt-len"), context=number("--rollout-max-context-len"),
    topics=("length",),
    bad=f"{DATA} --rollout-max-prompt-len 8192 --rollout-max-context-len 8192",
    good=f"{DATA} --rollout-max-prompt-len 2048 --rollout-max-context-len 8192",
    source=READ + ".",
)  # fmt: skip
def context(o: Operands) -> Iterator[Finding]:
    """A prompt leaves room for one token of a response at least."""
    if o.prompt > o.context - 1:
        yield o.fault("prompt", f"{o('prompt')} leaves no room in {o('context')}: slime asserts it", "context")


@relation(
    "INV329", "length-of-run-is-open", "slime",
    epochs=value("--num-epoch"), rollouts=value("--num-rollout"), prompts=value("--prompt-data"),
    topics=("batch",),
    bad="--rollout-batch-size 32 --prompt-data math.jsonl",
    good="--rollout-batch-size 32 --prompt-data math.jsonl --num-rollout 100",
    source=READ + ".",
)  # fmt: skip
def length(o: Operands) -> Iterator[Finding]:
    """A run ends after so many rollouts or epochs, and one of them has to be given."""
    if o.epochs is None and o.rollouts is None and o["prompts"].explicit and o.run.complete:
        yield o.fault("prompts", "neither --num-rollout nor --num-epoch is given, and slime asserts one of them")


@relation(
    "INV330", "delta-weights", "slime",
    mode=value("--update-weight-mode"), transport=value("--update-weight-transport"), colocate=flag("--colocate"),
    place=value("--update-weight-local-checkpoint-dir"),
    topics=("weight-sync",),
    bad=f"{DATA} --update-weight-mode delta --update-weight-transport disk --update-weight-disk-dir /shared/w"
    " --update-weight-local-checkpoint-dir /nvme/w --colocate",
    good=f"{DATA} --update-weight-mode delta --update-weight-transport disk --update-weight-disk-dir /shared/w"
    " --update-weight-local-checkpoint-dir /nvme/w",
    source=READ + ".",
)  # fmt: skip
def delta(o: Operands) -> Iterator[Finding]:
    """Weights are sent as a difference over a disk, to engines that have GPUs of their own."""
    if o.mode != "delta":
        return
    if o.transport != "disk" and (o["transport"].explicit or o.run.complete):
        yield o.fault("mode", f"{o('mode')} needs --update-weight-transport disk, which slime checks", "transport")
    elif o.colocate:
        yield o.fault(
            "mode", f"{o('mode')} is refused with --colocate: engines beside the trainer get a handle", "colocate"
        )
    elif o.place is None and o.run.complete:
        yield o.fault("mode", f"{o('mode')} needs --update-weight-local-checkpoint-dir, which slime checks")


@relation(
    "INV331", "engine-data-parallel-attention", "slime",
    dp=number("--sglang-dp-size", "--sglang-data-parallel-size"),
    attention=flag("--sglang-enable-dp-attention"),
    topics=("parallel", "rollout"),
    bad=f"{DATA} --rollout-num-gpus-per-engine 8 --sglang-dp-size 8",
    good=f"{DATA} --rollout-num-gpus-per-engine 8 --sglang-dp-size 8 --sglang-enable-dp-attention",
    source="slime main of 2026-08-21, `backends/sglang_utils/arguments.py`.",
)  # fmt: skip
def attention(o: Operands) -> Iterator[Finding]:
    """An engine of slime is one replica: data parallelism in it is that of the attention."""
    if o.dp > 1 and not o.attention:
        yield o.fault(
            "dp",
            f"{o('dp')} without --sglang-enable-dp-attention, which slime asserts",
            help="add --sglang-enable-dp-attention",
        )


@relation(
    "INV332", "penalty-without-effect", "slime",
    penalty=number("--kl-coef"), estimator=value("--advantage-estimator"), loss=number("--kl-loss-coef"),
    severity=WARNING,
    topics=("kl",),
    bad=f"{REFERENCE} --kl-coef 0.1",
    good=f"{REFERENCE} --use-kl-loss --kl-loss-coef 0.1",
    source="slime main of 2026-08-21, `backends/megatron_utils/loss.py`; THUDM/slime#397.",
)  # fmt: skip
def penalty(o: Operands) -> Iterator[Finding]:
    """GRPO and GSPO take the group's rewards as they are, without a KL penalty in them."""
    if o.penalty and not o.loss and o.estimator in ("grpo", "gspo"):
        yield o.fault(
            "penalty",
            f"{o('penalty')} has no effect with {o('estimator')}: the reference is loaded and never used",
            "estimator",
            help="use --use-kl-loss with --kl-loss-coef",
        )


RULES: tuple[Rule, ...] = tuple(relations(globals()))
