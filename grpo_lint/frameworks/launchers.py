"""How many processes and nodes a launch comes to: from the launcher's flags, its host file, Slurm's directives.

Read: deepspeed 0.19.8 (launcher/runner.py), torch 2.13 (distributed/run.py), accelerate 1.15.0 (commands/launch.py),
and the manuals of sbatch and srun 25.05. What only the machine tells (`--nproc_per_node gpu`) is not known.
"""

from __future__ import annotations

import re

from grpo_lint.located import Piece, Word
from grpo_lint.patterns import lazy
from grpo_lint.source import Span
from grpo_lint.unified import UNSET, Origin, Setting, derived, undecided, unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from grpo_lint.discover import Repository
    from grpo_lint.runconfig import Options, RunConfig
    from grpo_lint.source import SourceFile

SLURM, SRUN, DEEPSPEED, TORCHRUN = "slurm", "srun", "deepspeed", "torchrun"

_DIRECTIVE = lazy(r"(?m)^#SBATCH[ \t]+(-[A-Za-z]|--[\w-]+)(?:[ \t]*=?[ \t]*([^\s#]+))?")
_HOST = lazy(r"(\S+)\s+slots=(\d+)")
_COUNT = re.compile(r"\d{1,6}")
SHORT = {"-N": "--nodes", "-n": "--ntasks", "-G": "--gpus"}
SIZES = frozenset(
    ("--nodes", "--ntasks", "--ntasks-per-node", "--gres", "--gpus-per-node", "--gpus", "--gpus-per-task")
)
VARIABLES = {
    "SLURM_NNODES": "--nodes",
    "SLURM_JOB_NUM_NODES": "--nodes",
    "SLURM_NTASKS": "--ntasks",
    "SLURM_NTASKS_PER_NODE": "--ntasks-per-node",
    "SLURM_GPUS_PER_NODE": "--gpus-per-node",
}
"""What Slurm sets in the job's environment, by the request that it repeats."""
NOTE = "unless sbatch is told otherwise"


class Request:
    """What a script asks Slurm for, by the long names of sbatch's options, each with its place."""

    __slots__ = ("given",)

    def __init__(self, source: SourceFile) -> None:
        self.given: dict[str, Span] = {}
        for match in _DIRECTIVE.finditer(source.text):
            name = SHORT.get(match[1], match[1])
            if name in SIZES and match[2]:
                self.given[name] = Span(source, match.start(2), match.end(2))

    def variables(self) -> dict[str, Word]:
        """What the job's environment says of it."""
        found = {}
        for variable, name in VARIABLES.items():
            span = self.given.get(name)
            if span is not None and _COUNT.fullmatch(span.text):
                found[variable] = Word((Piece(span.text, span, (), "", NOTE),), span)
        return found

    def put(self, options: Options) -> None:
        for name, span in self.given.items():
            text = span.text
            data: object = int(text) if _COUNT.fullmatch(text) else text
            options.put(SLURM, name, Setting("known", data, (Origin("file", span, (), NOTE, name, data),)))


def resolve_deepspeed(run: RunConfig, folder: str, repository: Repository) -> None:
    """Work out `--num_gpus` and `--num_nodes` from `--include`, `--exclude`, the host file and the visible devices."""
    named = run.option(DEEPSPEED, "--hostfile")
    hosts = _hosts(named, folder, repository)
    include = _filter(run, ("--include", "-i"))
    if include.unset and _filter(run, ("--exclude", "-e")).unset:
        gpus, nodes = (run.option(DEEPSPEED, name) for name in ("--num_gpus", "--num_nodes"))
        visible = run.environment("CUDA_VISIBLE_DEVICES")
        if gpus.unset and nodes.unset and named.unset and visible.known and str(visible.value):
            _put(run, "--num_gpus", len(str(visible.value).split(",")), visible, "the visible devices")
        slots = set(hosts.values())
        if gpus.unset and len(slots) == 1:
            _put(run, "--num_gpus", slots.pop(), named, "slots of the host file")
        if nodes.unset and hosts:
            _put(run, "--num_nodes", len(hosts), named, "hosts of the host file")
        return
    if include.known:
        chosen: dict[str, int] = {}
        for part in str(include.value).split("@"):
            host, colon, ids = part.partition(":")
            chosen[host] = len(set(ids.split(","))) if colon else hosts.get(host, 0)
        _put(run, "--num_nodes", len(chosen), include, "the hosts that it includes")
        if len(set(chosen.values())) == 1 and 0 not in chosen.values():
            _put(run, "--num_gpus", next(iter(chosen.values())), include, "the devices that it includes")


def _filter(run: RunConfig, names: Iterable[str]) -> Setting:
    return next((s for name in names if not (s := run.option(DEEPSPEED, name)).unset), UNSET)


def _hosts(named: Setting, folder: str, repository: Repository) -> dict[str, int]:
    """{host: its slots} of a host file of the repository; empty where it isn't there or can't be read."""
    path = repository.find(named.value, folder) if isinstance(named.value, str) else None
    source = repository.load(path) if path is not None else None
    found = {}
    for line in source.text.splitlines() if source is not None else ():
        match = _HOST.match(line.strip())
        if match is not None:
            found[match[1]] = int(match[2][:6])
    return found


def _put(run: RunConfig, name: str, value: int, source: Setting, note: str) -> None:
    run.options.put(DEEPSPEED, name, derived(value, source, note=note))


def shape(run: RunConfig) -> tuple[Setting, Setting]:
    """(processes on each node, nodes), as the launcher's flags say, or else what Slurm is asked for; UNSET where
    neither says. With accelerate the first is the number of all processes."""
    launchers = (
        (TORCHRUN, "--nproc_per_node", "--nnodes"),
        ("accelerate", "--num_processes", "--num_machines"),
        (DEEPSPEED, "--num_gpus", "--num_nodes"),
    )
    gpus, nodes = UNSET, UNSET
    for launcher, per_node, count in launchers:
        own = run.option(launcher, per_node)
        gpus = _visible(run, own) if launcher == TORCHRUN else own if not own.unset else gpus
        number = run.option(launcher, count)
        nodes = nodes if number.unset else _number(number, count)
        if not (own.unset and number.unset):
            break
    scheduled = _scheduled(run)
    return (gpus if not gpus.unset else scheduled[0]), (nodes if not nodes.unset else scheduled[1])


def _visible(run: RunConfig, own: Setting) -> Setting:
    """`--nproc_per_node gpu` is the number of visible devices."""
    if own.value not in ("gpu", "auto"):
        return own if own.unset else _number(own, "--nproc_per_node")
    visible = run.environment("CUDA_VISIBLE_DEVICES")
    if visible.known and str(visible.value):
        return derived(len(str(visible.value).split(",")), own, visible, note="the visible devices")
    return unknown("as many as the machine has GPUs", *own.chain)


def _number(setting: Setting, name: str) -> Setting:
    """A count; `1:4`, a range for elastic runs, is none."""
    if setting.known and type(setting.value) is not int:
        return unknown(f"{name} is {setting.value}", *setting.chain)
    return setting


def _scheduled(run: RunConfig) -> tuple[Setting, Setting]:
    """(GPUs or tasks on each node, nodes) of srun's flags and the script's directives."""
    options: dict[str, Setting] = {}
    for owner in (SLURM, SRUN):
        for key in run.options.keys(owner):
            name = SHORT.get(key, key)
            if name in SIZES:
                options[name] = run.option(owner, key)
    nodes = options.get("--nodes", UNSET)
    gpus = UNSET
    for name in ("--gpus-per-node", "--gres", "--ntasks-per-node"):
        if name in options and name != ("--ntasks-per-node" if run.option(TORCHRUN, "--nnodes").explicit else ""):
            gpus = _devices(options[name], name == "--gres")
        if not gpus.unset:
            break
    total = options.get("--gpus", UNSET)
    if gpus.unset and undecided(total, nodes) is None and not total.unset:
        each = _devices(total, False)
        count = nodes.value if type(nodes.value) is int and nodes.value > 0 else 1
        if type(each.value) is int and each.value % count == 0:
            gpus = derived(each.value // count, total, nodes, note="the job's GPUs / nodes")
    return gpus, (_number(nodes, "--nodes") if not nodes.unset else UNSET)


def _devices(setting: Setting, is_resource: bool) -> Setting:
    """`8`, `a100:8`, and of resources `gpu:8`, `gpu:a100:8` as a number; other resources are none."""
    if not setting.known or type(setting.value) is int:
        return setting
    for part in str(setting.value).split(","):
        fields = part.split("(")[0].split(":")
        if fields[0] in ("gpu", "npu") or not is_resource:
            count = fields[-1] if fields[-1].isdigit() else "1"
            return derived(int(count[:6]), setting, note="what Slurm is asked for")
    return UNSET
