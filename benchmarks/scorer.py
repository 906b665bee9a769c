"""The scorer against `eval` and against calling metrics by hand: equal numbers, overhead and memory.

    python -m benchmarks.scorer WORLD -o RUN [--clips 200] [--rounds 5] [--calls 10000]
    python -m benchmarks.scorer --long -o RUN

WORLD is a folder of the simulated world. Clips from all over it are measured by `eval`, then by `lookaway.Scorer` from
their files with the requested path of the camera; every score, and every reason for none, is compared to the bit.
Overhead is the time of the scorer over that of the same
extractors and metrics called one after the other, clip by clip in turns; memory is that of this process while many
small videos are scored. `--long` measures a minute of 1080p instead, against the limits that `eval` sets a rollout.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import random
import resource
import statistics
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import av
import cv2
import numpy as np

from benchmarks.processor_time import memory_bytes
from lookaway.core import Dataset, Outcome, Resources, Rollout, Score
from lookaway.engine.evaluate import evaluate
from lookaway.engine.feature_job import Extractors, FeatureJob
from lookaway.engine.limits import RolloutLimits
from lookaway.engine.reading import read
from lookaway.engine.scorer import CasePaths, Scorer
from lookaway.engine.worker import measure
from lookaway.io.world_clips import WorldClip

MEASURED = {
    "revisit": (
        "remembered", "changed_area", "light", "look", "aligned_ssim", "cut", "moved", "copied", "carried", "undone",
        "further.ssim_lift", "return_error", "reach_missing", "rendering_lighting", "rendering_lighting_seconds",
    ),
    "folder": (
        "spatial_epipolar", "spatial_reprojection", "spatial_matched", "spatial_within_2px", "spatial_capped",
    ),
}  # fmt: skip
"""By suite, what runs without downloaded weights and reads no file but the video and its requested path."""
REQUESTED = ("return_error", "reach_missing")
"""Those of them that read the requested path."""
TRACKED = {"poses": "tracked_poses"}
SETTLED = 1000
"""Calls after which memory should not grow any more."""


def spread(world: Path, clips: int) -> Dataset:
    """So many clips of a world, from all its models and scenes."""
    dataset = read(world)
    chosen = random.Random(0).sample(dataset.rollouts, min(clips, len(dataset.rollouts)))
    return replace(dataset, rollouts=tuple(chosen))


def compare(dataset: Dataset, run: Path, suite: str, scorer: Scorer) -> tuple[Counter[str], list[str]]:
    """How many outcomes of each kind were compared, and which differ."""
    found = evaluate(replace(dataset, suite=suite), run, metrics=MEASURED[suite], using=TRACKED)
    expected = {(row["rollout"], row["metric"]): row for row in found.items()}
    compared: Counter[str] = Counter()
    wrong = []
    for rollout in dataset.rollouts:
        truth = WorldClip.open(rollout.video.parent).arrays()
        asked = CasePaths(requested=truth.requested_camera_to_world, intrinsics=truth.intrinsics)
        scores = scorer(rollout.video, paths=asked)
        for name in scorer.metrics:
            row = expected[rollout.id, name]
            compared[row["status"]] += 1
            if _known(scores[name]) != (row["value"] if row["status"] == "score" else row["reason"]):
                wrong.append(f"{rollout.id} {name}: {_known(scores[name])} and {row['value']} {row['reason']}")
    return compared, wrong


def _known(outcome: Outcome) -> float | str:
    return outcome.value if isinstance(outcome, Score) else str(getattr(outcome, "reason", outcome))


def by_hand(scorer: Scorer, extractors: Extractors, rollout: Rollout) -> None:
    """The same extractors and metrics, one after the other."""
    recipes = [recipe for bound in scorer.bounds for recipe in bound.recipes.values()]
    perceived = FeatureJob(extractors, rollout, "", recipes).run()
    for bound in scorer.bounds:
        measure(bound, rollout, perceived)


def overhead(scorer: Scorer, rollouts: Sequence[Rollout], rounds: int) -> list[float]:
    """Time of the scorer over that by hand, round by round."""
    extractors, ratios = Extractors(store=None), []
    for _ in range(rounds):
        scored = called = 0.0
        for rollout in rollouts:
            started = time.perf_counter()
            scorer(rollout.video)
            halfway = time.perf_counter()
            by_hand(scorer, extractors, rollout)
            scored += halfway - started
            called += time.perf_counter() - halfway
        ratios.append(scored / called)
    return ratios


def memory(scorer: Scorer, calls: int) -> tuple[int, int]:
    """Largest memory of this process in kB, after it has settled and after all calls."""
    frames = np.random.default_rng(0).integers(0, 255, (8, 3, 48, 64)).astype(np.uint8)
    settled = 0
    for number in range(calls):
        scorer(frames, fps=8)
        if number == min(SETTLED, calls // 2):
            settled = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return settled, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def write_long(path: Path, seconds: int = 60, fps: int = 24) -> None:
    """A minute of 1080p: the camera turns away from a wall and comes back."""
    rng, lens = np.random.default_rng(0), np.array([[1500, 0, 960], [0, 1500, 540], [0, 0, 1.0]])
    spots = sum(
        cv2.resize(rng.uniform(-40, 40, (cells // 3, cells, 3)), (5400, 1800), interpolation=cv2.INTER_NEAREST)
        for cells in (12, 60, 180)
    )
    wall = np.clip(128 + spots, 0, 255).astype(np.uint8)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=fps, options={"preset": "ultrafast", "crf": "20"})
        stream.width, stream.height, stream.pix_fmt = 1920, 1080, "yuv420p"
        for number in range(seconds * fps):
            angle = np.radians(25 - 25 * np.cos(number / (seconds * fps - 1) * 2 * np.pi))
            turn = cv2.Rodrigues(np.array([0, angle, 0]))[0]
            seen = np.array([[1500, 0, 2700], [0, 1500, 900], [0, 0, 1.0]]) @ turn @ np.linalg.inv(lens)
            view = cv2.warpPerspective(wall, seen, (1920, 1080), flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(view.astype(np.uint8), format="rgb24")))
        container.mux(stream.encode(None))


def measure_long(folder: Path) -> None:
    """What a minute of 1080p costs, from its file."""
    folder.mkdir(parents=True, exist_ok=True)
    writer = get_context("spawn").Process(target=write_long, args=(folder / "long.mp4",))  # its memory is not ours
    writer.start()
    writer.join()
    scorer = Scorer([name for name in MEASURED["revisit"] if name not in REQUESTED], using=TRACKED)
    limits = RolloutLimits.of(Resources(), scorer.bounds)
    before, started = memory_bytes("VmHWM"), time.perf_counter()
    found = scorer(folder / "long.mp4")
    peak = memory_bytes("VmHWM")
    print(found)
    print(f"{time.perf_counter() - started:.0f} s of at most {limits.seconds:.0f} s")
    print(f"{peak >> 20} MB at most, {(peak - before) >> 20} MB above the start, of {limits.bytes >> 20} MB")


def main() -> None:
    """Compare, time, count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("world", type=Path, nargs="?")
    parser.add_argument("--long", action="store_true", help="a minute of 1080p, and nothing else")
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder of the run to compare with")
    parser.add_argument("--clips", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=10_000)
    options = parser.parse_args()
    if options.long:
        measure_long(options.output)
        return
    dataset = spread(options.world, options.clips)
    print(f"{len(dataset.rollouts)} clips of {len({rollout.model for rollout in dataset.rollouts})} models")
    scorers = {suite: Scorer(names, suite=suite, using=TRACKED) for suite, names in MEASURED.items()}
    for suite, scorer in scorers.items():
        compared, wrong = compare(dataset, options.output / suite, suite, scorer)
        print(f"{suite}: {dict(compared)} of {len(scorer.metrics)} metrics compared, {len(wrong)} differ")
        print(*wrong[:10], sep="\n", flush=True)
    scorer = Scorer([name for name in MEASURED["revisit"] if name not in REQUESTED], using=TRACKED)
    ratios = overhead(scorer, dataset.rollouts[:4], options.rounds)
    print(f"overhead {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f}, {options.rounds} rounds)")
    settled, end = memory(scorer, options.calls)
    print(f"memory {settled / 1024:.0f} MB once settled, {end / 1024:.0f} MB after {options.calls} calls")


if __name__ == "__main__":
    main()
