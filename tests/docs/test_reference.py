"""The generated reference holds everything that is installed, with every constant."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any

import click
import pytest

from lookaway.cli.main import lookaway as root
from lookaway.core import BoundMetric, Reason, errors, plugins
from lookaway.engine.locking import metric_entries
from lookaway.engine.reading import load_suite
from lookaway.store.outcome_rows import SCHEMA
from lookaway.store.run_folder import ROLLOUT_COLUMNS
from tests.docs.pages import REPOSITORY
from tests.docs.site import PageText, Site

pytestmark = pytest.mark.docs

BINDINGS = [
    pytest.param(suite, bound, id=f"{suite}-{bound.metric.name}")
    for suite in plugins.names("suites")
    for bound in load_suite(suite).metrics({})
]
PUBLISHED = [binding for binding in BINDINGS if binding.values[0] in ("mbench-a", "mbench-t")]


def metric_page(site: Site, name: str) -> PageText:
    return site.page(f"reference/metrics/{name}.html")


@pytest.mark.parametrize("name", plugins.names("metrics"))
def test_every_metric_has_a_page_with_its_docstring(site: Site, name: str) -> None:
    page = metric_page(site, name)
    kind = plugins.load("metrics", name)
    words = re.sub(r"[`\s]+", "", page.text)
    for paragraph in (inspect.getdoc(kind) or "").split("\n\n"):
        for part in re.split(r"Abstains:|;", paragraph):
            assert re.sub(r"[`\s]+", "", part).rstrip(".") in words
    facts = {row[0]: row[1] for table in page.tables for row in table if len(row) == 2}
    assert facts["Version"] == str(kind.version)
    assert facts["Raw value"] == (kind.raw_unit or "none")
    assert facts["Better"] == ("higher" if kind.higher_is_better else "lower")
    for need in kind.needs:
        assert need in facts["Needs"]
    for use in kind.uses:
        assert use in facts["Uses where available"]


@pytest.mark.parametrize(("suite", "bound"), BINDINGS)
def test_every_pinned_constant_is_on_the_page(site: Site, suite: str, bound: BoundMetric) -> None:
    page = metric_page(site, bound.metric.name)
    is_alone = (
        sum(other.values[0] == suite and other.values[1].metric.name == bound.metric.name for other in BINDINGS) == 1
    )
    is_unique = sum(other.values[1].name == bound.name for other in BINDINGS) == 1
    values = page.column(suite if is_alone else bound.name if is_unique else f"{suite} {bound.name}")
    locked = dict(locked_constants(bound))
    assert locked
    for path, value in locked.items():
        assert path in values, f"{path} is locked, but not on the page"
        assert values[path].split(" version ")[0] == str(value), path
    assert suite in page.column("Suite")[bound.name] or not is_unique
    assert page.column("Subsets")[bound.name] == (", ".join(bound.subsets or ()) or "all")


@pytest.mark.parametrize(("suite", "bound"), BINDINGS)
def test_every_constant_says_what_it_means(site: Site, suite: str, bound: BoundMetric) -> None:
    cells = [
        row[0] for table in metric_page(site, bound.metric.name).tables for row in table if table[0][0] == "Constant"
    ]
    described = {cell.partition("\n")[0]: cell.partition("\n")[2].strip() for cell in cells}
    assert all(described[path] for path, _ in locked_constants(bound))


def locked_constants(bound: BoundMetric) -> Iterator[tuple[str, Any]]:
    """Path and value of everything in the metric's part of the lock that is not the version of some software."""
    entries = metric_entries(bound)
    yield from _leaves("", entries["metric"])
    for feature, recipe in entries["features"].items():
        yield feature, recipe["kind"]
        yield from _leaves(f"{feature}.", recipe)


def _leaves(prefix: str, entries: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in entries.items():
        if name in ("kind", "version"):
            continue
        if isinstance(value, list) and value and isinstance(value[0], Mapping):
            yield f"{prefix}{name}", ", ".join(entry["name"] for entry in value)
        elif isinstance(value, Mapping):
            yield f"{prefix}{name}", value["kind"]
            if not _is_known_by_its_name(value):
                yield from _leaves(f"{prefix}{name}.", value)
        else:
            yield f"{prefix}{name}", "none" if value == "" else value


def _is_known_by_its_name(entry: Mapping[str, Any]) -> bool:
    """Weights and prompts have hashes, which a page does not repeat."""
    return "files" in entry or "sha256" in entry


@pytest.mark.parametrize(("suite", "bound"), PUBLISHED)
def test_metrics_of_a_published_suite_list_their_deviations(site: Site, suite: str, bound: BoundMetric) -> None:
    pinned = metric_page(site, bound.metric.name).column("Here")
    assert pinned
    assert not any("{" in cell for row in pinned.items() for cell in row)


def test_every_suite_and_extractor_has_a_section(site: Site) -> None:
    suites, extractors = site.page("reference/suites.html"), site.page("reference/extractors.html")
    for name in plugins.names("suites"):
        assert name in suites.ids
        assert load_suite(name).title in suites.text
        for bound in load_suite(name).metrics({}):
            assert suites.column("Metric")[bound.name] == bound.metric.name
        for option in load_suite(name).options:
            assert suites.column("Meaning")[option.flag] == option.help
    for name in plugins.names("extractors"):
        assert name in extractors.ids
        for field in dataclasses.fields(plugins.load("extractors", name)):
            assert extractors.column("Meaning")[field.name]


def test_every_command_has_a_page_with_every_option(site: Site) -> None:
    for name, first in root.commands.items():
        page = site.page(f"reference/commands/{name}.html")
        for path, command in commands(f"lookaway {name}", first):
            assert command is first or path.replace(" ", "-") in page.ids
            context = click.Context(command, **root.context_settings)  # the command keeps its help option
            for parameter in command.get_params(context):
                names = parameter.opts if isinstance(parameter, click.Option) else [parameter.make_metavar(context)]
                for option in names:
                    assert option in page.text, f"{path} {option}"
                if isinstance(parameter, click.Option) and parameter.help:
                    assert " ".join(parameter.help.split()) in " ".join(page.text.split()), f"{path} {names}"


def commands(path: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(f"{path} {name}", inner)


def test_the_index_of_commands_says_once_what_each_is_for(site: Site) -> None:
    page = site.page("reference/command-line.html")
    lines = page.column("What it does")
    for name in root.commands:
        assert f"lookaway-{name}" in page.ids
        assert lines[f"lookaway {name}"]
    rows = [row for table in page.tables if table[0][0] == "Command" for row in table[1:]]
    assert len(rows) == len(root.commands)
    assert "more" not in page.ids, "Name what the commands under More are for, in docs/generate/command_pages.py."


def test_every_reason_is_documented(site: Site) -> None:
    page = site.page("concepts/outcomes.html")
    meanings, remedies = page.column("Meaning"), page.column("What to do")
    for reason in Reason:
        assert reason.value in page.ids
        assert meanings[reason.value]
        assert remedies[reason.value]


def test_every_error_and_column_is_documented(site: Site) -> None:
    error_page, folder_page = site.page("reference/errors.html"), site.page("reference/run-folder.html")
    for name, kind in inspect.getmembers(errors, inspect.isclass):
        if issubclass(kind, errors.LookawayError):
            assert error_page.text.count(name) >= 2, name
    for field in SCHEMA:
        assert folder_page.column("Type")[field.name] == str(field.type)
    for column in ROLLOUT_COLUMNS:
        assert folder_page.column("Meaning")[column]


@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/how-to/mbench-dataset.md"])
def test_pages_say_how_many_names_of_mbench_are_there(page: str) -> None:
    text = " ".join((REPOSITORY / page).read_text(encoding="utf-8").split())
    assert "all of MBench's 23 public metric names" in text or "All of MBench's 23 public metric names" in text
    bounds = (binding.values[1] for binding in PUBLISHED)
    names = {bound.name for bound in bounds if bound.is_of("published") and not bound.is_gate}
    assert len([name for name in names if name.startswith("mbench")]) == 23
