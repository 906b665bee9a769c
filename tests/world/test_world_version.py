"""A change of the world's look raises its version, so that nobody goes on with a set of two minds."""

from __future__ import annotations

import json

import pytest

from lookaway.world.recipe import WORLD_VERSION
from tests.world.looks import KEPT, looks

pytestmark = pytest.mark.render

ADVICE = "the world looks otherwise: raise WORLD_VERSION, say so in the changelog, and run python -m tests.world.looks"


@pytest.fixture(scope="module")
def now():
    return looks()


@pytest.fixture(scope="module")
def kept():
    return json.loads(KEPT.read_text())


def test_the_version_is_that_of_the_looks_that_are_kept(kept):
    assert kept["version"] == WORLD_VERSION


def test_scenes_are_built_as_this_version_builds_them(now, kept):
    assert now["scenes"].items() >= kept["scenes"].items(), ADVICE


@pytest.mark.parametrize("kind", ["cameras", "pictures"])
def test_cameras_go_and_patterns_are_painted_as_in_this_version(kind, now, kept):
    assert now[kind].keys() == kept[kind].keys(), ADVICE
    for name, values in now[kind].items():
        assert values == pytest.approx(kept[kind][name], abs=0.01), f"{name}: {ADVICE}"
