"""What git says a change touches: `--diff-base REV`, the only option with which the linter starts a program.

Git is asked what the working tree has that the commit doesn't at which it left REV. What is linted is untrusted, so git
runs no program that the repository's configuration or attributes name: each such setting is overridden, no hook runs,
the index isn't written, submodules aren't entered, and nothing is fetched.
"""

from __future__ import annotations

import os

from grpo_lint.changes import MAX_BYTES, Changes
from grpo_lint.discover import Repository
from grpo_lint.settings import SettingsError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SECONDS = 120
"""How long git may take for one answer."""

_DIFF = (
    "diff",
    "--unified=0",
    "--inter-hunk-context=0",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-relative",
    "--ignore-submodules=all",
    "--src-prefix=a/",
    "--dst-prefix=b/",
)
_QUIETLY = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.untrackedCache": "false",
    "core.attributesFile": os.devnull,
    "diff.autoRefreshIndex": "false",
    "diff.external": "",
    "protocol.allow": "never",
}
_PROGRAMS = {
    "filter": {"clean": "", "smudge": "", "process": "", "required": "false"},
    "diff": {"command": "", "textconv": ""},
}
"""Settings `filter.NAME.clean` and so on that name programs, and what they are overridden with."""


class Git:
    """Git in the repository around a folder, asked for a revision that messages call by the user's name for it."""

    def __init__(self, folder: str, base: str) -> None:
        """Raises SettingsError where there is no git, no repository, or where the revision can't be one."""
        self._base = base
        self._program = _program(base)
        self._folder = folder
        self._overrides: dict[str, str] = dict(_QUIETLY)
        if not base or base.startswith("-") or not base.isprintable():
            raise self._fault("this is no name of a commit, such as origin/main or HEAD~1")
        top = self._text("rev-parse", "--show-toplevel")
        if not top:
            raise self._fault(f"{folder} is in the working tree of no git repository")
        self.root = top
        self._overrides |= dict(_overrides(self._paths("config", "--list", "-z", "--name-only")))

    def changes(self) -> Changes:
        """The lines that differ from where the working tree left the revision; files that git doesn't know are new."""
        start = self._start()
        text = self._run(*_DIFF, start, "--").decode("utf-8", "surrogateescape")
        changes = Changes(text, self.root)
        binary = (line for line in self._paths(*_DIFF, "--no-renames", "--numstat", "-z", start, "--"))
        whole = [path for line in binary if line.startswith("-\t-\t") and (path := line.split("\t", 2)[2])]
        for path in (*whole, *self._paths("ls-files", "--others", "--exclude-standard", "--full-name", "-z", ":/")):
            changes.add_whole(path)
        return changes

    def _start(self) -> str:
        """The commit that the working tree and the revision have in common."""
        # The name comes after an option that ends the options, so that it can't be one.
        commit = self._text("rev-parse", "--verify", "--quiet", "--end-of-options", f"{self._base}^{{commit}}")
        if not commit:
            raise self._fault("git knows no commit of this name", hint=True)
        common = self._text("merge-base", commit, "HEAD")
        if not common:
            raise self._fault("it has no commit in common with HEAD", hint=True)
        return common.split("\n")[0]

    def _fault(self, what: str, hint: bool = False) -> SettingsError:
        """A SettingsError; with `hint`, it says what to do where the clone doesn't have all commits."""
        if hint and self._text("rev-parse", "--is-shallow-repository") == "true":
            what += (
                ": this clone is shallow; `git fetch --unshallow` gets the rest, and in GitHub Actions "
                "`fetch-depth: 0` of actions/checkout"
            )
        elif hint:
            what += "; `git fetch` gets what the remote has"
        return SettingsError(f"--diff-base {self._base}: {what}")

    def _paths(self, *arguments: str) -> list[str]:
        """An answer that git gives as texts ended by NUL."""
        return [os.fsdecode(part) for part in self._run(*arguments).split(b"\0") if part]

    def _text(self, *arguments: str) -> str:
        """An answer on a line; empty where git has none."""
        return os.fsdecode(self._run(*arguments, may_fail=True)).strip("\r\n")

    def _run(self, *arguments: str, may_fail: bool = False) -> bytes:
        """What git writes. Raises SettingsError for more than a diff may have, for too long a time, and on failure."""
        import subprocess
        from tempfile import TemporaryFile

        settings = [word for name, value in self._overrides.items() for word in ("-c", f"{name}={value}")]
        command = [self._program, "-C", self._folder, "--no-pager", "--literal-pathspecs", *settings, *arguments]
        if ":/" in arguments:
            command.remove("--literal-pathspecs")
        with TemporaryFile() as out, TemporaryFile() as err:
            try:
                done = subprocess.run(
                    command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=_environment(), timeout=SECONDS
                )
            except subprocess.TimeoutExpired:
                raise self._fault(f"git took more than {SECONDS} seconds") from None
            except OSError as error:
                raise self._fault(f"git can't be started: {error.strerror}") from None
            out.seek(0)
            data = out.read(MAX_BYTES + 1)
            err.seek(0)
            said = err.read(4096).decode("utf-8", "replace")
        if "dubious ownership" in said:
            raise self._fault(f"git doesn't trust this repository, since another user owns it: {_sentence(said)}")
        if done.returncode and not may_fail:
            raise self._fault(f"git {arguments[0]} failed: {_sentence(said) or f'exit code {done.returncode}'}")
        if len(data) > MAX_BYTES:
            raise self._fault(f"the diff has more than {MAX_BYTES:,} bytes")
        return b"" if done.returncode else data


def _program(base: str) -> str:
    """Where git is: in a folder of PATH that isn't told from the working directory, which is linted and untrusted."""
    from shutil import which

    folders = [folder for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(folder)]
    found = which("git", path=os.pathsep.join(folders))
    if found is None:
        raise SettingsError(f"--diff-base {base}: git isn't installed; --diff-file takes a diff from elsewhere")
    return found


def _environment() -> dict[str, str]:
    """Ours, without git's variables, which may name programs and another repository."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {
        **kept,
        "LC_ALL": "C",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
    }


def _overrides(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """(setting, value) for all of some settings that name a program."""
    for name in names:
        section, _, rest = name.partition(".")
        driver, dot, _ = rest.rpartition(".")
        for key, value in _PROGRAMS.get(section.lower(), {}).items():
            if dot and "=" not in driver and driver.isprintable():
                yield f"{section}.{driver}.{key}", value


def _sentence(said: str) -> str:
    """The first line of what git says, without its "fatal: "."""
    return said.strip().split("\n")[0].removeprefix("fatal: ").removeprefix("error: ")


def changes(base: str, paths: Iterable[str]) -> Changes:
    """What changed since REV in the repository that all the paths are in. Raises SettingsError."""
    first, *others = paths
    git = Git(_folder(first), base)
    repository = Repository(git.root)
    for path in (first, *others):
        if not repository.holds(os.path.realpath(path)):
            raise SettingsError(f"--diff-base {base}: {path} is not in the repository {git.root}")
    return git.changes()


def _folder(path: str) -> str:
    """The folder of a path, or the nearest above it that there is."""
    folder = path if os.path.isdir(path) else os.path.dirname(path) or "."
    return folder if os.path.isdir(folder) else "."
