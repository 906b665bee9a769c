"""What the reappearance score and the failure categories of MemoBench find in the simulated world, fed from its truth.

    python -m benchmarks.memobench_faults --folder FOLDER [--scenes 8] [--size 128x224] [--fps 10] [--draws 25]

Each scene is rendered along `yaw_left_60` with something happening to its target: without any fault, with every fault
at severity 1, and with `vanish` at five severities. A second call resumes.

Prints Markdown. First, for detectors that err more and more, the AUC of the reappearance score for `vanish` against
clips without any fault, with the published threshold of 0 and with the default one, and what a target scores that is
there or gone. A clip is seen by `--draws` detectors, each with errors of its own. Then, for each category of failure,
precision and recall over all clips at severity 1, and every clip whose categories are not those of its fault.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import shutil
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.mbench_sensitivity import outcome_of
from benchmarks.truth_fed import ErringDetections, TrueProbes, TrueRegions
from lookaway.core import BoundMetric, Rollout, Score
from lookaway.engine.binding import Overrides
from lookaway.engine.feature_job import Extractors, FeatureJob
from lookaway.engine.inline import Inline
from lookaway.engine.locking import content_key
from lookaway.engine.reading import load_suite, read
from lookaway.io.sampling import UniformFrames
from lookaway.metrics.judge_metrics import ProbeSupport
from lookaway.metrics.object_texture import ObjectTexture
from lookaway.metrics.reappearance import ReappearanceScore
from lookaway.perception.truth import TRUTH, TruePoses
from lookaway.reports.memobench.failures import CATEGORIES, judge_failures
from lookaway.statistics.detection import auc
from lookaway.world.events import Event
from lookaway.world.exports import export_world
from lookaway.world.families import FAMILIES
from lookaway.world.faults import FAULTS
from lookaway.world.grid import Grid
from lookaway.world.recipe import PERFECT, ClipRecipe
from lookaway.world.rendering import render_set

CAMERA = "yaw_left_60"
EVENT: Event = "in_place"
FAULT = "vanish"
SEVERITIES = (0.2, 0.4, 0.6, 0.8, 1.0)
SEPARATIONS = (4.0, 2.0, 1.0, 0.5)
"""From a detector that hardly errs to one that hardly knows."""
SURE = 8.0
"""Separation of a detector without fault."""
THRESHOLDS = {"published": 0.0, "corrected": 0.5}
SHOWS: Mapping[str, str] = {
    "vanish": "vanish",
    "identity_texture": "identity",
    "identity_colour": "identity",
    "identity_shape": "identity",
    "state_reset": "state",
    "frozen_while_unseen": "state",
    "teleport": "teleport",
    "dragged_along": "teleport",
    "layout_change": "background",
    "lighting_shift": "background",
    "style_shift": "background",
    "duplicate": "background",
    "camera_drift": "camera",
    "camera_never_moves": "camera",
    "temporal_cut": "camera",
}
"""The category that each fault is an example of."""


def render(family: str, root: Path, form: ClipRecipe) -> None:
    """All clips of a family that are not there yet."""
    for faults, severities in ((tuple(FAULTS), (1.0,)), ((FAULT,), SEVERITIES)):
        grid = Grid(
            families=(family,), events=(EVENT,), cameras=(CAMERA,), seeds=(0,), faults=faults, severities=severities
        )
        render_set(grid.recipes(form), root, Inline(), on_case=lambda report: print(report, flush=True))


def rollouts(world: Path, export: Path) -> Iterator[Rollout]:
    """The clips of a world as MemoBench lays them out, each with the truth beside it."""
    shutil.rmtree(export, ignore_errors=True)
    export_world(world, "memobench", export)
    clips = {_identity(card.parent / "video.mp4"): card for card in world.rglob("clip.json")}
    for rollout in read(export, suite="memobench").rollouts:
        if rollout.video.is_file():
            yield replace(rollout, artifacts={**rollout.artifacts, TRUTH: clips[_identity(rollout.video)]})


def _identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def measure(rollout: Rollout, bounds: Sequence[BoundMetric]) -> dict[str, float]:
    """Every score of a rollout, and of its units as `metric/unit`."""
    recipes = [recipe for bound in bounds for recipe in bound.recipes.values()]
    perceived = FeatureJob(Extractors(None), rollout, content_key(rollout), recipes).run()
    found = {}
    for bound in bounds:
        outcome = outcome_of(bound, rollout, perceived)
        if isinstance(outcome, Score):
            found[bound.name] = outcome.value
            units = {f"{bound.name}/{unit.name}": unit.outcome for unit in outcome.units}
            found |= {name: unit.value for name, unit in units.items() if isinstance(unit, Score)}
    return found


def reappearance_bounds(draws: int) -> list[BoundMetric]:
    """The score of every detector, with both thresholds: `published/2/0` is the first one of separation 2."""
    return [
        BoundMetric(
            name=f"{threshold}/{separation:g}/{draw}",
            metric=ReappearanceScore(min_score=THRESHOLDS[threshold]),
            recipes={"detections": ErringDetections(separation, draw=draw)},
        )
        for threshold in THRESHOLDS
        for separation in SEPARATIONS
        for draw in range(draws)
    ]


def failure_bounds(world: Path) -> list[BoundMetric]:
    """The metrics that the rules go by, fed from the truth; only similarity of pictures is measured."""
    wanted = ("memobench.corrected.reappeared.ssim", "memobench.corrected.camera_controllability")
    protocol = tuple(bound for bound in load_suite("memobench").metrics({}) if bound.name in wanted)
    frames = UniformFrames(32)
    return [
        *Overrides(using={"poses": TruePoses()}).apply(protocol),
        BoundMetric(
            name="memobench.corrected.ors",
            metric=ReappearanceScore(),
            recipes={"detections": ErringDetections(SURE, others=1)},
        ),
        BoundMetric(name="further.object_texture", metric=ObjectTexture(), recipes={"regions": TrueRegions(frames)}),
        BoundMetric(
            name="probe_support",
            metric=ProbeSupport(),
            recipes={"probe_probabilities": TrueProbes(frames, str(world))},
        ),
    ]


Scores = dict[tuple[str, str], dict[str, float]]
"""By scene and model."""


def print_reappearance(scores: Scores, draws: int) -> None:
    """The AUC for every severity, and the mean scores of targets that are there and gone."""

    def of(model: str, threshold: str, separation: float) -> list[float]:
        names = [f"{threshold}/{separation:g}/{draw}" for draw in range(draws)]
        return [found[name] for (_, own), found in scores.items() if own == model for name in names]

    print("\n## Reappearance score\n")
    heads = " | ".join(f"{severity:g}" for severity in SEVERITIES)
    print(f"| separation | threshold | {heads} | there | gone |\n|" + " --- |" * 2 + " ---: |" * 7)
    for separation in SEPARATIONS:
        for threshold in THRESHOLDS:
            clean = of(PERFECT, threshold, separation)
            faulty = [of(f"{FAULT}-{severity:.2f}", threshold, separation) for severity in SEVERITIES]
            found = " | ".join(f"{auc([-value for value in own], [-value for value in clean]):.2f}" for own in faulty)
            means = f"{statistics.fmean(clean):.2f} | {statistics.fmean(faulty[-1]):.2f}"
            print(f"| {separation:g} | {threshold} | {found} | {means} |")


def precision_and_recall(pairs: Sequence[tuple[bool, bool]]) -> tuple[float | None, float | None]:
    """Of what was found and what is there, in this order; `None` where nothing was found, or nothing is there.

    >>> precision_and_recall([(True, True), (True, False), (False, False), (True, True)])
    (0.6666666666666666, 1.0)
    """
    both = sum(found and there for found, there in pairs)
    found, there = (sum(pair[place] for pair in pairs) for place in range(2))
    return both / found if found else None, both / there if there else None


def print_failures(scores: Scores) -> None:
    """Precision and recall of each category, and the clips that were judged wrongly."""
    judged = {
        key: {category: verdict.is_found for category, verdict in judge_failures(found).items()}
        for key, found in scores.items()
        if key[1] == PERFECT or key[1].endswith("-1.00")
    }
    shows = {key: SHOWS.get(key[1].rpartition("-")[0]) for key in judged}
    print(f"\n## Failure categories\n\n{len(judged)} clips.\n")
    print("| category | clips that show it | precision | recall | not known |\n| --- |" + " ---: |" * 4)
    for category in CATEGORIES:
        known = [(bool(own[category]), shows[key] == category) for key, own in judged.items()]
        unknown = sum(own[category] is None for own in judged.values())
        figures = ["-" if value is None else f"{value:.2f}" for value in precision_and_recall(known)]
        print(f"| {category} | {sum(there for _, there in known)} | {' | '.join(figures)} | {unknown} |")
    print("\n| clip | shows | found |\n| --- | --- | --- |")
    for key, own in judged.items():
        found = [category for category, is_found in own.items() if is_found]
        expected = [shows[key]] if shows[key] else []
        if found != expected:
            print(f"| {' '.join(key)} | {', '.join(map(str, expected)) or '-'} | {', '.join(found) or '-'} |")


def main() -> None:
    """Render, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="where clips are kept")
    parser.add_argument("--scenes", type=int, default=8)
    parser.add_argument("--families", help="these instead of the first ones")
    parser.add_argument("--size", default="128x224")
    parser.add_argument("--fps", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--draws", type=int, default=25)
    options = parser.parse_args()
    height, width = (int(side) for side in options.size.split("x"))
    families = options.families.split(",") if options.families else list(FAMILIES)[: options.scenes]
    world = options.folder / "world"
    for family in families:
        form = ClipRecipe(
            family=family, event=EVENT, camera=CAMERA, seed=0,
            width=width, height=height, fps=options.fps, seconds=options.seconds,
        )  # fmt: skip
        render(family, world, form)
    bounds = [*reappearance_bounds(options.draws), *failure_bounds(world)]
    scores: Scores = {}
    for rollout in rollouts(world, options.folder / "export"):
        if rollout.case.scene in families:
            scores[rollout.case.scene, rollout.model] = measure(rollout, bounds)
    print_reappearance(scores, options.draws)
    print_failures(scores)


if __name__ == "__main__":
    main()
