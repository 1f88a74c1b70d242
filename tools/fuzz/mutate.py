"""Inputs for a fuzzer: seeds cut, spliced, repeated, nested, and salted with what a grammar gives meaning to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

LONGEST = 8_000
"""Characters of an input; a few are let grow to ten times that."""

TOKENS: dict[str, list[str]] = json.loads(Path(__file__).with_name("tokens.json").read_text(encoding="utf-8"))
"""By kind of text: what its grammar gives meaning to."""
NUMBERS = ("0", "-1", "1", "2", "9223372036854775808", "1e308", "99999999999999999999", "0.0", "007")


def mutated(random: Random, seeds: Sequence[str], tokens: Sequence[str]) -> str:
    """A new input from one or two seeds, by one to eight changes."""
    text = random.choice(seeds)
    longest = LONGEST if random.random() < 0.98 else LONGEST * 10
    for _ in range(random.choice((1, 1, 2, 2, 3, 4, 8))):
        text = CHANGES[random.randrange(len(CHANGES))](random, text, seeds, tokens)[:longest]
    return text


def _cut(random: Random, text: str, seeds: Sequence[str], tokens: Sequence[str]) -> str:
    low, high = _range(random, text)
    return text[:low] + text[high:]


def _insert(random: Random, text: str, seeds: Sequence[str], tokens: Sequence[str]) -> str:
    at = random.randint(0, len(text))
    return text[:at] + random.choice(tokens) + text[at:]


def _replace(random: Random, text: str, seeds: Sequence[str], tokens: Sequence[str]) -> str:
    at = random.randint(0, len(text))
    return text[:at] + random.choice(tokens) + text[at + 1 :]


def _repeat(random: Random, text: str, seeds: Sequence[str], tokens: Sequence[str]) -> str:
    low, high = _range(random, text, 60)
    return text[:high] + text[low:high] * random.choice((1, 2, 5, 40, 300)) + text[high:]


def _nest(random: Random, text: str, seeds: Sequence[str], tokens: Sequence[str]) -> str:
    at, opening = random.randint(0, len(text)), random.choice(tokens)
    return text[:at] + opening * random.choice((2, 10, 100, 2000)) + text[at:]


def _splice(random: Random, text: str, seeds: Sequence[str], tokens: Sequence[str]) -> str:
    other = random.choice(seeds)
    return text[: random.randint(0, len(text))] + other[random.randint(0, len(other)) :]


def _swap_lines(random: Random, text: str, seeds: Sequence[str], tokens: Sequence[str]) -> str:
    lines = text.split("\n")
    one, other = random.randrange(len(lines)), random.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return "\n".join(lines)


def _number(random: Random, text: str, seeds: Sequence[str], tokens: Sequence[str]) -> str:
    places = [at for at, char in enumerate(text) if char.isdigit()]
    if not places:
        return text + random.choice(NUMBERS)
    at = random.choice(places)
    return text[:at] + random.choice(NUMBERS) + text[at + 1 :]


def _character(random: Random, text: str, seeds: Sequence[str], tokens: Sequence[str]) -> str:
    at = random.randint(0, len(text))
    return text[:at] + chr(random.choice((random.randrange(128), random.randrange(0x2FFF)))) + text[at + 1 :]


def _range(random: Random, text: str, most: int = 400) -> tuple[int, int]:
    low = random.randint(0, len(text))
    return low, min(len(text), low + random.randint(0, most))


CHANGES = (_cut, _insert, _insert, _replace, _repeat, _nest, _splice, _swap_lines, _number, _character)
