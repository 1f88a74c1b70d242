"""The HTML page: what it holds, what it leaves out, and that nothing in it is markup of somebody else's."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path

import html5lib
import pytest
from report_samples import EVIL, at, evil, finding, output, report, several

from grpo_lint.cli import main
from grpo_lint.diagnostics import Diagnostic, Fix, Label
from grpo_lint.report import Report, Suppressed
from grpo_lint.reporters.html import contents
from grpo_lint.reporters.html.rulepages import page as rule_page
from grpo_lint.source import SourceFile

LAUNCH = (
    "#!/bin/bash\n"
    "N=${N:-1}\n"
    "python3 -m verl.trainer.main_ppo \\\n"
    "    algorithm.adv_estimator=grpo \\\n"
    "    actor_rollout_ref.rollout.n=%s\n"
)

Lint = Callable[..., "Page"]


class Page(HTMLParser):
    """A page taken apart: its elements in order, and the text of those with an id."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.source = text
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.ids: dict[str, str] = {}
        self._open: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.elements.append((tag, attributes))
        id = attributes.get("id", "")
        if id:
            assert id not in self.ids, f"two elements are called {id}"
            self.ids[id] = ""
        if tag not in ("meta", "input", "br"):
            self._open.append((tag, id))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        for _, id in self._open:
            if id:
                self.ids[id] += data

    def all(self, tag: str, **attributes: str) -> list[dict[str, str]]:
        wanted = attributes.items()
        return [found for name, found in self.elements if name == tag and wanted <= found.items()]

    @property
    def links(self) -> set[str]:
        return {found["href"] for _, found in self.elements if "href" in found}


@pytest.fixture
def lint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lint:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, **files: str) -> Page:
        for name, text in files.items():
            Path(name.replace("_", ".")).write_text(text, encoding="utf-8")
        assert main([*(arguments or ["."]), "--output", "html=report.html"]) in (0, 1)
        return Page(Path("report.html").read_text(encoding="ascii"))

    return run


def valid(text: str) -> None:
    """Fail unless a strict reader of HTML takes a page without a complaint."""
    html5lib.HTMLParser(strict=True).parse(text)


def cells(page: Page, run: int) -> str:
    """The marks of a run's row in the first grid, a letter a cell."""
    row = re.search(rf'<tr data-run="{run}">(.*?)</tr>', page.source, re.S)
    assert row is not None
    return " ".join(unescape(re.sub(r"<[^>]*>", "", cell)) or "." for cell in re.findall(r"<td.*?</td>", row[1], re.S))


# -- as a page


@pytest.mark.parametrize("sample", [several, evil, report])
def test_the_page_is_valid(sample: Callable[[], Report]) -> None:
    text = output("html", sample())
    valid(text)
    page = Page(text)
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)


def test_a_real_page_is_valid_and_every_link_leads_somewhere(lint: Lint) -> None:
    page = lint(a_sh=LAUNCH % "1", b_sh=LAUNCH % "8", ds_json='{"zero_optimization": {"stage": 2},,')
    valid(page.source)
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)


def test_it_loads_nothing_and_runs_only_its_own_script(lint: Lint) -> None:
    page = lint(a_sh=LAUNCH % "1")
    policy = page.all("meta", **{"http-equiv": "Content-Security-Policy"})[0]["content"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert len(page.all("script")) == len(page.all("style")) == 1
    assert not {tag for tag, _ in page.elements} & {
        "link",
        "img",
        "iframe",
        "object",
        "embed",
        "base",
        "video",
        "audio",
    }
    assert not [
        name for _, found in page.elements for name in found if name.startswith("on") or name in ("src", "style")
    ]
    assert {link for link in page.links if not link.startswith(("#", "https://"))} == set()
    assert not re.search(r"@import|url\(", page.source)


def test_names_and_lines_are_text_and_not_markup() -> None:
    name = "a\"><script>alert(1)</script>'\x1b[31m\n\u202e&amp;.sh"
    code = "</pre><script>alert(2)</script> x=\x1b[2J1\n"
    file = SourceFile(name, code)
    span = at(file, "</pre>")
    found = Diagnostic(
        "NOT07",
        "error",
        "<img src=x onerror=alert(3)>",
        Label(span, "<b>label"),
        (Label(at(file, "1"), "</span><i>"),),
        "<script>alert(4)</script>\n<u>",
        Fix("<s>title", ((span, "<script>alert(5)</script>"),), safe=True),
        "<key>",
        ("A=<p>",),
    )
    text = output("html", report(found))
    valid(text)
    page = Page(text)
    assert len(page.all("script")) == 1
    assert not {tag for tag, _ in page.elements} & {"img", "i", "u", "s"}
    assert "alert(1)</script>'\\x1b[31m\\n\\u202e&amp;.sh" in page.ids["f1"]
    assert "\x1b" not in text
    assert text.isascii()


def test_what_would_steer_a_terminal_is_shown(lint: Lint) -> None:
    page = Page(output("html", evil()))
    assert EVIL.path not in page.source
    assert "a\\n::error::\\x1b[31m%0A,b:c\\xff\\u202e[x](1).sh" in page.ids["f1"]


# -- what it tells


def test_runs_by_rules(lint: Lint) -> None:
    page = lint(
        "--select", "NOT07,DO07", ".", a_sh=LAUNCH % "1", b_sh=LAUNCH % "8", c_sh=LAUNCH % "$N", d_sh=LAUNCH % "$1"
    )
    assert [cells(page, run) for run in (1, 2, 3, 4)] == ["= E", "✓ ✓", "= E", "? ?"]
    (link,) = [found for found in page.all("a") if found.get("title", "").startswith("NOT07 group-size-1: ")][:1]
    assert link["href"] == "#f1"
    assert "a.sh:5:33" in page.ids["f1"]


def test_each_finding_in_its_source(lint: Lint) -> None:
    page = lint(a_sh=LAUNCH % "$N")
    text = page.ids["f1"]
    assert re.search(r"2\s*N=\$\{N:-1\}", text)
    assert re.search(r"5\s+actor_rollout_ref.rollout.n=\$N", text)
    assert "NOT07" in text
    assert page.all("mark", **{"class": "primary"})
    assert page.all("a", href="#r1")


def test_a_runs_config_with_its_origins(lint: Lint) -> None:
    page = lint("--target", "verl=0.9.1", ".", a_sh=LAUNCH % "$N")
    text = page.ids["r1"]
    assert re.search(r"group_size1line 5 <- line 2.*overrides 1, default of verl 0.9.1", text)
    assert "actor_rollout_ref.rollout.n" in text
    assert "default of verl 0.9.1" in text
    assert "Verdicts of the avoidance rules" in text


def test_settings_side_by_side(lint: Lint) -> None:
    page = lint(a_sh=LAUNCH % "4", b_sh=LAUNCH % "8")
    text = page.source.partition('id="settings"')[2].partition("</section>")[0]
    assert "algorithm grpo" in re.sub(r"<[^>]*>", "", text)  # the same in both
    assert re.search(r"<td><b>4</b></td>", text)
    assert re.search(r"<td><b>8</b></td>", text)
    assert "group_size" in text


def test_a_file_without_runs_has_a_row(lint: Lint) -> None:
    page = lint(a_sh="python3 -m verl.trainer.main_ppo 'x\n")
    assert "SRC01" in page.ids["f1"]
    assert '<a href="#f1"><span class="folder">' in page.source


def test_what_does_not_count_is_told_apart(lint: Lint) -> None:
    page = lint("--per-file-ignore", "a.sh=NOT07", ".", a_sh=LAUNCH % "1")
    assert "per-file-ignores" in page.source
    assert "f1" not in page.ids
    assert 'class="suppressed"' in page.source


def test_what_the_severity_leaves_out_is_no_pass(lint: Lint) -> None:
    page = lint("--select", "DO07", "--min-severity", "error", ".", a_sh=LAUNCH % "2")
    assert cells(page, 1) == "-"


def test_notices_and_an_unfinished_linting_are_told() -> None:
    page = Page(output("html", several()))
    assert "this report is not whole" in page.source
    assert "binary file (it contains NUL bytes)" in page.source


def test_a_fix_is_shown_as_whole_lines() -> None:
    file = SourceFile("run.sh", "a=1 b=2\nc=3\n")
    edits = ((at(file, "1"), "5"), (at(file, "2"), "6"), (at(file, "3"), ""))
    page = Page(output("html", report(finding(at(file, "a=1"), fix=Fix("do it", edits, safe=False)))))
    assert "Fix that may change training do it" in page.ids["f1"]
    assert "- a=1 b=2\n+ a=5 b=6" in page.ids["f1"]
    assert "- c=3\n+ c=" in page.ids["f1"]


# -- bounds


def test_a_large_sweep_is_bounded_and_says_so(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "MAX_RUNS", 3)
    monkeypatch.setattr(contents, "MAX_FINDINGS", 2)
    files = {f"r{n}_sh": LAUNCH % (1 if n > 4 else 8) for n in range(9)}
    page = lint("--select", "NOT07", ".", **files)
    assert "2 findings of the least severity left out: the page has room for 2." in page.source
    assert "6 runs left out of the grid and the settings: the page has room for 3" in page.source
    assert len(page.all("details", **{"class": "run"})) == 3
    assert "r5.sh" in page.ids["r1"]  # those with findings come first
    assert "f3" not in page.ids


def test_settings_are_left_out_where_they_would_fill_the_page(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("grpo_lint.reporters.html.runs"), "MAX_SIZE", 5000)
    page = lint(**{f"r{n}_sh": LAUNCH % 8 for n in range(4)})
    assert "No room: `grpo-lint show r3.sh` tells its settings." in page.ids["r4"]
    assert "runs without settings: the page has no room for more" in page.source


def test_long_lines_are_cut_around_the_mark() -> None:
    file = SourceFile("run.sh", "a" * 100_000 + "MARK" + "b" * 100_000)
    text = output("html", report(finding(at(file, "MARK"))))
    assert len(text) < 60_000
    assert "MARK</mark>" in text


def test_many_places_and_lines_are_cut() -> None:
    file = SourceFile("run.sh", "".join(f"line {n}\n" for n in range(5000)))
    related = tuple(Label(at(file, f"line {n}\n"), "") for n in range(1000, 1400))
    text = output("html", report(finding(file.span(0, 30_000), related=related)))
    assert len(text) < 80_000
    assert "and 380 more places" in text


# -- secrets


@pytest.mark.parametrize(
    "line",
    [
        "export HF_TOKEN=hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345",
        "export WANDB_API_KEY=3f9a61c07be2d84517aa0c9e6b12fd38e57ac941",
        "curl -H 'Authorization: Bearer 9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c'",
        "git clone https://me:hunter22-Secret@example.org/x",
    ],
)
def test_secrets_are_not_shown(lint: Lint, line: str) -> None:
    launch = "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=1\n"
    page = lint(a_sh=f"{line}\n{launch}")
    secret = max(re.findall(r"[\w-]{12,}", line), key=len)
    assert secret not in page.source
    assert line[:12] in page.ids["f1"]  # the line itself is shown


def test_a_setting_that_is_a_secret_has_no_value(lint: Lint) -> None:
    page = lint(a_sh=LAUNCH.rstrip("\n") % "1" + " +trainer.password=correct-horse trainer.project_name=pony\n")
    assert "correct-horse" not in page.source
    assert "pony" in page.source


# -- rules' pages


def test_the_markdown_of_rules() -> None:
    text = rule_page(
        "First `a<b`.\n\n## Sources\n- x **y**\n  z\n- <https://a.b/c>\n\n```sh\n<&\n```\n\n| a |\n|---|\n"
    )
    assert text == (
        "<p>First <code>a&lt;b</code>.</p><h3>Sources</h3><ul><li>x <strong>y</strong> z</li>"
        '<li><a href="https://a.b/c" rel="noreferrer">https://a.b/c</a></li></ul>'
        '<pre tabindex="0">&lt;&amp;</pre><pre tabindex="0">| a |\n|---|</pre>'
    )


def test_suppressed_findings_of_a_hand_made_report() -> None:
    file = SourceFile("run.sh", "a=1\n")
    given = report()
    given.suppressed = (Suppressed(finding(at(file, "1")), "comment", "known <b>"),)
    page = Page(output("html", given))
    assert "comment: known &lt;b&gt;" in page.source
