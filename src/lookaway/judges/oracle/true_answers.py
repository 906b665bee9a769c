"""The true answers to the built-in questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lookaway.core import Json
from lookaway.judges.judge_check import Description
from lookaway.judges.oracle import truth
from lookaway.judges.oracle.clip_index import KnownClip
from lookaway.judges.oracle.parsed_question import AnswerFunction, CannotAnswer
from lookaway.judges.question import Answer
from lookaway.judges.rating import RatingAnswer
from lookaway.judges.reobservation import ReobservationAnswer, SecondAnswer, whole_seconds
from lookaway.judges.settings import Ready
from lookaway.judges.trigger_verdict import TriggerAnswer


def _trigger(rule: Callable[[KnownClip], bool]) -> AnswerFunction:
    return lambda clip, material, frames: TriggerAnswer(
        triggered=rule(_shown(clip)), confidence=1.0, reason=_reason(_shown(clip))
    )


def _rating(rule: Callable[[KnownClip], int]) -> AnswerFunction:
    return lambda clip, material, frames: RatingAnswer(rating=rule(_shown(clip)), reason=_reason(_shown(clip)))


def _yes_if(rule: Callable[[KnownClip], bool]) -> AnswerFunction:
    return lambda clip, material, frames: rule(_shown(clip))


def _yes_unless(rule: Callable[[KnownClip], bool]) -> AnswerFunction:
    return lambda clip, material, frames: not rule(_shown(clip))


def _reobservation(
    clip: KnownClip | None, material: Mapping[str, Json], frames: tuple[int, ...]
) -> ReobservationAnswer:
    """The target is judgeable in the seconds in which at least one shown frame has a pixel of it."""
    shown = _shown(clip)
    visible = [frame for frame in frames if shown.truth.visible_area[frame, 0] > 0]
    judgeable = whole_seconds(shown.truth.timestamps[visible].tolist())
    seconds = [SecondAnswer(second=second, judgeable=second in judgeable) for second in material["seconds"]]
    return ReobservationAnswer(subject=shown.card.target.name, seconds=seconds)


def _description(clip: KnownClip | None, material: Mapping[str, Json], frames: tuple[int, ...]) -> Answer:
    return Description(description=_shown(clip).card.caption, frames=len(frames))


def _shown(clip: KnownClip | None) -> KnownClip:
    if clip is None:
        raise CannotAnswer("the question is about a video, but has no pictures.")
    return clip


def _reason(clip: KnownClip) -> str:
    start, end = clip.card.phases.disappeared
    return f"The {clip.card.target.name} is out of sight from frame {start} to frame {end} of {clip.card.frames}."


TRUE_ANSWERS: Mapping[str, AnswerFunction] = {
    "introduction": lambda clip, material, frames: Ready(ready=True),
    "check_description": _description,
    "check_yes_no": lambda clip, material, frames: True,
    "trigger_human": _trigger(truth.poses_target_test),
    "trigger_object": _trigger(truth.poses_target_test),
    "trigger_environment": _trigger(truth.poses_place_test),
    "trigger_causal": _trigger(truth.poses_event_test),
    "rating_progress": _rating(truth.progress_rating),
    "rating_correctness": _rating(truth.correctness_rating),
    "reobservation": _reobservation,
    "probe_visible_space_position_relation": _yes_if(truth.is_in_place_while_seen),
    "probe_visible_space_static_anchors": _yes_if(truth.are_anchors_in_place),
    "probe_visible_space_wrong_place": _yes_unless(truth.is_in_place_while_seen),
    "probe_visible_state_action": _yes_if(truth.has_happened),
    "probe_visible_state_progress": _yes_if(truth.has_happened),
    "probe_visible_state_absent_or_frozen": _yes_unless(truth.has_happened),
    "probe_hidden_space_return": _yes_if(truth.is_in_place_at_the_end),
    "probe_hidden_space_vanished_or_reset": _yes_unless(truth.is_in_place_at_the_end),
    "probe_hidden_state_progress": _yes_if(truth.has_gone_on_unseen),
    "probe_hidden_state_frozen_or_reset": _yes_unless(truth.has_gone_on_unseen),
}
"""By the name of the prompt that identifies the question."""
