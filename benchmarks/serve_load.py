"""`lookaway serve` under load: no request lost or answered twice while replicas are killed, and its cost.

    python -m benchmarks.serve_load [--requests 10000] [--clients 32] [--replicas 2] [--kills 6] [--metrics light,look]

Clips are small and their poses known, so that `light` and `look` take some tens of milliseconds. `return_error` takes
one: it shows what a request itself costs, and ten thousand fit into minutes. Each client sends its next request when
the last one is answered. Throughput is compared with that of bare scorers, as many processes as replicas, which are
measured before and after the first part of the load, in which nothing is killed; clients, server and Ray run on the
same cores as the replicas, and count as overhead. In the second part replicas are killed, one after the other. A ledger
has every id that was sent, every answer, and whether it is the one that the clip has.
"""

from __future__ import annotations

import os

for _library in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[_library] = "1"

import argparse
import itertools
import re
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import psutil  # type: ignore[import-untyped]
from numpy.typing import NDArray

from lookaway import CasePaths, Scorer, ScorerClient, ScoringFailed
from lookaway.serving.schema import ScoreOptions, as_scores
from tests.serving.running import turned
from tests.support.ray_runs import ray_folder

METRICS = "light,look"
FRAMES, CLIPS, FPS = 6, 20, 8.0
DEGREES_PER_CLIP = 0.1
"""How far each clip comes back to another place than the one before, so that `return_error` tells them apart, too."""
QUIET_SHARE = 0.3
"""Part of the requests that come before the first kill."""
GOAL = 0.85
AS_BARE = {"RAY_worker_niceness": "0"}
"""Ray lets its workers yield to other processes, which on a busy machine is no fair comparison."""


@dataclass
class Ledger:
    """What was sent and what came back."""

    sent: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def lost(self) -> int:
        """Ids without an answer."""
        return len(self.sent.keys() - self.answered.keys())

    @property
    def twice(self) -> int:
        """Ids with more than one answer."""
        return sum(count > 1 for count in self.answered.values())


def clip_of(number: int) -> tuple[NDArray[np.uint8], CasePaths]:
    """Frames and poses; no two clips have the same scores."""
    clip, paths = turned(number, FRAMES)
    assert paths.poses is not None
    angle = np.radians(DEGREES_PER_CLIP * number)
    turn = np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])
    poses = paths.poses.copy()
    poses[-1, :3, :3] = poses[-1, :3, :3] @ turn
    return clip, CasePaths(poses=poses, requested=paths.poses, intrinsics=paths.intrinsics)


def load(url: str, scorer: Scorer, ids: Sequence[int], clients: int, ledger: Ledger) -> float:
    """Send these requests; returns the seconds that all of them took."""
    clips = [clip_of(number) for number in range(CLIPS)]
    expected = [scorer(clip, fps=FPS, paths=paths).values for clip, paths in clips]
    numbers = iter(ids)
    taking = threading.Lock()

    def work(_: int) -> None:
        with ScorerClient(url) as client:
            while True:
                with taking:
                    number = next(numbers, None)
                if number is None:
                    return
                send(client, number)

    def send(client: ScorerClient, number: int) -> None:
        name, (clip, paths) = f"load-{number}", clips[number % CLIPS]
        with ledger.lock:
            ledger.sent[name] += 1
        started = time.perf_counter()
        try:
            answer = client.score(clip, ScoreOptions(fps=FPS), paths, request=name)
        except ScoringFailed as error:
            with ledger.lock:
                ledger.failed.append(f"{name}: {error}")
            return
        with ledger.lock:
            ledger.seconds.append(time.perf_counter() - started)
            ledger.answered[answer.id] += 1
            if answer.id != name or as_scores(answer).values != expected[number % CLIPS]:
                ledger.wrong.append(name)

    started = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(work, range(clients)))
    return time.perf_counter() - started


def replica_processes() -> list[psutil.Process]:
    """Processes with a scorer, as Ray titles them; also those of a cluster that others started."""
    found = psutil.process_iter(["cmdline"])
    return [process for process in found if "ray::ServeReplica:lookaway" in "".join(process.info["cmdline"] or ())]


@contextmanager
def killing(ledger: Ledger, at: Sequence[int]) -> Iterator[list[int]]:
    """Kill a replica whenever so many requests are answered; gives the processes that were killed."""
    killed: list[int] = []
    is_over = threading.Event()

    def kill() -> None:
        for count in at:
            while len(ledger.seconds) < count or not replica_processes():
                if is_over.wait(0.1):
                    return
            victim = replica_processes()[0]
            victim.send_signal(signal.SIGKILL)
            killed.append(victim.pid)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        is_over.set()
        thread.join()


def bare_worker(scorer: Scorer, count: int) -> None:
    """Measure so many clips when told to, and print the seconds of each."""
    clips = [clip_of(number) for number in range(CLIPS)]
    scorer(clips[0][0], fps=FPS, paths=clips[0][1])
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(count):
        clip, paths = clips[number % CLIPS]
        started = time.perf_counter()
        scorer(clip, fps=FPS, paths=paths)
        print(time.perf_counter() - started)


def bare(metrics: str, processes: int, count: int) -> tuple[float, list[float]]:
    """Clips per second of bare scorers, and the seconds of each clip."""
    command = [sys.executable, "-m", "benchmarks.serve_load", "--metrics", metrics, "--bare-worker"]
    command.append(str(count // processes))
    workers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(processes)
    ]
    for worker in workers:
        assert worker.stdout is not None
        worker.stdout.readline()
    started = time.perf_counter()
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("\n")
        worker.stdin.flush()
    with ThreadPoolExecutor(processes) as pool:
        printed = [text for text, _ in pool.map(lambda worker: worker.communicate(), workers)]
    elapsed = time.perf_counter() - started
    seconds = [float(line) for text in printed for line in text.split()]
    return len(seconds) / elapsed, seconds


@contextmanager
def server(*arguments: str) -> Iterator[str]:
    """`lookaway serve` on a free port."""
    main = "from lookaway.cli import main; main()"
    with ray_folder() as folder:
        process = subprocess.Popen(
            [sys.executable, "-c", main, "serve", "--port", "0", *arguments],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "RAY_ADDRESS": "", **AS_BARE, **folder},
        )
        assert process.stdout is not None
        try:
            yield process.stdout.readline().removeprefix("Listening on ").strip()
        finally:
            process.terminate()
            process.communicate()


def summary(seconds: Sequence[float]) -> str:
    """p50 and p99 in milliseconds."""
    cuts = statistics.quantiles(seconds, n=100)
    return f"p50 {1000 * cuts[49]:.0f} ms, p99 {1000 * cuts[98]:.0f} ms"


def main() -> int:
    """Load, kill, count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--replicas", type=int, default=2)
    parser.add_argument("--kills", type=int, default=6)
    parser.add_argument("--max-batch-size", default="1")
    parser.add_argument("--metrics", default=METRICS)
    parser.add_argument("--ray-address", help="cluster on this machine; by default one is started")
    parser.add_argument("--bare-worker", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    scorer = Scorer(options.metrics.split(","))
    if options.bare_worker:
        bare_worker(scorer, options.bare_worker)
        return 0
    ledger, quiet = Ledger(), int(QUIET_SHARE * options.requests)
    chosen = ["--metrics", options.metrics, "--replicas", str(options.replicas)]
    chosen += ["--ray-address", options.ray_address] if options.ray_address else []
    with server(*chosen, "--max-batch-size", options.max_batch_size) as url:
        load(url, scorer, range(-64, 0), options.clients, Ledger())  # warm
        first, alone = bare(options.metrics, options.replicas, quiet // 4)
        served = quiet / load(url, scorer, range(quiet), options.clients, ledger)
        latencies = summary(ledger.seconds)
        second, more = bare(options.metrics, options.replicas, quiet // 4)
        print(f"bare: {first:.1f} and {second:.1f} clips/s on {options.replicas} processes, {summary(alone + more)}")
        ratio = 2 * served / (first + second)
        print(f"served: {served:.1f} clips/s, {latencies}, {options.clients} clients: {ratio:.2f} of bare", flush=True)
        rest = options.requests - quiet
        kills = [quiet + (number + 1) * rest // (options.kills + 1) for number in range(options.kills)]
        with killing(ledger, kills) as killed:
            seconds = load(url, scorer, range(quiet, options.requests), options.clients, ledger)
        print(f"with {len(killed)} replicas killed: {rest / seconds:.1f} clips/s, {summary(ledger.seconds[quiet:])}")
        with ScorerClient(url) as client:
            counted = client._send("GET", "/metrics", b"", {}).decode()
    found = dict(re.findall(r'^lookaway_(requests_total\{result="ok"\}|replica_deaths) (\S+)$', counted, re.MULTILINE))
    print(
        f"sent {len(ledger.sent)}, answered {len(ledger.answered)}, lost {ledger.lost}, answered twice {ledger.twice}"
    )
    print(f"wrong {len(ledger.wrong)}, failed {len(ledger.failed)}; counted by the server, with 64 to warm up: {found}")
    print(*itertools.islice(ledger.failed, 5), sep="\n")
    is_whole = not (ledger.lost or ledger.twice or ledger.wrong or ledger.failed) and len(killed) == options.kills
    print("whole" if is_whole else "NOT WHOLE", "and" if ratio >= GOAL else "but below the goal of", GOAL, "of bare")
    return 0 if is_whole else 1


if __name__ == "__main__":
    sys.exit(main())
