"""INV501 to INV511, INV519: TRL's online trainers."""

from __future__ import annotations

from grpo_lint.diagnostics import ERROR, WARNING
from grpo_lint.rules.invariants.relation import (
    Operands,
    divisors,
    flag,
    listed,
    number,
    processes,
    relation,
    relations,
    value,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Finding, Rule
    from grpo_lint.runconfig import RunConfig

BATCH, STEPS = "--per_device_train_batch_size", "--gradient_accumulation_steps"
GROUP, WHOLE, REUSE = "--num_generations", "--generation_batch_size", "--steps_per_generation"
LAUNCH = (
    "$ accelerate launch --num_processes 7 grpo.py --model_name_or_path Qwen/Qwen2.5-1.5B-Instruct --output_dir out"
    " --learning_rate 1e-6"
)
ENTRY = (
    "$ trl grpo --model_name_or_path Qwen/Qwen2.5-1.5B-Instruct --dataset_name trl-lib/tldr --output_dir out"
    " --reward_funcs accuracy_reward"
)


def groups(run: RunConfig) -> bool:
    """Whether a trainer of groups is started, GRPO's or one that builds on it."""
    return run.engine in ("grpo", "rloo")


def grpo(run: RunConfig) -> bool:
    return run.engine == "grpo"


def command(run: RunConfig) -> bool:
    """Whether it is `trl grpo` itself, which takes what its line and its file say."""
    return grpo(run) and any(word.text.rsplit("/", 1)[-1] == "trl" for word in run.command[:4])


def _accumulated(o: Operands) -> object:
    """The accumulation steps; 1, their default, where `trl` itself is started; else None, as a script may set them."""
    return 1 if o.steps is None and command(o.run) and o.run.complete else o.steps


@relation(
    "INV501", "groups-do-not-fill-batch", "trl",
    group=number(GROUP), batch=number(BATCH, otherwise=8), steps=value(STEPS), reuse=value(REUSE),
    whole=value(WHOLE), world=processes(),
    when=groups, since="0.15.0",
    topics=("batch", "group"),
    bad=f"{LAUNCH} {BATCH} 1 {STEPS} 1 {GROUP} 8",
    good=f"{LAUNCH} {BATCH} 1 {STEPS} 1 {GROUP} 7",
    unless="In TRL 0.14 a batch counts prompts. `trl grpo` without `--num_processes` takes all GPUs of the machine.",
    source="TRL 0.15.2, 0.16.1 `trainer/grpo_trainer.py` (processes x batch); 0.17.0 (x accumulation steps); 0.18.2 to "
    "1.16.0 `trainer/grpo_config.py` (`generation_batch_size`, `steps_per_generation`). huggingface/trl#2876, "
    "huggingface/open-r1#249.",
)  # fmt: skip
def group_fills_batch(o: Operands) -> Iterator[Finding]:
    """TRL counts responses: what all processes generate at once has to be whole groups.

    A batch is `per_device_train_batch_size` responses on each process, taken `steps_per_generation` times (the
    accumulation steps, from TRL 0.17 on; before, they don't count). Where `num_generations` does not divide that, TRL
    refuses to start. With one GPU of eight kept for vLLM, seven processes are left, and groups of 8 no longer fit.
    """
    old = o.run.before("trl", "0.17.0") is True
    reuse = 1 if old else o.reuse if type(o.reuse) is int else _accumulated(o)
    if type(reuse) is not int:
        return
    total = o.whole if type(o.whole) is int else o.batch * o.world * reuse
    if o.group < 2 or total <= 0 or not total % o.group:
        return
    fitting = [n for n in divisors(total, 64) if n > 1]
    told = o("whole") if type(o.whole) is int else f"{o('batch')} x {o.world} processes"
    if type(o.whole) is not int and not old:
        told += f" x {o('reuse') if type(o.reuse) is int else o('steps')}"
    yield o.fault(
        "group",
        f"{o('group')} does not divide {told} = {total} responses: groups would be split, and TRL refuses to start",
        "batch",
        "steps",
        "world",
        help=f"use {listed(fitting)} generations" if fitting else f"raise {BATCH} or {STEPS}",
    )


@relation(
    "INV502", "generation-batch-does-not-divide", "trl",
    whole=number(WHOLE), batch=number(BATCH, otherwise=8), world=processes(),
    when=groups, since="0.19.0",
    topics=("batch",),
    bad=f"{LAUNCH} {BATCH} 2 {GROUP} 7 {WHOLE} 35",
    good=f"{LAUNCH} {BATCH} 2 {GROUP} 7 {WHOLE} 42",
    source="TRL 0.19.1 to 1.16.0 `trainer/grpo_config.py`: `__post_init__`.",
)  # fmt: skip
def whole_batches(o: Operands) -> Iterator[Finding]:
    """What is generated at once is trained on in batches of all processes."""
    each = o.batch * o.world
    if each > 0 and o.whole % each:
        yield o.fault(
            "whole",
            f"{o('whole')} is not a multiple of {o('batch')} x {o.world} processes = {each}, which TRL refuses",
            "batch",
            "world",
            help=f"set it to a multiple of {each}",
        )


@relation(
    "INV503", "two-sizes-of-generation", "trl",
    whole=value(WHOLE), reuse=value(REUSE),
    when=groups, since="0.18.0",
    topics=("batch",),
    bad=f"{LAUNCH} {BATCH} 2 {GROUP} 7 {WHOLE} 42 {REUSE} 3",
    good=f"{LAUNCH} {BATCH} 2 {GROUP} 7 {WHOLE} 42",
    source="TRL 0.18.2 to 1.16.0 `trainer/grpo_config.py`: `__post_init__`.",
)  # fmt: skip
def one_size(o: Operands) -> Iterator[Finding]:
    """The size of a generation is given in responses or in steps."""
    if o.whole is not None and o.reuse is not None:
        yield o.fault(
            "reuse",
            f"{o('whole')} and {o('reuse')} are both set, and TRL takes one of them",
            "whole",
            help="remove one",
        )


@relation(
    "INV504", "evaluation-groups-do-not-fill-batch", "trl",
    strategy=value("--eval_strategy"), batch=number("--per_device_eval_batch_size", otherwise=8), group=number(GROUP),
    own=value("--num_generations_eval"), world=processes(),
    when=groups, since="0.15.0",
    topics=("batch", "group"),
    bad=f"{LAUNCH} {BATCH} 2 {GROUP} 7 --eval_strategy steps --per_device_eval_batch_size 2 --num_generations_eval 4",
    good=f"{LAUNCH} {BATCH} 2 {GROUP} 7 --eval_strategy steps --per_device_eval_batch_size 2 --num_generations_eval 2",
    source="TRL 0.15.2 to 1.16.0 `trainer/grpo_trainer.py`, `grpo_config.py`; `num_generations_eval` from 0.26 on.",
)  # fmt: skip
def evaluation(o: Operands) -> Iterator[Finding]:
    """Evaluation generates groups, too, and a batch of it has to be whole groups."""
    group = o.own if type(o.own) is int and o.own else o.group
    total = o.batch * o.world
    if o.strategy not in (None, "no", False) and o["strategy"].explicit and group > 1 and total % group:
        name = "own" if type(o.own) is int and o.own else "group"
        yield o.fault(
            name,
            f"{o(name)} does not divide {o('batch')} x {o.world} processes = {total} responses of evaluation: TRL"
            " refuses to start",
            "batch",
            "world",
            "strategy",
            help=f"make --per_device_eval_batch_size x processes a multiple of {group}",
        )


@relation(
    "INV505", "automatic-batch-size", "trl",
    auto=flag("--auto_find_batch_size"),
    when=grpo, since="1.9.0",
    topics=("batch",),
    bad=f"{LAUNCH} {BATCH} 2 {GROUP} 7 --auto_find_batch_size True",
    good=f"{LAUNCH} {BATCH} 2 {GROUP} 7 --auto_find_batch_size False",
    target="trl=1.16.0",
    source="TRL 1.9.2 to 1.16.0 `trainer/grpo_config.py` (not in 1.5.1).",
)  # fmt: skip
def automatic(o: Operands) -> Iterator[Finding]:
    """A batch that shrinks by itself no longer holds whole groups."""
    if o.auto:
        yield o.fault(
            "auto", "auto_find_batch_size is refused by GRPO: a smaller batch would split groups", help="remove it"
        )


@relation(
    "INV506", "completions-for-the-hub-unlogged", "trl",
    repo=value("--log_completions_hub_repo"), log=flag("--log_completions"),
    when=grpo, since="0.29.0",
    topics=("logging",),
    bad=f"{LAUNCH} {BATCH} 2 {GROUP} 7 --log_completions_hub_repo me/completions",
    good=f"{LAUNCH} {BATCH} 2 {GROUP} 7 --log_completions_hub_repo me/completions --log_completions True",
    target="trl=1.16.0",
    source="TRL 0.29.1 to 1.16.0 `trainer/grpo_config.py`.",
)  # fmt: skip
def hub_completions(o: Operands) -> Iterator[Finding]:
    """Completions go to the Hub only where they are logged."""
    if o.repo is not None and not o.log and o.run.complete:
        yield o.fault(
            "repo", f"{o('repo')} without log_completions, which TRL refuses", "log", help="set --log_completions True"
        )


@relation(
    "INV507", "importance-sampling-bounds", "trl",
    low=number("--vllm_importance_sampling_clip_min"),
    high=number("--vllm_importance_sampling_clip_max", "--vllm_importance_sampling_cap"),
    when=grpo, since="1.9.0",
    topics=("clipping",),
    bad=f"{LAUNCH} {BATCH} 2 {GROUP} 7 --vllm_importance_sampling_clip_min 3.0"
    " --vllm_importance_sampling_clip_max 2.0",
    good=f"{LAUNCH} {BATCH} 2 {GROUP} 7 --vllm_importance_sampling_clip_min 0.5"
    " --vllm_importance_sampling_clip_max 2.0",
    target="trl=1.16.0",
    source="TRL 1.9.2 to 1.16.0 `trainer/grpo_config.py`.",
)  # fmt: skip
def sampling_bounds(o: Operands) -> Iterator[Finding]:
    """The lower bound of the importance weights lies below the upper one."""
    if o.low >= o.high:
        yield o.fault("low", f"{o('low')} >= {o('high')}: no weight lies between them, and TRL refuses it", "high")


@relation(
    "INV508", "no-reference-to-sync", "trl",
    sync=flag("--sync_ref_model"), beta=number("--beta"), peft=flag("--use_peft"),
    when=grpo, since="0.29.0",
    topics=("kl",),
    bad=f"{LAUNCH} {BATCH} 2 {GROUP} 7 --sync_ref_model True --beta 0.0",
    good=f"{LAUNCH} {BATCH} 2 {GROUP} 7 --sync_ref_model True --beta 0.04",
    target="trl=1.16.0",
    source="TRL 0.29.1 to 1.16.0 `trainer/grpo_trainer.py`; `beta`: default 0.0 from 0.19 on.",
)  # fmt: skip
def reference_sync(o: Operands) -> Iterator[Finding]:
    """A reference model can be brought up to date only where there is one.

    Without a KL term (`beta` 0, the default) TRL loads none, and with an adapter the reference is the model without it.
    """
    if o.sync and o.beta == 0:
        yield o.fault(
            "sync", f"sync_ref_model, but {o('beta')}: there is no reference model, and TRL refuses it", "beta",
            help="set --beta above 0, or remove --sync_ref_model",
        )  # fmt: skip
    elif o.sync and o.peft:
        yield o.fault(
            "sync", "sync_ref_model with an adapter: the reference is the base model, and TRL refuses it", "peft",
            help="remove --sync_ref_model",
        )  # fmt: skip


@relation(
    "INV509", "vespo-and-importance-sampling", "trl",
    loss=value("--loss_type"), mode=value("--vllm_importance_sampling_mode"), vllm=flag("--use_vllm"),
    correction=value("--vllm_importance_sampling_correction"), level=value("--importance_sampling_level"),
    when=grpo, since="1.0.0",
    topics=("loss",),
    bad=f"{LAUNCH} {BATCH} 2 {GROUP} 7 --use_vllm True --loss_type vespo"
    " --vllm_importance_sampling_mode sequence_mask",
    good=f"{LAUNCH} {BATCH} 2 {GROUP} 7 --use_vllm True --loss_type vespo"
    " --vllm_importance_sampling_mode token_truncate",
    target="trl=1.16.0",
    source="TRL 1.0.0 to 1.16.0 `trainer/grpo_trainer.py`.",
)  # fmt: skip
def vespo(o: Operands) -> Iterator[Finding]:
    """VESPO weighs whole sequences itself, so the correction for vLLM has to weigh tokens."""
    if o.loss != "vespo":
        return
    if o.vllm and o.correction is not False and o.mode not in (None, "token_truncate", "token_mask"):
        default = "" if o["mode"].explicit else " (its default)"
        yield o.fault(
            "loss",
            f"loss_type vespo with vllm_importance_sampling_mode {o.mode}{default}:"
            " TRL takes token_truncate or token_mask",
            "mode",
            help="set --vllm_importance_sampling_mode token_truncate",
        )


@relation(
    "INV510", "sequence-weights-with-token-loss", "trl",
    level=value("--importance_sampling_level"), loss=value("--loss_type"),
    when=grpo, severity=WARNING, since="1.9.0",
    topics=("loss",),
    bad=f"{LAUNCH} {BATCH} 2 {GROUP} 7 --importance_sampling_level sequence --loss_type dapo",
    good=f"{LAUNCH} {BATCH} 2 {GROUP} 7 --importance_sampling_level sequence --loss_type grpo",
    target="trl=1.16.0",
    source="TRL 1.9.2 to 1.16.0 `trainer/grpo_trainer.py`, a warning.",
)  # fmt: skip
def sequence_level(o: Operands) -> Iterator[Finding]:
    """A weight per sequence goes with a loss that averages over sequences.

    The losses that sum over tokens count a sequence once for each of its tokens, so that long ones weigh more: that is
    not the objective of GSPO.
    """
    if o.level == "sequence" and o["level"].explicit and o.loss in ("bnpo", "dr_grpo", "dapo", "cispo"):
        yield o.fault(
            "level",
            f"{o('level')} with {o('loss')}, which sums over tokens: sequences weigh by their length",
            "loss",
            help="set --loss_type grpo, as GSPO does",
        )


@relation(
    "INV511", "reward-weights-do-not-match", "trl",
    weights=value("--reward_weights"), functions=value("--reward_funcs"), model=value("--reward_model_name_or_path"),
    when=grpo,
    topics=("reward",),
    bad=f"{LAUNCH} {BATCH} 2 {GROUP} 7 --reward_funcs accuracy_reward think_format_reward --reward_weights 1.0",
    good=f"{LAUNCH} {BATCH} 2 {GROUP} 7 --reward_funcs accuracy_reward think_format_reward --reward_weights 1.0 0.5",
    source="TRL 0.16.1 to 1.16.0 `trainer/grpo_trainer.py`: \"Number of reward weights ...\".",
)  # fmt: skip
def weights(o: Operands) -> Iterator[Finding]:
    """Each reward function has a weight of its own."""
    if isinstance(o.weights, list) and isinstance(o.functions, list):
        count = len(o.functions) + (o.model is not None)
        if len(o.weights) != count:
            yield o.fault(
                "weights",
                f"{len(o.weights)} reward_weights for {count} reward functions: TRL refuses to start",
                "functions",
                help="give one weight for each",
            )


@relation(
    "INV519", "no-reward-function", "trl",
    functions=value("--reward_funcs"), model=value("--reward_model_name_or_path"), file=value("--config"),
    when=command, since="0.18.0",
    topics=("reward",),
    bad=ENTRY.removesuffix(" --reward_funcs accuracy_reward"),
    good=ENTRY,
    unless="A config that isn't at hand may name them.",
    source="TRL 0.18.2 to 1.16.0 `scripts/grpo.py`: the list stays empty; 1.9.2 to 1.16.0 `trainer/grpo_trainer.py`: "
    '"No reward source provided."',
)  # fmt: skip
def no_reward(o: Operands) -> Iterator[Finding]:
    """`trl grpo` optimises the reward functions that it is given, and has none by default."""
    if o.run.complete and o.functions in (None, []) and o.model is None:
        refused = o.run.before("trl", "1.9.0") is False
        yield o.fault(
            "functions",
            "no --reward_funcs and no --reward_model_name_or_path: "
            + ("TRL refuses to start" if refused else "nothing is optimised"),
            help="add --reward_funcs accuracy_reward, say, or a function of your own by its dotted name",
            severity=ERROR if refused else WARNING,
        )


RULES: tuple[Rule, ...] = tuple(relations(globals()))
