"""Lays the first visit of a view over the return."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Annotated, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Floats, Mask, Pixels, Reason, Trajectory, Unmeasurable, project_points
from lookaway.perception.edges import EdgeFilter, edges
from lookaway.perception.poses.sift_matches import mutual_matches

Value = TypeVar("Value", np.uint8, np.floating[Any])
"""A value of a picture, or of a map."""


@dataclass(frozen=True, slots=True)
class AlignmentLimits:
    """How two frames of one view are laid over each other."""

    ratio: Annotated[float, "a match must be nearer than this part of the second nearest, seen from both frames"] = 0.8
    min_inliers: Annotated[int, "fewer matched points do not fix a homography"] = 12
    certain_inliers: Annotated[int, "so many are believed however far they are from the poses"] = 30
    max_disagreement: Annotated[
        float, "frame heights by which corners may be off the poses where there are fewer points than that"
    ] = 0.15
    tolerance: Annotated[float, "frame heights by which a matched point may be off"] = 0.008
    trials: Annotated[int, "samples of matched points that are tried at most"] = 5000
    confidence: Annotated[float, "probability of a good sample at which no more are tried"] = 0.999
    min_edge_correlation: Annotated[float, "least correlation of edges that are aligned"] = 0.25
    edge_blurs: Annotated[tuple[int, ...], "pixels by which edges are blurred, one after the other"] = (9, 5)
    edge_steps: Annotated[int, "steps of each search for the best correlation"] = 60
    edge_gain: Annotated[float, "a step that gains less correlation is the last"] = 1e-4
    edges: Annotated[EdgeFilter, "what is aligned where too few points match"] = EdgeFilter(20.0)
    depth: Annotated[float, "in median depths of the view, of the plane by which poses lay one over the other"] = 1.0
    depths: Annotated[
        tuple[float, ...], "in median depths of the view, at which a return from a place a little aside is compared"
    ] = (0.35, 0.45, 0.6, 0.8, 1.0, 1.4, 2.2, 5.0, 50.0)


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """A frame with its points, at the size at which frames are compared."""

    pixels: Pixels
    points: Floats
    """[P, 2] pixels from the corner."""
    descriptors: Floats
    """[P, 128] square roots of SIFT's, each of length 1."""

    @property
    def size(self) -> tuple[int, int]:
        """Width and height."""
        return self.pixels.shape[1], self.pixels.shape[0]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Alignment:
    """How pixels of the return are found in the first visit."""

    homography: Floats
    """[3, 3] from pixels of the return to pixels of the first visit."""
    source: str
    """What it comes from: `points`, `edges` or `poses`."""
    matches: int
    inliers: int
    rows: Floats
    """[M, 2] matched points in the first visit."""
    columns: Floats
    """[M, 2] the same points in the return."""
    disagreement: float
    """Frame heights by which a corner is off the poses."""


def align(cv2: ModuleType, first: View, second: View, by_poses: Floats, limits: AlignmentLimits) -> Alignment:
    """By matched points; where too few match, by edges, which outlive another light and another look."""
    height = second.size[1]
    rows, columns = mutual_matches(first.descriptors, second.descriptors, limits.ratio)
    points_1, points_2 = first.points[rows], second.points[columns]
    found, inliers = _by_points(cv2, points_1, points_2, max(1.0, limits.tolerance * height), limits)
    source = "points"
    if found is None or (
        inliers < limits.certain_inliers and _disagreement(found, by_poses, second.size) > limits.max_disagreement
    ):
        found, source, inliers = _by_edges(cv2, first.pixels, second.pixels, by_poses, limits), "edges", 0
    if found is None:
        found, source = by_poses, "poses"
    return Alignment(
        homography=found,
        source=source,
        matches=len(rows),
        inliers=inliers,
        rows=points_1,
        columns=points_2,
        disagreement=_disagreement(found, by_poses, second.size),
    )


def pose_homography(trajectory: Trajectory, second: int, first: int, size: tuple[int, int], depth: float) -> Floats:
    """[3, 3] from pixels of one frame to pixels of another by the poses, for a plane at so many median depths."""
    width, height = size
    corners = np.array([[0.25, 0.25], [0.75, 0.25], [0.75, 0.75], [0.25, 0.75]]) * [width, height]
    depths = trajectory.median_depth * depth
    scaled = replace(
        trajectory,
        intrinsics=trajectory.intrinsics_for(width, height),
        median_depth=depths,
        width=width,
        height=height,
    )
    seen = project_points(scaled, corners, second, np.array([first]))[0]
    if not np.isfinite(seen).all():
        raise Unmeasurable(Reason.POSE_FAILED, "by its poses, the camera came back to a view that it had behind it.")
    return _from_corners(corners, seen)


def swept_homographies(
    trajectory: Trajectory, second: int, first: int, size: tuple[int, int], depths: Sequence[float]
) -> Sequence[Floats]:
    """By the poses, for planes at several depths; those that lie behind the other camera are left out."""
    found = []
    for depth in depths:
        try:
            found.append(pose_homography(trajectory, second, first, size, depth))
        except Unmeasurable:
            continue
    return found


def warp(
    cv2: ModuleType, pixels: NDArray[Value], homography: Floats, size: tuple[int, int]
) -> tuple[NDArray[Value], Mask]:
    """A picture or map in the view that a homography leads from, and which pixels it shows."""
    # OpenCV counts from the centre of the first pixel.
    centre = np.array([[1, 0, 0.5], [0, 1, 0.5], [0, 0, 1.0]])
    inner = np.linalg.inv(centre) @ homography @ centre
    linear, nearest = (flag | cv2.WARP_INVERSE_MAP for flag in (cv2.INTER_LINEAR, cv2.INTER_NEAREST))
    shown = cv2.warpPerspective(np.full(pixels.shape[:2], 255, np.uint8), inner, size, flags=nearest)
    warped = cv2.warpPerspective(pixels, inner, size, flags=linear, borderMode=cv2.BORDER_REPLICATE)
    return warped, cv2.erode(shown, np.ones((5, 5), np.uint8), borderValue=0) > 0


def moved_points(homography: Floats, points: Floats) -> Floats:
    """[P, 2] where a homography leads."""
    seen = np.column_stack([points, np.ones(len(points))]) @ homography.T
    return np.asarray(seen[:, :2] / seen[:, 2:])


def _by_points(
    cv2: ModuleType, points_1: Floats, points_2: Floats, tolerance: float, limits: AlignmentLimits
) -> tuple[Floats | None, int]:
    if len(points_1) < limits.min_inliers:
        return None, 0
    found, agree = cv2.findHomography(
        points_2.astype(np.float32),
        points_1.astype(np.float32),
        cv2.USAC_MAGSAC,
        tolerance,
        maxIters=limits.trials,
        confidence=limits.confidence,
    )
    inliers = 0 if agree is None else int(agree.sum())
    return (None, 0) if found is None or inliers < limits.min_inliers else (found, inliers)


def _by_edges(
    cv2: ModuleType, first: Pixels, second: Pixels, by_poses: Floats, limits: AlignmentLimits
) -> Floats | None:
    """A small shift and turn of the picture that corrects the poses; `None` where edges do not correlate."""
    height, width = second.shape[:2]
    before = edges(cv2, warp(cv2, first, by_poses, (width, height))[0], limits.edges)
    after = edges(cv2, second, limits.edges)
    found = np.eye(2, 3, dtype=np.float32)
    correlation = 0.0
    criteria = (cv2.TERM_CRITERIA_COUNT | cv2.TERM_CRITERIA_EPS, limits.edge_steps, limits.edge_gain)
    try:
        for blur in limits.edge_blurs:
            correlation, found = cv2.findTransformECC(after, before, found, cv2.MOTION_EUCLIDEAN, criteria, None, blur)
    except cv2.error:  # it does not converge
        return None
    centre = np.array([[1, 0, 0.5], [0, 1, 0.5], [0, 0, 1.0]])
    corrected = by_poses @ centre @ np.vstack([found, [0, 0, 1]]).astype(np.float64) @ np.linalg.inv(centre)
    is_near = _disagreement(corrected, by_poses, (width, height)) <= limits.max_disagreement
    return np.asarray(corrected) if correlation >= limits.min_edge_correlation and is_near else None


def _disagreement(found: Floats, by_poses: Floats, size: tuple[int, int]) -> float:
    width, height = size
    corners = np.array([[0.0, 0.0], [width, 0.0], [width, height], [0.0, height]])
    return float(np.abs(moved_points(found, corners) - moved_points(by_poses, corners)).max() / height)


def _from_corners(points: Floats, seen: Floats) -> Floats:
    """The homography through four points."""
    rows = []
    for (x, y), (u, v) in zip(points, seen, strict=True):
        rows.append([x, y, 1, 0, 0, 0, -u * x, -u * y, u])
        rows.append([0, 0, 0, x, y, 1, -v * x, -v * y, v])
    system = np.array(rows)
    solution = np.linalg.solve(system[:, :8], system[:, 8])
    return np.append(solution, 1.0).reshape(3, 3)
