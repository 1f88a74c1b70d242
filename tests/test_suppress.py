"""Comments that suppress findings, and what is said about those comments."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grpo_lint import directives
from grpo_lint.cli import main
from grpo_lint.source import SourceFile

HEAD = "#!/bin/bash\n"
GROUP = "NOT07"

Lint = Callable[..., "Outcome"]


class Outcome:
    """A linting: its exit code, its report as JSON, and its findings as "line RULE"."""

    def __init__(self, code: int, out: str) -> None:
        self.code = code
        self.report = json.loads(out)
        self.found = [f"{one['primary']['line']} {one['rule']}" for one in self.report["diagnostics"]]
        self.suppressed = [f"{one['primary']['line']} {one['rule']}" for one in self.report["suppressed"]]


@pytest.fixture
def lint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Lint:
    """Lints one file of the given text, in a repository of its own."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)

    def run(text: str, *arguments: str, name: str = "run.sh", whole: bool = False) -> Outcome:
        with open(name, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
        capsys.readouterr()
        code = main([*([] if whole else [name]), "--output", "json", *arguments])
        return Outcome(code, capsys.readouterr().out)

    return run


def launch(before: str = "", after: str = "", estimator: str = "grpo", size: int = 1, end: str = "\n") -> str:
    return (
        f"{HEAD}{before}python3 -m verl.trainer.main_ppo \\\n"
        f"    algorithm.adv_estimator={estimator} \\\n"
        f"    actor_rollout_ref.rollout.n={size}{after}{end}"
    )


def apply(text: str, fix: dict[str, object]) -> str:
    """A text with the edits of a fix, as a program that reads our JSON would make them."""
    lines = text.splitlines(keepends=True)
    starts = [sum(map(len, lines[:index])) for index in range(len(lines) + 1)]
    edits = fix["edits"]
    assert isinstance(edits, list)
    for edit in sorted(edits, key=lambda one: (one["line"], one["column"]), reverse=True):
        start = starts[edit["line"] - 1] + edit["column"] - 1
        end = starts[edit["end_line"] - 1] + edit["end_column"] - 1
        text = text[:start] + edit["replacement"] + text[end:]
    return text


# -- shell


def test_without_a_comment_the_finding_counts(lint: Lint) -> None:
    outcome = lint(launch())
    assert (outcome.code, outcome.found, outcome.suppressed) == (1, ["4 NOT07"], [])


@pytest.mark.parametrize(
    "text",
    [
        launch(before="# grpo-lint: ignore[NOT07] smoke test\n"),
        launch(before="#grpo-lint:ignore[ not07 ]\n"),
        launch(before="## grpo-lint: ignore[group-size-1] - smoke test\n"),
        launch(before="# grpo-lint: ignore[NOT] all of them\n"),
        launch(before="# grpo-lint: ignore[NOT08, NOT07]\n"),
        launch(before="# a note # grpo-lint: ignore[NOT07]\n"),
        launch(before="# grpo-lint: ignore[NOT07]\n# another comment\n\n\n"),
        launch(before="# grpo-lint: ignore[NOT07:actor_rollout_ref.rollout.n]\n"),
        launch(before="# grpo-lint: ignore[NOT07:rollout.n]\n"),
        launch(before="# grpo-lint: ignore[NOT07:n]\n"),
        launch(after="  # grpo-lint: ignore[NOT07] smoke test"),
        launch(after="  # noqa  # grpo-lint: ignore[NOT07] smoke test"),
        launch(before="# grpo-lint: ignore-file[NOT07] smoke tests\n"),
        launch(end="\n# grpo-lint: ignore-file[NOT07] smoke tests\n"),
        launch(before="# grpo-lint: ignore[NOT07] x\nif true; then\n    ", end="\nfi\n"),
        launch(before="if true; then\n    # grpo-lint: ignore[NOT07] x\n    ", end="\nfi\n"),
        launch(before="# grpo-lint: ignore[NOT07] x\nset -x; "),
        launch(before="# grpo-lint: ignore[NOT07]\n", after=";").replace("\n", "\r\n").replace("\\\r\n", "\\\n"),
    ],
)
def test_a_comment_suppresses(lint: Lint, text: str) -> None:
    outcome = lint(text, "--ignore", "LNT01,SRC,DO")
    assert (outcome.code, [one for one in outcome.found if "NOT07" in one]) == (0, [])
    assert [one.split()[1] for one in outcome.suppressed] == ["NOT07"]


@pytest.mark.parametrize(
    "text",
    [
        launch(before="# grpo-lint: ignore[NOT08]\n"),
        launch(before="# grpo-lint: ignore[NOT07:rollout.temperature]\n"),
        launch(before="# grpo-lint: ignore[NOT07:out.n]\n"),
        launch(before="# grpo-lint: ignore[NOT07]\nset -x\n"),
        launch(before="echo '\n# grpo-lint: ignore[NOT07]\n'\n"),
        launch(before='echo "\n# grpo-lint: ignore[NOT07]\n"\n'),
        launch(before="cat << EOF\n# grpo-lint: ignore[NOT07]\nEOF\n"),
        launch(before="cat << 'EOF'\n# grpo-lint: ignore-file[NOT07]\nEOF\n"),
        launch(before="echo x# grpo-lint: ignore-file[NOT07]\n"),
        launch(before="echo ${X#grpo-lint: ignore-file[NOT07]}\n"),
        launch(before="set -x  # grpo-lint: ignore[NOT07]\n"),
        launch(before="# see grpo-lint: ignore-file[NOT07]\n"),
        launch(end="\n# grpo-lint: ignore[NOT07] too late\n"),
    ],
)
def test_what_suppresses_nothing(lint: Lint, text: str) -> None:
    outcome = lint(text)
    assert outcome.code == 1
    assert [one.split()[1] for one in outcome.found if "NOT07" in one] == ["NOT07"]
    assert outcome.suppressed == []


def test_elements_of_an_array(lint: Lint) -> None:
    array = (
        HEAD + "{}ARGS=(\n    algorithm.adv_estimator=grpo\n{}    actor_rollout_ref.rollout.n=1{}\n"
        '    trainer.nnodes=1\n)\npython3 -m verl.trainer.main_ppo "${{ARGS[@]}}"\n'
    )
    mark = "# grpo-lint: ignore[NOT07] x"
    assert lint(array.format("", "", "")).code == 1
    assert lint(array.format(f"{mark}\n", "", "")).code == 0
    assert lint(array.format("", f"    {mark}\n", "")).code == 0
    assert lint(array.format("", "", f"  {mark}")).code == 0
    outcome = lint(array.format("", "", f"\n    {mark}"))
    assert (outcome.code, outcome.found) == (1, ["4 NOT07", "5 LNT01"])


def test_a_comment_covers_a_function_and_its_here_document() -> None:
    text = "# grpo-lint: ignore[NOT07]\ncat << A > x; echo b\nfirst\nA\necho c\n"
    (directive,) = directives.read(SourceFile("a.sh", text), "shell")
    assert text[directive.start : directive.end] == "cat << A > x; echo b\nfirst\n"
    text = "# grpo-lint: ignore[NOT07]\nf() {\n  a\n  b\n}\nc\n"
    (directive,) = directives.read(SourceFile("a.sh", text), "shell")
    assert text[directive.start : directive.end] == "f() {\n  a\n  b\n}"


def test_a_comment_above_what_breaks_the_grammar(lint: Lint) -> None:
    text = HEAD + "# grpo-lint: ignore[SRC01] filled in later\nif verl; done\n" + launch()[len(HEAD) :]
    assert "3 SRC01" in lint(text.replace("# grpo-lint: ignore[SRC01] filled in later\n", "#\n")).found
    outcome = lint(text)
    assert "3 SRC01" in outcome.suppressed
    assert "SRC01" not in " ".join(outcome.found)


def test_a_script_without_a_suffix(lint: Lint) -> None:
    assert lint(launch(before="# grpo-lint: ignore[NOT07] x\n"), name="launch").code == 0


# -- YAML and JSON


def test_yaml(lint: Lint) -> None:
    text = (
        "{top}actor_rollout_ref:\n{key}  rollout:\n{next}    n: 1{line}\nalgorithm:\n  adv_estimator: grpo\n{end}"
        "trainer:\n  nnodes: 1\n"
    )
    places = {"top": "", "key": "", "next": "", "line": "", "end": ""}
    mark = "# grpo-lint: ignore[NOT07] smoke test"
    assert f"3 {GROUP}" in lint(text.format(**places), name="ppo.yaml").found
    for place in ("top", "key", "next"):
        outcome = lint(text.format(**{**places, place: f"      {mark}\n"}), name="ppo.yaml")
        assert outcome.suppressed == [f"4 {GROUP}"], place
    assert lint(text.format(**{**places, "line": f"  {mark}"}), name="ppo.yaml").suppressed == [f"3 {GROUP}"]
    outcome = lint(text.format(**{**places, "end": f"{mark}\n"}), name="ppo.yaml")
    assert f"3 {GROUP}" in outcome.found
    for value in (f"'{mark}'", f'"{mark}"', f"|\n  {mark}"):
        assert f"3 {GROUP}" in lint(text.format(**places) + f"x: {value}\n", name="ppo.yaml").found


@pytest.mark.parametrize("opening", ["//", "#", "//  ##"])
def test_comments_of_hjson(lint: Lint, opening: str) -> None:
    text = '{{\n{above}  "zero_optimization": {{"stage": 2}},\n  "optimizer": {{"type": "Muon"}}{line}\n}}\n'
    plain = lint(text.format(above="", line=""), name="ds.json")
    (rule,) = {one.split()[1] for one in plain.found if one.startswith("3 ")} or {""}
    assert rule
    mark = f"{opening.split()[0]} grpo-lint: ignore[{rule}] known"
    outcome = lint(text.format(above="", line=f"  {mark}"), name="ds.json")
    assert outcome.suppressed == [f"3 {rule}"]
    above = text.format(above="", line="").replace('  "optimizer"', f'  {mark}\n  "optimizer"')
    assert lint(above, name="ds.json").suppressed == [f"4 {rule}"]
    mark = f"/* grpo-lint: ignore[{rule}] known\n for long */"
    block = text.format(above="", line="").replace('  "optimizer"', f'  {mark}\n  "optimizer"')
    assert lint(block, name="ds.json").suppressed == [f"5 {rule}"]


def test_json_without_comments_has_per_file_ignores(lint: Lint) -> None:
    text = '{"zero_optimization": {"stage": 2}, "optimizer": {"type": "Muon"}}\n'
    before = lint(text, name="ds.json")
    rules = {one.split()[1] for one in before.found}
    assert rules
    outcome = lint(text, "--per-file-ignore", f"ds.json={','.join(rules)}", name="ds.json")
    assert (outcome.code, outcome.found) == (0, [])
    assert {one["suppression"]["kind"] for one in outcome.report["suppressed"]} == {"per-file-ignores"}


def test_a_finding_in_another_file_than_the_one_linted(lint: Lint, tmp_path: Path) -> None:
    (tmp_path / "args.sh").write_text("SIZE=1  # grpo-lint: ignore[NOT07] smoke test\n", encoding="utf-8")
    script = launch(before="source args.sh\n").replace("rollout.n=1", "rollout.n=$SIZE")
    outcome = lint(script)
    places = [one["primary"]["path"] for one in (*outcome.report["diagnostics"], *outcome.report["suppressed"])]
    if places == ["args.sh"]:
        assert outcome.code == 0
    else:  # the finding is marked where the value is used
        assert (places, outcome.code) == (["run.sh"], 1)


# -- what reports say


def test_json_tells_how_a_finding_was_suppressed(lint: Lint) -> None:
    outcome = lint(launch(before="# grpo-lint: ignore[NOT07]  –  smoke test \n"))
    (one,) = outcome.report["suppressed"]
    assert one["suppression"]["kind"] == "comment"
    assert one["suppression"]["reason"] == "smoke test"
    assert (one["suppression"]["place"]["line"], one["suppression"]["place"]["column"]) == (2, 1)
    assert outcome.report["counts"]["suppressed"] == 1


def test_sarif_has_it_as_a_suppression(lint: Lint, capsys: pytest.CaptureFixture[str]) -> None:
    plain = lint(launch())
    text = launch(before="# grpo-lint: ignore[NOT07] smoke test\n")
    Path("run.sh").write_text(text, encoding="utf-8")
    assert main(["run.sh", "--output", "sarif"]) == 0
    run = json.loads(capsys.readouterr().out)["runs"][0]
    (result,) = run["results"]
    (suppression,) = result["suppressions"]
    assert suppression["kind"] == "inSource"
    assert suppression["justification"] == "smoke test"
    assert suppression["location"]["physicalLocation"]["region"]["startLine"] == 2
    fingerprint = result["partialFingerprints"]["grpoLint/v1"]
    assert fingerprint == plain.report["diagnostics"][0]["fingerprint"]


def test_sarif_with_suppressions_of_every_kind_is_valid(
    lint: Lint, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = Path(__file__).parent / "reporters" / "schemas" / "sarif-schema-2.1.0.json"
    validator = jsonschema.Draft4Validator(json.loads(schema.read_text(encoding="utf-8")))
    for name, before in (("a.sh", "# grpo-lint: ignore[NOT07]\n"), ("b.sh", ""), ("c.sh", ""), ("d.sh", "")):
        (tmp_path / name).write_text(launch(before=before), encoding="utf-8")
    capsys.readouterr()
    assert main(["c.sh", "--write-baseline", "base.json", "--select", "NOT07"]) == 0
    arguments = ("--select", "NOT07", "--baseline", "base.json", "--per-file-ignore", "b.sh=NOT07")
    capsys.readouterr()
    assert main([".", "--output", "sarif", *arguments]) == 1
    log = json.loads(capsys.readouterr().out)
    assert not list(validator.iter_errors(log))
    results = log["runs"][0]["results"]
    kinds = {
        result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]: [
            one["kind"] for one in result.get("suppressions", [])
        ]
        for result in results
    }
    assert kinds == {"a.sh": ["inSource"], "b.sh": ["external"], "c.sh": ["external"], "d.sh": []}
    assert {result["level"] for result in results} == {"error"}


def test_a_fingerprint_stays_when_another_finding_is_suppressed(lint: Lint) -> None:
    twice = launch() + launch()[len(HEAD) :]
    first, second = (one["fingerprint"] for one in lint(twice).report["diagnostics"])
    outcome = lint(launch(before="# grpo-lint: ignore[NOT07] x\n") + launch()[len(HEAD) :])
    assert [one["fingerprint"] for one in outcome.report["diagnostics"]] == [second]
    assert [one["fingerprint"] for one in outcome.report["suppressed"]] == [first]


def test_text_says_nothing_of_it(lint: Lint, capsys: pytest.CaptureFixture[str]) -> None:
    lint(launch(before="# grpo-lint: ignore[NOT07] smoke test\n"))
    assert main(["run.sh", "--output", "concise"]) == 0
    assert capsys.readouterr().out == ""


# -- unused comments


def test_an_unused_comment_is_a_finding_with_a_safe_fix(lint: Lint) -> None:
    text = launch(before="# grpo-lint: ignore[NOT07] smoke test\n", size=8)
    outcome = lint(text)
    (finding,) = outcome.report["diagnostics"]
    assert (outcome.code, finding["rule"], finding["severity"]) == (1, "LNT01", "warning")
    assert finding["message"] == "`ignore[NOT07]` suppresses nothing: there is no such finding here"
    assert finding["fix"]["safe"]
    assert apply(text, finding["fix"]) == launch(size=8)


@pytest.mark.parametrize(
    ("comment", "left"),
    [
        ("# grpo-lint: ignore[NOT08, NOT07] x", "# grpo-lint: ignore[NOT07] x"),
        ("# grpo-lint: ignore[NOT07, NOT08] x", "# grpo-lint: ignore[NOT07] x"),
        ("# grpo-lint: ignore[ NOT08,NOT07 ,DO01] x", "# grpo-lint: ignore[ NOT07] x"),
        ("# note # grpo-lint: ignore[NOT07] x", "# note # grpo-lint: ignore[NOT07] x"),
    ],
)
def test_only_what_is_idle_goes(lint: Lint, comment: str, left: str) -> None:
    text = launch(after=f"  {comment}")
    outcome = lint(text)
    for finding in outcome.report["diagnostics"]:
        assert finding["rule"] == "LNT01"
        text = apply(text, finding["fix"])
    assert text == launch(after=f"  {left}")
    assert lint(text).found == []


@pytest.mark.parametrize(
    ("before", "after", "left"),
    [
        ("", "  # grpo-lint: ignore[NOT07] x", ""),
        ("", "\t# note # grpo-lint: ignore[NOT07] x", "\t# note"),
        ("  # grpo-lint: ignore-file[NOT07] x\n", "", ""),
    ],
)
@pytest.mark.parametrize("line_end", ["\n", ""])
def test_a_comment_goes_with_what_it_leaves_empty(
    lint: Lint, before: str, after: str, left: str, line_end: str
) -> None:
    text = launch(before=before, after=after, size=8, end=line_end)
    (finding,) = lint(text).report["diagnostics"]
    assert apply(text, finding["fix"]) == launch(after=left, size=8, end=line_end)


def test_a_comment_that_ends_a_command_is_not_taken_away() -> None:
    text = "a b \\\n# grpo-lint: ignore[NOT07]\nc d\n"
    (directive,) = directives.read(SourceFile("a.sh", text), "shell")
    assert directive.removable is None


def test_the_closest_comment_is_the_one_that_counts(lint: Lint) -> None:
    text = launch(before="# grpo-lint: ignore[NOT07] x\n", after="  # grpo-lint: ignore[NOT07] y")
    outcome = lint("# grpo-lint: ignore-file[NOT07] z\n" + text)
    assert outcome.found == ["1 LNT01", "3 LNT01"]
    assert outcome.report["suppressed"][0]["suppression"]["reason"] == "y"


def test_what_was_not_judged_is_not_called_unused(lint: Lint) -> None:
    comment = "# grpo-lint: ignore[NOT07] x\n"
    unused = launch(before=comment, size=8)
    assert lint(unused).found == ["2 LNT01"]
    assert lint(unused, "--ignore", "NOT07").found == []
    assert lint(unused, "--select", "DO,LNT").found == []
    assert lint(unused, "--level", "NOT07=off").found == []
    assert lint(unused, "--select", "NOT07").found == []
    unknown = launch(before=comment).replace("rollout.n=1", "rollout.n=$1")
    assert [one for one in lint(unknown).found if "LNT" in one] == []
    broken = launch(before=comment, size=8) + "if true; then\n"
    assert [one for one in lint(broken).found if "LNT" in one] == []


def test_a_config_file_is_judged_with_the_whole_repository_only(lint: Lint) -> None:
    text = "# grpo-lint: ignore-file[NOT07] x\nactor_rollout_ref:\n  rollout:\n    n: 8\n"
    text += "algorithm:\n  adv_estimator: grpo\n"
    assert "LNT01" not in " ".join(lint(text, name="ppo.yaml").found)
    assert "1 LNT01" in lint(text, name="ppo.yaml", whole=True).found


def test_comments_about_our_own_rules(lint: Lint) -> None:
    unused = launch(before="# grpo-lint: ignore[NOT07, LNT01] kept on purpose\n", size=8)
    outcome = lint(unused)
    assert (outcome.found, outcome.suppressed) == ([], ["2 LNT01"])
    outcome = lint(launch(before="# grpo-lint: ignore[LNT01]\n", size=8))
    assert (outcome.found, outcome.suppressed) == (["2 LNT01"], [])


def test_rules_that_no_comment_suppresses(lint: Lint) -> None:
    text = launch(before="# grpo-lint: ignore[NOT07] x\n")
    outcome = lint(text, "--enforce", "NOT")
    assert (outcome.code, outcome.found, outcome.suppressed) == (1, ["2 LNT01", "5 NOT07"], [])
    assert outcome.report["diagnostics"][0]["message"].endswith("the settings say that no comment can")


# -- reasons, names, grammar


def test_a_reason_can_be_asked_for(lint: Lint) -> None:
    bare = launch(before="# grpo-lint: ignore[NOT07] - \n")
    assert lint(bare).found == []
    outcome = lint(bare, "--require-reason")
    assert (outcome.code, outcome.found) == (1, ["2 LNT02"])
    assert lint(launch(before="# grpo-lint: ignore[NOT07] smoke\n"), "--require-reason").found == []
    Path("grpo-lint.toml").write_text("require-reason = true\n", encoding="utf-8")
    assert lint(bare).found == ["2 LNT02"]


def test_a_name_that_is_no_rule(lint: Lint) -> None:
    outcome = lint(launch(before="# grpo-lint: ignore[NOT07, group-sizes-1] x\n"))
    (finding,) = outcome.report["diagnostics"]
    assert (finding["rule"], finding["primary"]["column"]) == ("LNT03", 28)
    assert finding["message"] == "no rule, prefix or topic is called 'group-sizes-1': this suppresses nothing"
    assert finding["help"].startswith("did you mean group-size-1")


@pytest.mark.parametrize(
    "comment",
    ["disable=NOT07", "ignore NOT07", "ignore", "ignore[]", "ignore[ , ]", "ignore-file", "noqa", "", "skip", "off"],
)
def test_what_can_not_be_read(lint: Lint, comment: str) -> None:
    outcome = lint(launch(before=f"# grpo-lint: {comment}\n", size=8))
    assert outcome.found == ["2 LNT04"]


@pytest.mark.parametrize("prose", ["the settings are in pyproject.toml", "see README", "passes since May", "1 error"])
def test_prose_is_no_instruction(lint: Lint, prose: str) -> None:
    assert lint(launch(before=f"# grpo-lint: {prose}\n", size=8)).found == []


SCRIPTS = [
    "a b # c\n#d\n  # e\n",
    "a=#b; c=(d # e\n  f) # g\n",
    "echo ${a#b} ${#a} $# '#' \"#\" \\# a#b $((16#ff)) $(a # b\n) # c\n",
    "cat <<A # b\n# c\nA\n# d\ncat <<-'B' <<C\n\t# x\n\tB\n# y\nC\n",
    "if a; then # b\n  c # d\nfi # e\ncase a in # f\n  b) c;; # g\n  # h\nesac # i\n",
    "f() { # a\n  b\n} # c\nfor x in a b; do # d\n  c\ndone # e\nwhile a # f\ndo b; done\n",
    "a && # b\n  c || # d\n  e | # f\n  g\n[[ a == b ]] # c\n",
    "a \\\n  b # c \\\nd\n",
    'echo "$(a # b\n)" \'c # d\n# e\' "f\n# g"\n',
]


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
@pytest.mark.parametrize("text", SCRIPTS)
def test_comments_are_those_of_bash(text: str) -> None:
    def printed(script: str) -> str:
        command = ["bash", "--pretty-print", "/dev/stdin"]
        return subprocess.run(command, input=script, capture_output=True, text=True, check=True).stdout

    from grpo_lint.syntax.shell.comments import read

    blank = text
    for start, end in reversed(read(text)[0]):
        assert text[start] == "#"
        blank = blank[:start] + blank[end:]
    assert printed(blank) == printed(text)
    mark = "# grpo-lint"  # what is no comment is text that bash keeps
    assert printed(blank.replace("#", mark)).count(mark) == blank.count("#")


# -- any text


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "# grpo-lint: ignore[NOT07] x", "# grpo-lint: ignore-file[DO, :, a:b:c]", "# grpo-lint:", "\n", " ",
                "\\\n", "'", '"', "$(", ")", "<<E\n", "E\n", "a: ", "- ", "{", "}", "[", "]", "//", "`", "é",
                "/* grpo-lint: ignore[x] */", "python3 -m verl.trainer.main_ppo ", "x=(", "if ", "fi", "\r\n",
                "\u2028", "|\n",
            ]
        ),
        max_size=30,
    )
)  # fmt: skip
@pytest.mark.parametrize("kind", ["shell", "yaml", "json"])
def test_any_text_is_read_and_each_directive_stands_in_it(kind: str, parts: list[str]) -> None:
    text = "".join(parts)
    for directive in directives.read(SourceFile("x", text), kind):  # type: ignore[arg-type]
        assert directive.span.text.startswith(("#", "/"))
        assert "\n" not in directive.span.text or kind == "json"
        assert 0 <= directive.start <= directive.end <= len(text)
        for item in directive.items:
            assert item.name == item.name.strip()
            assert directive.span.start < item.span.start <= item.span.end < directive.span.end
        if directive.removable is not None:
            low, high = directive.removable.start, directive.removable.end
            assert low <= directive.span.start
            assert directive.span.end <= high
            assert not text[directive.span.end : high].strip()


@pytest.mark.parametrize("kind", ["shell", "yaml", "json"])
def test_a_file_full_of_comments_takes_no_longer_than_its_length(kind: str) -> None:
    line = "x: 1 # grpo-lint: ignore[NOT07] x\n" if kind == "yaml" else "# grpo-lint: ignore[NOT07] x\n"

    def seconds(count: int) -> float:
        start = time.process_time()
        found = directives.read(SourceFile("x", line * count), kind)  # type: ignore[arg-type]
        assert len(found) == directives.MAX_DIRECTIVES
        return time.process_time() - start

    seconds(2_000)
    assert seconds(20_000) < 40 * max(seconds(2_000), 0.01)


def test_the_comment_reader_is_imported_only_for_files_that_have_a_comment() -> None:
    code = (
        "import sys; from grpo_lint.cli import main; main(['--no-settings', 'tests/test_suppress.py']);"
        "print('grpo_lint.suppress' in sys.modules, 'tomllib' in sys.modules, 'json' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "False False False"
