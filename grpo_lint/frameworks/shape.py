"""What the readers of frameworks share: options that someone gave, types by their usual names, and derived sizes."""

from __future__ import annotations

from grpo_lint.frameworks.models import mixture_of_experts
from grpo_lint.unified import UNSET, Setting, derived, undecided

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from grpo_lint.runconfig import RunConfig

DTYPES = {
    "half": "fp16", "float16": "fp16", "fp16": "fp16", "torch.float16": "fp16",
    "bf16": "bf16", "bfloat16": "bf16", "torch.bfloat16": "bf16",
    "float": "fp32", "float32": "fp32", "fp32": "fp32", "32": "fp32", "torch.float32": "fp32",
}  # fmt: skip


def given(run: RunConfig, *keys: str) -> Setting:
    """The first of some options of the run's framework that a file or a line sets; else UNSET."""
    for key in keys:
        setting = run.option(run.framework, key)
        if setting.explicit or (not setting.unset and setting.origin is not None and setting.origin.layer == "base"):
            return setting
    return UNSET


def copy(run: RunConfig, fields: Mapping[str, str], find: Callable[[RunConfig, str], Setting] = given) -> None:
    """Fill unified fields from the options that they are, where these have a value."""
    for field, key in fields.items():
        setting = find(run, key)
        if not setting.unset and not (setting.known and setting.value is None):
            run.fields[field] = setting


def dtype(setting: Setting) -> Setting:
    """A type under its short name; UNSET for "auto", which the checkpoint decides."""
    if setting.value is None and setting.known:
        return UNSET
    return UNSET if setting.value == "auto" else setting.map(lambda name: DTYPES.get(str(name), name))


def precision(run: RunConfig, bf16: Setting, fp16: Setting) -> None:
    """Two switches of which at most one may be on."""
    run.fields["bf16"], run.fields["fp16"] = bf16, fp16
    for name, switch in (("bf16", bf16), ("fp16", fp16)):
        if switch.value is True:
            run.fields["model_dtype"] = switch.map(lambda _, name=name: name)  # type: ignore[misc]
            return


def experts(run: RunConfig, path: Setting, *counts: Setting) -> None:
    """Whether the model is a mixture: a count above 1 says so, or else the model's name."""
    for count in counts:
        if type(count.value) is int and count.value > 1:
            run.fields["moe"] = Setting("known", True, count.chain)
            return
    if not path.known or not isinstance(path.value, str):
        return
    told = mixture_of_experts(path.value)
    if told is not None:
        run.fields["moe"] = derived(told, path, note="by the model's name")


def quotient(total: Iterable[Setting], sizes: Iterable[Setting], note: str) -> Setting:
    """The product of `total` over that of `sizes`; UNSET where a part of the total isn't told or it doesn't divide."""
    total, sizes = tuple(total), tuple(sizes)
    if any(part.unset for part in total):
        return UNSET
    hidden = undecided(*total, *sizes)
    if hidden is not None:
        return hidden
    product, divisor = 1, 1
    for part in total:
        if type(part.value) is not int:
            return UNSET
        product *= part.value
    for size in sizes:
        divisor *= size.value if type(size.value) is int and size.value > 0 else 1
    if product % divisor:
        return UNSET
    return derived(product // divisor, *total, *(size for size in sizes if size.explicit), note=note)
