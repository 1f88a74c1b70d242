"""Credentials: what counts as one, and that no output of any kind holds one."""

from __future__ import annotations

import io
import json
import os
import string
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from itertools import pairwise
from pathlib import Path
from random import Random
from time import process_time

import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from grpo_lint.cli import main
from grpo_lint.credentials import find, mask, random_looking
from grpo_lint.reporters import FORMATS
from grpo_lint.source import CREDENTIAL_HINTS, SourceFile, masked

HEX = "0000aaaa1111bbbb2222cccc3333dddd4444eeee"
MIXED = "AAAA1111bbbb2222CCCC3333dddd4444EEEE5555ffff6666"
HF = "AAAAbbbbCCCCddddEEEEffffGGGGhhhhII"


def secrets(text: str) -> list[str]:
    return [text[one.start : one.end] for one in find(text)]


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"export HF_TOKEN=hf_{HF}", HF),
        (f"curl -H 'Authorization: Bearer hf_{HF}' https://hf.co", HF),
        (f"# my token: hf_{HF}", HF),
        (f'print("a\\nhf_{HF}\\n")', HF),
        (f"https://user:hf_{HF}@huggingface.co/x", HF),
        (f"wandb login {HEX}", HEX),
        (f"wandb login --relogin --verify {HEX}", HEX),
        (f"export WANDB_API_KEY='{HEX}'", HEX),
        (f"WANDB_API_KEY: {HEX}  # mine", HEX),
        (f"--wandb-key {HEX} \\", HEX),
        (f'{{"env_vars": {{"WANDB_API_KEY": "{HEX}"}}}}', HEX),
        (f'--runtime-env-json=\'{{\\"WANDB_API_KEY\\": \\"{HEX}\\"}}\'', HEX),
        (f'os.environ["WANDB_API_KEY"] = "{HEX}"', HEX),
        (f"- name: WANDB_API_KEY\n  value: {HEX}\n", HEX),
        (f"https://x.org/?api_key={HEX}&n=8", HEX),
        (f"wandb_v1_{MIXED}", MIXED),
        (f"OPENAI_API_KEY=sk-{MIXED}", MIXED),
        (f"key=sk-proj-{MIXED}-_x", f"{MIXED}-_x"),
        (f"sk-ant-api03-{MIXED}", f"api03-{MIXED}"),
        ("id: AKIAQBXD2745EKGH6723", "QBXD2745EKGH6723"),
        ("AWS_SECRET_ACCESS_KEY=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", "aB3/eF5hI7kL9nO1qR3tU5w/zZ1cD3fG5iJ7lM9o"),
        ("ARK_API_KEY=0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9", "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"),
        (f"ghp_{MIXED[:36]}", MIXED[:36]),
        (f"MY_SERVICE_TOKEN={MIXED}", MIXED),
        ("http_proxy=http://me:My.Pass-1@10.1.2.3:3128", "My.Pass-1"),
        ("pip install git+https://bot:q9%21Zt@git.corp/x.git", "q9%21Zt"),
    ],
)
def test_a_credential_is_found(text: str, secret: str) -> None:
    assert secrets(text) == [secret]


@pytest.mark.parametrize(
    "text",
    [
        "hf_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "hf_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "hf_YourTokenGoesHereAndNotInThisScript",
        "hf_your_token",
        "HF_TOKEN=$HF_TOKEN",
        "HF_TOKEN=${HF_TOKEN:-}",
        "HF_TOKEN=<token>",
        "--load-format hf_rollout_engine_with_a_name_of_many_words",
        "hf_checkpointconverterfordistributedtraining",
        "WANDB_API_KEY=xxx",
        "WANDB_API_KEY=your_key",
        "WANDB_API_KEY=TO_BE_FILLED_IN_BY_WHOEVER_RUNS_2",
        "WANDB_API_KEY=$(cat key)",
        "api_key: dummy_key",
        "api_key: sk-test123456",
        "--api-key token-abc123",
        f"git checkout {HEX}",
        f'"sha1": "{HEX}"',
        f"commit: {HEX}",
        "revision=0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d",
        "digest: sha256:" + HEX + "aabbccdd" * 3,
        "data: iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAYAAABzenr0AAAACXBIWXMAAA7EAAAOxAGVKw4b",
        "eos_token: <|im_end|>",
        "image_token: AbCdEf0123456789AbCdEf0123456789",
        "max_tokens_per_gpu=12345678901234567890123",
        "API_KEY_FILE=/secrets/judge/AAAA1111bbbb2222CCCC3333dddd",
        "api_key: ${oc.env:JUDGE_API_KEY_2026_PRODUCTION}",
        "secretKeyRef: { name: trainer-secrets, key: WANDB_API_KEY }",
        "model=task-AAAA1111bbbb2222CCCC3333",
        "/ckpt/risk-v3-671B-BF16-dist_ckpt",
        "AKIAIOSFODNN7EXAMPLE",
        "sk-abcdefghijklmnopqrstuvwxyz123456",
        "http://user:password@proxy:3128",
        "http://$USER:$PASS@proxy.corp",
        "redis://default:abcd9@localhost:6379",
        "git@github.com:verl-project/verl.git",
        "ssh://git@github.com/x",
        "https://example.org/a:b/@scope/package",
        "see http://x.org:8000/v1 and mail me@x.org",
    ],
)
def test_a_placeholder_or_a_hash_is_none(text: str) -> None:
    assert secrets(text) == []


def test_a_file_knows_its_text_without_and_with_its_credentials() -> None:
    text = f"export HF_TOKEN=hf_{HF}\nn=8\n"
    file = SourceFile("run.sh", text)
    assert file.text == f"export HF_TOKEN=hf_{'x' * len(HF)}\nn=8\n"
    assert file.original == text
    assert [(one.start, one.end, one.what) for one in file.credentials] == [(19, 53, "a Hugging Face token")]
    assert SourceFile("run.sh", file.text).credentials == ()


@given(st.text())
def test_masking_keeps_every_place(text: str) -> None:
    covered = mask(text, find(text))
    assert len(covered) == len(text)
    assert [at for at, char in enumerate(text) if char == "\n"] == [at for at, c in enumerate(covered) if c == "\n"]


@given(st.lists(st.sampled_from([*CREDENTIAL_HINTS, "=", ":", '"', "://", "@", "--", " ", "\n", ".", HF, HEX, "a:"])))
def test_no_mix_of_hints_breaks_the_search(parts: list[str]) -> None:
    text = "".join(parts)
    found = find(text)
    assert len(mask(text, found)) == len(text)
    assert all(before.end <= after.start for before, after in pairwise(found))


@pytest.mark.parametrize(
    "part", ["eyJ-", "eyJ", "hf_", "secret=", "api_key", "://a@", "API_KEY=x:", f"hf_{HF} ", f"API_KEY={HEX} "]
)
def test_time_grows_with_the_length_alone(part: str) -> None:
    def seconds(length: int) -> float:
        text = part * (length // len(part))
        start = process_time()
        mask(text, find(text))
        return process_time() - start

    seconds(1000)
    assert seconds(200_000) < 20 * max(seconds(50_000), 0.01)


def drawn(prefix: str, alphabet: str, size: int) -> st.SearchStrategy[tuple[str, str]]:
    """(prefix, body) of a credential, drawn by lot as its issuer does."""
    return st.integers(0, 2**32).map(lambda seed: (prefix, "".join(Random(seed).choices(alphabet, k=size))))


ALNUM = string.ascii_letters + string.digits
DRAWN = st.one_of(
    drawn("hf_", string.ascii_letters, 34),
    drawn("sk-", ALNUM, 48),
    drawn("wandb_v1_", ALNUM + "_", 60),
    drawn("AKIA", "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16),
    drawn("", "0123456789abcdef", 40),
)
HOLDERS = {
    "run.sh": """\
export WANDB_API_KEY="SECRET"  # {long}
if [ "$DEVICE" = npu ]; then N=1; else N=8; fi
TOKEN="SECRET"
vllm serve "$TOKEN" --api-key "SECRET" --host 0.0.0.0 --no-such-option SECRET
wandb login SECRET
python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=1 \\
    trainer.api_key=$TOKEN data.train_files=$UNSET/SECRET api_key=SECRET ++SECRET=$N trainer.api_key=WANDB_SECRET \\
    actor_rollout_ref.model.path="https://me:SECRET@models.corp/SECRET"
""",
    "split.sh": """\
HEAD=PREFIX
python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=1 \\
    trainer.experiment_name="$HEAD"BODY trainer.project_name='PREFIX'"BODY" +a=PREFIX""BODY
""",
    "ppo.yaml": """\
actor_rollout_ref:
  rollout: {{n: 8, name: vllm}}
  api_key: SECRET
  api_key: "SECRET"
algorithm: {{adv_estimator: grpo}}
bad: [SECRET
""",
    "ds.json": """\
{{"zero_optimization": {{"stage": 2, "api_key": "SECRET"}}, "api_key": "SECRET", "api_key": "SECRET",
 "train_batch_size": "SECRET", "wandb login SECRET": 1, "optimizer": {{"type": "PREFIXBODY"}}
""",
}
CHECK = ["--no-settings", "--exit-zero", "--color", "always", "--statistics", "--write-baseline", "baseline.json"]


def outputs(folder: Path) -> str:
    """Everything that the command says of a folder's files, in every format there is."""
    before = os.getcwd()
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        try:
            os.chdir(folder)
            formats = [word for name in FORMATS for word in ("--output", f"{name}=report.{name}")]
            main(["check", ".", *CHECK, *formats])
            for name in ("text", "concise"):
                main(["check", ".", "--no-settings", "--output", name])
            main(["check", ".", "--no-settings", "--baseline", "baseline.json", "--output", "sarif"])
            for name in ("text", "json", "sarif"):
                main(["check", ".", "--no-settings", "--verdicts", "--output", name])
            for name in ("table", "json"):
                main(["show", ".", "--no-settings", "--format", name])
                main(["guide", "fsdp", ".", "--no-settings", "--format", "json" if name == "json" else "text"])
            main(["diagnose", "--symptom", "loss nan", ".", "--no-settings"])
            main(["show", ".", "--no-settings", "--memory"])
            for config in folder.glob("*.json"):
                if not config.name.startswith(("report", "baseline")):
                    main(["validate", "--config-file", config.name])
                    main(["validate", "--config", config.read_text(encoding="utf-8")])
        finally:
            os.chdir(before)
    written = [path.read_text(encoding="utf-8") for path in folder.glob("report.*")]
    written.append((folder / "baseline.json").read_text(encoding="utf-8"))
    assert len(written) == len(FORMATS) + 1
    return "\n".join([out.getvalue(), err.getvalue(), *written])


@settings(max_examples=10, deadline=None, phases=[Phase.generate])
@given(DRAWN)
def test_no_output_holds_a_credential_or_a_part_of_one(credential: tuple[str, str]) -> None:
    prefix, body = credential
    assume(random_looking(body))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in HOLDERS.items():
            whole = text.replace("SECRET", prefix + body) if prefix else text.replace("SECRET", body)
            if not prefix and file == "split.sh":  # only a name tells what this is, and this file gives it none
                continue
            filled = whole.replace("PREFIX", prefix).replace("BODY", body).replace("{{", "{").replace("}}", "}")
            if not prefix:
                filled = "\n".join(line for line in filled.splitlines() if line.count(body) == named(line, body)) + "\n"
            (folder / file).write_text(filled.replace("{long}", "#" * 200), encoding="utf-8")
        said = outputs(folder)
    assert "SEC01" in said
    assert not [body[at : at + 9] for at in range(len(body) - 8) if body[at : at + 9] in said]


def named(line: str, body: str) -> int:
    """How often a line gives a key of no shape together with a name that tells what it is."""
    return sum(f"{name}{body}" in line for name in ('KEY="', "api_key=", 'api_key": "', "api_key: ", "wandb login "))


def test_sarif_has_a_score_for_security_rules_and_no_hash_of_a_masked_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "env.sh").write_text(f"export HF_TOKEN=hf_{HF}\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["check", "env.sh", "--no-settings", "--output", "sarif"]) == 1
    run = json.loads(capsys.readouterr().out)["runs"][0]
    scores = {rule["id"]: rule["properties"].get("security-severity") for rule in run["tool"]["driver"]["rules"]}
    assert scores["SEC01"] == "8.1"
    assert {id for id, score in scores.items() if score} == {id for id in scores if id.startswith("SEC")}
    assert all(0 < float(score) <= 10 for score in scores.values() if score)
    (result,) = run["results"]
    assert set(result["partialFingerprints"]) == {"grpoLint/v1"}
    region = result["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 1, "startColumn": 20, "endLine": 1, "endColumn": 54}


def test_a_comment_suppresses_a_credential(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"# grpo-lint: ignore[SEC01] published on purpose\nexport HF_TOKEN=hf_{HF}\n"
    (tmp_path / "env.sh").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["check", "env.sh", "--no-settings"]) == 0


def test_what_has_no_hint_is_masked_without_a_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grpo_lint.credentials.find", None)
    assert masked("actor_rollout_ref.rollout.n=8 eos_token=<|im_end|>") == (
        "actor_rollout_ref.rollout.n=8 eos_token=<|im_end|>"
    )
