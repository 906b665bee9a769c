"""Decoding and four features on two cores, three ways in turns: Ray by hand, the engine on Ray, the engine inline.

The script by hand has two actors that decode each clip once, compute the features and return four numbers. The engine
also reads the folder, hashes every clip, keeps the features, writes rows and puts them into one file.

Ray itself is started once before all rounds, which neither of the two that use it pays for; the seconds are printed.
Starting the two workers is paid for by both. Every library has one thread in every process, so that inline has one
core. Ratios are those of medians; the rounds show how far they scatter.
"""

from __future__ import annotations

import os

for _library in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[_library] = "1"
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import ray

from benchmarks.four_features import ByHand, install
from benchmarks.processor_time import ProcessorClock
from benchmarks.textured_clips import write_textured_clips
from lookaway.core import Resources, Rollout
from lookaway.engine.evaluate import evaluate
from lookaway.engine.reading import read

WORKERS = 2
MIN_OF_BY_HAND, MIN_OF_INLINE = 0.90, 1.7
HAND, ENGINE, INLINE = "Ray by hand", "engine on Ray", "engine inline"


def by_hand(rollouts: Sequence[Rollout]) -> None:
    """Two actors that hold one clip each and have the next one waiting."""
    kind: Any = ray.remote(num_cpus=1)(_Actor)
    actors: list[Any] = [kind.remote() for _ in range(WORKERS)]
    left = iter(rollouts)
    busy = {actor.work.remote(rollout): actor for _ in range(2) for actor, rollout in zip(actors, left, strict=False)}
    found = []
    while busy:
        (done,), _ = ray.wait(list(busy))
        actor = busy.pop(done)
        found.append(ray.get(done))
        if (rollout := next(left, None)) is not None:
            busy[actor.work.remote(rollout)] = actor
    for actor in actors:
        ray.kill(actor)
    if len(found) != len(rollouts):
        raise RuntimeError(f"{len(found)} clips of {len(rollouts)} came back.")


class _Actor:
    def __init__(self) -> None:
        self._work = ByHand()

    def work(self, rollout: Rollout) -> object:
        return self._work(rollout)


def by_engine(root: Path, output: Path, suite: str, executor: str) -> None:
    """As a user would call it."""
    resources = Resources(workers=WORKERS) if executor == "ray" else None
    run = evaluate(root, output, suite=suite, executor=executor, resources=resources)
    if any(row["status"] != "score" for row in run.items()):
        raise RuntimeError("some clips have no score.")


def timed(work: Callable[[], None]) -> tuple[float, float]:
    """Seconds by the wall, and of the processor in all processes, which other users of the machine disturb least."""
    with ProcessorClock() as clock:
        started = time.perf_counter()
        work()
        wall = time.perf_counter() - started
    return wall, clock.seconds


def main() -> int:
    """Print seconds and ratios; 1 where the engine does not reach what is asked of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clips", type=int, default=24)
    parser.add_argument("--seconds", type=float, default=6.0, help="of each clip")
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    suite = install()
    with tempfile.TemporaryDirectory() as folder:
        root = write_textured_clips(Path(folder) / "clips", clips=asked.clips, seconds=asked.seconds)
        rollouts = read(root).rollouts
        started = time.perf_counter()
        ray.init(address="local", num_cpus=WORKERS, include_dashboard=False, log_to_driver=False)
        print(f"{asked.clips} clips of {asked.seconds:g} s, {asked.rounds} rounds; Ray itself was started in", end=" ")
        print(f"{time.perf_counter() - started:.1f} s, which is counted for nobody.", flush=True)
        ByHand()(rollouts[0])  # what is imported at first use
        rounds: dict[str, list[tuple[float, float]]] = {HAND: [], ENGINE: [], INLINE: []}
        for turn in range(asked.rounds):
            ways: dict[str, Callable[[], None]] = {
                HAND: lambda: by_hand(rollouts),
                ENGINE: lambda turn=turn: by_engine(root, Path(folder) / f"ray{turn}", suite, "ray"),  # type: ignore[misc]
                INLINE: lambda turn=turn: by_engine(root, Path(folder) / f"inline{turn}", suite, "inline"),  # type: ignore[misc]
            }
            for name, work in ways.items():
                rounds[name].append(timed(work))
                print(
                    f"  round {turn + 1}, {name}: {rounds[name][-1][0]:.2f} s, processor {rounds[name][-1][1]:.2f} s",
                    flush=True,
                )
        ray.shutdown()
    return 0 if report(rounds, asked.clips) else 1


def report(rounds: dict[str, list[tuple[float, float]]], clips: int) -> bool:
    """Print medians and ratios; whether these are as large as is asked."""
    wall = {name: [seconds[0] for seconds in all_rounds] for name, all_rounds in rounds.items()}
    processor = {name: [seconds[1] for seconds in all_rounds] for name, all_rounds in rounds.items()}
    for name in rounds:
        middle, low, high = statistics.median(wall[name]), min(wall[name]), max(wall[name])
        used = statistics.median(processor[name])
        speed = clips / middle
        print(f"{name}: {middle:.2f} s (rounds {low:.2f} to {high:.2f}), {speed:.2f} clips/s, processor {used:.2f} s")
    reached = []
    for other, least in ((HAND, MIN_OF_BY_HAND), (INLINE, MIN_OF_INLINE)):
        each = " ".join(f"{theirs / ours:.2f}" for theirs, ours in zip(wall[other], wall[ENGINE], strict=True))
        ratio = statistics.median(wall[other]) / statistics.median(wall[ENGINE])
        reached.append(ratio >= least)
        busy = statistics.median(processor[other]) / statistics.median(processor[ENGINE])
        print(f"throughput of {ENGINE} / {other}: {ratio:.2f} (asked: {least}; rounds {each}); processor: {busy:.2f}")
    more = statistics.median(processor[ENGINE]) - statistics.median(processor[HAND])
    print(f"processor time beyond the script by hand: {1000 * more / clips:.0f} ms for each clip")
    return all(reached)


if __name__ == "__main__":
    sys.exit(main())
