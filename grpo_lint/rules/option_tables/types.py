"""Values that an option's parser refuses: no number where one is read, none of the choices, text for null."""

from __future__ import annotations

from grpo_lint.diagnostics import ERROR, WARNING
from grpo_lint.patterns import lazy
from grpo_lint.rules.rule import Finding, rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from grpo_lint.diagnostics import Fix
    from grpo_lint.frameworks.deepspeed_keys import Key
    from grpo_lint.frameworks.programs import Program, Use
    from grpo_lint.located import Word
    from grpo_lint.runconfig import RunConfig
    from grpo_lint.unified import Setting

_NUMBER = lazy(r"(?:Optional\[)?(int|float)\]?(?: \| None)?$")
_BOOL = lazy(r"(?:Optional\[)?bool\]?(?: \| None)?$")
_BOOLEANS = frozenset(("yes", "true", "t", "y", "1", "no", "false", "f", "n", "0"))
"""What transformers' `string_to_bool` takes (hf_argparser.py, 5.24.0)."""
_FREE = frozenset(("auto", "none", "null", "max", ""))
"""Words that the servers' own converters take for some numbers."""
_SUFFIXED = lazy(r"\d+(?:\.\d+)?[kmgtKMGT]$")
_PLACEHOLDER = lazy(r"<[^<>]*>|\$[{(]|\{\{|^(?!TRUE$|FALSE$|NONE$)[A-Z][A-Z0-9_]{2,},?$|^@|^%|__")
"""Text that something fills in before the program reads it."""
_SWITCHES = ("store_true", "store_false", "BooleanOptionalAction")
EXTENSIBLE = frozenset(
    (
        "--attention-backend", "--decode-attention-backend", "--prefill-attention-backend", "--quantization",
        "--load-format", "--tool-call-parser", "--reasoning-parser", "--kv-cache-dtype", "--moe-runner-backend",
    )
)  # fmt: skip
"""Options whose choices plugins and other releases add to."""

LOSS_AGG_MODES = (
    "token-mean", "token-sum", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm",
)  # fmt: skip
VERL = {
    "actor_rollout_ref.actor.loss_agg_mode": LOSS_AGG_MODES,
    "critic.loss_agg_mode": LOSS_AGG_MODES,
}
"""Read in verl 0.5.0 to 0.9.1 (trainer/ppo/core_algos.py, workers/config/actor.py): any other value is refused."""
STRATEGIES = ("fsdp", "fsdp2", "megatron", "veomni", "torchtitan", "automodel", "mindspeed")
SLIPS = {
    "actor_rollout_ref.rollout.name": ("vllm", "sglang", "sglang_async", "trtllm"),
    "actor_rollout_ref.actor.strategy": STRATEGIES,
    "critic.strategy": STRATEGIES,
}
"""Names of verl 0.2 to 0.9.1 that forks add to: only a slip of the pen for one of them is told."""
ESTIMATORS = (
    "gae", "grpo", "reinforce_plus_plus", "reinforce_plus_plus_baseline", "remax", "rloo", "opo", "grpo_passk", "gpg",
    "rloo_vectorized", "grpo_vectorized", "optimal_token_baseline", "tir_optimal_token_baseline", "gdpo",
)  # fmt: skip
"""Estimators of verl 0.9.1 (`trainer/ppo/core_algos.py`). Users register theirs, whose names are often a letter away
from these: only other capitals or separators are told."""
VERL_WORDS = frozenset(
    (*VERL, *SLIPS, "algorithm.adv_estimator", "actor_rollout_ref.actor.kl_loss_type", "algorithm.kl_penalty")
)
"""Options of verl that take a name, and compare it."""

BATCH = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
"""Keys of DeepSpeed's JSON that it calculates with, without a model (deepspeed 0.19.8, `runtime/config.py`)."""

READ = ("deepspeed", "megatron", "ms_swift", "openrlhf", "sglang", "slime", "trl", "verl", "vllm")


@rule("OPT12", "value-that-no-parser-takes", severity=ERROR, evidence="solid", topics=("options",), frameworks=READ)
def value_that_no_parser_takes(run: RunConfig) -> Iterator[Finding]:
    """A value of another type than the option has, or none of its choices.

    ## What it does
    Checks the values of programs whose whole parser is known against the option's type and choices, the values of
    DeepSpeed's JSON against its models, and, for verl, names that are compared (`loss_agg_mode=True`), text for whole
    numbers and for true or false (`shuffle=Flase`), and `None` given for null, which Hydra reads as the text "None".

    ## Why it matters
    The parser ends the program. Hydra ends nothing: the texts "None" and "Flase" are true where the code asks whether
    the option is set.

    ## Example
    ```bash
    vllm serve Qwen/Qwen3-8B --tensor-parallel-size 0.5
    ```

    ## Use instead
    ```bash
    vllm serve Qwen/Qwen3-8B --tensor-parallel-size 2
    ```

    ## Fix
    Safe where nothing runs with the value as it is: the choice that was written in other letters, and no value after a
    switch. Unsafe where verl runs with it: null for `None`, true for `Ture`, a name for a slip of the pen.

    ## When it does not apply
    Options that plugins add choices to; choices at an unknown release, unless the value is a bool, a number or the
    choice in other letters; numbers that a server's own converter reads, such as `16k` and `auto`.

    ## Sources
    argparse of Python 3.11; vllm 0.33.0 (`engine/arg_utils.py`), sglang 0.5.23, OpenRLHF 0.11.2, transformers 5.24.0
    (`hf_argparser.py`), deepspeed 0.19.8 (`runtime/zero/config.py`), hydra-core 1.3.2 (`grammar/OverrideLexer.g4`).
    """
    if run.framework == "verl":
        yield from _of_verl(run)
    elif run.command:
        from grpo_lint.frameworks.programs import program_of

        program = program_of(run)
        if program is not None:
            for use in program.uses:
                yield from _of_use(program, use)
            yield from _loose(program)
    if any(True for _ in run.options.keys("deepspeed")):
        from grpo_lint.frameworks.deepspeed_keys import written

        for key in written(run):
            yield from _of_key(key)


# -- command lines


def _of_use(program: Program, use: Use) -> Iterator[Finding]:
    kind = use.kind
    if kind is None or not use.entry or "Action" in str(use.entry.get("more", {}).get("action")):
        return
    for word in use.words:
        text = word.text
        if word.dynamic or text[:1] in ("{", "[") or _filled_in(text, use.entry.get("choices")):
            continue
        why = _refusal(program, use, text)
        if why:
            yield Finding(f"{program.title} refuses {use.shown} {text}: {why}", word.span, fix=_choice(use, word))
            return


def _choice(use: Use, word: Word) -> Fix | None:
    """The choice that was written in other letters: nothing runs with the value as it is."""
    from grpo_lint.fixing.values import replaced

    choices = use.entry.get("choices")
    meant = [str(choice) for choice in choices if str(choice).lower() == word.text.lower()] if choices else []
    return replaced(word.span, word.text, meant[0], f"write {meant[0]}", safe=True) if len(meant) == 1 else None


def _filled_in(text: str, choices: Any) -> bool:
    """Whether a word stands for another one, and isn't a choice in capitals."""
    capitals = isinstance(choices, list) and text.lower() in [str(choice).lower() for choice in choices]
    return not capitals and _PLACEHOLDER.search(text) is not None


def _refusal(program: Program, use: Use, text: str) -> str:
    """Why a parser refuses a word; "" where it doesn't."""
    entry, server = use.entry, program.run.framework in ("vllm", "sglang")
    action = str(entry.get("more", {}).get("action") or "")
    if action in _SWITCHES:
        return "a switch takes no value"
    number = _NUMBER.match(entry.get("type") or "")
    choices = entry.get("choices")
    if number and not choices:
        free = server and (text.lower() in _FREE or _SUFFIXED.match(text))
        return (
            ""
            if free or _reads(text, number[1])
            else f"it reads {'a whole number' if number[1] == 'int' else 'a number'}"
        )
    if _BOOL.match(entry.get("type") or "") and program.dialect.bools == "optional":
        return "" if text.lower() in _BOOLEANS else "it reads true or false"
    if (
        isinstance(choices, list)
        and use.name not in EXTENSIBLE
        and all(isinstance(each, (str, int)) for each in choices)
    ):
        return _no_choice(program, use, text, [str(choice) for choice in choices])
    return ""


def _reads(text: str, kind: str) -> bool:
    try:
        int(text) if kind == "int" else float(text)
    except ValueError:
        return False
    return True


def _no_choice(program: Program, use: Use, text: str, choices: list[str]) -> str:
    """Choices differ between releases: a name that is none of them is one only at the release that they are of."""
    from grpo_lint.frameworks import tables

    if text in choices:
        return ""
    version, newest = program.release(use.table), tables.table(use.table).releases[-1]
    lowered = text.lower()
    other_case = [choice for choice in choices if choice.lower() == lowered]
    certain = lowered in ("true", "false") or _reads(text, "float") or bool(other_case)
    if certain or (version is not None and version.text == newest):
        return f"its choices are {', '.join(choices)}"
    return ""


def _loose(program: Program) -> Iterator[Finding]:
    """`--bf16 True`, where `--bf16` is a switch: argparse takes `True` for an argument that it doesn't know."""
    if program.run.framework not in ("openrlhf", "slime", "megatron"):
        return
    for word, use in program.loose:
        action = use.entry.get("more", {}).get("action") or ""
        if action in _SWITCHES and word.text.lower() in ("true", "false"):
            message = f"{program.title} refuses {use.shown} {word.text}: a switch takes no value"
            help = "remove the value" if word.text.lower() == "true" else f"remove {use.shown}"
            yield Finding(message, word.span, "", ((use.span, "a switch"),), help, _switch(use, word, action))


def _switch(use: Use, word: Word, action: str) -> Fix | None:
    """A switch alone for `--x True`, nothing for `--x False`: nothing runs with the value there."""
    from grpo_lint.fixing.words import without

    if action != "store_true":
        return None
    if word.text.lower() == "true":
        return without(word.span, "remove the value", safe=True)
    if use.span.file is not word.span.file or use.span.file.text[use.span.end : word.span.start].strip(" \t"):
        return None
    return without(use.span.file.span(use.span.start, word.span.end), f"remove {use.shown}", safe=True)


# -- DeepSpeed


def _of_key(key: Key) -> Iterator[Finding]:
    from grpo_lint.frameworks.deepspeed_keys import entry, strict_since

    found = entry(key.path)
    if found is None or key.data == "auto":
        return
    if key.path in BATCH:
        word = isinstance(key.data, str) and not _reads(key.data, "float") and not _PLACEHOLDER.search(key.data)
        why = "it reads a number" if word else ""  # a number in quotes is INV204's
    else:
        why = _model_refuses(found[1], key.data) if strict_since(key.path) is not None else ""
    if why and key.origin.span is not None:
        shown = "null" if key.data is None else repr(key.data) if isinstance(key.data, str) else key.data
        yield Finding(f"deepspeed refuses {key.path}: {shown}: {why}", key.origin.span)


def _model_refuses(entry: dict[str, Any], data: Any) -> str:
    """Why pydantic refuses a value (2.x, lax mode); "" where it may not."""
    type_, choices = entry.get("type") or "", entry.get("choices")
    if choices and all(isinstance(choice, str) for choice in choices):
        free = data in choices or not isinstance(data, (str, bool)) or _PLACEHOLDER.search(str(data))
        return "" if free else f"its choices are {', '.join(choices)}"
    if choices:
        wrong = type(data) is int and data not in choices
        return f"its choices are {', '.join(map(str, choices))}" if wrong else ""
    if not isinstance(data, str) or _PLACEHOLDER.search(data):
        return ""
    if _BOOL.match(type_) and data.lower() not in (*_BOOLEANS, "on", "off"):
        return "it reads true or false"
    number = _NUMBER.match(type_)
    if number and not _reads(data, "float"):
        return "it reads a number"
    return ""


# -- verl


def _of_verl(run: RunConfig) -> Iterator[Finding]:
    from grpo_lint.frameworks.verl import NAME

    for key in run.options.keys(NAME):
        if key in VERL_WORDS:
            yield from _of_word(key, run.option(NAME, key))
    for key in list(run.options.keys(NAME)):
        setting = run.option(NAME, key)
        if not isinstance(setting.value, str) or not setting.known or not setting.explicit or key in VERL_WORDS:
            continue
        if setting.value == "None":
            yield from _text_for_null(run, key, setting)
        elif setting.value:
            yield from _text_for_number(run, key, setting)


def _of_word(key: str, setting: Setting) -> Iterator[Finding]:
    choices = VERL.get(key)
    if not setting.known or not setting.explicit or setting.value is None:
        return
    if isinstance(setting.value, (bool, int, float)):
        help = f"write one of {', '.join(choices)}" if choices else "write a name"
        yield Finding(f"verl takes a name for {key}, and {setting.value} is none", setting, help=help)
    elif choices and setting.value not in choices and "${" not in setting.value:
        yield Finding(f"verl refuses {key}={setting.value}: its choices are {', '.join(choices)}", setting)
    elif isinstance(setting.value, str) and (key in SLIPS or key == "algorithm.adv_estimator"):
        name = _name_meant(key, setting.value)
        if name:
            message = f"verl refuses {key}={setting.value}: no release has that name"
            fix = _write(setting, name, safe=key not in SLIPS)
            yield Finding(message, setting, help=f"did you mean {name}?", fix=fix)


def _name_meant(key: str, value: str) -> str:
    """The name of verl's that a text is a slip of the pen for; "" if it is none, or is that name."""
    names = SLIPS.get(key, ESTIMATORS)
    if value in names:
        return ""
    if key in SLIPS:
        from grpo_lint.frameworks import slips

        return slips.meant(value, names)
    return next((name for name in ESTIMATORS if value.lower().replace("-", "_") == name), "")


def _text_for_null(run: RunConfig, key: str, setting: Setting) -> Iterator[Finding]:
    """`key=None`, where the tree has null or a number."""
    below = next((origin.data for origin in setting.chain if origin.layer in ("default", "base")), "")
    if setting.origin is None or setting.origin.layer != "override":
        return
    default = _default(run, key) if below == "" else below
    if default is None or isinstance(default, (bool, int, float)) or str(default).endswith(",null}"):
        message = f"{key}=None is the text 'None' to hydra, which is true where the code asks whether it is set"
        fix = _write(setting, "null", safe=False)
        yield Finding(message, setting, help="write null", fix=fix, severity=WARNING)


def _text_for_number(run: RunConfig, key: str, setting: Setting) -> Iterator[Finding]:
    """`n=eight` and `shuffle=Flase`: text where verl's own tree has a whole number, or true or false.

    Not fractions: `rollout_is_threshold` takes a pair of bounds as text, too (0.9.1, `rollout_corr_helper.py`).
    """
    default = _default(run, key)
    if not isinstance(default, int) or _PLACEHOLDER.search(setting.value):
        return
    if isinstance(default, bool):
        message = f"{key}={setting.value} is text to hydra, which is true where the code asks whether it is set"
        yield Finding(message, setting, help="write true or false", fix=_bool(setting), severity=WARNING)
    elif not _reads(setting.value, "float"):
        yield Finding(f"verl reads a number for {key}, and {setting.value!r} is none", setting)


def _write(setting: Setting, text: str, safe: bool) -> Fix | None:
    from grpo_lint.fixing.values import set_to

    return set_to(setting, text, f"write {text}", safe)


def _bool(setting: Setting) -> Fix | None:
    """The word that a text is a slip of the pen for."""
    from grpo_lint.frameworks.slips import edits

    text = str(setting.value)
    near = [word for word in ("true", "false") if edits(text.lower(), word, 1) <= 1]
    if len(near) != 1:
        return None
    word = near[0].capitalize() if text[:1].isupper() else near[0]
    return _write(setting, word, safe=False)


def _default(run: RunConfig, key: str) -> Any:
    """What verl's tree has where nothing is set; text where that isn't known."""
    from grpo_lint.frameworks import tables

    version = run.versions.get("verl")
    value = tables.verl_tree(version.text if version is not None else None).get(key)
    return value if value is not tables.MISSING else "unknown"


RULES = (value_that_no_parser_takes,)
