"""Which settings hold for a linting: the nearest settings file, the profile, the command line."""

from __future__ import annotations

import os

from grpo_lint.discover import Repository, shown
from grpo_lint.settings import Layer, SettingsError, merge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from grpo_lint.settings import Settings

NAMES = ("grpo-lint.toml", ".grpo-lint.toml", "pyproject.toml")
"""Settings files of one folder, the first of which wins."""


def configure(paths: Sequence[str], told: Layer, file: str | None = None, search: bool = True) -> Settings:
    """The settings for linting some paths: what is `told` on the command line over files over the profile.

    `file` is a settings file that the user named. Otherwise, with `search`, it is the nearest one above all the paths,
    within their repository. Raises SettingsError.
    """
    layers = named(file) if file is not None else nearest(paths) if search else []
    profile = next((v["profile"] for v in (told.values, *(x.values for x in reversed(layers))) if "profile" in v), "")
    own: dict[str, dict[str, Any]] = {}
    for layer in layers:
        own |= layer.values.pop("profiles", {})
    if profile and profile != "default":
        layers = [*_profile(profile, own), *layers]
    return merge([*layers, told])


def named(path: str) -> list[Layer]:
    """The layers of a file that the user named."""
    if not os.path.isfile(path):
        raise SettingsError(f"--settings {path}: there is no such file")
    from grpo_lint.settings_file import layers

    found = layers(path, Repository.around(path))
    if not found:
        raise SettingsError(f"--settings {path}: it has no table [tool.grpo-lint]")
    return found


def nearest(paths: Iterable[str]) -> list[Layer]:
    """The layers of the nearest settings file at or above all of some paths, within their repository."""
    folders = {os.path.realpath(path if os.path.isdir(path) else os.path.dirname(path) or ".") for path in paths}
    try:
        folder = os.path.commonpath(folders)
    except ValueError:  # paths on several drives
        return []
    repository = Repository.around(folder)
    while True:
        for name in NAMES:
            path = os.path.join(folder, name)
            if os.path.isfile(path) and (found := _found(path, repository)):
                return found
        if folder == repository.root or not repository.holds(folder):
            return []
        folder = os.path.dirname(folder)


def _found(path: str, repository: Repository) -> list[Layer]:
    real = os.path.realpath(path)
    if not repository.holds(real):
        raise SettingsError(f"{shown(path)}: it leads out of the repository, to {real}")
    if os.path.basename(path) == "pyproject.toml" and not _mentions_us(real):
        return []
    from grpo_lint.settings_file import layers

    return layers(path, repository)


def _mentions_us(path: str) -> bool:
    """Whether a pyproject.toml may have a table of ours: most have none, and need no parser."""
    try:
        with open(path, "rb") as stream:
            return b"grpo-lint" in stream.read(1024 * 1024 + 1)
    except OSError as error:
        raise SettingsError(f"{shown(path)}: {error.strerror}") from None


def _profile(name: str, own: dict[str, dict[str, Any]]) -> list[Layer]:
    """The layers of a profile, those that it extends first. A profile of the user's hides one of ours."""
    from grpo_lint.nearest import suggestion
    from grpo_lint.settings_file import profile, profile_names

    found: list[Layer] = []
    extended: set[str] = set()
    while name != "default":
        values = dict(own[name]) if name in own and name not in extended else profile(name)
        if values is None:
            if name in extended:
                raise SettingsError(f"profile {name!r} extends itself")
            known = [*own, *profile_names()]
            raise SettingsError(
                f"no profile is called {name!r}{suggestion(name, known, 'known are ' + ', '.join(known))}"
            )
        extended.add(name)
        found.insert(0, Layer(f"profile {name}", "", values))
        values.pop("description", None)
        name = values.pop("extend", "default")
    return found
