"""Which commit of which repository was linted, read from the files in `.git`; no program is started for it."""

from __future__ import annotations

import os
import re

from grpo_lint.source import Unreadable, decode, read_bytes

MAX_BYTES = 4 * 1024 * 1024
"""Larger files of references aren't read; the commit then isn't known."""

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")
_URL = re.compile(r"(https?|ssh|git)://(?:[^/@\s]*@)?([\w.-]+(?::\d+)?/[^\s?#]*)\Z")
_SHORT_URL = re.compile(r"(?:[\w.-]+@)?([\w.-]+\.[\w-]+):(?!/)([^\s?#:]+)\Z")
"""`git@example.org:owner/name.git`, as ssh and git write it."""


class Provenance:
    """A repository's address without any login, the commit, and the branch or ""."""

    __slots__ = ("address", "branch", "commit")

    def __init__(self, address: str, commit: str, branch: str) -> None:
        self.address = address
        self.commit = commit
        self.branch = branch


def of(root: str) -> Provenance | None:
    """That of a working tree; None where its files don't tell the address of its origin or the commit."""
    folder = _git_folder(root)
    shared = os.path.join(folder, _line(os.path.join(folder, "commondir")))
    address = _address(_text(os.path.join(shared, "config")))
    head = _line(os.path.join(folder, "HEAD"))
    reference = head.removeprefix("ref: ") if head.startswith("ref: ") else ""
    commit = _commit(shared, reference) if reference else head
    if not address or not _COMMIT.match(commit):
        return None
    branch = reference.removeprefix("refs/heads/") if reference.startswith("refs/heads/") else ""
    return Provenance(address, commit, branch if branch.isprintable() else "")


def _git_folder(root: str) -> str:
    """`.git`, or the folder that a file of this name leads to, as in a worktree."""
    path = os.path.join(root, ".git")
    return path if os.path.isdir(path) else os.path.join(root, _line(path).removeprefix("gitdir: "))


def _text(path: str) -> str:
    try:
        return decode(read_bytes(path, MAX_BYTES))
    except Unreadable:
        return ""


def _line(path: str) -> str:
    return _text(path).partition("\n")[0].strip()


def _commit(folder: str, reference: str) -> str:
    """The commit that a reference names, in a file of its own or in the file of packed ones."""
    if not reference.startswith("refs/") or ".." in reference:
        return ""
    alone = _line(os.path.join(folder, *reference.split("/")))
    if alone:
        return alone
    lines = _text(os.path.join(folder, "packed-refs")).split("\n")
    return next((line.partition(" ")[0] for line in lines if line.partition(" ")[2].strip() == reference), "")


def _address(config: str) -> str:
    """The address of the origin; "" where there is none or where it is a folder of this machine."""
    section = ""
    url = ""
    for line in map(str.strip, config.split("\n")):
        if line.startswith("["):
            section = line
        elif section == '[remote "origin"]' and not url:
            name, _, value = line.partition("=")
            url = value.strip().strip('"') if name.strip().lower() == "url" else ""
    if found := _URL.match(url):
        return f"{found[1]}://{found[2]}".removesuffix("/").removesuffix(".git")
    if found := _SHORT_URL.match(url):
        return f"https://{found[1]}/{found[2]}".removesuffix("/").removesuffix(".git")
    return ""
