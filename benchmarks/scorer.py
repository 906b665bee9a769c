"""The scorer against `eval` and against calling metrics by hand: equal numbers, overhead and memory.

    python -m benchmarks.scorer WORLD -o RUN [--clips 200] [--rounds 5] [--calls 10000]

WORLD is a folder of the simulated world. Clips from all over it are measured by `eval`, then by `lookaway.Scorer` from
their files with the requested path of the camera; every score, and every reason for none, is compared to the bit.
Overhead is the time of the scorer over that of the same
extractors and metrics called one after the other, clip by clip in turns; memory is that of this process while many
small videos are scored.
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
from pathlib import Path

import numpy as np

from lookaway.core import Dataset, Outcome, Rollout, Score
from lookaway.engine.evaluate import evaluate
from lookaway.engine.feature_job import Extractors, FeatureJob
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


def main() -> None:
    """Compare, time, count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("world", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder of the run to compare with")
    parser.add_argument("--clips", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=10_000)
    options = parser.parse_args()
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
