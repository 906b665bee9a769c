"""From the names a user gives to metrics that can run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from lookaway.core import BoundMetric, Compute, Dataset, Extractor, Metric, UnknownName, UserError, plugins
from lookaway.engine.changes import Changes
from lookaway.engine.reading import load_suite


def bind_metrics(
    dataset: Dataset,
    names: Sequence[str] | None = None,
    *,
    using: Mapping[str, str] | None = None,
    compute: Compute | None = None,
) -> tuple[BoundMetric, ...]:
    """The suite's protocol, or the named part of it, or any installed metric by its own name.

    `using` names other extractors for features, and `compute` says where all networks run, and how precisely.
    """
    recipes = {feature: _default_recipe(extractor) for feature, extractor in (using or {}).items()}
    return Changes(using=recipes, compute=compute).apply(_chosen(dataset, names))


def _chosen(dataset: Dataset, names: Sequence[str] | None) -> tuple[BoundMetric, ...]:
    protocol = {bound.name: bound for bound in load_suite(dataset.suite).metrics(dataset.settings)}
    if names is None:
        return tuple(protocol.values())
    chosen: dict[str, BoundMetric] = {}
    for name in names:
        matching = [bound for known, bound in protocol.items() if known == name or known.endswith(f".{name}")]
        for bound in matching or [_installed(name, protocol)]:
            chosen[bound.name] = bound
    gates = [bound for bound in protocol.values() if bound.is_gate and _concerns(bound, chosen.values())]
    return (*(bound for bound in chosen.values() if not bound.is_gate), *gates)


def _concerns(gate: BoundMetric, metrics: Iterable[BoundMetric]) -> bool:
    """Whether any of the suite's metrics is asked of a subset that the gate is asked of."""
    subsets = {subset for bound in metrics for subset in bound.subsets or ()}
    return not subsets.isdisjoint(gate.subsets or ())


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
    return _default_recipe(feature)


def _default_recipe(extractor: str) -> Extractor:
    kind = plugins.load("extractors", extractor)
    try:
        default: Extractor = kind()
    except TypeError as error:
        raise UserError(
            f"The extractor {extractor!r} cannot be used by name alone ({error}). "
            "Bind the metric in a suite that gives it a recipe, or give its fields defaults."
        ) from error
    return default
