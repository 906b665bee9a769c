"""Families of scenes: each builds a place from a random generator."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lookaway.world.families.aquarium import aquarium
from lookaway.world.families.bakery import bakery
from lookaway.world.families.bedroom import bedroom
from lookaway.world.families.building_site import building_site
from lookaway.world.families.crossing import crossing
from lookaway.world.families.dining_room import dining_room
from lookaway.world.families.farmyard import farmyard
from lookaway.world.families.fireside import fireside
from lookaway.world.families.garden import garden
from lookaway.world.families.gym import gym
from lookaway.world.families.kitchen import kitchen
from lookaway.world.families.lab import lab
from lookaway.world.families.loading_dock import loading_dock
from lookaway.world.families.lobby import lobby
from lookaway.world.families.office import office
from lookaway.world.families.park import park
from lookaway.world.families.playroom import playroom
from lookaway.world.families.plaza import plaza
from lookaway.world.families.pond import pond
from lookaway.world.families.street import street
from lookaway.world.nouns import Scene

_BUILDERS: tuple[Callable[[np.random.Generator], Scene], ...] = (
    aquarium,
    bakery,
    bedroom,
    building_site,
    crossing,
    dining_room,
    farmyard,
    garden,
    gym,
    kitchen,
    lab,
    loading_dock,
    lobby,
    office,
    park,
    playroom,
    street,
    # Newer ones come last: whoever measures the first so many families measures the same ones as before.
    plaza,
    pond,
    fireside,
)
FAMILIES: dict[str, Callable[[np.random.Generator], Scene]] = {build.__name__: build for build in _BUILDERS}
