"""DeepSpeed: the keys of its JSON config (pydantic models and constant-keyed readers) and its launcher's flags."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from extractors.declared import Classes, Option, arguments, package, unique
from extractors.literals import Scope, literal, parse, text
from extractors.verl import kind

MODELS = {
    "zero_optimization": "DeepSpeedZeroConfig", "bf16": "DeepSpeedBF16Config", "fp16": "DeepSpeedFP16Config",
    "hybrid_engine": "HybridEngineConfig", "comms_logger": "CommsLoggerConfig", "compile": "CompileConfig",
    "tensor_parallel": "TPTrainingConfig", "timers.throughput": "DeepSpeedThroughputTimerConfig",
    "expert_parallel": "AutoEPConfig", "tensorboard": "TensorBoardConfig", "wandb": "WandbConfig",
    "comet": "CometConfig", "csv_monitor": "CSVConfig", "weight_quantization": "WeightQuantConfig",
    "checkpoint.writer": "CheckpointWriterConfig",
}  # fmt: skip
"""Section -> the class that reads it; classes that its fields name are followed."""
READERS = {
    "runtime/config.py": "", "runtime/activation_checkpointing/config.py": "activation_checkpointing",
    "profiling/config.py": "flops_profiler", "runtime/swap_tensor/aio_config.py": "aio",
    "autotuning/config.py": "autotuning", "runtime/model_checkpointing/config.py": "checkpoint.writer",
}  # fmt: skip
"""File whose get_*_param calls read a section."""
HOLDERS = {
    "checkpoint_params": "checkpoint",
    "data_types_params": "data_types",
    "param_dict": "",
    "self._param_dict": "",
}
NOT_KEYS = {"mpu", "tp_group", "injection_policy_tuple"}
OTHERS: list[Option] = [
    {"name": "optimizer.type", "type": "str", "default": None},
    {"name": "optimizer.params", "type": "dict", "default": None},
    {"name": "optimizer.params.torch_adam", "type": "bool", "default": False},
    {"name": "optimizer.params.adam_w_mode", "type": "bool", "default": True},
    {"name": "scheduler.type", "type": "str", "default": None},
    {"name": "scheduler.params", "type": "dict", "default": None},
    {"name": "torch_autocast.enabled", "type": "bool", "default": False},
]
"""Keys that are read by other means: runtime/engine.py, ops/adam/fused_adam.py, runtime/torch_autocast.py."""
REFUSED = {"_REMOVED_TOP_LEVEL_CONFIG_KEYS": "", "_REMOVED_ZERO_CONFIG_KEYS": "zero_optimization."}


def options(root: Path) -> list[Option]:
    top = package(root, "deepspeed")
    config = top / "runtime" / "config.py"
    paths = [*sorted(top.rglob("*config*.py")), *sorted(top.rglob("constants.py"))]
    paths = [path for path in paths if "inference/v2" not in path.as_posix()]
    paths += sorted((top / "module_inject").rglob("auto_ep*/*.py"))
    classes = Classes(sorted(paths, key=lambda path: (path != config, str(path))))
    scope = classes.scope
    scope.names.update(Scope.of_modules(parse(top / "runtime" / "constants.py"), parse(config)).names)
    found = [option for section, name in MODELS.items() for option in _model(classes, section, name, 0)]
    for name, section in READERS.items():
        if (top / name).exists():
            found.extend(_read(parse(top / name), section, scope))
    found.extend(_gets(parse(config), scope))
    optimizers = literal(scope.names.get("DEEPSPEED_OPTIMIZERS"), scope)
    found.extend({**one, "choices": optimizers} if one["name"] == "optimizer.type" else one for one in OTHERS)
    launcher = top / "launcher" / "runner.py"
    if launcher.exists():
        found.extend({**flag, "launcher": True} for flag in arguments(parse(launcher), scope))
    refused = _refused(scope)
    return [option for option in unique(found) if option["name"] not in refused]


def more(root: Path) -> dict[str, Any]:
    """The keys that make this release raise DeepSpeedConfigError."""
    scope = Scope.of_modules(parse(package(root, "deepspeed") / "runtime" / "config.py"))
    return {"refused_keys": sorted(_refused(scope))}


def _refused(scope: Scope) -> set[str]:
    found: set[str] = set()
    for constant, prefix in REFUSED.items():
        node = scope.names.get(constant)
        if isinstance(node, ast.Dict):
            found.update(prefix + literal(key) for key in node.keys)
    return found


def _model(classes: Classes, section: str, name: str, depth: int) -> Iterator[Option]:
    for leaf, field in classes.fields(name).items():
        if leaf.startswith("_") or leaf in NOT_KEYS:
            continue
        option = classes.option(field, f"{section}.{leaf}")
        option["default"] = _pp_int(option["default"])
        option["aliases"] = [f"{section}.{alias}" for alias in option.get("aliases", ())]
        option["choices"] = option.get("choices") or _members(classes, option["type"])
        yield option
        nested = [word for word in re.findall(r"\b(\w+Configs?)\b", option["type"]) if word in classes.nodes]
        if nested and depth < 3:
            yield from _model(classes, f"{section}.{leaf}", nested[0], depth + 1)


def _pp_int(value: Any) -> Any:
    """`pp_int(5e8)` and `pp_int(sys.maxsize)` as numbers."""
    found = (
        re.match(r"pp_int\((?:int\()?([\d.e]+|sys\.maxsize)", value.get("expr", ""))
        if isinstance(value, dict)
        else None
    )
    if found is None:
        return value
    return 2**63 - 1 if found[1] == "sys.maxsize" else int(float(found[1]))


def _members(classes: Classes, annotation: str) -> list[Any] | None:
    for name in re.findall(r"\b(\w+Enum)\b", annotation):
        body = classes.nodes[name].body if name in classes.nodes else []
        values = [
            literal(statement.value)
            for statement in body
            if isinstance(statement, ast.Assign) and text(statement.targets[0]) != "max_stage"
        ]
        known = [value for value in values if not isinstance(value, dict)]
        if known:
            return known
    return None


def _read(tree: ast.Module, section: str, scope: Scope) -> Iterator[Option]:
    """`get_scalar_param(holder, KEY, DEFAULT)` and its like."""
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        held = dict(_held(function, scope))
        for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
            if text(call.func) not in ("get_scalar_param", "get_dict_param", "get_list_param") or len(call.args) < 2:
                continue
            key, where = literal(call.args[1], scope), _section_of(call.args[0], section, held, scope)
            if isinstance(key, str) and where is not None:
                yield _option(where, key, literal(call.args[2], scope) if len(call.args) > 2 else None)


def _held(function: ast.FunctionDef, scope: Scope) -> Iterator[tuple[str, str]]:
    """(variable, section): `fp16_dict = param_dict[FP16]` or `param_dict.get(FP16)`."""
    for node in ast.walk(function):
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            continue
        key = None
        if isinstance(node.value, ast.Subscript):
            key = literal(node.value.slice, scope)
        elif isinstance(node.value, ast.Call) and text(node.value.func).endswith(".get") and node.value.args:
            key = literal(node.value.args[0], scope)
        if isinstance(key, str):
            yield node.targets[0].id, key


def _section_of(holder: ast.expr, section: str, held: dict[str, str], scope: Scope) -> str | None:
    if isinstance(holder, ast.Subscript):
        inner = literal(holder.slice, scope)
        return inner if isinstance(inner, str) else section
    if isinstance(holder, ast.Name) and not section and holder.id != "param_dict":
        return held.get(holder.id, "sparse_attention" if "sparsity" in holder.id else None)
    return section


def _gets(tree: ast.Module, scope: Scope) -> Iterator[Option]:
    """`param_dict.get(KEY, DEFAULT)`."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "get":
            continue
        section = HOLDERS.get(text(node.func.value))
        key = literal(node.args[0], scope) if node.args else None
        if isinstance(key, str) and section is not None:
            yield _option(section, key, literal(node.args[1], scope) if len(node.args) > 1 else None)


def _option(section: str, key: str, default: Any) -> Option:
    return {"name": f"{section}.{key}" if section else key, "type": kind(default), "default": default}
