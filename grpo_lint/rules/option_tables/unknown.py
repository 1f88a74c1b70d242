"""Options that no release has: on command lines, in DeepSpeed's JSON, in accelerate's YAML and before its script."""

from __future__ import annotations

from grpo_lint.diagnostics import ERROR, WARNING, Fix
from grpo_lint.rules.rule import Finding, rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.frameworks.deepspeed_keys import Key
    from grpo_lint.frameworks.programs import Program, Use
    from grpo_lint.runconfig import RunConfig
    from grpo_lint.source import Span

READ = (
    "accelerate",
    "deepspeed",
    "llama_factory",
    "megatron",
    "ms_swift",
    "openrlhf",
    "sglang",
    "slime",
    "trl",
    "vllm",
)
"""Frameworks with such programs, or with files of which all keys are known."""

MANY = 100
"""More unknown keys than these say nothing more."""


@rule("OPT10", "option-of-no-release", severity=ERROR, evidence="solid", topics=("options",), frameworks=READ)
def option_of_no_release(run: RunConfig) -> Iterator[Finding]:
    """An option that no release of the program has, and that is a slip of the pen for one that they have.

    ## What it does
    Looks up the options of programs whose whole parser is known (`vllm serve`, `sglang.launch_server`, OpenRLHF's
    `train_ppo_ray`, `trl grpo`, `swift`, slime's and Megatron's own programs, `accelerate launch` before the script),
    the keys of DeepSpeed's JSON, of accelerate's YAML and of LLaMA-Factory's (not where it trains on Megatron, whose
    options then count, too). A name that differs from a known one by a letter or two, by the order of its words or by
    its separators is reported. At a release that was read, so is every other name that it doesn't have, where the
    program is a server's or OpenRLHF's.

    ## Why it matters
    A command line that its parser can't read ends the program, after the cluster has started; so do unknown keys in
    the sections of a DeepSpeed config. A key at the top of that config is worse off: nothing looks it up, and the
    run goes on without what it says.

    ## Example
    ```bash
    vllm serve Qwen/Qwen3-8B --max-modle-len 8192
    ```

    ## Use instead
    ```bash
    vllm serve Qwen/Qwen3-8B --max-model-len 8192
    ```

    ## When it does not apply
    Scripts of your own, whose options no table has; lines that also have an option of another kind, which are a fork's
    or of a release that was not read; abbreviations, where the parser takes them; keys below options that take JSON.

    ## Sources
    vllm 0.8.5 to 0.33.0 (`engine/arg_utils.py`), sglang 0.4.6 to 0.5.23 (`srt/server_args.py`), OpenRLHF 0.6.4 to
    0.11.2 (`cli/train_ppo_ray.py`), TRL 1.16.0 (`scripts/utils.py`), ms-swift 4.6.0, LLaMA-Factory 0.9.1 to 0.9.4
    (`hparams/parser.py`), accelerate 1.15.0
    (`commands/launch.py`, `commands/config/config_args.py`), deepspeed 0.19.8 (`runtime/config_utils.py`).
    """
    if run.command or run.framework == "llama_factory":
        yield from _of_program(run)
    if run.command:
        yield from _of_launcher(run)
    if any(True for _ in run.options.keys("deepspeed")):
        yield from _of_deepspeed(run)
    if any(True for _ in run.options.keys("accelerate")):
        yield from _of_accelerate(run)


def _of_program(run: RunConfig) -> Iterator[Finding]:
    from grpo_lint.frameworks.programs import meant, program_of, strangers

    program = program_of(run)
    unknown = list(strangers(program)) if program is not None else []
    if program is None or not unknown:
        return
    release = _read_release(program)
    if not release and not all(meant(use, program) for use in unknown):
        return  # a fork's, or of a release that wasn't read
    for use in unknown:
        yield _refused(program.title, use, meant(use, program), release)


def _read_release(program: Program) -> str:
    """The release of a closed program, if it is one of those that were read."""
    from grpo_lint.frameworks import tables

    table = program.dialect.tables[0][0]
    version = program.release(table)
    known = program.closed and version is not None and version.text in tables.table(table).releases
    return f"{table} {version.text}" if known and version is not None else ""


def _refused(title: str, use: Use, slip: str, release: str) -> Finding:
    where = f"{release} has no such option" if release else "no release has such an option"
    message = f"{title} refuses {use.shown}: {where}"
    return Finding(message, use.span, "unknown", (), f"did you mean {slip}?" if slip else "", _fix(use.span, slip))


def _fix(span: Span, name: str) -> Fix | None:
    """Write the name that was meant, where the name stands as such."""
    plain = span.text.strip("\"'")
    if not name or not plain.removeprefix("--").replace("-", "").replace("_", "").replace(".", "").isalnum():
        return None
    text = name if plain.startswith("--") else name.removeprefix("--")
    return Fix(f"write {text}", ((span, span.text.replace(plain, text)),), safe=False)


def _of_launcher(run: RunConfig) -> Iterator[Finding]:
    """`accelerate launch` reads its own flags up to the script, with `-` for `_` if one likes."""
    from grpo_lint.frameworks import tables
    from grpo_lint.frameworks.slips import meant

    if not any(word.text in ("accelerate", "accelerate.commands.launch") for word in run.command):
        return
    options = tables.table("accelerate").options
    known = {name for name in options if name.startswith("--")}
    known |= {alias for entry in options.values() for alias in entry.get("aliases", ())}
    for name in run.options.keys("accelerate"):
        slip = meant(name, known) if name.startswith("--") and name not in known else ""
        place = _flag_in(run, name) if slip else None
        if place is not None:
            message = f"accelerate launch refuses {name}: no release has such an option"
            yield Finding(message, place, "unknown", (), f"did you mean {slip}?", _fix(place, slip))


def _flag_in(run: RunConfig, name: str) -> Span | None:
    """Where a launcher's flag stands, which may be written with `-` for `_`."""
    folded = name.replace("-", "_")
    return next((word.span for word in run.command if word.text.partition("=")[0].replace("-", "_") == folded), None)


def _of_deepspeed(run: RunConfig) -> Iterator[Finding]:
    from grpo_lint.frameworks.deepspeed_keys import unknown_part, written

    told = set[str]()
    for key in written(run):
        part = unknown_part(key.path)
        if part and part not in told and key.data != "auto":  # such a key is dropped before the model sees it
            told.add(part)
            if len(told) > MANY:
                return
            finding = _unknown_key(run, key, part)
            if finding is not None:
                yield finding


def _unknown_key(run: RunConfig, key: Key, part: str) -> Finding | None:
    from grpo_lint.frameworks.deepspeed_keys import LOOSE, siblings, strict_since
    from grpo_lint.frameworks.slips import meant

    slip = meant(part, siblings(part))
    help = f"did you mean {slip.rpartition('.')[2]}?" if slip else ""
    since = strict_since(part)
    if since is not None and (not since or run.before("deepspeed", since) is False):
        message = f"deepspeed refuses {part}: its section has no such key in any release"
        return Finding(message, key.place(part), "unknown", (), help, severity=ERROR)
    if slip and (since is not None or "." not in part or part.partition(".")[0] in LOOSE):
        message = f"nothing reads {part}: deepspeed ignores a key that it doesn't know here"
        return Finding(message, key.place(part), "unknown", (), help, severity=WARNING)
    return None


_SECTIONS = {"deepspeed_config": "", "fsdp_config": "fsdp_", "dynamo_config": "dynamo_", "fp8_config": "fp8_"}
"""Section of accelerate's file: what its keys may leave out of the flag's name."""
_OLD = frozenset(("fp16", "dynamo_backend"))
"""Keys of old files, which are converted (commands/config/config_args.py)."""


def _of_accelerate(run: RunConfig) -> Iterator[Finding]:
    """A key at the top is refused; in a section it becomes an argument that nothing asks for."""
    from grpo_lint.frameworks import tables
    from grpo_lint.frameworks.programs import key_place
    from grpo_lint.frameworks.slips import meant

    options = tables.table("accelerate").options
    told = set[str]()
    for key in run.options.keys("accelerate"):
        section, _, rest = key.partition(".")
        origin = run.option("accelerate", key).origin
        if key.startswith("-") or origin is None or origin.layer != "file" or origin.span is None:
            continue
        if f"yaml.{section}" not in options and section not in _OLD:
            slip = meant(section, (name[5:] for name in options if name.startswith("yaml.")))
            if slip and section not in told:
                told.add(section)
                message = f"accelerate refuses {section}: its file has no such key"
                yield Finding(message, key_place(origin.span, section), "unknown", (), f"did you mean {slip}?")
        elif rest and "." not in rest and section in _SECTIONS and f"--{rest}" not in options:
            prefix = _SECTIONS[section]
            known = [name[2:] for name in options if name.startswith(f"--{prefix}")]
            slip = "" if f"{prefix}{rest}" in known else meant(rest, known)
            if slip:
                message = f"nothing reads {key}: accelerate passes it on as an argument that nothing asks for"
                place = key_place(origin.span, rest)
                yield Finding(message, place, "unknown", (), f"did you mean {slip}?", severity=WARNING)


RULES = (option_of_no_release,)
