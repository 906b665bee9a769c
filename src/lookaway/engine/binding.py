"""From metric names and overrides (`--use`, `--device`, a judge) to metrics that can run."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lookaway.core import BoundMetric, Compute, Dataset, Extractor, JudgeModel, Metric, UnknownName, UserError, plugins
from lookaway.engine.reading import load_suite


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """Changes to the recipes of a protocol."""

    using: Mapping[str, Extractor] = field(default_factory=dict)
    """Recipes in place of those that the suite has for a feature, wherever the feature is used."""
    compute: Compute | None = None
    """Where all networks run, and how precisely."""
    judge: JudgeModel | None = None
    """Who answers all questions."""

    def apply(self, bounds: tuple[BoundMetric, ...]) -> tuple[BoundMetric, ...]:
        """The metrics with other recipes."""
        known = {name for bound in bounds for name in _features(bound.recipes)}
        for name in self.using:
            if name not in known:
                raise UnknownName("feature of these metrics", name, known)
        return tuple(dataclasses.replace(bound, recipes=self._recipes(bound.recipes)) for bound in bounds)

    def _recipes(self, recipes: Mapping[str, Extractor]) -> dict[str, Extractor]:
        return {name: self._value(name, recipe) for name, recipe in recipes.items()}

    def _value(self, name: str, value: Any) -> Any:
        if isinstance(value, Compute):
            return self.compute or value
        if isinstance(value, JudgeModel):
            return self.judge or value
        if name == "device" and isinstance(value, str) and self.compute is not None:
            return self.compute.device
        if not dataclasses.is_dataclass(value) or isinstance(value, type):
            return value
        value = self._recipe(name, value)
        fields = dataclasses.fields(value)
        inner = {entry.name: self._value(entry.name, getattr(value, entry.name)) for entry in fields}
        changed = {name: new for name, new in inner.items() if new is not getattr(value, name)}
        return dataclasses.replace(value, **changed) if changed else value

    def _recipe(self, feature: str, usual: Any) -> Any:
        """The recipe of a feature; one of the answer's video and one of the true video never change places."""
        chosen = self.using.get(feature, usual)
        if _is_of_reference(chosen) != _is_of_reference(usual):
            shown = {True: "the true video", False: "the answer"}
            raise UserError(
                f"The feature {feature!r} tells of {shown[_is_of_reference(usual)]}, and the extractor "
                f"{chosen.name!r} of {shown[_is_of_reference(chosen)]}, which would be compared with itself. "
                "Leave it out, or name another extractor."
            )
        return chosen


def _is_of_reference(recipe: object) -> bool:
    """Extractors that look at the true video alone declare it; all others look at the answer."""
    return bool(getattr(recipe, "of_reference", False))


def _features(recipes: Mapping[str, Extractor]) -> Iterator[str]:
    """Names of the features of recipes, and of all that they are made from."""
    for name, recipe in recipes.items():
        yield name
        yield from _features(recipe.needs)


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
    return Overrides(using=recipes, compute=compute).apply(_chosen(dataset, names))


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
