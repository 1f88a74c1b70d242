"""The texts that `diagnose` looks for in logs are those that the frameworks print: `pytest -m upstream`.

A text is looked up in the file that its source names, of each copy of the package on Python's path, and is skipped
where there is none. Several releases can be put on the path side by side.
"""

import ast
import re
import sys
from pathlib import Path

import pytest

from grpo_lint.diagnosis.symptoms import load

pytestmark = pytest.mark.upstream

SIGNATURES = [(row["text"], row["source"]) for cause in load()["causes"] for row in cause.get("log", ())]
OF_A_PACKAGE = re.compile(r"\w+ [\d.]+, (\w+/[\w/]+\.py)")


def texts(path: Path) -> str:
    """All texts of a module, values as `{}`, blanks that are only a line's end as one."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            found.append("".join(str(p.value) if isinstance(p, ast.Constant) else "{}" for p in node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append(re.sub(r"%[sd]", "{}", node.value))
    return re.sub(r"\s+", " ", "\n".join(found))


def holds(text: str, signature: str) -> bool:
    """Whether a module's texts hold a signature, of which a hole may stand for some values with words between."""
    pieces = (re.escape(re.sub(r"\s+", " ", piece)) for piece in signature.split("{}"))
    return re.search(".{1,200}?".join(pieces), text) is not None


@pytest.mark.parametrize(("signature", "source"), SIGNATURES, ids=[text for text, _ in SIGNATURES])
def test_the_framework_prints_it(signature: str, source: str) -> None:
    named = OF_A_PACKAGE.match(source)
    if named is None:
        pytest.skip("not of a Python package")
    files = [path for folder in sys.path if (path := Path(folder, named[1])).is_file()]
    if not files:
        pytest.skip(f"{named[1]} isn't on the path")
    assert any(holds(texts(path), signature) for path in files)
