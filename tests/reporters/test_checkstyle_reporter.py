from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st
from report_samples import SCRIPT, at, evil, finding, output, report, several

from grpo_lint.diagnostics import Notice
from grpo_lint.report import Suppressed
from grpo_lint.source import SourceFile


def checked(text: str) -> list[tuple[str, dict[str, str]]]:
    """(file, attributes) of each error, after a look at the form: what Checkstyle's XMLLogger writes."""
    root = ElementTree.fromstring(text)
    assert (root.tag, root.attrib) == ("checkstyle", {"version": "4.3"})
    for file in root:
        assert (file.tag, set(file.attrib)) == ("file", {"name"})
        for error in file:
            assert error.tag == "error"
            assert set(error.attrib) | {"column"} == {"line", "column", "severity", "message", "source"}
            assert error.attrib["severity"] in ("error", "warning", "info")
            assert int(error.attrib["line"]) > 0
            assert int(error.get("column", "1")) > 0
            assert not [*error]
    names = [file.attrib["name"] for file in root]
    assert len(set(names)) == len(names)
    return [(file.attrib["name"], dict(error.attrib)) for file in root for error in file]


def test_everything_a_report_has() -> None:
    text = output("checkstyle", several())
    assert text == (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<checkstyle version="4.3">\n'
        '  <file name="scripts/run.sh">\n'
        '    <error line="5" column="2" severity="error" message="actor_rollout_ref.rollout.n is 1: with'
        " adv_estimator=grpo each advantage is 0 and nothing is learnt (when DEVICE=npu and MODE=fast); help: set"
        ' actor_rollout_ref.rollout.n to 5 or more, or use an estimator that has a critic, such as gae"'
        ' source="grpo-lint.NOT07"/>\n'
        "  </file>\n"
        '  <file name="conf/ppo.yaml">\n'
        '    <error line="2" column="3" severity="info" message="kl_coef is used twice" source="grpo-lint.DO03"/>\n'
        "  </file>\n"
        '  <file name="data/model.bin">\n'
        '    <error line="1" severity="error" message="binary file (it contains NUL bytes)"'
        ' source="grpo-lint.notice"/>\n'
        "  </file>\n"
        "</checkstyle>\n"
    )
    checked(text)


def test_nothing_found() -> None:
    text = output("checkstyle", report())
    assert text == '<?xml version="1.0" encoding="UTF-8"?>\n<checkstyle version="4.3">\n</checkstyle>\n'
    assert checked(text) == []


def test_one_element_a_file_and_suppressed_findings_are_left_out() -> None:
    hidden = Suppressed(finding(at(SCRIPT, "set"), "hidden"), "baseline")
    found = report(
        finding(at(SCRIPT, "set"), "a", severity="warning"),
        finding(at(SCRIPT, "grpo"), "b"),
        notices=(Notice(SCRIPT.path, "c"),),
        suppressed=(hidden,),
    )
    errors = checked(output("checkstyle", found))
    assert [(path, error["severity"], error["message"]) for path, error in errors] == [
        (SCRIPT.path, "warning", "a"),
        (SCRIPT.path, "error", "b"),
        (SCRIPT.path, "warning", "c"),
    ]


def test_evil_text_is_harmless() -> None:
    text = output("checkstyle", evil())
    assert text.isascii()
    assert "\x1b" not in text
    assert [path for path, _ in checked(text)] == ["a\\n::error::\\x1b[31m%0A,b:c\\xff\\u202e[x](1).sh", "b\\n.bin"]


@given(st.text(st.characters(), min_size=1))
def test_any_text_is_well_formed(text: str) -> None:
    file = SourceFile(text, text)
    found = finding(file.span(0, len(text)), text, help=text)
    written = output("checkstyle", report(found, notices=(Notice(text, text),)))
    assert written.isascii()
    assert len(checked(written)) == 2
