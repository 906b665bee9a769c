"""How every metric of MBench, with our repairs, reacts to every fault of the simulated world, as its severity grows.

    python -m benchmarks.mbench_sensitivity [--metrics NAMES [--faults NAMES]] [--severities 0.2,0.4,0.6,0.8,1]
                                            [--scenes 8] [--size 128x224] [--fps 16] [--seconds 3] [--folder FOLDER]

Features come from the ground truth, and the judge is the oracle that knows it, so that the metric is measured and not
its inputs; only surfaces are compared by a network, EfficientNet-Lite0. The target stands in for a person. With a
folder, clips, features and replies are stored there, and a second call resumes.

Prints Markdown: without any fault; every metric under every fault; and the faults that a metric is there to find, step
by step. Means are over the cases that have a score at every severity. With metrics, by the last words of their names,
only these are measured, and only under the faults that they are there to find, or under some of these.
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
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

from benchmarks.truth_fed import BodiesOfFaces, TrueFaces, TrueLikeness, TrueStyle
from lookaway.calibration.measured_card import MUST_FIND
from lookaway.core import (
    Abstention,
    BoundMetric,
    Extractor,
    Feature,
    JudgeModel,
    Outcome,
    PairSelector,
    Rollout,
    Sampler,
    Score,
    Unmeasurable,
)
from lookaway.engine.binding import Overrides
from lookaway.engine.feature_job import Extractors, FeatureJob, Perceived
from lookaway.engine.inline import Inline
from lookaway.engine.judging import with_judge
from lookaway.engine.locking import content_key
from lookaway.engine.reading import load_suite, read
from lookaway.engine.worker import why_not_applicable
from lookaway.io.sampling import BySegment
from lookaway.judges.oracle import OracleServer
from lookaway.judges.server import Connection
from lookaway.judges.settings import JudgeSettings
from lookaway.perception.similarity.efficientnet_embeddings import EfficientnetEmbeddings
from lookaway.perception.similarity.region_embeddings import RegionEmbeddings
from lookaway.perception.true_matches import TrueMatches
from lookaway.perception.truth import TrueDepth, TrueMasks, TruePoses
from lookaway.store.feature_store import FeatureStore
from lookaway.suites.mbench.protocol import (
    ACTION_FRAMES,
    REPAIRED_FOLD_PAIRS,
    REPAIRED_SEGMENT_PAIRS,
    STYLE_FRAMES,
    TEXT_FRAMES,
)
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
OF_EVENTS = frozenset({"camera_interaction", "state_progress", "progress_correctness", "prompt_interaction"})
"""Metrics that are asked where something happens; the others are asked where nothing does."""
OF_PLACES = (
    "human_identity_consistency",
    "human_appearance_consistency",
    "spatial_epipolar",
    "spatial_reprojection",
    "rendering_lighting",
    "rendering_style",
    "object_texture_consistency",
    "object_geometry_consistency",
)
NAMED = {word: MUST_FIND[word] for word in (*OF_PLACES, *sorted(OF_EVENTS))}
"""What each metric is there to find, by the last word of its name."""
LEVEL = 1e-3
"""Smaller differences are rounding, or codecs."""

Values = dict[tuple[str, str, str], float]
"""By metric, case and model."""
Asked = Mapping[str, tuple[str, ...]]
"""Faults by the last word of a metric's name: those under which it is measured."""


@dataclass(slots=True)
class Measured:
    """Scores of one setting, and how often there was none."""

    values: Values = field(default_factory=dict)
    reasons: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))


def render(root: Path, severities: Sequence[float], form: ClipRecipe, asked: Asked | None) -> None:
    """All clips of the form's family that are not there yet; without `asked`, those of every fault."""
    for event in EVENTS:
        words = [word for word in asked or NAMED if (word in OF_EVENTS) == (event != "none")]
        faults = tuple(FAULTS) if asked is None else tuple({fault: None for word in words for fault in asked[word]})
        if words:
            grid = Grid(
                families=(form.family,), events=(event,), cameras=(CAMERA,), seeds=(0,),
                faults=faults, severities=tuple(severities),
            )  # fmt: skip
            render_set(grid.recipes(form), root, Inline(), on_case=lambda report: print(report, flush=True))


def truth_fed(setting: str, world: Path) -> dict[str, Extractor]:
    """Recipes that read from the truth, or from pictures by masks that are true, by the feature they stand in for."""
    is_text = setting == "mbench-t"
    pairs: PairSelector = REPAIRED_SEGMENT_PAIRS if is_text else REPAIRED_FOLD_PAIRS
    frames: Sampler = TEXT_FRAMES if is_text else ACTION_FRAMES
    masks = TrueMasks(frames=frames)
    regions = RegionEmbeddings(masks=masks, embedding=EfficientnetEmbeddings())
    return {
        "poses": TruePoses(),
        "matches": TrueMatches(poses=TruePoses(), pairs=pairs),
        "masks": masks,
        "depth": TrueDepth(frames=frames, stride=1),
        "regions": regions,
        "faces": TrueFaces(frames),
        "bodies": BodiesOfFaces(regions),
        "style": TrueStyle(STYLE_FRAMES),
        "similarity": TrueLikeness(BySegment(8), str(world)),
    }


def measure(setting: str, world: Path, folder: Path, asked: Asked | None, found: Measured) -> None:
    """Add the scores of what is asked, or of every metric of a setting, on the export of a world."""
    export = folder / setting
    shutil.rmtree(export, ignore_errors=True)
    export_world(world, setting, export)
    dataset = read(export)
    with OracleServer(world) as server:
        judge = JudgeSettings(model=JudgeModel(model="oracle"), connection=Connection(url=server.base_url))
        protocol = tuple(bound for bound in load_suite(setting).metrics(dataset.settings) if is_measured(bound))
        bounds = tuple(_of_stand_ins(bound) for bound in Overrides(using=truth_fed(setting, world)).apply(protocol))
        bounds = with_judge(bounds, judge, folder)
        client = judge.open_client(folder)
        try:
            extractors = Extractors(FeatureStore(folder / "features"), client)
            for rollout in dataset.rollouts:
                wanted = [bound for bound in bounds if _is_asked(bound, rollout, asked)]
                measure_rollout(rollout, wanted, extractors, found)
        finally:
            client.close()


def is_measured(bound: BoundMetric) -> bool:
    """Whether it is one of MBench's metrics with our repairs, or the gate that goes with them."""
    return bound.is_of("corrected") and bound.name.startswith("mbench")


def measure_rollout(rollout: Rollout, bounds: Sequence[BoundMetric], extractors: Extractors, found: Measured) -> None:
    """Add the scores of one rollout, or why there are none."""
    declined = {bound.name: why_not_applicable(bound, rollout) for bound in bounds}
    recipes = [recipe for bound in bounds if declined[bound.name] is None for recipe in bound.recipes.values()]
    perceived = FeatureJob(extractors, rollout, content_key(rollout), recipes).run()
    for bound in bounds:
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


def _is_asked(bound: BoundMetric, rollout: Rollout, asked: Asked | None) -> bool:
    if asked is None or not bound.applies_to(rollout):
        return bound.applies_to(rollout)
    fault = rollout.model.rpartition("-")[0] or PERFECT
    return _word(bound.name) in asked and fault in (PERFECT, *asked[_word(bound.name)])


def _of_stand_ins(bound: BoundMetric) -> BoundMetric:
    """People are asked of objects, for the world has none."""
    return replace(bound, subsets=("object",)) if bound.subsets == ("human",) else bound


def course(values: Sequence[float]) -> str:
    """What a metric does as a fault grows."""
    steps = [after - before for before, after in pairwise(values)]
    if all(abs(value - values[0]) < LEVEL for value in values):
        return "level"
    if all(step <= LEVEL for step in steps):
        return "falls" if all(step < 0 for step in steps) else "falls, with a stop"
    return "rises" if all(step >= -LEVEL for step in steps) else "falls and rises"


@dataclass(frozen=True, slots=True)
class Answer:
    """Of one metric to one fault: means over cases, first without it."""

    means: tuple[float, ...]
    cases: int


def answers(metric: str, values: Values, severities: Sequence[float]) -> Iterator[tuple[str, Answer]]:
    """To each fault that some cases of the metric's subset have."""
    cases = {case for name, case, _ in values if name == metric}
    for fault in FAULTS:
        models = [PERFECT, *(f"{fault}-{severity:.2f}" for severity in severities)]
        whole = [case for case in cases if all((metric, case, model) in values for model in models)]
        if whole:
            means = (statistics.fmean(values[metric, case, model] for case in whole) for model in models)
            yield fault, Answer(tuple(means), len(whole))


def print_tables(setting: str, found: Measured, severities: Sequence[float]) -> None:
    """Everything about one setting."""
    metrics = sorted({metric for metric, _, _ in found.values})
    known = {metric: dict(answers(metric, found.values, severities)) for metric in metrics}
    print(f"\n## {setting}\n\n### Without any fault\n\n| metric | mean | least | cases |\n| --- | ---: | ---: | ---: |")
    for metric in metrics:
        clean = [value for (name, _, model), value in found.values.items() if (name, model) == (metric, PERFECT)]
        print(f"| `{metric}` | {statistics.fmean(clean):.3f} | {min(clean):.3f} | {len(clean)} |")
    print(f"\n### Under every fault\n\n| metric | {' | '.join(name.replace('_', ' ') for name in FAULTS)} |")
    print("| --- |" + " ---: |" * len(FAULTS))
    for metric in metrics:
        print(f"| `{metric}` | " + " | ".join(_cell(metric, name, known[metric].get(name)) for name in FAULTS) + " |")
    head = " | ".join(f"{severity:g}" for severity in severities)
    print(f"\n### Step by step\n\n| metric | fault | cases | none | {head} | course |")
    print("| --- | --- | ---: | ---: |" + " ---: |" * len(severities) + " --- |")
    for metric in metrics:
        for fault in NAMED.get(_word(metric), ()):
            if (answer := known[metric].get(fault)) is not None:
                figures = " | ".join(f"{mean:.3f}" for mean in answer.means)
                print(f"| `{metric}` | {fault} | {answer.cases} | {figures} | {course(answer.means)} |")
    print("\n### Without a score\n")
    for metric, reasons in sorted(found.reasons.items()):
        print(f"- `{metric}`: " + ", ".join(f"{count} `{reason}`" for reason, count in reasons.most_common()))


def _cell(metric: str, fault: str, answer: Answer | None) -> str:
    """What is left at full severity, of what there is without the fault; in bold where the metric must find it."""
    if answer is None:
        return ""
    left = "=" if course(answer.means) == "level" else f"{answer.means[-1] / answer.means[0]:.2f}"
    return f"**{left}**" if fault in NAMED.get(_word(metric), ()) else left


def _word(metric: str) -> str:
    return metric.rpartition(".")[2]


def main() -> None:
    """Render, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--metrics", help="only these, by the last words of their names, under the faults they find")
    parser.add_argument("--faults", default=",".join(FAULTS), help="of those under which these metrics are measured")
    parser.add_argument("--scenes", type=int, default=8)
    parser.add_argument("--severities", default="0.2,0.4,0.6,0.8,1")
    parser.add_argument("--size", default="128x224")
    parser.add_argument("--fps", type=int, default=16, help="at 8, a frame off is a view off, which costs light 0.05")
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--folder", type=Path, help="where clips, features and answers are kept")
    options = parser.parse_args()
    words, faults = options.metrics.split(",") if options.metrics else (), options.faults.split(",")
    asked = {word: tuple(fault for fault in NAMED[word] if fault in faults) for word in words} or None
    severities = tuple(float(severity) for severity in options.severities.split(","))
    height, width = (int(side) for side in options.size.split("x"))
    measured = {setting: Measured() for setting in SETTINGS}
    with tempfile.TemporaryDirectory() as temporary:
        folder: Path = options.folder or Path(temporary)
        for family in tuple(FAMILIES)[: options.scenes]:
            world = folder / family / "world"  # one for each: the oracle finds a clip among all of its world
            form = ClipRecipe(
                family=family, event="none", camera="", seed=0,
                width=width, height=height, fps=options.fps, seconds=options.seconds,
            )  # fmt: skip
            render(world, severities, form, asked)
            for setting in SETTINGS:
                measure(setting, world, folder / family, asked, measured[setting])
    for setting, found in measured.items():
        print_tables(setting, found, severities)


if __name__ == "__main__":
    main()
