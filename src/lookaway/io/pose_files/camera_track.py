"""Reads MemoBench's `camera_full*.csv`: locations, angles and lenses that Unreal Engine wrote, a row for each frame."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Final

import numpy as np
from scipy.spatial.transform import Rotation

from lookaway.core import ArtifactError, DatasetError, Floats, Reason, Trajectory
from lookaway.io.dataset_files import decoded, read_limited
from lookaway.io.pose_files.checks import Refuse, as_intrinsics, as_numbers, spread_over_video
from lookaway.io.pose_files.source import PoseSource, PosesRead, assumed_depths

MAX_BYTES: Final = 64 * 1024 * 1024
"""A row has some hundred bytes."""
POSE_COLUMNS: Final = ("loc_x", "loc_y", "loc_z", "rot_x", "rot_y", "rot_z")
LENS_COLUMNS: Final = ("fx", "fy", "cx", "cy")
OPENCV_FROM_OPENGL: Final = np.diag([1.0, -1.0, -1.0])


def read_camera_track(source: PoseSource) -> PosesRead:
    """The trajectory as MemoBench's own code takes it, in OpenCV axes; without depth.

    Angles are radians and turn clockwise, about x, then y, then z; camera axes are x right, y up, z backward. World
    axes and lengths are taken as they stand. Whether Unreal's are meant so is not documented: rotations between frames
    do not depend on it.
    """
    path, timeline = source.path, source.timeline

    def refuse(message: str, reason: Reason = Reason.INVALID_INPUT) -> ArtifactError:
        return ArtifactError(reason, f"{path.name}: {message}")

    rows = as_numbers("the table", _rows(path, refuse), refuse)
    camera_to_world = np.tile(np.eye(4), (len(rows), 1, 1))
    camera_to_world[:, :3, :3] = Rotation.from_euler("xyz", -rows[:, 3:6]).as_matrix() @ OPENCV_FROM_OPENGL
    camera_to_world[:, :3, 3] = rows[:, :3]
    depth, assumed = assumed_depths(source, camera_to_world)
    trajectory = Trajectory(
        camera_to_world=camera_to_world,
        intrinsics=as_intrinsics("fx, fy, cx, cy", pinholes(rows[:, 6:]), len(rows), refuse),
        frame_indices=spread_over_video(len(rows), timeline.frame_count, refuse),
        median_depth=depth,
        width=timeline.width,
        height=timeline.height,
        frame_count=timeline.frame_count,
    )
    return PosesRead(trajectory, assumed)


def pinholes(rows: Floats) -> Floats:
    """[N, 3, 3] from rows of fx, fy, cx, cy."""
    matrices = np.tile(np.eye(3), (len(rows), 1, 1))
    matrices[:, [0, 1, 0, 1], [0, 1, 2, 2]] = rows
    return matrices


def _rows(path: Path, refuse: Refuse) -> Floats:
    """[N, 10] of location, angles and lens."""
    if not path.is_file():
        raise refuse("there is no such file.", Reason.MISSING_INPUT)
    columns = (*POSE_COLUMNS, *LENS_COLUMNS)
    try:
        text = decoded(read_limited(path, MAX_BYTES, path.name), path.name).removeprefix("\ufeff")
        reader = csv.DictReader(io.StringIO(text, newline=""))
        missing = [name for name in columns if name not in (reader.fieldnames or ())]
        if missing:
            raise refuse(f"there is no column {', '.join(missing)}; expected {', '.join(columns)}.")
        rows = [[float(row[name]) for name in columns] for row in reader]
    except DatasetError as error:
        raise refuse(str(error).removeprefix(f"{path.name}: ")) from error
    except csv.Error as error:
        raise refuse(f"it cannot be read as a table ({error}).") from error
    except (TypeError, ValueError) as error:
        raise refuse("a cell is not a number.") from error
    if not rows:
        raise refuse("the table has no rows.")
    return np.array(rows)
