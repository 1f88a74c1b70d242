"""Runs: a launch or a config file, with every file that it names, as the frameworks would put them together."""

from __future__ import annotations

import os

from grpo_lint.discover import kind_of
from grpo_lint.frameworks import deepspeed, models, registry, verl
from grpo_lint.frameworks.documents import WRITTEN, read_written
from grpo_lint.located import Problem
from grpo_lint.runconfig import Options, RunConfig, Version
from grpo_lint.unified import Origin, Setting, unknown
from grpo_lint.versions import Evidence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from grpo_lint.discover import Kind, Repository
    from grpo_lint.frameworks.launchers import Request
    from grpo_lint.frameworks.registry import Reader
    from grpo_lint.launch import Launch
    from grpo_lint.located import Value, Word
    from grpo_lint.source import SourceFile, Span
    from grpo_lint.syntax.document import Document
    from grpo_lint.syntax.excerpt import Excerpt
    from grpo_lint.syntax.shell import Command

    PythonText = tuple[str, Callable[[int, int], Span]]
    Asked = tuple[Value, object]

ACCELERATE = "accelerate"
"""The name of a framework whose module few runs need."""

FRAMEWORKS = (
    verl.NAME, deepspeed.NAME, ACCELERATE, "torch", "vllm", "sglang", "transformers", "trl", "openrlhf",
    "ms-swift", "megatron-core", "slime",
)  # fmt: skip
"""The packages whose release can be told with `--target`."""

DOCUMENTS = ("yaml", "json", "toml")
"""Kinds of files that hold values by their names."""

LAUNCHERS = frozenset(("torchrun", "accelerate", "deepspeed", "srun", "slurm"))
"""What says how many processes and nodes there are."""

PLATFORM, GPU_LIMIT = "kubernetes", "resources.limits"
"""Under this name a run's options hold the accelerators that its container asks for."""


MAX_RUNS = 500
"""Runs that are read of one file. The largest published sweeps have some dozens; judging so many takes a second."""


class Reading:
    """What one file yields: its runs, and what its readers refused."""

    __slots__ = ("cut", "problems", "runs")

    def __init__(self) -> None:
        self.runs: list[RunConfig] = []
        self.problems: list[Problem] = []
        self.cut = False

    def full(self, at: Span) -> bool:
        """Whether there are so many runs that no more are read. The first place where one is left out is told."""
        if len(self.runs) < MAX_RUNS:
            return False
        if not self.cut:
            self.cut = True
            message = f"{MAX_RUNS} runs are read of one file; the rest was not read"
            self.problems.append(Problem(message, at, kind="gave-up", fatal=True))
        return True


class Assembler:
    """Puts runs together from files of one repository, for the releases that the user targets."""

    def __init__(self, repository: Repository, targets: dict[str, Version]) -> None:
        self.repository = repository
        self.targets = targets
        self.evidence = Evidence(repository)
        self.versions: dict[str, Version] = {}
        self._request: Request | None = None

    def read(self, source: SourceFile, path: str, kind: Kind) -> Reading:
        """The runs of one file. `path` is where it lies, for the files that it names."""
        reading = Reading()
        self._request = None
        self.repository.kept.pop(WRITTEN, None)
        self.versions = {**self.evidence.versions(path), **self.targets}
        if kind == "shell":
            self._shell(source, path, reading)
        elif kind in DOCUMENTS:
            self._document(source, path, kind, reading)
        else:
            from grpo_lint import hosts

            hosts.read(self, source, path, kind, reading)
        return reading

    # -- documents

    def _document(self, source: SourceFile, path: str, kind: Kind, reading: Reading) -> None:
        """A config file: each of its documents goes to the first framework that recognises it."""
        readers = list(registry.for_document(kind, source.text))
        commands = kind != "toml" and registry.may_hold_commands(source.text)
        if not readers and not commands:
            return
        consumer = readers[0].yaml if readers else "pyyaml"
        resolved = {consumer: _documents(source, kind, consumer)}
        for at, document in enumerate(resolved[consumer]):
            root = document.root
            if root is not None and reading.full(root.span):
                break
            reader = root and next((r for r in readers if r.load().recognises_document(root)), None)
            if root is not None and not reader and commands:
                from grpo_lint.hosts import read_commands

                read_commands(self, root, path, reading)
            if root is None or not reader:
                continue
            if kind == "yaml" and reader.yaml != consumer:
                if reader.yaml not in resolved:
                    resolved[reader.yaml] = _documents(source, kind, reader.yaml)
                document = resolved[reader.yaml][at]
                root = document.root or root
            reading.problems += document.problems
            run = self._new(reader.name, root)
            reading.problems += reader.load().read_document(root, path, run, self.repository)
            if reader.companions or reader.name == ACCELERATE:
                from grpo_lint import companions

                companions.read_named(run, os.path.dirname(path), self.repository)
            self._finish(run, path, reading)

    # -- what stands inside other files

    def document_inside(self, excerpt: Excerpt, path: str, kind: Kind, reading: Reading) -> None:
        """A config that stands in a file of another kind."""
        inner = Reading()
        with excerpt as source:
            self._document(source, path, kind, inner)
        reading.runs += inner.runs

    def shell_inside(
        self, excerpt: Excerpt, path: str, reading: Reading, env: dict[str, Word], gpus: Asked | None
    ) -> None:
        """The launches of shell text that stands in a file of another kind, with the variables that surround it."""
        from grpo_lint.syntax import shell

        with excerpt as source:
            script = shell.run(source, self._loader(path), self._inside(path), variables=env, bounds=excerpt.bounds)
        self.repository.kept[WRITTEN] = {file.path.text: file.body for file in script.files if not file.append}
        for command in script.commands:
            self._command(command, path, reading, gpus)

    def python_inside(self, texts: Iterable[PythonText], path: str, reading: Reading) -> None:
        """The configs that Python source builds."""
        from grpo_lint.frameworks import trl_python

        for config in trl_python.configs(texts):
            run = self._new(trl_python.NAME, config.arguments)
            trl_python.read(config, run)
            self._finish(run, path, reading)

    # -- launches

    def _shell(self, source: SourceFile, path: str, reading: Reading) -> None:
        from grpo_lint import script_problems
        from grpo_lint.syntax import shell

        variables = None
        if "#SBATCH" in source.text:
            from grpo_lint.frameworks.launchers import Request

            self._request = Request(source)
            variables = self._request.variables()
        script = shell.run(source, self._loader(path), self._inside(path), variables=variables)
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
        if kind not in ("json", "yaml") or reading.full(body.span):
            return
        readers = list(registry.for_document(kind, body.text))
        root = read_written(body, os.path.splitext(name)[1].lower(), readers[0].yaml) if readers else None
        reader = root and next((r for r in readers if r.load().recognises_document(root)), None)
        if root is not None and reader:
            run = self._new(reader.name, root)
            reading.problems += reader.load().read_document(root, path, run, self.repository)
            self._finish(run, path, reading)

    def _inside(self, path: str) -> str:
        """A path as the shell reader counts it: from the repository's root."""
        return os.path.relpath(os.path.realpath(path), self.repository.root).replace(os.sep, "/")

    def _command(
        self, command: Command, path: str, reading: Reading, gpus: Asked | None, cut_short: bool = False
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
            launch.gpus = gpus or launch.gpus
            if self.launch(launch, path, reading):
                recognised = launch
        return recognised

    def _loader(self, path: str) -> Callable[[str], SourceFile | None]:
        """Reads the files that a script sources or prints, by their paths in the repository or from the script's."""
        root, folder = self.repository.root, os.path.dirname(path)

        def load(name: str) -> SourceFile | None:
            found = self.repository.find(name, root) or self.repository.find(name, folder)
            return self.repository.load(found) if found is not None else None

        return load

    def launch(self, launch: Launch, path: str, reading: Reading) -> bool:
        """A launch goes to the first framework that recognises it; then what else it names is read.

        Whether any framework recognised it.
        """
        if reading.full(launch.word.span):
            return False
        folder = os.path.dirname(path)
        run = self._started(launch, folder)
        reader = self._reader_of(launch, folder)
        if reader is not None:
            run.framework = reader.name
            reading.problems += reader.load().read(launch, path, run, self.repository)
        else:
            self._read_program(launch, folder, run)
        if reader.companions if reader is not None else launch.args or launch.wrappers:
            from grpo_lint import companions

            companions.read(launch, folder, run, self.repository)
        run.complete = run.complete and not launch.cut_short
        if run.framework:
            self._finish(run, path, reading)
        return bool(run.framework)

    def _reader_of(self, launch: Launch, folder: str) -> Reader | None:
        """The first framework that recognises a launch, by its words or else by the file that they name."""
        words = [launch.program, *(word.text for word in launch.args)]
        candidates = tuple(registry.for_launch([*words, " ".join(words[:2])]))
        for reader in candidates:  # a module is loaded only when those before it have said no
            module = reader.load()
            if hasattr(module, "recognises") and module.recognises(launch):
                return reader
        for reader in candidates:
            module = reader.load()
            if hasattr(module, "names_own_config") and module.names_own_config(launch, folder, self.repository):
                return reader
        return None

    def _read_program(self, launch: Launch, folder: str, run: RunConfig) -> None:
        """The config that the program of a launch builds itself, where its source is at hand."""
        if launch.is_module or not launch.program.endswith(".py"):
            return
        path = self.repository.find(launch.program, folder)
        source = self.repository.load(path) if path is not None else None
        if source is not None and registry.holds_python(source.text):
            from grpo_lint.frameworks import trl_python

            trl_python.read_program(source, run)

    # -- both

    def _new(self, framework: str, root: Value) -> RunConfig:
        first = next(iter(root.data.values()), None) if root.is_mapping else None
        anchor: Span = first.key_span if first is not None and first.key_span is not None else root.span
        run = RunConfig(framework, Options(), anchor)
        run.versions = self.versions
        return run

    def _started(self, launch: Launch, folder: str) -> RunConfig:
        run = RunConfig("", Options(), launch.word.span)
        run.versions = self.versions
        run.command, run.when = launch.argv, launch.when
        run.env = {name: word_setting(word, name) for name, word in launch.env.items()}
        if launch.gpus is not None:
            value, count = launch.gpus
            run.options.put(PLATFORM, GPU_LIMIT, deepspeed.as_setting(value, GPU_LIMIT, "file", count))
        for wrapper in launch.wrappers:
            for flag in wrapper.flags:
                run.options.put(wrapper.name, flag.name, deepspeed.flag_setting(flag, flag.name))
            if wrapper.name == "ray" and any(flag.name.startswith("--runtime-env") for flag in wrapper.flags):
                from grpo_lint.frameworks import ray_environment

                ray_environment.read(wrapper.flags, folder, run, self.repository)
        if self._request is not None:
            self._request.put(run.options)
        return run

    def _finish(self, run: RunConfig, path: str, reading: Reading) -> None:
        unify(run)
        model = run.fields.get("model_path")
        if model is not None and models.read_config(model, os.path.dirname(path), run.options, self.repository):
            unify(run)
        reading.runs.append(run)


def unify(run: RunConfig) -> None:
    """Work out the unified config of a run from its options."""
    run.fields = {}
    asked = run.option(PLATFORM, GPU_LIMIT)
    if asked.known:
        text = str(asked.value)
        whole = f"the container gets {text} of the machine's GPUs"
        run.fields["n_gpus"] = asked.map(int) if text.isdecimal() else unknown(whole, *asked.chain)
    if run.framework != verl.NAME and not LAUNCHERS.isdisjoint(run.options.frameworks):
        from grpo_lint.frameworks.launchers import shape

        for field, setting in zip(("n_gpus", "nnodes"), shape(run), strict=True):
            if not setting.unset:
                run.fields[field] = setting
    if deepspeed.configured(run.options):
        deepspeed.unify(run)
    if any(run.options.written(ACCELERATE)):
        from grpo_lint.frameworks import accelerate

        accelerate.unify(run)
    reader = registry.named(run.framework)
    if reader is not None and run.framework not in (deepspeed.NAME, ACCELERATE):
        reader.load().unify(run)
    if models.CONFIG in run.options.frameworks:
        models.unify(run)


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


def _documents(source: SourceFile, kind: Kind, consumer: str) -> list[Document]:
    if kind == "json":
        from grpo_lint.syntax import json

        return [json.read(source)]
    if kind == "toml":
        from grpo_lint.syntax import toml

        return [toml.read(source)]
    from grpo_lint.syntax import yaml

    return yaml.read(source, consumer)


def word_setting(word: Word, key: str) -> Setting:
    """A word of the environment as a setting; its text stays text."""
    via = tuple(place for piece in word.pieces for place in piece.via)
    note = next((piece.note for piece in word.pieces if piece.note), "")
    origin = Origin("environment", word.span, via, note, key, word.text)
    return unknown(word.reason, origin) if word.dynamic else Setting("known", word.text, (origin,))
