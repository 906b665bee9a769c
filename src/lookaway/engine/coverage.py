"""Which metrics can run on which rollouts, and why not on others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lookaway.core import Abstention, BoundMetric, Dataset, Problem, Rollout, VideoError
from lookaway.core.outcomes import OF_THE_MACHINE
from lookaway.engine.worker import video_problem, why_not_applicable
from lookaway.io.video import probe


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """One metric on one subset: how many of the requested rollouts it can run on."""

    metric: str
    subset: str
    runnable: int
    asked: int
    reasons: Mapping[str, int]
    example: str | None
    """The first reason in full, with its rollout."""


def coverage(dataset: Dataset, metrics: Sequence[BoundMetric], *, open_videos: bool = False) -> list[Coverage]:
    """The coverage matrix, metric by subset; `open_videos` also opens every video."""
    videos = {rollout.id: _video_problem(rollout, open_videos) for rollout in dataset.rollouts}
    by_subset: dict[str, list[Rollout]] = {}
    for rollout in dataset.rollouts:
        by_subset.setdefault(rollout.case.subset, []).append(rollout)
    return [
        _cover(bound, subset, rollouts, videos)
        for bound in metrics
        for subset, rollouts in sorted(by_subset.items())
        if bound.subsets is None or subset in bound.subsets
    ]


def reference_problems(dataset: Dataset) -> Iterator[Problem]:
    """Reference videos that cannot be read, or whose number of frames is not what the dataset says; opens each once."""
    references = {rollout.case.id: rollout.case.reference for rollout in dataset.rollouts}
    for case, reference in references.items():
        if reference is None:
            continue
        try:
            found = probe(reference.video).frame_count
        except VideoError as error:
            yield Problem(where=case, message=f"the reference video: {error}")
            continue
        if reference.end is not None and reference.end != found:
            yield Problem(
                where=case, message=f"the reference video has {found} frames, but the dataset says {reference.end}"
            )


def is_whole(dataset: Dataset, covered: Sequence[Coverage]) -> bool:
    """Whether the dataset is complete; what is missing on this machine does not count."""
    return not dataset.problems and all(OF_THE_MACHINE.issuperset(cell.reasons) for cell in covered)


def _cover(
    bound: BoundMetric, subset: str, rollouts: Sequence[Rollout], videos: Mapping[str, Abstention | None]
) -> Coverage:
    reasons: Counter[str] = Counter()
    example = None
    for rollout in rollouts:
        problem = videos[rollout.id] or why_not_applicable(bound, rollout)
        if problem is not None:
            reasons[problem.reason.value] += 1
            example = example or f"{rollout.id}: {problem.message}"
    return Coverage(
        metric=bound.name,
        subset=subset,
        runnable=len(rollouts) - reasons.total(),
        asked=len(rollouts),
        reasons=dict(reasons.most_common()),
        example=example,
    )


def _video_problem(rollout: Rollout, open_videos: bool) -> Abstention | None:
    problem = video_problem(rollout)
    if problem is None and open_videos:
        try:
            probe(rollout.video)
        except VideoError as error:
            return Abstention(error.reason, str(error))
    return problem
