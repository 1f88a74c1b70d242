"""Reads the unified config: one flat JSON object of unified fields, checked, as a run that rules can judge."""

from __future__ import annotations

import re

from grpo_lint.frameworks import verl
from grpo_lint.nearest import suggestion
from grpo_lint.runconfig import Options, RunConfig, Version
from grpo_lint.syntax import json
from grpo_lint.unified import FIELDS, Origin, Setting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.located import Value
    from grpo_lint.settings import Settings
    from grpo_lint.source import SourceFile
    from grpo_lint.unified import Field

NAME = "unified"
"""The framework of such a run: none in particular."""

DEEPSPEED = {
    # unified field: the key of DeepSpeed's config that it is
    "zero_stage": "zero_optimization.stage",
    "overlap_comm": "zero_optimization.overlap_comm",
    "offload_optimizer": "zero_optimization.offload_optimizer.device",
    "offload_param": "zero_optimization.offload_param.device",
    "optimizer": "optimizer.type",
    "gradient_clipping": "gradient_clipping",
    "bf16": "bf16.enabled",
    "fp16": "fp16.enabled",
}
"""A config with a ZeRO stage is one for DeepSpeed, and rules about DeepSpeed read its keys."""

VERL = {
    **verl.DIRECT,
    "lora_rank": f"{verl.MODEL}.lora_rank",
    "fsdp_mode": f"{verl.ACTOR}.strategy",
    "gradient_clipping": f"{verl.ACTOR}.optim.clip_grad",
    "router_replay": f"{verl.MEGATRON}.router_replay.mode",
    "gating_dtype": f"{verl.MEGATRON}.override_transformer_config.moe_router_dtype",
}
"""The options of verl that unified fields are. A config for which a release of verl is targeted is one for verl."""

_RANGE = re.compile(r"(\d+)-(\d+)$")
_WORDS = {"int": "a whole number", "float": "a number", "bool": "true or false", "str": "a text"}


class InvalidConfig(Exception):
    """A unified config that can't be used. `faults` say what is wrong with it, each with its place."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults


def read(source: SourceFile, settings: Settings) -> RunConfig:
    """The run of a unified config. Raises InvalidConfig for anything that is none."""
    document = json.read(source)
    root = document.root
    faults = [_fault(source, problem.span.start, problem.message) for problem in document.problems]
    if root is None or not isinstance(root.data, dict) or not source.text.strip():
        faults = faults or [_fault(source, 0, 'not a JSON object; write one such as {"group_size": 8}')]
        raise InvalidConfig(faults)
    run = RunConfig(NAME, Options(), root.span)
    run.complete = False  # what it doesn't tell, the real config may
    for key, value in root.data.items():
        wrong = _wrong(key, value)
        if wrong:
            place = value.key_span if key not in FIELDS and value.key_span is not None else value.span
            faults.append(_fault(source, place.start, wrong))
        else:
            run.fields[key] = _setting(key, value)
    if faults:
        raise InvalidConfig(faults)
    run.versions = {name: Version(text, "--target") for name, text in settings.targets.items()}
    _fill_deepspeed(run)
    if verl.NAME in settings.targets:
        _fill_verl(run)
    return run


def _fault(source: SourceFile, offset: int, message: str) -> str:
    line, column = source.position(offset)
    return f"{source.path}:{line}:{column}: {message}"


def _setting(key: str, value: Value) -> Setting:
    return Setting("known", value.data, (Origin("file", value.span, (), "", key, value.data),))


def _wrong(key: str, value: Value) -> str:
    """What is wrong with a key or its value, and what to write; empty for a good one."""
    field = FIELDS.get(key)
    if field is None:
        return f"no unified field is called {key!r}{suggestion(key, FIELDS, 'docs/unified-config.md lists them')}"
    data = value.data
    if data is None:
        return f"{key} is null, which tells nothing: leave it out"
    if not _has_type(data, field.type):
        return f"{key} is {_described(value)}: write {_wanted(data, field)}"
    return _out_of_range(key, data, field)


def _has_type(data: object, kind: str) -> bool:
    if kind == "bool" or isinstance(data, bool):
        return kind == "bool" and isinstance(data, bool)
    if kind == "str":
        return isinstance(data, str)
    if kind == "int":
        return isinstance(data, int)
    return isinstance(data, (int, float)) and data == data and abs(data) != float("inf")


def _described(value: Value) -> str:
    data = value.data
    if isinstance(data, (dict, list)):
        return "an object" if isinstance(data, dict) else "a list"
    text = value.span.text
    return text if len(text) <= 40 else text[:37] + "..."


def _wanted(data: object, field: Field) -> str:
    """What to write instead: the same value in the right type where that is plain."""
    meant = _meant(data, field.type)
    if meant:
        return meant
    return f"{_WORDS[field.type]} ({field.meaning})"


def _meant(data: object, kind: str) -> str:
    if kind == "bool":
        words = {"true": "true", "yes": "true", "on": "true", "1": "true"}
        words |= {"false": "false", "no": "false", "off": "false", "0": "false"}
        return words.get(str(data).lower(), "")
    if kind == "int" and isinstance(data, float) and data.is_integer():
        return str(int(data))
    if isinstance(data, str) and re.fullmatch(r"\d{1,9}" if kind == "int" else r"\d{1,9}(?:\.\d{1,9})?", data):
        return f"{data}, without quotes"
    return ""


def _out_of_range(key: str, data: object, field: Field) -> str:
    bounds = _RANGE.match(field.unit)
    if isinstance(data, (int, float)) and not isinstance(data, bool):
        if bounds is not None and not int(bounds[1]) <= data <= int(bounds[2]):
            return f"{key} is {data}: write a number from {bounds[1]} to {bounds[2]}"
        return f"{key} is {data}: write 0 or more" if data < 0 else ""
    words = field.unit.split(" | ") if " | " in field.unit and "..." not in field.unit else []
    if isinstance(data, str) and words and data not in words:
        return f"{key} is {data!r}{suggestion(data, words, 'known are ' + ', '.join(words))}"
    return ""


def _fill_deepspeed(run: RunConfig) -> None:
    """Give rules about DeepSpeed the keys that they read, where a ZeRO stage says that DeepSpeed runs."""
    if "zero_stage" not in run.fields:
        return
    for field, key in DEEPSPEED.items():
        setting = run.fields.get(field)
        if setting is None:
            continue
        if field == "optimizer" and str(setting.value).lower() == "cpu_adam":
            run.options.put("deepspeed", key, setting.map(lambda _: "AdamW"))
        else:
            run.options.put("deepspeed", key, setting)


def _fill_verl(run: RunConfig) -> None:
    """Give rules about verl the options that they read."""
    run.framework = verl.NAME
    for field, key in VERL.items():
        setting = run.fields.get(field)
        if setting is not None:
            run.options.put(verl.NAME, key, setting.map(lambda name: "fsdp" if name == "fsdp1" else name))
