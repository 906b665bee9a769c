"""What the site says about metrics and the suites that bind them, with every constant."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, get_type_hints

from generate import evidence_tables
from generate.markdown import data, escaped, paragraphs, summary, table
from lookaway.core import BoundMetric, Metric, Option, Reason, plugins
from lookaway.core.lock import shared_constants
from lookaway.engine.reading import load_suite
from lookaway.judges.prompts import Prompt
from lookaway.perception.weights import Weights

CONSTANT = re.compile(r"\{([\w-]+):([\w.]+)\}")


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
        meaning = meaning_of(hints[field.name])
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
    for name, module, number in shared_constants(value):
        yield f"{prefix}{name}", (f"`{list(number) if isinstance(number, tuple) else number}`", f"of `{module}`")


def meaning_of(hint: object) -> str:
    """What a field says it means, in its annotation."""
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
    first, *others = paragraphs(kind)
    body = [text for text in others if not text.startswith("Abstains:")]
    abstains = [part for text in others if text.startswith("Abstains:") for part in text[9:].split(";")]
    parts = [
        f"# {name}",
        first,
        _facts(metric, bound),
        "## Public names",
        _names(bound),
        *_shown(bound),
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


def _shown(bound: Sequence[Binding]) -> Iterator[str]:
    """What tests and cards have shown for each public name."""
    if bound:
        yield "## What has been shown"
        yield "Derived from the tests and the shipped cards: see [all metrics](../evidence.md)."
        yield evidence_tables.shown_table([entry.bound for entry in bound])


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
    return table(("", ""), rows)


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
        (f"`{entry.bound.name}`", f"[`{entry.suite}`](../suites.md#{entry.suite})", subsets(entry.bound))
        for entry in bound
    ]
    return table(("Name", "Suite", "Subsets"), rows)


def subsets(bound: BoundMetric) -> str:
    """The subsets that a suite measures it on."""
    return ", ".join(bound.subsets or ()) or "all"


def _constants_table(bound: Sequence[Binding]) -> str:
    found = [binding.constants for binding in bound]
    meanings: dict[str, dict[str, None]] = {}
    for path, (_, meaning) in (entry for constants in found for entry in constants.items()):
        meanings.setdefault(path, {})[meaning] = None
    rows = [
        (
            f"`{path}`<br><small>{escaped('; '.join(meanings[path]))}</small>",
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
    return table(("Constant", *(f"`{head}`" for head in heads)), rows)


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
    # The published binding comes first, and it is what the text is about.
    constants = {binding.suite: binding.constants for binding in reversed(bound)}

    def value(match: re.Match[str]) -> str:
        return constants[match[1]][match[2]][0]

    for publication in data("pinned.yml"):
        entries = publication["metrics"].get(bound[0].bound.metric.name) if bound else None
        if entries:
            flat = [entry for part in entries for entry in (part if isinstance(part, list) else [part])]
            rows = [(CONSTANT.sub(value, entry["open"]), CONSTANT.sub(value, entry["pinned"])) for entry in flat]
            yield f"## Deviations from {publication['title']}"
            yield publication["intro"]
            yield table((f"{publication['title']} says", "Here"), rows)


def metrics() -> str:
    """All metrics, one row each."""
    rows = []
    for name in plugins.names("metrics"):
        kind = plugins.load("metrics", name)
        suites = sorted({binding.suite for binding in bindings() if binding.bound.metric.name == name})
        rows.append((f"[`{name}`]({name}.md)", summary(kind), ", ".join(f"`{suite}`" for suite in suites) or "none"))
    return table(("Metric", "Measures", "Suites"), rows)


def suites() -> str:
    """All suites with their metrics."""
    parts = []
    for name in plugins.names("suites"):
        suite = load_suite(name)
        rows = [
            (f"`{bound.name}`", f"[{bound.metric.name}](metrics/{bound.metric.name}.md)", subsets(bound))
            for bound in (binding.bound for binding in bindings() if binding.suite == name)
        ]
        parts += [
            f"## {name} {{ #{name} }}",
            f"{suite.title}. {summary(type(suite))} Version {suite.version}.",
            table(("Name", "Metric", "Subsets"), rows),
            table(("Option", "Meaning", "In the lock"), [_suite_option(option) for option in suite.options]),
        ]
    return "\n\n".join(parts)


def _suite_option(option: Option) -> tuple[str, str, str]:
    locked = f"`dataset.settings.{option.setting}`" if option.moves_numbers else "-"
    return f"`{option.flag}`", escaped(option.help), locked
