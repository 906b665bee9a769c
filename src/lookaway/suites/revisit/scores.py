"""Which scores can measure one set of rollouts: our own, published revisit scores, and those of other suites."""

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
from lookaway.suites.revisit.published import POSES, VARIANTS, Settings, published_gate, published_metrics

OWN: Final = "revisit"
"""The scores of this package."""
DELIVERED: Final = "delivered"
"""The camera against what the model was given; measured by default where `lookaway collect` wrote that down."""


def split_scores(text: str) -> tuple[str, ...]:
    """Names of scores, separated by commas; each once.

    >>> split_scores("sana, mbench-a,sana")
    ('sana', 'mbench-a')
    """
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    for name in names:
        if name not in SCORES:
            raise UnknownName("revisit score", name, SCORES)
    return names


def score_metrics(names: Sequence[str], settings: Settings) -> tuple[BoundMetric, ...]:
    """The metrics of some scores, one after the other, and one gate for all."""
    bound = [metric for name in names for metric in _metrics(name, settings) if not metric.is_gate]
    if len(names) == 1 and names[0] in VARIANTS:
        return (*bound, published_gate(names[0]))
    return (*bound, revisited_gate("revisited", POSES))


def _metrics(name: str, settings: Settings) -> tuple[BoundMetric, ...]:
    if name == OWN:
        return own_metrics()
    if name == DELIVERED:
        return delivered_metrics()
    return published_metrics(name, settings) if name in VARIANTS else SUITES[name](settings)


def _mbench_a(settings: Settings) -> tuple[BoundMetric, ...]:
    """MBench-A's own metrics, with the tracked camera instead of supplied poses."""
    found = action_protocol(settings, POSES)
    return tuple(replace(bound, subsets=None) for bound in found if bound.name.startswith("mbencha."))


def _mind(settings: Settings) -> tuple[BoundMetric, ...]:
    """MIND's metrics; the corrected ones mirror frames where the requested camera retraces its path."""
    found = (replace(bound, subsets=None) for bound in mind_protocol(settings))
    return tuple(
        replace(bound, recipes={name: _retraced(recipe) for name, recipe in bound.recipes.items()})
        if bound.protocol == "corrected"
        else bound
        for bound in found
    )


def _retraced(recipe: Extractor) -> Extractor:
    if not isinstance(recipe.compared, MirroredFrames):
        return recipe
    retraced: Extractor = replace(cast("Any", recipe), compared=RetracedFrames())
    return retraced


SUITES: Final[Mapping[str, Callable[[Settings], tuple[BoundMetric, ...]]]] = {"mbench-a": _mbench_a, "mind": _mind}
"""Suites whose metrics can measure the rollouts of any dataset; what a case lacks is an abstention."""
SCORES: Final = (OWN, DELIVERED, *VARIANTS, *SUITES)
"""All names."""
