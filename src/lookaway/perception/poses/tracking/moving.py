"""The path of a camera that moves, and the points that it moves past."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lookaway.core import Floats
from lookaway.perception.opencv import load_opencv
from lookaway.perception.poses.tracking.bundle import Observations, SceneEstimate, local_points, residuals
from lookaway.perception.poses.tracking.focal_prior import FocalPrior
from lookaway.perception.poses.tracking.links import Link
from lookaway.perception.poses.tracking.reconstruction import Reconstruction
from lookaway.perception.poses.tracking.settings import TrackerSettings
from lookaway.perception.poses.tracking.tracks import Tracks
from lookaway.perception.poses.tracking.two_views import rough_focal


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Moving:
    """Where a camera that moves was and looked."""

    camera_to_world: dict[int, Floats]
    """[4, 4] of each frame that could be placed."""
    median_depth: dict[int, float]
    focal: float
    error: float
    """Median distance in pixels of the observations that agree."""
    inliers: int
    matches: int
    points: int
    known: dict[int, tuple[Floats, Floats]]
    """[P, 2] points of each of these frames in pixels, and [P] their depths."""


def fit_moving(
    tracks: Tracks,
    keyframes: Sequence[int],
    starts: Sequence[Link],
    prior: FocalPrior,
    tolerance: float,
    settings: TrackerSettings,
) -> Moving | None:
    """Grow a scene from the keyframes, then place all other frames in it; nothing where no pair shows depth.

    `starts` are pairs of keyframes, those that show most depth first.
    """
    limits, starts = settings.scene, starts[: settings.scene.starts]
    most = int(np.clip(limits.all_tracks / len(keyframes), limits.min_tracks, limits.max_tracks))
    thinned = tracks.longest(keyframes, most)
    focal = rough_focal(load_opencv(), starts, prior, tolerance, settings.geometry)
    tried = [Reconstruction.start(thinned, link, focal, prior, tolerance, settings) for link in starts]
    started = [scene for scene in tried if scene is not None]
    if not started:
        return None
    scene = max(started, key=lambda scene: int(scene.is_known.sum()))
    scene.refine(limits.first_steps)
    _grow(scene, keyframes)
    scene.triangulate()
    scene.refine(limits.last_steps)
    for frame in sorted({*range(tracks.frame_count)} - {*keyframes}):
        scene.place(frame)
    scene.triangulate()
    scene.refine(limits.last_steps)
    return _moving(scene)


def _grow(scene: Reconstruction, keyframes: Sequence[int]) -> None:
    """Place keyframes, always the one that sees most of what is known."""
    waiting = [frame for frame in keyframes if not scene.is_placed[frame]]
    while waiting:
        counts = scene.known_points()
        placed = next((f for f in sorted(waiting, key=lambda frame: -counts[frame]) if scene.place(f)), None)
        if placed is None:
            return
        waiting.remove(placed)
        scene.triangulate()
        scene.refine(scene.settings.scene.growing_steps)


def _moving(grown: Reconstruction) -> Moving:
    cameras = np.flatnonzero(grown.is_placed & (grown.known_points() >= grown.settings.scene.min_points))
    chosen = grown.tracks.keep(np.isin(grown.tracks.frames, cameras) & grown.is_known[grown.tracks.tracks])
    seen = Observations(np.searchsorted(cameras, chosen.frames), chosen.tracks, chosen.points)
    scene = SceneEstimate(grown.rotations[cameras], grown.shifts[cameras], grown.points, grown.focal)
    errors = np.linalg.norm(residuals(scene, seen, grown.settings.scene.bundle.nearest), axis=1)
    agree = errors < 2 * grown.tolerance
    depths = local_points(scene, seen)[:, 2]
    poses = np.tile(np.eye(4), (len(cameras), 1, 1))
    poses[:, :3, :3] = scene.rotations.transpose(0, 2, 1)
    poses[:, :3, 3] = -np.einsum("nji,nj->ni", scene.rotations, scene.shifts)
    known = {int(frame): (chosen.points[chosen.frames == frame], depths[chosen.frames == frame]) for frame in cameras}
    return Moving(
        camera_to_world=dict(zip(cameras.tolist(), poses, strict=True)),
        median_depth={frame: float(np.median(own)) for frame, (_, own) in known.items()},
        focal=scene.focal,
        error=float(np.median(errors[agree])),
        inliers=int(agree.sum()),
        matches=len(errors),
        points=int(grown.is_known.sum()),
        known=known,
    )
