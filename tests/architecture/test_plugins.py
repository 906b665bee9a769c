from __future__ import annotations

import dataclasses
import inspect
import re
from typing import get_type_hints

import pytest

from lookaway.core import BoundMetric, Reason, describe, plugins
from lookaway.engine.reading import load_suite

KINDS = ("suites", "metrics", "extractors", "executors", "adapters")
PLUGINS = [(kind, name) for kind in KINDS for name in plugins.names(kind)]
BOUND = [bound for suite in plugins.names("suites") for bound in load_suite(suite).metrics({})]


def test_every_kind_has_plugins():
    assert {kind for kind, _ in PLUGINS} == set(KINDS)


@pytest.mark.parametrize(("kind", "name"), PLUGINS)
def test_a_registered_plugin_loads_and_knows_its_own_name(kind, name):
    plugin = plugins.load(kind, name)
    assert inspect.getdoc(plugin)
    if kind != "executors":
        assert plugin.name == name


@pytest.mark.parametrize("bound", BOUND, ids=lambda bound: bound.name)
def test_a_bound_metric_says_when_it_abstains_in_typed_reasons(bound: BoundMetric):
    text = inspect.getdoc(type(bound.metric)) or ""
    _, found, abstains = text.partition("\nAbstains: ")
    assert found
    reasons = set(re.findall(r"`([a-z_]+)`", abstains)) - describe(bound.metric).keys()
    assert reasons
    assert reasons <= {reason.value for reason in Reason}


@pytest.mark.parametrize("bound", BOUND, ids=lambda bound: bound.name)
def test_a_bound_metric_has_a_recipe_for_every_feature_and_no_other(bound: BoundMetric):
    assert bound.recipes.keys() == {*bound.metric.needs, *bound.metric.uses}


@pytest.mark.parametrize("bound", BOUND, ids=lambda bound: bound.name)
def test_every_constant_of_a_bound_metric_says_what_it_is(bound: BoundMetric):
    hints = get_type_hints(type(bound.metric), include_extras=True)
    constants = [field.name for field in dataclasses.fields(bound.metric)]
    assert all(getattr(hints[name], "__metadata__", None) for name in constants)
