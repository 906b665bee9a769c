"""Writes the reference pages of the site from the package itself, so that they cannot differ from it.

A page asks for generated text with a comment, `<!-- generate: command-line -->`. Two kinds of pages are generated
whole: one for each metric, and the changelog.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args, get_type_hints

import click
import yaml
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from pydantic import BaseModel

import lookaway
from lookaway.cli.main import lookaway as command_line_root
from lookaway.cli.suite_options import DatasetCommand
from lookaway.core import BoundMetric, ExtractorBase, Metric, Option, Reason, errors, plugins
from lookaway.engine.reading import load_suite
from lookaway.io import limits as io_limits
from lookaway.io.clip_card import ClipCard
from lookaway.judges.prompts import Prompt
from lookaway.perception.weights import CATALOGUE, Weights
from lookaway.reports.lock_explanations import TOLERANCES
from lookaway.reports.missing_values import NEXT_STEPS
from lookaway.store import run_folder
from lookaway.store.outcome_rows import SCHEMA
from lookaway.world.actors import ACTORS
from lookaway.world.cameras import CAMERAS
from lookaway.world.clip import build_scene
from lookaway.world.families import FAMILIES
from lookaway.world.faults import FAULTS

HERE = Path(__file__).parent
REPOSITORY = HERE.parent
METRIC_PAGES = "reference/metrics"
HIDE_NAVIGATION = "---\nhide:\n  - navigation\n---\n\n"
PLACE = re.compile(r"<!-- generate: ([\w-]+) -->")
CONSTANT = re.compile(r"\{([\w-]+):([\w.]+)\}")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the generated pages of the metrics into the navigation."""
    index = f"{METRIC_PAGES}/index.md"
    pages = [{"All metrics": index}, *(f"{METRIC_PAGES}/{name}.md" for name in plugins.names("metrics"))]
    for entry in config.nav or []:
        for section in entry.get("Reference", []):
            if isinstance(section, dict) and section.get("Metrics") == index:
                section["Metrics"] = pages
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are generated whole."""
    for name in plugins.names("metrics"):
        files.append(File.generated(config, f"{METRIC_PAGES}/{name}.md", content=metric_page(name)))
    changelog = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    files.append(File.generated(config, "changelog.md", content=f"{HIDE_NAVIGATION}{changelog}"))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Fill in what a page asks for."""
    return PLACE.sub(lambda match: GENERATED[match[1]](), markdown)


# Metrics


@dataclasses.dataclass(frozen=True, slots=True)
class Binding:
    """A metric as one suite binds it."""

    suite: str
    bound: BoundMetric

    @property
    def constants(self) -> dict[str, tuple[str, str]]:
        """Value and meaning of every constant, by its path in the lock."""
        found = dict(_constants("", self.bound.metric))
        for feature, recipe in sorted(self.bound.recipes.items()):
            found[feature] = f"`{recipe.name}` version {recipe.version}", "how the feature is extracted"
            found.update(_constants(f"{feature}.", recipe))
        return found


@cache
def bindings() -> tuple[Binding, ...]:
    """Every metric of every installed suite, under the suite's own settings."""
    return tuple(Binding(suite, bound) for suite in plugins.names("suites") for bound in load_suite(suite).metrics({}))


def _constants(prefix: str, value: Any) -> Iterator[tuple[str, tuple[str, str]]]:
    """Every field of a frozen dataclass and of the dataclasses in it."""
    hints = get_type_hints(type(value), include_extras=True)
    for field in dataclasses.fields(value):
        inner, path = getattr(value, field.name), f"{prefix}{field.name}"
        meaning = _meaning(hints[field.name])
        if isinstance(inner, Weights | Prompt):
            yield path, (f"`{inner.name}`", meaning)
        elif isinstance(inner, tuple) and inner and dataclasses.is_dataclass(inner[0]):
            yield path, (", ".join(f"`{entry.name}`" for entry in inner), meaning)
        elif dataclasses.is_dataclass(inner):
            yield path, (_kind(inner), meaning)
            yield from _constants(f"{path}.", inner)
        else:
            shown = list(inner) if isinstance(inner, tuple) else inner
            yield path, (f"`{shown}`" if shown != "" else "none", meaning)


def _meaning(hint: object) -> str:
    return str(getattr(hint, "__metadata__", ("",))[0])


def _kind(value: Any) -> str:
    version = getattr(value, "version", None)
    name = f"`{getattr(value, 'name', type(value).__name__)}`"
    return name if version is None else f"{name} version {version}"


def metric_page(name: str) -> str:
    """Everything that the package knows about one metric."""
    kind = plugins.load("metrics", name)
    bound = [binding for binding in bindings() if binding.bound.metric.name == name]
    metric: Metric = bound[0].bound.metric if bound else kind()
    summary, *paragraphs = _paragraphs(kind)
    body = [text for text in paragraphs if not text.startswith("Abstains:")]
    abstains = [part for text in paragraphs if text.startswith("Abstains:") for part in text[9:].split(";")]
    parts = [
        f"# {name}",
        summary,
        _facts(metric, bound),
        "## Public names",
        _names(bound),
        "## How it is measured",
        *body,
        "## When it abstains",
        "\n".join(f"- {_with_links(part.strip().rstrip('.'))}" for part in abstains),
        "## Constants",
        "Every row is part of the [lock](../../concepts/lock.md). A name is a path in the lock: the metric's own "
        "constants first, then the recipe of each feature. A dash means that the suite's binding has no such constant.",
        _constants_table(bound),
        *_pinned(bound),
    ]
    return "\n\n".join(part for part in parts if part)


def _with_links(text: str) -> str:
    """Typed reasons as links to their meaning."""
    return re.sub(
        "`([a-z_]+)`",
        lambda found: f"[{found[0]}](../../concepts/outcomes.md#{found[1]})" if found[1] in set(Reason) else found[0],
        text,
    )


def _facts(metric: Metric, bound: Sequence[Binding]) -> str:
    low, high = ("unbounded" if end is None else f"{end:g}" for end in metric.range)
    recipes = {feature: recipe.name for binding in bound for feature, recipe in binding.bound.recipes.items()}
    rows = [
        ("Value", f"{metric.unit}, {low} to {high}"),
        ("Better", "higher" if metric.higher_is_better else "lower"),
        ("Raw value", metric.raw_unit or "none"),
        ("Version", str(metric.version)),
        ("Needs", _features(metric.needs, recipes)),
        ("Uses where available", _features(metric.uses, recipes)),
    ]
    return _table(("", ""), rows)


def _features(names: Sequence[str], recipes: Mapping[str, str]) -> str:
    links = (
        f"`{name}` from [`{recipes[name]}`](../extractors.md#{recipes[name]})" if name in recipes else f"`{name}`"
        for name in names
    )
    return ", ".join(links) or "nothing"


def _names(bound: Sequence[Binding]) -> str:
    if not bound:
        return "No installed suite includes it. Select it by its own name with `--metrics`."
    rows = [
        (f"`{entry.bound.name}`", f"[`{entry.suite}`](../suites.md#{entry.suite})", _subsets(entry.bound))
        for entry in bound
    ]
    return _table(("Name", "Suite", "Subsets"), rows)


def _subsets(bound: BoundMetric) -> str:
    return ", ".join(bound.subsets or ()) or "all"


def _constants_table(bound: Sequence[Binding]) -> str:
    found = [binding.constants for binding in bound]
    meanings: dict[str, dict[str, None]] = {}
    for path, (_, meaning) in (entry for constants in found for entry in constants.items()):
        meanings.setdefault(path, {})[meaning] = None
    rows = [
        (
            f"`{path}`<br><small>{_text('; '.join(meanings[path]))}</small>",
            *(constants.get(path, ("-", ""))[0] for constants in found),
        )
        for path in _merged(found)
    ]
    suites = Counter(binding.suite for binding in bound)
    names = Counter(binding.bound.name for binding in bound)
    heads = [
        binding.suite
        if suites[binding.suite] == 1
        else binding.bound.name
        if names[binding.bound.name] == 1
        else f"{binding.suite} {binding.bound.name}"
        for binding in bound
    ]
    return _table(("Constant", *(f"`{head}`" for head in heads)), rows)


def _merged(lists: Iterable[Iterable[str]]) -> list[str]:
    """All entries once; what only a later list has stands after its neighbour there."""
    merged: list[str] = []
    for entries in lists:
        place = 0
        for entry in entries:
            if entry not in merged:
                merged.insert(place, entry)
            place = merged.index(entry) + 1
    return merged


def _pinned(bound: Sequence[Binding]) -> Iterator[str]:
    """What each publication leaves open, and what is pinned here, for the suites that bind the metric."""
    constants = {binding.suite: binding.constants for binding in bound}

    def value(match: re.Match[str]) -> str:
        return constants[match[1]][match[2]][0]

    for publication in _data("pinned.yml"):
        entries = publication["metrics"].get(bound[0].bound.metric.name) if bound else None
        if entries:
            flat = [entry for part in entries for entry in (part if isinstance(part, list) else [part])]
            rows = [(CONSTANT.sub(value, entry["open"]), CONSTANT.sub(value, entry["pinned"])) for entry in flat]
            yield f"## Deviations from {publication['title']}"
            yield publication["intro"]
            yield _table((f"{publication['title']} says", "Here"), rows)


def metrics() -> str:
    """All metrics, one row each."""
    rows = []
    for name in plugins.names("metrics"):
        kind = plugins.load("metrics", name)
        suites = sorted({binding.suite for binding in bindings() if binding.bound.metric.name == name})
        rows.append((f"[`{name}`]({name}.md)", _summary(kind), ", ".join(f"`{suite}`" for suite in suites) or "none"))
    return _table(("Metric", "Measures", "Suites"), rows)


def suites() -> str:
    """All suites with their metrics."""
    parts = []
    for name in plugins.names("suites"):
        suite = load_suite(name)
        rows = [
            (f"`{bound.name}`", f"[{bound.metric.name}](metrics/{bound.metric.name}.md)", _subsets(bound))
            for bound in (binding.bound for binding in bindings() if binding.suite == name)
        ]
        parts += [
            f"## {name} {{ #{name} }}",
            f"{suite.title}. {_summary(type(suite))} Version {suite.version}.",
            _table(("Name", "Metric", "Subsets"), rows),
            _table(("Option", "Meaning", "In the lock"), [_suite_option(option) for option in suite.options]),
        ]
    return "\n\n".join(parts)


def _suite_option(option: Option) -> tuple[str, str, str]:
    locked = f"`dataset.settings.{option.setting}`" if option.moves_numbers else "-"
    return f"`{option.flag}`", _text(option.help), locked


# Extractors


def extractors() -> str:
    """All extractors with their fields."""
    parts = []
    for name in plugins.names("extractors"):
        kind = plugins.load("extractors", name)
        hints = get_type_hints(kind, include_extras=True)
        rows = [
            (f"`{field.name}`", _default(field), _text(_meaning(hints[field.name])))
            for field in dataclasses.fields(kind)
        ]
        users = sorted({binding.bound.metric.name for binding in bindings() if f"`{name}` version" in _values(binding)})
        parts += [
            f"## {name} {{ #{name} }}",
            *_paragraphs(kind),
            _table(
                ("", ""),
                [
                    ("Version", str(kind.version)),
                    ("Software in the lock", _software(kind)),
                    ("Rough cost", f"{kind.seconds_per_frame:g} s and {kind.bytes_per_frame:g} bytes per frame"),
                    ("Used by", ", ".join(f"[{user}](metrics/{user}.md)" for user in users) or "no installed suite"),
                ],
            ),
            _table(("Field", "Default", "Meaning"), rows) if rows else "",
            _table(("Array", "Type and axes", "Meaning"), [_array(*entry) for entry in kind.arrays.items()]),
        ]
    return "\n\n".join(parts)


def _values(binding: Binding) -> str:
    return " ".join(value for value, _ in binding.constants.values())


def _default(field: dataclasses.Field[Any]) -> str:
    default = field.default
    if field.default_factory is not dataclasses.MISSING:
        default = field.default_factory()
    if isinstance(default, Weights):
        return f"`{default.name}`"
    return "set by the suite" if default is dataclasses.MISSING else f"`{default}`"


def _software(kind: Any) -> str:
    software = () if kind.software is ExtractorBase.software else kind.software
    if not isinstance(software, tuple):
        return "that of its components"
    return ", ".join(f"`{entry}`" for entry in software) or "none"


def _array(name: str, text: str) -> tuple[str, str, str]:
    kind, _, meaning = text.partition(": ")
    return f"`{name}`", f"`{kind}`", _text(meaning)


def weights() -> str:
    """All published weights."""
    rows = []
    for name, listing in CATALOGUE.items():
        known = len(listing.sha256) == len(listing.files)
        pinned = "every file" if known else f"{len(listing.sha256)} of {len(listing.files)} files"
        rows.append(
            (
                f"`{name}`",
                _text(listing.purpose),
                f"{listing.megabytes}",
                _text(listing.licence),
                _text(listing.gate),
                f"`{listing.source}`",
                pinned,
            )
        )
    return _table(("Weights", "Purpose", "MB", "Licence", "Access", "Source", "Known hashes"), rows)


# Command line


def command_line() -> str:
    """Every command with every argument and option, as click knows them."""
    commands = _commands("lookaway", command_line_root)
    return "\n\n".join(part for path, command in commands for part in _command(path, command))


def _commands(path: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from _commands(f"{path} {name}", inner)


def _command(path: str, command: click.Command) -> Iterator[str]:
    context = click.Context(command, info_name=path, **command_line_root.context_settings)
    yield f"## {path} {{ #{path.replace(' ', '-')} }}"
    yield f"```text\n{command.get_usage(context).removeprefix('Usage: ')}\n```"
    yield from (_text(" ".join(text.split())) for text in inspect.cleandoc(command.help or "").split("\n\n"))
    if isinstance(command, click.Group):
        rows = [
            (f"[`{path} {name}`](#{path.replace(' ', '-')}-{name})", _text(inner.get_short_help_str(200)))
            for name, inner in command.commands.items()
        ]
        yield _table(("Command", ""), rows)
    options = [parameter for parameter in command.get_params(context) if isinstance(parameter, click.Option)]
    groups = command.option_groups(context) if isinstance(command, DatasetCommand) else {"Option": options}
    for heading, members in groups.items():
        records = filter(None, (option.get_help_record(context) for option in members))
        yield _table((heading, "Meaning"), [(f"`{names}`", _text(meaning)) for names, meaning in records])


# The simulated world


def world_families() -> str:
    """All families of scenes, with their targets and what happens to them."""
    rows = []
    for name, build in FAMILIES.items():
        scene = build_scene(name, seed=0)
        rows.append(
            (f"`{name}`", _summary(build), scene.target.name, _text(scene.motion.verb), _text(scene.process.name))
        )
    return _table(("Family", "Place", "Target", "It moves", "It changes"), rows)


def world_cameras() -> str:
    """All camera paths."""
    rows = [(f"`{path.name}`", f"`{path.action}`", path.words) for path in CAMERAS.values()]
    return _table(("Camera", "Action", "What it does"), rows)


def world_faults() -> str:
    """All faults, with their severities and with the metrics that must and must not react."""
    rows = []
    for fault in FAULTS.values():
        moves, spares = (
            ", ".join(f"[{name}](metrics/{name}.md)" for name in names) or "none"
            for names in (fault.moves, fault.spares)
        )
        begins = "while the target is out of view" if fault.begins_unseen else "with the camera's motion"
        rows.append((f"`{fault.name}`", _text(fault.summary), fault.dose_unit, begins, moves, spares))
    header = ("Fault", "At severity s", "Unit of dose", "Begins", "Must react", "Must not react")
    return _table(header, rows)


def world_actors() -> str:
    """All actors, from the best to the worst."""
    rows = []
    for actor in ACTORS.values():
        habits = ", ".join(f"`{fault}` {low:g} to {high:g}" for fault, (low, high) in actor.habits)
        rows.append((f"`{actor.name}`", _text(actor.summary), habits or "none"))
    return _table(("Actor", "What it does", "Faults and their severities"), rows)


def clip_fields() -> str:
    """Every field of `clip.json`."""
    return _table(("Field", "Meaning"), _card_rows("", ClipCard))


def _card_rows(prefix: str, kind: type[BaseModel]) -> Iterator[tuple[str, str]]:
    for name, field in kind.model_fields.items():
        inner = [part for part in (field.annotation, *get_args(field.annotation)) if inspect.isclass(part)]
        nested = next((part for part in inner if issubclass(part, BaseModel)), None)
        repeats = "[]" if nested is not None and nested is not field.annotation else ""
        meaning = field.description or (nested.__doc__ if nested else None) or name.replace("_", " ")
        yield f"`{prefix}{name}{repeats}`", _text(meaning)
        if nested is not None:
            yield from _card_rows(f"{prefix}{name}{repeats}.", nested)


# Outcomes, errors, files, packages


def reasons() -> str:
    """Every typed reason, its meaning, what to do, and whether anything uses it."""
    known = _data("meanings.yml")["reasons"]
    source = "".join(
        path.read_text(encoding="utf-8")
        for path in Path(lookaway.__file__ or "").parent.rglob("*.py")
        if path.name != "missing_values.py"
    )
    rows = []
    for reason in Reason:
        given = f"Reason.{reason.name}" in source or f'"{reason.value}"' in source
        step = NEXT_STEPS[reason]
        command = f" `{step.command}`" if step.command else ""
        later = "" if given else " *Reserved: not used yet.*"
        rows.append((f"`{reason.value}`{{ #{reason.value} }}", known[reason.value] + later, f"{step.words}{command}"))
    return _table(("Reason", "Meaning", "What to do"), rows)


def error_tree() -> str:
    """The tree of errors as the source draws it."""
    tree = next(text for text in inspect.cleandoc(errors.__doc__ or "").split("\n\n") if "├──" in text)
    return f"```text\n{tree}\n```"


def error_list() -> str:
    """Every error with its first line."""
    kinds = [
        kind
        for _, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, Exception) and kind.__module__ == errors.__name__
    ]
    ordered = sorted(kinds, key=lambda kind: inspect.getsourcelines(kind)[1])
    return _table(("Error", "Meaning"), [(f"`{kind.__name__}`", _summary(kind)) for kind in ordered])


def limits() -> str:
    """Every limit on the files of a dataset, with the comment that follows it in the source."""
    body = ast.parse(inspect.getsource(io_limits)).body
    rows = []
    for constant, meaning in pairwise(body):
        if isinstance(constant, ast.AnnAssign) and isinstance(meaning, ast.Expr):
            name = ast.unparse(constant.target)
            rows.append((f"`{name}`", f"{getattr(io_limits, name):,}", _text(ast.literal_eval(meaning.value))))
    return _table(("Limit", "Value", "Of"), rows)


def run_files() -> str:
    """The files of a run as the source lists them."""
    lines = [
        line for line in inspect.cleandoc(run_folder.__doc__ or "").splitlines() if line.strip().startswith("RUN/")
    ]
    return "```text\n" + "\n".join(line.strip() for line in lines) + "\n```"


def outcome_columns() -> str:
    """Columns of the rows of outcomes."""
    known = _data("meanings.yml")["outcome_columns"]
    return _table(
        ("Column", "Type", "Meaning"), [(f"`{field.name}`", f"`{field.type}`", known[field.name]) for field in SCHEMA]
    )


def rollout_columns() -> str:
    """Columns of the table of rollouts."""
    known = _data("meanings.yml")["rollout_columns"]
    return _table(("Column", "Meaning"), [(f"`{name}`", known[name]) for name in run_folder.ROLLOUT_COLUMNS])


def environment_tolerances() -> str:
    """Metrics that another environment moves, and how far."""
    rows = [
        (f"`{name}`", f"{entry.value:g}", f"{entry.raw:g}" if entry.raw else "", ", ".join(entry.moved_by))
        for name, entry in sorted(TOLERANCES.items())
    ]
    return _table(("Metric", "Score", "Raw value", "Moved by"), rows)


def packages() -> str:
    """The packages in their layers, from the contract that the import linter enforces."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    layers = next(c["layers"] for c in project["tool"]["importlinter"]["contracts"] if c["type"] == "layers")
    rows = []
    for number, layer in enumerate(layers, start=1):
        for package in layer.split(" | "):
            module = import_module(f"lookaway.{package}")
            rows.append((str(number), f"`{package}`", _text(_first_line(module.__doc__))))
    return _table(("Layer", "Package", "Contents"), rows)


GENERATED: dict[str, Callable[[], str]] = {
    "clip-fields": clip_fields,
    "command-line": command_line,
    "environment-tolerances": environment_tolerances,
    "error-list": error_list,
    "error-tree": error_tree,
    "extractors": extractors,
    "limits": limits,
    "metrics": metrics,
    "outcome-columns": outcome_columns,
    "packages": packages,
    "reasons": reasons,
    "rollout-columns": rollout_columns,
    "run-files": run_files,
    "suites": suites,
    "weights": weights,
    "world-actors": world_actors,
    "world-cameras": world_cameras,
    "world-families": world_families,
    "world-faults": world_faults,
}


# Text


@cache
def _data(name: str) -> Any:
    return yaml.safe_load((HERE / name).read_text(encoding="utf-8"))


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def _paragraphs(documented: object) -> list[str]:
    """A docstring as paragraphs of Markdown, without its doctests."""
    text = inspect.getdoc(documented) or ""
    return [_text(" ".join(part.split())) for part in text.split("\n\n") if not part.startswith(">>>")]


def _summary(documented: object) -> str:
    return _text(_first_line(inspect.getdoc(documented)))


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]


def _text(text: str) -> str:
    """Plain text as Markdown: what is not code is taken literally."""
    parts = text.split("`")
    for position in range(0, len(parts), 2):
        parts[position] = re.sub(r"([*_\[\]|{}])", r"\\\1", parts[position]).replace("<", "&lt;")
    return "`".join(parts)
