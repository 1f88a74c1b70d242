"""YAML's events, from ruamel.yaml's C parser, or from its pure Python one where that can't be imported."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType
    from typing import Any

_STAND_INS = {
    "composer": "ComposerError",
    "constructor": "ConstructorError",
    "emitter": "EmitterError",
    "parser": "ParserError",
    "reader": "ReaderError",
    "representer": "RepresenterError",
    "scanner": "ScannerError",
    "serializer": "SerializerError",
}
"""Modules that the C parser imports for one exception class each."""


def events(text: str, pure: bool = False) -> Iterator[Any]:
    """The events of a YAML stream, as ruamel.yaml's event objects. Raises `error_class()` while iterating."""
    parser = None if pure else _c_parser()
    if parser is not None:
        return iter(parser(text).get_event, None)
    from ruamel.yaml import YAML

    yaml = YAML(typ="safe", pure=True)
    yaml.version = (1, 1)  # what libyaml reads
    parsed: Iterator[Any] = yaml.parse(text)
    return parsed


def error_class() -> type[Exception]:
    """The class of everything that a parser raises for bad YAML."""
    from ruamel.yaml.error import YAMLError

    return YAMLError


_found: list[Callable[[str], Any] | None] = []


def _c_parser() -> Callable[[str], Any] | None:
    if not _found:
        _found.append(_import_c_parser())
    return _found[0]


def _import_c_parser() -> Callable[[str], Any] | None:
    try:
        if "ruamel.yaml" in sys.modules or "_ruamel_yaml" in sys.modules:
            from _ruamel_yaml import CParser
        else:
            CParser = _import_alone()
    except (ImportError, AttributeError, ValueError):
        return None
    parser: Callable[[str], Any] = CParser
    return parser


def _import_alone() -> Any:
    """The C parser without all of ruamel.yaml around it, which would cost five times as much to import.

    The package is put in place unexecuted, and executes itself as soon as anything asks it for a name; the modules that
    the C parser needs for an exception class only are replaced while it is imported.
    """
    import ruamel

    package = _unexecuted_package(ruamel.__path__)
    sys.modules["ruamel.yaml"] = ruamel.yaml = package
    try:
        from ruamel.yaml.error import MarkedYAMLError

        for module, error in _STAND_INS.items():
            name = f"ruamel.yaml.{module}"
            stand_in = type(sys)(name)
            setattr(stand_in, error, type(error, (MarkedYAMLError,), {}))
            sys.modules[name] = stand_in
        from _ruamel_yaml import CParser
    finally:
        for module in _STAND_INS:
            sys.modules.pop(f"ruamel.yaml.{module}", None)
            vars(package).pop(module, None)
    return CParser


def _unexecuted_package(path: Any) -> ModuleType:
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec("ruamel.yaml", path)
    if spec is None or spec.loader is None or spec.submodule_search_locations is None:
        raise ImportError("ruamel.yaml is not installed as a package")
    loader = spec.loader
    package = type(sys)("ruamel.yaml")
    package.__spec__ = spec
    package.__loader__ = loader
    package.__file__ = spec.origin
    package.__package__ = "ruamel.yaml"
    package.__path__ = spec.submodule_search_locations

    def execute(name: str) -> Any:
        if vars(package).pop("__getattr__", None) is not None:
            loader.exec_module(package)
        return getattr(package, name)

    vars(package)["__getattr__"] = execute
    return package
