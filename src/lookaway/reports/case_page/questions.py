"""The questions to a judge about the videos of a case, the frames it saw, and its answers."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from lookaway.core import DatasetError, Json, digest
from lookaway.io.files import is_file, read_json
from lookaway.judges.errors import Unreadable
from lookaway.judges.reply import Reply, read_reply
from lookaway.judges.reply_store import ReplyStore
from lookaway.reports.case_page.videos import CaseVideo, CaseVideos, Outcome
from lookaway.reports.runs import kept_feature

REPLIES: Final = "replies"
KEY: Final = re.compile(r"[0-9a-f]{64}")
SHOWN_WORDS: Final = 3
MAX_ANSWERS: Final = 72
"""The most answers on one page."""
LOST: Final = "The reply is not in the run's folder; it may be in a folder that several runs share."
DAMAGED: Final = "The stored reply is damaged and is not shown."


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenFrame:
    """A frame that the judge was shown."""

    index: int
    seconds: float | None
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeAnswer:
    """One answer about one video."""

    video: CaseVideo
    metric: str
    key: str
    text: str
    words: tuple[tuple[str, float], ...]
    """The most likely first tokens with their probabilities, where the server gives them."""
    model: str
    repeat: int
    frames: tuple[SeenFrame, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedQuestion:
    """One question with all its answers."""

    instruction: str
    material: str
    answers: list[JudgeAnswer] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """All questions to a judge about a case."""

    asked: tuple[AskedQuestion, ...]
    left_out: int
    """How many answers are not shown."""
    missing: tuple[tuple[CaseVideo, str, str], ...]
    """Video, metric, and why an answer is not shown."""


def judge_questions(case: CaseVideos) -> Questions:
    """Every question whose reply is stored with the run and undamaged."""
    asked: dict[tuple[str, str], AskedQuestion] = {}
    missing: list[tuple[CaseVideo, str, str]] = []
    shown: set[tuple[str, str]] = set()
    left_out = 0
    replies = ((video, outcome, key) for video, outcome in case.outcomes() for key in _keys(video, outcome))
    for video, outcome, key in replies:
        if (video.key, key) in shown:
            continue  # two metrics that rest on one reply
        shown.add((video.key, key))
        kept = _kept(ReplyStore(outcome.run.path / REPLIES), key)
        if isinstance(kept, str):
            missing.append((video, outcome.metric.name, kept))
        elif len(shown) - len(missing) > MAX_ANSWERS:
            left_out += 1
        else:
            request, reply = kept
            texts = str(request["instruction"]), str(request["material"])
            question = asked.setdefault(texts, AskedQuestion(instruction=texts[0], material=texts[1]))
            question.answers.append(_answer(video, outcome.metric.name, key, request, reply))
    return Questions(asked=tuple(asked.values()), left_out=left_out, missing=tuple(missing))


def _keys(video: CaseVideo, outcome: Outcome) -> list[str]:
    """Keys of the replies, from the row, else from the features of the metric."""
    found: list[Json] = list(_listed(outcome.detail.get(REPLIES)))
    if not found:
        entries = outcome.run.lock.entries.get("metrics", {}).get(outcome.metric.name, {})
        judged = [name for name, recipe in entries.get("features", {}).items() if "judge" in recipe]
        for name in judged:
            kept = kept_feature(outcome.run, video.rollout, name)
            found += _listed(kept[1].detail.get(REPLIES)) if kept else []
    return [key for key in found if isinstance(key, str) and KEY.fullmatch(key)]


def _listed(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list) else ()


def _kept(store: ReplyStore, key: str) -> tuple[dict[str, Any], Reply] | str:
    path = store.path(key)
    if not is_file(path):
        return LOST
    try:
        kept = read_json(path)
        if digest(kept["request"]) != key or digest(kept["reply"]) != kept["reply_sha256"]:
            return DAMAGED
        return kept["request"], read_reply(kept["reply"])
    except (DatasetError, Unreadable, KeyError, TypeError):
        return DAMAGED


def _answer(video: CaseVideo, metric: str, key: str, request: dict[str, Any], reply: Reply) -> JudgeAnswer:
    first = reply.tokens[0].choices if reply.tokens else ()
    return JudgeAnswer(
        video=video,
        metric=metric,
        key=key,
        text=reply.refusal or reply.text,
        words=tuple((word.text, min(1.0, math.exp(word.log_probability))) for word in first[:SHOWN_WORDS]),
        model=reply.model,
        repeat=int(request["repeat"]),
        frames=tuple(
            SeenFrame(index=picture["index"], seconds=video.seconds(picture["index"]), sha256=picture["sha256"])
            for picture in request["pictures"]
        ),
    )
