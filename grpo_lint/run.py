"""Runs: a launch or a config file, with every file that it names, as the frameworks would put them together."""

from __future__ import annotations

import os

from grpo_lint.frameworks import accelerate, deepspeed, registry, verl
from grpo_lint.runconfig import Options, RunConfig, Version
from grpo_lint.unified import Origin, Setting, unknown
from grpo_lint.versions import Evidence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from grpo_lint.discover import Kind, Repository
    from grpo_lint.launch import Flag, Launch
    from grpo_lint.located import Problem, Value, Word
    from grpo_lint.source import SourceFile, Span
    from grpo_lint.syntax.document import Document

FRAMEWORKS = (verl.NAME, deepspeed.NAME, accelerate.NAME, "torch", "vllm", "sglang", "transformers", "trl")
"""The packages whose release can be told with `--target`."""

LAUNCHERS = {
    # launcher: {its flag: unified field}
    "torchrun": {"--nproc_per_node": "n_gpus", "--nnodes": "nnodes"},
    "accelerate": {"--num_processes": "n_gpus", "--num_machines": "nnodes"},
    "deepspeed": {"--num_gpus": "n_gpus", "--num_nodes": "nnodes"},
}


class Reading:
    """What one file yields: its runs, and what its readers refused."""

    __slots__ = ("problems", "runs")

    def __init__(self) -> None:
        self.runs: list[RunConfig] = []
        self.problems: list[Problem] = []


class Assembler:
    """Puts runs together from files of one repository, for the releases that the user targets."""

    def __init__(self, repository: Repository, targets: dict[str, str]) -> None:
        self.repository = repository
        self.targets = targets
        self.evidence = Evidence(repository)
        self.versions: dict[str, Version] = {}

    def read(self, source: SourceFile, path: str, kind: Kind) -> Reading:
        """The runs of one file. `path` is where it lies, for the files that it names."""
        reading = Reading()
        told = {name: Version(text, "--target") for name, text in self.targets.items()}
        self.versions = {**self.evidence.versions(path), **told}
        if kind == "shell":
            self._shell(source, path, reading)
        else:
            self._document(source, path, kind, reading)
        return reading

    # -- documents

    def _document(self, source: SourceFile, path: str, kind: Kind, reading: Reading) -> None:
        """A config file: each of its documents goes to the first framework that recognises it."""
        readers = list(registry.for_document(kind, source.text))
        if not readers:
            return
        for document in _documents(source, kind, readers[0].yaml):
            root = document.root
            reader = root and next((r for r in readers if r.load().recognises_document(root)), None)
            if root is None or not reader:
                continue
            reading.problems += document.problems
            run = self._new(reader.name, root)
            reading.problems += reader.load().read_document(root, path, run, self.repository)
            if reader.name == accelerate.NAME:
                self._deepspeed_file(accelerate.deepspeed_file(run.options), os.path.dirname(path), run)
            self._finish(run, reading)

    def _deepspeed_file(self, named: Setting, folder: str, run: RunConfig) -> None:
        """Read the DeepSpeed JSON that a setting names into the run; note when it can't be had."""
        if named.unset:
            return
        root = self._named_json(str(named.value), folder) if named.known else None
        if root is None or not deepspeed.recognises_document(root):
            run.complete = False
            return
        deepspeed.read_into(root, run.options)

    def _named_json(self, name: str, folder: str) -> Value | None:
        """The root of a JSON file that a run names by its path."""
        path = self.repository.find(name, folder)
        source = self.repository.load(path) if path is not None else None
        if source is None:
            return None
        from grpo_lint.syntax import json

        return json.read(source).root

    # -- launches

    def _shell(self, source: SourceFile, path: str, reading: Reading) -> None:
        from grpo_lint.launch import find
        from grpo_lint.syntax import shell

        inside = os.path.relpath(os.path.realpath(path), self.repository.root).replace(os.sep, "/")
        script = shell.run(source, self._loader(path), inside)
        reading.problems += script.problems
        for command in script.commands:
            launch = find(command.argv, command.env)
            if launch is not None:
                launch.when = tuple(condition.text for condition in command.when)
                launch.open_ended = command.open_ended
                self._launch(launch, path, reading)

    def _loader(self, path: str) -> Callable[[str], SourceFile | None]:
        """Reads the files that a script sources or prints, by their paths in the repository or from the script's."""
        root, folder = self.repository.root, os.path.dirname(path)

        def load(name: str) -> SourceFile | None:
            found = self.repository.find(name, root) or self.repository.find(name, folder)
            return self.repository.load(found) if found is not None else None

        return load

    def _launch(self, launch: Launch, path: str, reading: Reading) -> None:
        """A launch goes to the first framework that recognises it; then what else it names is read."""
        run = self._started(launch)
        for reader in registry.for_launch([launch.program, *(word.text for word in launch.args)]):
            if reader.load().recognises(launch):
                run.framework = reader.name
                reading.problems += reader.load().read(launch, path, run, self.repository)
                break
        if run.framework != verl.NAME:
            self._companions(launch, os.path.dirname(path), run)
        if run.framework:
            self._finish(run, reading)

    def _companions(self, launch: Launch, folder: str, run: RunConfig) -> None:
        """The configs that a Hugging Face program and its launcher name: DeepSpeed's JSON, accelerate's YAML."""
        from grpo_lint.launch import arguments

        given = arguments(launch.args)
        self._deepspeed_file(_flag(given, ("--deepspeed", "--deepspeed_config", "--ds_config")), folder, run)
        for wrapper in launch.wrappers:
            if wrapper.name == accelerate.NAME:
                self._accelerate_launch({flag.name: flag for flag in wrapper.flags}, folder, run)
        if any(run.options.written(deepspeed.NAME)):
            run.framework = run.framework or deepspeed.NAME
            deepspeed.fill_auto(run.options, given)

    def _accelerate_launch(self, flags: dict[str, Flag], folder: str, run: RunConfig) -> None:
        """`accelerate launch --config_file x.yaml`: the file's settings, those of DeepSpeed's JSON included."""
        named = _flag(flags, ("--config_file",))
        path = self.repository.find(str(named.value), folder) if named.known else None
        source = self.repository.load(path) if path is not None else None
        if source is None or path is None:
            return
        from grpo_lint.syntax import yaml

        root = next((document.root for document in yaml.read(source, "pyyaml")), None)
        if root is not None and accelerate.recognises_document(root):
            run.framework = run.framework or accelerate.NAME
            accelerate.read_into(root, run.options)
            if not any(run.options.written(deepspeed.NAME)):
                self._deepspeed_file(accelerate.deepspeed_file(run.options), os.path.dirname(path), run)

    # -- both

    def _new(self, framework: str, root: Value) -> RunConfig:
        first = next(iter(root.data.values()), None) if root.is_mapping else None
        anchor: Span = first.key_span if first is not None and first.key_span is not None else root.span
        run = RunConfig(framework, Options(), anchor)
        run.versions = self.versions
        return run

    def _started(self, launch: Launch) -> RunConfig:
        run = RunConfig("", Options(), launch.word.span)
        run.versions = self.versions
        run.command, run.when = launch.argv, launch.when
        run.env = {name: word_setting(word, name) for name, word in launch.env.items()}
        for wrapper in launch.wrappers:
            for flag in wrapper.flags:
                run.options.put(wrapper.name, flag.name, deepspeed.flag_setting(flag, flag.name))
        return run

    def _finish(self, run: RunConfig, reading: Reading) -> None:
        unify(run)
        reading.runs.append(run)


def unify(run: RunConfig) -> None:
    """Work out the unified config of a run from its options."""
    run.fields = {}
    for launcher, flags in LAUNCHERS.items():
        for flag, field in flags.items():
            setting = run.option(launcher, flag)
            if setting.explicit and run.framework != verl.NAME:
                run.fields[field] = setting
    if any(run.options.written(deepspeed.NAME)):
        deepspeed.unify(run)
    if any(run.options.written(accelerate.NAME)):
        accelerate.unify(run)
    reader = registry.named(run.framework)
    if reader is not None and run.framework not in (deepspeed.NAME, accelerate.NAME):
        reader.load().unify(run)


def variants(run: RunConfig) -> Iterator[RunConfig]:
    """The run once for each combination of the values that its options may take, within a bound."""
    found = run.options.variants()
    if len(found) == 1:
        yield run
        return
    for conditions, options in found:
        copy = RunConfig(run.framework, options, run.anchor)
        copy.engine, copy.versions, copy.env = run.engine, run.versions, run.env
        copy.command, copy.complete, copy.candidates = run.command, run.complete, run.candidates
        copy.when = (*run.when, *conditions)
        unify(copy)
        yield copy


def _documents(source: SourceFile, kind: Kind, consumer: str) -> list[Document]:
    if kind == "json":
        from grpo_lint.syntax import json

        return [json.read(source)]
    from grpo_lint.syntax import yaml

    return yaml.read(source, consumer)


def _flag(flags: dict[str, Flag], names: tuple[str, ...]) -> Setting:
    """The first of some flags that is given and has a value."""
    for name in names:
        flag = flags.get(name)
        if flag is not None and flag.value is not None:
            return deepspeed.flag_setting(flag, name)
    return Setting("unset")


def word_setting(word: Word, key: str) -> Setting:
    """A word of the environment as a setting; its text stays text."""
    via = tuple(place for piece in word.pieces for place in piece.via)
    note = next((piece.note for piece in word.pieces if piece.note), "")
    origin = Origin("environment", word.span, via, note, key, word.text)
    return unknown(word.reason, origin) if word.dynamic else Setting("known", word.text, (origin,))
