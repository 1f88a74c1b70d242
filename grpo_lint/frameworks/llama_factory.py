"""LLaMA-Factory: flat YAML for `llamafactory-cli train x.yaml a=b`, on Hugging Face's trainer.

Read: 0.9.1 to 0.9.4 and main of August 2026 (hparams/parser.py: a file's keys and the words after it go to
HfArgumentParser.parse_dict, which refuses a key that no dataclass has; a line without a file is parsed as flags).
"""

from __future__ import annotations

import os

from grpo_lint.frameworks import deepspeed, flags, huggingface
from grpo_lint.frameworks.documents import document_at
from grpo_lint.frameworks.shape import experts, given
from grpo_lint.runconfig import default
from grpo_lint.unified import UNSET, Setting, derived

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.discover import Repository
    from grpo_lint.launch import Launch
    from grpo_lint.located import Problem, Value
    from grpo_lint.runconfig import RunConfig

NAME = "llama_factory"

DIALECT = flags.Dialect(NAME, ((NAME, ""),), folds="_", bools="optional", inherits=True)

PROGRAMS = ("llamafactory-cli", "lmf")
SCRIPTS = ("train.py", "train_bash.py", "launcher.py")
"""What the command starts under torchrun; `src/train_bash.py` up to 0.6."""
FILES = (".yaml", ".yml", ".json")
OWN = frozenset(("--finetuning_type", "--template", "--dataset", "--dataset_dir", "--cutoff_len", "--lora_target"))
STAGES = ("pt", "sft", "rm", "ppo", "dpo", "kto")


def recognises(launch: Launch) -> bool:
    """Whether a launch trains by LLaMA-Factory's command, or by the script behind it with options of its own."""
    if launch.program in PROGRAMS:
        return bool(launch.args) and launch.args[0].text == "train"
    names = {word.text.partition("=")[0] for word in launch.args}
    return launch.program.endswith(SCRIPTS) and "--stage" in names and len(OWN & names) >= 2


def names_own_config(launch: Launch, folder: str, repository: Repository) -> bool:
    """Whether the first argument of a program names a YAML of LLaMA-Factory's."""
    name = launch.args[0].text if launch.args and launch.program.endswith(SCRIPTS) else ""
    root = document_at(name, folder, repository, "omegaconf") if name.endswith(FILES) else None
    return root is not None and recognises_document(root)


def recognises_document(root: Value) -> bool:
    """Whether a YAML document names a stage of LLaMA-Factory's and a way to tune."""
    if not isinstance(root.data, dict) or "model_name_or_path" not in root.data:
        return False
    stage = root.data.get("stage")
    return stage is not None and stage.data in STAGES and bool({"finetuning_type", "template"} & root.data.keys())


def read(launch: Launch, path: str, run: RunConfig, repository: Repository) -> list[Problem]:
    """Read the YAML that a launch names, and the words after it, into `run`."""
    run.arguments = flags.Arguments()
    words = launch.args[1:] if launch.program in PROGRAMS else launch.args
    if words and words[0].text.endswith(FILES):
        root = document_at(words[0].text, os.path.dirname(path), repository, "omegaconf")
        run.complete = root is not None
        if root is not None:
            _put_document(root, run)
        for word in words[1:]:
            name, equals, _ = word.text.partition("=")
            if equals and name.isidentifier():
                setting = flags.word_setting(word.cut(len(name) + 1), name, "override")
                run.options.put(NAME, f"--{name}", setting)
        return []
    flags.put(flags.parse(words, DIALECT), run, DIALECT)
    return []


def read_document(root: Value, path: str, run: RunConfig, repository: Repository) -> list[Problem]:
    """Read a YAML config into `run`; the line that names it may say more."""
    run.arguments = flags.Arguments()
    run.complete = False
    _put_document(root, run)
    return []


def _put_document(root: Value, run: RunConfig) -> None:
    for key, value in root.data.items():
        run.options.put(NAME, f"--{key}", deepspeed.as_setting(value, str(key), "file"))


def unify(run: RunConfig) -> None:
    """Fill the unified fields from LLaMA-Factory's options."""
    huggingface.unify_trainer(run)
    fields = run.fields
    fields["lora_rank"] = _lora_rank(run)
    experts(run, given(run, "--model_name_or_path"))
    stage = given(run, "--stage")
    if stage.value == "ppo":
        fields["algorithm"] = derived("gae", stage, note="PPO with a value head")
        fields["use_critic"] = derived(True, stage, note="PPO trains a value head")


def _lora_rank(run: RunConfig) -> Setting:
    """`lora_rank` (8) where the model is tuned by LoRA, which it is by default."""
    kind, rank = given(run, "--finetuning_type"), given(run, "--lora_rank")
    if not kind.decided:
        return kind
    if kind.value not in (None, "lora"):
        return derived(0, kind, note="the tuner is not LoRA") if kind.value in ("full", "freeze") else UNSET
    return default(8, "default of LLaMA-Factory", "lora_rank") if rank.unset else rank
