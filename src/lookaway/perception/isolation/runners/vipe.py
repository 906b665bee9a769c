"""ViPE, through its command line."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from .shared import RunnerError

LINES_SHOWN = 8


def load(settings: dict[str, Any]) -> Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]:
    """The command of this environment; it loads its networks anew for every video."""
    # Not of the real interpreter, to which `sys.executable` is a link.
    command = Path(sys.executable).parent / "vipe"

    def run(arrays: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            arguments = ["infer", settings["video"], "--output", folder, "--pipeline", settings["pipeline"]]
            done = subprocess.run(  # noqa: S603 - the command of an environment that lookaway made
                [str(command), *arguments], capture_output=True, text=True, errors="replace", check=False
            )
            found = sorted(Path(folder).glob("pose/*.npz"))
            if done.returncode != 0 or len(found) != 1:
                last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-LINES_SHOWN:])
                raise RunnerError(
                    "pose_failed",
                    f"`vipe infer` ended with exit code {done.returncode} and {len(found)} files of poses. It loads "
                    f"its networks from the caches of this user; to fetch them, run {command} once. It said:\n{last}",
                )
            return _read(found[0], settings["depth_stride"])

    return run


def _read(path: Path, stride: int) -> dict[str, Any]:
    """Poses, their frames, intrinsics as fx, fy, cx, cy, and some of the pixels of the depth maps."""
    lens = path.parents[1] / "intrinsics" / path.name
    with np.load(path) as poses, np.load(lens) as intrinsics:
        frames = poses["inds"]
        found = {"poses": poses["data"], "frame_indices": frames, "intrinsics": intrinsics["data"]}
        if not np.array_equal(intrinsics["inds"], frames):
            raise RunnerError("pose_failed", "ViPE has poses and intrinsics of different frames.")
    depth_file = path.parents[1] / "depth" / f"{path.stem}.zip"
    if depth_file.is_file():
        maps = dict(import_module("vipe.utils.io").read_depth_artifacts(depth_file))
        if all(int(frame) in maps for frame in frames):
            found["depth"] = np.stack([np.asarray(maps[int(frame)])[::stride, ::stride] for frame in frames])
    return found
