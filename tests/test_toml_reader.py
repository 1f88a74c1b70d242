"""The TOML reader against the standard library's, and the places that it tells."""

from __future__ import annotations

import datetime
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_lint.source import SourceFile
from grpo_lint.syntax import toml

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

WHOLE = '''
title = "a \\"b\\" \\u00e9 \\t" # comment
'quoted key' = 1
a.b."c.d" = 0x_ff
a.b.e = [1, 2.5, "x", [true, false],  # why
  { k = 'v', n.m = 1e3 }, ]
date = 1979-05-27T07:32:00Z
day = 1979-05-27
time = 07:32:00
big = 1_000_000
hex = 0xDEAD_beef
neg = -0.5e-3
special = [inf, -inf]
multi = """
first \\
   joined
"quoted" and ""two""
"""
raw = \'\'\'
C:\\n
it's''
\'\'\'
[t]
x = 1
[t.u]
y = 2
[[list]]
n = 1
[list.sub]
z = 1
[[list]]
n = 2
[[list.inner]]
q = 3
'''.replace("0x_ff", "0xff")


def read(text: str) -> Any:
    document = toml.read(SourceFile("a.toml", text))
    assert document.problems == [], document.problems
    assert document.root is not None
    return document.root.plain()


def plain(value: Any) -> Any:
    """What tomllib gives, with dates and times as the texts that they are."""
    if isinstance(value, dict):
        return {key: plain(child) for key, child in value.items()}
    if isinstance(value, list):
        return [plain(child) for child in value]
    return "time" if isinstance(value, (datetime.date, datetime.time)) else value


def test_as_the_standard_library_reads_it() -> None:
    ours = read(WHOLE)
    for key in ("date", "day", "time"):
        ours[key] = "time"
    assert ours == plain(tomllib.loads(WHOLE))


KEYS = st.from_regex(r"[A-Za-z0-9_-]{1,6}", fullmatch=True)
SCALARS = st.one_of(
    st.booleans(), st.integers(-(10**15), 10**15), st.floats(allow_nan=False, width=32), st.text(max_size=12)
)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3), max_leaves=6)


def written(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, str):
        return '"' + "".join(f"\\U{ord(c):08x}" if c in '"\\' or not c.isprintable() else c for c in value) + '"'
    return repr(value)


@given(st.dictionaries(KEYS, st.dictionaries(KEYS, VALUES, max_size=4), max_size=4))
def test_any_tables(tables: dict[str, dict[str, Any]]) -> None:
    lines = []
    for name, rows in tables.items():
        lines.append(f"[{name}]")
        lines += [f"{key} = {written(value)}" for key, value in rows.items()]
    text = "\n".join(lines)
    assert read(text) == tomllib.loads(text) == tables


@given(st.text(alphabet="ab=[]{}.\"'#\n ,1-\\", max_size=60))
def test_any_text_is_read_to_its_end(text: str) -> None:
    """What the standard library takes, ours takes alike; of what it refuses, something is told."""
    document = toml.read(SourceFile("a.toml", text))
    try:
        expected = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        assert document.problems
    else:
        assert document.root is not None
        assert not document.problems
        assert document.root.plain() == plain(expected)


def test_values_keys_and_comments_have_places() -> None:
    text = "# head\n[a]\nkey.sub = 'v' # tail\n"
    document = toml.read(SourceFile("a.toml", text))
    assert document.root is not None
    value = document.root.get("a.key.sub")
    assert value is not None
    assert value.key_span is not None
    assert (value.span.text, value.key_span.text, value.span.line) == ("'v'", "sub", 3)
    assert [comment.text for comment in document.comments] == ["# head", "# tail"]


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("a = 1\na = 2\n", "a is there twice", 2),
        ("a = \n", "a value is missing here", 1),
        ("a = yes\n", "yes is no value; a text needs quotes", 1),
        ("x\nb = 1\n", "a `=` is missing after the key", 1),
        ("a = 1 2\n", "a value ends here, and the line goes on", 1),
        ('a = "x\n', "a text has no end", 1),
        ("[a]\n[a]\n", "a is there already", 2),
        ("a = [1\n", "a list has no end", 2),
    ],
)
def test_a_fault_is_told_and_reading_goes_on(text: str, message: str, line: int) -> None:
    document = toml.read(SourceFile("a.toml", text + "last = 1\n"))
    assert [(problem.message, problem.span.line) for problem in document.problems] == [(message, line)]
