"""The JSON reader against hjson and Python's json module, on hostile input, and its places."""

from __future__ import annotations

import json as stdlib_json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import hjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grpo_lint.located import Unknown, Value
from grpo_lint.source import SourceFile, Span, decode
from grpo_lint.syntax import json
from grpo_lint.syntax.document import MAX_DEPTH, MAX_PROBLEMS, Document

CORPUS = Path(__file__).parent.parent.parent / "shared" / "corpus"


def document(text: str, relaxed: bool = True) -> Document:
    return json.read(SourceFile("test.json", text), relaxed)


def root(text: str, relaxed: bool = True) -> Value:
    found = document(text, relaxed)
    assert found.problems == []
    assert found.root is not None
    return found.root


def walk(value: Value) -> list[Value]:
    found, todo = [], [value]
    while todo:
        node = todo.pop()
        found.append(node)
        if isinstance(node.data, dict):
            todo += node.data.values()
        elif isinstance(node.data, list):
            todo += node.data
    return found


def as_deepspeed_reads(text: str) -> Any:
    """Raises ValueError, as `dict_raise_error_on_duplicate_keys` in DeepSpeed does, for a duplicate key."""

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        data = dict(found)
        if len(data) != len(found):
            raise ValueError("duplicate keys")
        return data

    return hjson.loads(text, object_pairs_hook=pairs)


def assert_same(text: str, relaxed: bool) -> None:
    found = document(text, relaxed)
    fatal = [problem for problem in found.problems if problem.fatal]
    try:
        expected = as_deepspeed_reads(text) if relaxed else stdlib_json.loads(text)
    except (ValueError, IndexError, OverflowError):
        assert fatal, text
        return
    if relaxed and isinstance(expected, str) and fatal:
        # a broken line that hjson takes as one string: that is no config, and never what was meant
        assert any("is not closed" in problem.message for problem in fatal), text
        return
    assert not fatal, text
    assert found.root is not None
    assert repr(found.root.plain()) == repr(expected), (
        text
    )  # repr tells 1 from 1.0 and True, and shows the order of keys


RELAXED = [
    "",
    "# only a comment",
    "{}",
    "[]",
    "a: 1",
    "a: 1\nb: two words, and a comma # and no comment\nc: {d: 1\n}",
    "{a: 1, b: 2,}",
    "{\n  a: 1\n  b: 2\n}",
    '{"a": 1 /* x */, // y\n "b": 2 # z\n}',
    "{'a': 'it\\'s', \"b\": \"'\"}",
    "{a: 1.0, b: 1.5, c: 1e3, d: 1e10, e: -0.0, f: 01, g: 1., h: .5, i: +1\n}",
    "{a: true, b: false, c: null, d: True\n}",
    "{a: NaN, b: Infinity\n}",
    "{a: auto\n}",
    "{a: auto}",
    "{a: 'auto'}",
    "[1 2\n3, 4,]",
    "[1,,2]",
    "{a:: 1}",
    "{a b: 1}",
    "{a\n: 1}",
    "{a#b: 1\n}",
    "{: 1}",
    "{a: }",
    '{"a" 1}',
    '{"a": 1} x',
    '{"a": 1}} ',
    '{"a": 1',
    '{"a": [1, 2}',
    '"just a string"',
    "5",
    "true",
    "two words",
    "a: {",
    "{\n  a:\n    '''\n    one\n      two\n    '''\n}",
    "{\n  a: '''one'''\n b: ''''two''''\n}",
    "{a: '''x'''}\n",
    "{\n a: ''' \n",
    "{\r\n  a: 1,\r\n  b: x \r\n}\r\n",
    '{"a": "\\u00e9\\ud83d\\ude00\\/\\b"}',
    '{"a": "\\x"}',
    '{"a": "\\u12"}',
    '{"a": "b\tc"}',
    '{"a": "b\nc"}',
    '{"a": 1e999}',
    "{a: 1e5}",
    "/* open",
    "{a: 1, a: 2}",
    "{a: {b: 1, b: 2}}",
    '{"a": "x" "b": "y"}',
    '{"a": 1, /* c */ }',
    "\u00a0a\u00a0: b\u00a0\n",
]


@pytest.mark.parametrize("text", RELAXED)
def test_hjson_is_read_as_hjson_does(text: str) -> None:
    assert_same(text, relaxed=True)


STRICT = [
    "",
    "{}",
    '{"a": [1, 1.0, -0, 1e3, 1E-2, true, false, null, NaN, Infinity, -Infinity, "x"]}',
    '{"a": 1,}',
    "[1,]",
    "[1 2]",
    '{"a": 1 "b": 2}',
    "{a: 1}",
    "{'a': 1}",
    '{"a": foo}',
    '{"a": 01}',
    '{"a": 1.}',
    '{"a": .5}',
    '{"a": +1}',
    '{"a": True}',
    '{"a": None}',
    '{"a": 1} // x',
    '# x\n{"a": 1}',
    '{"a": 1, "a": 2}',
    '{"a": "\\\'"}',
    '{"a": "\\u12_4"}',
    '{"a": "\t"}',
    '{"a": "x}',
    '{"a": 1e999}',
    "5",
    '"x"',
    "a: 1",
    '{"a": 1}\n{"b": 2}',
    "[1, 2",
    '{"a": ٣}',
]


@pytest.mark.parametrize("text", STRICT)
def test_json_is_read_as_python_does(text: str) -> None:
    assert_same(text, relaxed=False)


TOKENS = """{ } [ ] : , "a" "b" 'c' 1 -0 1.0 1e3 true null foo a b \\ \\n \\u00e9 NaN 1e999 0.5 x: # // /* */ ''' " '"""
SPACES = ["\n", " ", "\t", "\r\n", "# c\n", "// x\n", "/* y */", '"k": 2', "\xa0"]
PIECES = st.lists(st.sampled_from([*TOKENS.split(), *SPACES]), max_size=9)
FRAMES = st.sampled_from(
    ["%s", "{%s}", "[%s]", '{"a": %s}', "{a: %s\n}", '{"a": "b", %s}\n', "a: %s\n", '\n{\n  "x": %s\n}\n']
)


@settings(max_examples=1500, deadline=None)
@given(PIECES, FRAMES, st.booleans())
def test_any_pieces_are_read_as_their_consumer_does(pieces: list[str], frame: str, relaxed: bool) -> None:
    assert_same(frame % "".join(pieces), relaxed)


DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=8), children, max_size=4),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(DATA, st.sampled_from([None, 2]), st.booleans())
def test_what_json_writes_is_read_and_each_place_reads_to_its_value(data: Any, indent: int | None, ascii: bool) -> None:
    text = stdlib_json.dumps(data, indent=indent, ensure_ascii=ascii)
    value = root(text, relaxed=False)
    assert value.plain() == data
    for node in walk(value):
        assert stdlib_json.loads(node.span.text) == node.plain()
        assert node.key_span is None or text[node.key_span.end :].startswith(":")
        if isinstance(node.data, str):
            assert node.span.text == f'"{node.raw}"'
        elif not isinstance(node.data, (dict, list)):
            assert node.span.text == node.raw


@settings(max_examples=800, deadline=None)
@given(st.text(st.sampled_from("ab1.:-,[]{}#/*\"'\\ \n\t\ré😀\x00\ud800"), max_size=60), st.booleans())
def test_any_text_is_read_and_every_place_lies_in_it(text: str, relaxed: bool) -> None:
    found = document(text, relaxed)
    spans = [problem.span for problem in found.problems] + found.comments
    for value in walk(found.root) if found.root is not None else []:
        spans += [value.span, *([value.key_span] if value.key_span is not None else [])]
    assert all(0 <= span.start <= span.end <= len(text) for span in spans)


def test_places_and_styles() -> None:
    text = "{ // c\n  \"é😀\": 'x\\'y',\n  list: [1.50, -2 ],\n  word: some text  \n  m:\n    '''\n    a\n    '''\n}\n"
    value = root(text)
    expected = {
        "é😀": ("'x\\'y'", "x\\'y", "single", "x'y"),
        "word": ("some text", "some text", "plain", "some text"),
        "m": ("'''\n    a\n    '''", "\n    a\n    ", "literal", "a"),
    }
    found = {key: value.data[key] for key in expected}
    assert {key: (node.span.text, node.raw, node.style, node.data) for key, node in found.items()} == expected
    assert value.data["list"].span.text == "[1.50, -2 ]"
    assert [node.span.text for node in value.data["list"].data] == ["1.50", "-2"]
    assert [node.key_span.text for node in value.data.values()] == ['"é😀"', "list", "word", "m"]
    assert value.span.text == text.strip()
    assert [span.text for span in document(text).comments] == ["// c"]


def test_duplicate_keys_have_both_places_and_the_last_wins() -> None:
    text = '{"a": 1,\n "b": {"a": 0},\n "a": 3}'
    for relaxed in (True, False):
        found = document(text, relaxed)
        (problem,) = found.problems
        assert (problem.kind, problem.fatal, problem.span.line) == ("duplicate-key", relaxed, 3)
        assert [(span.line, span.text) for span, _ in problem.related] == [(1, '"a"')]
        assert found.root is not None
        assert found.root.plain() == {"a": 3, "b": {"a": 0}}


@pytest.mark.parametrize(
    ("text", "relaxed", "data"),
    [
        ('{"a": 1,\n "b": ,\n "c": 3}', True, {"a": 1, "b": None, "c": 3}),
        ('{"a": 1,\n "b": "x,\n "c": 3}', True, {"a": 1, "b": None, "c": 3}),
        ('{"a": [1, 2,\n "c": 3}', False, None),
        ('{"a": {"x": 1\n "b": 2}', False, {"a": {"x": 1, "b": 2}}),
        ('{"a": 1,\n "b" 2,\n "c": 3}', False, {"a": 1, "c": 3}),
        ('{"a": 1, // x\n "c": 3,}', False, {"a": 1, "c": 3}),
        ("{'a': 1, b: two, \"c\": 3}", False, {"a": 1, "b": "two", "c": 3}),
        ('{"a": [1}, "b": 2}', False, {"a": [1]}),
        ('{"a": 1}}', False, {"a": 1}),
        ('{"a": 1', True, {"a": 1}),
    ],
)
def test_reading_goes_on_after_a_fault(text: str, relaxed: bool, data: Any) -> None:
    found = document(text, relaxed)
    assert {problem.kind for problem in found.problems} == {"syntax"}
    assert found.root is not None
    if data is not None:
        known = {key: None if isinstance(value, Unknown) else value for key, value in found.root.plain().items()}
        assert known == data


HOSTILE = {
    "list depth": "[" * 1_000_000,
    "object depth": '{"a":' * 1_000_000,
    "commas": "," * 1_000_000,
    "commas in a list": "[" + "," * 1_000_000,
    "quotes": '"' * 1_000_000,
    "triple quotes": "a: '''" + "'\n" * 1_000_000,
    "terminators": "{a: t" + "," * 2_000_000,
    "slashes": "/" * 1_000_000,
    "open comments": "/*" * 1_000_000,
    "words in a key": "{" + "a " * 1_000_000,
    "escapes": '"' + "\\x" * 500_000,
    "long number": "[" + "1" * 2_000_000,
    "keys only": "{" + '"a"\n' * 500_000,
    "closers": "{a: " + "]}" * 500_000,
    "newlines": "{a:" + "\n" * 2_000_000,
    "spaces": "{a: x" + " " * 2_000_000 + "y\n}",
    "wide indent": "{\n" + " " * 100_000 + "a: '''\n" + "x\n" * 100_000 + "'''}",
}


@pytest.mark.parametrize("relaxed", [True, False])
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_input_is_bounded(name: str, relaxed: bool) -> None:
    started = time.process_time()
    found = document(HOSTILE[name], relaxed)
    assert len(found.problems) <= MAX_PROBLEMS
    assert all(len(problem.message) < 200 for problem in found.problems)
    if found.root is not None:
        found.root.plain()
        assert sum(1 for _ in found.root.leaves()) <= 600_000
    assert time.process_time() - started < 20


def test_the_number_of_values_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json, "MAX_NODES", 100)
    found = document('{"a": 1, "b": [' + "[]," * 100 + "]}")
    assert [problem.kind for problem in found.problems] == ["gave-up"]
    assert found.root is not None
    assert found.root.data["a"].data == 1
    assert len(found.root.data["b"].data) == 97


def test_depth_is_limited_and_what_lies_above_is_read() -> None:
    found = document('{"a": 1, "b": ' + "[" * MAX_DEPTH)
    assert [problem.kind for problem in found.problems] == ["too-deep"]
    assert found.root is not None
    assert found.root.data["a"].data == 1
    assert document("[" * MAX_DEPTH + "]" * MAX_DEPTH).problems == []


def test_a_text_inside_another_has_its_places_there() -> None:
    source = SourceFile("run.sh", "python x.py --json='{\"a\": [1, 2]}'\n")
    start = source.text.index("{")
    inner = source.text[start : source.text.rindex("}") + 1]
    found = json.read_text(inner, lambda low, high: Span(source, start + low, start + high), relaxed=False)
    assert found.problems == []
    assert found.root is not None
    assert [found.root.data["a"].span.text, found.root.data["a"].data[1].span.text] == ["[1, 2]", "2"]


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    found = json.read(SourceFile("bom.json", decode(b'\xef\xbb\xbf{"a": 1}')), relaxed=False)
    assert found.problems == []
    assert found.root is not None
    assert found.root.data["a"].span.start == 6


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus of real files is not here")
@pytest.mark.parametrize("relaxed", [True, False])
def test_real_files_read_as_by_their_consumer(relaxed: bool) -> None:
    paths = sorted(CORPUS.rglob("*.json"))
    for path in paths:
        assert_same(decode(path.read_bytes()), relaxed)
    assert len(paths) > 50


def test_reading_json_imports_no_yaml() -> None:
    script = """
import re
import sys
from grpo_lint.source import SourceFile
before = set(sys.modules)
from grpo_lint.syntax import json
assert json.read(SourceFile("a", "{a: 1}")).root.plain() == {"a": 1}
new = {name.partition(".")[0] for name in set(sys.modules) - before}
assert new == {"grpo_lint"}, new
import json as stdlib
assert stdlib.loads("[1]") == [1]
"""
    subprocess.run([sys.executable, "-c", script], check=True)
