"""MindIE: the service's config.json (MindIE-LLM, main of 2026-04-23)."""

from __future__ import annotations

from grpo_lint.frameworks.deepspeed import as_setting
from grpo_lint.frameworks.shape import copy, experts, given
from grpo_lint.unified import Origin, Setting, derived

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.discover import Repository
    from grpo_lint.located import Problem, Value
    from grpo_lint.runconfig import RunConfig

NAME = "mindie"

DEPLOY = "BackendConfig.ModelDeployConfig"
MODEL = f"{DEPLOY}.ModelConfig"


def recognises_document(root: Value) -> bool:
    """Whether a JSON document is the service's config: a backend that deploys models."""
    return root.is_mapping and root.get(DEPLOY) is not None


def read_document(root: Value, path: str, run: RunConfig, repository: Repository) -> list[Problem]:
    """Read the config into `run`; of several models, the first has its keys under `ModelConfig` itself."""
    for key, value in root.leaves():
        items = value.data if value.is_list and key == MODEL else []
        for item in items[:1]:
            for inner, leaf in item.leaves(key):
                run.options.put(NAME, inner, as_setting(leaf, inner, "file"))
        if len(items) != 1:
            run.options.put(NAME, key, as_setting(value, key, "file"))
    return []


def unify(run: RunConfig) -> None:
    """Fill the unified fields from the service's options."""
    fields = run.fields
    origin = Origin("file", run.anchor, (), "whose config this is", "", NAME)
    fields["rollout_engine"] = Setting("known", NAME, (origin,))
    copy(run, {"model_path": f"{MODEL}.modelWeightPath", "tp": f"{MODEL}.tp", "pp": f"{MODEL}.pp"})
    devices = given(run, "BackendConfig.npuDeviceIds")
    if devices.known and isinstance(devices.value, list) and devices.value and isinstance(devices.value[0], list):
        fields["n_gpus"] = derived(len(devices.value[0]), devices, note="the first model's devices")
    experts(run, given(run, f"{MODEL}.modelWeightPath"))
