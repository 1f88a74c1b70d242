"""INV702, INV703: what the environment, a scheduler and a manifest give, against what a launch asks for."""

from __future__ import annotations

from grpo_lint.diagnostics import ERROR, NOTE
from grpo_lint.frameworks import verl
from grpo_lint.rules.invariants.launchers import VISIBLE, allocated, visible_gpus, wanted_gpus
from grpo_lint.rules.invariants.relation import Operands, before, environment, option, relation, relations
from grpo_lint.unified import UNSET

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Finding, Rule
    from grpo_lint.runconfig import RunConfig
    from grpo_lint.unified import Setting

ALLOC = "PYTORCH_CUDA_ALLOC_CONF"
FIXED = "0.20.1"
"""The vLLM that switches expandable segments off by itself while its pool is in use."""


def _sleeps(run: RunConfig) -> Setting | None:
    """The setting by which a vLLM in the run is put to sleep; None where none is, or where that isn't known."""
    if run.framework == verl.NAME:
        if run.rollout_engine.value != "vllm" or run.async_rollout.value is not False:
            return None
        switches = (f"{verl.ROLLOUT}.free_cache_engine", f"{verl.ROLLOUT}.enable_sleep_mode")
        found = [option(run, verl.NAME, key) for key in switches]
        if any(setting.value is False or not setting.decided for setting in found):
            return None
        return run.rollout_engine
    names = {
        # framework: (its switch, what has to be set besides)
        "trl": ("--vllm_enable_sleep_mode", ("--use_vllm",)),
        "openrlhf": ("--vllm.enable_sleep", ("--train.colocate_all",)),
        "vllm": ("--enable-sleep-mode", ()),
    }
    switch, others = names[run.framework]
    if run.framework == "openrlhf":
        from grpo_lint.frameworks.openrlhf import spelled

        switch, others = spelled(run, switch), tuple(spelled(run, name) for name in others)
    setting = run.option(run.framework, switch)
    on = setting.known and setting.value not in (False, None, 0)
    return setting if on and all(run.option(run.framework, other).value is True for other in others) else None


@relation(
    "INV702", "expandable-segments-with-sleep", "verl",
    alloc=environment(ALLOC),
    also=("trl", "openrlhf", "vllm"),
    mentions=("PYTORCH_CUDA_ALLOC_CONF",),
    topics=("memory", "rollout"),
    bad="$ PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True vllm serve Qwen/Qwen3-8B --enable-sleep-mode",
    good="$ PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:512 vllm serve Qwen/Qwen3-8B --enable-sleep-mode",
    target="vllm=0.20.0",
    unless=f"vLLM {FIXED} and newer switch it off by themselves while they need to; what runs inside an existing Ray "
    "cluster has the environment of that cluster. ms-swift switches it off itself (3.9.3 to 4.6.0, "
    "`set_expandable_segments`).",
    source="vLLM 0.8.5 to 0.20.0, `device_allocator/cumem.py`: \"Expandable segments are not compatible with memory "
    f"pool\"; {FIXED} to 0.21.0: switched off for the pool. OpenRLHF/OpenRLHF#1011, vllm-project/vllm#40812.",
)  # fmt: skip
def expandable(o: Operands) -> Iterator[Finding]:
    """vLLM sleeps by a memory pool of its own, which does not work over expandable segments.

    Up to vLLM 0.20.0 the engine asserts that `PYTORCH_CUDA_ALLOC_CONF` doesn't ask for them, once the model is loaded.
    """
    if "expandable_segments:True" not in str(o.alloc).replace(" ", "") or o.run.command[0].text == "ray":
        return
    sleeping, old = _sleeps(o.run), before(o.run, "vllm", FIXED)
    if sleeping is None or old is False:
        return
    o.put("sleeping", sleeping, sleeping.value)
    yield o.fault(
        "alloc",
        f"{ALLOC} has expandable_segments:True, and the engine sleeps: "
        + ("vLLM before 0.20.1 asserts against it" if old else "vLLM up to 0.20.0 refuses to start"),
        "sleeping",
        help="remove it, or take vLLM 0.20.1 or newer",
        severity=ERROR if old else NOTE,
    )


@relation(
    "INV703", "more-gpus-than-there-are", "verl",
    devices=environment("CUDA_VISIBLE_DEVICES"),
    also=("trl", "transformers", "ms_swift", "llama_factory", "megatron", "slime", "deepspeed", "openrlhf", "easyr1"),
    topics=("parallel",),
    mentions=(*VISIBLE, "resources.limits", "#SBATCH", "--num-gpus"),
    bad="$ CUDA_VISIBLE_DEVICES=0,1,2,3 torchrun --nproc_per_node 8 grpo.py --model_name_or_path Qwen/Qwen2.5-1.5B"
    " --output_dir out --learning_rate 1e-6 --per_device_train_batch_size 8 --num_generations 8",
    good="$ CUDA_VISIBLE_DEVICES=0,1,2,3 torchrun --nproc_per_node 4 grpo.py --model_name_or_path Qwen/Qwen2.5-1.5B"
    " --output_dir out --learning_rate 1e-6 --per_device_train_batch_size 8 --num_generations 8",
    unless="What runs inside an existing Ray cluster has the GPUs of that cluster.",
    source="torch: each local rank takes the GPU of its number; verl 0.2 to 0.9.1, `single_controller/ray/base.py`: "
    '"Total available GPUs ... is less than total desired GPUs". Slurm\'s `--gres` and `--gpus-per-node`, '
    "Kubernetes' `nvidia.com/gpu`, `ray start --num-gpus`.",
)  # fmt: skip
def too_many(o: Operands) -> Iterator[Finding]:
    """A launch can't use more GPUs of a node than the environment, the scheduler or the manifest gives it.

    A copied launcher line asks for 8 GPUs, and the job gets 4: the first process whose number has no GPU ends the run,
    or Ray waits for GPUs that never come.
    """
    wanted = wanted_gpus(o.run)
    if not wanted.known or type(wanted.value) is not int:
        return
    shown, given = visible_gpus(o.run), allocated(o.run)
    if o.run.framework == verl.NAME and option(o.run, verl.NAME, "trainer.nnodes").value != 1:
        shown = UNSET  # the other nodes' environment is their own
    for setting, what in ((shown, "CUDA_VISIBLE_DEVICES shows"), (given, "the job is given")):
        if setting.known and type(setting.value) is int and 0 < setting.value < wanted.value:
            o.put("wanted", wanted, wanted.value)
            o.put("given", setting, setting.value)
            yield o.fault(
                "wanted",
                f"{o('wanted')} GPUs of a node, and {what} {setting.value}",
                "given",
                help=f"ask for {setting.value}, or give {wanted.value}",
            )
            return


RULES: tuple[Rule, ...] = tuple(relations(globals()))
