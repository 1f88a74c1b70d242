"""The HTML page as a person has it: in a real browser, by keyboard, in light and dark, on paper, on a phone."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium import PROGRAM, Chromium

from grpo_lint.cli import main

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(PROGRAM is None, reason="there is no Chromium here"),
]

LAUNCH = (
    "python3 -m verl.trainer.main_ppo \\\n    algorithm.adv_estimator=grpo \\\n    actor_rollout_ref.rollout.n=%s\n"
)
RUNS = 24

CONTRAST = """
(() => {
  const parts = (color) => (color.match(/[\\d.]+/g) || []).map(Number);
  const light = (color) => {
    const [r, g, b] = parts(color).map((v) => (v /= 255, v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (node) => {
    for (; node; node = node.parentElement) {
      const color = getComputedStyle(node).backgroundColor;
      if (parts(color)[3] !== 0) return color;
    }
    return "rgb(255, 255, 255)";
  };
  const poor = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text; (text = walker.nextNode());) {
    const node = text.parentElement;
    if (!text.data.trim() || !node.getClientRects().length) continue;
    const [a, b] = [light(getComputedStyle(node).color), light(behind(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) poor.push(`${node.tagName}.${node.className} ${ratio.toFixed(2)} ${text.data.slice(0, 30)}`);
  }
  return [...new Set(poor)];
})()
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a page on a small sweep, with a name that would run a script if it were markup."""
    folder = tmp_path_factory.mktemp("sweep")
    (folder / ".git").mkdir()
    for number in range(RUNS):
        (folder / f"run_{number:02}.sh").write_text(LAUNCH % (1 if number % 8 == 0 else number), encoding="utf-8")
    (folder / "x<img src=x onerror=document.title='broken'>.sh").write_text(LAUNCH % 1, encoding="utf-8")
    (folder / "ds.json").write_text('{"zero_optimization": {"stage": 2}, "optimizer": {"type": "AdamW"}}')
    report = folder / "report.html"
    patch = pytest.MonkeyPatch()
    with patch.context() as context:
        context.chdir(folder)
        assert main([".", "--output", f"html={report}"]) == 1
    return report.as_uri()


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Chromium]:
    with Chromium(tmp_path / "profile") as started:
        started.size(1280, 900)
        yield started


def shown(browser: Chromium) -> str:
    text: str = browser.run("document.getElementById('shown').textContent")
    return text


def type_in(browser: Chromium, text: str) -> None:
    for key in text:
        browser.press(key)


def test_it_opens_without_a_complaint_and_asks_for_nothing(browser: Chromium, page: str) -> None:
    browser.open(page)
    assert browser.console == []
    assert browser.requests == [page]
    assert browser.run("document.title").startswith("grpo-lint: ")
    assert shown(browser).endswith(f"{RUNS + 2} of {RUNS + 2} runs")


def test_the_policy_holds(browser: Chromium, page: str) -> None:
    browser.open(page)
    script = "const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s);"
    assert browser.run(f"{{{script}}} window.ran === undefined")
    assert any("Content Security Policy" in line for line in browser.console)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_can_be_read(browser: Chromium, page: str, scheme: str) -> None:
    browser.media(scheme)
    browser.open(page)
    browser.run("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    assert browser.run(CONTRAST) == []
    dark = browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 28)"
    assert dark == (scheme == "dark")


def test_filters_by_keyboard(browser: Chromium, page: str) -> None:
    browser.open(page)
    before = shown(browser)
    browser.press("/")
    assert browser.run("document.activeElement.id") == "words"
    type_in(browser, "run_08 not07")
    assert shown(browser) == f"1 of {before.split()[2]} findings, 1 of {RUNS + 2} runs"
    assert browser.run("[...document.querySelectorAll('.grid tr[data-run]')].filter((row) => !row.hidden).length") == 3
    browser.press("Escape", 27)
    assert shown(browser) == before
    browser.run("document.querySelector('[value=error]').focus()")
    browser.press(" ", 32)
    assert shown(browser) != before
    browser.run("document.querySelector('button[type=reset]').focus()")
    browser.press("Enter", 13)
    browser.run("new Promise((done) => setTimeout(done, 20))")
    assert shown(browser) == before


def test_nothing_fits(browser: Chromium, page: str) -> None:
    browser.open(page)
    browser.press("/")
    type_in(browser, "zzz")
    assert shown(browser).startswith("0 of ")
    assert browser.run("document.getElementById('none').hidden") is False


def test_from_finding_to_finding(browser: Chromium, page: str) -> None:
    browser.open(page)
    for key, id in (("n", "f1"), ("n", "f2"), ("p", "f1")):
        browser.press(key)
        assert browser.run("document.activeElement.id") == id
    assert abs(browser.run("document.getElementById('f1').getBoundingClientRect().top")) < 200


def test_arrows_move_in_a_grid(browser: Chromium, page: str) -> None:
    browser.open(page)
    browser.run("document.querySelector('.grid tbody th a').focus()")
    browser.press("ArrowDown", 40)
    assert browser.run("document.activeElement.closest('tr').rowIndex") == 2
    browser.press("ArrowUp", 38)
    browser.press("ArrowRight", 39)
    assert browser.run("document.activeElement.closest('td').parentNode.rowIndex") == 1
    browser.press("ArrowUp", 38)
    assert browser.run("document.activeElement.closest('thead') !== null")


def test_a_link_opens_what_it_leads_to(browser: Chromium, page: str) -> None:
    browser.open(page)
    browser.run("document.querySelector('.grid tbody th a').click()")
    browser.run("new Promise((done) => setTimeout(done, 20))")
    assert browser.run("document.getElementById('r1').open")
    assert browser.run("document.querySelector('#r1 table').getClientRects().length") > 0


def test_it_is_read_without_a_script(browser: Chromium, page: str) -> None:
    browser.script(False)
    browser.open(page)
    browser.script(True)  # for the questions below: the page's own script was not run
    assert browser.run("document.getElementById('filters').getClientRects().length") == 0
    assert browser.run("document.querySelector('#f1 mark').getClientRects().length") > 0
    assert browser.run("document.querySelectorAll('.grid tr[data-run]').length") > RUNS


def test_on_a_phone_the_page_does_not_scroll_sideways(browser: Chromium, page: str) -> None:
    browser.size(400, 800)
    browser.open(page)
    assert browser.run("document.documentElement.scrollWidth") <= 400


def test_a_picture_and_paper(browser: Chromium, page: str) -> None:
    browser.open(page)
    width, height = struct.unpack(">II", browser.picture()[16:24])
    assert (width, height) == (1280, 900)
    assert browser.pdf().startswith(b"%PDF-")
    browser.media(kind="print")
    assert browser.run("getComputedStyle(document.getElementById('filters')).display") == "none"
    assert browser.run("getComputedStyle(document.querySelector('.tall')).maxHeight") == "none"
