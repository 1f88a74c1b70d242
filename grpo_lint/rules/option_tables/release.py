"""Options that the release at hand doesn't have, and lines that mix the options of two releases."""

from __future__ import annotations

from grpo_lint.diagnostics import ERROR
from grpo_lint.rules.rule import Finding, rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.diagnostics import Fix
    from grpo_lint.frameworks.programs import Program, Use
    from grpo_lint.frameworks.tables import Table
    from grpo_lint.runconfig import RunConfig

COMPLETE = ("vllm", "sglang", "openrlhf", "trl", "transformers")
"""Tables that have all options of each release that was read. (Programs on Megatron run on any commit of it.)"""

READ = (*COMPLETE, "deepspeed", "slime", "ms_swift")


@rule(
    "OPT11",
    "option-of-another-release",
    severity=ERROR,
    evidence="solid",
    topics=("options", "releases"),
    frameworks=READ,
)
def option_of_another_release(run: RunConfig) -> Iterator[Finding]:
    """An option that other releases have and the one at hand hasn't, or two that no one release has.

    ## What it does
    Looks up the options of programs whose whole parser is known, and the keys of DeepSpeed's JSON, at the release that
    the repository pins or that `--target` names. Without a release, it reports a line that mixes options of two
    releases which have nothing in common, such as OpenRLHF's flat flags (up to 0.9) and its dotted ones (since 0.10).

    ## Why it matters
    The program refuses the line. DeepSpeed refuses a key that it dropped, so that nobody trains without the feature
    unawares, and a key that came later in the sections that its models read.

    ## Example
    ```bash
    python3 -m openrlhf.cli.train_ppo_ray \\
        --actor.model_name_or_path Qwen/Qwen3-8B \\
        --zero_stage 2
    ```

    ## Use instead
    ```bash
    python3 -m openrlhf.cli.train_ppo_ray \\
        --actor.model_name_or_path Qwen/Qwen3-8B \\
        --ds.zero_stage 2
    ```

    ## Fix
    Writes the option that took another name and means the same, if it isn't there already: safe at a release that is
    known, which refuses the old name; unsafe where two releases are mixed, since either may be meant.

    ## When it does not apply
    Releases between two that were read of which only one has the option, and releases newer than all that were read.

    ## Sources
    The option tables of vllm 0.8.5 to 0.33.0, sglang 0.4.6 to 0.5.23, OpenRLHF 0.6.4 to 0.11.2, TRL 0.14.0 to 1.16.0
    and deepspeed 0.14.5 to 0.19.8 (`runtime/config.py`: `_REMOVED_TOP_LEVEL_CONFIG_KEYS`, `_REMOVED_ZERO_CONFIG_KEYS`).
    """
    if run.command:
        from grpo_lint.frameworks.programs import program_of

        program = program_of(run)
        if program is not None:
            yield from _of_program(program)
    if run.versions.get("deepspeed") is not None and any(True for _ in run.options.keys("deepspeed")):
        yield from _of_deepspeed(run)


def _of_program(program: Program) -> Iterator[Finding]:
    from grpo_lint.frameworks import tables

    found = False
    for use in program.uses:
        version = program.release(use.table) if use.table in COMPLETE else None
        if version is None or use.entry.get("more", {}).get("no_cli"):
            continue
        table = tables.table(use.table)
        if table.presence(use.name, version.text) is False:
            found = True
            message = f"{use.table.replace('_', '-')} {version.text} has no {use.shown}: {_history(table, use.name)}"
            instead = _instead(program, use)
            fix = _fix(program, use, instead) if table.presence(instead, version.text) else None
            yield Finding(message, use.span, "not in this release", (), _help(instead), fix)
    if not found and (program.closed or program.run.framework == "trl"):
        yield from _mixed(program)


def _history(table: Table, name: str) -> str:
    spells = table.options[name]["spells"]
    first, last = spells[0][0], spells[-1][1]
    since = f"{table.releases[first]} is the first that was read to have it"
    until = f"{table.releases[last]} is the last that was read to have it"
    newest = last == len(table.releases) - 1
    if first == last and not newest:
        return f"of the releases that were read only {table.releases[first]} has it"
    return since if newest else until if first == 0 else f"{since}, {table.releases[last]} the last"


def _instead(program: Program, use: Use) -> str:
    """What takes an option's place, where that is known."""
    instead = str(use.entry.get("instead", ""))
    if program.run.framework == "openrlhf":
        from grpo_lint.frameworks.openrlhf import FLAT

        other = {flat: dotted for dotted, flat in FLAT.items()} | FLAT
        instead = other.get(use.name, "")
    return instead if instead.startswith("--") else ""


def _help(instead: str) -> str:
    return f"write {instead}" if instead else ""


def _fix(program: Program, use: Use, instead: str, safe: bool = True) -> Fix | None:
    """Write the option that is the same in this release. Some have another one that takes other values."""
    from grpo_lint.fixing.values import option_renamed
    from grpo_lint.frameworks.programs import renames

    if not instead or not renames(use) or any(instead in (other.name, other.written) for other in program.uses):
        return None
    return option_renamed(use.span, instead, safe)


def _mixed(program: Program) -> Iterator[Finding]:
    """Two options of which one went before the other came, with a release between them that has neither.

    OpenRLHF renamed its flags all at once, so that there nothing can lie between.
    """
    from grpo_lint.frameworks import tables

    table = program.dialect.tables[0][0]
    if program.release(table) is not None:
        return
    uses = [use for use in program.uses if use.table == table and not use.entry.get("more", {}).get("no_cli")]
    if len(uses) < 2 or any(use.kind is None for use in program.uses):
        return
    old = min(uses, key=lambda use: int(use.entry["spells"][-1][1]))
    new = max(uses, key=lambda use: int(use.entry["spells"][0][0]))
    until, since = old.entry["spells"][-1][1], new.entry["spells"][0][0]
    if since - until < (1 if program.run.framework == "openrlhf" else 2):
        return
    releases = tables.table(table).releases
    message = f"no release of {table.replace('_', '-')} has both {old.shown} (up to {releases[until]})"
    message += f" and {new.shown} (since {releases[since]})"
    instead = _instead(program, old)
    fix = _fix(program, old, instead, safe=False)
    yield Finding(message, old.span, "", ((new.span, "since a later release"),), _help(instead), fix)


def _of_deepspeed(run: RunConfig) -> Iterator[Finding]:
    from grpo_lint.frameworks import tables
    from grpo_lint.frameworks.deepspeed_keys import strict_since, written

    version = run.versions["deepspeed"].text
    table = tables.table("deepspeed")
    refused = table.more.get("refused_keys", ()) if run.before("deepspeed", table.releases[-1]) is False else ()
    told = set[str]()
    for key in written(run):
        part = next((part for part in refused if key.path == part or key.path.startswith(f"{part}.")), "")
        message = f"deepspeed {version} refuses {part}: it was removed" if part else ""
        since = strict_since(key.path)
        if not part and since is not None and (not since or run.before("deepspeed", since) is False):
            name = _absent_part(table, key.path, version) if key.data != "auto" else ""
            part = name and ".".join(key.path.split(".")[: name.count(".") + 1])
            message = f"deepspeed {version} refuses {part}: {_history(table, name)}" if name else ""
        if message and part not in told:
            told.add(part)
            yield Finding(message, key.place(part), "not in this release")


def _absent_part(table: Table, path: str, version: str) -> str:
    """The present name of the shortest part of a key's path that a release doesn't have; "" if it has all of it."""
    from grpo_lint.frameworks.deepspeed_keys import entry

    parts = path.split(".")
    for count in range(2, len(parts) + 1):
        found = entry(".".join(parts[:count]))
        if found is not None and table.presence(found[0], version) is False:
            return found[0]
    return ""


RULES = (option_of_another_release,)
