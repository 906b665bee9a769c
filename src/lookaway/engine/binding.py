"""From the names a user gives to metrics that can run."""

from __future__ import annotations

from collections.abc import Sequence

from lookaway.core import BoundMetric, Dataset, Extractor, Metric, UnknownName, UserError, plugins
from lookaway.engine.reading import load_suite


def bind_metrics(dataset: Dataset, names: Sequence[str] | None = None) -> tuple[BoundMetric, ...]:
    """The suite's protocol, or the named part of it, or any installed metric by its own name."""
    protocol = {bound.name: bound for bound in load_suite(dataset.suite).metrics(dataset.settings)}
    if names is None:
        return tuple(protocol.values())
    chosen: dict[str, BoundMetric] = {}
    for name in names:
        matching = [bound for known, bound in protocol.items() if known == name or known.endswith(f".{name}")]
        for bound in matching or [_installed(name, protocol)]:
            chosen[bound.name] = bound
    return tuple(chosen.values())


def _installed(name: str, protocol: dict[str, BoundMetric]) -> BoundMetric:
    """A metric that the suite does not name, with the default recipe of each feature it needs."""
    if name not in plugins.names("metrics"):
        raise UnknownName("metric", name, {*protocol, *plugins.names("metrics")})
    metric: Metric = plugins.load("metrics", name)()
    recipes = {feature: _recipe(feature, protocol) for feature in (*metric.needs, *metric.uses)}
    return BoundMetric(name=name, metric=metric, recipes=recipes)


def _recipe(feature: str, protocol: dict[str, BoundMetric]) -> Extractor:
    """The suite's own recipe for a feature, by the feature's or the extractor's name, else the extractor's defaults."""
    for bound in protocol.values():
        for known, recipe in bound.recipes.items():
            if feature in (known, recipe.name):
                return recipe
    kind = plugins.load("extractors", feature)
    try:
        default: Extractor = kind()
    except TypeError as error:
        raise UserError(
            f"The extractor {feature!r} cannot be used by name alone ({error}). "
            "Bind the metric in a suite that gives it a recipe, or give its fields defaults."
        ) from error
    return default
