"""Decides what stored extrinsics turn into what, by trying both readings on points that frames have in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, zip_longest
from typing import Final, get_args

import numpy as np

from lookaway.core import Floats, FrameRequest, Json, Rollout, Trajectory, Unmeasurable, angles_degrees, digest
from lookaway.io.pose_files.checks import AMBIGUOUS, Convention, ToldConvention
from lookaway.io.pose_files.da3 import read_da3
from lookaway.io.pose_files.source import PoseSource
from lookaway.io.video import Video
from lookaway.metrics.two_views import TwoViews, epipolar_distances, transfer_distances
from lookaway.perception.opencv import load_opencv
from lookaway.perception.sift_matches import mutual_matches
from lookaway.perception.sift_points import sift_points

UNTOLD: Final[Convention] = "world_to_camera"
"""As Depth Anything 3 writes it; taken where no camera moves, since both readings then say the same."""
CLEARLY_BETTER: Final = 2.0
MOST_ITEMS: Final = 8
MOST_LOOKED_AT: Final = 32
"""Items that stand still, cannot be read or cannot be matched show nothing: others are looked at in their place."""
PAIRS_OF_AN_ITEM: Final = 3
TELLING_DEGREES: Final = 10.0
TELLING_BASELINE: Final = 0.1
"""As a part of the depth. Views that differ by so much look alike, and the readings differ by tens of pixels."""
NEGLIGIBLE_BASELINE: Final = 1e-3
HEIGHT: Final = 240
FITTING_PIXELS: Final = HEIGHT / 20
"""Poses that have nothing to do with the frames may still miss them twice as far in one reading as in the other."""
KEYPOINTS: Final = 1024
RATIO: Final = 0.8
FEWEST_MATCHES: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What was decided, and by which figures."""

    convention: ToldConvention
    pixels: Mapping[Convention, float] | None
    """Error of each reading in frames of `HEIGHT` rows; `None` where no two frames could be compared."""
    items: int
    """Rollouts whose frames were compared."""
    matches: int

    def settings(self) -> dict[str, Json]:
        """As they stand in the lock."""
        figures = {f"{name}_pixels": self.pixels and round(self.pixels[name], 2) for name in get_args(Convention)}
        test = {**figures, "frame_height": HEIGHT, "items": self.items, "matches": self.matches}
        return {"extrinsics_convention": self.convention, "extrinsics_test": test}


@dataclass(frozen=True, slots=True)
class _Compared:
    """Errors of both readings, the median over the matches of each pair, and how many matches there are."""

    errors: tuple[tuple[float, ...], ...]
    matches: int


def decide_convention(rollouts: Sequence[Rollout]) -> Decision | None:
    """Which reading of the poses of a dataset fits its frames; `None` where no rollout has a file of poses.

    The poses of one dataset come from one tool, so that a few rollouts, spread over models, speak for all. In each of
    them a few pairs of frames are compared whose views differ by some ten degrees or a tenth of the depth. The error of
    a match is its distance to its epipolar line, or, where the camera only turns, to where the turn takes it; the error
    of a reading is the median over matches, then over pairs. The half of an epipolar line that lies behind a camera
    does not count as line: it alone tells forward from backward where the camera does not turn.

    A reading wins whose error is at most half of the other's and a twentieth of the frame's height. Where cameras move
    but neither reading wins, or no frames could be matched, the convention is ambiguous. Where no camera moves, both
    readings mean the same path.
    """
    candidates = list(islice(_candidates(rollouts), MOST_LOOKED_AT))
    if not candidates:
        return None
    moving = _compared(candidates)
    first = next(moving, None)
    if first is None:
        return Decision(convention=UNTOLD, pixels=None, items=0, matches=0)
    telling = list(islice((item for item in chain([first], moving) if item.errors), MOST_ITEMS))
    if not telling:
        return Decision(convention=AMBIGUOUS, pixels=None, items=0, matches=0)
    pairs = [errors for item in telling for errors in item.errors]
    pixels = dict(zip(get_args(Convention), np.median(pairs, axis=0).tolist(), strict=True))
    better, worse = sorted(pixels, key=lambda name: pixels[name])
    is_clear = pixels[better] <= min(FITTING_PIXELS, pixels[worse] / CLEARLY_BETTER)
    return Decision(
        convention=better if is_clear else AMBIGUOUS,
        pixels=pixels,
        items=len(telling),
        matches=sum(item.matches for item in telling),
    )


def _candidates(rollouts: Iterable[Rollout]) -> Iterator[Rollout]:
    """Rollouts with poses, one of each model in turn, in an order that does not follow that of the records."""
    by_model: dict[str, list[Rollout]] = {}
    for rollout in rollouts:
        if rollout.problem is None and "poses" in rollout.artifacts:
            by_model.setdefault(rollout.model, []).append(rollout)
    shuffled = [sorted(by_model[model], key=lambda rollout: digest(rollout.id)) for model in sorted(by_model)]
    turns = chain.from_iterable(zip_longest(*shuffled))
    return (rollout for rollout in turns if rollout is not None and rollout.artifacts["poses"].is_file())


def _compared(rollouts: Iterable[Rollout]) -> Iterator[_Compared]:
    """What the rollouts show whose files can be read and whose camera moves."""
    for rollout in rollouts:
        try:
            found = _compare(rollout)
        except Unmeasurable:
            continue  # the same is found, and told, when the rollout is measured
        if found is not None:
            yield found


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
        if len(rows) >= FEWEST_MATCHES:
            matches += len(rows)
            views = (TwoViews.of(reading, first, second, size, NEGLIGIBLE_BASELINE) for reading in readings)
            errors.append(tuple(_error(view, points_1[rows], points_2[columns]) for view in views))
    return _Compared(tuple(errors), matches)


def _telling_pairs(readings: Sequence[Trajectory]) -> list[tuple[int, int]]:
    """Positions of the first pose and of some that differ from it more and more; none where the camera stands still."""
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
    """[M] whether the rays of a match meet before both cameras, as far as they meet."""
    rays_1 = (
        np.column_stack([points_1, np.ones(len(points_1))]) @ np.linalg.inv(views.intrinsics_1).T @ views.rotation.T
    )
    rays_2 = np.column_stack([points_2, np.ones(len(points_2))]) @ np.linalg.inv(views.intrinsics_2).T
    normals = np.cross(rays_1, rays_2)
    depths_1 = np.einsum("mi,mi->m", normals, np.cross(rays_2, views.translation))
    depths_2 = np.einsum("mi,mi->m", normals, np.cross(rays_1, views.translation))
    return np.asarray((depths_1 > 0) & (depths_2 > 0))
