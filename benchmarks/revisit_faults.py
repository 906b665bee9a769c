"""How the numbers of the suite `revisit` react to every fault of the simulated world, from pixels and tracked poses.

    python -m benchmarks.revisit_faults --folder FOLDER [--families 12] [--seed 41] [--severities 0.25,0.5,1]
                                        [--faults NAMES] [--part 1/2]
    python -m benchmarks.revisit_faults --folder FOLDER --table

Each family is rendered along one of four camera paths that lose its target, at one of two sizes and one of two rates,
so that families together cover all combinations; clean clips are also measured under nuisances that are no fault, and
along two paths that keep the target in view. Rows are stored as they are measured, and a second call resumes; `--part`
divides the families among processes.

Prints Markdown: for each fault and severity, the AUC of the number that is there to find it against all clean clips,
its median, and how many clips are flagged; and how many clean clips are flagged under each nuisance.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, product
from pathlib import Path

import cv2

from benchmarks.mbench_sensitivity import outcome_of
from lookaway.calibration.clip_changes import NUISANCES, change_rollout, changed_model
from lookaway.calibration.measured_card import MUST_FIND
from lookaway.core import Abstention, BoundMetric, Rollout, Score
from lookaway.engine.feature_job import Extractors, FeatureJob
from lookaway.engine.inline import Inline
from lookaway.engine.locking import content_key
from lookaway.engine.reading import load_suite, read
from lookaway.engine.worker import why_not_applicable
from lookaway.statistics.detection import auc
from lookaway.world.families import FAMILIES
from lookaway.world.faults import FAULTS
from lookaway.world.free_paths import FreePath, Keyframe
from lookaway.world.grid import Grid
from lookaway.world.recipe import PERFECT, ClipRecipe
from lookaway.world.rendering import render_set


def _walk(name: str, x: float, y: float, yaw: float) -> FreePath:
    """Walk to a place while turning away, and back the same way; metres and degrees."""
    places = ((0.0, 0.0), (0.08, 0.0), (0.45, 1.0), (0.55, 1.0), (0.92, 0.0), (1.0, 0.0))
    keyframes = tuple(
        Keyframe(time=time, position=(x * part, y * part, 0.0), yaw=yaw * part, pitch=0.0) for time, part in places
    )
    words = "the camera walks, turns away and comes back"
    return FreePath(name=name, action="away_then_back", words=words, looks_away=True, keyframes=keyframes)


CAMERAS = (
    "yaw_left_60",
    _walk("walk_right_turn_left", 0.5, 0.0, 65.0),
    "pan_right",
    _walk("approach", 0.0, 0.6, -70.0),
)
KEEPING = ("orbit_left", "forward_backward")
"""Paths on which the target stays in view, so that no fault can be injected."""
SIZES = ((368, 208), (640, 360))
RATES = (10, 16)
NUMBERS = ("changed_area", "light", "look", "return_error", "reach_missing", "carried", "cut")
FINDS = {fault: number for number in NUMBERS for fault in MUST_FIND[number]}
"""The number that is there to find each fault that pixels can decide."""
LIMITS = {
    "changed_area": 0.5,
    "light": 0.15,
    "look": 5.0,
    "return_error": 1.0,
    "reach_missing": 5.0,
    "cut": 1.6,
    "carried": 0.5,
}
MEMORY = ("changed_area", "light", "look")
"""Numbers that `remembered` goes by."""
USED = ("crf28", "crf35", "half_rate", "half_size", "flicker", "grain", "wobble", "repainted")
"""Nuisances under which clean clips are measured."""


def forms(count: int, seed: int) -> Iterator[ClipRecipe]:
    """One form for each family; together they cover all paths, sizes and rates."""
    combinations = [(c, s, r) for (s, r), c in product(product(SIZES, RATES), CAMERAS)]
    for number, family in enumerate(islice(FAMILIES, count)):
        camera, (width, height), fps = combinations[(5 * number) % len(combinations)]
        path = camera if isinstance(camera, FreePath) else None
        yield ClipRecipe(
            family=family,
            event="none",
            camera=path.id if path else str(camera),
            free_path=path,
            seed=seed,
            width=width,
            height=height,
            fps=fps,
            seconds=3.0,
        )


def measure(rollout: Rollout, bounds: Sequence[BoundMetric] | None = None) -> dict[str, float | str]:
    """Every number of a rollout, or the reason why there is none; those of the suite where no others are named."""
    bounds = load_suite("revisit").metrics({}) if bounds is None else bounds
    declined = {bound.name: why_not_applicable(bound, rollout) for bound in bounds}
    recipes = [recipe for bound in bounds if declined[bound.name] is None for recipe in bound.recipes.values()]
    perceived = FeatureJob(Extractors(None), rollout, content_key(rollout), recipes).run()
    found: dict[str, float | str] = {}
    for bound in bounds:
        outcome = declined[bound.name] or outcome_of(bound, rollout, perceived)
        if isinstance(outcome, Score):
            found[bound.name] = outcome.value
        elif isinstance(outcome, Abstention):
            found[bound.name] = str(outcome.reason)
        else:
            raise RuntimeError(f"{bound.name} of {rollout.id}: {outcome.message}")
    return found


def collect(form: ClipRecipe, folder: Path, faults: Sequence[str], severities: Sequence[float]) -> None:
    """Render and measure one family; rows that are there stay."""
    name = f"{form.family}-{form.camera}-{form.seed}"
    world, rows = folder / "worlds" / name, folder / "rows" / f"{name}.jsonl"
    rows.parent.mkdir(parents=True, exist_ok=True)
    done = {json.loads(line)["model"] for line in rows.read_text().splitlines()} if rows.exists() else set()
    grid = Grid(
        families=(form.family,), events=("none",), cameras=(form.camera,), seeds=(form.seed,),
        faults=tuple(faults), severities=tuple(severities),
    )  # fmt: skip
    render_set(grid.recipes(form), world, Inline(), on_case=lambda report: print(report, flush=True))
    facts = {"family": form.family, "camera": form.camera.partition("-")[0], "height": form.height, "fps": form.fps}

    def add(rollout: Rollout) -> None:
        if rollout.model not in done:
            with rows.open("a") as file:
                file.write(json.dumps({"model": rollout.model, **facts, **measure(rollout)}) + "\n")

    for rollout in read(world, suite="revisit").rollouts:
        add(rollout)
        if rollout.model == PERFECT and faults:
            for change in (NUISANCES[name] for name in USED):
                if changed_model(rollout, change) not in done:
                    add(replace(change_rollout(rollout, change, folder / "nuisances"), artifacts={}))


def print_table(folder: Path) -> None:
    """All that was measured."""
    rows = [json.loads(line) for path in sorted((folder / "rows").glob("*.jsonl")) for line in path.open()]
    clean = [row for row in rows if row["model"] == PERFECT]
    print(f"{len(rows)} clips, {len(clean)} clean, of {len({row['family'] for row in rows})} families.\n")
    print("| fault | severity | number | clips | declined | AUC | median | flagged |\n|" + " --- |" * 8)
    for fault, number in FINDS.items():
        fine = [row[number] for row in clean if isinstance(row[number], float)]
        for model in sorted({row["model"] for row in rows if row["model"].startswith(f"{fault}-")}):
            own = [row for row in rows if row["model"] == model]
            found = [row[number] for row in own if isinstance(row[number], float)]
            severity = model.rpartition("-")[2]
            counts = f"{len(own)} | {len(own) - len(found)}"
            if not found or not fine:
                print(f"| {fault} | {severity} | {number} | {counts} | | | |")
                continue
            flagged = sum(value > LIMITS[number] for value in found)
            figures = f"{auc(found, fine):.2f} | {statistics.median(found):.2f} | {flagged}"
            print(f"| {fault} | {severity} | {number} | {counts} | {figures} |")
    print("\n| clean clips | declined | remembered | flagged by |\n| --- | --- | --- | --- |")
    for model in (PERFECT, *(f"{PERFECT}+{name}" for name in USED)):
        own = [row for row in rows if row["model"] == model]
        tested = [row for row in own if isinstance(row["remembered"], float)]
        flags = [
            f"{number} {row[number]:.2f} ({row['family']})"
            for row in tested
            for number in MEMORY
            if row[number] > LIMITS[number]
        ]
        kept = sum(row["remembered"] for row in tested)
        print(f"| {model} | {len(own) - len(tested)} | {kept:.0f} of {len(tested)} | {', '.join(flags)} |")


def main() -> None:
    """Render and measure, or print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="where clips and rows are kept")
    parser.add_argument("--families", type=int, default=12)
    parser.add_argument("--seed", type=int, default=41)
    parser.add_argument("--severities", default="0.25,0.5,1")
    parser.add_argument("--faults", default=",".join(FINDS))
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--table", action="store_true", help="print what was measured")
    options = parser.parse_args()
    if options.table:
        print_table(options.folder)
        return
    faults = options.faults.split(",")
    assert set(faults) <= set(FAULTS), set(faults) - set(FAULTS)
    part, parts = (int(number) for number in options.part.split("/"))
    cv2.setNumThreads(1)
    for number, form in enumerate(forms(options.families, options.seed)):
        if number % parts == part - 1:
            collect(form, options.folder, faults, tuple(float(s) for s in options.severities.split(",")))
            for camera in KEEPING:
                collect(replace(form, camera=camera, free_path=None), options.folder, (), ())


if __name__ == "__main__":
    main()
