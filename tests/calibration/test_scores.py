from __future__ import annotations

from dataclasses import replace

import pytest

from lookaway.calibration.measured_card import (
    CalibratedMetric,
    CalibrationSetting,
    ClipLabel,
    LabelledScore,
    make_cards,
)
from lookaway.calibration.scores import SCORES, add_scores, metric_key
from lookaway.core import DamagedFile

METRIC = CalibratedMetric(name="light", chain="changes=revisit_changes", chain_sha256="a" * 32)
SETTING = CalibrationSetting(world_version=2)
KEY = metric_key(METRIC, SETTING)
CLEAN = ClipLabel(kind="clean", family="kitchen", size=(256, 448), fps=12)
DARK = replace(CLEAN, kind="fault", name="lighting_shift", severity=0.5, dose=0.5, dose_unit="stops")


def scores(label: ClipLabel, *values: float | None) -> list[LabelledScore]:
    return [
        LabelledScore(
            label=label, case=f"case-{number}", scene=f"scene-{number}", value=value,
            reason="" if value is not None else "pose_failed",
        )
        for number, value in enumerate(values)
    ]  # fmt: skip


def test_scores_of_an_earlier_calibration_count_after_their_clips_are_gone(tmp_path):
    clean, dark = scores(CLEAN, 0.9, 0.8, None), scores(DARK, 0.3, 0.2, 0.1)
    add_scores(tmp_path, {KEY: clean})
    known = add_scores(tmp_path, {KEY: dark})[KEY]
    assert sorted(known, key=repr) == sorted([*clean, *dark], key=repr)
    assert make_cards(METRIC, known, SETTING) == make_cards(METRIC, [*clean, *dark], SETTING)


def test_a_clip_that_is_measured_again_replaces_its_score_and_the_file_is_the_same_in_any_order(tmp_path):
    add_scores(tmp_path, {KEY: scores(CLEAN, 0.9, 0.8)})
    found = add_scores(tmp_path, {KEY: scores(CLEAN, 0.7)})[KEY]
    assert [score.value for score in found] == [0.7, 0.8]
    other = tmp_path / "other"
    other.mkdir()
    add_scores(other, {KEY: scores(CLEAN, 0.7, 0.8)[::-1]})
    assert (other / SCORES).read_bytes() == (tmp_path / SCORES).read_bytes()


@pytest.mark.parametrize(
    "other",
    [
        metric_key(replace(METRIC, chain_sha256="b" * 32), SETTING),
        metric_key(METRIC, replace(SETTING, world_version=3)),
        metric_key(METRIC, replace(SETTING, look="generator-like")),
    ],
    ids=["extractors", "world", "look"],
)
def test_scores_of_other_extractors_worlds_or_looks_are_kept_apart(tmp_path, other):
    add_scores(tmp_path, {other: scores(CLEAN, 0.1, 0.2)})
    known = add_scores(tmp_path, {KEY: scores(CLEAN, 0.9)})
    assert [score.value for score in known[KEY]] == [0.9]
    assert [score.value for score in known[other]] == [0.1, 0.2]


def test_a_damaged_file_of_scores_is_named_and_not_overwritten(tmp_path):
    add_scores(tmp_path, {KEY: scores(CLEAN, 0.9)})
    path = tmp_path / SCORES
    path.write_bytes(damaged := path.read_bytes()[:-20])
    with pytest.raises(DamagedFile, match=r"scores\.parquet: it cannot be read as scores of a calibration"):
        add_scores(tmp_path, {KEY: scores(CLEAN, 0.8)})
    assert path.read_bytes() == damaged
