"""Which frameworks are read, and what shows cheaply that a file or a launch may be theirs.

A reader's module is imported only then. It defines, as far as its framework has the form:

    recognises(launch) -> bool                 read(launch, path, run, repository) -> list[Problem]
    names_own_config(launch, folder, repository) -> bool: where only the file that a launch names tells whose it is
    recognises_document(root) -> bool          read_document(root, path, run, repository) -> list[Problem]
    unify(run) -> None                         fill the unified fields from the run's options
"""

from __future__ import annotations

from grpo_lint.modules import module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType


class Reader:
    """A framework's entry.

    `documents` is the kind of file that holds its config ("json", "yaml", "toml"), "" if none does; `markers` are
    texts of which such a file holds at least one. `yaml` names whose rules resolve scalars: "pyyaml" or "omegaconf".
    `launches` are texts of which the program, an argument of its
    launches, or the program with its first argument holds one. `companions`: its launches may
    name a DeepSpeed JSON or an accelerate YAML, as programs on Hugging Face's trainer do.
    """

    __slots__ = ("companions", "documents", "launches", "markers", "module", "name", "yaml")

    def __init__(
        self,
        name: str,
        module: str,
        *,
        documents: str = "",
        markers: tuple[str, ...] = (),
        yaml: str = "omegaconf",
        launches: tuple[str, ...] = (),
        companions: bool = False,
    ) -> None:
        self.name = name
        self.module = module
        self.documents = documents
        self.markers = markers
        self.yaml = yaml
        self.launches = launches
        self.companions = companions

    def load(self) -> ModuleType:
        return module(f"frameworks.{self.module}")


READERS = (
    Reader(
        "accelerate",
        "accelerate",
        documents="yaml",
        markers=("compute_environment", "distributed_type"),
        yaml="pyyaml",
    ),
    Reader("rllm", "rllm", documents="yaml", markers=("\nrllm:", "tinker_base_url:"), launches=("rllm.", "rllm/")),
    Reader(
        "verl",
        "verl_source",
        documents="yaml",
        markers=("actor_rollout_ref", "ppo_trainer", "ppo_megatron_trainer"),
        launches=("verl.", "main_ppo", "actor_rollout_ref.", "algorithm.adv_estimator="),
    ),
    Reader("mindie", "mindie", documents="json", markers=("ModelDeployConfig",)),
    Reader(
        "nemo_rl",
        "nemo_rl",
        documents="yaml",
        markers=("\npolicy:", "\ngrpo:", "\nloss_fn:", "\ncheckpointing:"),
        launches=("run_grpo", "run_vlm_grpo", "run_sft", "run_dpo", "run_distillation", "run_ppo"),
    ),
    Reader(
        "areal",
        "areal",
        documents="yaml",
        markers=("\ngconfig:", "\nallocation_mode:", "\nactor:"),
        launches=("areal", "_grpo.", "_rl.py"),
    ),
    Reader("roll", "roll", documents="yaml", markers=("\nactor_train:",), launches=("_pipeline.py",)),
    Reader(
        "slime",
        "slime",
        launches=(
            "--advantage-estimator",
            "--n-samples-per-prompt",
            "--rollout-num-gpus",
            "--rollout-batch-size",
            "--actor-num-gpus-per-node",
        ),
    ),
    Reader(
        "megatron",
        "megatron",
        documents="yaml",
        markers=("MODEL_ARGS", "model_parallel:", "\ntrain:"),
        yaml="pyyaml",
        launches=(
            "--tensor-model-parallel-size",
            "--micro-batch-size",
            "--seq-length",
            "--num-attention-heads",
            "--yaml-cfg",
            "--config-file",
        ),
    ),
    Reader("easyr1", "easyr1", documents="yaml", markers=("\nworker:",), launches=("verl.trainer.main", "worker.")),
    Reader(
        "llama_factory",
        "llama_factory",
        documents="yaml",
        markers=("\nstage:", "\nfinetuning_type:"),
        launches=("llamafactory-cli", "lmf train", "--finetuning_type", "src/train"),
        companions=True,
    ),
    Reader(
        "axolotl",
        "axolotl",
        documents="yaml",
        markers=("base_model:",),
        yaml="pyyaml",
        launches=("axolotl",),
        companions=True,
    ),
    Reader("openrlhf", "openrlhf", launches=("openrlhf",)),
    Reader(
        "prime_rl",
        "prime_rl",
        documents="toml",
        markers=("[orchestrator", "rollouts_per_example", "group_size"),
        launches=("prime_rl", "rl @"),
    ),
    Reader(
        "vllm",
        "vllm",
        documents="yaml",
        markers=("tensor-parallel-size", "max-model-len", "gpu-memory-utilization", "max_model_len"),
        yaml="pyyaml",
        launches=("vllm", "engine_kwargs", "server_parameters"),
    ),
    Reader(
        "sglang",
        "sglang",
        documents="yaml",
        markers=("mem-fraction-static", "mem_fraction_static", "model-path:", "model_path:"),
        yaml="pyyaml",
        launches=("sglang",),
    ),
    Reader(
        "ms_swift",
        "ms_swift",
        documents="yaml",
        markers=("tuner_type:", "train_type:", "rlhf_type:"),
        yaml="pyyaml",
        launches=("swift", "megatron"),
        companions=True,
    ),
    Reader(
        "trl",
        "trl",
        documents="yaml",
        markers=("per_device_train_batch_size", "gradient_accumulation_steps", "num_generations", "lr_scheduler_type"),
        yaml="pyyaml",
        launches=("trl", "grpo", "num_generations", "num-generations", "reward_funcs"),
        companions=True,
    ),
    Reader(
        "transformers",
        "trainer",
        launches=("per_device_train_batch_size", "gradient_accumulation_steps", "per-device-train-batch-size"),
        companions=True,
    ),
    Reader(
        "deepspeed",
        "deepspeed",
        documents="json",
        markers=("zero_optimization", "train_micro_batch_size_per_gpu", "train_batch_size", "steps_per_print"),
    ),
)
"""In the order in which they are asked: the first that recognises a launch or a document has it."""

COMPANIONS = ("deepspeed", "accelerate", "verl")
"""The markers of launches that name configs of these besides their own program's."""


COMMAND_KEYS = (
    "containers:", "services:", "run:", "command:", "cmd:", "setup:", "script:", "commands:", "entrypoint:",
    "container:", ".sh:", "servingEngineSpec:", "VLLMRuntime", "engine_kwargs:", "server_parameters", ".yaml:",
)  # fmt: skip
"""What YAML files have that hold commands."""


PYTHON = ("GRPOConfig", "RLOOConfig", "OnlineDPOConfig")
"""Classes of TRL's that Python source builds configs by."""


_MARKERS: dict[str, tuple[bytes, ...]] = {}


def markers(kind: str = "shell") -> tuple[bytes, ...]:
    """The words of which every file of ours holds one; of a kind that holds nothing but some forms, fewer."""
    if kind not in _MARKERS:
        words = {word for reader in READERS for word in (*reader.markers, *reader.launches)} | set(COMPANIONS)
        if kind == "python":
            words = set(PYTHON)
        elif kind == "toml":
            words = {word for reader in READERS if reader.documents == kind for word in reader.markers}
        elif kind in ("markdown", "notebook"):
            words |= set(PYTHON)
        _MARKERS[kind] = tuple(sorted(word.encode() for word in words))
    return _MARKERS[kind]


def for_document(kind: str, text: str) -> Iterator[Reader]:
    """The readers whose markers a document's text holds."""
    for reader in READERS:
        if reader.documents == kind and any(_stands_in(text, marker) for marker in reader.markers):
            yield reader


def _stands_in(text: str, marker: str) -> bool:
    """Whether a text holds a marker; one that starts a line may start the text, too."""
    return marker in text or (marker.startswith("\n") and text.startswith(marker[1:]))


def holds_launch(text: str) -> bool:
    """Whether a text may hold the launch of a program of ours."""
    return any(marker in text for reader in READERS for marker in reader.launches)


def holds_python(text: str) -> bool:
    """Whether Python source may build a config of ours."""
    return any(name in text for name in PYTHON)


def may_hold_commands(text: str) -> bool:
    """Whether a YAML text may start a program of ours, as manifests and descriptions of jobs do."""
    return any(key in text for key in COMMAND_KEYS) and holds_launch(text)


def for_launch(words: list[str]) -> Iterator[Reader]:
    """The readers whose markers the words of a launch hold."""
    for reader in READERS:
        if any(marker in word for marker in reader.launches for word in words):
            yield reader


def named(name: str) -> Reader | None:
    return next((reader for reader in READERS if reader.name == name), None)
