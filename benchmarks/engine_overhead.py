"""The engine compared with a bare loop that decodes the same clips and computes the same metrics.

Both take turns, clip set by clip set, in one process; the ratio is that of the medians over rounds.
The loop asks the gate as the engine does, and stores nothing: no hashes, no features, no rows, no plan.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from lookaway.core import Extraction, Feature, FrameRequest, Rollout, Score
from lookaway.engine.evaluate import evaluate
from lookaway.engine.reading import read
from lookaway.io.video import Video
from lookaway.metrics.fold_pairs import FoldPairs
from lookaway.metrics.match_errors import SpatialEpipolar, SpatialReprojection
from lookaway.metrics.rendering_lighting import RenderingLighting
from lookaway.metrics.revisited import Revisited
from lookaway.perception.poses.sift_matches import SiftMatches
from lookaway.perception.poses.supplied_poses import SuppliedPoses
from lookaway.perception.quality.lab_means import LabMeans
from lookaway.suites.gate import MOTION
from tests.support.clips import write_clip
from tests.support.mbench import MBenchWriter, write_poses
from tests.support.room import Room, there_and_back

CLIPS, FRAMES, FPS, ROUNDS = 4, 80, 8, 5
LIMIT = 1.10
EVERYTHING = ("spatial_epipolar", "spatial_reprojection", "rendering_lighting")
LIGHTEST = ("rendering_lighting",)
"""Next to no work after decoding, so that the engine's own work shows most."""


def bare_loop(rollouts: list[Rollout], names: tuple[str, ...]) -> None:
    """Decode, perceive, measure, ask the gate: nothing else."""
    lab, flow, motion = LabMeans().load(), MOTION.flow.load(), MOTION.load()
    sift = SiftMatches(poses=SuppliedPoses(), pairs=FoldPairs()).load() if names == EVERYTHING else None
    for rollout in rollouts:
        features: dict[str, Feature] = {}
        watches: dict[str, Extraction] = {}
        with Video(rollout.video) as video:
            timeline = video.timeline
            features["poses"] = SuppliedPoses().start(rollout, timeline, {}).finish()
            watches["lab_means"] = lab.start(rollout, timeline, {})
            watches["flow"] = flow.start(rollout, timeline, {})
            if sift:
                watches["matches"] = sift.start(rollout, timeline, features)
            watching: list[Extraction] = list(watches.values())
            for position, frame in video.frames([watch.request or FrameRequest(frozenset()) for watch in watching]):
                watching[position].add_frame(frame)
        perceived = {name: watch.finish() for name, watch in watches.items()}
        features |= {name: feature for name, feature in perceived.items() if isinstance(feature, Feature)}
        features["motion"] = motion.start(rollout, timeline, features).finish()
        for metric in (SpatialEpipolar(), SpatialReprojection(), RenderingLighting(), Revisited()):
            if metric.name in (*names, Revisited.name):
                assert isinstance(metric.measure(rollout, features), Score)


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Wall seconds and CPU seconds; other users of the machine affect the latter least."""
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - processor


def compare(root: Path, folder: Path, names: tuple[str, ...]) -> None:
    """Print the ratio for some metrics."""
    rollouts = list(read(root).rollouts)
    bare_loop(rollouts[:1], names)
    bare, engine = [], []
    for turn in range(ROUNDS):
        bare.append(timed(partial(bare_loop, rollouts, names)))
        engine.append(timed(partial(evaluate, root, folder / f"run-{len(names)}-{turn}", metrics=names)))
    print(", ".join(names))
    for clock, name in enumerate(("wall", "processor")):
        ours, theirs = ([seconds[clock] for seconds in rounds] for rounds in (engine, bare))
        ratio = statistics.median(ours) / statistics.median(theirs)
        each = " ".join(f"{own / other:.3f}" for own, other in zip(ours, theirs, strict=True))
        print(f"  engine / bare loop, {name}: {ratio:.3f} (limit {LIMIT}; rounds {each})")


def main() -> None:
    """Print the ratios."""
    print(f"{CLIPS} clips of {FRAMES} frames at 832x480, {ROUNDS} rounds")
    with tempfile.TemporaryDirectory() as folder:
        root = make_dataset(Path(folder) / "dataset")
        compare(root, Path(folder), LIGHTEST)
        compare(root, Path(folder), EVERYTHING)


def make_dataset(root: Path) -> Path:
    """Clips of a textured room with their poses."""
    writer = MBenchWriter(root)
    for number in range(CLIPS):
        room, path = Room(number), there_and_back("left_then_right", FRAMES, return_offset_metres=0.1)
        sample = f"room{number}"
        writer.add(sample=sample)
        write_clip(writer.video(sample=sample), room.frames(path), fps=FPS, options={"preset": "ultrafast"})
        write_poses(writer.poses(sample=sample), path, room.intrinsics)
    return writer.finish()


if __name__ == "__main__":
    main()
