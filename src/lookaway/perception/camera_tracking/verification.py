"""Which matches a rigid scene could have made, and whether they show that the camera moved."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

import numpy as np

from lookaway.core import Floats
from lookaway.perception.camera_tracking.epipolar import fit_epipolar
from lookaway.perception.camera_tracking.links import Link, Links
from lookaway.perception.camera_tracking.model_choice import preference_for_moving
from lookaway.perception.camera_tracking.turning import Turning

FEWEST_POINTS, LEAST_SHARE = 12, 0.3
"""A link of which fewer points, or a smaller share, obey one epipolar geometry is wrong."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Verification:
    """Links without their wrong points, and what the widest of them say."""

    links: tuple[Link, ...]
    wide: tuple[Link, ...]
    """Those between keyframes, over which the picture moved; the ones that a turn explains least come first."""
    preference: float
    """For a camera that moves over one that only turns; 0 where the picture hardly moved."""
    turned: float
    """Share of the points of wide links that a turn explains."""


def verify(cv2: ModuleType, links: Links, turning: Turning, tolerance: float) -> Verification:
    """Fit epipolar geometry to every link, and compare it with the turns."""
    kept, wide, preferences = [], [], []
    for link in links.links:
        epipolar = fit_epipolar(cv2, link, tolerance)
        if epipolar.inliers.sum() < max(FEWEST_POINTS, LEAST_SHARE * len(link)):
            continue
        kept.append(link.keep(epipolar.inliers))
        if links.is_wide(link):
            wide.append(kept[-1])
            errors = epipolar.errors[epipolar.inliers]
            preferences.append(preference_for_moving(turning.errors(kept[-1]), errors, tolerance / 2))
    missed = [_missed(turning.errors(link), tolerance) for link in wide]
    order = np.argsort([-count for count in missed], kind="stable")
    return Verification(
        links=tuple(kept),
        wide=tuple(wide[number] for number in order),
        preference=float(np.mean(preferences)) if preferences else 0.0,
        turned=1 - sum(missed) / max(1, sum(len(link) for link in wide)),
    )


def _missed(errors: Floats, tolerance: float) -> int:
    return int((errors > 2 * tolerance).sum())
