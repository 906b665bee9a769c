"""What the suite `revisit` costs for each clip and frame, beside its bare parts, and what the engine adds.

    python -m benchmarks.revisit_cost FOLDER [--rounds 3]

Decoding, SIFT points of the frames that are tracked, and optical flow of the gate are timed alone; then the whole chain
of extractors and metrics in a bare loop that stores nothing; then the same by the engine, in this process. All take
turns, clip by clip; figures are medians over rounds, in seconds of the processor, and the ratio is that of their sums.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import cv2

from benchmarks.revisit_faults import measure
from lookaway.core import Extractor, FrameRequest, Rollout
from lookaway.engine.evaluate import evaluate
from lookaway.engine.feature_job import Extractors, FeatureJob
from lookaway.engine.locking import content_key
from lookaway.engine.reading import read
from lookaway.io.video import Video
from lookaway.perception.poses.sift_matches import sift_points
from lookaway.suites.gate import MOTION
from lookaway.suites.revisit.published import POSES

LIMIT = 1.10


def decode(rollout: Rollout) -> None:
    """Every frame, at the height of the tracker."""
    with Video(rollout.video) as video:
        for _ in video.windows(32, height=min(POSES.height, video.timeline.height)):
            pass


def find_points(rollout: Rollout) -> None:
    """Decode the frames that are tracked, and find their points."""
    with Video(rollout.video) as video:
        wanted = frozenset(POSES.frames.indices(video.timeline, rollout))
        for _, frame in video.frames([FrameRequest(wanted, min(POSES.height, video.timeline.height))]):
            sift_points(cv2, frame.pixels, POSES.keypoints)


def extract(rollout: Rollout, recipe: Extractor) -> None:
    """One extractor with all that it needs."""
    FeatureJob(Extractors(None), rollout, content_key(rollout), [recipe]).run()


def by_engine(rollout: Rollout, root: Path) -> None:
    """One clip, into a new run."""
    with tempfile.TemporaryDirectory() as folder:
        evaluate(root, Path(folder) / "run", suite="revisit", cases=[rollout.case.id])


def main() -> None:
    """Time all clips of a folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clips", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    cv2.setNumThreads(1)
    parts: dict[str, Callable[[Rollout], object]] = {
        "decode": decode,
        "SIFT": find_points,
        "flow": partial(extract, recipe=MOTION),
        "poses": partial(extract, recipe=POSES),
        "bare": measure,
        "engine": partial(by_engine, root=options.clips),
    }
    sums = dict.fromkeys(parts, 0.0)
    print("| clip | frames | " + " | ".join(parts) + " | poses, ms a tracked frame |\n|" + " --- |" * (len(parts) + 3))
    for rollout in read(options.clips, suite="revisit").rollouts:
        seconds: dict[str, list[float]] = {name: [] for name in parts}
        for _ in range(options.rounds):
            for name, work in parts.items():
                start = time.process_time()
                work(rollout)
                seconds[name].append(time.process_time() - start)
        medians = {name: statistics.median(found) for name, found in seconds.items()}
        sums = {name: sums[name] + medians[name] for name in parts}
        with Video(rollout.video) as video:
            count, tracked = video.timeline.frame_count, len(POSES.frames.indices(video.timeline, rollout))
        figures = " | ".join(f"{medians[name]:.2f}" for name in parts)
        print(f"| {rollout.case.id} | {count} | {figures} | {1000 * medians['poses'] / tracked:.0f} |", flush=True)
    ratio = sums["engine"] / sums["bare"]
    print("| all | | " + " | ".join(f"{sums[name]:.2f}" for name in parts) + " | |")
    print(f"\nThe engine takes {ratio:.3f} of the bare loop; at most {LIMIT} is allowed.")
    if ratio > LIMIT:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
