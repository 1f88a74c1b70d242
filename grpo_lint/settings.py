"""What the user asked for."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

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


def suggestion(name: str, known: Iterable[str], otherwise: str) -> str:
    """The end of a message about a name that isn't known: the nearest that is, or else where to find them."""
    from difflib import get_close_matches

    by_lower = {each.lower(): each for each in known}
    close = get_close_matches(name.lower(), by_lower, 1)
    return f"; did you mean {by_lower[close[0]]}?" if close else f"; {otherwise}"


def parse_targets(texts: list[str], frameworks: tuple[str, ...]) -> dict[str, str]:
    """`verl=0.9.1` arguments as {framework: release}. Raises SettingsError for anything else."""
    targets: dict[str, str] = {}
    for text in texts:
        name, equals, version = text.partition("=")
        if not equals or not version[:1].isdigit():
            raise SettingsError(f"--target {text}: write FRAMEWORK=RELEASE, such as verl=0.9.1")
        if name not in frameworks:
            hint = suggestion(name, frameworks, f"known are {', '.join(frameworks)}")
            raise SettingsError(f"--target {text}: no framework is called {name!r}{hint}")
        targets[name] = version
    return targets
