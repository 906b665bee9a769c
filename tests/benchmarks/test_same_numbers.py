"""The comparison of what two checkouts measured."""

from __future__ import annotations

import copy
import json

import pytest

from benchmarks.same_numbers import FILE, compare, main

METRIC = "mind.lcm.ssim"
ESTIMATE = {"mean": 0.25, "low": 0.1, "high": 0.4, "scored": 2, "scenes": 2}


def row(unit: str | None = None, **columns) -> dict:
    usual = {"status": "score", "reason": None, "value": 0.25, "raw": 1.5, "detail": {"frames": 3}}
    return {"rollout": "perfect/a/0", "metric": METRIC, "unit": unit, **usual, **columns}


@pytest.fixture
def before() -> dict:
    abstention = {"status": "abstention", "reason": "too_short", "value": None, "raw": None, "detail": None}
    return {
        "files": {"world/video.mp4": "ab" * 32},
        "runs": {
            "mind": {
                "rows": [row(), row("f0"), row("f1", value=0.5), row(rollout="perfect/b/0", **abstention)],
                "cells": [
                    {"model": "perfect", "metric": METRIC, "subset": "mem_test", "estimate": ESTIMATE, "asked": 2}
                ],
                "lock": "12" * 32,
                "further": {"drift": {"half_life": 7.5, "note": "half is lost"}},
            }
        },
    }


@pytest.fixture
def after(before) -> dict:
    return copy.deepcopy(before)


def rows_of(numbers: dict) -> list[dict]:
    return numbers["runs"]["mind"]["rows"]


def test_what_is_equal_is_counted_by_kind(before, after):
    found = compare(before, after, {})
    assert found.differences == ()
    assert found.text() == (
        "2 rows (1 scores, 1 abstentions, 0 failures), 2 units, 1 estimates in 1 cells, "
        "1 further numbers, 1 files: equal"
    )


@pytest.mark.parametrize("column", ["value", "raw"])
@pytest.mark.parametrize("position", [0, 1])
def test_the_last_bit_of_a_score_or_of_a_unit_is_a_difference(before, after, position, column):
    rows_of(after)[position][column] *= 1 + 2**-52
    (difference,) = compare(before, after, {}).differences
    assert METRIC in difference


def test_a_changed_detail_is_a_difference(before, after):
    rows_of(after)[0]["detail"] = {"frames": 4}
    assert len(compare(before, after, {}).differences) == 1


def test_a_lost_row_and_a_new_one_are_differences(before, after):
    del rows_of(after)[0]
    rows_of(after).append(row("f2"))
    lost, new = compare(before, after, {}).differences
    assert lost.endswith("absent after")
    assert "absent before" in new


def test_a_changed_reason_is_a_difference(before, after):
    rows_of(after)[3]["reason"] = "missing_video"
    (difference,) = compare(before, after, {}).differences
    assert "too_short" in difference
    assert "missing_video" in difference


@pytest.mark.parametrize("name", ["mean", "low", "high", "scored", "scenes"])
def test_every_number_of_an_estimate_counts(before, after, name):
    after["runs"]["mind"]["cells"][0]["estimate"][name] += 1
    assert len(compare(before, after, {}).differences) == 1


def test_a_clip_that_is_rendered_otherwise_is_a_difference(before, after):
    after["files"]["world/video.mp4"] = "cd" * 32
    assert len(compare(before, after, {}).differences) == 1


def test_a_lost_run_is_a_difference(before, after):
    after["runs"].clear()
    assert len(compare(before, after, {}).differences) == 6


def test_numbers_of_other_documents_count_and_their_wording_does_not(before, after):
    after["runs"]["mind"]["further"]["drift"] = {"half_life": 7.5, "note": "half is gone"}
    after["runs"]["mind"]["lock"] = "34" * 32
    assert compare(before, after, {}).differences == ()
    after["runs"]["mind"]["further"]["drift"]["half_life"] = 8.0
    assert len(compare(before, after, {}).differences) == 1


def test_a_renamed_metric_and_a_renamed_key_of_a_detail_are_equal_once_they_are_named(before, after):
    for entry in (*rows_of(after), *after["runs"]["mind"]["cells"]):
        entry["metric"] = "mind.lcm.similarity"
    for entry in rows_of(after)[:3]:
        entry["detail"] = {"compared": 3}
    renamed = {METRIC: "mind.lcm.similarity", "frames": "compared"}
    assert compare(before, after, {}).differences
    assert compare(before, after, renamed).differences == ()


def test_a_key_that_is_there_twice_is_refused(before, after):
    rows_of(after).append(row())
    with pytest.raises(ValueError, match="twice"):
        compare(before, after, {})


def test_a_metric_without_any_score_is_named(before, after):
    rows_of(after)[0]["status"] = "failure"
    assert compare(before, after, {}).unscored == (METRIC,)


@pytest.mark.parametrize(("options", "code"), [(["--min-scores", "1"], 0), (["--min-scores", "2"], 1), ([], 1)])
def test_a_comparison_of_too_few_scores_does_not_pass(before, after, options, code, tmp_path, capsys):
    for name, numbers in (("before", before), ("after", after)):
        (tmp_path / name).mkdir()
        (tmp_path / name / FILE).write_text(json.dumps(numbers))
    assert main(["compare", str(tmp_path / "before"), str(tmp_path / "after"), *options]) == code
    assert ("Refused" in capsys.readouterr().out) == (code == 1)
