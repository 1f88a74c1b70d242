"""Names that mean something to the shell or that every environment sets."""

from __future__ import annotations

import re

ENVIRONMENT = frozenset(
    (
        "DISPLAY", "EDITOR", "HOME", "HOST", "HOSTNAME", "HOSTTYPE", "LANG", "LC_ALL", "LOGNAME", "MAIL", "OLDPWD",
        "OSTYPE", "PATH", "PWD", "SHELL", "SHLVL", "TERM", "TMPDIR", "TZ", "USER", "XDG_CACHE_HOME", "XDG_CONFIG_HOME",
        "XDG_DATA_HOME", "XDG_RUNTIME_DIR",
    )
)  # fmt: skip
"""Set wherever a script runs, so that a default such as `${HOME:-/root}` is hardly ever taken."""

ALWAYS_SET = frozenset(
    ("HOME", "HOSTNAME", "HOSTTYPE", "LOGNAME", "OSTYPE", "PATH", "SHELL", "SHLVL", "USER", "OLDPWD")
)

SHELL_MADE = frozenset(
    (
        "BASH", "BASHPID", "BASH_COMMAND", "BASH_VERSION", "BASH_VERSINFO", "COLUMNS", "COMP_WORDBREAKS", "DIRSTACK",
        "EPOCHREALTIME", "EPOCHSECONDS", "EUID", "GROUPS", "LINENO", "LINES", "MACHTYPE", "PIPESTATUS", "PPID",
        "RANDOM", "REPLY", "SECONDS", "SHELLOPTS", "SRANDOM", "UID",
    )
)  # fmt: skip
"""Made by bash itself, from what is not in the script."""

# Compiled when it is needed, as all expressions here that few scripts need.
SCHEDULED = (
    r"(?:SLURM|PMI|OMPI|PBS|LSB|SGE|KUBERNETES|MLP|VC|DLC|PET|VOLC|ARNOLD|MPI|JOB|CUDA|NCCL|ASCEND|HCCL|CONDA|VIRTUAL_ENV|"
    r"PYTHON|LD|AWS|HF|WANDB|HUGGING_?FACE|OPENAI|GITHUB|CI|RAY|NVIDIA|ROCR|HIP|TORCH|TRITON|GLOO|UCX|SSH|S3|SWANLAB|"
    r"MODELSCOPE|DOCKER|INSTANCE|POD|NODE)(?:_|$)|"
    r"(?:LOCAL_|GROUP_|ROLE_|NODE_)?(?:RANK|WORLD_SIZE)$|MASTER_(?:ADDR|PORT)$|N?NODES?(?:_RANK|_COUNT|_IP_LIST)?$|"
    r"(?:HTTPS?|NO|http|https|no)_(?:PROXY|proxy)$"
)
"""Set by a scheduler, a launcher or an installation rather than by scripts."""


def from_environment(name: str) -> bool:
    """Whether the environment rather than the script is where a variable of this name comes from."""
    return name in ENVIRONMENT or name in SHELL_MADE or re.match(SCHEDULED, name) is not None
