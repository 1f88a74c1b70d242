"""What inference servers share: the engine that they are, its parallel sizes, its model and type."""

from __future__ import annotations

from grpo_lint.frameworks.shape import copy, dtype, experts, given
from grpo_lint.unified import Origin, Setting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from re import Pattern

    from grpo_lint.launch import Launch
    from grpo_lint.located import Word
    from grpo_lint.runconfig import RunConfig


def starts(launch: Launch, name: str, module: Pattern[str]) -> bool:
    """Whether a launch starts a server: by its command's `serve`, or by its module."""
    if launch.program == name:
        return bool(launch.args) and launch.args[0].text == "serve"
    return module.search(launch.program) is not None


def config_word(words: Sequence[Word]) -> list[Word]:
    """The words among which a server looks for its file: it reads `--config x.yaml`, and passes over `--config=x.yaml`
    (`if "--config" in args`, vLLM 0.33.0 utils/argparse_utils.py, SGLang 0.5.23 srt/server_args.py)."""
    return [word for word in words if not word.text.startswith("--config=")]


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
