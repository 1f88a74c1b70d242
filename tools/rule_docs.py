"""Makes docs/rules/, docs/unified-config.md and docs/frameworks.md from the code. Examples are really run.

python tools/rule_docs.py            write the pages and their index
python tools/rule_docs.py --check    write nothing; exit with 1 when a page isn't what it would be
"""

from __future__ import annotations

import io
import os
import re
import shlex
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from grpo_lint.cli import main
from grpo_lint.explain import body, levels
from grpo_lint.rules import RULES
from grpo_lint.rules.rule import Rule
from grpo_lint.rules.strict import FORMS
from grpo_lint.unified import FIELDS

sys.path.insert(0, str(Path(__file__).parent))
from framework_docs import frameworks

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "rules"
UNIFIED = ROOT / "docs" / "unified-config.md"
FRAMEWORKS = ROOT / "docs" / "frameworks.md"

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
_TOLD = re.compile(r"`(--(?:target|profile|select|ignore) [\w=.,-]+|--require-reason)`|`(\w+)==(\d[\w.]*)`")
"""Options, and pinned releases, that the text around an example tells."""
_NAMED = re.compile(r"`([\w-]+\.\w+)`:\s*\Z")
"""Ends the text before a block that is a file of this name, which another block uses."""
NAMES = {"sh": "run.sh", "bash": "run.sh", "json": "config.json", "yaml": "config.yaml", "toml": "config.toml"}
"""What a block's language makes of it: a file of this name, in an empty folder."""

GROUPS = (
    ("DO", "What to do", "the 19 rules that the source document states as MUST DO"),
    ("NOT", "What not to do", "the 17 rules that it states as MUST NOT"),
    ("INV", "Constraints", "what a framework asserts at run time, or public reports show"),
    ("OPT", "Options", "unknown, misspelt, moved, removed, dead or contradictory options"),
    ("SRC", "Sources", "what is wrong with the text itself"),
    ("SEC", "Secrets and open servers", "what should not be in a repository"),
    ("LNT", "The linter's own", "comments that are addressed to it"),
)


class Example:
    """A fenced block of a page's section, with the options that the section's text tells and the files it shows."""

    def __init__(self, language: str, text: str, options: tuple[str, ...], files: dict[str, str]) -> None:
        self.language = language
        self.text = text
        self.options = options
        self.files = files

    @property
    def command(self) -> bool:
        """Whether it is a command of ours rather than a file to lint."""
        return self.text.startswith("grpo-lint ")

    @property
    def name(self) -> str:
        return NAMES[self.language]

    def arguments(self, output: str) -> list[str]:
        """The command line that tries it, in a folder that holds it as a file."""
        if self.command:
            return [*shlex.split(self.text)[1:], "--output", output]
        return [self.name, "--output", output, "--no-settings", *self.options]

    def run(self, output: str) -> str:
        """What the linter says of it."""
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            try:
                os.chdir(folder)
                for name, text in {**self.files, self.name: self.text}.items():
                    Path(name).write_text(text, encoding="utf-8")
                with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
                    main(self.arguments(output))
            finally:
                os.chdir(before)
        if err.getvalue():
            raise RuntimeError(f"{self.text}\n{err.getvalue()}")
        return out.getvalue()


def examples(rule: Rule, section: str) -> list[Example]:
    """The examples of a section of a rule's page, in order."""
    text = rule.page.split(f"## {section}\n", 1)[1].split("\n## ", 1)[0]
    told = (words or f"--target {name}={release}" for words, name, release in _TOLD.findall(_BLOCK.sub("", text)))
    options = tuple(word for words in dict.fromkeys(told) for word in words.split())
    files: dict[str, str] = {}
    found: list[Example] = []
    for match in _BLOCK.finditer(text):
        named = _NAMED.search(text[: match.start()])
        if named is not None:
            files[named[1]] = match[2]
        elif match[1] in NAMES:
            found.append(Example(match[1], match[2], options, files))
    return found


def page(rule: Rule) -> str:
    """A rule's page for the site: its facts, its text, and below each faulty example what the linter says of it."""
    text = body(rule)
    for example in examples(rule, "Example"):
        block = f"```{example.language}\n{example.text}```\n"
        assert block in text, rule
        says = f"\n{_asked(example)} says:\n\n```text\n{_said(example)}\n```\n"
        text = text.replace(block, block + says, 1)
    rows = "".join(f"| {profile} | {level} |\n" for profile, level in levels(rule).items())
    facts = [f"Evidence: **{rule.evidence}**.", f"Since {rule.since}."]
    if rule.twin:
        facts.append(f"Goes with [{rule.twin}]({rule.twin}.md).")
    if rule.topics:
        facts.append(f"Topics: {', '.join(rule.topics)}.")
    head = f"# {rule.id} {rule.name}\n\n{' '.join(facts)}\n\n| profile | level |\n|---|---|\n{rows}"
    return f"{head}\n{text}\n"


def _said(example: Example) -> str:
    """The findings of an example, without the line that counts them; a table of verdicts whole."""
    out = example.run("text").rstrip()
    return out if example.command else out.rsplit("\n\n", 1)[0]


def _asked(example: Example) -> str:
    if example.command:
        return "It"
    return f"`{' '.join(('grpo-lint', example.name, *example.options))}`"


def index() -> str:
    """The list of all rules, by group."""
    lines = [
        "# Rules",
        "",
        "`grpo-lint rules` lists them, `grpo-lint explain RULE` shows a page. Levels: by default, and in the profile",
        "`rtx4090`, which judges by the rules as their source document states them, too.",
        "",
    ]
    for prefix, title, about in GROUPS:
        members = [rule for rule in RULES if rule.id.rstrip("0123456789") == prefix]
        if members:
            lines += [f"## {title}", "", f"`{prefix}`: {about}.", ""]
            lines += ["| rule | default | rtx4090 | evidence | what it is about |", "|---|---|---|---|---|"]
            lines += [_row(rule) for rule in members]
            lines.append("")
    return "\n".join(lines)


def _row(rule: Rule) -> str:
    level = levels(rule)
    strict = level["rtx4090"] if rule.id in FORMS else level["default"]
    summary = rule.summary.replace("|", "\\|")
    return f"| [{rule.id} {rule.name}]({rule.id}.md) | {level['default']} | {strict} | {rule.evidence} | {summary} |"


def pages() -> dict[Path, str]:
    """Every generated file with its text."""
    found = {FOLDER / f"{rule.id}.md": page(rule) for rule in RULES}
    return {UNIFIED: unified_config(), FRAMEWORKS: frameworks(), FOLDER / "index.md": index(), **found}


_UNIFIED_HEAD = """\
# The unified config

Every framework has names of its own for the same things. The unified config is the one vocabulary that the linter maps
them onto: `grpo-lint show` prints it for a run, and the rules' strict forms judge it. Written down as one flat JSON
object, it can be judged without any framework's file:

```sh
grpo-lint validate --profile rtx4090 --config '{"zero_stage": 2, "group_size": 8, "rollout_engine": "sglang"}'
```

`--config-file FILE` reads it from a file, `-` in the place of either from standard input. Each of the 36 avoidance
rules gets a verdict:

| verdict | what it means |
|---|---|
| pass | what the config tells is right |
| pass (assumed) | nothing contradicts the rule, and nothing confirms it |
| fail | the rule is broken; the exit code is then 1 |
| warn | something to look at |
| not applicable | the rule is about something else |
| undecided | what is told is not enough to judge |

A config that tells `zero_stage` is judged as one for DeepSpeed as well; with `--target verl=0.9.1`, as one for that
release of verl.

A key that isn't in the table and a value of another type are errors (exit code 2). `--output text`, `json` and `sarif`
may be given together; `grpo-lint check --verdicts PATHS` prints the same for the runs of real files.

| key | type | unit or words | meaning |
|---|---|---|---|
"""


def unified_config() -> str:
    """The page about the unified config, with its table of fields."""
    rows = []
    for name, field in FIELDS.items():
        unit = field.unit.replace("|", "\\|")
        rows.append(f"| `{name}` | {field.type} | {unit} | {field.meaning} |\n")
    return _UNIFIED_HEAD + "".join(rows)


def stale(wanted: dict[Path, str]) -> list[Path]:
    """The files that are missing, differ, or belong to no rule."""
    wrong = [path for path, text in wanted.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    return wrong + [path for path in sorted(FOLDER.glob("*.md")) if path not in wanted]


def write() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    wanted = pages()
    for path in stale(wanted):
        text = wanted.get(path)
        if text is None:
            path.unlink()
        else:
            path.write_text(text, encoding="utf-8")
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        for path in (behind := stale(pages())):
            print(f"{path.relative_to(ROOT)} is not what tools/rule_docs.py makes of the rules")
        sys.exit(1 if behind else 0)
    write()
