"""Writes a rendered set in the layouts of other benchmarks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from lookaway.core import UnknownName
from lookaway.io.world_clips import WorldClip, open_world
from lookaway.world.exports.folder import ExportReport
from lookaway.world.exports.mbench import export_mbench_a, export_mbench_t
from lookaway.world.exports.memobench import export_memobench
from lookaway.world.exports.mind import export_mind
from lookaway.world.exports.wrbench import export_wrbench

EXPORTS: Final[dict[str, Callable[[Sequence[WorldClip], Path], ExportReport]]] = {
    "mbench-a": export_mbench_a,
    "mbench-t": export_mbench_t,
    "memobench": export_memobench,
    "mind": export_mind,
    "wrbench": export_wrbench,
}


def export_world(root: Path, layout: str, output: Path) -> ExportReport:
    """Write all clips of a rendered set in this layout, into an empty folder."""
    if layout not in EXPORTS:
        raise UnknownName("layout", layout, EXPORTS)
    return EXPORTS[layout](open_world(root), output)
