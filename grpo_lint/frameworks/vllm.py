"""vLLM's server: `vllm serve`, `python -m vllm.entrypoints.openai.api_server`, and the YAML that `--config` names.

Read: 0.8.5 to 0.33.0 (utils/argparse_utils.py, engine/arg_utils.py, entrypoints/). Names take `_` for `-` up to the
first dot; what follows a dot is a key of a JSON option, so that `--compilation-config.mode 3`, `-cc.mode=3` and
`--compilation-config '{"mode": 3}'` are one, but given both, the dotted keys alone count; the file's keys are flags
before those of the line.
"""

from __future__ import annotations

import os

from grpo_lint.frameworks import flags, serving
from grpo_lint.frameworks.documents import named_document, named_word
from grpo_lint.frameworks.shape import copy, given
from grpo_lint.located import Piece, Word
from grpo_lint.patterns import lazy
from grpo_lint.unified import Origin, Setting, derived

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpo_lint.discover import Repository
    from grpo_lint.launch import Launch
    from grpo_lint.located import Problem, Value
    from grpo_lint.runconfig import RunConfig

NAME = "vllm"

DIALECT = flags.Dialect(NAME, (("vllm", ""),), folds="-", suffixes=True, abbreviates=True, dotted=True)

_MODULE = lazy(r"(?:^|[./])vllm[./]entrypoints[./](?:openai[./])?(?:api_server|run_batch|cli[./]main)(?:\.py)?$")
OWN_KEYS = frozenset(
    (
        "tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size", "gpu-memory-utilization",
        "max-model-len", "max-num-seqs", "max-num-batched-tokens", "served-model-name", "enforce-eager",
        "enable-expert-parallel", "enable-prefix-caching", "trust-remote-code", "tool-call-parser", "kv-cache-dtype",
        "speculative-config", "compilation-config", "enable-auto-tool-choice", "reasoning-parser", "async-scheduling",
    )
)  # fmt: skip


def recognises(launch: Launch) -> bool:
    """Whether a launch starts vLLM's server."""
    return serving.starts(launch, NAME, _MODULE)


def recognises_document(root: Value) -> bool:
    """Whether a YAML document is a server's config: flat, and three at least of vLLM's own option names."""
    if not isinstance(root.data, dict) or "args" in root.data:
        return False
    keys = {str(key).replace("_", "-") for key in root.data}
    known = sum(DIALECT.kind(f"--{key}") is not None for key in keys)
    return len(OWN_KEYS & keys) >= 2 and known >= 3 and known * 2 > len(keys)


def read(launch: Launch, path: str, run: RunConfig, repository: Repository) -> list[Problem]:
    """Read a launch's file and arguments into `run`, over vLLM's defaults."""
    command = launch.program == NAME or (bool(launch.args) and launch.args[0].text == "serve")
    flags.use_defaults(run, DIALECT, {})
    words = _respelled(launch.args[1:] if command else launch.args)
    named = serving.config_word(words)
    root = named_document(named, ("--config",), os.path.dirname(path), repository, "pyyaml")
    if root is not None and root.is_mapping:
        _put_document(root, run)
    elif named_word(named, ("--config",)) is not None:
        run.complete = False
    arguments = flags.parse(words, DIALECT)
    flags.put(arguments, run, DIALECT)
    if command and arguments.positionals:
        run.options.put(NAME, "--model", flags.word_setting(arguments.positionals[0], "--model", "override"))
    _spread(run)
    return []


def read_document(root: Value, path: str, run: RunConfig, repository: Repository) -> list[Problem]:
    """Read a server's YAML into `run`; the command line that names it may say more."""
    run.complete = False
    _put_document(root, run)
    _spread(run)
    return []


def _put_document(root: Value, run: RunConfig) -> None:
    for key, value in root.data.items():
        kind = DIALECT.kind(f"--{key}")
        name = kind.name if kind is not None else f"--{key}"
        run.options.put(NAME, name, flags.file_setting(value, name, DIALECT))


def _respelled(words: Sequence[Word]) -> list[Word]:
    """`-O3`, `-O 3` and `-O=3` as the flag that they stand for (an integer `mode` before 0.12)."""
    result: list[Word] = []
    for at, word in enumerate(words):
        text = word.text
        if text.startswith("-O") and not text.startswith("--") and len(text) > 2:
            start = 3 if text[2] == "=" else 2
            if text[2] == ".":
                result.append(_flag("--compilation-config" + text[2:], word))
                continue
            result += [_flag("--optimization-level", word), word.cut(start)]
        elif text == "-O" and at + 1 < len(words):
            result.append(_flag("--optimization-level", word))
        else:
            result.append(word)
    return result


def _flag(name: str, word: Word) -> Word:
    return Word((Piece(name, word.span),), word.span, word.via)


def _spread(run: RunConfig) -> None:
    """Put the keys of JSON options under their dotted names, too.

    Dotted keys of a line become one JSON text after all others, which takes the place of the option as a whole.
    """
    written = tuple(run.options.written(NAME))
    replaced = {key.partition(".")[0] for _, key, _ in written if "." in key}
    for _, key, setting in written:
        if setting.known and isinstance(setting.value, dict) and key not in replaced:
            for path, value in _leaves(setting.value):
                origin = setting.chain[-1]
                own = Origin(origin.layer, origin.span, origin.via, origin.note, f"{key}.{path}", value)
                run.options.put(NAME, f"{key}.{path}", Setting("known", value, (own,)))


def _leaves(data: dict[str, object], prefix: str = "") -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    for key, value in data.items():
        if isinstance(value, dict) and value:
            found += _leaves(value, f"{prefix}{key}.")
        else:
            found.append((f"{prefix}{key}", value))
    return found


def unify(run: RunConfig) -> None:
    """Fill the unified fields from the server's options."""
    serving.unify(run, NAME, model="--model", tp="--tensor-parallel-size", pp="--pipeline-parallel-size")
    copy(run, {"load_format": "--load-format", "nnodes": "--nnodes"})
    if given(run, "--enable-lora").value is True:
        copy(run, {"lora_rank": "--max-lora-rank"}, lambda run, key: run.option(NAME, key))
    eager = given(run, "--enforce-eager")
    level = given(run, "--optimization-level")
    if eager.unset and level.known and level.value in (0, "0"):
        eager = derived(True, level, note="level 0 compiles nothing and captures no graphs")
    if not eager.unset:
        run.fields["enforce_eager"] = eager
