"""Files that hold what is ours inside another language: manifests, Dockerfiles, Makefiles, descriptions of jobs,
Python, and, where documentation counts, the code fences of Markdown and the cells of notebooks.

Each finds launches and configs and hands them to the assembler, with their places in the file itself. What is wrong
with such a text is not told: the platform may fill in parts of it first.
"""

from __future__ import annotations

import os

from grpo_lint.frameworks import registry, vllm_charts
from grpo_lint.launch import find
from grpo_lint.nested import launches, of_text, own_program
from grpo_lint.syntax.excerpt import MAX_WORK, Excerpt, blanked, stretch_of, unix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from grpo_lint.discover import Kind
    from grpo_lint.located import Problem, Value, Word
    from grpo_lint.run import Assembler, Reading
    from grpo_lint.source import SourceFile, Span
    from grpo_lint.syntax.manifests import Container

SHELL_FENCES = frozenset(("", "bash", "sh", "shell", "zsh", "console", "shell-session", "terminal", "cmd", "text"))
DATA_FENCES: dict[str, Kind] = {
    "yaml": "yaml", "yml": "yaml", "json": "json", "jsonc": "json", "hjson": "json", "toml": "toml",
}  # fmt: skip


class Host:
    """One file of this sort that is being read."""

    def __init__(self, assembler: Assembler, source: SourceFile, path: str, reading: Reading) -> None:
        self.assembler = assembler
        self.source = source
        self.path = path
        self.reading = reading
        self._blank: str | None = None
        self._work = 0

    def shell(
        self, stretches: list[tuple[int, str]], env: dict[str, Word], gpus: tuple[Value, object] | None = None
    ) -> None:
        """Read shell text that stands in the file; past a bound on the work, no more of it."""
        if not registry.holds_launch("\n".join(text for _, text in stretches)):
            return
        excerpt = self.excerpt(stretches)
        if excerpt is not None:
            self.assembler.shell_inside(excerpt, self.path, self.reading, env, gpus)

    def excerpt(self, stretches: Iterable[tuple[int, str]]) -> Excerpt | None:
        """A part of the file as a file of its own; None past a bound on the work."""
        self._work += len(self.source.text)
        if self._work > max(MAX_WORK, 2 * len(self.source.text)):
            return None
        if self._blank is None:
            self._blank = blanked(self.source.text)
        return Excerpt(self.source, stretches, self._blank)

    def word(self, script: Word, env: dict[str, Word]) -> None:
        """Read shell text that is put together from parts of the file."""
        if registry.holds_launch(script.text):
            for launch in of_text(script, env):
                self.assembler.launch(launch, self.path, self.reading)


def read(assembler: Assembler, source: SourceFile, path: str, kind: Kind, reading: Reading) -> None:
    """Read a file that is neither a script nor a config."""
    READERS[kind](Host(assembler, source, path, reading))


def read_commands(assembler: Assembler, root: Value, path: str, reading: Reading) -> None:
    """Read what a YAML document that is no config of ours starts: containers, and the shell text of jobs."""
    from grpo_lint.syntax import jobs, manifests

    host = Host(assembler, root.span.file, path, reading)
    if any(marker in host.source.text for marker in vllm_charts.MARKERS):
        for argv, asked in vllm_charts.servers(root):
            launch = find(argv)
            if launch is not None:
                launch.gpus = (asked, asked.data) if asked is not None else None
                assembler.launch(launch, path, reading)
    for container in manifests.containers(root):
        _container(host, container)
    for text in manifests.configs(root):
        stretch = stretch_of(text)
        excerpt = host.excerpt([stretch]) if stretch is not None else None
        if excerpt is not None:
            assembler.document_inside(excerpt, path, "yaml", reading)
    for job in jobs.jobs(root):
        if job.value is not None:
            host.word(_as_word(job.value), job.env)
        else:
            host.shell(job.stretches, job.env)


def _container(host: Host, container: Container) -> None:
    gpus = (container.gpus, container.count) if container.gpus is not None else None
    if container.script is not None:
        stretch = stretch_of(container.script)
        if stretch is None:
            host.word(_as_word(container.script), container.env)
        else:
            host.shell([(stretch[0], _for_shell(stretch[1], container.env))], container.env, gpus)
        return
    argv = container.argv
    if container.image is not None and not container.whole:
        argv = [*own_program(container.image, argv), *argv]
    launch = find(argv, container.env)
    for found in [launch] if launch is not None else launches(argv, container.env):
        found.gpus = gpus
        host.assembler.launch(found, host.path, host.reading)


def _for_shell(text: str, env: dict[str, Word]) -> str:
    """A script as its shell gets it: the platform fills in `$(X)` from the environment, and `$$` stands for `$`."""
    from grpo_lint.syntax.manifests import VARIABLE

    if "$$" in text:
        text = text.replace("$$", " $")
    return VARIABLE.sub(lambda match: f"${{{match[1]}}}" if match[1] in env else match[0], text)


def _as_word(value: Value) -> Word:
    """A scalar with escapes: all of its text stands where the scalar does."""
    from grpo_lint.launch import literal

    return literal(str(value.data), value.span)


def _dockerfile(host: Host) -> None:
    from grpo_lint.syntax.dockerfile import images, joined

    for image in images(host.source):
        script = image.script
        if script is not None:
            host.shell([(script.start, joined(script.text))], image.env)
            continue
        argv = image.argv
        if image.base is not None and not image.whole:
            argv = [*own_program(image.base, argv), *argv] if argv else []
        launch = find(argv, image.env)
        for found in [launch] if launch is not None else launches(argv, image.env):
            host.assembler.launch(found, host.path, host.reading)


def _makefile(host: Host) -> None:
    from grpo_lint.syntax.makefile import recipes

    for recipe in recipes(host.source):
        host.word(recipe, {})


def _markdown(host: Host) -> None:
    from grpo_lint.syntax.markdown import commands_of, fences

    text = host.source.text
    told = len(host.reading.problems)
    for fence in fences(text):
        inner = unix(text[fence.start : fence.end])
        if fence.language in SHELL_FENCES:
            host.shell([(fence.start, commands_of(inner))], {})
        elif fence.language in DATA_FENCES:
            kind = DATA_FENCES[fence.language]
            if any(registry.for_document(kind, "\n" + inner)) or registry.may_hold_commands(inner):
                excerpt = host.excerpt([(fence.start, inner)])
                if excerpt is not None:
                    host.assembler.document_inside(excerpt, host.path, kind, host.reading)
        elif fence.language in ("python", "py", "python3"):
            _python_text(host, [_dedented(host, fence.start, inner)])
    host.reading.problems[told:] = _without_elisions(host.reading.problems[told:])


def _without_elisions(problems: list[Problem]) -> list[Problem]:
    """Documentation leaves words out (`...`, `[other overrides]`), which no reader can read."""
    return [problem for problem in problems if problem.kind != "hydra-syntax"]


def _dedented(host: Host, start: int, text: str) -> tuple[str, Callable[[int, int], Span]]:
    """A fence's Python; one in a list is indented, and blanks before its first line would break it."""
    lines = text.split("\n")
    depth = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    if not depth:
        return text, lambda low, high: host.source.span(start + low, start + high)
    # inside `if 1:` the lines may stay where they are
    head = "if 1:\n"
    return head + text, lambda low, high: host.source.span(start + low - len(head), start + high - len(head))


def _notebook(host: Host) -> None:
    from grpo_lint.syntax.notebook import cells

    found = list(cells(host.source))
    for cell in found:
        for script in cell.scripts:
            host.word(script, {})
    _python_text(host, [(cell.python, cell.place) for cell in found if cell.is_python])


def _python(host: Host) -> None:
    """A program's configs. What the tests of a trainer build trains nothing that anybody wants."""
    name = os.path.basename(host.path)
    if not name.startswith("test_") and not name.endswith("_test.py"):
        _python_text(host, [(host.source.text, host.source.span)])


def _python_text(host: Host, texts: list[tuple[str, Callable[[int, int], Span]]]) -> None:
    """The configs that Python source builds from literals."""
    if any(registry.holds_python(text) for text, _ in texts):
        host.assembler.python_inside(texts, host.path, host.reading)


READERS: dict[str, Callable[[Host], None]] = {
    "dockerfile": _dockerfile,
    "makefile": _makefile,
    "markdown": _markdown,
    "notebook": _notebook,
    "python": _python,
}
