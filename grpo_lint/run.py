"""Runs: a launch or a config file, with every file that it names, as the frameworks would put them together."""

from __future__ import annotations

import os

from grpo_lint.frameworks import accelerate, deepspeed, verl
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
        elif kind == "json":
            self._json(source, reading)
        else:
            self._yaml(source, path, reading)
        return reading

    # -- documents

    def _json(self, source: SourceFile, reading: Reading) -> None:
        from grpo_lint.syntax import json

        document = json.read(source)
        root = document.root
        if root is None or not deepspeed.recognises(root):
            return
        reading.problems += document.problems
        run = self._new(deepspeed.NAME, root)
        deepspeed.read(root, run.options)
        self._finish(run, reading)

    def _yaml(self, source: SourceFile, path: str, reading: Reading) -> None:
        from grpo_lint.frameworks import verl_source
        from grpo_lint.syntax import yaml

        consumer = "pyyaml" if accelerate.MARKER in source.text else "omegaconf"
        for document in yaml.read(source, consumer):
            root = document.root
            if root is None:
                continue
            if accelerate.recognises(root):
                reading.problems += document.problems
                self._accelerate(root, path, reading)
            elif verl_source.recognises_document(root):
                reading.problems += document.problems
                run = self._new(verl.NAME, root)
                reading.problems += verl_source.read_document(root, path, run, self.repository)
                self._finish(run, reading)

    def _accelerate(self, root: Value, path: str, reading: Reading) -> None:
        run = self._new(accelerate.NAME, root)
        accelerate.read(root, run.options)
        self._deepspeed_file(accelerate.deepspeed_file(run.options), os.path.dirname(path), run)
        self._finish(run, reading)

    def _deepspeed_file(self, named: Setting, folder: str, run: RunConfig) -> None:
        """Read the DeepSpeed JSON that a setting names into the run; note when it can't be had."""
        if named.unset:
            return
        root = self._document(str(named.value), folder) if named.known else None
        if root is None or not deepspeed.recognises(root):
            run.complete = False
            return
        deepspeed.read(root, run.options)

    def _document(self, name: str, folder: str) -> Value | None:
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

        script = shell.run(source, self._loader(path), path)
        reading.problems += script.problems
        for command in script.commands:
            launch = find(command.argv, command.env)
            if launch is not None:
                launch.when = tuple(condition.text for condition in command.when)
                launch.open_ended = command.open_ended
                self._launch(launch, path, reading)

    def _loader(self, path: str) -> Callable[[str], SourceFile | None]:
        """Reads the files that a script sources or prints, by their paths in the script."""
        folder = os.path.dirname(path)

        def load(name: str) -> SourceFile | None:
            found = self.repository.find(name, folder)
            return self.repository.load(found) if found is not None else None

        return load

    def _launch(self, launch: Launch, path: str, reading: Reading) -> None:
        from grpo_lint.frameworks import verl_source

        folder = os.path.dirname(path)
        if verl_source.recognises(launch):
            run = self._started(verl.NAME, launch)
            reading.problems += verl_source.read(launch, path, run, self.repository)
            self._finish(run, reading)
            return
        from grpo_lint.launch import arguments

        given = arguments(launch.args)
        run = self._started("", launch)
        named = _flag(given, ("--deepspeed", "--deepspeed_config", "--ds_config"))
        self._deepspeed_file(named, folder, run)
        if any(run.options.written(deepspeed.NAME)):
            run.framework = deepspeed.NAME
            deepspeed.fill_auto(run.options, given)
        for wrapper in launch.wrappers:
            if wrapper.name == accelerate.NAME:
                self._accelerate_launch({flag.name: flag for flag in wrapper.flags}, folder, run)
        if run.framework:
            self._finish(run, reading)

    def _accelerate_launch(self, flags: dict[str, Flag], folder: str, run: RunConfig) -> None:
        """`accelerate launch --config_file x.yaml`: the file's settings, those of DeepSpeed's JSON included."""
        named = _flag(flags, ("--config_file",))
        path = self.repository.find(str(named.value), folder) if named.known else None
        source = self.repository.load(path) if path is not None else None
        if source is None or path is None:
            return
        from grpo_lint.syntax import yaml

        root = next((document.root for document in yaml.read(source, "pyyaml")), None)
        if root is not None and accelerate.recognises(root):
            run.framework = run.framework or accelerate.NAME
            accelerate.read(root, run.options)
            if not any(run.options.written(deepspeed.NAME)):
                self._deepspeed_file(accelerate.deepspeed_file(run.options), os.path.dirname(path), run)

    # -- both

    def _new(self, framework: str, root: Value) -> RunConfig:
        first = next(iter(root.data.values()), None) if root.is_mapping else None
        anchor: Span = first.key_span if first is not None and first.key_span is not None else root.span
        run = RunConfig(framework, Options(), anchor)
        run.versions = self.versions
        return run

    def _started(self, framework: str, launch: Launch) -> RunConfig:
        run = RunConfig(framework, Options(), launch.word.span)
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
    if any(run.options.written(deepspeed.NAME)):
        deepspeed.unify(run)
    if any(run.options.written(accelerate.NAME)):
        accelerate.unify(run)
    if run.framework == verl.NAME:
        verl.unify(run)
    for launcher, flags in LAUNCHERS.items():
        for flag, field in flags.items():
            setting = run.option(launcher, flag)
            if setting.explicit and run.framework != verl.NAME:
                run.fields[field] = setting


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
