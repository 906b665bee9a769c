"""Cameras and points of a scene that grows camera by camera."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Floats, Indices
from lookaway.perception.opencv import load_opencv
from lookaway.perception.poses.tracking.bundle import Observations, SceneEstimate, adjust, local_points
from lookaway.perception.poses.tracking.focal_prior import FocalPrior
from lookaway.perception.poses.tracking.links import Link
from lookaway.perception.poses.tracking.settings import TrackerSettings
from lookaway.perception.poses.tracking.tracks import Tracks
from lookaway.perception.poses.tracking.turning import rays
from lookaway.perception.poses.tracking.two_views import fit_essential


def meet(directions: Floats, origins: Floats, points: Indices, count: int, min_angle: float) -> Floats:
    """[count, 3] nearest to all rays of each point; not a number where they meet at less than an angle.

    Rays are unit directions [O, 3] from origins [O, 3], each of one of the points [O]. The angle is in radians.
    """
    projectors = np.eye(3) - directions[:, :, None] * directions[:, None, :]
    matrices, sides = np.zeros((count, 3, 3)), np.zeros((count, 3))
    np.add.at(matrices, points, projectors)
    np.add.at(sides, points, np.einsum("oij,oj->oi", projectors, origins))
    # Of two rays at an angle a, the least eigenvalue is 1 - cos(a).
    is_wide = np.linalg.eigvalsh(matrices)[:, 0] > 1 - np.cos(min_angle)
    places = np.full((count, 3), np.nan)
    places[is_wide] = np.linalg.solve(matrices[is_wide], sides[is_wide][:, :, None])[:, :, 0]
    return places


@dataclass(slots=True, eq=False)
class Reconstruction:
    """What is known so far of all cameras and points."""

    cv2: ModuleType
    tracks: Tracks
    prior: FocalPrior
    tolerance: float
    settings: TrackerSettings
    focal: float
    rotations: Floats
    shifts: Floats
    """[F, 3, 3] and [F, 3] world to camera, of every frame."""
    is_placed: NDArray[np.bool_]
    """[F] which cameras have a place."""
    points: Floats
    """[T, 3]"""
    is_known: NDArray[np.bool_]
    """[T] which points have a place."""

    @classmethod
    def start(
        cls,
        tracks: Tracks,
        link: Link,
        focal: float,
        prior: FocalPrior,
        tolerance: float,
        settings: TrackerSettings,
    ) -> Reconstruction | None:
        """Place the two cameras of a link, if their points show depth."""
        cv2 = load_opencv()
        essential, mask = fit_essential(cv2, link, focal, tolerance, settings.geometry)
        if not mask.any():
            return None
        camera = np.diag([focal, focal, 1.0])
        _, rotation, shift, _ = cv2.recoverPose(essential, link.points_1, link.points_2, camera, mask=mask)
        frames = tracks.frame_count
        scene = cls(
            cv2,
            tracks,
            prior,
            tolerance,
            settings,
            focal,
            np.tile(np.eye(3), (frames, 1, 1)),
            np.zeros((frames, 3)),
            np.zeros(frames, np.bool_),
            np.zeros((tracks.count, 3)),
            np.zeros(tracks.count, np.bool_),
        )
        scene.rotations[link.second], scene.shifts[link.second] = rotation, shift.ravel()
        scene.is_placed[[link.first, link.second]] = True
        scene.triangulate()
        return scene if scene.is_known.sum() >= settings.scene.min_points else None

    def triangulate(self) -> None:
        """Give a place to every point that placed cameras see from far enough apart."""
        seen = self.tracks.keep(self.is_placed[self.tracks.frames] & ~self.is_known[self.tracks.tracks])
        turns = self.rotations[seen.frames]
        directions = np.einsum("oji,oj->oi", turns, rays(seen.points, self.focal))
        origins = -np.einsum("oji,oj->oi", turns, self.shifts[seen.frames])
        places = meet(directions, origins, seen.tracks, self.tracks.count, np.radians(self.settings.scene.min_angle))
        local = np.einsum("oij,oj->oi", turns, places[seen.tracks]) + self.shifts[seen.frames]
        shown = self.focal * local[:, :2] / local[:, 2:]
        is_wrong = ~(
            (np.linalg.norm(shown - seen.points, axis=1) < self.settings.scene.rough * self.tolerance)
            & (local[:, 2] > 0)
        )
        found = np.isfinite(places[:, 0]) & (np.bincount(seen.tracks[is_wrong], minlength=len(places)) == 0)
        self.points[found] = places[found]
        self.is_known |= found

    def place(self, frame: int) -> bool:
        """Place one more camera by the known points that it sees, if it sees enough."""
        seen = self.tracks.keep((self.tracks.frames == frame) & self.is_known[self.tracks.tracks])
        if len(seen.frames) < self.settings.scene.min_points:
            return False
        found, turn, shift, inliers = self.cv2.solvePnPRansac(
            self.points[seen.tracks],
            seen.points,
            np.diag([self.focal, self.focal, 1.0]),
            None,
            iterationsCount=self.settings.scene.trials,
            reprojectionError=self.settings.scene.rough * self.tolerance,
            confidence=self.settings.geometry.confidence,
            flags=self.cv2.SOLVEPNP_SQPNP,
        )
        if not found or inliers is None or len(inliers) < self.settings.scene.min_points:
            return False
        self.rotations[frame], self.shifts[frame] = self.cv2.Rodrigues(turn)[0], shift.ravel()
        self.is_placed[frame] = True
        return True

    def known_points(self) -> Indices:
        """[F] how many known points each frame sees."""
        frames = self.tracks.frames[self.is_known[self.tracks.tracks]]
        return np.bincount(frames, minlength=len(self.is_placed))

    def refine(self, steps: int) -> None:
        """Adjust placed cameras and known points together, then forget the observations that disagree."""
        chosen = np.flatnonzero(self.is_placed[self.tracks.frames] & self.is_known[self.tracks.tracks])
        cameras, points = np.flatnonzero(self.is_placed), np.flatnonzero(self.is_known)
        seen = Observations(
            np.searchsorted(cameras, self.tracks.frames[chosen]),
            np.searchsorted(points, self.tracks.tracks[chosen]),
            self.tracks.points[chosen],
        )
        scene = SceneEstimate(self.rotations[cameras], self.shifts[cameras], self.points[points], self.focal)
        scale = float(np.median(np.abs(local_points(scene, seen)[:, 2])))
        scene = SceneEstimate(scene.rotations, scene.shifts / scale, scene.points / scale, scene.focal)
        scene, errors = adjust(scene, seen, self.prior, self.tolerance, steps, self.settings.scene.bundle)
        self.rotations[cameras], self.shifts[cameras] = scene.rotations, scene.shifts
        self.points[points], self.focal = scene.points, scene.focal
        self._forget(chosen[errors > self.settings.scene.rough * self.tolerance])

    def _forget(self, wrong: Indices) -> None:
        kept = np.ones(len(self.tracks.frames), np.bool_)
        kept[wrong] = False
        self.tracks = self.tracks.keep(kept)
        placed = self.tracks.tracks[self.is_placed[self.tracks.frames]]
        self.is_known &= np.bincount(placed, minlength=self.tracks.count) >= 2
