"""Scores videos in memory, as a training loop has them: networks are loaded once, and no file is written."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from lookaway.core import (
    Abstention,
    ArtifactError,
    Case,
    Compute,
    Dataset,
    Extractor,
    Feature,
    Floats,
    Metric,
    Outcome,
    ProtocolName,
    Reason,
    Rollout,
    Score,
    Timeline,
    Trajectory,
    Unmeasurable,
    UserError,
    gate_decides,
)
from lookaway.engine.binding import bind_metrics
from lookaway.engine.feature_job import Extractors, FeatureJob
from lookaway.engine.judging import asks_judge
from lookaway.engine.worker import measure, video_problem
from lookaway.io.array_frames import ArrayFrames
from lookaway.io.pose_files.checks import ROTATION_TOLERANCE, as_camera_to_world
from lookaway.io.pose_files.source import PoseSource, assumed_depths, assumed_intrinsics
from lookaway.io.video import Video

USUAL_FOV_DEGREES: Final = 70.0
"""Horizontal field of view of poses that come without intrinsics."""
IN_MEMORY: Final = Path("in memory")


@dataclass(frozen=True, slots=True, kw_only=True)
class CasePaths:
    """What is known about the camera of a clip; poses are camera to world [frames, 4, 4] in OpenCV axes."""

    poses: Floats | None = None
    """Where the camera was; tracked from the frames where it is not given."""
    requested: Floats | None = None
    """Where it was asked to be."""
    intrinsics: Floats | None = None
    """[3, 3] in pixels of the frames; a field of view of 70 degrees where it is not given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoScores:
    """What was measured on one video."""

    outcomes: Mapping[str, Outcome]
    """Score, abstention or failure by metric, gates left out."""
    is_tested: bool | None
    """Whether the camera looked away and came back; `None` where that could not be told, or nothing asks for it."""
    untested: frozenset[str]
    """Metrics whose score says nothing, because memory was not tested."""
    seconds: float

    def __getitem__(self, metric: str) -> Outcome:
        return self.outcomes[metric]

    def is_measured(self, metric: str) -> bool:
        """Whether there is a score that counts."""
        return isinstance(self.outcomes[metric], Score) and metric not in self.untested

    @property
    def values(self) -> dict[str, float]:
        """The scores that count, by metric."""
        return {
            name: outcome.value
            for name, outcome in self.outcomes.items()
            if isinstance(outcome, Score) and name not in self.untested
        }

    def __str__(self) -> str:
        """A line for each metric: its value, or why there is none."""
        width = max(map(len, self.outcomes), default=0)
        return "\n".join(f"{name:{width}}  {self._in_words(name)}" for name in self.outcomes)

    def _in_words(self, metric: str) -> str:
        outcome = self.outcomes[metric]
        if not isinstance(outcome, Score):
            reason = outcome.reason if isinstance(outcome, Abstention) else outcome.error
            return f"{reason}: {outcome.message}"
        return f"{outcome.value:.4g}" + (" (memory was not tested)" if metric in self.untested else "")


class Scorer:
    """Measures videos one by one with the metrics of a suite; safe to call from several threads.

    Numbers are those of `lookaway eval` on the same frames. Metrics that need a judge, or a file beside the video,
    abstain or are refused.
    """

    def __init__(
        self,
        metrics: Sequence[str | Metric] | None = None,
        *,
        suite: str = "revisit",
        protocol: ProtocolName | None = None,
        using: Mapping[str, str] | None = None,
        compute: Compute | None = None,
    ) -> None:
        dataset = Dataset(suite=suite, root=IN_MEMORY, rollouts=())
        bounds = bind_metrics(dataset, metrics, protocol=protocol, using=using, compute=compute)
        if judged := [bound.name for bound in bounds if asks_judge([bound]) and not bound.is_gate]:
            raise UserError(f"{judged[0]} asks a judge, which a scorer does not. Measure it with `lookaway eval`.")
        self.bounds = tuple(bound for bound in bounds if not asks_judge([bound]))
        """Metrics and gates with their extractors."""
        self._extractors = Extractors(store=None)
        self._lock = threading.Lock()

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics, gates left out."""
        return tuple(bound.name for bound in self.bounds if not bound.is_gate)

    def __call__(
        self,
        video: Any,
        *,
        fps: float = 16.0,
        paths: CasePaths | None = None,
        prompt: Sequence[str] = (),
        action: str | None = None,
    ) -> VideoScores:
        """Measure one clip: a path, or uint8 frames [frames, 3, height, width] of numpy or torch on any device.

        `fps` is the rate of frames in memory; a file has its own.
        """
        started = time.perf_counter()
        frames = None if isinstance(video, str | Path) else ArrayFrames(video, fps)
        case = Case(id="clip", subset="all", scene="clip", prompt=tuple(prompt), action=action)
        rollout = Rollout(case=case, model="model", video=IN_MEMORY if frames else Path(video))
        with self._lock:
            outcomes = self._measured(rollout, frames, paths or CasePaths())
        own = [bound for bound in self.bounds if bound.is_gate]
        gates = [outcomes[bound.name] for bound in own]
        is_tested = _is_tested(gates)
        gated = (
            bound.name
            for bound in self.bounds
            if bound.is_consistency
            and not bound.is_gate
            and any(gate_decides(gate.protocol, bound.protocol) for gate in own)
        )
        return VideoScores(
            outcomes={name: outcomes[name] for name in self.metrics},
            is_tested=is_tested,
            untested=frozenset(gated) if gates and not is_tested else frozenset(),
            seconds=time.perf_counter() - started,
        )

    def batch(self, videos: Iterable[Any], **options: Any) -> list[VideoScores]:
        """Measure several clips, such as [clips, frames, 3, height, width], with the same options."""
        return [self(video, **options) for video in videos]

    def _measured(self, rollout: Rollout, frames: ArrayFrames | None, paths: CasePaths) -> dict[str, Outcome]:
        problem = video_problem(rollout) if frames is None else None
        if problem is not None:
            return {bound.name: problem for bound in self.bounds}
        recipes = [recipe for bound in self.bounds for recipe in bound.recipes.values()]
        job = FeatureJob(self._extractors, rollout, "", recipes, frames=frames)
        if paths.poses is not None or paths.requested is not None:
            try:
                with Video(frames or rollout.video) as opened:
                    timeline = opened.timeline
            except Unmeasurable as error:
                return {bound.name: Abstention(error.reason, str(error)) for bound in self.bounds}
            for bound in self.bounds:
                job.perceived.update(_given(bound.recipes, paths, timeline))
        perceived = job.run()
        return {
            bound.name: bound.metric.declines(rollout) or measure(bound, rollout, perceived) for bound in self.bounds
        }


def _is_tested(gates: Sequence[Outcome]) -> bool | None:
    """Whether every gate is passed; `None` where one has no answer, or there is none."""
    values = [gate.value for gate in gates if isinstance(gate, Score)]
    return all(value == 1.0 for value in values) if gates and len(values) == len(gates) else None


def _given(recipes: Mapping[str, Extractor], paths: CasePaths, timeline: Timeline) -> dict[Extractor, Feature]:
    """Features that the caller brings, for all recipes of their name, however deep."""
    brought = {"poses": paths.poses, "commanded_poses": paths.requested}
    found: dict[Extractor, Feature] = {}
    for name, recipe in recipes.items():
        poses = brought.get(name)
        if poses is not None:
            found[recipe] = _trajectory(name, poses, paths.intrinsics, timeline)
        else:
            found |= _given(recipe.needs, paths, timeline)
    return found


def _trajectory(name: str, given: Floats, intrinsics: Floats | None, timeline: Timeline) -> Feature:
    try:
        poses = as_camera_to_world(name, np.asarray(given), "camera_to_world", ROTATION_TOLERANCE, _refuse)
    except ArtifactError as error:  # an argument of a call, and no file of a dataset
        raise UserError(str(error)) from error
    source = PoseSource(path=IN_MEMORY, timeline=timeline, assumed_fov_degrees=USUAL_FOV_DEGREES)
    count = min(len(poses), timeline.frame_count)
    lens = assumed_intrinsics(source, count, _refuse)[0] if intrinsics is None else intrinsics
    return Trajectory(
        camera_to_world=poses[:count],
        intrinsics=np.broadcast_to(lens, (count, 3, 3)).copy(),
        frame_indices=np.arange(count),
        median_depth=assumed_depths(source, poses)[0][:count],
        width=timeline.width,
        height=timeline.height,
        frame_count=timeline.frame_count,
    ).to_feature()


def _refuse(message: str, reason: Reason = Reason.INVALID_INPUT) -> ArtifactError:
    return ArtifactError(reason, message)
