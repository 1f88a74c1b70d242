"""What all rules cost together, beside reading."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_what_all_rules_cost_is_told_beside_reading() -> None:
    """On the fixtures, where each file is short and has a fault to tell, it is as much; on real scripts a tenth."""
    words = [sys.executable, "tools/bench.py", "--rules", "fixtures"]
    told = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    found = re.fullmatch(r"(\d+) rules on ([\d,]+) runs .* ([\d.]+) x   budget 1\.0(?:  OVER)?\n", told.stdout)
    assert found, told.stdout + told.stderr
    assert int(found[1]) > 200
    assert int(found[2].replace(",", "")) > 200
    assert float(found[3]) < 3
