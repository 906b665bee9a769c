"""The camera path of a video, requested and found: from above, and as a turn over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from lookaway.core import Feature, Floats, Indices, Trajectory, Unmeasurable
from lookaway.reports.case_page.videos import CaseVideo, CaseVideos, known_truth
from lookaway.reports.runs import kept_feature

SIDE: Final = 160
WIDTH, HEIGHT = 300, 160
MARGIN: Final = 14
NEGLIGIBLE_METRES: Final = 1e-3
"""A camera whose path is shorter, in known units, only turns."""
NEGLIGIBLE_EXTENT: Final = 1e-2
"""The same as a share of the median depth, where units are not known."""
MAX_POINTS: Final = 48
MAX_PATHS: Final = 24
"""The most paths on one page."""
NO_POSES: Final = (
    "No camera poses are stored with the run: its metrics need none, or its features were not kept. "
    "The requested path is then known only as text."
)


@dataclass(frozen=True, slots=True)
class Path2D:
    """One camera path in the frame of its first camera."""

    frames: Indices
    right_forward: Floats
    """[N, 2]"""
    yaw_degrees: Floats
    """[N], to the right of the first view; not wrapped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CameraPathPlot:
    """The requested path of one video, where known, and the one that was found."""

    video: CaseVideo
    requested_from: str
    found_by: str
    is_same_scale: bool
    top: Mapping[str, str]
    """SVG paths by `requested` and `found`."""
    only_turns: bool
    yaw: Mapping[str, str]
    yaw_ticks: tuple[tuple[float, str], ...]
    """Height in the picture, and label."""
    last_yaw: Mapping[str, float]
    largest_difference: tuple[float, float] | None
    """Degrees, and at which second."""


def camera_paths(case: CaseVideos) -> tuple[list[CameraPathPlot], str]:
    """Paths of all videos that have any, every model's first video first; and why some are missing."""
    found: list[CameraPathPlot] = []
    for video in sorted(case.videos, key=lambda video: video.order):
        if len(found) == MAX_PATHS:
            return found, f"{MAX_PATHS} of {len(case.videos)} videos are drawn."
        if video.clip and (path := _path(video)) is not None:
            found.append(path)
    return found, "" if found else NO_POSES


def seen_from_first(camera_to_world: Floats, frames: Indices, scale: float) -> Path2D:
    """A path in the frame of its first camera (x right, z forward), its positions divided by a scale."""
    relative = np.linalg.inv(camera_to_world[0]) @ camera_to_world
    ahead = relative[:, :3, 2]
    yaw = np.degrees(np.unwrap(np.arctan2(ahead[:, 0], ahead[:, 2])))
    return Path2D(np.asarray(frames), np.asarray(relative[:, [0, 2], 3] / scale), np.asarray(yaw))


def _path(video: CaseVideo) -> CameraPathPlot | None:
    paths: dict[str, Path2D] = {}
    requested_from = found_by = ""
    kept = _kept(video, "poses")
    if kept:
        found_by, trajectory = kept[0], Trajectory.from_feature(kept[1])
        paths["found"] = _alone(trajectory)
    truth, world = _kept(video, "reference_poses"), None
    if truth:
        requested_from, paths["requested"] = "the reference video", _alone(Trajectory.from_feature(truth[1]))
    elif world := _world(video):
        requested_from = "the simulated world"
        if kept:
            paths |= _at_one_scale({"requested": world["requested"]})
        else:
            found_by, paths = "the simulated world, as executed", _at_one_scale(world)
    elif commanded := _kept(video, "commanded_poses"):
        requested_from, paths["requested"] = "the request", _alone(Trajectory.from_feature(commanded[1]))
    return _drawn(video, paths, requested_from, found_by, is_same_scale=bool(world) and not kept) if paths else None


def _kept(video: CaseVideo, name: str) -> tuple[str, Feature] | None:
    """The feature of this name and its extractor, from the first run of the video that stored it."""
    runs = {outcome.run.name: outcome.run for outcome in video.outcomes}.values()
    return next((kept for run in runs if (kept := kept_feature(run, video.rollout, name))), None)


def _alone(trajectory: Trajectory) -> Path2D:
    """Lengths of estimated paths have no unit: each is divided by its own extent."""
    offsets = np.linalg.norm(trajectory.centres - trajectory.centres[0], axis=1)
    extent = float(offsets.max())
    only_turns = extent <= NEGLIGIBLE_EXTENT * float(np.median(trajectory.median_depth))
    return seen_from_first(trajectory.camera_to_world, trajectory.frame_indices, np.inf if only_turns else extent)


def _world(video: CaseVideo) -> dict[str, Floats] | None:
    clip = known_truth(video)
    if clip is None:
        return None
    try:
        arrays = clip.arrays()
    except Unmeasurable:
        return None  # its metrics abstain with the reason, which the page shows
    return {"requested": arrays.requested_camera_to_world, "found": arrays.camera_to_world}


def _at_one_scale(paths: Mapping[str, Floats]) -> dict[str, Path2D]:
    extent = max(float(np.linalg.norm(poses[:, :3, 3] - poses[0, :3, 3], axis=1).max()) for poses in paths.values())
    scale = extent if extent > NEGLIGIBLE_METRES else np.inf
    return {name: seen_from_first(poses, np.arange(len(poses)), scale) for name, poses in paths.items()}


def _drawn(
    video: CaseVideo, paths: Mapping[str, Path2D], requested_from: str, found_by: str, *, is_same_scale: bool
) -> CameraPathPlot:
    turns = np.concatenate([path.yaw_degrees for path in paths.values()])
    middle, span = (turns.max() + turns.min()) / 2, max(float(np.ptp(turns)), 10.0)
    half = (HEIGHT - 2 * MARGIN) / 2
    top, yaw = {}, {}
    for name, path in paths.items():
        top[name] = _svg(SIDE / 2 + (SIDE / 2 - MARGIN) * path.right_forward * [1, -1])
        across = MARGIN + (WIDTH - 2 * MARGIN) * _times(video, path.frames) / (
            video.clip.seconds if video.clip else 1.0
        )
        yaw[name] = _svg(np.column_stack([across, HEIGHT / 2 - half * (path.yaw_degrees - middle) / (span / 2)]))
    return CameraPathPlot(
        video=video,
        requested_from=requested_from,
        found_by=found_by,
        is_same_scale=is_same_scale,
        top=top,
        only_turns=not any(path.right_forward.any() for path in paths.values()),
        yaw=yaw,
        yaw_ticks=((MARGIN - 4, f"{middle + span / 2:.0f}°"), (HEIGHT - 2, f"{middle - span / 2:.0f}°")),
        last_yaw={name: float(path.yaw_degrees[-1]) for name, path in paths.items()},
        largest_difference=_largest_difference(video, paths),
    )


def _largest_difference(video: CaseVideo, paths: Mapping[str, Path2D]) -> tuple[float, float] | None:
    if len(paths) < 2:
        return None
    requested, found = paths["requested"], paths["found"]
    _, ours, theirs = np.intersect1d(requested.frames, found.frames, return_indices=True)
    if not len(ours):
        return None
    differences = np.abs(requested.yaw_degrees[ours] - found.yaw_degrees[theirs])
    most = int(differences.argmax())
    return float(differences[most]), float(_times(video, requested.frames[ours])[most])


def _times(video: CaseVideo, frames: Indices) -> Floats:
    times = np.asarray(video.clip.times if video.clip else (0.0, 0.0))
    return np.asarray(times[np.clip(frames, 0, len(times) - 1)])


def _svg(points: Floats) -> str:
    step = max(1, -(-len(points) // MAX_POINTS))
    kept: Sequence[Sequence[float]] = [*points[::step].tolist(), points[-1].tolist()]
    return "M" + "L".join(f"{round(x, 1):g},{round(y, 1):g}" for x, y in kept)
