"""Readers of pose files, by the tool that wrote them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import Literal, TypeAlias, get_args

import numpy as np

from lookaway.core import Floats, Indices, Json, Trajectory
from lookaway.io.arrays import ArrayArchive, read_array
from lookaway.io.pose_files.camera_track import pinholes, read_camera_track
from lookaway.io.pose_files.checks import (
    Convention,
    Refuse,
    as_camera_to_world,
    as_frame_indices,
    as_intrinsics,
    as_numbers,
    check_depth_shape,
    check_matrices_shape,
    median_depths,
    spread_over_video,
)
from lookaway.io.pose_files.colmap import read_colmap
from lookaway.io.pose_files.source import (
    PoseSource,
    PosesRead,
    assumed_depths,
    assumed_intrinsics,
    intrinsics_at_video_size,
)


def read_da3(source: PoseSource) -> PosesRead:
    """The trajectory in a `results.npz` with `extrinsics`, `intrinsics` and `depth`, in OpenCV axes.

    Poses belong to the frames of `frame_indices`; without that array they are spread evenly over the video.
    """
    if source.convention not in get_args(Convention):
        raise ValueError(f"poses are {' or '.join(get_args(Convention))}, not {source.convention!r}.")
    frame_count = source.timeline.frame_count
    with ArrayArchive(source.path) as archive, closing(archive.rows("depth")) as depth:
        refuse = archive.error
        count = check_matrices_shape("extrinsics", archive.shape("extrinsics"), refuse)
        height, width = check_depth_shape(archive.shape("depth"), count, refuse)
        depths = median_depths(islice(depth, source.depth_maps), source.depth_stride, refuse)
        trajectory = Trajectory(
            camera_to_world=as_camera_to_world(
                "extrinsics", archive.read("extrinsics"), source.convention, source.rotation_tolerance, refuse
            ),
            intrinsics=as_intrinsics("intrinsics", archive.read("intrinsics"), count, refuse),
            frame_indices=(
                as_frame_indices("frame_indices", archive.read("frame_indices"), count, frame_count, refuse)
                if "frame_indices" in archive
                else spread_over_video(count, frame_count, refuse)
            ),
            median_depth=np.pad(depths, (0, count - len(depths)), mode="edge"),
            width=width,
            height=height,
            frame_count=frame_count,
        )
    return PosesRead(trajectory)


def read_vipe(source: PoseSource) -> PosesRead:
    """The trajectory in `data` (camera-to-world matrices) and `inds` (their frames).

    Depth is not read: ViPE stores it as archives of pictures in its own format.
    """
    timeline = source.timeline
    with ArrayArchive(source.path) as archive:
        count = check_matrices_shape("data", archive.shape("data"), archive.error)
        camera_to_world = as_camera_to_world(
            "data", archive.read("data"), "camera_to_world", source.rotation_tolerance, archive.error
        )
        frames = as_frame_indices("inds", archive.read("inds"), count, timeline.frame_count, archive.error)
        intrinsics, lens_assumed = _lens(source, frames, archive.error)
    depth, depth_assumed = assumed_depths(source, camera_to_world)
    trajectory = Trajectory(
        camera_to_world=camera_to_world,
        intrinsics=intrinsics,
        frame_indices=frames,
        median_depth=depth,
        width=timeline.width,
        height=timeline.height,
        frame_count=timeline.frame_count,
    )
    return PosesRead(trajectory, {**lens_assumed, **depth_assumed})


def _lens(source: PoseSource, frames: Indices, refuse: Refuse) -> tuple[Floats, Mapping[str, Json]]:
    """[N, 3, 3] for the video's own size, from rows of fx, fy, cx, cy."""
    if source.lens is None:
        return assumed_intrinsics(source, len(frames), refuse)
    with ArrayArchive(source.lens) as archive:
        rows, inds = archive.read("data"), archive.read("inds")
        if rows.shape != (len(frames), 4):
            raise archive.error(
                f"data has the shape {rows.shape}, expected {(len(frames), 4)}: fx, fy, cx, cy of a pinhole camera "
                "for each pose."
            )
        if not np.array_equal(inds, frames):
            raise archive.error("inds differ from the frames of the poses.")
        matrices = pinholes(as_numbers("data", rows, archive.error))
        return as_intrinsics("data", matrices, len(rows), archive.error), {}


@dataclass(frozen=True, slots=True)
class NetworkArchive:
    """Array names in a network's archive."""

    poses: str
    convention: Convention
    intrinsics: tuple[str, ...]
    """Possible names of the intrinsics, the first one preferred."""
    depth: str = "depth"

    def read(self, source: PoseSource) -> PosesRead:
        """The trajectory; poses are spread evenly over the video."""
        with ArrayArchive(source.path) as archive:
            refuse = archive.error
            count = check_matrices_shape(self.poses, archive.shape(self.poses), refuse)
            camera_to_world = as_camera_to_world(
                self.poses, archive.read(self.poses), self.convention, source.rotation_tolerance, refuse
            )
            intrinsics, (width, height), lens_assumed = self._lens(archive, source, count)
            depth, depth_assumed = self._depth(archive, source, camera_to_world)
            trajectory = Trajectory(
                camera_to_world=camera_to_world,
                intrinsics=intrinsics,
                frame_indices=spread_over_video(count, source.timeline.frame_count, refuse),
                median_depth=depth,
                width=width,
                height=height,
                frame_count=source.timeline.frame_count,
            )
        return PosesRead(trajectory, {**lens_assumed, **depth_assumed})

    def _lens(
        self, archive: ArrayArchive, source: PoseSource, count: int
    ) -> tuple[Floats, tuple[int, int], Mapping[str, Json]]:
        """Intrinsics, the width and height of their image, and what was assumed."""
        video = source.timeline.width, source.timeline.height
        name = next((name for name in self.intrinsics if name in archive), None)
        if name is None:
            intrinsics, assumed = assumed_intrinsics(source, count, archive.error)
            return intrinsics, video, assumed
        given = archive.read(name)
        if given.shape == (3, 3):
            given = np.broadcast_to(given, (count, 3, 3))
        intrinsics = as_intrinsics(name, given, count, archive.error)
        if self.depth in archive:
            height, width = check_depth_shape(_flat(archive.shape(self.depth)), count, archive.error)
            return intrinsics, (width, height), {}
        intrinsics, assumed = intrinsics_at_video_size(source, intrinsics, archive.error)
        return intrinsics, video, assumed

    def _depth(
        self, archive: ArrayArchive, source: PoseSource, camera_to_world: Floats
    ) -> tuple[Floats, Mapping[str, Json]]:
        if self.depth not in archive:
            return assumed_depths(source, camera_to_world)
        check_depth_shape(_flat(archive.shape(self.depth)), len(camera_to_world), archive.error)
        with closing(archive.rows(self.depth)) as maps:
            return median_depths(maps, source.depth_stride, archive.error), {}


def _flat(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Without the last axis of depth maps that are images of one channel."""
    return shape[:3] if len(shape) == 4 and shape[3] == 1 else shape


MAPANYTHING = NetworkArchive(poses="cam_c2w", convention="camera_to_world", intrinsics=("intrinsic", "intrinsics"))


def read_mapanything(source: PoseSource) -> PosesRead:
    """The trajectory in `cam_c2w`, `intrinsic` (one camera for all frames, or one for each) and `depth`."""
    return MAPANYTHING.read(source)


VGGT = NetworkArchive(poses="extrinsic", convention="world_to_camera", intrinsics=("intrinsic",))


def read_vggt(source: PoseSource) -> PosesRead:
    """The trajectory in predictions (`extrinsic`, `intrinsic`, `depth`) or in a bare array of poses."""
    return _read_bare(source) if source.path.suffix == ".npy" else VGGT.read(source)


def _read_bare(source: PoseSource) -> PosesRead:
    given, refuse = read_array(source.path)
    timeline = source.timeline
    camera_to_world = as_camera_to_world("the array", given, "camera_to_world", source.rotation_tolerance, refuse)
    intrinsics, lens_assumed = _bare_lens(source, len(camera_to_world), refuse)
    depth, depth_assumed = assumed_depths(source, camera_to_world)
    trajectory = Trajectory(
        camera_to_world=camera_to_world,
        intrinsics=intrinsics,
        frame_indices=spread_over_video(len(camera_to_world), timeline.frame_count, refuse),
        median_depth=depth,
        width=timeline.width,
        height=timeline.height,
        frame_count=timeline.frame_count,
    )
    return PosesRead(trajectory, {**lens_assumed, **depth_assumed})


def _bare_lens(source: PoseSource, count: int, refuse: Refuse) -> tuple[Floats, Mapping[str, Json]]:
    """[N, 3, 3] for the video's own size, from an array of fx, fy, cx, cy for each pose."""
    if source.lens is None:
        return assumed_intrinsics(source, count, refuse)
    rows, refuse_lens = read_array(source.lens)
    if rows.shape != (count, 4):
        raise refuse_lens(f"it has the shape {rows.shape}, expected {(count, 4)}: fx, fy, cx, cy for each pose.")
    return as_intrinsics("it", pinholes(as_numbers("it", rows, refuse_lens)), count, refuse_lens), {}


def read_memobench(source: PoseSource) -> PosesRead:
    """The trajectory in `poses.npy` with `intrinsics.npy`, in `camera_full*.csv`, or in `*_mapanything.npz`."""
    readers = {".npz": read_mapanything, ".csv": read_camera_track}
    return readers.get(source.path.suffix, _read_bare)(source)


PoseLayout: TypeAlias = Literal["da3", "vggt", "mapanything", "vipe", "colmap", "memobench"]

READERS: Mapping[PoseLayout, Callable[[PoseSource], PosesRead]] = {
    "da3": read_da3,
    "vggt": read_vggt,
    "mapanything": read_mapanything,
    "vipe": read_vipe,
    "colmap": read_colmap,
    "memobench": read_memobench,
}
