"""DO11: limits on open files."""

from __future__ import annotations

from grpo_lint.diagnostics import NOTE, WARNING
from grpo_lint.rules.avoidance.zero import named, release_of
from grpo_lint.rules.rule import Finding, Rule, rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.runconfig import RunConfig
    from grpo_lint.unified import Setting

OPEN_FILES = "ulimit -n"
"""Under this name a run's environment holds what its script sets with `ulimit -n N` (or `-Hn N`): the hard limit."""


def open_files(run: RunConfig) -> Setting:
    """The hard limit on open files that a launch sets, as a number; "unlimited" stays a word."""
    limit = run.environment(OPEN_FILES)
    return limit.map(lambda text: int(text) if str(text).isascii() and str(text).isdigit() else text)


WARNED_BY_RAY = 4096
CUSTOMARY = 32768


@rule(
    "DO11",
    "nofile-65535",
    severity=WARNING,
    evidence="conditional",
    topics=("limits", "offload"),
    mentions=(OPEN_FILES, "offload_optimizer", "offload_param"),
)
def nofile_65535(run: RunConfig) -> Iterator[Finding]:
    """A launch needs many open files, and a script's own `ulimit -n` can take them away.

    ## What it does
    Warns of a script that sets `ulimit -n` below 4096 before it launches training, and notes one below 32768. Warns of
    NVMe offload with DeepSpeed from 0.17.1 to 0.19.2.

    ## Why it matters
    `ulimit -n N` sets the hard limit, too. Ray raises its own limit as far as the hard limit allows, up to 65536, so a
    low one undoes that; below 4096 Ray warns of connection errors and asks for 8192. DeepSpeed's asynchronous I/O
    opened a file for each transfer and did not close it before 0.19.3: NVMe offload runs out of descriptors in time,
    whatever the limit is.

    ## Example
    ```bash
    ulimit -n 1024
    python3 -m verl.trainer.main_ppo trainer.n_gpus_per_node=8
    ```

    ## Use instead
    ```bash
    ulimit -n 65535
    python3 -m verl.trainer.main_ppo trainer.n_gpus_per_node=8
    ```

    ## When it does not apply
    To a script that sets no limit: the machine's own is not looked at. To `ulimit -Sn`, which Ray raises again.

    ## Sources
    Read in ray 2.60.0 (_private/worker.py), deepspeed 0.14.2, 0.16.9, 0.17.0, 0.17.1, 0.19.2 and 0.19.3
    (csrc/aio/py_lib/deepspeed_py_io_handle.cpp `wait`). deepspeedai/DeepSpeed#8075 (fixed in 0.19.3). No source was
    found in which NCCL asks for 65535; it is what public launch scripts set, with 32768. Keys:
    `zero_optimization.offload_optimizer.device`, `zero_optimization.offload_param.device` (none).
    """
    limit = open_files(run)
    if limit.known and type(limit.value) is int and limit.value < CUSTOMARY:
        low = limit.value < WARNED_BY_RAY
        yield Finding(
            f"ulimit -n {limit.value} lowers the hard limit on open files, too, "
            + ("and workers can fail to connect" if low else f"below the {CUSTOMARY} or more that launch scripts set"),
            limit,
            help="set it to 65535, or remove it",
            severity=WARNING if low else NOTE,
        )
    if run.before("deepspeed", "0.19.3") is True and run.before("deepspeed", "0.17.1") is False:
        for device in (run.offload_optimizer, run.offload_param):
            if device.known and device.value == "nvme":
                release = release_of(run, "deepspeed", "DeepSpeed before 0.19.3")
                yield Finding(
                    f"{named(device, 'offload device')}=nvme leaks a file descriptor for each transfer with {release}, "
                    "and the run ends with too many open files (DeepSpeed #8075)",
                    device,
                    help="use DeepSpeed 0.19.3 or later",
                )
                return


RULES: tuple[Rule, ...] = (nofile_65535,)
