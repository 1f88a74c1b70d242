"""The functions of Hydra's override grammar: casts (`int(3)`), sweeps (`choice(a,b)`, `range(1,4)`), sorting.

Facts: hydra-core 1.3.2, hydra/_internal/grammar/grammar_functions.py and functions.py. A call that Hydra refuses raises
ValueError with a message for people.
"""

from __future__ import annotations

from grpo_lint.located import Unknown, Value
from grpo_lint.syntax.hydra.primitives import Sweep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

NAMES = ("bool", "choice", "float", "glob", "int", "interval", "range", "shuffle", "sort", "str", "tag")


def call(name: str, args: list[Value], named: dict[str, Value]) -> Any:
    """The data that a call evaluates to. Raises ValueError where Hydra refuses it."""
    if name not in NAMES:
        raise ValueError(f"{name!r} is not a function of hydra (it has {', '.join(NAMES)})")
    if name in CASTS:
        return _cast(CASTS[name], _one_or_choice(args, named))
    if name == "choice":
        return _choice(args, named)
    if name in ("range", "interval"):
        return _numbers(name, args, named)
    if name == "glob":
        return _glob(args, named)
    if name == "tag":
        return _tag(args, named)
    return _ordered(name, args, named)


def _take(name: str, named: dict[str, Value], allowed: tuple[str, ...]) -> None:
    for key in named:
        if key not in allowed:
            raise ValueError(f"{name}() takes no argument {key!r}")


def _one_or_choice(args: list[Value], named: dict[str, Value]) -> Value:
    _take("a cast", named, ("value",))
    if named and named["value"].data is not None:
        if args:
            raise ValueError("a cast takes one value, by position or by name")
        return named["value"]
    if not args:
        raise ValueError("a cast needs a value")
    for arg in args:
        if isinstance(arg.data, Sweep) and arg.data.kind == "glob":
            raise ValueError("glob() can't be cast")
    return args[0] if len(args) == 1 else Value(Sweep("choice", tuple(args), simple=True), args[0].span)


def _cast(convert: Callable[[Any], Any], value: Value) -> Any:
    data = value.data
    if isinstance(data, dict):
        return {key: _recast(convert, child) for key, child in data.items()}
    if isinstance(data, list):
        return [_recast(convert, child) for child in data]
    if isinstance(data, Sweep):
        return _cast_sweep(convert, data)
    if data is None:
        raise ValueError("null can't be cast")
    try:
        return convert(data)
    except (ValueError, OverflowError):
        raise ValueError(f"{data!r} can't be cast with {_name(convert)}()") from None


def _recast(convert: Callable[[Any], Any], value: Value) -> Value:
    return Value(_cast(convert, value), value.span, value.key_span, value.raw, value.style, via=value.via)


def _cast_sweep(convert: Callable[[Any], Any], sweep: Sweep) -> Sweep:
    if sweep.kind == "choice":
        return Sweep("choice", tuple(_recast(convert, item) for item in sweep.items), simple=sweep.simple)
    if convert not in (int, float):
        raise ValueError(f"{sweep.kind}() can't be cast with {_name(convert)}()")
    return Sweep(sweep.kind, bounds=tuple(convert(bound) for bound in sweep.bounds))


def _to_str(data: Any) -> str:
    return str(data).lower() if isinstance(data, bool) else str(data)


def _to_bool(data: Any) -> bool:
    if isinstance(data, str):
        if data.lower() not in ("true", "false"):
            raise ValueError(data)
        return data.lower() == "true"
    return bool(data)


CASTS: dict[str, Callable[[Any], Any]] = {"int": int, "float": float, "str": _to_str, "bool": _to_bool}


def _name(convert: Callable[[Any], Any]) -> str:
    return next(name for name, function in CASTS.items() if function is convert)


def _choice(args: list[Value], named: dict[str, Value]) -> Sweep:
    _take("choice", named, ())
    if not args:
        raise ValueError("choice() needs at least one value")
    for arg in args:
        if arg.data is None or (isinstance(arg.data, Sweep) and arg.data.kind != "choice"):
            raise ValueError(f"choice() can't hold {arg.raw}")
    first = args[0].data
    if len(args) == 1 and isinstance(first, Sweep):
        if not first.simple:
            raise ValueError("choices can't be nested")
        return Sweep("choice", first.items)
    return Sweep("choice", tuple(args))


def _bind(name: str, args: list[Value], named: dict[str, Value], names: tuple[str, ...]) -> dict[str, Value]:
    """Arguments by name, as Python binds them."""
    if len(args) > len(names):
        raise ValueError(f"{name}() takes at most {len(names)} arguments, not {len(args)}")
    _take(name, named, names)
    bound = dict(zip(names, args, strict=False))
    for key, value in named.items():
        if key in bound:
            raise ValueError(f"{name}() gets {key!r} twice")
        bound[key] = value
    return bound


def _numbers(name: str, args: list[Value], named: dict[str, Value]) -> Sweep:
    is_range = name == "range"
    names = ("start", "stop", "step") if is_range else ("start", "end")
    bound = _bind(name, args, named, names)
    for key in ("start",) if is_range else names:
        if key not in bound:
            raise ValueError(f"{name}() needs {key!r}")
    for key, value in bound.items():
        if not (isinstance(value.data, (int, float)) or (key == "stop" and value.data is None)):
            raise ValueError(f"{name}() needs numbers, {key} is {value.raw}")
    numbers = {key: value.data for key, value in bound.items()}
    if not is_range:
        return Sweep("interval", bounds=(float(numbers["start"]), float(numbers["end"])))
    start, stop = numbers["start"], numbers.get("stop")
    if stop is None:
        start, stop = 0, start
    return Sweep("range", bounds=(start, stop, numbers.get("step", 1)))


def _glob(args: list[Value], named: dict[str, Value]) -> Sweep:
    bound = _bind("glob", args, named, ("include", "exclude"))
    if "include" not in bound:
        raise ValueError("glob() needs a pattern")
    patterns: list[tuple[str, ...]] = []
    for key in ("include", "exclude"):
        data = bound[key].data if key in bound else None
        if data is None and key == "exclude":
            patterns.append(())
        elif isinstance(data, str):
            patterns.append((data,))
        elif isinstance(data, list):
            patterns.append(tuple(str(item.data) for item in data))
        else:
            raise ValueError("glob() needs patterns, as text or a list of texts")
    return Sweep("glob", bounds=tuple(patterns))


def _tag(args: list[Value], named: dict[str, Value]) -> Sweep:
    _take("tag", named, ("sweep",))
    if not args:
        raise ValueError("tag() needs a sweep")
    given = named["sweep"].data if "sweep" in named else None
    if given is not None:
        args = [*args, named["sweep"]]
    last = args[-1].data
    if not isinstance(last, Sweep) or last.kind == "glob":
        raise ValueError("the last argument of tag() must be a choice(), range() or interval()")
    if not all(isinstance(arg.data, str) for arg in args[:-1]):
        raise ValueError("the tags of tag() must be text")
    return last


def _ordered(name: str, args: list[Value], named: dict[str, Value]) -> Any:
    """sort() and shuffle()."""
    _take(name, named, ("sweep", "list") + (("reverse",) if name == "sort" else ()))
    reverse = named["reverse"].data if "reverse" in named else False
    if not isinstance(reverse, bool):
        raise ValueError("sort() needs reverse=true or reverse=false")
    _check_ordered(name, args, named)
    for key in ("list", "sweep"):
        if key in named and named[key].data is not None:
            args = [named[key]]
            break
    if len(args) != 1:
        if name == "sort" and (not args or not all(isinstance(arg.data, (str, int, float)) for arg in args)):
            raise ValueError("sort() needs plain values")
        swept = tuple(args) if name == "shuffle" else tuple(_sorted(args, reverse, quoted=False))
        return Sweep("choice", swept, simple=True)
    data = args[0].data
    if isinstance(data, list):
        if name == "sort":
            return _sorted(data, reverse, quoted=True)
        return Unknown("shuffled at random") if len(data) > 1 else data
    if isinstance(data, Sweep):
        return data if name == "shuffle" else _sort_sweep(data, reverse)
    return [args[0]] if name == "shuffle" else data


def _check_ordered(name: str, args: list[Value], named: dict[str, Value]) -> None:
    for arg in args:
        if isinstance(arg.data, Sweep) and arg.data.kind not in ("choice", "range"):
            raise ValueError(f"{name}() can't take {arg.raw}")
        if arg.data is None:
            raise ValueError(f"{name}() can't take null")
    if "list" in named and not isinstance(named["list"].data, (list, type(None))):
        raise ValueError(f"{name}() needs a list as list=")
    if "sweep" in named:
        sweep = named["sweep"].data
        if sweep is not None and not (isinstance(sweep, Sweep) and sweep.kind in ("choice", "range")):
            raise ValueError(f"{name}() needs a choice() or range() as sweep=")


def _sorted(values: list[Value], reverse: bool, quoted: bool) -> list[Value]:
    """Sorted as Python sorts; `quoted` values keep their quotes inside a list and then can't be compared."""
    if quoted and len(values) > 1 and any(value.style in ("single", "double") for value in values):
        raise ValueError("quoted values in a list can't be sorted")
    try:
        return sorted(values, key=lambda value: value.plain(), reverse=reverse)
    except TypeError:
        raise ValueError("values of different kinds can't be sorted") from None


def _sort_sweep(sweep: Sweep, reverse: bool) -> Sweep:
    if sweep.kind == "choice":
        return Sweep("choice", tuple(_sorted(list(sweep.items), reverse, quoted=True)), simple=sweep.simple)
    start, stop, step = sweep.bounds
    if not reverse and start > stop:
        return Sweep("range", bounds=(stop + abs(step), start + abs(step), -step))
    if reverse and start < stop:
        return Sweep("range", bounds=(stop - abs(step), start - abs(step), -step))
    return sweep
