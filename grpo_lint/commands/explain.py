"""`grpo-lint explain`: the pages of rules."""

from __future__ import annotations

import sys

from grpo_lint.explain import page, rule_named
from grpo_lint.terminal import use_utf8

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.arguments import Options


def answer(options: Options) -> int:
    """Write the pages to standard output. Raises SettingsError for what no rule is called."""
    pages = [page(rule_named(name)) for name in options.rules]
    use_utf8()
    sys.stdout.write("\n".join(pages))
    return 0
