from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_samples import at, finding

from grpo_lint.diagnostics import Diagnostic
from grpo_lint.reporters.fingerprints import identities, line_hashes
from grpo_lint.source import SourceFile


def hashes(text: str) -> list[str]:
    """The hashes of all lines, in order."""
    found = line_hashes(text, range(1, len(text) + 3))
    assert list(found) == list(range(1, len(found) + 1))
    return list(found.values())


GREETINGS = [
    "e9496ae3ebfced30:1",
    "fb7c023a8b9ccb3f:1",
    "ce8ba1a563dcdaca:1",
    "e20e36e16fcb0cc8:1",
    "b3edc88f2938467e:1",
    "c8e28b0b4002a3a0:1",
    "c129715d7a2bc9a3:1",
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["c129715d7a2bc9a3:1"]),
        (
            " a\nb\n  \t\tc\n d",
            ["271789c17abda88f:1", "54703d4cd895b18:1", "180aee12dab6264:1", "a23a3dc5e078b07b:1"],
        ),
        (
            " hello; \t\nworld!!!\n\n\n  \t\tGreetings\n End",
            [
                "8b7cf3e952e7aeb2:1",
                "b1ae1287ec4718d9:1",
                "bff680108adb0fcc:1",
                "c6805c5e1288b612:1",
                "b86d3392aea1be30:1",
                "e6ceba753e1a442:1",
            ],
        ),
        (" hello; \t\nworld!!!\n\n\n  \t\tGreetings\n End\n", GREETINGS),
        (" hello; \t\nworld!!!\r\r\r  \t\tGreetings\r End\r", GREETINGS),
        (" hello; \t\r\nworld!!!\r\n\r\n\r\n  \t\tGreetings\r\n End\r\n", GREETINGS),
        (" hello; \t\nworld!!!\r\n\n\r  \t\tGreetings\r End\r\n", GREETINGS),
        (
            "Lorem ipsum dolor sit amet.\n" * 10,
            [
                "a7f2ff13bc495cf2:1",
                "a7f2ff13bc495cf2:2",
                "a7f2ff13bc495cf2:3",
                "a7f2ff13bc495cf2:4",
                "a7f2ff13bc495cf2:5",
                "a7f2ff13bc495cf2:6",
                "a7f2ff1481e87703:1",
                "a9cf91f7bbf1862b:1",
                "55ec222b86bcae53:1",
                "cc97dc7b1d7d8f7b:1",
                "c129715d7a2bc9a3:1",
            ],
        ),
    ],
)
def test_the_vectors_that_github_publishes(text: str, expected: list[str]) -> None:
    """From `src/fingerprints.test.ts` of github/codeql-action."""
    assert hashes(text) == expected


def rolling(text: str) -> list[str]:
    """The same hash as GitHub works it out: one unit at a time, with a window that moves along the file."""
    encoded = text.encode("utf-16-le", "surrogatepass")
    units = [int.from_bytes(encoded[index : index + 2], "little") for index in range(0, len(encoded), 2)]
    window, opened = [0] * 100, [False] * 100
    total, index, line_start, after_cr = 0, 0, True, False
    counts: dict[str, int] = {}
    found: list[str] = []

    def close() -> None:
        name = f"{total:x}"
        counts[name] = counts.get(name, 0) + 1
        found.append(f"{name}:{counts[name]}")
        opened[index] = False

    def push(unit: int) -> None:
        nonlocal total, index
        total = (37 * total + unit - pow(37, 100, 2**64) * window[index]) % 2**64
        window[index] = unit
        index = (index + 1) % 100

    for unit in [*units, 0xFFFF]:
        if unit in (32, 9) or (after_cr and unit == 10):
            after_cr = False
            continue
        after_cr = unit == 13
        if opened[index]:
            close()
        opened[index], line_start = opened[index] or line_start, False
        line_start = unit in (10, 13)
        push(10 if after_cr else unit)
    for _ in range(100):
        if opened[index]:
            close()
        push(0)
    return found


@given(st.text(st.sampled_from("ab\r\n\t 訓🚀\uffff\udc80"), max_size=400))
def test_they_are_what_a_rolling_window_gives(text: str) -> None:
    assert hashes(text) == rolling(text)


def test_lines_with_the_same_hash_but_another_text_are_counted_together() -> None:
    # 37 * ord("a") + ord("z") == 37 * ord("b") + ord("U")
    text = ("x" * 50 + "az" + "x" * 48 + "\n") + ("x" * 50 + "bU" + "x" * 48 + "\n")
    first, second, _ = hashes(text)
    assert (first.split(":")[1], second) == ("1", first.split(":")[0] + ":2")


def test_only_wanted_lines_are_given() -> None:
    text = "a\nb\na\n" * 40
    every = hashes(text)
    assert line_hashes(text, {3, 7, 1000}) == {3: every[2], 7: every[6]}
    assert line_hashes(text, ()) == {}


def named(text: str, *keys: str, path: str = "a.sh", rule: str = "NOT07") -> list[str]:
    file = SourceFile(path, text)
    found = [finding(at(file, "n=1"), key=key) for key in keys]
    return identities([Diagnostic(rule, "error", "it breaks", each.primary, key=each.key) for each in found])


def test_identities_survive_moves_of_lines() -> None:
    assert named("n=1", "n") == named("\n\n  n=1", "n")


def test_identities_tell_rules_files_options_and_repetitions_apart() -> None:
    names = [
        *named("n=1", "n", "n", "m", ""),
        *named("n=1", "n", path="b.sh"),
        *named("n=1", "n", path="b\udcff.sh"),
        *named("n=1", "n", rule="DO03"),
    ]
    assert len(set(names)) == 7
    assert all(len(name) == 32 for name in names)
    assert named("n=1", "m", "n", "n") == [names[2], names[0], names[1]]
