"""Evidence of what changed where the camera came back: stored pictures, and which numbers are flagged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from lookaway.core import Feature, Json
from lookaway.reports.runs import LoadedRollout, LoadedRun, kept_feature

CHANGES: Final = "changes"
"""The feature that holds the pictures."""
PICTURES: Final = {"pairs": ("i", 2), "changed_area": ("f", 1), "pictures": ("u", 1), "offsets": ("i", 1)}
"""The arrays that are read, with their kind of numbers and the number of their axes."""
MAX_BYTES: Final = 2_000_000
JPEG: Final = b"\xff\xd8\xff"


@dataclass(frozen=True, slots=True, kw_only=True)
class PairPicture:
    """First visit, return and what changed, side by side."""

    frames: tuple[int, int]
    """First visit and return."""
    changed_area: float
    """Per cent of the revisited view."""
    jpeg: bytes


def pair_pictures(run: LoadedRun, rollout: LoadedRollout) -> list[PairPicture]:
    """The stored picture of every pair, the one with most change first; none where the run's own folder has none."""
    kept = kept_feature(run, rollout, CHANGES)
    if kept is None or not _has_pictures(kept[1]):
        return []
    arrays = kept[1].arrays
    found = [
        PairPicture(
            frames=(int(first), int(second)),
            changed_area=float(area),
            jpeg=arrays["pictures"][int(start) : int(stop)].tobytes(),
        )
        for (first, second), area, start, stop in zip(
            arrays["pairs"], arrays["changed_area"], arrays["offsets"][:-1], arrays["offsets"][1:], strict=True
        )
    ]
    # The store of a received run may hold anything.
    safe = [picture for picture in found if picture.jpeg.startswith(JPEG) and len(picture.jpeg) <= MAX_BYTES]
    return sorted(safe, key=lambda picture: -picture.changed_area)


def _has_pictures(feature: Feature) -> bool:
    arrays = feature.arrays
    found = {name: (array.dtype.kind, array.ndim) for name, array in arrays.items() if name in PICTURES}
    if found != PICTURES:
        return False
    pairs = len(arrays["pairs"])
    return arrays["pairs"].shape[1] == 2 and len(arrays["changed_area"]) == pairs == len(arrays["offsets"]) - 1


def flagged_by(metric: str, detail: Mapping[str, Json]) -> frozenset[str]:
    """The metrics that an outcome names as above their limits, and its own; empty where it names none.

    >>> sorted(flagged_by("remembered", {"flagged": ["light"]})), flagged_by("remembered", {"flagged": []})
    (['light', 'remembered'], frozenset())
    """
    named = detail.get("flagged")
    names = [name for name in named if isinstance(name, str)] if isinstance(named, list) else []
    return frozenset([metric, *names]) if names else frozenset()
