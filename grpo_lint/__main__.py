"""`python -m grpo_lint`."""

import sys

from grpo_lint.cli import main

sys.exit(main())
