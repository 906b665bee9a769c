"""Which protocols can measure one set of rollouts: published revisit scores, and the tables of other suites."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast

from lookaway.core import BoundMetric, Extractor, UnknownName
from lookaway.perception.similarity.compared_frames import MirroredFrames
from lookaway.perception.similarity.retraced_frames import RetracedFrames
from lookaway.suites.gate import revisited_gate
from lookaway.suites.mbench.protocol import action_protocol
from lookaway.suites.mind.protocol import protocol as mind_protocol
from lookaway.suites.revisit.own_metrics import delivered_metrics, own_metrics
from lookaway.suites.revisit.published import POSES, VARIANTS, Settings, published_metrics

OWN: Final = "revisit"
"""The protocol of this package."""
DELIVERED: Final = "delivered"
"""The camera against what the model was given; measured by default where `lookaway collect` wrote that down."""


def split_protocols(text: str) -> tuple[str, ...]:
    """Names of protocols, separated by commas; each once.

    >>> split_protocols("sana, mbench-a,sana")
    ('sana', 'mbench-a')
    """
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    for name in names:
        if name not in PROTOCOLS:
            raise UnknownName("revisit protocol", name, PROTOCOLS)
    return names


def protocol_metrics(names: Sequence[str], settings: Settings) -> tuple[BoundMetric, ...]:
    """The metrics of some protocols, one after the other, and one gate for all."""
    as_published = bool(settings.get("as_published"))
    if len(names) == 1 and names[0] in VARIANTS:
        return published_metrics(names[0], as_published, settings)
    bound: list[BoundMetric] = []
    for name in names:
        if name == OWN:
            found = own_metrics()
        elif name == DELIVERED:
            found = delivered_metrics()
        elif name in VARIANTS:
            found = published_metrics(name, as_published, settings)
        else:
            found = SUITES[name](settings)
        bound += (metric for metric in found if not metric.is_gate)
    return (*bound, revisited_gate("revisited", POSES))


def _mbench_a(settings: Settings) -> tuple[BoundMetric, ...]:
    """MBench-A's own metrics, with the tracked camera instead of supplied poses."""
    found = action_protocol(settings, POSES)
    return tuple(replace(bound, subsets=None) for bound in found if bound.name.startswith("mbencha."))


def _mind(settings: Settings) -> tuple[BoundMetric, ...]:
    """MIND's metrics. Unless as published, frames are mirrored where the requested camera retraces its path."""
    found = tuple(replace(bound, subsets=None) for bound in mind_protocol(settings))
    if settings.get("as_published"):
        return found
    return tuple(
        replace(bound, recipes={name: _retraced(recipe) for name, recipe in bound.recipes.items()}) for bound in found
    )


def _retraced(recipe: Extractor) -> Extractor:
    if not isinstance(recipe.compared, MirroredFrames):
        return recipe
    retraced: Extractor = replace(cast("Any", recipe), compared=RetracedFrames())
    return retraced


SUITES: Final[Mapping[str, Callable[[Settings], tuple[BoundMetric, ...]]]] = {"mbench-a": _mbench_a, "mind": _mind}
"""Suites whose protocol can measure the rollouts of any dataset; what a case lacks is an abstention."""
PROTOCOLS: Final = (OWN, DELIVERED, *VARIANTS, *SUITES)
"""All names."""
