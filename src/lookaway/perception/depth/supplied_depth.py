"""Depth that another tool wrote beside the video."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Abstention, Feature, Features, FramelessExtractor, Indices, Reason, Rollout, Sampler, Timeline
from lookaway.io.arrays import ArrayArchive
from lookaway.io.pose_files.source import posed_frames
from lookaway.io.sampling import UniformFrames

HALF = np.finfo(np.float16)


@dataclass(frozen=True, slots=True)
class SuppliedDepth(FramelessExtractor):
    """Depth of sampled frames from the rollout's `poses` artifact, as Depth Anything 3 writes it: `results.npz`.

    Depth is in the units of the poses of the same file. Maps that are taller than `height` are thinned, not averaged:
    between a thing and what is behind it there is nothing. Sampled frames that the file does not know are left out.
    """

    name: ClassVar[str] = "supplied_depth"
    seconds_per_frame: ClassVar[float] = 0.003
    bytes_per_frame: ClassVar[float] = 90_000.0
    arrays: ClassVar[Mapping[str, str]] = {
        "depth": "float16 [frames, rows, columns]: along the axis of the camera, in units of the poses, 0 if unknown",
        "frame_indices": "int64 [frames]: the frame of each picture",
        "size": "int64 [2]: width and height of the frames",
    }

    frames: Annotated[Sampler, "which frames have depth"] = UniformFrames(32)
    height: Annotated[int, "rows of a map at most"] = 160

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Whether the artifact is there."""
        path = rollout.artifacts.get("poses")
        if path is None:
            return Abstention(
                Reason.MISSING_INPUT, "the record names no file of camera poses, which also holds the depth."
            )
        if not path.is_file():
            return Abstention(Reason.MISSING_INPUT, f"there is no file of camera poses and depth at {path.name}.")
        return None

    def read(self, rollout: Rollout, timeline: Timeline, features: Features) -> Feature:
        """Read the depth of the sampled frames."""
        wanted = self.frames.indices(timeline, rollout)
        with ArrayArchive(rollout.artifacts["poses"]) as archive, closing(archive.rows("depth")) as rows:
            known = posed_frames(archive, timeline.frame_count)
            frames = np.intersect1d(known, wanted)
            if not len(frames):
                raise archive.error(
                    f"it holds depth of {len(known)} frames, but of none of the {len(wanted)} sampled ones.",
                    Reason.MISSING_INPUT,
                )
            depths = [
                self._thinned(_known(depth, archive))
                for frame, depth in zip(known.tolist(), rows, strict=True)
                if frame in frames
            ]
        size = np.array([timeline.width, timeline.height])
        return Feature({"depth": np.stack(depths), "frame_indices": frames, "size": size})

    def _thinned(self, depth: NDArray[np.float16]) -> NDArray[np.float16]:
        rows, columns = depth.shape
        kept_rows = min(rows, self.height)
        kept_columns = max(1, round(columns * kept_rows / rows))
        return depth[np.ix_(_middles(rows, kept_rows), _middles(columns, kept_columns))]


def _known(depth: NDArray[Any], archive: ArrayArchive) -> NDArray[np.float16]:
    """In half precision, with 0 where there is no depth, or one that half precision cannot hold."""
    if depth.dtype.kind not in "fiu":
        raise archive.error(f"depth holds {depth.dtype}, expected real numbers.")
    is_known = (depth >= float(HALF.smallest_normal)) & (depth <= float(HALF.max))
    return np.where(is_known, depth, 0).astype(np.float16)


def _middles(length: int, count: int) -> Indices:
    """The places in the middle of `count` equal parts of a length.

    >>> _middles(8, 2)
    array([2, 6])
    >>> _middles(3, 3)
    array([0, 1, 2])
    """
    return (2 * np.arange(count) + 1) * length // (2 * count)
