"""Scenes and shots that the tests of the world share; drawing is what they cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from lookaway.world.families import FAMILIES
from lookaway.world.recipe import ClipRecipe, Injection
from lookaway.world.studio import Shot, Studio
from tests.support.scenes import SCENES, small_recipe


@pytest.fixture(scope="package", autouse=True)
def test_scenes() -> Iterator[None]:
    """The tests' own scenes, as families."""
    FAMILIES.update(SCENES)
    yield
    for name in SCENES:
        del FAMILIES[name]


@pytest.fixture(scope="module")
def studio() -> Iterator[Studio]:
    studio = Studio()
    yield studio
    studio.close()


Shoot = Callable[..., Shot]


@pytest.fixture(scope="module")
def shoot(studio: Studio) -> Shoot:
    """Shoot a small clip; faults as `teleport=0.4`."""

    def shot(case: ClipRecipe | None = None, *, take: int = 0, **faults: float) -> Shot:
        injections = tuple(Injection(fault=name, severity=severity) for name, severity in faults.items())
        return studio.shoot(replace(case or small_recipe(), model="faulty", take=take, injections=injections))

    return shot
