"""From the words of a command to the program that they start.

What only starts the program (`nohup`, `srun`, `torchrun`, `ray job submit ... --`) is peeled off; its own flags are
kept for the run, since they say how many processes and nodes there are.
"""

from __future__ import annotations

from grpo_lint.located import DYNAMIC, Piece, Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpo_lint.located import Value
    from grpo_lint.source import Span


class Flag:
    """An option as a command line gives it: `name` with its dashes, and the word of its value (None for a switch)."""

    __slots__ = ("name", "span", "value")

    def __init__(self, name: str, span: Span, value: Word | None) -> None:
        self.name = name
        self.span = span
        self.value = value

    def __repr__(self) -> str:
        return f"Flag({self.name}, {self.value!r})"


class Wrapper:
    """A launcher that was peeled off: its name ("torchrun", "accelerate", "deepspeed", ...) and its flags."""

    __slots__ = ("flags", "name")

    def __init__(self, name: str, flags: tuple[Flag, ...]) -> None:
        self.name = name
        self.flags = flags


class Launch:
    """A program with its arguments.

    `program` is the module (`verl.trainer.main_ppo`) or the path that is run, `is_module` which of the two; `word` the
    word that names it. `argv` is the whole command as written, wrappers included; `args` what the program gets; `gpus`
    what the container around it asks for, and how many that comes to. `open_ended` says that the script's caller may
    add arguments, `cut_short` that the script's author meant more to follow.
    """

    __slots__ = (
        "args",
        "argv",
        "cut_short",
        "env",
        "gpus",
        "is_module",
        "open_ended",
        "program",
        "when",
        "word",
        "wrappers",
    )

    def __init__(
        self,
        argv: Sequence[Word],
        program: str,
        word: Word,
        is_module: bool,
        args: Sequence[Word],
        wrappers: Sequence[Wrapper],
        env: dict[str, Word],
    ) -> None:
        self.argv = tuple(argv)
        self.program = program
        self.word = word
        self.is_module = is_module
        self.args = tuple(args)
        self.wrappers = tuple(wrappers)
        self.env = env
        self.when: tuple[str, ...] = ()
        self.open_ended = False
        self.cut_short = False
        self.gpus: tuple[Value, object] | None = None

    def __repr__(self) -> str:
        return f"Launch({self.program!r}, {len(self.args)} args)"


SWITCHES: dict[str, frozenset[str]] = {
    name: frozenset(flags.split())
    for name, flags in {
        "torchrun": "--standalone --no_python --run_path -m --module --use_env",
        "deepspeed": "--no_python --module --no_local_rank --force_multi --save_pid --no_ssh_check --no_ssh --quiet"
        " --bind_cores_to_rank --elastic_training",
        "accelerate": "-q --quiet --cpu --multi_gpu --tpu --use_deepspeed --use_fsdp --use_megatron_lm --debug -m"
        " --module --no_python --same_network --downcast_bf16 --dynamo_use_fullgraph --dynamo_use_dynamic"
        " --tpu_use_sudo --dynamo_use_regional_compilation --tpu_cluster --no_tpu_cluster --enable_cpu_affinity"
        " --use_parallelism_config --fp8_use_autocast_during_eval",
        "ray": "--no-wait --verbose -v --delete-cluster",
        "srun": "-l --label -u --unbuffered --exclusive -v --verbose -Q --quiet --overlap --container-mount-home"
        " --no-container-mount-home --container-remap-root --container-writable -O --overcommit -K --kill-on-bad-exit"
        " -X --disable-status --pty -s -E -Z --no-allocate -H --hold -I --immediate -k --no-kill",
        "uv": "--frozen --locked --all-packages --all-extras --no-sync --isolated --active --exact --no-dev --dev -s -n"
        " --only-dev --no-project --no-config -v -q --verbose --quiet --all-groups --no-editable --inexact --offline"
        " --no-env-file --managed-python --no-cache --refresh -U --upgrade --native-tls --script --no-progress",
        "conda": "--no-capture-output --live-stream -v --debug-wrapper-scripts",
        "coverage": "-a --append -p --parallel-mode --branch -m --module --timid -L --pylib",
        "env": "-i --ignore-environment -0 --null -v --debug",
        "sudo": "-E --preserve-env -n -H -S -k -b",
        "timeout": "--preserve-status --foreground -v --verbose",
        "plain": "-p -a --line-buffered",
    }.items()
}
"""The flags that take no value; every other flag of the same launcher takes one. Read from torch 2.13 (run.py),
deepspeed 0.19.8 (launcher/runner.py), accelerate 1.15.0 (commands/launch.py), and the manuals of ray, uv and slurm."""

UNDERSCORED = frozenset(("torchrun", "accelerate"))
"""Launchers that accept `-` for `_` in their flags; flags are kept in the form with `_`."""

PLAIN = frozenset(("nohup", "time", "exec", "command", "setsid", "stdbuf", "nice", "ionice", "xvfb-run", "unbuffer"))
"""Commands that run the words after their own flags, as they stand."""

SCRIPT_RUNNERS = frozenset(("uv", "coverage"))
"""Launchers that run a Python file as they find it."""

ONE_ARGUMENT = frozenset(("timeout",))

PROGRAMS = frozenset(("trl", "swift", "megatron", "vllm", "sglang", "llamafactory-cli", "lmf", "axolotl", "rl"))
"""Commands that packages of ours install; `python -m` and these names start the same code. (ms-swift 4.6 brings swift
and megatron, vllm 0.33 vllm, sglang 0.5.23 sglang, trl 1.16 trl, prime-rl rl.)"""


def find(argv: Sequence[Word], env: dict[str, Word] | None = None) -> Launch | None:
    """The Python program, or the installed command of ours, that a command starts; None when it starts neither."""
    env = dict(env or {})
    words, wrappers = list(argv), list[Wrapper]()
    for _ in range(24):  # a command is wrapped a few times at the most
        if not words or _nameless(words[0]):
            return None
        name = words[0].text.rsplit("/", 1)[-1]
        if _is_python(name):
            return _python(argv, words, wrappers, env)
        if name.endswith(".py") and wrappers and wrappers[-1].name in SCRIPT_RUNNERS:
            is_module = any(flag.name == "-m" for flag in wrappers[-1].flags)
            return Launch(argv, words[0].text, words[0], is_module, words[1:], wrappers, env)
        if name in PROGRAMS:
            return Launch(argv, name, words[0], False, words[1:], wrappers, env)
        peeled = _peel(name, words, env)
        if peeled is None:
            return None
        wrapper, words = peeled
        wrappers.append(wrapper)
        if wrapper.name in ("torchrun", "accelerate", "deepspeed"):
            return _launched(argv, words, wrapper, wrappers, env)
    return None


def peeled(argv: Sequence[Word], env: dict[str, Word]) -> tuple[list[Word], list[Wrapper]]:
    """The words of a command without what only starts it, and what was taken off; `env` gains its assignments."""
    words, wrappers = list(argv), list[Wrapper]()
    for _ in range(24):
        step = None if not words or _nameless(words[0]) else _peel(words[0].text.rsplit("/", 1)[-1], words, env)
        if step is None:
            break
        wrappers.append(step[0])
        words = step[1]
    return words, wrappers


def _nameless(word: Word) -> bool:
    """Whether a program's own name isn't known; its folder need not be."""
    return DYNAMIC in word.text.rsplit("/", 1)[-1]


def _is_python(name: str) -> bool:
    return name in ("python", "pypy3") or (name.startswith("python") and name[6:].replace(".", "").isdigit())


def _peel(name: str, words: list[Word], env: dict[str, Word]) -> tuple[Wrapper, list[Word]] | None:
    """A wrapper and the words after it; None when the first word is no wrapper that we know."""
    rest = words[1:]
    second = rest[0].text if rest else ""
    if name in PLAIN:
        flags, rest = take_flags(rest, "plain")
    elif name in ("torchrun", "deepspeed", "srun", "sudo", "timeout"):
        flags, rest = take_flags(rest, name)
        rest = rest[1:] if name in ONE_ARGUMENT else rest
    elif name == "accelerate" and second == "launch":
        flags, rest = take_flags(rest[1:], "accelerate")
    elif name in ("uv", "conda", "mamba", "micromamba", "poetry", "pixi", "pdm", "hatch"):
        runner = "uv" if name == "uv" else "conda"
        before, rest = take_flags(rest, runner)
        if not rest or rest[0].text != "run":
            return None
        flags, rest = take_flags(rest[1:], runner)
        flags = [*before, *flags]
    elif name == "coverage" and second == "run":
        flags, rest = take_flags(rest[1:], "coverage")
    elif name == "env":
        flags, rest = take_flags(rest, "env")
        rest = _assignments(rest, env)
    elif name == "ray" and second == "job" and len(rest) > 1 and rest[1].text == "submit":
        flags, rest = take_flags(rest[2:], "ray")
    else:
        return None
    return Wrapper(name, tuple(flags)), rest


def _assignments(words: list[Word], env: dict[str, Word]) -> list[Word]:
    """Move the leading NAME=value words into `env`."""
    while words:
        name, equals, _ = words[0].text.partition("=")
        if not equals or not name.isidentifier():
            break
        env[name] = words[0].cut(len(name) + 1)
        words = words[1:]
    return words


def take_flags(words: Sequence[Word], launcher: str) -> tuple[list[Flag], list[Word]]:
    """The leading flags of a launcher's arguments and the words after them; `--` ends the flags."""
    switches, underscored = SWITCHES[launcher], launcher in UNDERSCORED
    flags, at = list[Flag](), 0
    while at < len(words):
        word = words[at]
        text = word.text
        if text == "--":
            return flags, list(words[at + 1 :])
        if not text.startswith("-") or text == "-":
            break
        at += 1
        name, equals, _ = text.partition("=")
        key = "--" + name[2:].replace("-", "_") if underscored and name.startswith("--") else name
        if equals:
            flags.append(Flag(key, word.span, word.cut(len(name) + 1)))
        elif key in switches or at >= len(words):
            flags.append(Flag(key, word.span, None))
        else:
            flags.append(Flag(key, word.span, words[at]))
            at += 1
    return flags, list(words[at:])


def _python(argv: Sequence[Word], words: list[Word], wrappers: list[Wrapper], env: dict[str, Word]) -> Launch | None:
    at = 1
    while at < len(words) and words[at].text.startswith("-"):
        text = words[at].text
        if text == "-m" and at + 1 < len(words):
            return _module(argv, words[at + 1 :], wrappers, env)
        if text.startswith("-m") and len(text) > 2:
            return None
        if text in ("-c", "-", "--version", "-V", "-h", "--help"):
            return None
        at += 2 if text in ("-W", "-X") else 1
    if at >= len(words) or _nameless(words[at]):
        return None
    return Launch(argv, words[at].text, words[at], False, words[at + 1 :], wrappers, env)


def _module(argv: Sequence[Word], words: list[Word], wrappers: list[Wrapper], env: dict[str, Word]) -> Launch | None:
    """`python -m words...`: launchers that are run as modules are wrappers, too."""
    module = words[0].text
    name = {
        "torch.distributed.run": "torchrun",
        "torch.distributed.launch": "torchrun",
        "accelerate.commands.launch": "accelerate",
        "deepspeed.launcher.runner": "deepspeed",
    }.get(module)
    if name is None:
        return None if words[0].dynamic else Launch(argv, module, words[0], True, words[1:], wrappers, env)
    flags, rest = take_flags(words[1:], name)
    wrapper = Wrapper(name, tuple(flags))
    return _launched(argv, rest, wrapper, [*wrappers, wrapper], env)


def _launched(
    argv: Sequence[Word], words: list[Word], wrapper: Wrapper, wrappers: list[Wrapper], env: dict[str, Word]
) -> Launch | None:
    """The script or module that a distributed launcher runs."""
    if not words or _nameless(words[0]):
        return None
    is_module = any(flag.name in ("-m", "--module") for flag in wrapper.flags)
    if _is_python(words[0].text.rsplit("/", 1)[-1]):  # torchrun --no-python python ...
        return _python(argv, words, wrappers, env)
    return Launch(argv, words[0].text, words[0], is_module, words[1:], wrappers, env)


def literal(text: str, span: Span) -> Word:
    """A word that stands as such in a document, such as an item of a list of arguments."""
    return Word((Piece(text, span),), span)


def arguments(words: Sequence[Word]) -> dict[str, Flag]:
    """A program's own `--name value`, `--name=value` and `--name` arguments by name; the last of each counts.

    A word after a flag is its value unless it looks like a flag itself, as argparse reads it.
    """
    found: dict[str, Flag] = {}
    at = 0
    while at < len(words):
        word = words[at]
        text = word.text
        at += 1
        if not text.startswith("--") or text == "--":
            continue
        name, equals, _ = text.partition("=")
        if equals:
            found[name] = Flag(name, word.span, word.cut(len(name) + 1))
        elif at < len(words) and not _looks_like_flag(words[at].text):
            found[name] = Flag(name, word.span, words[at])
            at += 1
        else:
            found[name] = Flag(name, word.span, None)
    return found


def _looks_like_flag(text: str) -> bool:
    return text.startswith("-") and len(text) > 1 and not text[1].isdigit() and text[1] != "."
