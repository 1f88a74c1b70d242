"""rLLM: command lines with `rllm.*` overrides, mostly beside verl's own, and YAML with a section `rllm`.

Read: v0.2.0 to main of 2026-08-15 (rllm/trainer/config/, rllm/trainer/verl/utils.py: `sync_config`). Where both name a
setting, rLLM's own key rules over verl's on the line, and the line over the files. verl's keys are kept as verl's.
"""

from __future__ import annotations

from grpo_lint.frameworks import trees, verl
from grpo_lint.frameworks.deepspeed import as_setting
from grpo_lint.unified import UNSET, Setting, derived

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.discover import Repository
    from grpo_lint.launch import Launch
    from grpo_lint.located import Problem, Value, Word
    from grpo_lint.runconfig import RunConfig

NAME = "rllm"

TELLING = ("rllm.", "rllm/")
MIRRORED = {
    # unified field: (rLLM's key, verl's key)
    "group_size": ("rllm.rollout.n", f"{verl.ROLLOUT}.n"),
    "algorithm": ("rllm.algorithm.adv_estimator", "algorithm.adv_estimator"),
}


HOSTED = {"model_path": "model.name", "lora_rank": "model.lora_rank", "group_size": "training.group_size"}


def _is_own(word: Word) -> bool:
    return word.text.lstrip("+~").startswith(TELLING)


def recognises(launch: Launch) -> bool:
    """Whether two or more overrides of a launch are rLLM's own."""
    return sum(_is_own(word) for word in launch.args) >= 2


def recognises_document(root: Value) -> bool:
    """Whether a YAML document has rLLM's section, with parts of its kind."""
    section = root.data.get(NAME) if root.is_mapping else None
    if root.is_mapping and "tinker_base_url" in root.data:
        return root.get("model.name") is not None and root.get("training.group_size") is not None
    parts = {"algorithm", "trainer", "rollout", "stepwise_advantage", "workflow", "agent"}
    return section is not None and section.is_mapping and bool(parts & section.data.keys())


def read(launch: Launch, path: str, run: RunConfig, repository: Repository) -> list[Problem]:
    """Read a launch's overrides into `run`. The tree below them is the program's own, and is not at hand."""
    run.complete = False
    own = [word for word in launch.args if _is_own(word)]
    others = [word for word in launch.args if not _is_own(word)]
    return [*trees.put_overrides(own, run), *trees.put_overrides(others, run, verl.NAME)]


def read_document(root: Value, path: str, run: RunConfig, repository: Repository) -> list[Problem]:
    """Read a YAML config into `run`."""
    run.complete = "defaults" not in root.data
    for key, value in root.leaves():
        top = key.split(".", 1)[0]
        if top not in ("defaults", "hydra"):
            framework = NAME if top in (NAME, "backend") else verl.NAME
            run.options.put(framework, key, as_setting(value, key, "file"))
    return []


def unify(run: RunConfig) -> None:
    """Fill the unified fields: verl's, and over them what rLLM's own keys say."""
    if any(True for _ in run.options.below(verl.NAME, "actor_rollout_ref")):
        verl.unify(run)
    fields = run.fields
    for field, (own, mirrored) in MIRRORED.items():
        fields[field] = _stronger(trees.option(run, own), run.option(verl.NAME, mirrored))
    _unify_hosted(run)
    estimator = fields["algorithm"]
    if estimator.known:
        fields["use_critic"] = derived(estimator.value == "gae", estimator, note="gae alone trains a critic")
    separate = trees.option(run, "rllm.async_training.enable")
    fields["async_rollout"] = separate.map(lambda on: on is True) if not separate.unset else UNSET


def _unify_hosted(run: RunConfig) -> None:
    """The backends that train elsewhere (tinker, fireworks) have sections of their own."""
    for field, key in HOSTED.items():
        setting = run.option(verl.NAME, key)
        if setting.known and "${" not in str(setting.value) and run.fields.get(field, UNSET).unset:
            run.fields[field] = setting


def _stronger(own: Setting, mirrored: Setting) -> Setting:
    """rLLM's key on the line, then verl's there, then rLLM's in a file; verl's in a file never counts, since rLLM's
    own default, which is in every tree, rules over it."""
    for setting, layer in ((own, "override"), (mirrored, "override"), (own, "file")):
        if setting.origin is not None and setting.origin.layer == layer:
            return setting
    return UNSET
