"""Checks a judge on the first clip of a dataset, and estimates the cost of a run on all of it."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lookaway.core import BoundMetric, Dataset, FrameRequest, Picture, UserError
from lookaway.engine.binding import Overrides
from lookaway.engine.costs import estimate_cost
from lookaway.engine.plan import make_plan
from lookaway.engine.worker import video_problem
from lookaway.io.sampling import UniformFrames
from lookaway.io.video import Video
from lookaway.judges.budget import Spent
from lookaway.judges.judge_check import JudgeCheck, check_judge
from lookaway.judges.settings import JudgeSettings

FRAMES, HEIGHT = UniformFrames(8), 480


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipCheck:
    """The answers of a judge about a clip, and the cost of a run at that speed."""

    rollout: str
    frames: tuple[int, ...]
    check: JudgeCheck
    expected: Spent
    money: float
    """At the prices of the settings."""
    seconds: float


def check_on_clip(settings: JudgeSettings, dataset: Dataset, metrics: Sequence[BoundMetric]) -> ClipCheck:
    """Ask about the first readable clip; nothing is stored."""
    rollout = next((rollout for rollout in dataset.rollouts if video_problem(rollout) is None), None)
    if rollout is None:
        raise UserError(f"{dataset.root}: no readable video found, and a judge is checked on one.")
    with Video(rollout.video) as video:
        indices = FRAMES.indices(video.timeline, rollout)
        request = FrameRequest(frozenset(indices), min(HEIGHT, video.timeline.height))
        pictures = tuple(
            Picture(frame.index, round(frame.time_seconds, 6), frame.pixels) for _, frame in video.frames([request])
        )
    with tempfile.TemporaryDirectory() as folder:
        client = settings.open_client(Path(folder))
        try:
            check = check_judge(client, settings, pictures)
        finally:
            client.close()
    bound = Overrides(judge=check.capabilities.judge).apply(tuple(metrics))
    calls = estimate_cost(make_plan(dataset, bound).work(), bound).judge_calls
    rate = min(settings.policy.concurrent / check.reply_seconds, settings.policy.per_second or math.inf)
    prompt_tokens, answer_tokens = check.reply.prompt_tokens * calls, check.reply.answer_tokens * calls
    return ClipCheck(
        rollout=rollout.id,
        frames=indices,
        check=check,
        expected=Spent(calls=calls, prompt_tokens=prompt_tokens, answer_tokens=answer_tokens),
        money=Spent(prompt_tokens=prompt_tokens, answer_tokens=answer_tokens).money(settings.budget),
        seconds=calls / rate,
    )
