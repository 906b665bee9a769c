"""Puts `llms.txt`, the map of the documentation for language models, into the site, with links to its pages."""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

SOURCE = Path(__file__).parents[1] / "llms.txt"
LINK = re.compile(r"\]\((?:docs/)?([\w./-]+)\.md\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the map."""
    files.append(File.generated(config, "llms.txt", content=for_the_site(SOURCE.read_text(encoding="utf-8"))))
    return files


def for_the_site(text: str) -> str:
    """The map with the addresses that its pages have in the site.

    >>> for_the_site("[Get started](docs/get-started.md), [Changelog](CHANGELOG.md)")
    '[Get started](get-started.html), [Changelog](changelog.html)'
    """
    return LINK.sub(lambda match: f"]({match[1].replace('CHANGELOG', 'changelog')}.html)", text)
