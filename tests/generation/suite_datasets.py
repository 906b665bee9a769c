"""A tiny dataset in the layout of every suite, whose cases all turn away and back."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lookaway.world.exports.mind import images_text
from tests.generation.golden import there_and_back
from tests.suites.test_sana_layout import SIMPLE, SanaWriter
from tests.support.memobench import PICTURE, MemoBenchWriter
from tests.support.mind import MindWriter, actions
from tests.support.tiny import FRAMES, clip_bytes, write_mbench
from tests.support.wrbench import FAMILY, WrBenchWriter

CONTEXT = 5
"""Frames of a video of MIND that a model is shown."""


def mbench(root: Path) -> Path:
    return write_mbench(root, samples=1, subsets=("environment",)).root


def mind(root: Path) -> Path:
    """A video to be continued, and two ways there and back."""
    writer = MindWriter(root)
    poses = images_text(there_and_back(frames=FRAMES - CONTEXT))
    writer.case(record=actions(CONTEXT, FRAMES), video=clip_bytes(), poses=poses)
    writer.answer(video=clip_bytes(1))
    writer.mirror("street", ("path-1.mp4", "path-2.mp4"), video=clip_bytes(2))
    return root


def memobench(root: Path) -> Path:
    writer = MemoBenchWriter(root)
    writer.synthetic(pictures=13, poses=there_and_back(frames=13))
    writer.generated(video=clip_bytes())
    return root


def wrbench(root: Path) -> Path:
    writer = WrBenchWriter(root)
    (root / f"natural25/first_frames/{FAMILY}.png").write_bytes(PICTURE)
    writer.sidecars(writer.add(), there_and_back().astype(np.float32))
    return root


def sana(root: Path) -> Path:
    writer = SanaWriter(root)
    writer.scenes(indoor_001={})
    np.savez(root / SIMPLE / "sanawm_export_v2" / "indoor_001.npz", c2w=there_and_back())
    writer.video("indoor_001")
    return root


DATASETS = {"mbench": mbench, "mind": mind, "memobench": memobench, "wrbench": wrbench, "sana": sana}
