"""MSE, PSNR and SSIM of frames of 720p: how much faster than torchmetrics, and how far from it.

Torchmetrics runs with the settings of MIND: batches of 10 frames as tensors from 0 to 1, every channel, the whole map.
Ours runs with the recipe and the metrics of the suite, from decoded frames to numbers, one pair at a time. Both see the
same pixels, have one thread each and take turns, so that whatever else the machine does slows both. Decoding is outside
of both clocks; what brings frames to the canvas is inside of ours, and what makes tensors of them is outside of theirs.
Needs torchmetrics 1.9 and torch.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"

import importlib
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lookaway.core import Case, Floats, Frame, Partners, Pixels, Rollout, Timeline
from lookaway.suites.mind import Mind

try:
    torchmetrics = importlib.import_module("torchmetrics.image")
except ImportError:
    sys.exit("This benchmark compares with torchmetrics 1.9. Install it with: pip install 'torchmetrics==1.9.*'")

FRAMES, HEIGHT, WIDTH = 20, 720, 1280
MEGABYTE = 1e6
BATCH = 10
ROUNDS = 5
NAMES = ("mse", "psnr", "ssim")
CASE = Case(id="clip", subset="all", scene="clip")
ROLLOUT = Rollout(case=CASE, model="model", video=Path("clip.mp4"))


class Numbered:
    """Each frame with the one of the same number."""

    def declines(self, rollout: Rollout) -> None:
        """Nothing is missing."""

    def partners(self, timeline: Timeline, rollout: Rollout) -> Partners:
        """All of them."""
        return Partners(rollout.video, {index: index for index in range(timeline.frame_count)})


def ours(answer: Sequence[Pixels], truth: Sequence[Pixels]) -> list[Floats]:
    """What the suite says; only that frames come from a list and not from a video is ours."""
    bound = {metric.name: metric for metric in Mind().metrics({})}
    metrics = [bound[f"mind.lcm.{name}"] for name in NAMES]
    recipe: Any = metrics[0].recipes["fidelity"]
    timeline = Timeline(np.arange(len(answer)) / 24, WIDTH, HEIGHT)
    watch: Any = replace(recipe, compared=Numbered()).load().start(ROLLOUT, timeline, {})
    for index, (frame, partner) in enumerate(zip(answer, truth, strict=True)):
        watch.add_frame(Frame(index, index / 24, frame, Frame(index, index / 24, partner)))
    outcomes: list[Any] = [metric.metric.measure(ROLLOUT, {"fidelity": watch.finish()}) for metric in metrics]
    return [np.array([unit.outcome.value for unit in outcome.units]) for outcome in outcomes]


def theirs(answer: Any, truth: Any) -> list[Floats]:
    """What torchmetrics says, batch by batch."""
    psnr = torchmetrics.PeakSignalNoiseRatio(data_range=1.0, reduction="none", dim=[1, 2, 3])
    ssim = torchmetrics.StructuralSimilarityIndexMeasure(data_range=1.0, reduction="none")
    found: list[list[Any]] = [[], [], []]
    with torch.inference_mode():
        for first, second in zip(answer.split(BATCH), truth.split(BATCH), strict=True):
            found[0].append(((first - second) ** 2).mean((1, 2, 3)))
            found[1].append(psnr(first, second))
            found[2].append(ssim(first, second))
    return [torch.cat(parts).numpy() for parts in found]


def clips() -> tuple[list[Pixels], list[Pixels]]:
    """Something with edges and texture that moves, and the same with more and more noise."""
    rng = np.random.default_rng(0)
    texture = rng.integers(0, 256, (HEIGHT // 8, WIDTH // 8 + FRAMES, 3), np.uint8).repeat(8, 0).repeat(8, 1)
    truth = [np.ascontiguousarray(texture[:, 8 * step : 8 * step + WIDTH]) for step in range(FRAMES)]
    noisy = (
        np.clip(frame + rng.normal(0, 2 + 2 * step, frame.shape), 0, 255).astype(np.uint8)
        for step, frame in enumerate(truth)
    )
    return list(noisy), truth


def seconds(work: Callable[[], list[Floats]]) -> tuple[float, list[Floats]]:
    """On the clock of this process, which stands still while others run."""
    started = time.process_time()
    found = work()
    return time.process_time() - started, found


def main() -> None:
    """Print a table."""
    torch.set_num_threads(1)
    answer, truth = clips()
    tensors = [torch.from_numpy(np.stack(each)).permute(0, 3, 1, 2).contiguous() / 255 for each in (answer, truth)]
    ratios, speeds = [], []
    for _ in range(ROUNDS):
        own, numbers = seconds(lambda: ours(answer, truth))
        other, expected = seconds(lambda: theirs(*tensors))
        ratios.append(other / own)
        speeds.append((FRAMES / own, FRAMES / other))
    tracemalloc.start()
    ours(answer, truth)
    megabytes = tracemalloc.get_traced_memory()[1] / MEGABYTE
    tracemalloc.stop()
    print(f"| MSE + PSNR + SSIM, {WIDTH} x {HEIGHT} | |\n| --- | --- |")
    for name, column in (("lookaway", 0), ("torchmetrics", 1)):
        frames = statistics.median(speed[column] for speed in speeds)
        print(f"| {name}, frames a second of processor time, median | {frames:.2f} |")
    spread = f"{min(ratios):.1f} to {max(ratios):.1f}"
    print(f"| ratio, median of {ROUNDS} rounds | {statistics.median(ratios):.1f} ({spread}) |")
    for name, found, known in zip(NAMES, numbers, expected, strict=True):
        print(f"| largest difference of {name} | {np.abs(found - known).max():.1e} |")
    pair = sum(frame.nbytes for frame in (answer[0], truth[0])) / MEGABYTE
    print(f"| memory beyond the pair of frames, at most; the pair takes {pair:.1f} MB | {megabytes:.0f} MB |")


if __name__ == "__main__":
    main()
