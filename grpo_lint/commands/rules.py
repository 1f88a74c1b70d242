"""`grpo-lint rules`: the list of the rules."""

from __future__ import annotations

import sys

from grpo_lint.explain import write_json, write_table
from grpo_lint.terminal import use_utf8

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.arguments import Options


def answer(options: Options) -> int:
    """Write the list to standard output."""
    use_utf8()
    (write_json if options.format == "json" else write_table)(sys.stdout)
    return 0
