"""SGLang's server: `python -m sglang.launch_server`, `sglang serve`, and the YAML that `--config` names.

Read: 0.4.6 to 0.5.23 (srt/server_args.py, srt/server_args_config_parser.py, cli/serve.py). The file's keys are flags
before those of the line; a unique beginning of a name is enough.
"""

from __future__ import annotations

import os

from grpo_lint.frameworks import flags, serving
from grpo_lint.frameworks.documents import named_document, named_word
from grpo_lint.frameworks.shape import copy, given
from grpo_lint.patterns import lazy
from grpo_lint.unified import derived

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.discover import Repository
    from grpo_lint.launch import Launch
    from grpo_lint.located import Problem, Value
    from grpo_lint.runconfig import RunConfig

NAME = "sglang"

DIALECT = flags.Dialect(NAME, (("sglang", ""),), abbreviates=True)

OWN_KEYS = frozenset(
    ("mem-fraction-static", "tp-size", "dp-size", "chunked-prefill-size", "max-running-requests", "attention-backend",
     "disable-cuda-graph", "cuda-graph-max-bs", "schedule-policy", "enable-dp-attention", "context-length",
     "disaggregation-mode", "disable-radix-cache", "model-path")
)  # fmt: skip
"""Options that vLLM doesn't have."""

_MODULE = lazy(r"(?:^|[./])sglang[./]launch_server(?:\.py)?$")


def recognises(launch: Launch) -> bool:
    """Whether a launch starts SGLang's server."""
    return serving.starts(launch, NAME, _MODULE)


def recognises_document(root: Value) -> bool:
    """Whether a YAML document is a server's config: flat, with a model and two at least of SGLang's own options."""
    if not isinstance(root.data, dict) or "args" in root.data:
        return False
    keys = {str(key).replace("_", "-") for key in root.data}
    known = sum(DIALECT.kind(f"--{key}") is not None for key in keys)
    return bool(OWN_KEYS & keys) and bool({"model-path", "model"} & keys) and known >= 3 and known * 2 > len(keys)


def read_document(root: Value, path: str, run: RunConfig, repository: Repository) -> list[Problem]:
    """Read a server's YAML into `run`; the command line that names it may say more."""
    run.complete = False
    _put_document(root, run)
    return []


def read(launch: Launch, path: str, run: RunConfig, repository: Repository) -> list[Problem]:
    """Read a launch's file and arguments into `run`, over SGLang's defaults."""
    flags.use_defaults(run, DIALECT, {})
    words = launch.args[1:] if launch.program == NAME else launch.args
    named = serving.config_word(words)
    root = named_document(named, ("--config",), os.path.dirname(path), repository, "pyyaml")
    if root is not None and root.is_mapping:
        _put_document(root, run)
    elif named_word(named, ("--config",)) is not None:
        run.complete = False
    arguments = flags.parse(words, DIALECT)
    flags.put(arguments, run, DIALECT)
    if launch.program == NAME and words and arguments.positionals[:1] == [words[0]]:
        run.options.put(NAME, "--model-path", flags.word_setting(words[0], "--model-path", "override"))
    return []


def _put_document(root: Value, run: RunConfig) -> None:
    for key, value in root.data.items():
        kind = DIALECT.kind("--" + str(key).replace("_", "-"))
        name = kind.name if kind is not None else f"--{key}"
        run.options.put(NAME, name, flags.file_setting(value, name, DIALECT))


def unify(run: RunConfig) -> None:
    """Fill the unified fields from the server's options."""
    serving.unify(run, NAME, model="--model-path", tp="--tp-size", pp="--pp-size")
    copy(run, {"load_format": "--load-format"})
    nodes = given(run, "--nnodes")
    if not nodes.unset:
        run.fields["nnodes"] = serving.verbatim(nodes)
    graphs = given(run, "--disable-cuda-graph")
    if graphs.known:
        run.fields["enforce_eager"] = graphs
    both = [given(run, f"--cuda-graph-backend-{phase}") for phase in ("decode", "prefill")]
    if all(setting.value == "disabled" for setting in both):
        run.fields["enforce_eager"] = derived(True, *both, note="no CUDA graphs are captured")
    if given(run, "--enable-lora").value is True:
        copy(run, {"lora_rank": "--max-lora-rank"})
