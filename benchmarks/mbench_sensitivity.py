"""How every metric of MBench answers to every fault of the simulated world, as the fault grows.

    python -m benchmarks.mbench_sensitivity [--scenes 8] [--severities 0.2,0.4,0.6,0.8,1] [--size 128x224] [--fps 16]
                                            [--folder FOLDER]

Features come from the truth wherever a recipe reads them from there, and the judge is the oracle that knows the truth,
so that what is measured is the metric and not what feeds it. Surfaces are told apart by EfficientNet-Lite0. With a
folder, clips, features and answers are kept there, and a second call goes on where the first one ended.

Each line is one metric under one fault: the mean over the clips that have the fault at every severity, first without
it. A star marks a fault that the metric is there to find; it should fall with every step. Without the fault, a metric
should reach 0.95 of its best value, which is 1.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import shutil
import statistics
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from lookaway.core import (
    Abstention,
    BoundMetric,
    Extractor,
    Feature,
    JudgeModel,
    Outcome,
    PairSelector,
    Rollout,
    Score,
    Unmeasurable,
)
from lookaway.engine.changes import Changes
from lookaway.engine.inline import Inline
from lookaway.engine.judging import with_judge
from lookaway.engine.locking import content_key
from lookaway.engine.perceiving import Extractors, Perceived, Perceiving
from lookaway.engine.reading import load_suite, read
from lookaway.engine.worker import why_declined
from lookaway.io.sampling import OverSegments, Sampler, UniformFrames
from lookaway.judges.connection import Connection
from lookaway.judges.oracle import OracleServer
from lookaway.judges.settings import JudgeSettings
from lookaway.perception.efficientnet_embeddings import EfficientnetEmbeddings
from lookaway.perception.region_embeddings import RegionEmbeddings
from lookaway.perception.true_depth import TrueDepth
from lookaway.perception.true_masks import TrueMasks
from lookaway.perception.true_matches import TrueMatches
from lookaway.perception.true_poses import TruePoses
from lookaway.store.feature_store import FeatureStore
from lookaway.suites.mbench.protocol import ENTITY_FRAMES, FOLD_PAIRS, SEGMENT_PAIRS
from lookaway.world.events import Event
from lookaway.world.exports import export_world
from lookaway.world.families import FAMILIES
from lookaway.world.faults import FAULTS
from lookaway.world.grid import Grid
from lookaway.world.recipe import PERFECT, ClipRecipe
from lookaway.world.rendering import render_set

SETTINGS = ("mbench-a", "mbench-t")
EVENTS: tuple[Event, ...] = ("none", "in_place")
"""Nothing may happen where a place is compared with itself, and something must where its progress is rated."""
CAMERA = "yaw_left_60"
NAMED: Mapping[str, tuple[str, ...]] = {
    "spatial_epipolar": ("layout_change", "teleport"),
    "spatial_reprojection": ("layout_change", "teleport"),
    "rendering_lighting": ("lighting_shift",),
    "rendering_style": ("style_shift",),
    "object_texture_consistency": ("identity_texture", "identity_colour"),
    "object_geometry_consistency": ("identity_shape", "teleport", "vanish"),
    "camera_interaction": ("camera_never_moves",),
    "state_progress": ("state_reset", "frozen_while_unseen"),
    "progress_correctness": ("state_reset", "frozen_while_unseen"),
    "prompt_interaction": ("vanish", "state_reset"),
}
"""What each metric is there to find, by the last word of its name."""
LEAST_ON_PERFECT = 0.95
LEVEL = 1e-3
"""Smaller differences are rounding, or codecs."""

Values = dict[tuple[str, str, str], float]
"""By metric, case and model."""


@dataclass(slots=True)
class Measured:
    """Scores of one setting, and how often there was none."""

    values: Values = field(default_factory=dict)
    reasons: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))


def render(root: Path, scenes: int, severities: Sequence[float], form: ClipRecipe) -> None:
    """All clips that are not there yet."""
    grid = Grid(
        families=tuple(FAMILIES)[:scenes], events=EVENTS, cameras=(CAMERA,), seeds=(0,),
        faults=tuple(FAULTS), severities=tuple(severities),
    )  # fmt: skip
    render_set(grid.recipes(form), root, Inline(), on_case=lambda report: print(report, flush=True))


def truth_fed(setting: str) -> dict[str, Extractor]:
    """Recipes that read from the truth, or from pictures by masks that are true, by the feature they stand in for."""
    is_text = setting == "mbench-t"
    pairs: PairSelector = SEGMENT_PAIRS if is_text else FOLD_PAIRS
    frames: Sampler = OverSegments(ENTITY_FRAMES) if is_text else UniformFrames(ENTITY_FRAMES)
    masks = TrueMasks(frames=frames)
    return {
        "poses": TruePoses(),
        "matches": TrueMatches(poses=TruePoses(), pairs=pairs),
        "masks": masks,
        "depth": TrueDepth(frames=frames, stride=1),
        "regions": RegionEmbeddings(masks=masks, embedding=EfficientnetEmbeddings()),
    }


def measure(setting: str, world: Path, folder: Path) -> Measured:
    """Every metric of a setting on the export of a world."""
    export = folder / setting
    shutil.rmtree(export, ignore_errors=True)
    export_world(world, setting, export)
    dataset, found = read(export), Measured()
    with OracleServer(world) as server:
        judge = JudgeSettings(model=JudgeModel(model="oracle"), connection=Connection(url=server.base_url))
        bounds = Changes(using=truth_fed(setting)).apply(load_suite(setting).metrics(dataset.settings))
        bounds = with_judge(bounds, judge, folder)
        asking = judge.asking(folder)
        try:
            extractors = Extractors(FeatureStore(folder / "features"), asking)
            for rollout in dataset.rollouts:
                measure_rollout(rollout, bounds, extractors, found)
        finally:
            asking.close()
    return found


def measure_rollout(rollout: Rollout, bounds: Sequence[BoundMetric], extractors: Extractors, found: Measured) -> None:
    """Add the scores of one rollout, or why there are none."""
    asked = [bound for bound in bounds if bound.applies_to(rollout)]
    declined = {bound.name: why_declined(bound, rollout) for bound in asked}
    recipes = [recipe for bound in asked if declined[bound.name] is None for recipe in bound.recipes.values()]
    perceived = Perceiving(extractors, rollout, content_key(rollout), recipes).run()
    for bound in asked:
        outcome = declined[bound.name] or outcome_of(bound, rollout, perceived)
        if isinstance(outcome, Score):
            found.values[bound.name, rollout.case.id, rollout.model] = outcome.value
        elif isinstance(outcome, Abstention):
            found.reasons[bound.name][outcome.reason] += 1


def outcome_of(bound: BoundMetric, rollout: Rollout, perceived: Mapping[Extractor, Perceived]) -> Outcome:
    """What a metric makes of what was perceived; raises what crashed."""
    features = {}
    for name, recipe in bound.recipes.items():
        feature = perceived[recipe]
        if isinstance(feature, Feature):
            features[name] = feature
        elif not isinstance(feature, Unmeasurable):
            raise feature
        elif name in bound.metric.needs:
            return Abstention(feature.reason, str(feature))
    return bound.metric.measure(rollout, features)


def course(values: Sequence[float]) -> str:
    """What a metric does as a fault grows."""
    steps = [after - before for before, after in pairwise(values)]
    if all(abs(value - values[0]) < LEVEL for value in values):
        return "level"
    if all(step <= LEVEL for step in steps):
        return "falls" if all(step < 0 for step in steps) else "falls, with a stop"
    return "rises" if all(step >= -LEVEL for step in steps) else "falls and rises"


def lines(metric: str, values: Values, severities: Sequence[float]) -> Iterator[str]:
    """One line for each fault that some clips of the metric's subset have."""
    word = metric.rpartition(".")[2]
    cases = {case for name, case, _ in values if name == metric}
    for fault in FAULTS:
        models = [PERFECT, *(f"{fault}-{severity:.2f}" for severity in severities)]
        whole = [case for case in cases if all((metric, case, model) in values for model in models)]
        if whole:
            means = [statistics.fmean(values[metric, case, model] for case in whole) for model in models]
            star = " *" if fault in NAMED.get(word, ()) else ""
            figures = " | ".join(f"{mean:.3f}" for mean in means)
            yield f"| {metric} | {fault}{star} | {len(whole)} | {figures} | {course(means)} |"


def print_table(setting: str, found: Measured, severities: Sequence[float]) -> None:
    """All metrics of a setting under all faults, and then what is not as it should be."""
    print(f"\n## {setting}\n")
    print("| metric | fault | clips | none | " + " | ".join(f"{severity:g}" for severity in severities) + " | course |")
    print("| --- | --- | ---: | ---: |" + " ---: |" * len(severities) + " --- |")
    for metric in sorted({metric for metric, _, _ in found.values}):
        for line in lines(metric, found.values, severities):
            print(line)
    print("\nWithout any fault:")
    for metric in sorted({metric for metric, _, _ in found.values}):
        clean = {
            case: value for (name, case, model), value in found.values.items() if (name, model) == (metric, PERFECT)
        }
        low = {case: round(value, 3) for case, value in clean.items() if value < LEAST_ON_PERFECT}
        print(f"- {metric}: {statistics.fmean(clean.values()):.3f} over {len(clean)} clips; below: {low or 'none'}")
    print("\nWithout a score:")
    for metric, reasons in sorted(found.reasons.items()):
        print(f"- {metric}: " + ", ".join(f"{count} {reason}" for reason, count in reasons.most_common()))


def main() -> None:
    """Render, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", type=int, default=8)
    parser.add_argument("--severities", default="0.2,0.4,0.6,0.8,1")
    parser.add_argument("--size", default="128x224")
    parser.add_argument("--fps", type=int, default=16, help="at 8, a frame off is a view off, which costs light 0.05")
    parser.add_argument("--folder", type=Path, help="where clips, features and answers are kept")
    asked = parser.parse_args()
    severities = tuple(float(severity) for severity in asked.severities.split(","))
    height, width = (int(side) for side in asked.size.split("x"))
    form = ClipRecipe(
        family="", event="none", camera="", seed=0, width=width, height=height, fps=asked.fps, seconds=3.0
    )
    with tempfile.TemporaryDirectory() as temporary:
        folder: Path = asked.folder or Path(temporary)
        world = folder / "world"
        render(world, asked.scenes, severities, form)
        for setting in SETTINGS:
            print_table(setting, measure(setting, world, folder), severities)


if __name__ == "__main__":
    main()
