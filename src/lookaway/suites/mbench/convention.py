"""Determines the convention of stored extrinsics by testing both on matched points of frames."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, get_args

import numpy as np

from lookaway.core import Floats, FrameRequest, Json, Problem, Rollout, Trajectory, Unmeasurable, angles_degrees, digest
from lookaway.io.pose_files.checks import AMBIGUOUS, Convention, ToldConvention
from lookaway.io.pose_files.layouts import read_da3
from lookaway.io.pose_files.source import PoseSource
from lookaway.io.video import Video
from lookaway.metrics.two_views import TwoViews, epipolar_distances, transfer_distances
from lookaway.perception.opencv import load_opencv
from lookaway.perception.poses.sift_matches import mutual_matches, sift_points

UNTOLD: Final[Convention] = "world_to_camera"
"""As Depth Anything 3 writes it; used if no camera moves, since both conventions then agree."""
CLEARLY_BETTER: Final = 2.0
MAX_ITEMS: Final = 8
"""Divided among the models; each has at least one."""
LOOKED_AT_FOR_AN_ITEM: Final = 4
"""Rollouts that are static, unreadable or without matches are replaced by others."""
PAIRS_OF_AN_ITEM: Final = 3
TELLING_DEGREES: Final = 10.0
TELLING_BASELINE: Final = 0.1
"""As a fraction of the depth. Such views still match, and the conventions differ by tens of pixels."""
NEGLIGIBLE_BASELINE: Final = 1e-3
HEIGHT: Final = 240
FITTING_PIXELS: Final = HEIGHT / 20
"""Poses unrelated to the frames may by chance fit one convention twice as well as the other."""
KEYPOINTS: Final = 1024
RATIO: Final = 0.8
MIN_MATCHES: Final = 8


@dataclass(frozen=True, slots=True)
class _Compared:
    """Errors of both conventions, the median over the matches of each pair, and the number of matches."""

    errors: tuple[tuple[float, ...], ...]
    matches: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Errors of both conventions on some rollouts."""

    pixels: Mapping[Convention, float] | None
    """Error of each convention in pixels of frames of height `HEIGHT`; `None` if no two frames could be compared."""
    items: int
    """Rollouts whose frames were compared."""
    matches: int

    @staticmethod
    def of(compared: Sequence[_Compared]) -> Figures:
        """The median over the pairs of all rollouts."""
        pairs = [errors for item in compared for errors in item.errors]
        return Figures(
            pixels=dict(zip(get_args(Convention), np.median(pairs, axis=0).tolist(), strict=True)) if pairs else None,
            items=sum(bool(item.errors) for item in compared),
            matches=sum(item.matches for item in compared),
        )

    @property
    def winner(self) -> Convention | None:
        """The convention with a small error, at most half of the other's."""
        if self.pixels is None:
            return None
        better, worse = sorted(self.pixels, key=self.pixels.__getitem__)
        return better if self.pixels[better] <= min(FITTING_PIXELS, self.pixels[worse] / CLEARLY_BETTER) else None

    def settings(self) -> dict[str, Json]:
        """As in the lock."""
        errors = {f"{name}_pixels": self.pixels and round(self.pixels[name], 2) for name in get_args(Convention)}
        return {**errors, "items": self.items, "matches": self.matches}


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The decision and the errors behind it."""

    convention: ToldConvention
    total: Figures
    by_model: Mapping[str, Figures]

    def settings(self) -> dict[str, Json]:
        """As in the lock."""
        models: dict[str, Json] = {model: figures.settings() for model, figures in self.by_model.items()}
        test: dict[str, Json] = {**self.total.settings(), "frame_height": HEIGHT, "models": models}
        return {"extrinsics_convention": self.convention, "extrinsics_test": test}

    def problem(self) -> Problem | None:
        """The models that contradict each other, if any."""
        sides = {
            reading: [model for model, figures in self.by_model.items() if figures.winner == reading]
            for reading in get_args(Convention)
        }
        if not all(sides.values()):
            return None
        found = "; ".join(f"{reading} fits the frames of {', '.join(models)}" for reading, models in sides.items())
        return Problem(
            where="camera poses",
            message=f"{found}; expected one convention for all models. Convert the poses, or evaluate the models "
            "separately, with --models and --extrinsics-convention.",
        )


def decide_convention(rollouts: Sequence[Rollout]) -> Decision | None:
    """The convention that fits the frames of a dataset; `None` if no rollout has a file of poses.

    The poses of one model come from one tool, so a few of its rollouts represent all. In each, a few pairs of frames
    are compared whose views differ by some ten degrees or a tenth of the depth. The error of a match is its
    distance to its epipolar line, or, where the camera only turns, to where the rotation moves it; the error of a
    convention is the median over matches, then over pairs. The half of an epipolar line behind a camera is excluded:
    only this distinguishes forward from backward if the camera does not rotate.

    A convention wins if its error is at most half of the other's and a twentieth of the frame height. The result is
    the one that wins over all models together, unless the other wins for one of them. If cameras move but neither
    wins, or no frames could be matched, it is ambiguous. If no camera moves, both mean the same path.
    """
    by_model = _with_poses(rollouts)
    items = math.ceil(MAX_ITEMS / max(1, len(by_model)))
    candidates = {
        model: list(islice(_present(those), items * LOOKED_AT_FOR_AN_ITEM)) for model, those in by_model.items()
    }
    if not any(candidates.values()):
        return None
    moving = {model: _compared(those, items) for model, those in candidates.items() if those}
    figures = {model: Figures.of(compared) for model, compared in moving.items()}
    total = Figures.of([item for compared in moving.values() for item in compared])
    is_agreed = {each.winner for each in figures.values()} <= {total.winner, None}
    convention = (is_agreed and total.winner) or AMBIGUOUS
    return Decision(convention=convention if any(moving.values()) else UNTOLD, total=total, by_model=figures)


def _with_poses(rollouts: Iterable[Rollout]) -> dict[str, list[Rollout]]:
    """Rollouts by model, each in an order independent of the records."""
    by_model: dict[str, list[Rollout]] = {}
    for rollout in rollouts:
        if rollout.problem is None and "poses" in rollout.artifacts:
            by_model.setdefault(rollout.model, []).append(rollout)
    return {model: sorted(by_model[model], key=lambda rollout: digest(rollout.id)) for model in sorted(by_model)}


def _present(rollouts: Iterable[Rollout]) -> Iterator[Rollout]:
    return (rollout for rollout in rollouts if rollout.artifacts["poses"].is_file())


def _compared(rollouts: Iterable[Rollout], most: int) -> list[_Compared]:
    """Evidence of the readable rollouts whose camera moves, until enough have matches."""
    found: list[_Compared] = []
    for rollout in rollouts:
        if sum(bool(item.errors) for item in found) == most:
            break
        try:
            compared = _compare(rollout)
        except Unmeasurable:
            continue  # reported when the rollout is measured
        if compared is not None:
            found.append(compared)
    return found


def _compare(rollout: Rollout) -> _Compared | None:
    with Video(rollout.video) as video:
        source = PoseSource(
            path=rollout.artifacts["poses"], timeline=video.timeline, convention="camera_to_world", depth_maps=1
        )
        stored = read_da3(source).trajectory
        readings = (replace(stored, camera_to_world=np.linalg.inv(stored.camera_to_world)), stored)
        pairs = _telling_pairs(readings)
        if not pairs:
            return None
        frames = frozenset(int(stored.frame_indices[position]) for pair in pairs for position in pair)
        cv2, seen, size = load_opencv(), {}, (0.0, 0.0)
        for _, frame in video.frames([FrameRequest(frames, HEIGHT)]):
            seen[frame.index] = sift_points(cv2, frame.pixels, KEYPOINTS)
            size = (float(frame.pixels.shape[1]), float(frame.pixels.shape[0]))
    errors, matches = [], 0
    for first, second in pairs:
        (points_1, descriptors_1), (points_2, descriptors_2) = (
            seen[stored.frame_indices[at]] for at in (first, second)
        )
        rows, columns = mutual_matches(descriptors_1, descriptors_2, RATIO)
        if len(rows) >= MIN_MATCHES:
            matches += len(rows)
            views = (TwoViews.of(reading, first, second, size, NEGLIGIBLE_BASELINE) for reading in readings)
            errors.append(tuple(_error(view, points_1[rows], points_2[columns]) for view in views))
    return _Compared(tuple(errors), matches)


def _telling_pairs(readings: Sequence[Trajectory]) -> list[tuple[int, int]]:
    """Indices of the first pose and of some that differ from it increasingly; none if the camera is static."""
    turns = angles_degrees(readings[0].rotations[0], readings[0].rotations)
    # A camera that turns in one reading may also swing in the other: what both call motion is motion.
    ways = np.min([np.linalg.norm(reading.centres - reading.centres[0], axis=1) for reading in readings], axis=0)
    change = turns / TELLING_DEGREES + ways / (TELLING_BASELINE * readings[0].median_depth[0])
    seconds = {int(np.argmax(change >= least)) for least in range(1, PAIRS_OF_AN_ITEM + 1)}
    return [(0, second) for second in sorted(seconds) if second]


def _error(views: TwoViews, points_1: Floats, points_2: Floats) -> float:
    turned = transfer_distances(views, points_1, points_2)
    if views.is_pure_rotation:
        return float(np.median(turned))
    # The seen half of an epipolar line ends in the point at infinity, where turning alone takes a match.
    to_lines = epipolar_distances(views, points_1, points_2)
    distances = np.where(_is_in_front(views, points_1, points_2), to_lines, np.maximum(to_lines, turned))
    return float(np.median(distances))


def _is_in_front(views: TwoViews, points_1: Floats, points_2: Floats) -> Floats:
    """[M] whether the rays of a match meet in front of both cameras."""
    rays_1 = (
        np.column_stack([points_1, np.ones(len(points_1))]) @ np.linalg.inv(views.intrinsics_1).T @ views.rotation.T
    )
    rays_2 = np.column_stack([points_2, np.ones(len(points_2))]) @ np.linalg.inv(views.intrinsics_2).T
    normals = np.cross(rays_1, rays_2)
    depths_1 = np.einsum("mi,mi->m", normals, np.cross(rays_2, views.translation))
    depths_2 = np.einsum("mi,mi->m", normals, np.cross(rays_1, views.translation))
    return np.asarray((depths_1 > 0) & (depths_2 > 0))
