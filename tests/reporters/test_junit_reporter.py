from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st
from report_samples import SCRIPT, TREE, at, evil, finding, output, report, several

from grpo_lint.diagnostics import Diagnostic, Label, Notice
from grpo_lint.report import Report, Suppressed
from grpo_lint.source import SourceFile

ALLOWED = {
    "testsuites": ({"name", "time", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors", "group", "time", "skipped", "timestamp", "hostname", "id", "package"}
        | {"file", "log", "url"},
        {"testsuite", "properties", "testcase", "system-out", "system-err"},
    ),
    "testcase": ({"name", "time", "classname", "group"}, {"skipped", "error", "failure", "system-out", "system-err"}),
    "skipped": ({"type", "message"}, set()),
    "error": ({"type", "message"}, set()),
    "failure": ({"type", "message"}, set()),
    "system-out": (set(), set()),
}
"""Attributes and children, as in `junit-10.xsd` of jenkinsci/xunit-plugin at 031e285ef3b6."""
REQUIRED = {"testsuite": {"name", "tests", "failures", "errors"}, "testcase": {"name"}}


def checked(text: str) -> ElementTree.Element:
    """The document, after a look at what the schema asks for and at what the counts say."""
    root = ElementTree.fromstring(text)
    assert root.tag == "testsuites"
    for element in root.iter():
        attributes, children = ALLOWED[element.tag]
        assert set(element.attrib) <= attributes
        assert set(element.attrib) >= REQUIRED.get(element.tag, set())
        assert {child.tag for child in element} <= children
    for element in [root, *root.iter("testsuite")]:
        assert int(element.attrib["tests"]) == len([*element.iter("testcase")]) > 0
        assert int(element.attrib["failures"]) == len([*element.iter("failure")])
        assert int(element.attrib["errors"]) == len([*element.iter("error")])
        assert int(element.get("skipped", "0")) == (0 if element is root else len([*element.iter("skipped")]))
    names = [(case.attrib["classname"], case.attrib["name"]) for case in root.iter("testcase")]
    assert len(set(names)) == len(names)
    return root


def test_everything_a_report_has() -> None:
    message = "actor_rollout_ref.rollout.n is 1: with adv_estimator=grpo each advantage is 0 and nothing is learnt"
    help = "help: set actor_rollout_ref.rollout.n to 5 or more, or use an estimator that has a critic, such as gae"
    text = output("junit", several())
    assert text == (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<testsuites name="grpo-lint" tests="3" failures="1" errors="1">\n'
        '  <testsuite name="scripts/run.sh" tests="1" failures="1" errors="0" skipped="0" file="scripts/run.sh">\n'
        '    <testcase classname="grpo-lint.NOT07" name="scripts/run.sh: actor_rollout_ref.rollout.n" time="0">\n'
        f'      <failure type="NOT07 error" message="{message} (when DEVICE=npu and MODE=fast); {help}">'
        "scripts/run.sh:5:2: one response a prompt\n"
        f"{message}\n"
        "when: DEVICE=npu and MODE=fast\n"
        f"{help}\n"
        "scripts/run.sh:4:5: compares the responses of a group\n"
        "conf/ppo.yaml:6:5: overridden</failure>\n"
        "    </testcase>\n"
        "  </testsuite>\n"
        '  <testsuite name="conf/ppo.yaml" tests="1" failures="0" errors="0" skipped="1" file="conf/ppo.yaml">\n'
        '    <testcase classname="grpo-lint.DO03" name="conf/ppo.yaml: kl_coef" time="0">\n'
        '      <skipped type="DO03 note" message="kl_coef is used twice">conf/ppo.yaml:2:3\n'
        "kl_coef is used twice</skipped>\n"
        "    </testcase>\n"
        "  </testsuite>\n"
        '  <testsuite name="grpo-lint" tests="1" failures="0" errors="1" skipped="0">\n'
        '    <testcase classname="grpo-lint.linting" name="every file is read" time="0">\n'
        '      <error type="incomplete" message="the linting is not whole">data/model.bin: binary file (it contains NUL'
        " bytes)</error>\n"
        "    </testcase>\n"
        "  </testsuite>\n"
        "</testsuites>\n"
    )
    checked(text)


def test_nothing_found_is_a_test_that_passes() -> None:
    """Jenkins refuses a report that has no test."""
    text = output("junit", report())
    assert text == (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<testsuites name="grpo-lint" tests="1" failures="0" errors="0">\n'
        '  <testsuite name="grpo-lint" tests="1" failures="0" errors="0" skipped="0">\n'
        '    <testcase classname="grpo-lint.linting" name="every file is read" time="0">\n'
        "    </testcase>\n"
        "  </testsuite>\n"
        "</testsuites>\n"
    )
    checked(text)


def test_a_warning_fails_and_notices_alone_do_not() -> None:
    text = output(
        "junit", report(finding(at(SCRIPT, "set"), severity="warning"), notices=(Notice("a.sh", "excluded <here>"),))
    )
    root = checked(text)
    assert [element.attrib["type"] for element in root.iter("failure")] == ["NOT07 warning"]
    assert root.findtext(".//system-out") == "a.sh: excluded <here>"


def names(found: Report) -> list[str]:
    return [case.attrib["name"] for case in checked(output("junit", found)).iter("testcase")][:-1]


def test_names_survive_moves_of_lines_and_no_two_are_the_same() -> None:
    moved = SourceFile(TREE.path, "# new\n" + TREE.text)
    before = [finding(at(TREE, text), key="n") for text in ("data", "n: 1")]
    after = [finding(at(moved, text), key="n") for text in ("data", "n: 1")]
    assert names(report(*before)) == names(report(*after)) == ["conf/ppo.yaml: n", "conf/ppo.yaml: n (2)"]


def test_suppressed_findings_are_left_out() -> None:
    hidden = Suppressed(finding(at(SCRIPT, "set")), "comment")
    assert output("junit", report(suppressed=(hidden,))) == output("junit", report())


def test_evil_text_is_harmless() -> None:
    text = output("junit", evil())
    assert text.isascii()
    assert "\x1b" not in text
    failure = checked(text).find(".//failure")
    assert failure is not None
    assert failure.attrib["message"] == (
        "x is \\x1b[2J\\r\\n::warning::no % at all, a [link](https://example.org) \\x80 (when A=\\x1b\\nB);"
        " help: remove \\x1b[2J"
    )


@given(st.text(st.characters()))
def test_any_text_is_well_formed(text: str) -> None:
    file = SourceFile(text, text)
    span = file.span(0, len(text))
    found = Diagnostic("NOT07", "note", text, Label(span, text), (Label(span, text),), text, key=text, when=(text,))
    written = output("junit", report(found, notices=(Notice(text, text),), errors=True))
    assert written.isascii()
    checked(written)
