"""SEC01 and SEC02: secrets that stand in a file that others read."""

from __future__ import annotations

from grpo_lint.diagnostics import ERROR, WARNING
from grpo_lint.located import Problem
from grpo_lint.rules.rule import reported, text_rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Finding
    from grpo_lint.source import SourceFile


def problems(source: SourceFile) -> Iterator[Problem]:
    """The credentials of a file, told without them."""
    for one in source.credentials:
        message = f"{one.what} stands in the text: whoever reads this file can use it"
        help = "revoke it, and take it from the environment or from a file that git ignores"
        kind = "url-password" if one.in_url else "credential"
        yield Problem(message, source.span(one.start, one.end), help, kind, fatal=False)


@text_rule(
    "SEC01", "credential-in-text", severity=ERROR, kinds=("credential",), topics=("security", "secrets"), threat="8.1"
)
def credential_in_text(problem: Problem) -> Iterator[Finding]:
    """A token or key stands in the file.

    ## What it does
    Reports what has the shape of a credential: tokens of Hugging Face (`hf_`), W&B (`wandb_v1_`), GitHub, GitLab, Slack
    and signed ones (JWT); keys of OpenAI's form (`sk-`), Anthropic, OpenRouter, Groq, Google, NVIDIA and AWS (`AKIA`).
    Keys without a shape of their own, such as W&B's 40 digits and AWS's secret, are known by the name they are given
    (`WANDB_API_KEY=`, `"api_key":`, `--api-key`, `wandb login`) where the value looks drawn by lot. Every file of a
    kind that is read is searched, comments included, whether or not it configures a run.

    No report shows the credential: each of its characters reads `x`, in excerpts, values, `show` and baselines alike.

    ## Why it matters
    Whoever can read the repository, an image, or the log of a job that echoes its command can use it. Removing the line
    isn't enough, since it stays in the history.

    ## Example
    ```bash
    export HF_TOKEN=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
    python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=8
    ```

    ## Use instead
    Revoke it first. Then take it from the environment, or from a file that git ignores:

    ```bash
    export HF_TOKEN=${HF_TOKEN:?}
    python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=8
    ```

    ## When it does not apply
    Placeholders: `hf_xxxx`, `<token>`, `your_key`, `EMPTY`, `sk-...`, a value of fewer than eight different characters
    or in alphabetical order; variables; hashes of commits and files, base64 data, tokens of a vocabulary (`eos_token`).
    A key that an example publishes on purpose takes a comment, `# grpo-lint: ignore[SEC01] ...`.

    ## Sources
    - huggingface.co/docs/hub/security-tokens; docs.wandb.ai, `wandb login`, "API key formats"; docs.github.com, "About
      authentication to GitHub", "GitHub's token formats"; docs.aws.amazon.com, "IAM identifiers".
    - gitleaks 8.28 `config/gitleaks.toml`, for lengths and alphabets.
    """
    yield reported(problem, "masked here")


@text_rule(
    "SEC02", "password-in-url", severity=WARNING, kinds=("url-password",), topics=("security", "secrets"), threat="7.5"
)
def password_in_url(problem: Problem) -> Iterator[Finding]:
    """A URL has a password in it.

    ## What it does
    Reports the password of `scheme://user:password@host`, as in addresses of proxies, package indexes and repositories.
    No report shows it.

    ## Why it matters
    As with SEC01; besides, programs write their proxy and index into logs as they are.

    ## Example
    ```bash
    export HTTPS_PROXY=http://trainer:Winter-Is-Gone-9@proxy.corp:3128
    python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=8
    ```

    ## Use instead
    ```bash
    export HTTPS_PROXY=http://trainer:${PROXY_PASSWORD:?}@proxy.corp:3128
    python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=8
    ```

    ## When it does not apply
    Placeholders (`user:password@`), variables, the machine itself (`localhost`), a user without a password (`git@`).

    ## Sources
    RFC 3986, section 3.2.1: the form `user:password` is deprecated, and applications should not show it.
    """
    yield reported(problem, "masked here")


RULES = (credential_in_text, password_in_url)
