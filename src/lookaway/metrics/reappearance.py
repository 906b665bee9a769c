"""Whether a detector finds the target again after it left the view."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from lookaway.core import Feature, Features, Floats, Json, MetricBase, Outcome, Rollout
from lookaway.metrics.frame_metrics import score_of_frames


def apply_min_score(usual: Floats, fallback: Floats, min_score: float) -> Floats:
    """Best scores that count with another `min_score`, from the best ones of each frame that `detail.frame_scores` has.

    >>> apply_min_score(np.array([0.4, 0.4, 0.0]), np.array([0.4, 0.8, 0.3]), 0.5)
    array([0. , 0.8, 0. ])
    """
    return np.asarray(np.where(usual > min_score, usual, np.where(fallback > min_score, fallback, 0.0)))


@dataclass(frozen=True, slots=True)
class ReappearanceScore(MetricBase):
    """Mean over frames of the best score that a detector gives the target; 0 for a frame in which it is not found.

    The frames are those that the detections are of: with MemoBench, all in which the target should be back. Found are
    detections above `min_score` that cover between `min_coverage` and `max_coverage` of the frame or, where there is
    none of them, up to `fallback_coverage`. The mean is the share of frames with a detection times the mean of their
    best scores; `detail` has both, and the best score of each frame whatever `min_score` is, so that another one can be
    applied to stored rows. There is no raw value.

    MemoBench's own code has no `min_score`: almost every frame then has some detection, the share says nothing, and an
    absent target is worth what a detector scores the thing that is most like it.

    Abstains: `too_short` where no frame was looked at; `no_target` where the case names none; a reason of the video or
    of the weights where there are no detections.
    """

    name = "reappearance_score"
    needs = ("detections",)

    min_score: Annotated[float, "detections with this score or less do not count"] = 0.5
    min_coverage: Annotated[float, "least share of the frame that a detection covers"] = 0.0005
    max_coverage: Annotated[float, "largest share of the frame that a detection covers"] = 0.5
    fallback_coverage: Annotated[float, "the same where no detection is so small"] = 0.7

    def __post_init__(self) -> None:
        if not 0 <= self.min_coverage <= self.max_coverage <= self.fallback_coverage <= 1:
            raise ValueError("coverages are shares of a frame, each at least as large as the one before.")

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        feature = features["detections"]
        frames = feature["frame_indices"]
        best = np.zeros(len(frames))
        is_found = np.zeros(len(frames), bool)
        for place, frame in enumerate(frames.tolist()):
            own = feature["detection_frames"] == frame
            scores = self._counted(feature["coverages"][own], feature["scores"][own])
            if len(scores):
                best[place], is_found[place] = scores.max(), True
        detail = {
            "frame_scores": self._frame_scores(feature),
            "detection_rate": float(is_found.mean()) if len(frames) else None,
            "mean_confidence": float(best[is_found].mean()) if is_found.any() else None,
            "frames_detected": int(is_found.sum()),
            "first_frame": int(frames[0]) if len(frames) else None,
        }
        return score_of_frames(feature, best, detail=detail)

    def _frame_scores(self, feature: Feature) -> dict[str, Json]:
        """The best score in each frame of detections of usual size, and of those up to the fallback; 0 for none."""
        found: dict[str, list[Json]] = {"usual": [], "fallback": [], "coverage": []}
        for frame in feature["frame_indices"].tolist():
            own = feature["detection_frames"] == frame
            coverages, scores = feature["coverages"][own], feature["scores"][own]
            is_large = (coverages >= self.min_coverage) & (coverages <= self.fallback_coverage)
            is_usual = is_large & (coverages <= self.max_coverage)
            for name, is_counted in (("usual", is_usual), ("fallback", is_large)):
                found[name].append(float(scores[is_counted].max(initial=0.0)))
            shown = is_usual if is_usual.any() else is_large
            found["coverage"].append(float(coverages[shown][scores[shown].argmax()]) if shown.any() else None)
        return dict(found)

    def _counted(self, coverages: Floats, scores: Floats) -> Floats:
        is_sure = scores > self.min_score
        for largest in (self.max_coverage, self.fallback_coverage):
            is_counted = is_sure & (coverages >= self.min_coverage) & (coverages <= largest)
            if is_counted.any():
                return np.asarray(scores[is_counted])
        return np.zeros(0)
