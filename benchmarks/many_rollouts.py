"""Very many very small rollouts: the cost of planning and scheduling, and whether the driver's memory stays flat.

Every rollout is a link to one of ten clips of 32x32 pixels and four frames. The work itself is measured by a bare loop
over a thousand of them, in one process: open the clip, decode it, one feature, one score. The rest is overhead:

    overhead = (processor seconds of all processes - those of the bare loop for as many rollouts) / rollouts

so that everything counts: reading the folder, hashing, planning, Ray itself with its start, hand-outs, keeping
features, writing rows and putting them into few files. The same with `wall seconds x cores` in place of processor
seconds is printed as well; it holds on a machine on which nothing else runs.
"""

from __future__ import annotations

import os

for _library in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[_library] = "1"
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path

from benchmarks.processor_time import ProcessorClock, memory_bytes
from lookaway.core import Resources, Rollout, Score
from lookaway.engine.evaluate import evaluate
from lookaway.engine.reading import read
from lookaway.engine.session import Progress
from lookaway.io.video import Video
from lookaway.perception.quality.lab_means import LabMeans
from tests.support import lightness_suite
from tests.support.clips import numbered_frames, write_clip

WORKERS, MODELS, FRAMES, SIDE = 2, 10, 4, 32
BARE = 1000
FIRST_LOOK = 0.1
"""Part of the rollouts after which the driver's memory is looked at first."""
MAX_BYTES, MAX_GROWTH_BYTES, MAX_OVERHEAD_MS = 1_000_000_000, 100_000_000, 5.0


@dataclass(kw_only=True)
class Watched:
    """What a run took, watched from its driver."""

    rollouts: int
    bare_ms: float = 0.0
    """Of the processor."""
    bare_wall_ms: float = 0.0
    processor_seconds: float = 0.0
    starting_processor_seconds: float = 0.0
    """Part of them that was taken when the first rollout was done."""
    wall_seconds: float = 0.0
    first_result_seconds: float = 0.0
    """From the call to the first rollout that is done: planning, and starting Ray."""
    working_seconds: float = 0.0
    """From there to the last one."""
    early_bytes: int = 0
    late_bytes: int = 0
    peak_bytes: int = 0
    stages: dict[str, float] = field(default_factory=dict)
    """Seconds in all workers together."""
    _started: float = field(default_factory=time.perf_counter)
    _clock: ProcessorClock = field(default_factory=ProcessorClock)

    def add_frame(self, progress: Progress) -> None:
        """Called for every rollout."""
        if progress.done == 1:
            self.first_result_seconds = time.perf_counter() - self._started
            self.starting_processor_seconds = self._clock.seconds
        if progress.done == int(FIRST_LOOK * self.rollouts):
            self.early_bytes = memory_bytes("VmRSS")
        if progress.done == self.rollouts:
            self.working_seconds = time.perf_counter() - self._started - self.first_result_seconds
            self.late_bytes = memory_bytes("VmRSS")
            self.stages = {name: round(stage.seconds, 2) for name, stage in progress.timings.stages.items()}

    @property
    def overhead_ms(self) -> float:
        """Of the processor, beyond the bare work, for each rollout."""
        return 1000 * self.processor_seconds / self.rollouts - self.bare_ms

    @property
    def working_overhead_ms(self) -> float:
        """The same without what it took to plan, and to start Ray and the workers."""
        return self.overhead_ms - 1000 * self.starting_processor_seconds / self.rollouts

    @property
    def growth_bytes(self) -> int:
        """Of the driver, from the first look to the last."""
        return self.late_bytes - self.early_bytes

    @property
    def is_as_asked(self) -> bool:
        """Whether overhead and memory stay below what is asked."""
        is_small = self.peak_bytes < MAX_BYTES and self.growth_bytes < MAX_GROWTH_BYTES
        return is_small and self.overhead_ms < MAX_OVERHEAD_MS

    @property
    def wall_overhead_ms(self) -> float:
        """The same by the wall, of all cores together."""
        return 1000 * self.wall_seconds * WORKERS / self.rollouts - self.bare_wall_ms


def write_links(root: Path, rollouts: int) -> Path:
    """`{model}/{case}.mp4`, those of a model all one file. Models differ, or they would share what is kept."""
    for number in range(rollouts):
        model, case = number % MODELS, number // MODELS
        folder = root / f"model{model}"
        if case == 0:
            folder.mkdir(parents=True)
            write_clip(folder / "case000000.mp4", numbered_frames(FRAMES, width=SIDE, height=SIDE, seed=model))
        else:
            os.link(folder / "case000000.mp4", folder / f"case{case:06d}.mp4")
    return root


def bare_ms(rollouts: Sequence[Rollout]) -> tuple[float, float]:
    """Milliseconds of one rollout without any engine: of the processor, and by the wall."""
    lab, metric = LabMeans(height=16).load(), lightness_suite.MeanLightness()
    processor, wall = time.process_time(), time.perf_counter()
    for rollout in rollouts:
        with Video(rollout.video) as video:
            watch = lab.start(rollout, video.timeline, {})
            for _, frame in video.frames([watch.request]):
                watch.add_frame(frame)
        if not isinstance(metric.measure(rollout, {"lab_means": watch.finish()}), Score):
            raise TypeError("every rollout has a score")
    each = 1000 / len(rollouts)
    return each * (time.process_time() - processor), each * (time.perf_counter() - wall)


def watched_run(root: Path, output: Path, rollouts: int) -> Watched:
    """Evaluate all rollouts on Ray."""
    bare, bare_wall = bare_ms(read(root).rollouts[:BARE])
    watched = Watched(rollouts=rollouts, bare_ms=bare, bare_wall_ms=bare_wall)
    how = {"suite": lightness_suite.NAME, "executor": "ray", "resources": Resources(workers=WORKERS)}
    with watched._clock as clock, lightness_suite.offered():
        run = evaluate(root, output, on_progress=watched.add_frame, **how)  # type: ignore[call-overload]
        watched.wall_seconds = time.perf_counter() - watched._started
    watched.processor_seconds, watched.peak_bytes = clock.seconds, memory_bytes("VmHWM")
    scored = sum(row["status"] == "score" for row in run.items())
    if scored != rollouts:
        raise RuntimeError(f"only {scored} rollouts of {rollouts} have a score.")
    return watched


def main() -> int:
    """Print what it took, and 1 where it is more than is asked; or with --json what was watched, and judge nothing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rollouts", type=int, default=100_000)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = write_links(Path(folder) / "videos", asked.rollouts)
        watched = watched_run(root, Path(folder) / "run", asked.rollouts)
    if asked.json:
        shown = {entry.name: getattr(watched, entry.name) for entry in fields(watched) if entry.name[0] != "_"}
        overhead = {"overhead_ms": watched.overhead_ms, "working_overhead_ms": watched.working_overhead_ms}
        print(json.dumps({**shown, **overhead}))
        return 0
    report(watched)
    return 0 if watched.is_as_asked else 1


def report(watched: Watched) -> None:
    """Print figures beside what is asked of them."""
    count, rest = watched.rollouts, watched.wall_seconds - watched.first_result_seconds - watched.working_seconds
    print(
        f"{count} rollouts in {watched.wall_seconds:.1f} s on {WORKERS} cores: until the first is done "
        f"{watched.first_result_seconds:.1f} s, the others {watched.working_seconds:.1f} s, after the last {rest:.1f} s"
    )
    stages = ", ".join(f"{name} {1000 * spent / count:.2f}" for name, spent in watched.stages.items())
    print(f"bare loop: {watched.bare_ms:.2f} ms; by the wall of a worker, ms for each rollout: {stages}")
    print(
        f"overhead for each rollout: {watched.overhead_ms:.2f} ms of the processor (asked: {MAX_OVERHEAD_MS}; "
        f"{watched.working_overhead_ms:.2f} without planning and start), {watched.wall_overhead_ms:.2f} ms by the wall"
    )
    print(
        f"driver: at most {watched.peak_bytes / 1e6:.0f} MB (asked: {MAX_BYTES / 1e6:.0f}), from a tenth to the end "
        f"{watched.growth_bytes / 1e6:+.0f} MB (asked: {MAX_GROWTH_BYTES / 1e6:.0f})"
    )


if __name__ == "__main__":
    sys.exit(main())
