"""Two pictures of one view laid over each other; and what similarity can be in the same clip, at worst and at best."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Annotated

import numpy as np

from lookaway.core import Floats, Mask, Pixels, Trajectory, ViewGrid, revisited_points, view_overlaps
from lookaway.perception.revisit.alignment import warp


@dataclass(frozen=True, slots=True)
class ComparedPart:
    """Which part of two views of one place is compared, and with which other frames."""

    grid: Annotated[
        tuple[int, int], "columns and rows of the points of a view that are asked whether they were left"
    ] = (
        48,
        28,
    )
    min_compared: Annotated[float, "part of the picture; two views that have less in common are not compared"] = 0.05
    max_shown: Annotated[float, "share of what is compared that a frame of another view may show"] = 0.1
    views: Annotated[ViewGrid, "points by which it is told how much of a view another frame shows"] = ViewGrid()


@dataclass(frozen=True, slots=True, eq=False)
class AlignedViews:
    """The first visit as seen from the second frame, the second frame, and where the two are compared."""

    first: Pixels
    second: Pixels
    mask: Mask


@dataclass(frozen=True, slots=True)
class Controls:
    """Frames that the first visit of a pair is also compared with, as positions in the trajectory."""

    floor: int
    """A frame in which what is compared is out of view: so alike are two views that have nothing in common."""
    ceiling: int
    """A neighbour of the first visit: so alike are two frames of one view between which nothing was forgotten."""


def choose_controls(trajectory: Trajectory, first: int, second: int, part: ComparedPart) -> Controls | None:
    """The controls of a pair; `None` where nothing is compared, every frame shows it, or no neighbour shows the view.

    The ceiling is a neighbour whose view differs as much as that of the return, or the next one.
    """
    compared = revisited_points(trajectory, first, second, part.grid)
    if not compared.any():
        return None
    shown = view_overlaps(trajectory, second, compared)
    overlaps = view_overlaps(trajectory, first, part.views.whole)
    as_far = [place for place in (first + 1, first - 1) if place >= 0 and overlaps[place] <= overlaps[second]]
    floor, ceiling = int(np.argmin(shown)), max(as_far, key=lambda place: float(overlaps[place]), default=first + 1)
    is_found = shown[floor] <= part.max_shown and overlaps[ceiling] >= part.min_compared
    return Controls(floor, ceiling) if is_found else None


@dataclass(frozen=True, slots=True, eq=False)
class ViewAligner:
    """Lays frames of one clip over each other."""

    cv2: ModuleType
    trajectory: Trajectory
    frames: Mapping[int, Pixels]
    """By position in the trajectory."""
    part: ComparedPart

    def lay_over(self, first: int, second: int, homography: Floats, *, everywhere: bool = False) -> AlignedViews:
        """The first visit over the return, compared where the view was left and seen again, or everywhere."""
        pixels = self.frames[second]
        size = (pixels.shape[1], pixels.shape[0])
        placed, mask = warp(self.cv2, self.frames[first], homography, size)
        if not everywhere:
            left = revisited_points(self.trajectory, first, second, self.part.grid).astype(np.uint8)
            mask &= self.cv2.resize(left, size, interpolation=self.cv2.INTER_NEAREST) > 0
        return AlignedViews(placed, pixels, mask)

    def floor(self, pair: AlignedViews, floor: int) -> AlignedViews:
        """The first visit beside a frame of another view, compared at the same places of the picture."""
        return AlignedViews(pair.first, self.frames[floor], pair.mask)

    def ceiling(
        self, pair: AlignedViews, first: int, ceiling: int, homographies: tuple[Floats, Floats]
    ) -> AlignedViews:
        """The first visit over its neighbour, compared where that shows the same part of the scene.

        Homographies lead to the first visit: from the return, and from the neighbour.
        """
        found = self.lay_over(first, ceiling, homographies[1], everywhere=True)
        to_return = np.linalg.inv(homographies[0]) @ homographies[1]
        size = (pair.mask.shape[1], pair.mask.shape[0])
        shown, _ = warp(self.cv2, np.where(pair.mask, np.uint8(255), np.uint8(0)), to_return, size)
        # A picture is repeated beyond its edges, but a mask ends there.
        _, inside = warp(self.cv2, pair.second, to_return, size)
        return AlignedViews(found.first, found.second, found.mask & inside & (shown > 127))
