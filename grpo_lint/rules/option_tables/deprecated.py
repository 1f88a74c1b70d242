"""Options that still work and are on their way out."""

from __future__ import annotations

from grpo_lint.diagnostics import NOTE, WARNING, Fix
from grpo_lint.rules.rule import Finding, rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.frameworks.deepspeed_keys import Key
    from grpo_lint.frameworks.programs import Program
    from grpo_lint.runconfig import RunConfig

DEEPSPEED = {
    "zero_optimization.cpu_offload": "zero_optimization.offload_optimizer",
    "zero_optimization.cpu_offload_param": "zero_optimization.offload_param",
    "zero_optimization.cpu_offload_use_pin_memory": "pin_memory in offload_optimizer or offload_param",
    "zero_optimization.stage3_gather_fp16_weights_on_model_save": (
        "zero_optimization.stage3_gather_16bit_weights_on_model_save"
    ),
}
"""Read in deepspeed 0.14.2 and 0.19.8 (runtime/zero/config.py: `"deprecated": True`)."""
OFFLOADS = ("zero_optimization.cpu_offload", "zero_optimization.cpu_offload_param")
RENAMED = ("zero_optimization.stage3_gather_fp16_weights_on_model_save",)
TRL = {
    "--use_transformers_paged": "--use_transformers_continuous_batching",
    "--vllm_importance_sampling_cap": "--vllm_importance_sampling_clip_max",
}
"""Read in TRL 1.16.0 (trainer/grpo_config.py, `__post_init__`)."""

READ = ("deepspeed", "sglang", "slime", "trl")


@rule("OPT13", "deprecated-option", severity=WARNING, evidence="solid", topics=("options", "releases"), frameworks=READ)
def deprecated_option(run: RunConfig) -> Iterator[Finding]:
    """An option that is accepted under protest, and has a successor.

    ## What it does
    Reports the deprecated keys of DeepSpeed's `zero_optimization`, and deprecated flags of `trl grpo` and
    `sglang.launch_server` at a release that deprecates them.

    ## Why it matters
    The program prints a warning that nobody reads, and a later release refuses the option. In DeepSpeed, the old key
    together with its successor is an error already.

    ## Example
    ```json
    {
      "train_batch_size": 64,
      "gradient_clipping": 1.0,
      "zero_optimization": {"stage": 2, "cpu_offload": true}
    }
    ```

    ## Use instead
    ```json
    {
      "train_batch_size": 64,
      "gradient_clipping": 1.0,
      "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}
    }
    ```

    ## Fix
    Safe: writes what the program makes of the old option, which means the same. Not where the new one is there, too,
    nor for what has no successor of the same kind.

    ## When it does not apply
    Releases before the one that deprecates the option; flags whose release isn't known.

    ## Sources
    deepspeed 0.19.8 (`runtime/zero/config.py`, `runtime/config_utils.py`), sglang 0.5.23
    (`srt/arg_groups/argparse_actions.py`), TRL 1.16.0 (`trainer/grpo_config.py`).
    """
    if any(True for _ in run.options.keys("deepspeed")):
        yield from _of_deepspeed(run)
    if run.command and run.framework in ("trl", "sglang", "slime"):
        from grpo_lint.frameworks.programs import program_of

        program = program_of(run)
        if program is not None:
            yield from _of_program(program)


def _of_deepspeed(run: RunConfig) -> Iterator[Finding]:
    from grpo_lint.frameworks.deepspeed_keys import written

    for key in written(run):
        new = DEEPSPEED.get(key.path)
        if new is not None:
            message = f"{key.path} is deprecated; deepspeed reads it as {new}"
            fix, severity = _present(run, key), WARNING if key.data else NOTE
            yield Finding(message, key.place(), "deprecated", (), f"write {new}", fix, severity)


def _present(run: RunConfig, key: Key) -> Fix | None:
    """Write what DeepSpeed makes of a deprecated key, where nothing else says so already; it means the same."""
    from grpo_lint.fixing.values import renamed

    new, value = DEEPSPEED[key.path], key.origin.span
    old, leaf = key.path.rpartition(".")[2], new.rpartition(".")[2]
    if key.path in RENAMED:
        return None if run.option("deepspeed", new).explicit else renamed(key.place(), old, leaf, safe=True)
    pinned = run.option("deepspeed", "zero_optimization.cpu_offload_use_pin_memory")
    section = [origin for _, setting in run.options.below("deepspeed", new) for origin in setting.chain]
    if key.path not in OFFLOADS or key.data is not True or pinned.explicit or value is None:
        return None
    name = renamed(key.place(), old, leaf, safe=True)
    if name is None or any(origin.span not in (None, value) for origin in section):
        return None
    device = '{"device": "cpu"}'
    return Fix(f"write {leaf}: {device}", (*name.edits, (value, device)), safe=True)


def _of_program(program: Program) -> Iterator[Finding]:
    """Flags that a release reads under protest; one that it doesn't have is another rule's."""
    from grpo_lint.frameworks import tables
    from grpo_lint.frameworks.programs import renames

    for use in program.uses:
        new, certain = TRL.get(use.name, ""), use.table == "trl"
        if not new and use.table == "sglang":
            new = str(use.entry.get("instead", ""))
            certain = str(use.entry.get("more", {}).get("action")).startswith("Deprecated")
        version = program.release(use.table) if certain and new else None
        if version is None:
            continue
        table = tables.table(use.table)
        last = use.entry["spells"][-1][1]
        now = tables.bracket(table.releases, version.text)[0]
        if now is None or now < last or table.presence(use.name, version.text) is not True:
            continue  # what the table says of it is what the last release that has it says
        message = f"{use.shown} is deprecated in {use.table} {version.text}"
        fix = None
        if new.startswith("--") and (use.table == "trl" or renames(use)) and table.presence(new, version.text):
            from grpo_lint.fixing.values import option_renamed

            there = any(new in (other.name, other.written) for other in program.uses)
            fix = None if there else option_renamed(use.span, new, safe=True)
        yield Finding(message, use.span, "deprecated", (), f"write {new}" if new.startswith("--") else "", fix)


RULES = (deprecated_option,)
