"""The probability that a judge says yes to each of a set of probes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lookaway.core import (
    Abstention,
    Extraction,
    Extractor,
    Features,
    Json,
    JudgeHandle,
    Reason,
    Rollout,
    Sampler,
    Timeline,
    Unmeasurable,
)
from lookaway.core.visits import why_gate_closed
from lookaway.io.sampling import AtFps
from lookaway.judges.judge_feature import JudgeFeature, LoadedJudgeFeature
from lookaway.judges.prompt_escaping import too_long
from lookaway.judges.prompts import Prompt
from lookaway.judges.question import YesNo, YesNoQuestion
from lookaway.judges.reobservation import Reobservation, lacks_subject, subject_of

GATE = "reobservation"
"""The feature of the gate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A yes-or-no question."""

    name: Annotated[str, "its subject and what it looks for, as in `hidden_state.progress`"]
    is_positive: Annotated[bool, "whether a yes speaks for the video"]
    prompts: Annotated[tuple[Prompt, ...], "prompt files of the question, in order"]


def _probe(name: str, *, is_positive: bool) -> Probe:
    subject, _, aim = name.partition(".")
    visibility = subject.partition("_")[0]
    rule = "support" if is_positive else "failure"
    files = (
        "probe",
        f"probe_{visibility}",
        f"probe_{subject}",
        f"probe_answer_rule_{rule}",
        f"probe_{subject}_{aim}",
    )
    return Probe(name=name, is_positive=is_positive, prompts=tuple(Prompt.named(file) for file in files))


VISIBLE_SPACE = (
    _probe("visible_space.position_relation", is_positive=True),
    _probe("visible_space.static_anchors", is_positive=True),
    _probe("visible_space.wrong_place", is_positive=False),
)
VISIBLE_STATE = (
    _probe("visible_state.action", is_positive=True),
    _probe("visible_state.progress", is_positive=True),
    _probe("visible_state.absent_or_frozen", is_positive=False),
)
HIDDEN_SPACE = (
    _probe("hidden_space.return", is_positive=True),
    _probe("hidden_space.vanished_or_reset", is_positive=False),
)
HIDDEN_STATE = (
    _probe("hidden_state.progress", is_positive=True),
    _probe("hidden_state.frozen_or_reset", is_positive=False),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeProbabilities(JudgeFeature):
    """The probability that the judge says yes to each probe about the event of the case.

    The probes, with those of WRBench that ask the same in other words:

    | probe | WRBench | a yes speaks |
    |---|---|---|
    | `visible_space.position_relation` | `D3_POSITION_RELATION` | for the video |
    | `visible_space.static_anchors` | `D3_STATIC_ANCHORS` | for the video |
    | `visible_space.wrong_place` | `D3_NEG_WRONG_SPATIAL` | against it |
    | `visible_state.action` | `D4_ACTION_STATE` | for the video |
    | `visible_state.progress` | `D4_TEMPORAL_PROGRESS` | for the video |
    | `visible_state.absent_or_frozen` | `D4_NEG_ABSENT_FREEZE` | against it |
    | `hidden_space.return` | `D5_RETURN_POSITION` | for the video |
    | `hidden_space.vanished_or_reset` | `D5_NEG_VANISH_RESET` | against it |
    | `hidden_state.progress` | `D6_HIDDEN_PROGRESS` | for the video |
    | `hidden_state.frozen_or_reset` | `D6_NEG_FREEZE_RESET` | against it |
    """

    name: ClassVar[str] = "probe_probabilities"
    constants: ClassVar[tuple[str, ...]] = (f"{YesNoQuestion.__module__}:LIKELY_WORDS",)
    arrays: ClassVar[Mapping[str, str]] = {
        "p_yes": "float64 [probes, repeats]: probability of a yes rather than a no, whatever the probe's polarity",
        "least": "float64 [probes, repeats]: the least that `p_yes` may be, given the words that were not listed",
        "most": "float64 [probes, repeats]: the most that `p_yes` may be",
        "mass": "float64 [probes, repeats]: probability of all listed words for yes and no together",
        "is_positive": "bool [probes]: whether a yes speaks for the video",
        "frame_indices": "int64 [frames]: the frames that the judge saw",
    }

    frames: Annotated[Sampler, "which frames the judge sees"] = AtFps(2.0)
    probes: Annotated[tuple[Probe, ...], "the probes, each a separate question"] = (
        *VISIBLE_SPACE,
        *VISIBLE_STATE,
        *HIDDEN_SPACE,
        *HIDDEN_STATE,
    )
    max_doubt: Annotated[float, "how much of `p_yes` words that were not listed may leave open"] = 1e-3
    subject: Annotated[Prompt | None, "prompt file that tells the subject's name; without it it is not told"] = None
    gate: Annotated[Reobservation | None, "asked first whether the subject is lost and seen again, if given"] = None

    def __post_init__(self) -> None:
        names = [probe.name for probe in self.probes]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"expected at least one probe, each with a unique name, found {names}.")

    @property
    def needs(self) -> Mapping[str, Extractor]:
        """What the gate was told, if there is one."""
        return {} if self.gate is None else {GATE: self.gate}

    def lacks(self, rollout: Rollout) -> Abstention | None:
        """The case needs the text of an event, of limited length, and the subject's name if that is told."""
        if not rollout.case.prompt:
            return Abstention(
                Reason.MISSING_INPUT, f"the case {rollout.case.id} has no sentence that says what should happen."
            )
        if self.subject is not None and (lacking := lacks_subject(rollout)) is not None:
            return lacking
        return too_long(_material(rollout))

    def questions(self, rollout: Rollout) -> tuple[YesNoQuestion, ...]:
        """One question per probe."""
        material = _material(rollout) | ({} if self.subject is None else subject_of(rollout))
        more = () if self.subject is None else (self.subject,)
        return tuple(
            YesNoQuestion(
                name=probe.name,
                prompts=(*probe.prompts[:1], *more, *probe.prompts[1:]),
                material=material,
                max_doubt=self.max_doubt,
            )
            for probe in self.probes
        )

    def conditional_questions(self, rollout: Rollout) -> int:
        """All, where there is a gate."""
        return 0 if self.gate is None else self.questions_per_rollout(rollout)

    def load_with(self, client: JudgeHandle) -> LoadedJudgeFeature:
        """The extractor, with the client of its judge."""
        return LoadedProbeProbabilities(self, client)

    def answered(self, answers: Sequence[Sequence[YesNo]]) -> tuple[dict[str, NDArray[Any]], dict[str, Json]]:
        """One row per probe, one column per repeat."""
        arrays = {
            part: np.array([[getattr(answer, part) for answer in repeats] for repeats in answers], np.float64)
            for part in ("p_yes", "least", "most", "mass")
        }
        facts = {
            "probes": [probe.name for probe in self.probes],
            "medians": np.median(arrays["p_yes"], axis=1).tolist(),
        }
        return {**arrays, "is_positive": np.array([probe.is_positive for probe in self.probes])}, facts


@dataclass(frozen=True, slots=True)
class LoadedProbeProbabilities(LoadedJudgeFeature):
    """Asks the probes of those rollouts that the gate lets through."""

    def start(self, rollout: Rollout, timeline: Timeline, features: Features) -> Extraction:
        """Request the frames that the judge will see; `gate_closed` where the gate is."""
        if GATE in features and (reason := why_gate_closed(features[GATE])) is not None:
            raise Unmeasurable(
                Reason.GATE_CLOSED, f"the subject is not lost and seen again ({reason}), so the probes are not asked."
            )
        return self.extraction(rollout, timeline)


def _material(rollout: Rollout) -> dict[str, Json]:
    return {"event": list(rollout.case.prompt)}
