"""No constant of a protocol may change without its lock."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from lookaway.core import BoundMetric, UserError, plugins
from lookaway.engine.locking import metric_key
from lookaway.judges.reobservation import Reobservation
from lookaway.perception.quality.lab_means import LabMeans

BOUND = {
    f"{suite} {bound.name}": bound
    for suite in ("mbench-a", "mbench-t", "memobench", "mind", "folder", "wrbench", "revisit")
    for bound in plugins.load("suites", suite)().metrics({"has_question_banks": True})
}
every_bound_metric = pytest.mark.parametrize("bound", BOUND.values(), ids=list(BOUND))


def changed(value: Any) -> Iterator[tuple[str, Any]]:
    """The value with one constant changed, for every constant in it, however deep, and where it stands."""
    hints = get_type_hints(type(value))
    for field in fields(value):
        found = getattr(value, field.name)
        if is_dataclass(found):
            for place, other in changed(found):
                yield f"{field.name}.{place}", replace(value, **{field.name: other})
        else:
            with suppress(UserError, ValueError):  # one constant can rule out another: COLMAP has one convention
                yield field.name, replace(value, **{field.name: another(found, hints[field.name])})


def another(value: Any, hint: Any) -> Any:
    choices = [option for part in (hint, *get_args(hint)) if get_origin(part) is Literal for option in get_args(part)]
    if value in choices:
        return next(option for option in choices if option != value)
    match value:
        case None:
            if "Reobservation" in str(hint):
                return Reobservation()
            return LabMeans() if "Extractor" in str(hint) else 60
        case str():
            return value[:-1] if len(value) > 1 else "x"
        case tuple() if value and all(isinstance(entry, float) for entry in value):
            return (*value[:-1], 2 * value[-1] + 1)
        case tuple():
            return value[:-1] if len(value) > 1 else (*value, *value) or ("x",)
        case bool():
            return not value
        case int():
            return 3 * value if value % 2 else 2 * value or 1  # what is odd, such as a window, stays odd
        case float():
            return value / 2 + 1e-6
    raise NotImplementedError(f"say how to change {value!r}")


def changed_bindings(bound: BoundMetric) -> Iterator[tuple[str, BoundMetric]]:
    for place, metric in changed(bound.metric):
        yield place, replace(bound, metric=metric)
    for feature, recipe in bound.recipes.items():
        for place, other in changed(recipe):
            yield f"{feature}.{place}", replace(bound, recipes={**bound.recipes, feature: other})


@every_bound_metric
def test_every_constant_moves_the_lock(bound):
    key = metric_key(bound)
    others = dict(changed_bindings(bound))
    assert len(others) >= 5
    assert [place for place, other in others.items() if metric_key(other) == key] == []


@every_bound_metric
def test_every_version_moves_the_lock(bound, monkeypatch):
    parts = [bound.metric, *bound.recipes.values()]
    parts += [part.pairs for part in parts if hasattr(part, "pairs")]
    for part in parts:
        key = metric_key(bound)
        monkeypatch.setattr(type(part), "version", part.version + 1)
        assert metric_key(bound) != key


@every_bound_metric
def test_a_lock_made_twice_is_the_same(bound):
    suite, name = next(key for key, value in BOUND.items() if value is bound).split(" ")
    (again,) = [
        other for other in plugins.load("suites", suite)().metrics({"has_question_banks": True}) if other.name == name
    ]
    assert metric_key(again) == metric_key(bound)


def test_the_constants_of_pairs_are_among_those_that_were_changed():
    places = set(dict(changed_bindings(BOUND["mbench-a mbencha.environment.spatial_epipolar"])))
    assert {"matches.pairs.most", "matches.poses.convention", "matches.ratio", "poses.convention"} <= places
    assert {"scale_pixels", "min_matches", "negligible_baseline"} <= places
