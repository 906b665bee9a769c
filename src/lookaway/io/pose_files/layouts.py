"""The layouts of poses that can be read, by the tool that wrote them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from lookaway.io.pose_files.colmap import read_colmap
from lookaway.io.pose_files.da3 import read_da3
from lookaway.io.pose_files.mapanything import read_mapanything
from lookaway.io.pose_files.source import PoseSource, PosesRead
from lookaway.io.pose_files.vggt import read_vggt
from lookaway.io.pose_files.vipe import read_vipe

PoseLayout: TypeAlias = Literal["da3", "vggt", "mapanything", "vipe", "colmap"]

READERS: Mapping[PoseLayout, Callable[[PoseSource], PosesRead]] = {
    "da3": read_da3,
    "vggt": read_vggt,
    "mapanything": read_mapanything,
    "vipe": read_vipe,
    "colmap": read_colmap,
}
