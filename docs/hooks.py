"""Writes the reference pages of the site from the package itself, so that they cannot differ from it.

A page asks for generated text with a comment, `<!-- generate: command-index -->`. Three kinds of pages are generated
whole: one for each metric, one for each command, and the changelog.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from generate import (
    command_pages,
    departure_tables,
    evidence_tables,
    extractor_tables,
    metric_pages,
    package_tables,
    world_tables,
)
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from lookaway.cli.main import lookaway as command_line
from lookaway.core import plugins

REPOSITORY = Path(__file__).parents[1]
HIDE_NAVIGATION = "---\nhide:\n  - navigation\n---\n\n"
PLACE = re.compile(r"<!-- generate: ([\w-]+) -->")
PAGES: dict[str, Callable[[], dict[str, str]]] = {
    "Command line": lambda: {
        f"reference/commands/{name}.md": command_pages.command_page(name) for name in command_line.commands
    },
    "Metrics": lambda: {
        f"reference/metrics/{name}.md": metric_pages.metric_page(name) for name in plugins.names("metrics")
    },
}
"""Pages that are generated whole, by the entry of the navigation that they stand under."""
TEXTS: dict[str, Callable[[], str]] = {
    "clip-fields": world_tables.clip_fields,
    "command-index": command_pages.command_index,
    "departures": departure_tables.departures,
    "environment-tolerances": package_tables.environment_tolerances,
    "error-list": package_tables.error_list,
    "error-tree": package_tables.error_tree,
    "evidence": evidence_tables.evidence,
    "extractors": extractor_tables.extractors,
    "limits": package_tables.limits,
    "metrics": metric_pages.metrics,
    "outcome-columns": package_tables.outcome_columns,
    "packages": package_tables.packages,
    "reasons": package_tables.reasons,
    "rollout-columns": package_tables.rollout_columns,
    "run-files": package_tables.run_files,
    "suites": metric_pages.suites,
    "weights": extractor_tables.weights,
    "world-actors": world_tables.world_actors,
    "world-cameras": world_tables.world_cameras,
    "world-families": world_tables.world_families,
    "world-faults": world_tables.world_faults,
}
"""What a page can ask for."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the generated pages into the navigation, each kind after its index."""
    sections = [section for entry in config.nav or [] for section in entry.get("Reference", [])]
    for section in sections:
        for title, pages in PAGES.items():
            if isinstance(section, dict) and isinstance(section.get(title), str):
                listed = [{Path(address).stem: address} for address in sorted(pages())]
                section[title] = [{"Overview": section[title]}, *listed]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are generated whole."""
    for pages in PAGES.values():
        for address, content in pages().items():
            files.append(File.generated(config, address, content=content))
    changelog = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    files.append(File.generated(config, "changelog.md", content=f"{HIDE_NAVIGATION}{changelog}"))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Fill in what a page asks for."""
    return PLACE.sub(lambda match: TEXTS[match[1]](), markdown)
