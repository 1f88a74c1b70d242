"""INV350 to INV359: arguments of slime of which one needs or forbids another, and the shape of its engines."""

from __future__ import annotations

from grpo_lint.diagnostics import NOTE, WARNING
from grpo_lint.rules.invariants.relation import (
    Operands,
    divisors,
    flag,
    given,
    listed,
    number,
    relation,
    relations,
    value,
)
from grpo_lint.rules.invariants.shapes import shape_of
from grpo_lint.rules.invariants.slime import DATA, READ, slime

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Finding, Rule

ENGINES = "slime main of 2026-08-21, `slime/backends/sglang_utils/arguments.py`"


@relation(
    "INV350", "reference-is-not-named", "slime",
    penalty=number("--kl-coef"), use=flag("--use-kl-loss"), ref=given("--ref-load"),
    when=slime,
    mentions=("kl-coef", "kl-loss"),
    topics=("kl", "checkpoint"),
    bad=f"{DATA} --use-kl-loss --kl-loss-coef 0.001",
    good=f"{DATA} --use-kl-loss --kl-loss-coef 0.001 --ref-load /models/Qwen3-8B_torch_dist",
    source=READ + ": it looks for the path, and raises where there is none.",
)  # fmt: skip
def reference(o: Operands) -> Iterator[Finding]:
    """A KL term is a distance to a reference, whose checkpoint has to be named."""
    if (o.use or o.penalty) and o.ref is None and o.run.complete:
        yield o.fault(
            "use" if o.use else "penalty",
            f"{'--use-kl-loss' if o.use else o('penalty')} without --ref-load: slime looks for the reference's path and"
            " raises",
            help="add --ref-load",
        )


@relation(
    "INV351", "interval-without-its-target", "slime",
    save=given("--save-interval"), place=given("--save"), evaluate=given("--eval-interval"),
    data=given("--eval-prompt-data"), config=given("--eval-config"), mtp=flag("--enable-mtp-training"),
    layers=given("--mtp-num-layers"),
    when=slime,
    mentions=("interval", "mtp"),
    topics=("checkpoint",),
    bad=f"{DATA} --save-interval 20",
    good=f"{DATA} --save-interval 20 --save /checkpoints/run",
    source=READ + ".",
)  # fmt: skip
def targets(o: Operands) -> Iterator[Finding]:
    """What is done every so many rollouts needs a place, or data."""
    if not o.run.complete:
        return
    if o.save is not None and o.place is None:
        yield o.fault("save", f"{o('save')} without --save, which slime asserts", help="add --save")
    if o.evaluate is not None and o.data is None and o.config is None:
        yield o.fault("evaluate", f"{o('evaluate')} without --eval-prompt-data or --eval-config, which slime asserts")
    if o.mtp and o.layers is None:
        yield o.fault("mtp", "--enable-mtp-training without --mtp-num-layers, which slime asserts")


@relation(
    "INV352", "balance-without-dynamic-batch", "slime",
    balance=flag("--balance-by-flops"), dynamic=flag("--use-dynamic-batch-size"),
    when=slime,
    mentions=("balance-by-flops",),
    topics=("batch",),
    bad=f"{DATA} --balance-by-flops",
    good=f"{DATA} --balance-by-flops --use-dynamic-batch-size --max-tokens-per-gpu 9216",
    source=READ + ".",
)  # fmt: skip
def balance(o: Operands) -> Iterator[Finding]:
    """Only micro-batches that are made by tokens can be balanced."""
    if o.balance and not o.dynamic:
        yield o.fault("balance", "--balance-by-flops without --use-dynamic-batch-size, which slime asserts",
                      help="add --use-dynamic-batch-size and --max-tokens-per-gpu")  # fmt: skip


@relation(
    "INV353", "lower-clip-of-cispo", "slime",
    estimator=value("--advantage-estimator"), clip=number("--eps-clip"),
    when=slime, severity=WARNING,
    mentions=("eps-clip", "estimator"),
    topics=("clipping", "loss"),
    bad=f"{DATA} --advantage-estimator cispo --eps-clip 0.2",
    good=f"{DATA} --advantage-estimator cispo --eps-clip 1.0 --eps-clip-high 4.0",
    source=READ + ": a warning.",
)  # fmt: skip
def cispo(o: Operands) -> Iterator[Finding]:
    """CISPO clips its weights from above alone."""
    if o.estimator == "cispo" and o.clip < 1:
        yield o.fault(
            "clip",
            f"{o('clip')} with {o('estimator')} keeps a lower bound of {round(1 - o.clip, 6)}, and CISPO has none",
            "estimator",
            help="set --eps-clip 1.0, and --eps-clip-high",
        )


@relation(
    "INV354", "weights-over-a-disk", "slime",
    transport=value("--update-weight-transport"), folder=given("--update-weight-disk-dir"),
    release=flag("--release-train"), mode=value("--update-weight-mode"), save=given("--save"),
    old=flag("--keep-old-actor"), estimator=value("--advantage-estimator"),
    when=slime,
    mentions=("transport", "release-train"),
    topics=("weight-sync",),
    bad=f"{DATA} --update-weight-transport disk",
    good=f"{DATA} --update-weight-transport disk --update-weight-disk-dir /shared/weights",
    source=READ + ".",
)  # fmt: skip
def disk(o: Operands) -> Iterator[Finding]:
    """Weights that go over a disk need a folder that trainer and engines share; so does a trainer that is released."""
    if not o.run.complete:
        return
    if o.transport == "disk" and o.folder is None:
        yield o.fault(
            "transport",
            "--update-weight-transport disk without --update-weight-disk-dir, which slime refuses",
            help="name a folder that trainer and engines share",
        )
    wrong = (
        ("estimator", "a critic", o.estimator == "ppo"),
        ("old", "--keep-old-actor", o.old),
        ("save", "no --save", o.save is None),
        ("mode", f"{o('mode')}", o.mode not in (None, "full")),
        ("transport", "weights that don't go over a disk", o.transport != "disk"),
    )
    for name, what, broken in wrong if o.release else ():
        if broken:
            yield o.fault("release", f"--release-train with {what}, which slime refuses", name)
            return


@relation(
    "INV355", "epochs-without-the-dataset", "slime",
    epochs=given("--num-epoch"), rollouts=given("--num-rollout"), off=flag("--disable-rollout-global-dataset"),
    when=slime,
    mentions=("num-epoch",),
    topics=("batch",),
    bad="--rollout-batch-size 32 --num-epoch 2 --disable-rollout-global-dataset",
    good="--rollout-batch-size 32 --num-rollout 100 --disable-rollout-global-dataset",
    source=READ + ".",
)  # fmt: skip
def epochs(o: Operands) -> Iterator[Finding]:
    """An epoch is a pass over slime's own dataset."""
    if o.epochs is not None and o.off and o.rollouts is None:
        yield o.fault(
            "epochs", f"{o('epochs')} with --disable-rollout-global-dataset, which slime asserts against", "off",
            help="give --num-rollout instead",
        )  # fmt: skip
    elif o.epochs is not None and o.rollouts is not None:
        yield o.fault("epochs", f"{o('epochs')} has no effect beside {o('rollouts')}", "rollouts", severity=NOTE)


@relation(
    "INV356", "engines-do-not-divide-gpus", "slime",
    each=number("--rollout-num-gpus-per-engine"), pp=value("--sglang-pp-size", "--sglang-pipeline-parallel-size"),
    whole=given("--rollout-num-gpus"), colocate=flag("--colocate"), gpus=number("--actor-num-gpus-per-node"),
    nodes=number("--actor-num-nodes"), config=given("--sglang-config"), split=given("--prefill-num-servers"),
    when=slime,
    mentions=("gpus-per-engine", "rollout-num-gpus", "pp-size", "pipeline"),
    topics=("parallel", "rollout"),
    bad=f"{DATA} --colocate --actor-num-nodes 1 --actor-num-gpus-per-node 8 --rollout-num-gpus-per-engine 3"
    " --tensor-model-parallel-size 2",
    good=f"{DATA} --colocate --actor-num-nodes 1 --actor-num-gpus-per-node 8 --rollout-num-gpus-per-engine 4"
    " --tensor-model-parallel-size 2",
    unless="Servers with a file of their own (`--sglang-config`) are not looked at.",
    source=ENGINES + '; `slime/ray/rollout.py`: `num_gpus // num_gpus_per_engine`. `--rollout-num-gpus-per-engine`: '
    "default 1.",
)  # fmt: skip
def engines(o: Operands) -> Iterator[Finding]:
    """Engines share out the rollout's GPUs, and pipeline stages an engine's."""
    if type(o.pp) is int and o.pp > 1 and o.each % o.pp:
        yield o.fault("each", f"{o('each')} is not a multiple of {o('pp')}, which slime asserts", "pp")
        return
    total = o.whole if type(o.whole) is int else o.gpus * o.nodes if o.colocate else 0
    if o.config is not None or o.split is not None or total <= 0 or o.each <= 0 or not total % o.each:
        return
    yield o.fault(
        "each",
        f"{o('each')} does not divide the rollout's {total} GPUs: "
        + ("no engine fits" if total < o.each else f"{total % o.each} of them stay idle"),
        *(("whole",) if type(o.whole) is int else ("gpus", "nodes")),
        help=f"set it to {listed(divisors(total, 16))}",
        severity=None if total < o.each else WARNING,
    )


@relation(
    "INV357", "what-is-trained-and-what-is-taught", "slime",
    only=given("--only-train-params-name-list"), freeze=given("--freeze-params-name-list"), opd=flag("--use-opd"),
    kind=given("--opd-type"), teacher=given("--opd-teacher-load"),
    when=slime,
    mentions=("params-name-list", "opd"),
    topics=("loss",),
    bad=f"{DATA} --use-opd",
    good=f"{DATA} --use-opd --opd-type sglang",
    source=READ + ".",
)  # fmt: skip
def trained(o: Operands) -> Iterator[Finding]:
    """Parameters are named that train, or that don't; a teacher is a server or a checkpoint."""
    if o.only is not None and o.freeze is not None:
        yield o.fault(
            "only", "--only-train-params-name-list and --freeze-params-name-list exclude each other", "freeze"
        )
    if not o.run.complete:
        return
    if o.opd and o.kind is None:
        yield o.fault("opd", "--use-opd without --opd-type, which slime refuses", help="add --opd-type sglang, say")
    elif o.opd and o.kind == "megatron" and o.teacher is None:
        yield o.fault("kind", f"{o('kind')} without --opd-teacher-load, which slime refuses")
    elif o.teacher is not None and (not o.opd or o.kind == "sglang"):
        why = "without --use-opd" if not o.opd else f"with {o('kind')}"
        yield o.fault("teacher", f"--opd-teacher-load {why}, which slime refuses", "kind" if o.opd else "opd")


@relation(
    "INV358", "shape-of-another-model", "slime",
    path=given("--hf-checkpoint"), heads=number("--num-attention-heads"),
    when=slime,
    mentions=("num-attention-heads",),
    topics=("model",),
    bad=f"{DATA} --hf-checkpoint /models/Qwen3-8B --num-layers 28 --hidden-size 3584 --num-attention-heads 28",
    good=f"{DATA} --hf-checkpoint /models/Qwen3-8B --num-layers 36 --hidden-size 4096 --num-attention-heads 32",
    unless="The number of heads is known for released models of common families, by their names.",
    source="slime main of 2026-08-21, `backends/megatron_utils/arguments.py`: `_hf_validate_args`.",
)  # fmt: skip
def shape(o: Operands) -> Iterator[Finding]:
    """The shape that the command line gives Megatron has to be that of the checkpoint: the script of a model's shape
    is sourced, and it is easily another model's.

    slime compares them once the job has started.
    """
    told = shape_of(o.path) if isinstance(o.path, str) else None
    if told is not None and o.heads != told.heads:
        name = o.path.rstrip("/").rsplit("/", 1)[-1]
        yield o.fault(
            "heads",
            f"{o('heads')}, and {name} has {told.heads}: the shape is another model's, which slime asserts against",
            "path",
            help="source the script of this model's shape",
        )


RULES: tuple[Rule, ...] = tuple(relations(globals()))
