"""Runs: a launch or a config file, with every file that it names, as the frameworks would put them together."""

from __future__ import annotations

import os

from grpo_lint.discover import kind_of
from grpo_lint.frameworks import deepspeed, registry, verl
from grpo_lint.frameworks.documents import WRITTEN, document_at, paths_of, read_written
from grpo_lint.located import Piece, Word
from grpo_lint.runconfig import Options, RunConfig, Version
from grpo_lint.unified import Origin, Setting, unknown
from grpo_lint.versions import Evidence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from grpo_lint.discover import Kind, Repository
    from grpo_lint.frameworks.registry import Reader
    from grpo_lint.launch import Flag, Launch
    from grpo_lint.located import Problem, Value
    from grpo_lint.source import SourceFile, Span
    from grpo_lint.syntax.document import Document
    from grpo_lint.syntax.manifests import Container
    from grpo_lint.syntax.shell import Command

ACCELERATE = "accelerate"
"""The name of a framework whose module few runs need."""

FRAMEWORKS = (
    verl.NAME, deepspeed.NAME, ACCELERATE, "torch", "vllm", "sglang", "transformers", "trl", "openrlhf",
    "ms-swift", "megatron-core", "slime",
)  # fmt: skip
"""The packages whose release can be told with `--target`."""

DEEPSPEED_FLAGS = ("--deepspeed", "--deepspeed_config", "--ds_config")
"""The arguments by which programs take a DeepSpeed JSON."""

LAUNCHERS = {
    # launcher: {its flag: unified field}
    "torchrun": {"--nproc_per_node": "n_gpus", "--nnodes": "nnodes"},
    "accelerate": {"--num_processes": "n_gpus", "--num_machines": "nnodes"},
    "deepspeed": {"--num_gpus": "n_gpus", "--num_nodes": "nnodes"},
}

PLATFORM, GPU_LIMIT = "kubernetes", "resources.limits"
"""Under this name a run's options hold the accelerators that its container asks for."""


class Reading:
    """What one file yields: its runs, and what its readers refused."""

    __slots__ = ("problems", "runs")

    def __init__(self) -> None:
        self.runs: list[RunConfig] = []
        self.problems: list[Problem] = []


class Assembler:
    """Puts runs together from files of one repository, for the releases that the user targets."""

    def __init__(self, repository: Repository, targets: dict[str, Version]) -> None:
        self.repository = repository
        self.targets = targets
        self.evidence = Evidence(repository)
        self.versions: dict[str, Version] = {}

    def read(self, source: SourceFile, path: str, kind: Kind) -> Reading:
        """The runs of one file. `path` is where it lies, for the files that it names."""
        reading = Reading()
        self.versions = {**self.evidence.versions(path), **self.targets}
        if kind == "shell":
            self._shell(source, path, reading)
        else:
            self._document(source, path, kind, reading)
        return reading

    # -- documents

    def _document(self, source: SourceFile, path: str, kind: Kind, reading: Reading) -> None:
        """A config file: each of its documents goes to the first framework that recognises it."""
        readers = list(registry.for_document(kind, source.text))
        commands = kind == "yaml" and registry.may_hold_commands(source.text)
        if not readers and not commands:
            return
        consumer = readers[0].yaml if readers else "pyyaml"
        for at, document in enumerate(_documents(source, kind, consumer)):
            root = document.root
            reader = root and next((r for r in readers if r.load().recognises_document(root)), None)
            if root is not None and not reader and commands:
                self._commands_in(root, path, reading)
            if root is None or not reader:
                continue
            if kind == "yaml" and reader.yaml != consumer:
                document = _documents(source, kind, reader.yaml)[at]
                root = document.root or root
            reading.problems += document.problems
            run = self._new(reader.name, root)
            reading.problems += reader.load().read_document(root, path, run, self.repository)
            if reader.name == ACCELERATE:
                self._deepspeed_named(run, os.path.dirname(path))
            elif reader.companions:
                self._own_deepspeed(run, os.path.dirname(path))
            self._finish(run, reading)

    def _deepspeed_named(self, run: RunConfig, folder: str) -> None:
        """Read the DeepSpeed JSON that accelerate's settings name into the run."""
        from grpo_lint.frameworks import accelerate

        named = accelerate.deepspeed_file(run.options)
        if not named.unset:
            self._deepspeed_file((str(named.value),) if named.known else (), folder, run)

    def _own_deepspeed(self, run: RunConfig, folder: str) -> None:
        """Read the DeepSpeed JSON that a framework's own option names into the run."""
        for key in ("--deepspeed", "deepspeed"):
            named = run.option(run.framework, key)
            if named.known and isinstance(named.value, str) and named.value:
                self._deepspeed_file((named.value,), folder, run)

    def _deepspeed_file(self, names: tuple[str, ...], folder: str, run: RunConfig) -> None:
        """Read a DeepSpeed JSON by its path, of which several may be tried; note when it can't be had.

        A name without a suffix is no path, but a config that the framework brings.
        """
        if names and not os.path.splitext(names[0])[1]:
            return
        for name in names:
            root = document_at(name, folder, self.repository, "pyyaml")
            if root is not None and deepspeed.recognises_document(root):
                deepspeed.read_into(root, run.options)
                return
        run.complete = False

    def _commands_in(self, root: Value, path: str, reading: Reading) -> None:
        """What a manifest's containers start, and the shell text of a job's description."""
        from grpo_lint.launch import find
        from grpo_lint.syntax import manifests

        for container in manifests.containers(root):
            launch = find([*_entry_point(container), *container.argv], container.env)
            if launch is not None:
                launch.gpus = container.gpus
                self._launch(launch, path, reading)
            elif container.script is not None:
                self._shell_text(container.script, path, reading, container.gpus)
        for scalar in manifests.scripts(root):
            if registry.holds_launch(scalar.span.text):
                self._shell_text(scalar, path, reading, None)

    def _shell_text(self, scalar: Value, path: str, reading: Reading, gpus: Value | None) -> None:
        """The launches of shell text inside a document. What is wrong with the text is not its reader's to say:
        the platform may fill in parts of it first (`${{ ... }}`, `$$`)."""
        from grpo_lint.syntax import manifests, shell

        text = manifests.shell_text(scalar)
        if text.usable:
            with text as source:
                commands = shell.run(source, self._loader(path), self._inside(path)).commands
            for command in commands:
                self._command(command, path, reading, gpus)

    # -- launches

    def _shell(self, source: SourceFile, path: str, reading: Reading) -> None:
        from grpo_lint import script_problems
        from grpo_lint.syntax import shell

        script = shell.run(source, self._loader(path), self._inside(path))
        written = {file.path.text: file.body for file in script.files if not file.append}
        self.repository.kept[WRITTEN] = written
        for name, body in written.items():
            self._written(name, body, path, reading)
        recognised: list[Launch] = []
        for command in script.commands:
            cut_short = script_problems.cuts_short(command.span, script.problems)
            launch = self._command(command, path, reading, None, cut_short)
            if launch is not None:
                recognised.append(launch)
        reading.problems += script_problems.telling(script.problems, recognised)
        reading.problems = script_problems.first_causes(reading.problems)

    def _written(self, name: str, body: Word, path: str, reading: Reading) -> None:
        """A config that a script writes from a here-document, as the file that it becomes."""
        kind = kind_of(name)
        if kind not in ("json", "yaml"):
            return
        readers = list(registry.for_document(kind, body.text))
        root = read_written(body, os.path.splitext(name)[1].lower(), readers[0].yaml) if readers else None
        reader = root and next((r for r in readers if r.load().recognises_document(root)), None)
        if root is not None and reader:
            run = self._new(reader.name, root)
            reading.problems += reader.load().read_document(root, path, run, self.repository)
            self._finish(run, reading)

    def _inside(self, path: str) -> str:
        """A path as the shell reader counts it: from the repository's root."""
        return os.path.relpath(os.path.realpath(path), self.repository.root).replace(os.sep, "/")

    def _command(
        self, command: Command, path: str, reading: Reading, gpus: Value | None, cut_short: bool = False
    ) -> Launch | None:
        """The launch of a command, if a framework recognises it; then its run is in the reading."""
        from grpo_lint.launch import find

        found = find(command.argv, command.env)
        started = [found] if found is not None else []
        if found is None and registry.holds_launch(" ".join(word.text for word in command.argv)):
            from grpo_lint.nested import launches

            started = list(launches(command.argv, command.env))
        recognised = None
        for launch in started:
            launch.when = tuple(dict.fromkeys(condition.text for condition in command.when))
            launch.open_ended, launch.cut_short = command.open_ended, cut_short
            launch.gpus = gpus
            if self._launch(launch, path, reading):
                recognised = launch
        return recognised

    def _loader(self, path: str) -> Callable[[str], SourceFile | None]:
        """Reads the files that a script sources or prints, by their paths in the repository or from the script's."""
        root, folder = self.repository.root, os.path.dirname(path)

        def load(name: str) -> SourceFile | None:
            found = self.repository.find(name, root) or self.repository.find(name, folder)
            return self.repository.load(found) if found is not None else None

        return load

    def _launch(self, launch: Launch, path: str, reading: Reading) -> bool:
        """A launch goes to the first framework that recognises it; then what else it names is read.

        Whether any framework recognised it.
        """
        run, folder = self._started(launch), os.path.dirname(path)
        reader = self._reader_of(launch, folder)
        if reader is not None:
            run.framework = reader.name
            reading.problems += reader.load().read(launch, path, run, self.repository)
        if reader is None or reader.companions:
            self._companions(launch, folder, run)
        run.complete = run.complete and not launch.cut_short
        if run.framework:
            self._finish(run, reading)
        return bool(run.framework)

    def _reader_of(self, launch: Launch, folder: str) -> Reader | None:
        """The first framework that recognises a launch, by its words or else by the file that they name."""
        candidates = tuple(registry.for_launch([launch.program, *(word.text for word in launch.args)]))
        for reader in candidates:  # a module is loaded only when those before it have said no
            module = reader.load()
            if hasattr(module, "recognises") and module.recognises(launch):
                return reader
        for reader in candidates:
            module = reader.load()
            if hasattr(module, "names_own_config") and module.names_own_config(launch, folder, self.repository):
                return reader
        return None

    def _companions(self, launch: Launch, folder: str, run: RunConfig) -> None:
        """The configs that a Hugging Face program and its launcher name: DeepSpeed's JSON, accelerate's YAML."""
        from grpo_lint.launch import arguments

        given = arguments(launch.args)
        flag = next((given[name] for name in DEEPSPEED_FLAGS if name in given), None)
        if flag is not None and flag.value is not None:
            self._deepspeed_file((flag.value.text, *paths_of(flag.value)), folder, run)
        else:
            self._own_deepspeed(run, folder)
        for wrapper in launch.wrappers:
            if wrapper.name == ACCELERATE:
                from grpo_lint.frameworks import accelerate

                words = [
                    flag.value for flag in wrapper.flags if flag.name == "--config_file" and flag.value is not None
                ]
                self._accelerate_file(words, folder, run)
                accelerate.read_flags(wrapper.flags, run.options)
        if any(run.options.written(deepspeed.NAME)):
            own = run.framework != ""
            run.framework = run.framework or deepspeed.NAME
            framework = run.framework

            def argument(name: str) -> Setting:
                flag = given.get(name)
                return run.option(framework, name) if own else _flag_setting(flag, name)

            deepspeed.fill_auto(run.options, argument)

    def _accelerate_file(self, words: list[Word], folder: str, run: RunConfig) -> None:
        """`accelerate launch --config_file x.yaml`: the file's settings, those of DeepSpeed's JSON included."""
        from grpo_lint.frameworks import accelerate

        for name in (name for word in words for name in (word.text, *paths_of(word))):
            root = document_at(name, folder, self.repository, "pyyaml")
            if root is not None and accelerate.recognises_document(root):
                run.framework = run.framework or ACCELERATE
                accelerate.read_into(root, run.options)
                if not deepspeed.configured(run.options):
                    path = self.repository.find(name, folder) or self.repository.find(name, self.repository.root)
                    self._deepspeed_named(run, os.path.dirname(path) if path is not None else folder)
                return

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
        if launch.gpus is not None:
            run.options.put(PLATFORM, GPU_LIMIT, deepspeed.as_setting(launch.gpus, GPU_LIMIT, "file"))
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
    asked = run.option(PLATFORM, GPU_LIMIT)
    if asked.known:
        run.fields["n_gpus"] = asked.map(lambda text: int(text) if str(text).isdigit() else text)
    for launcher, flags in LAUNCHERS.items():
        for flag, field in flags.items():
            setting = run.option(launcher, flag)
            if setting.explicit and run.framework != verl.NAME:
                run.fields[field] = setting
    if deepspeed.configured(run.options):
        deepspeed.unify(run)
    if any(run.options.written(ACCELERATE)):
        from grpo_lint.frameworks import accelerate

        accelerate.unify(run)
    reader = registry.named(run.framework)
    if reader is not None and run.framework not in (deepspeed.NAME, ACCELERATE):
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
        copy.arguments = run.arguments
        copy.when = (*run.when, *conditions)
        unify(copy)
        yield copy


def _entry_point(container: Container) -> list[Word]:
    """The program that a server's image starts by itself, where a container gives only its arguments."""
    image = container.image
    first = container.argv[0].text if container.argv else ""
    if image is None or "vllm-openai" not in image.text or not (first == "" or first.startswith("-")):
        return []
    words = ("python3", "-m", "vllm.entrypoints.openai.api_server")
    return [Word((Piece(text, image.span),), image.span) for text in words]


def _documents(source: SourceFile, kind: Kind, consumer: str) -> list[Document]:
    if kind == "json":
        from grpo_lint.syntax import json

        return [json.read(source)]
    from grpo_lint.syntax import yaml

    return yaml.read(source, consumer)


def _flag_setting(flag: Flag | None, name: str) -> Setting:
    return deepspeed.flag_setting(flag, name) if flag is not None else Setting("unset")


def word_setting(word: Word, key: str) -> Setting:
    """A word of the environment as a setting; its text stays text."""
    via = tuple(place for piece in word.pieces for place in piece.via)
    note = next((piece.note for piece in word.pieces if piece.note), "")
    origin = Origin("environment", word.span, via, note, key, word.text)
    return unknown(word.reason, origin) if word.dynamic else Setting("known", word.text, (origin,))
