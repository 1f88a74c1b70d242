from __future__ import annotations

from report_samples import at, evil, finding, output, report, several

from grpo_lint.diagnostics import Notice
from grpo_lint.source import SourceFile


def test_one_line_a_finding() -> None:
    assert output("concise", several()) == (
        "scripts/run.sh:5:2: NOT07 error: actor_rollout_ref.rollout.n is 1: with adv_estimator=grpo each advantage is 0"
        " and nothing is learnt (when DEVICE=npu and MODE=fast)\n"
        "conf/ppo.yaml:2:3: DO03 note: kl_coef is used twice\n"
        "data/model.bin: notice: binary file (it contains NUL bytes)\n"
    )


def test_nothing_found() -> None:
    assert output("concise", report()) == ""


def test_what_could_steer_a_terminal_is_shown_as_escapes() -> None:
    assert output("concise", evil()) == (
        "a\\n::error::\\x1b[31m%0A,b:c\\xff\\u202e[x](1).sh:1:3: NOT07 error: x is \\x1b[2J\\r\\n::warning::no % at"
        " all, a [link](https://example.org) \\x80 (when A=\\x1b\\nB)\n"
        "b\\n.bin: notice: broken\\r\\n\\x1b[31m\n"
        "notice: bound reached\n"
    )


def test_a_file_name_is_no_command_to_github() -> None:
    file = SourceFile("::add-mask::x", "a\n")
    text = output("concise", report(finding(at(file, "a")), notices=(Notice("::stop-commands::y", "bad"),)))
    assert text == "./::add-mask::x:1:1: NOT07 error: it breaks\n./::stop-commands::y: notice: bad\n"


def test_empty_file_and_crlf() -> None:
    empty, crlf = SourceFile("empty.yaml", ""), SourceFile("crlf.yaml", "a: 1\r\nbb: 訓練 2\r\n")
    text = output("concise", report(finding(empty.span(0, 0)), finding(at(crlf, "2"))))
    assert text == "empty.yaml:1:1: NOT07 error: it breaks\ncrlf.yaml:2:8: NOT07 error: it breaks\n"
