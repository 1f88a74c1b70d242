"""Start a rule: code that runs, its page, its fixtures, its line in the catalogue.

    python tools/new_rule.py INV299 prefetch-exceeds-live --framework deepspeed \\
        --options zero_optimization.stage3_prefetch_bucket_size zero_optimization.stage3_max_live_parameters
    python tools/new_rule.py SEC07 some-hole --module security.servers --framework vllm --options --port --max-num-seqs

An `INV` id makes a relation in the framework's module of rules/invariants/ (or the one that --module names, which is
made if it isn't there), any other id a rule in the module of rules/ that --module names. What is written reports a
first option that exceeds the second. Change the arithmetic, the message, the examples and the sources to what you read
in the framework; then `python tools/new_rule.py INV299 --refresh` writes its fixtures, the catalogue and pages anew.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

from grpo_lint.nearest import suggestion
from grpo_lint.rules import RULES
from grpo_lint.rules.invariants.pages import PROGRAMS, TITLES

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "grpo_lint" / "rules"
MODULES = {
    "verl": "verl_batches", "deepspeed": "deepspeed_config", "megatron": "megatron", "slime": "slime",
    "vllm": "serving", "sglang": "serving", "trl": "trl", "transformers": "huggingface", "accelerate": "huggingface",
    "openrlhf": "openrlhf", "ms_swift": "ms_swift",
}  # fmt: skip
"""Where a framework's relations are declared, unless --module says otherwise."""
LIMIT = 400

HEAD = '''"""{id} and what belongs with it: {title}'s settings against each other."""

from __future__ import annotations

from grpo_lint.rules.invariants.relation import Operands, number, relation, relations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Finding, Rule


RULES: tuple[Rule, ...] = tuple(relations(globals()))
'''

RELATION = '''@relation(
    "{id}",
    "{name}",
    "{framework}",
    first=number("{first}"),
    second=number("{second}"),
    bad={bad!r},
    good={good!r},
    source="{title} (release), `file.py`: the check, in the framework's own words.",
)
def {function}(o: Operands) -> Iterator[Finding]:
    """The first setting can't exceed the second.

    The run ends at start, after the cluster has been taken.
    """
    if o.first > o.second:
        yield o.fault("first", f"{{o('first')}} > {{o('second')}}", "second", help="lower it, or raise the other")


'''

PLAIN = '''@rule("{id}", "{name}", severity=WARNING, evidence="conditional", frameworks=("{framework}",))
def {function}(run: RunConfig) -> Iterator[Finding]:
    """The first setting can't exceed the second.

    ## What it does
    Compares `{first}` with `{second}`.

    ## Why it matters
    What breaks, and when.

    ## Example
    ```{language}
{bad}
    ```

    ## Use instead
    ```{language}
{good}
    ```

    ## When it does not apply
    Where one of these settings can't be known before the run, nothing is said.

    ## Sources
    {title} (release), `file.py`: the check, in the framework's own words.
    """
    first, second = run.option("{framework}", "{first}"), run.option("{framework}", "{second}")
    written = [str(setting.value) for setting in (first, second) if setting.known]
    if len(written) == 2 and all(text.isdigit() for text in written) and int(written[0]) > int(written[1]):
        message = f"{first} {{first.value}} > {second} {{second.value}}"
        yield Finding(message, first, others=[(second, "")], help="lower it, or raise the other")


'''


class Refused(Exception):
    """What keeps a rule from being started; the message says what to do."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("id", help="such as INV299; CONTRIBUTING.md says which numbers are whose")
    parser.add_argument("name", nargs="?", default="", help="such as prefetch-exceeds-live")
    parser.add_argument("--framework", choices=sorted(MODULES), help="whose options the rule reads")
    parser.add_argument("--module", default="", help="the module below rules/invariants/ (INV) or rules/ (others)")
    parser.add_argument("--refresh", action="store_true", help="write fixtures, catalogue and pages of a rule anew")
    words = sys.argv[1:]
    options = words[words.index("--options") + 1 :] if "--options" in words else []
    given = parser.parse_args(words[: words.index("--options")] if "--options" in words else words)
    try:
        if not given.refresh:
            place = start(given.id, given.name, given.framework or "", given.module, options)
            print(f"{place.relative_to(ROOT)}: change the arithmetic, the message, the examples and the sources")
        return refresh(given.id)
    except Refused as error:
        print(f"new_rule.py: {error}", file=sys.stderr)
        return 2


def start(id: str, name: str, framework: str, module: str, options: list[str]) -> Path:
    """Write a rule into its module, and give that. Raises Refused."""
    check(id, name, framework, options)
    relation = id.startswith("INV")
    place = module_of(framework, module, relation)
    values = {
        "id": id,
        "name": name,
        "function": name.replace("-", "_"),
        "framework": framework,
        "title": TITLES.get(framework, framework),
        "first": options[0],
        "second": options[1],
    }
    if not place.exists():
        if not relation:
            raise Refused(f"there is no {place.relative_to(ROOT)}; name a module that has RULES")
        place.write_text(HEAD.format(**values), encoding="utf-8")
    text = place.read_text(encoding="utf-8")
    bad, good = example(framework, options, (2, 1)), example(framework, options, (1, 2))
    if relation:
        text = imported(text, "grpo_lint.rules.invariants.relation", ("Operands", "number", "relation", "relations"))
        new = RELATION.format(**values, bad=bad, good=good)
    else:
        text = imported(text, "grpo_lint.rules.rule", ("Finding", "rule"))
        text = imported(text, "grpo_lint.diagnostics", ("WARNING",))
        shown = {kind: indented(whole(framework, text)) for kind, text in (("bad", bad), ("good", good))}
        new = PLAIN.format(**values, **shown, language="json" if bad.startswith("{") else "sh")
    text = listed(text.replace("\nRULES", f"\n{new}RULES", 1), values["function"], place)
    if len(text.splitlines()) > LIMIT:
        raise Refused(f"{place.relative_to(ROOT)} would have over {LIMIT} lines: name another with --module")
    place.write_text(text, encoding="utf-8")
    tidy(place)
    return place


def check(id: str, name: str, framework: str, options: list[str]) -> None:
    if not re.fullmatch(r"(DO|NOT|INV|OPT|SRC|SEC|LNT)\d{2,3}", id):
        raise Refused(f"{id}: an id is one of DO, NOT, INV, OPT, SRC, SEC, LNT with two or three digits")
    if id in {rule.id for rule in RULES}:
        raise Refused(f"{id} is taken; ids are never used again")
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise Refused(f"{name or 'no name'}: a name is words in small letters with - between, such as batch-chain")
    if name in {rule.name for rule in RULES}:
        raise Refused(f"{name} is the name of another rule")
    if not framework or len(options) != 2:
        raise Refused("say with --framework whose rule it is, and with --options A B which two options it compares")


def module_of(framework: str, module: str, relation: bool) -> Path:
    if not relation and not module:
        known = [path.stem for path in PACKAGE.glob("*.py")]
        raise Refused(f"name its module with --module, such as security.servers{suggestion('', known, '')}")
    below = ["invariants", module or MODULES[framework]] if relation else module.split(".")
    if not all(re.fullmatch(r"[a-z]\w*", part) for part in below):
        raise Refused(f"--module {module}: a module's name, with a . below a folder")
    return PACKAGE.joinpath(*below[:-1], f"{below[-1]}.py")


def example(framework: str, options: list[str], numbers: tuple[int, int]) -> str:
    """Arguments of the framework's program, or a whole file, with two values."""
    if framework not in PROGRAMS:
        return deepspeed(options, numbers)
    form = "{}={}" if framework == "verl" else "{} {}"
    return " ".join(form.format(option, value) for option, value in zip(options, numbers, strict=True))


def deepspeed(options: list[str], numbers: tuple[int, int]) -> str:
    import json

    config: dict[str, object] = {"zero_optimization": {"stage": 1}, "gradient_clipping": 1.0}
    for option, value in zip(options, numbers, strict=True):
        *sections, key = option.split(".")
        table = config
        for section in sections:
            inner = table.setdefault(section, {})
            assert isinstance(inner, dict)
            table = inner
        table[key] = value
    return json.dumps(config)


def whole(framework: str, text: str) -> str:
    return text if text.startswith("{") else f"{PROGRAMS[framework]} {text}"


def indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


def imported(text: str, module: str, names: tuple[str, ...]) -> str:
    """A module's text with some more names imported from another one."""
    found = re.search(rf"^from {re.escape(module)} import (?:\(([^)]*)\)|(.*))$", text, re.M)
    if found is None:
        return text.replace("\n\nTYPE_CHECKING", f"\nfrom {module} import {', '.join(names)}\n\nTYPE_CHECKING", 1)
    there = {name.strip() for name in (found.group(1) or found.group(2)).split(",") if name.strip()}
    every = ", ".join(sorted(there | set(names)))
    return text[: found.start()] + f"from {module} import ({every})" + text[found.end() :]


def listed(text: str, function: str, place: Path) -> str:
    """A module's text with the rule in its RULES, where these are written out."""
    found = re.search(r"^RULES.* = \(([^()]*)\)$", text, re.M | re.S)
    if found is not None:
        return text[: found.end() - 1].rstrip().rstrip(",") + f", {function})" + text[found.end() :]
    if "relations(globals())" not in text:
        raise Refused(f"{place.relative_to(ROOT)} has no RULES to add to; name another with --module")
    return text


def tidy(place: Path) -> None:
    """Sort the imports and format; without ruff, that is left to you."""
    for words in (("check", "--select", "I", "--fix", "--quiet"), ("format", "--quiet")):
        subprocess.run([sys.executable, "-m", "ruff", *words, str(place)], cwd=ROOT, check=False, capture_output=True)


def refresh(id: str) -> int:
    """Write fixtures, catalogue and pages; each tool in a process of its own, which sees the new code."""
    for path in (ROOT / "fixtures" / id).glob("*-example.*"):
        path.unlink()
    for name, *rest in (["catalogue.py"], ["relations.py", id], ["fixtures.py", id], ["rule_docs.py"]):
        done = subprocess.run([sys.executable, str(ROOT / "tools" / name), *rest], cwd=ROOT, check=False)
        if done.returncode:
            raise Refused(f"tools/{name} says what is wrong; then run this again with {id} --refresh")
    return 0


if __name__ == "__main__":
    sys.exit(main())
