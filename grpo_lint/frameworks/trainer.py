"""Programs of any name whose command line is that of Hugging Face's TrainingArguments (transformers 5.24.0)."""

from __future__ import annotations

from grpo_lint.frameworks import flags, huggingface
from grpo_lint.frameworks.shape import experts, given

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.discover import Repository
    from grpo_lint.launch import Launch
    from grpo_lint.located import Problem
    from grpo_lint.runconfig import RunConfig

NAME = "transformers"

DIALECT = flags.Dialect(NAME, (("trl", ""),), folds="_", bools="optional", inherits=True)

TELLING = frozenset(
    (
        "--per_device_train_batch_size", "--per_device_eval_batch_size", "--save_strategy", "--save_total_limit",
        "--evaluation_strategy", "--eval_strategy", "--logging_strategy", "--logging_steps", "--report_to",
        "--ddp_timeout", "--lr_scheduler_type", "--warmup_ratio", "--dataloader_num_workers", "--tf32",
        "--remove_unused_columns", "--gradient_accumulation_steps", "--num_train_epochs", "--save_only_model",
        "--overwrite_output_dir", "--max_grad_norm",
    )
)  # fmt: skip
"""TrainingArguments' own names; four of them make a line one of its kind."""
FOREIGN = frozenset(("--zero_stage", "--rlhf_type", "--finetuning_type", "--stage", "--train_type", "--sft_type"))
"""Names of parsers that share the common ones: DeepSpeed-Chat's, ms-swift's, LLaMA-Factory's."""


def recognises(launch: Launch) -> bool:
    """Whether a launch runs a program with TrainingArguments on its line."""
    if not launch.is_module and not launch.program.endswith(".py"):
        return False
    names = {word.text.partition("=")[0].replace("-", "_").replace("__", "--", 1) for word in launch.args}
    return len(TELLING & names) >= 4 and not FOREIGN & names


def read(launch: Launch, path: str, run: RunConfig, repository: Repository) -> list[Problem]:
    """Read a launch's arguments into `run`. A program's own options are kept as they stand."""
    flags.put(flags.parse(launch.args, DIALECT), run, DIALECT)
    return []


def unify(run: RunConfig) -> None:
    """Fill the unified fields from TrainingArguments."""
    huggingface.unify_trainer(run)
    experts(run, given(run, "--model_name_or_path"))
