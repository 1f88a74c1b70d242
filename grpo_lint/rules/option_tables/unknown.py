"""Options that no release has: on command lines, in DeepSpeed's JSON, in accelerate's YAML and before its script."""

from __future__ import annotations

from grpo_lint.diagnostics import ERROR, WARNING
from grpo_lint.rules.rule import Finding, rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.diagnostics import Fix
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

    ## Fix
    Writes the name that was meant, if it isn't there already. Safe where the program refuses the slip, so that nothing
    runs with it; unsafe for a key that DeepSpeed or accelerate passes over, since the run then changes.

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
        yield _refused(program, use, meant(use, program), release)


def _read_release(program: Program) -> str:
    """The release of a closed program, if it is one of those that were read."""
    from grpo_lint.frameworks import tables

    table = program.dialect.tables[0][0]
    version = program.release(table)
    known = program.closed and version is not None and version.text in tables.table(table).releases
    return f"{table} {version.text}" if known and version is not None else ""


def _refused(program: Program, use: Use, slip: str, release: str) -> Finding:
    """Nothing runs with such a name, so that writing the one that was meant is safe unless it is there already."""
    where = f"{release} has no such option" if release else "no release has such an option"
    message = f"{program.title} refuses {use.shown}: {where}"
    there = slip != "" and any(slip in (other.name, other.written, other.shown) for other in program.uses)
    fix = None if there else _write(use.span, slip, safe=True)
    return Finding(message, use.span, "unknown", (), f"did you mean {slip}?" if slip else "", fix)


def _write(place: Span, name: str, safe: bool) -> Fix | None:
    """Write another name, if there is one to write."""
    from grpo_lint.fixing.values import option_renamed

    return option_renamed(place, name, safe) if name else None


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
            there = _flag_in(run, slip) is not None
            fix = None if there else _write(place, slip, safe=True)
            yield Finding(message, place, "unknown", (), f"did you mean {slip}?", fix)


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
        return Finding(message, key.place(part), "unknown", (), help, _key_fix(run, key, part, slip, True), ERROR)
    if slip and (since is not None or "." not in part or part.partition(".")[0] in LOOSE):
        message = f"nothing reads {part}: deepspeed ignores a key that it doesn't know here"
        return Finding(message, key.place(part), "unknown", (), help, _key_fix(run, key, part, slip, False), WARNING)
    return None


def _key_fix(run: RunConfig, key: Key, part: str, slip: str, refused: bool) -> Fix | None:
    """Write the key that was meant, unless it is there. Where DeepSpeed refuses none, the run changes: it is unsafe."""
    there = run.option("deepspeed", slip).explicit or any(True for _ in run.options.below("deepspeed", slip))
    return None if there else _write(key.place(part), slip.rpartition(".")[2], refused)


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
                place = key_place(origin.span, section)
                fix = None if _has(run, slip) else _write(place, slip, safe=True)
                yield Finding(message, place, "unknown", (), f"did you mean {slip}?", fix)
        elif rest and "." not in rest and section in _SECTIONS and f"--{rest}" not in options:
            prefix = _SECTIONS[section]
            known = [name[2:] for name in options if name.startswith(f"--{prefix}")]
            slip = "" if f"{prefix}{rest}" in known else meant(rest, known)
            if slip:
                message = f"nothing reads {key}: accelerate passes it on as an argument that nothing asks for"
                place = key_place(origin.span, rest)
                fix = None if _has(run, f"{section}.{slip}") else _write(place, slip, safe=False)
                yield Finding(message, place, "unknown", (), f"did you mean {slip}?", fix, WARNING)


def _has(run: RunConfig, key: str) -> bool:
    """Whether accelerate's file has a key, or a section of that name."""
    return run.option("accelerate", key).explicit or any(True for _ in run.options.below("accelerate", key))


RULES = (option_of_no_release,)
