"""What the user asked for."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.diagnostics import Severity


class SettingsError(Exception):
    """A setting that can't be used; the message says which, and what to write instead."""


class Settings:
    """The settings of one linting.

    `targets` maps a framework to the release it is linted for. `select` and `ignore` hold rule ids, names, id prefixes
    and topics; an empty `select` means all rules. `fail_on` is the weakest severity that makes the exit code 1.
    """

    __slots__ = ("fail_on", "ignore", "select", "targets")

    def __init__(
        self,
        targets: dict[str, str] | None = None,
        select: tuple[str, ...] = (),
        ignore: tuple[str, ...] = (),
        fail_on: Severity = "warning",
    ) -> None:
        self.targets = targets or {}
        self.select = select
        self.ignore = ignore
        self.fail_on = fail_on


def parse_targets(texts: list[str], frameworks: tuple[str, ...]) -> dict[str, str]:
    """`verl=0.9.1` arguments as {framework: release}. Raises SettingsError for anything else."""
    targets: dict[str, str] = {}
    for text in texts:
        name, equals, version = text.partition("=")
        if not equals or not version[:1].isdigit():
            raise SettingsError(f"--target {text}: write FRAMEWORK=RELEASE, such as verl=0.9.1")
        if name not in frameworks:
            raise SettingsError(f"--target {text}: no framework is called {name!r}; known are {', '.join(frameworks)}")
        targets[name] = version
    return targets
