"""The environment that a Ray job gets by `ray job submit --runtime-env x.yaml` or `--runtime-env-json '{...}'`.

Read: Ray 2.49 (dashboard/modules/job/cli.py). The two exclude each other; `env_vars` rules over what the shell exports,
which reaches the job only where the cluster was started from it.
"""

from __future__ import annotations

from grpo_lint.frameworks.deepspeed import as_setting
from grpo_lint.frameworks.documents import document_at, paths_of
from grpo_lint.located import DYNAMIC
from grpo_lint.unified import Origin, unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpo_lint.discover import Repository
    from grpo_lint.launch import Flag
    from grpo_lint.located import Value, Word
    from grpo_lint.runconfig import RunConfig

FLAGS = ("--runtime-env-json", "--runtime-env")


def read(flags: Sequence[Flag], folder: str, run: RunConfig, repository: Repository) -> None:
    """Put what the flags of `ray job submit` set into the run's environment."""
    for flag in flags:
        if flag.name not in FLAGS or flag.value is None:
            continue
        root = _json(flag.value) if flag.name == FLAGS[0] else _file(flag.value, folder, repository)
        variables = root.get("env_vars") if root is not None and root.is_mapping else None
        for name, value in variables.data.items() if variables is not None and variables.is_mapping else ():
            text = str(value.plain())
            origin = Origin("environment", value.span, value.via, "", str(name), text)
            hidden = DYNAMIC in text
            run.env[str(name)] = (
                unknown(flag.value.reason, origin) if hidden else as_setting(value, str(name), "environment", text)
            )


def _json(word: Word) -> Value | None:
    from grpo_lint.syntax import json

    return json.read_text(word.text, lambda start, end: word.cut(start, end).span, False).root


def _file(word: Word, folder: str, repository: Repository) -> Value | None:
    roots = (document_at(name, folder, repository, "pyyaml") for name in (word.text, *paths_of(word)))
    return next((root for root in roots if root is not None), None)
