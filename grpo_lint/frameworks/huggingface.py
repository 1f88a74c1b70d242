"""What programs on Hugging Face's Trainer share: the fields that its arguments decide.

Read: transformers 5.24.0 (training_args.py, hf_argparser.py), TRL 0.14.0 to 1.16.0.
"""

from __future__ import annotations

from grpo_lint.frameworks import deepspeed
from grpo_lint.frameworks.shape import copy, dtype, given, precision, quotient
from grpo_lint.unified import UNSET, Setting, derived

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.runconfig import RunConfig


def unify_trainer(run: RunConfig) -> None:
    """The fields that TrainingArguments decide. A DeepSpeed JSON has its own clipping threshold, and may have its own
    optimizer; without one it gets the trainer's."""
    fields = run.fields
    bf16, fp16 = given(run, "--bf16"), given(run, "--fp16")
    if not (bf16.unset and fp16.unset):
        precision(run, bf16, fp16)
    if "model_dtype" not in fields:
        weights = given(run, "--dtype", "--torch_dtype")
        if not dtype(weights).unset:
            fields["model_dtype"] = dtype(weights)
    if not deepspeed.configured(run.options):
        copy(run, {"gradient_clipping": "--max_grad_norm"})
    if fields.get("optimizer", UNSET).unset:
        copy(run, {"optimizer": "--optim"})
    copy(run, {"torch_compile": "--torch_compile", "model_path": "--model_name_or_path"})
    if "fsdp_mode" not in fields and _on(given(run, "--fsdp")):
        version = given(run, "--fsdp_config.version", "--fsdp_config.fsdp_version")
        if version.known:
            fields["fsdp_mode"] = version.map(lambda number: f"fsdp{number}")
    if "dp_size" not in fields or fields["dp_size"].unset:
        size = data_parallel_size(run)
        if not size.unset:
            fields["dp_size"] = size
            fields.setdefault("tp", derived(1, size, note="no tensor parallelism is asked for"))
            fields.setdefault("pp", derived(1, size, note="the trainer has no pipeline"))


def data_parallel_size(run: RunConfig) -> Setting:
    """One rank for each process that the launcher starts."""
    if not run.option("accelerate", "--num_processes").unset:
        return quotient((run.option("accelerate", "--num_processes"),), (), "the number of processes")
    gpus, nodes = run.fields.get("n_gpus", UNSET), run.fields.get("nnodes", UNSET)
    if gpus.unset or run.options.frameworks.isdisjoint(("torchrun", "deepspeed", "slurm", "srun")):
        return UNSET
    return quotient((gpus, *(() if nodes.unset else (nodes,))), (), "processes x nodes")


def _on(setting: Setting) -> bool:
    return setting.known and setting.value not in (None, "", False, [], "false")
