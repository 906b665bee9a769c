from __future__ import annotations

import csv
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest

from lookaway.core import Case, Feature, Reason, Rollout, Target
from lookaway.metrics.phase_mean import PhaseMean
from lookaway.metrics.reappearance import ReappearanceScore, apply_min_score
from lookaway.perception.masks.text_detections import Detection, TextDetections, target_words
from tests.support.beside import DATA, needs_subjects
from tests.support.golden import golden_numbers
from tests.support.published import published
from tests.support.watching import check_documented, perceive_frames

PUBLISHED = ReappearanceScore(min_score=0.0)
ROLLOUT = Rollout(
    case=Case(id="a", subset="s", scene="a", target=Target(name="fox"), prompt=("He sees a fox (subject) run, then.",)),
    model="m",
    video=Path("clip.mp4"),
    phases={"visible": (0, 6), "disappeared": (6, 10), "reappeared": (10, 20)},
)
PICTURES = [np.full((12, 16, 3), level, np.uint8) for level in range(20)]


def detections(*frames):
    """A feature of frames with pairs of coverage and score."""
    found = [(place, coverage, score) for place, pairs in enumerate(frames) for coverage, score in pairs]
    return Feature(
        {
            "coverages": np.array([coverage for _, coverage, _ in found], float),
            "scores": np.array([score for _, _, score in found], float),
            "detection_frames": np.array([place for place, _, _ in found], np.int64),
            "frame_indices": np.arange(len(frames)),
        }
    )


def measured(*frames, metric=None):
    return (metric or ReappearanceScore()).measure(ROLLOUT, {"detections": detections(*frames)})


def test_the_published_score_is_that_of_the_official_code():
    golden = golden_numbers("memobench")["ors"]
    height, width = golden["frame_size"]
    frames = [
        [(round(area * height * width) / (height * width), score) for area, score in zip(areas, scores, strict=True)]
        for areas, scores in golden["cases(mask_area_fraction,confidence) per R frame"]
    ]
    outcome = measured(*frames, metric=published("memobench.ors").metric)
    expected = golden["result"]
    assert outcome.value == pytest.approx(expected["ors"], abs=1e-4)
    assert outcome.detail["detection_rate"] == pytest.approx(expected["detection_rate"], abs=1e-4)
    assert outcome.detail["mean_confidence"] == pytest.approx(expected["mean_confidence"], abs=1e-4)
    assert (outcome.detail["frames"], outcome.detail["frames_detected"]) == (9, 6)


def test_a_target_that_is_always_found_scores_1_and_one_that_never_is_0():
    assert measured(*[[(0.1, 1.0)]] * 5).value == 1
    assert measured(*[[]] * 5).value == 0


def test_a_large_mask_counts_only_where_there_is_no_smaller_one():
    assert measured([(0.6, 0.9), (0.2, 0.7)]).value == 0.7
    assert measured([(0.6, 0.9)]).value == 0.9
    assert measured([(0.8, 0.9)]).value == 0


def test_specks_do_not_count():
    assert measured([(0.0004, 0.9)]).value == 0
    assert measured([(0.0005, 0.9)]).value == 0.9


def test_unsure_detections_count_as_published_but_not_by_default():
    unsure = [[(0.1, 0.3), (0.2, 0.45)]] * 4
    assert measured(*unsure).value == 0
    assert measured(*unsure, metric=PUBLISHED).value == pytest.approx(0.45)


def test_the_order_of_detections_does_not_matter():
    pairs = [(0.1, 0.6), (0.3, 0.9), (0.65, 0.95)]
    assert measured(pairs, pairs) == measured(pairs[::-1], pairs[::-1])


@pytest.mark.parametrize("min_score", [0.0, 0.1, 0.5, 0.9])
def test_another_threshold_on_stored_scores_gives_what_it_gives_on_detections(min_score):
    random = np.random.default_rng(3)
    frames = [list(random.uniform((0, 0), (0.8, 1), (count, 2))) for count in (0, 1, 2, 3, 5, 8)]
    stored = measured(*frames).detail["frame_scores"]
    applied = apply_min_score(np.array(stored["usual"]), np.array(stored["fallback"]), min_score)
    direct = measured(*frames, metric=ReappearanceScore(min_score=min_score))
    assert applied.tolist() == [unit.outcome.value for unit in direct.units]


def test_no_frames_are_too_short():
    assert measured().reason is Reason.TOO_SHORT


def test_it_is_reported_for_each_phase_too():
    phases = Feature({"bounds": np.array([[0, 2], [2, 4]])}, {"phases": ["visible", "reappeared"]})
    features = {"detections": detections([(0.1, 0.9)], [(0.1, 0.9)], [], []), "phases": phases}
    values = [
        PhaseMean(metric=ReappearanceScore(), phase=phase).measure(ROLLOUT, features).value
        for phase in ("visible", "reappeared")
    ]
    assert values == [0.9, 0.0]


def test_coverages_that_exclude_everything_are_refused():
    with pytest.raises(ValueError, match="shares of a frame"):
        ReappearanceScore(max_coverage=0.9)


# What a detector must give


@dataclass(frozen=True, slots=True)
class OracleDetections(TextDetections):
    """Knows where the target is, and errs by a score for what is not there."""

    name = "oracle_detections"
    present: Annotated[tuple[int, int], "frames in which the target is seen"] = (0, 20)
    absent_score: Annotated[float, "score of something else, where it is not"] = 0.2

    def load_detector(self):
        def detect(frame, words):
            is_present = self.present[0] <= frame.index < self.present[1]
            return [Detection(0.1, 0.9 if is_present else self.absent_score), Detection(0.9, 0.99)]

        return detect


def scored(recipe, metric):
    feature = perceive_frames(recipe, PICTURES, rollout=ROLLOUT)
    check_documented(recipe, feature)
    return metric.measure(ROLLOUT, {"detections": feature})


def test_a_detector_looks_at_every_frame_in_which_the_target_should_be_back():
    outcome = scored(OracleDetections(), ReappearanceScore())
    assert [unit.name for unit in outcome.units] == [f"f{frame}" for frame in range(10, 20)]
    assert (outcome.value, outcome.detail["words"]) == (pytest.approx(0.9), "fox")


def test_a_target_that_does_not_come_back_scores_what_is_most_like_it_as_published():
    vanished = OracleDetections(present=(0, 6), absent_score=0.45)
    assert scored(vanished, ReappearanceScore()).value == 0
    published = scored(vanished, PUBLISHED)
    assert (published.value, published.detail["detection_rate"]) == (pytest.approx(0.45), 1.0)


def test_a_case_without_a_target_is_declined():
    bare = replace(ROLLOUT, case=replace(ROLLOUT.case, target=None))
    assert OracleDetections().declines(ROLLOUT) is None
    assert OracleDetections().declines(bare).reason is Reason.NO_TARGET


def test_the_published_words_are_cut_out_of_the_prompt():
    assert target_words(ROLLOUT, "subject") == "fox"
    assert target_words(ROLLOUT, "published") == "a fox (subject) run"
    plain = replace(ROLLOUT, case=replace(ROLLOUT.case, prompt=("A glass fizzes.",)))
    assert target_words(plain, "published") == "fox"


@needs_subjects
def test_every_published_synthetic_prompt_names_its_subject():
    with (DATA / "memobench" / "synthetic_metadata.csv").open(newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    phrases = [
        target_words(replace(ROLLOUT, case=replace(ROLLOUT.case, prompt=(row["prompt"],))), "published") for row in rows
    ]
    assert len(phrases) == 196
    assert all("(subject)" in phrase for phrase in phrases)
    assert np.mean([len(phrase.split()) for phrase in phrases]) == pytest.approx(9.5, abs=0.1)
