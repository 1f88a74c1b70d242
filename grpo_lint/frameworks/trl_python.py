"""TRL's configs as Python source builds them: `GRPOConfig(num_generations=8, ...)`, literals only.

Read: TRL 0.14.0 to 1.16.0. The trainer's `model` and `peft_config` are read too, where a file has one config and one
trainer. Only names that are imported from trl count: other projects have a GRPOConfig of their own.
"""

from __future__ import annotations

from grpo_lint.frameworks import flags
from grpo_lint.frameworks.deepspeed import as_setting
from grpo_lint.frameworks.trl import NAME, SCRIPT
from grpo_lint.located import Unknown, Value
from grpo_lint.syntax import python

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from grpo_lint.runconfig import RunConfig
    from grpo_lint.source import SourceFile, Span
    from grpo_lint.syntax.python import Call

__all__ = ("NAME", "configs", "read", "read_program")

ALGORITHMS = {"GRPOConfig": "grpo", "RLOOConfig": "rloo", "OnlineDPOConfig": "online_dpo"}
TRAINERS = {"GRPOTrainer": "GRPOConfig", "RLOOTrainer": "RLOOConfig", "OnlineDPOTrainer": "OnlineDPOConfig"}


class Config:
    """A call of a config class: the algorithm, its arguments, and the arguments of the only trainer beside it."""

    __slots__ = ("algorithm", "arguments", "open_ended", "trainer")

    def __init__(self, algorithm: str, call: Call, trainer: Value | None) -> None:
        self.algorithm = algorithm
        self.arguments = call.arguments
        self.open_ended = call.open_ended
        self.trainer = trainer


def configs(texts: Iterable[tuple[str, Callable[[int, int], Span]]]) -> list[Config]:
    """The configs that the parts of a program build, a notebook's cells for one, in order."""
    modules = [module for text, span_of in texts if (module := python.parse(text, span_of)) is not None]
    names: dict[str, str] = {}
    for module in modules:
        names |= module.imported("trl")
    known = {name: own for name, own in names.items() if own in ALGORITHMS or own in TRAINERS or name.endswith(".")}
    if not known:
        return []
    calls = [(known.get(call.name, call.name), call) for module in modules for call in module.calls(known)]
    found = [(name, call) for name, call in calls if name in ALGORITHMS]
    trainers = [(name, call) for name, call in calls if name in TRAINERS]
    found.sort(key=lambda pair: pair[1].arguments.span.start)
    one = len(found) == 1 == len(trainers) and TRAINERS[trainers[0][0]] == found[0][0]
    trainer = trainers[0][1].arguments if one else None
    return [Config(ALGORITHMS[name], call, trainer) for name, call in found]


def read(config: Config, run: RunConfig) -> None:
    """Read a config into `run`: what its arguments are, over TRL's defaults."""
    run.engine = config.algorithm
    flags.use_defaults(run, SCRIPT, {})
    run.complete = run.complete and not config.open_ended
    for key, value in config.arguments.data.items():
        for path, leaf in value.leaves(key):
            if isinstance(leaf.data, list) and any(isinstance(item.data, Unknown) for item in leaf.data):
                leaf = Value(next(i.data for i in leaf.data if isinstance(i.data, Unknown)), leaf.span, leaf.key_span)
            run.options.put(NAME, f"--{path}", as_setting(leaf, path, "override"))
    model = config.trainer.data.get("model") if config.trainer is not None else None
    if model is not None and isinstance(model.data, str):
        run.options.put(NAME, "--model_name_or_path", as_setting(model, "model", "override"))


def read_program(source: SourceFile, run: RunConfig) -> None:
    """Read the only config that a program builds into the run of its launch, which then is TRL's."""
    found = configs([(source.text, source.span)])
    if len(found) == 1:
        run.framework = NAME
        read(found[0], run)
