"""Scripts by which bash, zsh and fish complete the command's words: `eval "$(grpo-lint --completion bash)"`."""

from __future__ import annotations

from grpo_lint.arguments import COMMANDS, parser
from grpo_lint.reporters import FORMATS
from grpo_lint.rules import RULES
from grpo_lint.settings_file import profile_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Action
    from collections.abc import Iterator


class Flag:
    """An option of the command line: the words that may follow it, or "files"; None for one that takes no value."""

    __slots__ = ("help", "names", "values")

    def __init__(self, names: list[str], help: str, values: list[str] | str | None) -> None:
        self.names = names
        self.help = help
        self.values = values


def script(shell: str) -> str:
    """The completion script of "bash", "zsh" or "fish"."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]()


def flags(command: str) -> Iterator[Flag]:
    """The options of a command, as its parser has them."""
    rules = [name for rule in RULES for name in (rule.id, rule.name)]
    known: dict[str, list[str] | str] = {
        **dict.fromkeys(("--select", "--ignore", "--enforce"), rules),
        **dict.fromkeys(("--settings", "--baseline", "--write-baseline", "--diff-file", "--stdin-filename"), "files"),
        **dict.fromkeys(("--log", "--config-file"), "files"),
        "--output": list(FORMATS),
        "--profile": profile_names(),
    }
    for action in parser(command)._actions:
        names = list(action.option_strings)
        if names:
            words: list[str] | str | None = known.get(names[0], [str(choice) for choice in action.choices or ()])
            help = "show this help" if "--help" in names else str(action.help).replace("\n", " ")
            yield Flag(names, help, None if action.nargs == 0 else words)


def _positional(command: str) -> list[str] | str:
    """The words that may stand in a command's place for arguments, or "files"."""
    if command == "explain":
        return [name for rule in RULES for name in (rule.id, rule.name)]
    choices = [str(word) for action in _arguments(command) for word in action.choices or ()]
    return choices or "files" if _arguments(command) else []


def _takes_files(command: str) -> bool:
    """Whether paths may stand among a command's arguments."""
    return any(action.dest == "paths" for action in _arguments(command))


def _arguments(command: str) -> list[Action]:
    return [action for action in parser(command)._actions if not action.option_strings]


def _bash() -> str:
    lines = [
        "_grpo_lint() {",
        '    local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}"',
        '    local command="${COMP_WORDS[1]}" words=""',
        "    COMPREPLY=()",
        '    if [[ $current == "=" ]]; then current=""',
        '    elif [[ $previous == "=" ]]; then previous="${COMP_WORDS[COMP_CWORD-2]}"; fi',
        '    case "$command" in',
        f"        {'|'.join(COMMANDS)}) ;;",
        "        *) command=check ;;",
        "    esac",
        '    case "$command $previous" in',
    ]
    for command in COMMANDS:
        for flag in flags(command):
            if flag.values is not None:
                pattern = "|".join(f'"{command} {name}"' for name in flag.names)
                lines.append(f"        {pattern}) {_bash_words(flag.values)}; return ;;")
    lines += ["    esac", "    if [[ $current == -* ]]; then", '        case "$command" in']
    for command in COMMANDS:
        names = " ".join(name for flag in flags(command) for name in flag.names)
        lines.append(f"            {command}) words='{names}' ;;")
    lines += [
        "        esac",
        '        COMPREPLY=($(compgen -W "$words" -- "$current"))',
        "    elif [[ $COMP_CWORD == 1 ]]; then",
        f'        COMPREPLY=($(compgen -W \'{" ".join(COMMANDS)}\' -- "$current") $(compgen -f -- "$current"))',
        '    else case "$command" in',
        *(f"        {command}) {_bash_arguments(command)} ;;" for command in COMMANDS),
        "    esac; fi",
        "}",
        "complete -o filenames -F _grpo_lint grpo-lint",
    ]
    return "\n".join(lines) + "\n"


def _bash_arguments(command: str) -> str:
    words = _bash_words(_positional(command))
    if isinstance(_positional(command), list) and _takes_files(command):
        return words.removesuffix(")") + ' $(compgen -f -- "$current"))'
    return words


def _bash_words(values: list[str] | str) -> str:
    if isinstance(values, str):
        return 'COMPREPLY=($(compgen -f -- "$current"))'
    return f"COMPREPLY=($(compgen -W '{' '.join(values)}' -- \"$current\"))" if values else ":"


def _zsh() -> str:
    lines = ["#compdef grpo-lint", "_grpo_lint() {", "    local command=check", "    case $words[2] in"]
    lines += [f"        {'|'.join(COMMANDS)}) command=$words[2]; shift words; (( CURRENT-- )) ;;", "    esac"]
    lines += ["    case $command in"]
    for command in COMMANDS:
        lines.append(f"        {command}) _arguments \\")
        for flag in flags(command):
            for name in flag.names:
                value = "" if flag.values is None else ":value:" + _zsh_words(flag.values)
                lines.append(f"            {_zsh_quoted(f'*{name}[{_zsh_text(flag.help)}]{value}')} \\")
        lines.append(f"            {_zsh_quoted(f'*:argument:{_zsh_arguments(command)}')} ;;")
    lines += ["    esac", "}", "compdef _grpo_lint grpo-lint"]
    return "\n".join(lines) + "\n"


def _zsh_arguments(command: str) -> str:
    words = _positional(command)
    if isinstance(words, list) and _takes_files(command):
        return f"{{compadd {' '.join(words)}; _files}}"
    return _zsh_words(words)


def _zsh_words(values: list[str] | str) -> str:
    return "_files" if isinstance(values, str) else f"({' '.join(values)})" if values else " "


def _zsh_text(text: str) -> str:
    return text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")


def _zsh_quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _fish() -> str:
    lines = [f"complete -c grpo-lint -n __fish_use_subcommand -a '{' '.join(COMMANDS)}'"]
    for command in COMMANDS:
        others = " ".join(other for other in COMMANDS if other != command)
        used = f"__fish_seen_subcommand_from {command}" if command != "check" else ""
        condition = used or f"not __fish_seen_subcommand_from {others}"
        for flag in flags(command):
            names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names)
            values = ""
            if isinstance(flag.values, list):
                values = f" -x -a {_fish_quoted(' '.join(flag.values))}" if flag.values else " -x"
            elif flag.values is not None:
                values = " -r -F"
            lines.append(f"complete -c grpo-lint -n '{condition}' {names}{values} -d {_fish_quoted(flag.help)}")
        words = _positional(command)
        if isinstance(words, list):
            alone = "" if _takes_files(command) else " -f"
            lines.append(f"complete -c grpo-lint -n '{condition}'{alone} -a {_fish_quoted(' '.join(words))}")
    return "\n".join(lines) + "\n"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
