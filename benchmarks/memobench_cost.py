"""What fidelity in MemoBench's phases costs for one clip: in one pass, and by seeking as its evaluator reads.

    python -m benchmarks.memobench_cost [--rounds 3]

A clip of 81 frames at 832x480 and a reference of 120 frames at 1920x1080, both H.264. The evaluator compares phase by
phase, and seeks wherever the next frame is not the one after the last; both ways give PSNR and SSIM of the three phases
and of the whole clip, with the same keyframes, and must agree. They take turns; figures are medians over rounds, in
seconds of the processor. Networks are not in it: a network sees each distinct pair once, and the evaluator's each pair.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import cv2
import numpy as np

from lookaway.core import Case, FrameRequest, Reference, Rollout, Score
from lookaway.core.phases import Phase
from lookaway.engine.feature_job import Extractors, FeatureJob
from lookaway.io.phases import phases_of
from lookaway.io.video import Video
from lookaway.suites.memobench import MemoBench
from tests.support.clips import write_clip
from tests.support.room import Room, there_and_back

FRAMES, REFERENCE_FRAMES = 81, 120
KEYFRAMES = {"visible": 0, "disappeared": 40, "reappeared": 80}
LARGEST_SIDE = 640
LIMIT = 1 / 3
NAMES = tuple(f"memobench.{phase}.{name}" for phase in (*KEYFRAMES, "all") for name in ("psnr", "ssim"))


class SeekingReader:
    """Reads single frames of a video, from a key frame on wherever they do not follow each other."""

    def __init__(self, path: Path) -> None:
        self.capture = cv2.VideoCapture(str(path))
        self.seeks = 0
        self._next = 0

    def read(self, index: int) -> np.ndarray:
        """One frame, BGR."""
        if index != self._next:
            self.capture.set(cv2.CAP_PROP_POS_FRAMES, index)
            self.seeks += 1
        is_read, picture = self.capture.read()
        if not is_read:
            raise ValueError(f"frame {index} cannot be read.")
        self._next = index + 1
        return np.asarray(picture)


def by_seeking(rollout: Rollout) -> tuple[dict[str, float], int, int]:
    """PSNR and SSIM of every phase, range by range; pairs and seeks."""
    reference = rollout.case.reference
    assert reference is not None
    generated, true = SeekingReader(rollout.video), SeekingReader(reference.video)
    whole = Phase("all", 0, FRAMES, 0, REFERENCE_FRAMES)
    found: dict[str, float] = {}
    pairs = 0
    for phase in (*phases_of(rollout, FRAMES, shares_ends=True), whole):
        values = []
        for frame in range(phase.start, min(phase.stop, FRAMES)):
            picture = generated.read(frame)
            scale = LARGEST_SIDE / max(picture.shape[:2])
            size = (round(picture.shape[1] * scale), round(picture.shape[0] * scale))
            first = cv2.resize(picture, size, interpolation=cv2.INTER_AREA)
            second = cv2.resize(true.read(phase.partner_between_ends(frame)), size, interpolation=cv2.INTER_AREA)
            values.append((_psnr(first, second), _ssim(first, second)))
        pairs += len(values)
        psnr, ssim = np.mean(values, axis=0)
        found |= {f"memobench.{phase.name}.psnr": float(psnr), f"memobench.{phase.name}.ssim": float(ssim)}
    return found, pairs, generated.seeks + true.seeks


def _psnr(first: np.ndarray, second: np.ndarray) -> float:
    error = np.mean((first.astype(np.float32) - second.astype(np.float32)) ** 2)
    return 99.0 if error < 1e-10 else float(10 * np.log10(255**2 / error))


def _ssim(first: np.ndarray, second: np.ndarray) -> float:
    def blur(values: np.ndarray) -> np.ndarray:
        return np.asarray(cv2.GaussianBlur(values, (11, 11), 1.5))

    one, other = (cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY).astype(np.float32) for picture in (first, second))
    mean_one, mean_other = blur(one), blur(other)
    variances = blur(one * one) - mean_one**2 + blur(other * other) - mean_other**2
    covariance = blur(one * other) - mean_one * mean_other
    upper = (2 * mean_one * mean_other + 2.55**2) * (2 * covariance + 7.65**2)
    lower = (mean_one**2 + mean_other**2 + 2.55**2) * (variances + 7.65**2)
    return float(np.mean(upper / lower))


def in_one_pass(rollout: Rollout) -> dict[str, float]:
    """The same by the suite."""
    bounds = [bound for bound in MemoBench().metrics({}) if bound.name in NAMES]
    recipes = [recipe for bound in bounds for recipe in bound.recipes.values()]
    perceived = FeatureJob(Extractors(None), rollout, "content", recipes).run()
    found = {}
    for bound in bounds:
        features = {name: perceived[recipe] for name, recipe in bound.recipes.items()}
        outcome = bound.metric.measure(rollout, features)  # type: ignore[arg-type]
        assert isinstance(outcome, Score), outcome
        found[bound.name] = outcome.value
    return found


def check(seeking: Mapping[str, float], passing: Mapping[str, float]) -> float:
    """The largest difference; decoders round differently."""
    return max(abs(seeking[name] - passing[name]) for name in NAMES)


def write_rollout(folder: Path) -> Rollout:
    """A room in which the camera turns away and comes back, and a reference that is a little brighter."""
    video, true = folder / "clip.mp4", folder / "reference.mp4"
    room = Room(1)
    write_clip(video, room.frames(there_and_back("left_then_right", FRAMES)), fps=16, options={"g": "250"})
    large = (
        np.asarray(cv2.resize(np.clip(frame.astype(np.int16) + 8, 0, 255).astype(np.uint8), (1920, 1080)), np.uint8)
        for frame in room.frames(there_and_back("left_then_right", REFERENCE_FRAMES))
    )
    write_clip(true, large, fps=24, options={"preset": "veryfast", "g": "250"})
    reference = Reference(video=true, end=REFERENCE_FRAMES, phase_starts=KEYFRAMES)
    return Rollout(case=Case(id="room", subset="real", scene="room", reference=reference), model="model", video=video)


def main() -> None:
    """Time both ways."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    cv2.setNumThreads(1)
    with tempfile.TemporaryDirectory() as folder:
        rollout = write_rollout(Path(folder))
        with Video(rollout.video) as video:
            for _ in video.frames([FrameRequest(frozenset([0]))]):
                pass  # libraries are loaded
        seconds: dict[str, list[float]] = {"seeking": [], "one pass": []}
        for _ in range(options.rounds):
            started = time.process_time()
            theirs, pairs, seeks = by_seeking(rollout)
            middle = time.process_time()
            ours = in_one_pass(rollout)
            seconds["seeking"].append(middle - started)
            seconds["one pass"].append(time.process_time() - middle)
    medians = {name: statistics.median(found) for name, found in seconds.items()}
    ratio = medians["one pass"] / medians["seeking"]
    print(f"{pairs} pairs, {seeks} seeks; largest difference of a number {check(theirs, ours):.4f}")
    print(f"seeking {medians['seeking']:.1f} s, one pass {medians['one pass']:.1f} s: {ratio:.3f}, at most {LIMIT:.3f}")
    if ratio > LIMIT:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
