"""What holds for every page: no dead link, no machine path, nothing fetched, every dependency explained."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.docs.pages import REPOSITORY
from tests.docs.site import Site

pytestmark = pytest.mark.docs

ROOT_PAGES = sorted(REPOSITORY.glob("*.md"))
MACHINE_PATH = re.compile(r"(?<![\w.])/(work|farm|tmp|home|root|Users|mnt|opt|usr|var)(/|\b)")
LINK = re.compile(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)")
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_site_builds_strictly(site: Site) -> None:
    assert len(site.pages()) > 20


def test_no_page_names_a_machine_path(site: Site) -> None:
    texts = {str(path): site.page(str(path.relative_to(site.folder))).text for path in site.pages()}
    texts |= {path.name: path.read_text(encoding="utf-8") for path in ROOT_PAGES}
    found = {name: MACHINE_PATH.findall(text) for name, text in texts.items()}
    assert not {name: paths for name, paths in found.items() if paths}


def test_reading_the_site_fetches_nothing_from_elsewhere(site: Site) -> None:
    for path in site.pages():
        for address in site.page(str(path.relative_to(site.folder))).fetched:
            assert not re.match(r"(https?:)?//", address), f"{path.name} fetches {address}"
    for style in site.folder.rglob("*.css"):
        assert not re.search(r"url\((https?:)?//", style.read_text(encoding="utf-8")), style.name


def test_sources_of_the_site_are_not_published(site: Site) -> None:
    assert not [path for path in site.folder.rglob("*") if path.suffix in (".py", ".yml", ".md")]


@pytest.mark.parametrize("path", ROOT_PAGES, ids=lambda path: path.name)
def test_links_of_pages_outside_the_site_lead_somewhere(path: Path) -> None:
    missing = [link for link in LINK.findall(path.read_text(encoding="utf-8")) if not (REPOSITORY / link).exists()]
    assert not missing


def test_every_dependency_is_explained_and_nothing_else_is() -> None:
    text = (REPOSITORY / "docs/dependencies.md").read_text(encoding="utf-8")
    runtime, extras, development, compared, served, *_ = (
        _rows(part) for part in re.split(r"^## .*$", text, flags=re.MULTILINE)[1:]
    )
    optional = dict(PROJECT["optional-dependencies"])
    assert {package for package, *_ in development} == _names(optional.pop("dev"))
    assert {package for package, *_ in runtime} == _names(PROJECT["dependencies"])
    assert {(extra, package) for extra, package, *_ in extras} == {
        (extra, name) for extra, requirements in optional.items() for name in _names(requirements)
    }
    references = (REPOSITORY / "locks/references.lock").read_text(encoding="utf-8")
    assert {package for package, *_ in compared} == set(re.findall(r"^([\w-]+)==", references, flags=re.MULTILINE))
    asked = (REPOSITORY / "locks/vllm.in").read_text(encoding="utf-8")
    assert {package for package, *_ in served} <= set(re.findall(r"^([\w-]+)==", asked, flags=re.MULTILINE))
    for row in [*runtime, *extras, *development, *compared, *served]:
        assert all(row), row


def test_readme_names_every_extra() -> None:
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    for extra in PROJECT["optional-dependencies"]:
        assert f"`{extra}`" in text


def test_readme_and_home_say_the_same() -> None:
    readme, home = (
        (REPOSITORY / page).read_text(encoding="utf-8").replace("](docs/", "](").replace("\n### ", "\n## ")
        for page in ("README.md", "docs/index.md")
    )
    start = home.index("*Does the world go on")
    assert home[start : home.index("`lookaway demo`")] in readme
    assert home[home.index("## I have clips") : home.index("## What it can measure")] in readme


def test_licence_is_whole() -> None:
    text = (REPOSITORY / "LICENSE").read_text(encoding="utf-8")
    assert "Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text


def _rows(section: str) -> list[list[str]]:
    lines = [line for line in section.splitlines() if line.startswith("| `")]
    return [[cell.strip().strip("`") for cell in line.strip("| ").split(" | ")] for line in lines]


def _names(requirements: list[str]) -> set[str]:
    return {re.match(r"[\w-]+", requirement)[0] for requirement in requirements}  # type: ignore[index]
