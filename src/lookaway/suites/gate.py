"""The gate of suites that score consistency: a rollout that never looked away and back tested no memory."""

from __future__ import annotations

from typing import Final

from lookaway.core import BoundMetric, Extractor
from lookaway.io.sampling import AtFps
from lookaway.metrics.revisited import Revisited
from lookaway.perception.motion.dis_flow import DisFlow
from lookaway.perception.motion.realised_motion import RealisedMotion

MOTION: Final = RealisedMotion(flow=DisFlow(frames=AtFps(8), height=128))
"""Small frames suffice to tell whether a picture moves, and larger shifts can be matched in them."""


def revisited_gate(name: str, poses: Extractor, subsets: tuple[str, ...] | None = None) -> BoundMetric:
    """The gate of a suite, by the suite's own poses; for all subsets, or those with consistency scores."""
    recipes = {"poses": poses, "motion": MOTION}
    return BoundMetric(name=name, metric=Revisited(), recipes=recipes, subsets=subsets, is_gate=True)
