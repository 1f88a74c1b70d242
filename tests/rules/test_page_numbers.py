"""Numbers that the rules' pages give follow from the formulas that they name."""

import math
import re

import pytest

from grpo_lint.explain import rule_named


def all_equal(rate: float, size: int) -> float:
    """How likely all binary rewards of a group are equal."""
    return rate**size + (1 - rate) ** size


def test_the_table_of_not11() -> None:
    page = rule_named("NOT11").page
    sizes = [int(size) for size in re.findall(r"n = (\d+)", page)]
    rows = re.findall(r"^\| (0\.\d)[^|]*\| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", page, re.M)
    assert sizes == [4, 8, 16]
    assert len(rows) == 2
    for rate, *cells in rows:
        assert [float(cell) for cell in cells] == [round(all_equal(float(rate), size), 3) for size in sizes]


@pytest.mark.parametrize(("rule", "rate", "size"), [("DO07", 0.9, 2), ("DO13", 0.1, 4), ("DO13", 0.1, 8)], ids=str)
def test_percentages(rule: str, rate: float, size: int) -> None:
    assert f"{round(100 * all_equal(rate, size))} %" in rule_named(rule).page


def test_advantages_of_a_pair() -> None:
    """Mean and unbiased deviation of two rewards leave +-1/sqrt(2)."""
    assert "+0.71, -0.71 or 0" in rule_named("DO07").page
    for first, second in ((1.0, 0.0), (7.0, 3.0)):
        mean = (first + second) / 2
        deviation = math.sqrt((first - mean) ** 2 + (second - mean) ** 2)
        assert (first - mean) / deviation == pytest.approx(0.7071, abs=1e-4)
