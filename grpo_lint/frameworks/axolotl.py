"""axolotl: YAML for `axolotl train x.yaml`, on Hugging Face's trainers (`rl: grpo` is TRL's)."""

from __future__ import annotations

import os

from grpo_lint.frameworks import deepspeed, flags, trees
from grpo_lint.frameworks.documents import document_at
from grpo_lint.frameworks.shape import copy, experts, given, precision
from grpo_lint.launch import arguments
from grpo_lint.unified import UNSET, Origin, Setting, derived

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grpo_lint.discover import Repository
    from grpo_lint.launch import Launch
    from grpo_lint.located import Problem, Value, Word
    from grpo_lint.runconfig import RunConfig

NAME = "axolotl"

MODULE = "axolotl.cli.train"
TRAINING = frozenset(
    ("micro_batch_size", "sequence_len", "num_epochs", "max_steps", "datasets", "adapter", "optimizer")
)


def recognises(launch: Launch) -> bool:
    """Whether a launch trains by axolotl's command or module."""
    return launch.program == MODULE or (
        launch.program == NAME and len(launch.args) > 1 and launch.args[0].text == "train"
    )


def recognises_document(root: Value) -> bool:
    """Whether a YAML document has a base model and two keys of axolotl's training."""
    return isinstance(root.data, dict) and "base_model" in root.data and len(TRAINING & root.data.keys()) >= 2


def read(launch: Launch, path: str, run: RunConfig, repository: Repository) -> list[Problem]:
    """Read the YAML that a launch names, and the flags after it, into `run`; what follows `--` is the launcher's."""
    words = launch.args if launch.program == MODULE else launch.args[1:]
    name = next((word.text for word in words if word.text.endswith((".yaml", ".yml"))), "")
    root = document_at(name, os.path.dirname(path), repository, "pyyaml")
    if root is not None:
        trees.put_tree(root, run, skip=())
    run.complete = root is not None
    for flag, setting in _flags(words):
        run.options.put(NAME, flag, setting)
    return []


def _flags(words: Sequence[Word]) -> Iterator[tuple[str, Setting]]:
    """(key of the file, setting) of `--lora-r 32`, `--trl.beta=0.1`, `--flash-attention`, `--no-flash-attention`."""
    for flag in arguments(words[: _end(words)]).values():
        key = flag.name.removeprefix("--").replace("-", "_")
        if flag.value is not None:
            yield key, flags.word_setting(flag.value, key, "override")
        else:
            on = not key.startswith("no_")
            key = key.removeprefix("no_")
            yield key, Setting("known", on, (Origin("override", flag.span, (), "", key, on),))


def _end(words: Sequence[Word]) -> int:
    return next((at for at, word in enumerate(words) if word.text == "--"), len(words))


def read_document(root: Value, path: str, run: RunConfig, repository: Repository) -> list[Problem]:
    """Read a YAML config into `run`; the line that names it may say more."""
    run.complete = False
    trees.put_tree(root, run, skip=())
    return []


def unify(run: RunConfig) -> None:
    """Fill the unified fields from axolotl's options."""
    fields = run.fields
    copy(
        run,
        {"model_path": "base_model", "torch_compile": "torch_compile", "sequence_parallel": "context_parallel_size"},
    )
    bf16, fp16 = given(run, "bf16"), given(run, "fp16")
    if isinstance(bf16.value, bool) or isinstance(fp16.value, bool):
        precision(run, bf16, fp16)
    if not deepspeed.configured(run.options):
        copy(run, {"gradient_clipping": "max_grad_norm"})
    if fields.get("optimizer", UNSET).unset:
        copy(run, {"optimizer": "optimizer"})
    version = given(run, "fsdp_version")
    if version.known and not given(run, "fsdp_config.reshard_after_forward", "fsdp").unset:
        fields["fsdp_mode"] = version.map(lambda number: f"fsdp{number}")
    fields["lora_rank"] = _lora_rank(run)
    experts(run, given(run, "base_model"))
    kind = given(run, "rl")
    if kind.value == "grpo":
        fields["algorithm"] = kind
        fields["use_critic"] = derived(False, kind, note="GRPO has no critic")
        copy(run, {"group_size": "trl.num_generations", "rollout_tp": "vllm.tensor_parallel_size"})
        engine = given(run, "trl.use_vllm")
        if engine.known:
            fields["rollout_engine"] = engine.map(lambda on: "vllm" if on is True else "transformers")


def _lora_rank(run: RunConfig) -> Setting:
    """`lora_r`, while `adapter` is lora or qlora."""
    adapter, rank = given(run, "adapter"), given(run, "lora_r")
    if not adapter.decided:
        return adapter
    if adapter.value in ("lora", "qlora"):
        return rank
    return derived(0, rank, note="without adapter there is no LoRA") if rank.explicit else UNSET
