"""What a Hugging Face program and its launcher name besides: DeepSpeed's JSON, accelerate's YAML."""

from __future__ import annotations

import os

from grpo_lint.frameworks import deepspeed, launchers
from grpo_lint.frameworks.documents import document_at, paths_of
from grpo_lint.frameworks.shape import given
from grpo_lint.launch import arguments
from grpo_lint.unified import Setting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.discover import Repository
    from grpo_lint.launch import Flag, Launch
    from grpo_lint.located import Word
    from grpo_lint.runconfig import RunConfig

ACCELERATE = "accelerate"
DEEPSPEED_FLAGS = ("--deepspeed_config", "--ds_config", "--deepspeed")
"""The arguments by which programs take a DeepSpeed JSON. `--deepspeed` is a switch where its own parser adds it
(`deepspeed.add_config_arguments`), and a path where Hugging Face's trainer does."""


def read(launch: Launch, folder: str, run: RunConfig, repository: Repository) -> None:
    """Read what a launch names into its run. A run that nobody recognised is DeepSpeed's where that takes part."""
    told = arguments(launch.args)
    flag = next((told[name] for name in DEEPSPEED_FLAGS if name in told and told[name].value is not None), None)
    if flag is not None and flag.value is not None:
        _deepspeed_at(flag.value, folder, run, repository)
    else:
        _own_deepspeed(run, folder, repository)
    for wrapper in launch.wrappers:
        if wrapper.name == ACCELERATE:
            from grpo_lint.frameworks import accelerate

            words = [flag.value for flag in wrapper.flags if flag.name == "--config_file" and flag.value is not None]
            _accelerate_file(words, folder, run, repository)
            accelerate.read_flags(wrapper.flags, run.options)
        elif wrapper.name == deepspeed.NAME:
            launchers.resolve_deepspeed(run, folder, repository)
    if not any(run.options.written(deepspeed.NAME)):
        return
    own = run.framework != ""
    run.framework = run.framework or deepspeed.NAME
    framework = run.framework

    def argument(name: str) -> Setting:
        return run.option(framework, name) if own else _flag_setting(told.get(name), name)

    deepspeed.fill_auto(run.options, argument)


def read_named(run: RunConfig, folder: str, repository: Repository) -> None:
    """Read the DeepSpeed JSON that a config file names into its run."""
    if run.framework == ACCELERATE:
        _deepspeed_of_accelerate(run, folder, repository)
    else:
        _own_deepspeed(run, folder, repository)
        deepspeed.fill_auto(run.options, lambda name: given(run, name, name.removeprefix("--")))


def _deepspeed_of_accelerate(run: RunConfig, folder: str, repository: Repository) -> None:
    from grpo_lint.frameworks import accelerate

    named = accelerate.deepspeed_file(run.options)
    if not named.unset:
        _deepspeed_file((str(named.value),) if named.known else (), folder, run, repository)


def _own_deepspeed(run: RunConfig, folder: str, repository: Repository) -> None:
    """Read the DeepSpeed JSON that a framework's own option names into the run."""
    for key in ("--deepspeed", "deepspeed"):
        named = run.option(run.framework, key)
        if named.known and isinstance(named.value, str) and named.value:
            _deepspeed_file((named.value,), folder, run, repository)


def _deepspeed_at(word: Word, folder: str, run: RunConfig, repository: Repository) -> None:
    """Read DeepSpeed's config from an argument: the file that it names, or JSON that it is itself."""
    if word.text.lstrip().startswith("{"):
        from grpo_lint.syntax import json

        root = json.read_text(word.text, lambda start, end: word.cut(start, end).span, False).root
        if root is not None and not word.dynamic and deepspeed.recognises_document(root):
            deepspeed.read_into(root, run.options)
            return
    _deepspeed_file((word.text, *paths_of(word)), folder, run, repository)


def _deepspeed_file(names: tuple[str, ...], folder: str, run: RunConfig, repository: Repository) -> None:
    """Read a DeepSpeed JSON by its path, of which several may be tried; note when it can't be had.

    A name without a suffix is no path, but a config that the framework brings.
    """
    if names and not os.path.splitext(names[0])[1]:
        return
    for name in names:
        root = document_at(name, folder, repository, "pyyaml")
        if root is not None and deepspeed.recognises_document(root):
            deepspeed.read_into(root, run.options)
            return
    run.complete = False


def _accelerate_file(words: list[Word], folder: str, run: RunConfig, repository: Repository) -> None:
    """`accelerate launch --config_file x.yaml`: the file's settings, those of DeepSpeed's JSON included."""
    from grpo_lint.frameworks import accelerate

    for name in (name for word in words for name in (word.text, *paths_of(word))):
        root = document_at(name, folder, repository, "pyyaml")
        if root is not None and accelerate.recognises_document(root):
            run.framework = run.framework or ACCELERATE
            accelerate.read_into(root, run.options)
            if not deepspeed.configured(run.options):
                path = repository.find(name, folder) or repository.find(name, repository.root)
                place = os.path.dirname(path) if path is not None else folder
                _deepspeed_of_accelerate(run, place, repository)
            return


def _flag_setting(flag: Flag | None, name: str) -> Setting:
    return deepspeed.flag_setting(flag, name) if flag is not None else Setting("unset")
