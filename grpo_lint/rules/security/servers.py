"""SEC03 to SEC06: engine servers, and models, that run what strangers send."""

from __future__ import annotations

from grpo_lint.diagnostics import NOTE, WARNING
from grpo_lint.rules.rule import Finding, rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.runconfig import RunConfig
    from grpo_lint.unified import Setting

EVERYWHERE = ("0.0.0.0", "::", "[::]", "*")
"""Hosts that stand for every address of a machine."""

KEYS = {"vllm": ("--api-key", "VLLM_API_KEY"), "sglang": ("--api-key", "--admin-api-key")}
"""What a server takes an API key from: options, and variables of its environment."""


def open_host(run: RunConfig) -> Setting | None:
    """The host of a server that was told to listen on every address, where all of its arguments are known."""
    host = run.option(run.framework, "--host")
    return host if run.complete and host.explicit and host.value in EVERYWHERE else None


def keyless(run: RunConfig) -> bool:
    """Whether nothing gives a server an API key; a key whose value isn't known is one."""
    for name in KEYS[run.framework]:
        key = run.option(run.framework, name) if name.startswith("-") else run.environment(name)
        if not key.unset and not (key.known and not key.value):
            return False
    return True


def run_by_requests(run: RunConfig) -> Setting | None:
    """The switch of a server by which requests run code of their own, where it is on and asks for no key."""
    if run.framework == "vllm":
        mode = run.environment("VLLM_SERVER_DEV_MODE")
        return mode if mode.known and str(mode.value) == "1" else None
    processor = run.option("sglang", "--enable-custom-logit-processor")
    return processor if processor.value is True and keyless(run) else None


@rule(
    "SEC03",
    "open-server",
    severity=NOTE,
    evidence="conditional",
    topics=("security", "server"),
    frameworks=("vllm", "sglang"),
    mentions=("--host",),
    threat="6.5",
)
def open_server(run: RunConfig) -> Iterator[Finding]:
    """An engine server is open to every address and asks for no API key.

    ## What it does
    Reports vLLM's and SGLang's servers that are told to listen on every address (`--host 0.0.0.0`, `::`) and get no
    key, neither by `--api-key` nor, for vLLM, by `VLLM_API_KEY`.

    ## Why it matters
    Whoever reaches the port uses the GPUs and calls what manages the server: SGLang answers `/flush_cache` and
    `/update_weights_from_disk`, which loads other weights. On a network of one's own that may be meant; a cloud machine
    with a public address is found by those who search for open ports.

    ## Example
    ```bash
    python3 -m sglang.launch_server --model-path Qwen/Qwen2.5-7B-Instruct --host 0.0.0.0 --port 30000
    ```

    ## Use instead
    The address of the network that the clients are on, or a key:

    ```bash
    python3 -m sglang.launch_server --model-path Qwen/Qwen2.5-7B-Instruct --host 127.0.0.1 --port 30000
    ```

    ## When it does not apply
    A server whose host nobody wrote: vLLM then listens on every address, too, which is its choice and no slip in the
    file (SGLang listens on this machine alone). A private network or a firewall in front, which no file tells; ignore
    the rule there. What SEC06 reports is not reported twice. An engine inside a trainer's process has no port.

    ## Sources
    - vLLM, main of 2026, `entrypoints/openai/cli_args.py` (`host`, `api_key`), docs/usage/security.md: the key guards
      `/v1`, `/v2` and `/inference` alone.
    - SGLang 0.5.23 `srt/entrypoints/http_server.py` and `srt/utils/auth.py`: no key, no check.
    """
    host = open_host(run)
    if host is not None and keyless(run) and run_by_requests(run) is None:
        message = f"--host {host.value} without an API key: the server answers whoever reaches its port"
        help = "bind it to the clients' network or 127.0.0.1, or give it an --api-key from the environment"
        yield Finding(message, host, help=help)


def is_callers(model: Setting) -> bool:
    """Whether all of a model's name comes from the caller: `$1`, and not `$HOME/models/Qwen3-8B`."""
    if model.state != "unknown" or model.origin is None or model.span is None:
        return False
    return not any("/" in span.text for span in (model.span, *model.origin.via))


TRUST = {
    # framework: the option that lets a model's repository bring code
    "verl": "actor_rollout_ref.model.trust_remote_code",
    "vllm": "--trust-remote-code",
    "sglang": "--trust-remote-code",
    "trl": "--trust_remote_code",
}


@rule(
    "SEC04",
    "remote-code-of-any-model",
    severity=NOTE,
    evidence="conditional",
    topics=("security", "model"),
    frameworks=tuple(TRUST),
    mentions=("trust",),
    threat="5.9",
)
def remote_code(run: RunConfig) -> Iterator[Finding]:
    """Remote code is trusted for a model that the caller names.

    ## What it does
    Reports `trust_remote_code` where the model is an argument of the script (`$1`) or a variable that it doesn't set.

    ## Why it matters
    Transformers imports and runs the Python files of the model's repository, with the rights and the tokens of the job.
    A name with a typo, or one that somebody else sets, is enough.

    ## Example
    ```bash
    vllm serve "$1" --trust-remote-code
    ```

    ## Use instead
    Name the model that needs it, or leave the option off: models of the common families have their classes in
    Transformers and vLLM.

    ```bash
    vllm serve moonshotai/Moonlight-16B-A3B-Instruct --trust-remote-code
    ```

    ## When it does not apply
    A model that the script names, be it in a folder that it doesn't know (`$HOME/models/Qwen3-8B`) or as a default that
    a variable may replace. Code in a folder of one's own is as trusted as the folder.

    ## Sources
    - Transformers 5.24.0 `dynamic_module_utils.py`: `get_class_from_dynamic_module` downloads the file and imports it.
    - verl 0.9.1 `utils/model.py` passes the option on to `AutoConfig.from_pretrained`.
    """
    trust = run.option(run.framework, TRUST.get(run.framework, ""))
    model = run.model_path
    if trust.value is True and trust.explicit and is_callers(model):
        message = f"{trust.key} runs the model repository's own code, and the model isn't known here: {model.reason}"
        help = "name the model and its revision, or leave the option off where Transformers has the model's classes"
        yield Finding(message, trust, others=[(model, "any model")], help=help)


@rule(
    "SEC05",
    "credentials-from-any-site",
    severity=WARNING,
    evidence="solid",
    topics=("security", "server"),
    frameworks=("vllm",),
    mentions=("--allow-credentials",),
    threat="5.4",
)
def credentials_from_any_site(run: RunConfig) -> Iterator[Finding]:
    """vLLM's server takes requests with credentials from the pages of any site.

    ## What it does
    Reports `--allow-credentials` where `--allowed-origins` holds `*`, which is its default up to 0.25.

    ## Why it matters
    A page that somebody opens in a browser may then call the server with the cookies and logins that this browser has
    for it, and read the answers: the check that keeps sites apart is switched off for this one.

    ## Example
    With `--target vllm=0.10.2`:

    ```bash
    vllm serve Qwen/Qwen2.5-7B-Instruct --allow-credentials
    ```

    ## Use instead
    ```bash
    vllm serve Qwen/Qwen2.5-7B-Instruct --allow-credentials --allowed-origins '["https://chat.corp"]'
    ```

    ## When it does not apply
    Clients that are no browsers don't ask for it: the option is then of no use, and of no harm to them.

    ## Sources
    - vLLM of 2026, `entrypoints/openai/api_server.py`: `CORSMiddleware(allow_origins=..., allow_credentials=...)`;
      Starlette's middleware answers each origin with its own name where all are allowed and cookies are sent.
    - fetch.spec.whatwg.org, "CORS protocol and credentials", forbids `*` together with credentials for this reason.
    """
    allowed, origins = run.option("vllm", "--allow-credentials"), run.option("vllm", "--allowed-origins")
    if allowed.value is True and origins.known and "*" in str(origins.value):
        by_default = "" if origins.explicit else " (its default)"
        message = f"--allow-credentials with --allowed-origins *{by_default}: any web page may call with a user's login"
        others = [(origins, "any site")] if origins.explicit else []
        yield Finding(message, allowed, others=others, help="list the sites in --allowed-origins, or leave it off")


@rule(
    "SEC06",
    "requests-that-run-code",
    severity=WARNING,
    evidence="solid",
    topics=("security", "server"),
    frameworks=("vllm", "sglang"),
    mentions=("--host",),
    threat="8.8",
)
def requests_that_run_code(run: RunConfig) -> Iterator[Finding]:
    """A server that is open to every address runs code, or calls to its inside, that a request brings.

    ## What it does
    Reports two switches of servers that are told to listen on every address: SGLang's `--enable-custom-logit-processor`
    without an API key, and vLLM's `VLLM_SERVER_DEV_MODE=1`, with a key or without.

    ## Why it matters
    SGLang unpickles the processor that a request carries (`dill.loads`), which runs any code it holds. vLLM's
    development mode opens `/collective_rpc`, which calls any method of the workers, `/sleep` and
    `/reset_prefix_cache`; its API key guards `/v1` and a few other paths only, and none of these.

    ## Example
    ```bash
    python3 -m sglang.launch_server --model-path Qwen/Qwen2.5-7B-Instruct --host 0.0.0.0 --enable-custom-logit-processor
    ```

    ## Use instead
    ```bash
    python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B --host 127.0.0.1 --enable-custom-logit-processor
    ```

    ## When it does not apply
    A server that listens on this machine or on one network's address.

    ## Sources
    - SGLang 0.5.23 `srt/sampling/custom_logit_processor.py` (`dill.loads`); the option's own help: "disabled by default
      for security".
    - vLLM docs/usage/security.md, "API Key Authentication Limitations", and `envs.py` (`VLLM_SERVER_DEV_MODE`).
    """
    host, switch = open_host(run), run_by_requests(run)
    if host is None or switch is None:
        return
    if run.framework == "vllm":
        message = "VLLM_SERVER_DEV_MODE=1 opens /collective_rpc to whoever reaches the port, with an API key or without"
    else:
        message = "--enable-custom-logit-processor unpickles what requests bring, and anyone may send one"
    help = "bind it to 127.0.0.1 or to the network that only the trainer is on"
    yield Finding(message, switch, others=[(host, "open to every address")], help=help)


RULES = (open_server, remote_code, credentials_from_any_site, requests_that_run_code)
