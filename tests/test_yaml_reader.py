"""The YAML reader against PyYAML and OmegaConf, on hostile input, and its places."""

from __future__ import annotations

import datetime
import math
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml as pyyaml
from hypothesis import given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf
from omegaconf._utils import get_yaml_loader

from grpo_lint.located import Unknown, Value
from grpo_lint.source import SourceFile, decode
from grpo_lint.syntax import scalars, yaml, yaml_tree
from grpo_lint.syntax.document import MAX_DEPTH, MAX_PROBLEMS, Document

CORPUS = Path(__file__).parent.parent.parent / "shared" / "corpus"
LOADERS: dict[str, Any] = {"pyyaml": pyyaml.SafeLoader, "omegaconf": get_yaml_loader()}
RESOLVERS = sorted(LOADERS)


def documents(text: str, resolver: str = "omegaconf", pure: bool = False) -> list[Document]:
    return yaml.read(SourceFile("test.yaml", text), resolver, pure)


def document(text: str, resolver: str = "omegaconf", pure: bool = False) -> Document:
    found = documents(text, resolver, pure)
    assert len(found) == 1
    return found[0]


def root(text: str, resolver: str = "omegaconf", pure: bool = False) -> Value:
    found = document(text, resolver, pure)
    assert found.problems == []
    assert found.root is not None
    return found.root


def kinds(text: str, resolver: str = "omegaconf") -> list[str]:
    return [problem.kind for found in documents(text, resolver) for problem in found.problems]


def same(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float) and math.isnan(left):
        return math.isnan(right)
    return type(left) is type(right) and bool(left == right)


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


def described(found: list[Document]) -> list[Any]:
    """Everything about values, and the places of problems and comments; messages differ between parsers."""
    out: list[Any] = []
    for one in found:
        for node in walk(one.root) if one.root is not None else []:
            key = (node.key_span.start, node.key_span.end) if node.key_span is not None else None
            via = [(span.start, span.end) for span in node.via]
            shown = (
                list(node.data) if isinstance(node.data, dict) else len(node.data) if node.is_list else repr(node.data)
            )
            out.append((node.span.start, node.span.end, key, node.raw, node.style, node.tag, via, shown))
        out.append([(problem.kind, problem.fatal) for problem in one.problems])
        out.append([(span.start, span.end) for span in one.comments])
    return out


# -- scalars


def reference_scalar(text: str, resolver: str) -> Any:
    loader = LOADERS[resolver]("")
    node = pyyaml.ScalarNode(loader.resolve(pyyaml.ScalarNode, text, (True, False)), text)
    return loader.construct_object(node)


def assert_same_scalar(text: str, resolver: str) -> None:
    try:
        expected = reference_scalar(text, resolver)
    except (ValueError, IndexError, KeyError, OverflowError, pyyaml.YAMLError):
        with pytest.raises(scalars.Unreadable):
            scalars.resolve(text, resolver)
        return
    if isinstance(expected, datetime.date):
        expected = text
    assert same(scalars.resolve(text, resolver), expected), (text, expected)


SCALARS = (
    "1e-6 1E6 1.e5 1.5e3 1.5e+3 .5 .5e1 .5e+1 5. -1.5 +1.5 1_000 1_000.5 1__0 _1 1_ 0 -0 +0 00 07 017 08 0o17 0x1F 0xG",
    "0x_ 0b11 0b_ 0b2 12:30:45 1:60 190:20:30.15 -1:30 .inf -.inf +.INF .Inf .NaN .nan +.nan nan inf - + . .. -- 1-2",
    "yes Yes YES yEs no NO on Off off y n Y true True TRUE tRue false null Null NULL nuLL ~ ~~ = << <<< ${a.b} auto",
    "2001-01-01 2001-13-01 2001-1-1 2001-12-14t21:59:43.10-05:00 2001-12-14T25:00:00Z 2001-12-14T01:00:00+99:00 1e400",
)


@pytest.mark.parametrize("resolver", RESOLVERS)
@pytest.mark.parametrize("text", ["", "2001-12-14 21:59:43", "a b", *" ".join(SCALARS).split()])
def test_scalar_means_what_its_consumer_makes_of_it(text: str, resolver: str) -> None:
    assert_same_scalar(text, resolver)


def test_scalars_that_the_two_consumers_disagree_on() -> None:
    texts = ("1e-6", "1.5e3", "2024-02-30")
    assert [scalars.resolve(text, "omegaconf") for text in texts] == [1e-6, 1500.0, "2024-02-30"]
    assert [scalars.resolve(text, "pyyaml") for text in texts[:2]] == ["1e-6", "1.5e3"]
    with pytest.raises(scalars.Unreadable):
        scalars.resolve("2024-02-30", "pyyaml")


@settings(max_examples=1000, deadline=None)
@given(st.text("0123456789.-+_:eExXbaofnNIiTZyY ~=<tTrRuUlLsSTfF", max_size=12), st.sampled_from(RESOLVERS))
def test_any_scalar_means_what_its_consumer_makes_of_it(text: str, resolver: str) -> None:
    assert_same_scalar(text, resolver)


@pytest.mark.parametrize(
    ("text", "data"),
    [("!!str 5", "5"), ("!!int '5'", 5), ("!!float 1", 1.0), ("!!bool 'no'", False), ("!!null x", None), ("! 5", 5)],
)
def test_core_tags_are_applied(text: str, data: Any) -> None:
    assert same(root(f"a: {text}\n").get("a").data, data)  # type: ignore[union-attr]


# -- structure


def test_merge_keys_keep_the_places_of_what_they_merge() -> None:
    text = "base: &b\n  x: 1\n  y: 2\ntop:\n  <<: *b\n  y: 3\n"
    top = root(text).get("top")
    assert top is not None
    assert top.plain() == {"x": 1, "y": 3}
    merged, own = top.data["x"], top.data["y"]
    assert (merged.span.line, merged.span.text, merged.key_span.text) == (2, "1", "x")
    assert [span.text for span in merged.via] == ["*b"]
    assert (own.span.line, own.via) == (6, ())


@pytest.mark.parametrize(
    ("merge", "data"),
    [
        ("<<: *a", {"k": 1, "m": 1}),
        ("<<: [*a, *b]", {"k": 1, "m": 1}),
        ("<<: [*b, *a]", {"k": 2, "m": 1}),
        ("<<: {k: 3}", {"k": 3}),
        ("<<: *a, k: 9", {"k": 9, "m": 1}),
        ("k: 9, <<: *a", {"k": 9, "m": 1}),
        ("'<<': 1", {"<<": 1}),
    ],
)
def test_merge_keys(merge: str, data: Any) -> None:
    assert root(f"a: &a {{k: 1, m: 1}}\nb: &b {{k: 2}}\nc: {{{merge}}}\n").get("c").plain() == data  # type: ignore[union-attr]


def test_merging_a_scalar_is_a_problem() -> None:
    assert kinds("a: {<<: 5}\n") == ["merge"]
    with pytest.raises(pyyaml.YAMLError):
        pyyaml.safe_load("a: {<<: 5}\n")


def test_alias_shares_its_target_and_says_where_it_led_through() -> None:
    text = "a: &x [1, 2]\nb: *x\nc:\n- *x\n"
    value = root(text)
    first, second = value.data["a"], value.data["b"]
    assert first.data is second.data
    assert second.span == first.span
    assert second.key_span.text == "b"
    assert [span.text for span in second.via] == ["*x"]
    assert first.via == ()


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("a: *nope\n", "undefined-alias"),
        ("a: &a [*a]\n", "alias-cycle"),
        ("&a {b: {c: *a}}\n", "alias-cycle"),
        ("a: &x 1\nb: &x 2\n", "duplicate-anchor"),
        ("a: !custom 1\n", "tag"),
        ("a: !!python/object/apply:os.system [ls]\n", "tag"),
        ("a: !!python/name:os.system\n", "tag"),
        ("? [a, b]\n: 1\n", "key"),
        ("a: =\n", "value"),
        ("a: 0x_\n", "value"),
        ("a: {{ x }}\n", "template"),
        ("a: 1\n{% if x %}\nb: 2\n{% endif %}\n", "template"),
        ("{{- if .Values.x }}\na: 1\n{{- end }}\n", "template"),
        ("a: [1, 2\n", "syntax"),
        ("a: 'x\n", "syntax"),
        ("a:\n\t- b\n", "syntax"),
        ("a: b: c\n", "syntax"),
        ("a: \x00\n", "syntax"),
        ("a: \x1b[0m\n", "syntax"),
        ("a: \ud800\n", "syntax"),
        ("a: @x\n", "syntax"),
        ("%YAML 2.0\n---\na\n", "syntax"),
        ("a: !x!y z\n", "syntax"),
    ],
)
def test_faults_are_told_apart_and_never_raised(text: str, kind: str) -> None:
    found = documents(text)
    assert [problem.kind for one in found for problem in one.problems] == [kind]
    assert found[0].problems[0].fatal
    assert described(found) == described(documents(text, pure=True))


def test_duplicate_keys_have_both_places_and_the_last_wins() -> None:
    text = "a: 1\nb: 2\n'a': 3\n"
    for resolver, fatal in (("omegaconf", True), ("pyyaml", False)):
        found = document(text, resolver)
        (problem,) = found.problems
        assert (problem.kind, problem.fatal) == ("duplicate-key", fatal)
        assert (problem.span.line, problem.span.text) == (3, "'a'")
        assert [(span.line, span.text) for span, _ in problem.related] == [(1, "a")]
        assert found.root is not None
        assert found.root.plain() == {"a": 3, "b": 2}
    assert pyyaml.safe_load(text) == {"a": 3, "b": 2}
    with pytest.raises(pyyaml.YAMLError):
        OmegaConf.create(text)


def test_keys_that_are_the_same_text_but_not_the_same_key_are_no_duplicates() -> None:
    assert kinds("1: a\n'1': b\n") == []
    assert kinds("a: &k b\n*k : 1\n") == []


def test_several_documents() -> None:
    found = documents("# one\na: 1\n---\nb: 2\n...\n---\nb: 3\nb: 4\n", "pyyaml")
    assert [one.root.plain() for one in found if one.root is not None] == [{"a": 1}, {"b": 2}, {"b": 4}]
    assert [len(one.problems) for one in found] == [0, 0, 1]
    assert [span.text for span in found[2].comments] == ["# one"]


def test_an_empty_file_is_a_document_without_root() -> None:
    for text in ("", "\n", "# only this\n"):
        assert document(text).root is None


def test_comments_are_not_looked_for_in_scalars() -> None:
    text = "a: 1 # one\nb: \"# two\"\nc: x#three\nd: |\n  # four\n  x # five\n# six\ne: 'a\n  # seven'\n"
    assert [span.text for span in document(text).comments] == ["# one", "# six"]


# -- after a fault


@pytest.mark.parametrize("pure", [False, True])
@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("a: 1\nb: [1, 2\nc: 3\n", {"a": 1, "b": None, "c": 3}),
        ("a: 1\nb: 'x\nc: 3\nd: 4\n", {"a": 1, "b": None, "c": 3, "d": 4}),
        ("a: 1\nb: x: y\nc: 3\n", {"a": 1, "b": None, "c": 3}),
        ("a:\n  x: 1\n  y: 2\n z: 3\nb: 4\n", {"a": {"x": 1, "y": 2}, "b": 4}),
        ("a: 1\n  b: 2\nc: 3\n", {"a": None, "c": 3}),
        ("a: 1\nb:\n\tc: 1\nd: 2\n", {"a": 1, "b": None, "d": 2}),
        ("a: 1\n{% if x %}\nb: 2\n", {"a": 1}),
        ("a: 1\nb: {{ x }}{{ y }}\nc: 2\n", {"a": 1, "b": None, "c": 2}),
    ],
)
def test_reading_goes_on_after_a_fault(text: str, data: Any, pure: bool) -> None:
    def known(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: known(child) for key, child in value.items()}
        return None if isinstance(value, Unknown) else value

    found = document(text, pure=pure)
    assert len(found.problems) == 1
    assert found.root is not None
    assert known(found.root.plain()) == data


def test_what_follows_a_resumed_document_is_read_as_well() -> None:
    found = documents("a: [\nb: 1\n---\nc: 2\n")
    assert [one.root.plain() for one in found if one.root is not None][1:] == [{"c": 2}]


# -- limits

HOSTILE = {
    "flow depth": "[" * 1_000_000,
    "mapping depth": "{" * 1_000_000,
    "block depth": "- " * 100_000,
    "indent": "\n".join(" " * depth + "a:" for depth in range(1500)),
    "question marks": "? " * 100_000,
    "alias bomb": "a: &a [x,x,x,x,x,x,x,x,x]\n"
    + "".join(f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(12)),
    "merge bomb": f"a: &a {{{', '.join(f'k{i}: 1' for i in range(1000))}}}\n"
    + "".join(f"b{i}:\n  <<: *a\n" for i in range(3000)),
    "alias depth": "a0: &a0 [x]\n" + "".join(f"a{i + 1}: &a{i + 1} [*a{i}]\n" for i in range(5000)),
    "long number": "a: " + "1" * 2_000_000,
    "sexagesimal": "a: 1" + ":1" * 1_000_000,
    "many faults": "a: [\nb: 1\n" * 100_000,
    "many templates": "a: {{ x }}\n" * 20_000,
    "control characters": "\x01" * 1_000_000,
    "open quote": 'a: "' + "x\n" * 1_000_000,
    "hashes": " #" * 2_000_000,
    "comments after keys": ("a:\n" + "# c\n" * 100) * 1000,
    "bangs": "!" * 1_000_000,
    "commas": "[" + "," * 1_000_000,
    "tabs": "\t" * 1_000_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_input_is_bounded(name: str) -> None:
    started = time.process_time()
    found = documents(HOSTILE[name])
    for one in found:
        assert len(one.problems) <= MAX_PROBLEMS
        assert all(len(problem.message) < 200 for problem in one.problems)
        if one.root is not None:
            one.root.plain()
            assert sum(1 for _ in one.root.leaves()) <= 600_000
    assert time.process_time() - started < 20


def test_the_number_of_values_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_tree, "MAX_NODES", 100)
    found = document("a: 1\nb:\n" + "- x\n" * 100)
    assert [problem.kind for problem in found.problems] == ["gave-up"]
    assert found.root is not None
    assert found.root.data["a"].data == 1
    assert len(found.root.data["b"].data) == 95


def test_depth_is_limited_and_what_lies_above_is_read() -> None:
    found = document("a: 1\nb: " + "[" * (MAX_DEPTH + 1))
    assert [problem.kind for problem in found.problems] == ["too-deep"]
    assert found.root is not None
    assert found.root.data["a"].data == 1
    assert found.root.data["b"].data == Unknown("not read")
    deepest = "[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1)
    assert kinds(f"b: {deepest}\n") == []


# -- places

TEXT = st.text(
    st.sampled_from("ab1.:-?,[]{}#&*!|>'\"%@`~=<$ \n\t\r\\é😀\x00\x85\u2028\ufeff"), max_size=60
)  # every character that has a meaning
LINES = st.lists(
    st.sampled_from(
        ["a: 1", "b:", "  - x", "  c: 'y'", "- z", "d: [1, 2]", "e: {f: g}", "h: |", "    text", "i: &k 1", "j: *k",
         "<<: *k", "# c", "", "k: \"q\\n\" # r", "---", "? x", "? x\n: y", "l: >-", "m: {{ n }}", "  o: 1e-6",
         "p: !t q", "r: [", "}"]
    ),
    max_size=12,
).map("\n".join)  # fmt: skip


@settings(max_examples=800, deadline=None)
@given(TEXT | LINES, st.sampled_from(RESOLVERS))
def test_any_text_is_read_and_every_place_lies_in_it(text: str, resolver: str) -> None:
    for one in documents(text, resolver):
        spans = [problem.span for problem in one.problems] + one.comments
        for value in walk(one.root) if one.root is not None else []:
            spans += [value.span, *value.via, *([value.key_span] if value.key_span is not None else [])]
        assert all(0 <= span.start <= span.end <= len(text) for span in spans)


@settings(max_examples=400, deadline=None)
@given(LINES)
def test_both_parsers_give_the_same_values(text: str) -> None:
    found, pure = documents(text), documents(text, pure=True)
    faults = [[problem.kind for one in each for problem in one.problems] for each in (found, pure)]
    if "syntax" in faults[0] and "syntax" in faults[1]:
        return  # where exactly a fault is seen differs
    assert described(found) == described(pure)


DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=8), children, max_size=4),
    max_leaves=12,
)


@settings(max_examples=250, deadline=None)
@given(DATA, st.booleans() | st.none(), st.sampled_from([None, "'", '"', "|", ">"]))
def test_what_pyyaml_writes_is_read_as_it_reads_it_and_each_place_reads_to_its_value(
    data: Any, flow: bool | None, style: str | None
) -> None:
    text = pyyaml.safe_dump(data, default_flow_style=flow, default_style=style, allow_unicode=True)
    found = document(text, "pyyaml")
    assert found.root is not None or data is None
    if found.root is None:
        return
    assert found.root.plain() == pyyaml.safe_load(text)
    for value in walk(found.root):
        if value.style in ("plain", "single", "double") and not value.tag:
            again = document(value.span.text, "pyyaml").root
            assert (again.data if again is not None else None) == value.data
        if value.style in ("plain", "single", "double"):
            assert value.raw == (value.span.text if value.style == "plain" else value.span.text[1:-1])


def test_places_in_a_real_shape() -> None:
    text = (
        "# verl\nactor:\n  optim: {lr: 1e-6, 'betas': [0.9, 0.95]}   # c\n  é: \"a😀b\"\n"
        "  note: >-\n    folded\n    text\n\n  list:\n  - 1\n  - &n two\n  empty:\n  last: !!str 5\n"
    )
    actor = root(text).data["actor"]
    expected = {
        "optim.lr": "1e-6",
        "optim.betas": "[0.9, 0.95]",
        "optim": "{lr: 1e-6, 'betas': [0.9, 0.95]}",
        "é": '"a😀b"',
        "note": ">-\n    folded\n    text",
        "list": "- 1\n  - &n two",
        "empty": "",
        "last": "5",
    }
    assert {path: actor.get(path).span.text for path in expected} == expected
    assert actor.get("list").data[1].span.text == "two"
    assert actor.get("optim.betas").key_span.text == "'betas'"
    assert actor.get("note").data == "folded text"
    assert (actor.get("last").data, actor.get("last").tag) == ("5", "!!str")
    assert actor.span.text.endswith("!!str 5")
    empty = actor.get("empty").span
    assert text[: empty.start].endswith("empty:")


def test_a_byte_order_mark_shifts_nothing() -> None:
    source = SourceFile("bom.yaml", decode(b"\xef\xbb\xbfa: 1\nb: x\n"))
    (found,) = yaml.read(source, "omegaconf")
    assert found.root is not None
    assert [found.root.data[key].span.text for key in "ab"] == ["1", "x"]
    (again,) = yaml.read(SourceFile("bom.yaml", "\ufeffa: 1\n"), "omegaconf")
    assert again.root is not None
    assert again.root.data["a"].span.text == "1"


def test_carriage_returns_belong_to_no_place() -> None:
    value = root("a: 1\r\nb: |\r\n  x\r\n  y\r\nc: 2\r\n")
    assert [child.span.text for child in value.data.values()] == ["1", "|\r\n  x\r\n  y", "2"]


# -- the real libraries on real files


def corpus_files() -> list[Path]:
    return sorted(path for path in CORPUS.rglob("*") if path.suffix in (".yaml", ".yml")) if CORPUS.is_dir() else []


def assert_same_tree(value: Value, expected: Any, resolver: str) -> None:
    if isinstance(value.data, dict):
        keys = {key if isinstance(key, str) else (type(key), key): child for key, child in expected.items()}
        assert len(value.data) == len(keys)
        for text, child in value.data.items():
            if text not in keys:
                key = scalars.resolve(text, resolver)
                assert (type(key), key) in keys
                text = (type(key), key)
            assert_same_tree(child, keys[text], resolver)
    elif isinstance(value.data, list):
        assert isinstance(expected, list)
        assert len(value.data) == len(expected)
        for child, item in zip(value.data, expected, strict=True):
            assert_same_tree(child, item, resolver)
    else:
        assert same(value.data, value.data if isinstance(expected, datetime.date) else expected), value.span


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus of real files is not here")
@pytest.mark.parametrize("resolver", RESOLVERS)
def test_real_files_read_as_by_their_consumer(resolver: str) -> None:
    read = 0
    for path in corpus_files():
        text = decode(path.read_bytes())
        found = documents(text, resolver)
        fatal = [problem for one in found for problem in one.problems if problem.fatal]
        try:
            expected = list(pyyaml.load_all(text, Loader=LOADERS[resolver]))
        except pyyaml.YAMLError:
            assert fatal, path
            continue
        assert not fatal, path
        for one, data in zip(found, expected, strict=True):
            if one.root is None:
                assert data is None
            else:
                assert_same_tree(one.root, data, resolver)
                read += 1
    assert read > 300


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus of real files is not here")
def test_both_parsers_agree_on_real_files() -> None:
    for path in corpus_files()[::4]:
        text = decode(path.read_bytes())
        assert described(documents(text)) == described(documents(text, pure=True)), path


# -- start-up


def test_the_c_parser_is_imported_alone_and_leaves_ruamel_yaml_usable() -> None:
    script = """
import sys
from grpo_lint.source import SourceFile
from grpo_lint.syntax import yaml
before = yaml.read(SourceFile("a", "a: [1"), "pyyaml")
assert before[0].problems[0].kind == "syntax"
heavy = {"ruamel.yaml.main", "ruamel.yaml.constructor", "datetime", "json"} & set(sys.modules)
assert "_ruamel_yaml" not in sys.modules or not heavy, heavy
import ruamel.yaml
assert ruamel.yaml.YAML(typ="safe", pure=True).load("a: [1, 2]") == {"a": [1, 2]}
assert ruamel.yaml.YAML().load("a: 1 # c") == {"a": 1}
from ruamel.yaml.scanner import ScannerError
assert ruamel.yaml.scanner.ScannerError is ScannerError
try:
    ruamel.yaml.YAML().load("a: 'x")
except ScannerError:
    pass
else:
    raise AssertionError
assert yaml.read(SourceFile("a", "a: [1"), "pyyaml")[0].problems[0].kind == "syntax"
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_reading_works_where_ruamel_yaml_is_already_imported() -> None:
    script = """
import ruamel.yaml
from grpo_lint.source import SourceFile
from grpo_lint.syntax import yaml
assert yaml.read(SourceFile("a", "a: 1"), "pyyaml")[0].root.plain() == {"a": 1}
assert yaml.read(SourceFile("a", "a: ["), "pyyaml")[0].problems[0].kind == "syntax"
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_reading_works_without_the_c_parser() -> None:
    script = """
import sys
sys.modules["_ruamel_yaml"] = None
from grpo_lint.source import SourceFile
from grpo_lint.syntax import yaml
assert yaml.read(SourceFile("a", "a: [1, x]"), "pyyaml")[0].root.plain() == {"a": [1, "x"]}
assert yaml.read(SourceFile("a", "a: ["), "pyyaml")[0].problems[0].kind == "syntax"
"""
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize("text", ["a: [pkg://verl.trainer.config]\n", "b: {c: http://x, d: 1}\n"])
def test_a_colon_in_a_plain_scalar_of_a_flow_collection(text: str) -> None:
    """libyaml's old scanner refuses it; PyYAML, which OmegaConf reads with, doesn't."""
    (document,) = yaml.read(SourceFile("x.yaml", text), "omegaconf")
    assert document.problems == []
    assert document.root is not None
    assert document.root.plain() == pyyaml.safe_load(text)
