"""What inference servers share: the engine that they are, its parallel sizes, its model and type."""

from __future__ import annotations

from grpo_lint.frameworks.shape import copy, dtype, experts, given
from grpo_lint.unified import Origin, Setting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.runconfig import RunConfig


def unify(run: RunConfig, engine: str, *, model: str, tp: str, pp: str) -> None:
    """The fields of a server whose options `model`, `tp` and `pp` name its model and sizes."""
    fields = run.fields
    origin = Origin("override" if run.command else "file", run.anchor, (), "what the command starts", "", engine)
    fields["rollout_engine"] = Setting("known", engine, (origin,))
    copy(run, {"tp": tp, "pp": pp, "model_path": model})
    kind = dtype(given(run, "--dtype"))
    if not kind.unset:
        fields["model_dtype"] = kind
    experts(run, given(run, model))


def verbatim(setting: Setting) -> Setting:
    """What the platform fills in is not known, but shown as it is written: `$(LWS_GROUP_SIZE)`."""
    if setting.state == "unknown" and setting.reason.startswith("$("):
        return Setting("unknown", setting.reason, setting.chain, (), setting.reason)
    return setting
