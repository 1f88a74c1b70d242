"""The strict forms of the 36 rules: each rule as the source document states it, for its context.

They judge unified fields alone, so that they take real runs and the unified config as `validate` gets it. Only profiles
that ask for strict forms import them.
"""

from __future__ import annotations

from grpo_lint.rules.strict import rollout, training, zero

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.rules.verdict import Form

FORMS: dict[str, Form] = {form.rule: form for module in (zero, training, rollout) for form in module.FORMS}
"""Each form by its rule's id."""
