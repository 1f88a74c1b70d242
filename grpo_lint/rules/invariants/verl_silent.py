"""INV183 to INV186: what verl accepts and then leaves out, or does without a word."""

from __future__ import annotations

from grpo_lint.diagnostics import ERROR, NOTE, WARNING
from grpo_lint.frameworks.verl import ROLLOUT
from grpo_lint.rules.invariants.relation import Operands, before, flag, is_own, number, relation, relations, value
from grpo_lint.rules.invariants.verl_training import started

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Finding, Rule

VALIDATION, FILTER = f"{ROLLOUT}.val_kwargs", "algorithm.filter_groups"
OLD, NEW = "reward_model.reward_kwargs", "reward.reward_kwargs"
BUFFER = f"{NEW}.overlong_buffer_cfg"


@relation(
    "INV183", "actor-waits-for-no-critic", "verl",
    steps=number("trainer.critic_warmup"), enable=value("critic.enable"), estimator=value("algorithm.adv_estimator"),
    when=started, severity=WARNING, since="0.2",
    mentions=("critic_warmup",),
    topics=("critic",),
    bad="trainer.critic_warmup=20",
    good="trainer.critic_warmup=0",
    source="verl 0.2 to 0.9.1, `trainer/ppo/ray_trainer.py`, `trainer/ppo/v1/trainer_base.py`: the actor is updated "
    "from step `critic_warmup` on, critic or not.",
)  # fmt: skip
def warmup(o: Operands) -> Iterator[Finding]:
    """While a critic warms up the actor is not updated; without a critic nothing is.

    The rollouts of those steps are generated, scored and thrown away.
    """
    trained = o.enable is True or (o.enable is None and o.estimator == "gae")
    if o.steps > 1 and not trained and (o["estimator"].explicit or o.enable is False):
        yield o.fault(
            "steps",
            f"{o('steps')} with {o('estimator')}, which trains no critic: nothing is updated in the first"
            f" {o.steps - 1} steps",
            "estimator",
            help="set trainer.critic_warmup=0",
        )


@relation(
    "INV184", "validation-samples-are-the-same", "verl",
    n=number(f"{VALIDATION}.n"), temperature=number(f"{VALIDATION}.temperature"),
    when=started, severity=WARNING, since="0.3.0",
    mentions=("val_kwargs",),
    topics=("sampling",),
    bad=f"{VALIDATION}.n=8",
    good=f"{VALIDATION}.n=8 {VALIDATION}.temperature=0.6 {VALIDATION}.do_sample=True",
    source="verl 0.4.1 to 0.9.1, `workers/rollout/`, `experimental/agent_loop/agent_loop.py`: validation samples at "
    "`val_kwargs.temperature`, which is 0 by default.",
)  # fmt: skip
def validation(o: Operands) -> Iterator[Finding]:
    """Several responses to one prompt of validation are the same one where they are decoded greedily.

    The mean over them is that of one, the best of them too, and they cost as much as they would otherwise.
    """
    if o.n > 1 and o.temperature <= 0:
        yield o.fault(
            "n",
            f"val_kwargs.{o('n')} at {o('temperature')}: all {o.n} responses to a prompt are the same",
            "temperature",
            help=f"set {VALIDATION}.temperature and {VALIDATION}.do_sample=True, or {VALIDATION}.n=1",
        )


@relation(
    "INV185", "groups-are-not-filtered", "verl",
    on=flag(f"{FILTER}.enable"), v1=value("trainer.use_v1"),
    when=is_own, severity=WARNING, since="0.4.0",
    mentions=("filter_groups",),
    topics=("group",),
    bad=f"+{FILTER}.enable=True +{FILTER}.metric=acc",
    good=f"+{FILTER}.enable=False +{FILTER}.metric=acc",
    target="verl=0.7.1",
    unless="verl's v1 trainer, from 0.9.0 on and its default there, filters; so does the recipe of DAPO, by its own "
    "entry point.",
    source="verl 0.4.1 to 0.8.0: `filter_groups` is read by nothing but `trainer/config/algorithm.py`; 0.9.0, 0.9.1: "
    "`trainer/ppo/v1/`.",
)  # fmt: skip
def filtering(o: Operands) -> Iterator[Finding]:
    """verl's own trainer does not drop groups whose rewards are all alike, before 0.9.0, though it takes the option."""
    old = before(o.run, "verl", "0.9.0")
    if not o.on or (old is False and o.v1 is not False):
        return
    yield o.fault(
        "on",
        f"{FILTER}.enable has no effect: verl's own trainer filters groups from 0.9.0 on"
        + ("" if old is not False else ", with trainer.use_v1"),
        *(("v1",) if old is False else ()),
        help="start the DAPO recipe's own trainer, or take verl 0.9.0",
        severity=WARNING if old is not None else NOTE,
    )


@relation(
    "INV186", "penalty-for-long-answers", "verl",
    on=flag(f"{BUFFER}.enable", f"{OLD}.overlong_buffer_cfg.enable"),
    length=value(f"{BUFFER}.len", f"{OLD}.overlong_buffer_cfg.len"),
    most=value(f"{NEW}.max_resp_len", f"{OLD}.max_resp_len"),
    manager=value("reward.reward_manager.name", "reward_model.reward_manager"),
    when=is_own, severity=WARNING, since="0.4.0",
    mentions=("overlong_buffer",),
    topics=("reward", "length"),
    bad=f"+{BUFFER}.enable=True +{BUFFER}.len=4096 +{NEW}.max_resp_len=20480",
    good=f"reward.reward_manager.name=dapo +{BUFFER}.enable=True +{BUFFER}.len=4096 +{NEW}.max_resp_len=20480",
    target="verl=0.9.1",
    source="verl 0.4.1 to 0.9.1, `reward_manager/dapo.py`, its one reader, and its assertions; before 0.7.0 "
    "`load_reward_manager` hands `reward_kwargs` to managers that take none of them.",
)  # fmt: skip
def long_answers(o: Operands) -> Iterator[Finding]:
    """The penalty for answers that come near the limit is the `dapo` reward manager's."""
    if not o.on:
        return
    if isinstance(o.manager, str) and o.manager in ("naive", "prime", "batch", "gdpo"):
        old = before(o.run, "verl", "0.7.0")
        yield o.fault(
            "on",
            f"overlong_buffer_cfg.enable with reward manager {o.manager}: "
            + ("it takes no such argument, and verl fails to start" if old else "dapo's is the only one that reads it"),
            "manager",
            help="set reward_model.reward_manager=dapo" if old else "set reward.reward_manager.name=dapo",
            severity=ERROR if old else WARNING,
        )
    elif type(o.length) is int and type(o.most) is int and o.length > o.most:
        yield o.fault(
            "length",
            f"overlong_buffer_cfg.{o('length')} > {o('most')}, which verl asserts against",
            "most",
            severity=ERROR,
        )
    elif o.manager == "dapo" and o.most is None and o["length"].explicit and o.run.complete:
        yield o.fault("on", "overlong_buffer_cfg.enable without max_resp_len, which verl asserts", severity=ERROR)


RULES: tuple[Rule, ...] = tuple(relations(globals()))
