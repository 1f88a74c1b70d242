"""Hooks of the documentation's site: the pages that lie outside of docs/, and links from docs/ to what is no page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

ROOT = Path(__file__).parent.parent
OUTSIDE = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changes.md"}
"""Files of the repository's root that are pages of the site, and what they are called there."""

_LINK = re.compile(r"\]\((?!https?:)(?:\.\./)?([\w./-]+\.md)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for name, page in OUTSIDE.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=_LINK.sub(_target, text)))
    return files


def on_page_markdown(markdown: str, page: object, config: MkDocsConfig, files: Files) -> str:
    """A page of docs/ names the files of the root as the repository has them."""
    for name, target in OUTSIDE.items():
        markdown = markdown.replace(f"](../{name}", f"]({target}")
    return markdown


def _target(link: re.Match[str]) -> str:
    """A link of a file of the root, as a link from a page of the site."""
    return "](" + OUTSIDE.get(link[1], link[1].removeprefix("docs/"))
