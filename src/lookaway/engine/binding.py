"""From metrics and overrides (`--use`, `--device`, a judge) to metrics that can run."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, get_args

from lookaway.core import (
    BoundMetric,
    Compute,
    Dataset,
    Extractor,
    JudgeModel,
    Metric,
    ProtocolName,
    UnknownName,
    UserError,
    describe,
    plugins,
)
from lookaway.engine.locking import source_sha256
from lookaway.engine.reading import load_suite
from lookaway.judges.judge_feature import JudgeFeature


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """Changes to the recipes of a protocol."""

    using: Mapping[str, Extractor | type[Extractor]] = field(default_factory=dict)
    """Recipes that replace those of the suite for a feature, wherever the feature is used.

    Of a class, fields without a default are those of the recipe that it replaces.
    """
    compute: Compute | None = None
    """Device and precision of all networks."""
    judge: JudgeModel | None = None
    """The judge that answers all questions."""
    gate_judge: JudgeModel | None = None
    """The judge that answers the questions of gates; by default the same."""

    def apply(self, bounds: tuple[BoundMetric, ...]) -> tuple[BoundMetric, ...]:
        """The metrics with these recipes."""
        known = {name for bound in bounds for name in feature_names(bound.recipes)}
        for name in self.using:
            if name not in known:
                raise UnknownName("feature of these metrics", name, known)
        return tuple(dataclasses.replace(bound, recipes=self._recipes(bound.recipes)) for bound in bounds)

    def _recipes(self, recipes: Mapping[str, Extractor]) -> dict[str, Extractor]:
        return {name: self._value(name, recipe) for name, recipe in recipes.items()}

    def _value(self, name: str, value: Any) -> Any:
        if isinstance(value, Compute):
            return self.compute or value
        if name == "device" and isinstance(value, str) and self.compute is not None:
            return self.compute.device
        if not dataclasses.is_dataclass(value) or isinstance(value, type):
            return value
        value = self._recipe(name, value)
        inner = {entry.name: self._inner(value, entry.name) for entry in dataclasses.fields(value)}
        changed = {name: new for name, new in inner.items() if new is not getattr(value, name)}
        return dataclasses.replace(value, **changed) if changed else value

    def _inner(self, recipe: Any, name: str) -> Any:
        value = getattr(recipe, name)
        if not isinstance(value, JudgeModel):
            return self._value(name, value)
        is_gate = isinstance(recipe, JudgeFeature) and recipe.asks_for_gate
        return (self.gate_judge if is_gate else None) or self.judge or value

    def _recipe(self, feature: str, usual: Any) -> Any:
        """The recipe of a feature; one for the generated and one for the reference video never change places."""
        if (chosen := self.using.get(feature)) is None:
            return usual
        if isinstance(chosen, type):
            chosen = _in_place_of(usual, chosen)
        if chosen.of_reference != usual.of_reference:
            video = {True: "the reference video", False: "the generated video"}
            raise UserError(
                f"The feature {feature!r} is extracted from {video[usual.of_reference]}, but the extractor "
                f"{chosen.name!r} reads {video[chosen.of_reference]}, which would be compared with itself. "
                "Leave it out, or name another extractor."
            )
        return chosen


def _in_place_of(usual: Any, kind: type[Any]) -> Extractor:
    """A recipe with its defaults; what has none, such as which frames are paired, is that of the usual one."""
    required = [
        entry.name
        for entry in dataclasses.fields(kind)
        if entry.default is dataclasses.MISSING and entry.default_factory is dataclasses.MISSING
    ]
    if missing := [name for name in required if not hasattr(usual, name)]:
        raise UserError(
            f"The extractor {kind.name!r} cannot replace {usual.name!r} by name alone: it has no default for "
            f"{', '.join(missing)}. Bind the metric in a suite that gives it a recipe, or give its fields defaults."
        )
    recipe: Extractor = kind(**{name: getattr(usual, name) for name in required})
    return recipe


def feature_names(recipes: Mapping[str, Extractor]) -> Iterator[str]:
    """Names of the features of recipes, and of all features that they need."""
    for name, recipe in recipes.items():
        yield name
        yield from feature_names(recipe.needs)


def bind_metrics(
    dataset: Dataset,
    metrics: Sequence[str | Metric] | None = None,
    *,
    protocol: ProtocolName | None = None,
    using: Mapping[str, str] | None = None,
    compute: Compute | None = None,
) -> tuple[BoundMetric, ...]:
    """The suite's protocol, or the named part of it, or any installed metric by its own name, or metric objects.

    `protocol` is `published` where nothing is said, or `corrected`, or both; a suite without a publication refuses it.
    The name of a suite stands for its protocol: `["memobench", "mind"]` measures both on the same rollouts, whatever
    their subsets, behind the gate of the suite that read the dataset; a whole name such as `memobench.all.psnr` stands
    for one metric of it, of whichever protocol, and its last part for that of the protocol asked for. `using` names
    other extractors for features; `compute` is the device and precision of all networks.
    """
    kinds = {feature: plugins.load("extractors", extractor) for feature, extractor in (using or {}).items()}
    if protocol is not None and protocol not in get_args(ProtocolName):
        raise UnknownName("protocol", protocol, get_args(ProtocolName))
    chosen = _chosen(dataset, metrics, protocol or USUAL_PROTOCOL)
    if protocol is not None and all(bound.protocol is None for bound in chosen):
        raise UserError(
            f"--protocol {protocol}: no publication has these metrics of the suite {dataset.suite!r}, so that there is "
            "one protocol only. Leave --protocol out."
        )
    return Overrides(using=kinds, compute=compute).apply(chosen)


USUAL_PROTOCOL: Final[ProtocolName] = "published"
"""What is measured where no protocol is named."""


@dataclass(frozen=True, slots=True)
class _Protocols:
    """All metrics of the suite of a dataset by name, and those of the protocol that is asked for."""

    dataset: Dataset
    asked: ProtocolName
    all: Mapping[str, BoundMetric]

    @property
    def own(self) -> dict[str, BoundMetric]:
        return {name: bound for name, bound in self.all.items() if bound.is_of(self.asked)}

    def of(self, suite: str) -> list[BoundMetric]:
        """Scores of a suite for every rollout of the dataset: subsets of another suite are not those of this one."""
        bounds = load_suite(suite).metrics(self.dataset.settings)
        return [dataclasses.replace(bound, subsets=None) for bound in bounds if not bound.is_gate]


def _chosen(dataset: Dataset, metrics: Sequence[str | Metric] | None, asked: ProtocolName) -> tuple[BoundMetric, ...]:
    bounds = load_suite(dataset.suite).metrics(dataset.settings)
    protocols = _Protocols(dataset, asked, {bound.name: bound for bound in bounds})
    protocol = protocols.own
    if metrics is None:
        return tuple(protocol.values())
    chosen: dict[str, BoundMetric] = {}
    for wanted in metrics:
        found = _named(wanted, protocols) if isinstance(wanted, str) else [_given(wanted, protocol)]
        for bound in found:
            if chosen.setdefault(bound.name, bound) != bound:
                raise UserError(
                    f"Two different metrics are named {bound.name!r}: {chosen[bound.name].metric} and {bound.metric}. "
                    "Give one of them another name, or measure them in two runs."
                )
    scores = [bound for bound in chosen.values() if not bound.is_gate]
    gates = (gate for gate in protocol.values() if gate.is_gate)
    return (*scores, *(own for gate in gates if (own := _narrowed(gate, scores, is_chosen=gate.name in chosen))))


def _narrowed(gate: BoundMetric, scores: Sequence[BoundMetric], *, is_chosen: bool) -> BoundMetric | None:
    """The gate for those subsets whose scores depend on it; `None` where none does. One that was chosen stays."""
    gated = [bound.subsets for bound in scores if bound.is_consistency]
    if is_chosen or None in gated:
        return gate
    needed = {subset for subsets in gated for subset in subsets or ()}
    own = tuple(sorted(needed)) if gate.subsets is None else tuple(name for name in gate.subsets if name in needed)
    return dataclasses.replace(gate, subsets=own) if own else None


def _named(name: str, protocols: _Protocols) -> list[BoundMetric]:
    own = protocols.own
    if name == protocols.dataset.suite:
        return list(own.values())
    if name in plugins.names("suites"):
        return [bound for bound in protocols.of(name) if bound.is_of(protocols.asked)]
    if name in protocols.all:
        return [protocols.all[name]]
    matching = [bound for known, bound in {**protocols.all, **own}.items() if known.endswith(f".{name}")]
    matching = [bound for bound in matching if bound.name in own] or matching
    return matching or _by_public_name(name, protocols) or [_installed(name, own)]


def _by_public_name(name: str, protocols: _Protocols) -> list[BoundMetric]:
    """The metric of this name in another suite; empty where none has it."""
    if "." not in name:
        return []
    others = (suite for suite in plugins.names("suites") if suite != protocols.dataset.suite)
    return [bound for suite in others for bound in protocols.of(suite) if bound.name == name]


def _given(metric: Metric, protocol: dict[str, BoundMetric]) -> BoundMetric:
    """A metric object; its source goes into the lock where no entry point leads to its class."""
    kind = type(metric)
    _require_metric(metric)
    is_installed = metric.name in plugins.names("metrics") and plugins.load("metrics", metric.name) is kind
    bound = _bound(metric.name, metric, protocol)
    return bound if is_installed else dataclasses.replace(bound, source_sha256=source_sha256(kind))


def _require_metric(metric: Any) -> None:
    if isinstance(metric, type):
        raise UserError(f"{metric.__name__} is a class, expected a metric: write {metric.__name__}().")
    kind = type(metric).__qualname__
    missing = [name for name in vars(Metric) if not name.startswith("_") and not hasattr(metric, name)]
    if missing:
        raise UserError(
            f"{kind} is not a metric: it has no {', '.join(missing)}. Derive it from lookaway.MetricBase, and give it "
            "a name and a method `measure`."
        )
    parameters = vars(type(metric)).get("__dataclass_params__")
    if parameters is None or not parameters.frozen:
        raise UserError(
            f"{kind} is not a frozen dataclass, so its constants may not be in the lock: decorate it with "
            "@dataclass(frozen=True)."
        )
    try:
        describe(metric)
    except TypeError as error:
        raise UserError(f"{kind}: {error}") from error


def _installed(name: str, protocol: dict[str, BoundMetric]) -> BoundMetric:
    """A metric that the suite does not name, with the default recipe of each feature it needs."""
    if name not in plugins.names("metrics"):
        raise UnknownName("metric", name, {*protocol, *plugins.names("metrics"), *plugins.names("suites")})
    return _bound(name, plugins.load("metrics", name)(), protocol)


def _bound(name: str, metric: Metric, protocol: dict[str, BoundMetric]) -> BoundMetric:
    """A metric with the suite's recipes; the gate decides for it where it does for that of the suite, or for all."""
    return BoundMetric(
        name=name,
        metric=metric,
        recipes={feature: _recipe(feature, protocol) for feature in (*metric.needs, *metric.uses)},
        is_consistency=_is_consistency(metric, protocol.values()),
    )


def _is_consistency(metric: Metric, protocol: Collection[BoundMetric]) -> bool:
    """Whether the suite says so; for a metric that it does not name, whether all suites that have the metric do."""
    scores = [bound for bound in protocol if not bound.is_gate]
    same = [bound.is_consistency for bound in scores if bound.metric.name == metric.name]
    if same or (scores and all(bound.is_consistency for bound in scores)):
        return same[0] if same else True
    others = [
        bound.is_consistency
        for installed in _protocols().values()
        for bound in installed
        if bound.metric.name == metric.name and not bound.is_gate
    ]
    return bool(others) and all(others)


def _protocols() -> dict[str, tuple[BoundMetric, ...]]:
    """The protocol of every installed suite, by its name."""
    return {name: load_suite(name).metrics({}) for name in plugins.names("suites")}


def _recipe(feature: str, protocol: dict[str, BoundMetric]) -> Extractor:
    """The suite's own recipe for a feature, by the feature's or the extractor's name, else the extractor's defaults."""
    for bound in protocol.values():
        for known, recipe in bound.recipes.items():
            if feature in (known, recipe.name):
                return recipe
    if feature not in plugins.names("extractors"):
        suites = [name for name, bounds in _protocols().items() if any(feature in bound.recipes for bound in bounds)]
        if suites:
            raise UserError(
                f"The suite has no recipe for the feature {feature!r}. Name one that has it: "
                f"{', '.join(f'--suite {name}' for name in suites)}."
            )
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
