"""Tokens, keys and passwords in a text: by the shape of a known issuer, by the name they are given, or in a URL.

Shapes are those that the issuers document and that gitleaks 8 knows. What reads like a placeholder is none: few
different characters, a word such as `your`, characters in alphabetical order. Names count only with a value that looks
drawn by lot, so that `api_key=dummy`, `eos_token: <|im_end|>` and hashes of commits stay what they are.
"""

from __future__ import annotations

from itertools import pairwise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
DIGITS = frozenset("0123456789")
ALNUM = LETTERS | DIGITS
WORD = ALNUM | {"_", "-"}
_BASE32 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
_HEX = frozenset("0123456789abcdef")
_OPAQUE = WORD | {"+", "/", "=", "."}
_NAME = WORD | {"."}
_BLANKS = frozenset(" \t")
_QUOTES = "\"'\\`"

_LONGEST = 260
"""Characters of a value that are looked at."""

MASK = "x"
"""What a masked character becomes: a letter, so that the text keeps its length and its syntax in every format."""

SHAPES = (
    # beginning, whose it is, characters of the rest, how many at least and at most
    ("hf_", "a Hugging Face token", ALNUM, 30, 40),
    ("wandb_v1_", "a Weights & Biases key", WORD, 40, 120),
    ("sk-proj-", "an OpenAI key", WORD, 40, 220),
    ("sk-svcacct-", "an OpenAI key", WORD, 40, 220),
    ("sk-admin-", "an OpenAI key", WORD, 40, 220),
    ("sk-ant-", "an Anthropic key", WORD, 40, 220),
    ("sk-or-v1-", "an OpenRouter key", ALNUM, 40, 80),
    ("sk-", "a key of OpenAI's form", ALNUM, 20, 80),
    ("AKIA", "an AWS access key", _BASE32, 16, 16),
    ("ASIA", "an AWS access key", _BASE32, 16, 16),
    ("ghp_", "a GitHub token", ALNUM, 36, 36),
    ("gho_", "a GitHub token", ALNUM, 36, 36),
    ("ghs_", "a GitHub token", ALNUM, 36, 36),
    ("github_pat_", "a GitHub token", ALNUM | {"_"}, 60, 100),
    ("glpat-", "a GitLab token", WORD, 20, 60),
    ("AIza", "a Google API key", WORD, 35, 35),
    ("xoxb-", "a Slack token", WORD, 24, 120),
    ("xoxp-", "a Slack token", WORD, 24, 120),
    ("nvapi-", "an NVIDIA API key", WORD, 60, 80),
    ("gsk_", "a Groq key", ALNUM, 50, 60),
    ("eyJ", "a signed token (JWT)", WORD | {"."}, 60, 4000),
)

NAMES = (
    "apikey", "accesskey", "secretkey", "accesstoken", "authtoken", "apitoken", "hftoken", "hubtoken", "bearertoken",
    "secret", "password", "passwd", "wandbkey",
)  # fmt: skip
"""A name with one of these in it, written without `_` and `-`, is that of a secret."""

_HARMLESS_ENDS = ("path", "file", "name", "env", "var", "id", "url", "dir", "ref", "hash", "type")

_PLACEHOLDERS = (
    "xxxx", "your", "example", "placeholder", "dummy", "fake", "changeme", "replace", "insert", "redacted", "masked",
    "notreal", "no-key", "nokey", "filled", "todo", "****", "....",
)  # fmt: skip

_PUBLIC_PASSWORDS = frozenset(
    ("password", "passwd", "pass", "pwd", "pw", "secret", "token", "key", "user", "username", "xxx", "test", "guest")
)
_LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]", "0.0.0.0", "host:", "hostname:", "example.com", "proxy.example")


class Credential:
    """A secret in a text: the offsets of what must not be printed, what it is, whether a URL holds it, and whether its
    shape tells what it is."""

    __slots__ = ("end", "in_url", "shaped", "start", "what")

    def __init__(self, start: int, end: int, what: str, in_url: bool = False, shaped: bool = False) -> None:
        self.shaped = shaped
        self.start = start
        self.end = end
        self.what = what
        self.in_url = in_url

    def __repr__(self) -> str:
        return f"Credential({self.start}, {self.end}, {self.what!r})"


def find(text: str) -> tuple[Credential, ...]:
    """The credentials of a text, in its order; none overlaps another."""
    kept: list[Credential] = []
    for one in sorted((*_shaped(text), *_named(text), *_in_urls(text)), key=lambda one: (one.start, -one.end)):
        if kept and one.start < kept[-1].end:
            before = kept.pop()
            told, other = (one, before) if one.shaped else (before, one)  # what has a shape begins after its prefix
            one = Credential(told.start, max(told.end, other.end), told.what, told.in_url, told.shaped)
        kept.append(one)
    return tuple(kept)


def mask(text: str, found: Iterable[Credential]) -> str:
    """The text with every character of its credentials replaced."""
    parts, at = [], 0
    for one in found:
        parts += [text[at : one.start], MASK * (one.end - one.start)]
        at = one.end
    return "".join([*parts, text[at:]]) if parts else text


def random_looking(body: str) -> bool:
    """Whether a text looks drawn by lot rather than written by hand or left to be filled in."""
    lower = body.lower()
    if len(set(body)) < 8 or any(word in lower for word in _PLACEHOLDERS):
        return False
    steps = sum(ord(after) - ord(before) == 1 for before, after in pairwise(lower))
    return steps * 2 < len(body)


def _places(text: str, part: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def _run(text: str, start: int, allowed: frozenset[str], most: int = 4096) -> int:
    """The end of the run of allowed characters from `start`."""
    end, limit = start, min(len(text), start + most)
    while end < limit and text[end] in allowed:
        end += 1
    return end


# -- by shape


def _shaped(text: str) -> Iterator[Credential]:
    for beginning, what, allowed, least, most in SHAPES:
        at = text.find(beginning)
        while at >= 0:
            start = at + len(beginning)
            end = _run(text, start, allowed)
            body = text[start:end]
            if least <= len(body) <= most and _stands_alone(text, at, end) and _issued(beginning, body):
                yield Credential(start, end, what, shaped=True)
            at = text.find(beginning, max(end, at + 1))  # past the run, so that the time is that of the text's length


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Whether no letter before it, and nothing after, makes it a part of a longer word."""
    before, after = text[max(start - 1, 0) : start], text[end : end + 1]
    # An escape such as \n before it is the writer's, not a letter of the word.
    return (before not in ALNUM or text[max(start - 2, 0) : start - 1] == "\\") and after not in WORD


def _issued(beginning: str, body: str) -> bool:
    """Whether the rest of a token is such as its issuer draws."""
    if not random_looking(body):
        return False
    if beginning in ("AKIA", "ASIA"):
        return True
    if beginning == "eyJ":
        return body.count(".") == 2
    if beginning == "hf_":
        return body != body.lower() and body != body.upper()
    return any(char in DIGITS for char in body) and any(char in LETTERS for char in body)


# -- by name


def _named(text: str) -> Iterator[Credential]:
    from grpo_lint.source import CREDENTIAL_HINTS

    seen = set[int]()
    for hint in CREDENTIAL_HINTS:
        at = -1
        end = 0
        while (at := text.find(hint, max(end, at + 1))) >= 0:
            end = _run(text, at + len(hint), _NAME)
            if hint == "wandb login":
                value = _value(text, _after_flags(text, end))
                name = "wandb_key"
            else:
                name = text[_name_start(text, at) : end]
                value = _assigned(text, end, name.startswith("-"))
            if end not in seen and value is not None and _is_secret(name) and _drawn(name, *value, text):
                seen.add(end)
                what = "a Weights & Biases key" if " " in hint else f"the secret {name.lstrip('-')}"
                yield Credential(*value, what)
            if value is not None and value[1] - value[0] == _LONGEST:  # no secret is so long; what is in it is no name
                end = value[1]


def _name_start(text: str, at: int) -> int:
    """Where the name begins that goes on at a place."""
    start = at
    while start > 0 and text[start - 1] in _NAME and at - start < 200:
        start -= 1
    return start


def _is_secret(name: str) -> bool:
    """Whether a variable, a key or a flag of this name holds a secret."""
    last = name.rsplit(".", 1)[-1]
    plain = last.lower().replace("_", "").replace("-", "")
    if plain.endswith(_HARMLESS_ENDS) or plain.startswith("max"):
        return False
    return any(part in plain for part in NAMES) or (last.endswith("_TOKEN") and last.isupper())


def _after_flags(text: str, at: int) -> int:
    """Past the flags of a command, such as `--relogin`; one with a value of its own ends the search."""
    end = _run(text, at, _BLANKS)
    while text.startswith("--", end):
        end = _run(text, _run(text, end, WORD), _BLANKS)
    return end


def _assigned(text: str, end: int, is_flag: bool) -> tuple[int, int] | None:
    """The value that follows a name: `NAME=value`, `"name": "value"`, `--name value`, a manifest's `value:` below."""
    at = _run(text, _run(text, end, frozenset(_QUOTES + "]")), _BLANKS)
    below = _run(text, at, _BLANKS | {"\r", "\n"})
    if text[at : at + 1] in (":", "=") and at < len(text):
        at = _run(text, at + 1, _BLANKS)
    elif below > at and text.startswith("value:", below):
        at = _run(text, below + len("value:"), _BLANKS)
    elif not (is_flag and at > end):
        return None
    return _value(text, at)


def _value(text: str, at: int) -> tuple[int, int] | None:
    start = _run(text, at, frozenset(_QUOTES))
    end = _run(text, start, _OPAQUE, _LONGEST)
    return (start, end) if end > start and text[end : end + 1] not in ("$", "{", "<", "(", "[", "@", ":") else None


def _drawn(name: str, start: int, end: int, text: str) -> bool:
    """Whether a value of a secret's name is the secret: long, random, and no path, word or reference."""
    body = text[start:end].rstrip(".")
    if not 20 <= len(body) <= 200 or not random_looking(body) or body[0] in "/.":
        return False
    if _HEX.issuperset(body.lower().replace("-", "")):
        return len(body.replace("-", "")) >= 32
    letters = sum(char in LETTERS for char in body)
    digits = sum(char in DIGITS for char in body)
    if "secret_access_key" in name.lower() and len(body) == 40:  # AWS's has slashes, which elsewhere make a path
        return letters >= 4 and digits >= 2
    longest = max(len(part) for part in body.replace(".", "-").replace("_", "-").replace("/", "-").split("-"))
    return letters >= 4 and digits >= 2 and longest >= 16 and len(set(body)) >= 12


# -- in URLs


def _in_urls(text: str) -> Iterator[Credential]:
    """`scheme://user:password@host`, where the password is written out."""
    for at in _places(text, "://"):
        start = at + 3
        end = start
        limit = min(len(text), start + 300)
        while end < limit and text[end] not in " \t\r\n\"'`/?#<>,;()|\\":
            end += 1
        login, found, host = text[start:end].rpartition("@")
        user, colon, password = login.partition(":")
        if found and colon and _is_password(user, password, host) and text[max(at - 1, 0) : at].isalnum():
            yield Credential(start + len(user) + 1, start + len(login), "a password", True)


def _is_password(user: str, password: str, host: str) -> bool:
    """Whether what stands before the `@` of a URL is a password for somewhere else than this machine."""
    lower, name = password.lower(), host.lower()
    if len(password) < 4 or not host or any(char in part for part in (user, password, host) for char in "${}*"):
        return False
    if lower in _PUBLIC_PASSWORDS or lower == user.lower() or name.startswith(_LOCAL_HOSTS):
        return False
    return len(set(password)) > 2 and not any(word in lower for word in _PLACEHOLDERS)
