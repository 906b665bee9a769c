from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from lookaway.core import Cell, Estimate, Gated, Lock, UserError
from lookaway.reports.lock_explanations import lock_differences, locked_constants, read_lock
from lookaway.reports.published_table import read_published
from lookaway.reports.verification import FigureVerdict, compare, is_reproduced

LIGHT = "mbencha.environment.rendering_lighting"


def estimate(mean: float, low: float | None = None, high: float | None = None) -> Estimate:
    return Estimate(mean=mean, low=low, high=high, scored=2, scenes=2)


def cell(metric=LIGHT, *, mean=0.5, low=None, high=None, model="m", subset="environment", raw=None, m_score=None):
    found = None if mean is None else estimate(mean, low, high)
    gated = None if m_score is None else Gated(coverage=estimate(0.5), combined=estimate(m_score))
    return Cell(
        model=model,
        metric=metric,
        subset=subset,
        estimate=found,
        raw_mean=raw,
        asked=3,
        failures=0,
        reasons={},
        gated=gated,
    )


def published(tmp_path: Path, *rows: str, header: str = "model,metric,score", scale="auto"):
    path = tmp_path / "published.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return read_published(path, scale).cells


def verdicts(cells, rows, tolerance=0.005) -> list[str]:
    return [entry.verdict.value for entry in compare(cells, rows, tolerance)]


@pytest.mark.parametrize(
    ("theirs", "verdict"),
    [
        ("0.5", "agrees"),
        ("0.505", "agrees"),
        ("0.495", "agrees"),
        ("0.506", "inside our interval"),
        ("0.4", "inside our interval"),
        ("0.6", "inside our interval"),
        ("0.61", "differs"),
        ("0.39", "differs"),
    ],
)
def test_a_number_agrees_up_to_the_tolerance_and_then_the_interval_counts(theirs, verdict, tmp_path):
    rows = published(tmp_path, f"m,{LIGHT},{theirs}")
    assert verdicts([cell(low=0.4, high=0.6)], rows) == [verdict]


def test_without_an_interval_there_is_nothing_to_lie_inside(tmp_path):
    assert verdicts([cell()], published(tmp_path, f"m,{LIGHT},0.51")) == ["differs"]
    assert verdicts([cell()], published(tmp_path, f"m,{LIGHT},0.51"), tolerance=0.02) == ["agrees"]


def test_a_metric_may_be_called_by_the_last_part_of_its_name(tmp_path):
    (entry,) = compare([cell()], published(tmp_path, "m,rendering_lighting,0.5"), 0.005)
    assert (entry.metric, entry.verdict, entry.n, entry.asked) == (LIGHT, FigureVerdict.AGREES, 2, 3)
    assert verdicts([cell()], published(tmp_path, "m,lighting,0.5")) == ["missing here", "missing there"]


def test_the_whole_name_is_preferred_to_one_that_ends_like_it(tmp_path):
    cells = [cell("light"), cell("other.light", mean=0.1)]
    rows = published(tmp_path, "m,light,0.5", "m,other.light,0.1")
    assert verdicts(cells, rows) == ["agrees", "agrees"]


def test_what_only_one_side_has_is_told_and_only_what_is_missing_here_counts(tmp_path):
    found = compare([cell(), cell("extra")], published(tmp_path, f"m,{LIGHT},0.5", "n,none,0.5"), 0.005)
    assert [entry.verdict.value for entry in found] == ["agrees", "missing here", "missing there"]
    assert [(entry.ours, entry.theirs, entry.difference) for entry in found] == [
        (0.5, 0.5, 0.0),
        (None, 0.5, None),
        (0.5, None, None),
    ]
    assert not is_reproduced(found)
    assert is_reproduced([entry for entry in found if entry.verdict is not FigureVerdict.MISSING_HERE])


def test_a_cell_that_was_asked_but_has_no_score_is_missing_here(tmp_path):
    (entry,) = compare([cell(mean=None)], published(tmp_path, f"m,{LIGHT},0.5"), 0.005)
    assert (entry.verdict, entry.note) == (FigureVerdict.MISSING_HERE, "no score")


def test_another_model_or_subset_is_another_cell(tmp_path):
    header = "model,metric,subset,score"
    cells = [cell(mean=0.1, model="other"), cell(mean=0.2, subset="human"), cell(mean=0.5)]
    rows = published(tmp_path, f"m,{LIGHT},environment,0.5", header=header)
    assert verdicts(cells, rows) == ["agrees", "missing there", "missing there"]
    with pytest.raises(UserError, match=r"Line 2: m, .* could be .* of human, .* of environment\. Give its subset"):
        compare(cells, published(tmp_path, f"m,{LIGHT},0.5"), 0.005)


def test_two_names_of_one_cell_are_refused(tmp_path):
    rows = published(tmp_path, f"m,{LIGHT},0.5", "m,rendering_lighting,0.9")
    with pytest.raises(UserError, match="names the same cell as another line"):
        compare([cell()], rows, 0.005)


def test_scores_above_one_are_hundredths_all_of_them(tmp_path):
    rows = published(tmp_path, f"m,{LIGHT},50", "m,extra,0.9", header="model,metric,score")
    assert [row.figures["score"] for row in rows] == pytest.approx([0.5, 0.009])
    assert published(tmp_path, f"m,{LIGHT},1", header="model,metric,score")[0].figures == {"score": 1.0}
    assert published(tmp_path, f"m,{LIGHT},0.5", scale="100")[0].figures == {"score": 0.005}
    assert published(tmp_path, f"m,{LIGHT},50", scale="1")[0].figures == {"score": 50.0}


def test_the_m_score_is_held_against_the_m_score_and_the_raw_value_in_its_own_unit(tmp_path):
    gated = cell(mean=0.6, raw=200.0, m_score=0.5454)
    rows = published(tmp_path, f"m,{LIGHT},60,54.54,200.9,2", header="model,metric,score,m_score,raw,n")
    found = compare([gated], rows, 0.005)
    assert [(entry.figure, entry.verdict.value, entry.their_n) for entry in found] == [
        ("score", "agrees", 2),
        ("m_score", "agrees", 2),
        ("raw", "agrees", 2),
    ]
    far = published(tmp_path, f"m,{LIGHT},60,202", header="model,metric,score,raw")
    assert verdicts([gated], far) == ["agrees", "differs"]
    small = published(tmp_path, f"m,{LIGHT},0.6,0.006", header="model,metric,score,raw")
    assert verdicts([cell(mean=0.6, raw=0.01)], small) == ["agrees", "agrees"]


def test_an_m_score_in_the_column_of_scores_is_recognised(tmp_path):
    (entry,) = compare([cell(mean=0.6, m_score=0.5454)], published(tmp_path, f"m,{LIGHT},54.54"), 0.005)
    assert (entry.verdict, entry.note) == (FigureVerdict.DIFFERS, "theirs is our M-Score: call the column m_score")
    (entry,) = compare([cell(mean=0.6)], published(tmp_path, f"m,{LIGHT},0.5", header="model,metric,m_score"), 0.005)
    assert (entry.verdict, entry.note) == (FigureVerdict.MISSING_HERE, "raw consistency: the run has no gate")


def test_what_a_gate_gives_is_held_against_what_was_published_of_it(tmp_path):
    gated = cell(mean=0.6, low=0.5, high=0.7, m_score=0.5454)
    header = "model,metric,s_rel,c_trig,m_score"
    found = compare([gated], published(tmp_path, f"m,{LIGHT},60,50,54.54", header=header), 0.005)
    assert [(entry.figure, entry.ours, entry.verdict.value) for entry in found] == [
        ("m_score", 0.5454, "agrees"),
        ("s_rel", 0.6, "agrees"),
        ("c_trig", 0.5, "agrees"),
    ]
    rows = published(tmp_path, f"m,{LIGHT},65,70,54.54", header=header)
    assert verdicts([gated], rows) == ["agrees", "inside our interval", "differs"]
    raw = compare([cell(mean=0.6)], published(tmp_path, f"m,{LIGHT},0.6,0.5", header="model,metric,s_rel,c_trig"), 0.1)
    assert {(entry.verdict, entry.note) for entry in raw} == {
        (FigureVerdict.MISSING_HERE, "raw consistency: the run has no gate")
    }


def test_a_number_that_is_missing_because_the_judge_answered_nobody_says_so(tmp_path):
    unanswered = replace(
        cell(mean=None), gated=Gated(coverage=None, combined=None), reasons={"gate judge_refused": 3}, failures=1
    )
    found = compare([unanswered], published(tmp_path, f"m,{LIGHT},0.5,0.5", header="model,metric,score,c_trig"), 0.1)
    assert [entry.note for entry in found] == [
        "no score: failed 1, gate judge_refused 3",
        "no c_trig: failed 1, gate judge_refused 3",
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "the first line names the columns"),
        (b"model,metric\nm,x\n", "the first line names the columns"),
        (b"model,metric,score\n", "no row below the header"),
        (b"model,metric,score,score\nm,x,1,1\n", "'score' is there more than once"),
        (b"model,metric,score\nm,x,nan\n", "line 2: score is 'nan', expected a finite number"),
        (b"model,metric,score\nm,x,inf\n", "expected a finite number"),
        (b"model,metric,score\nm,x,1e999\n", "expected a finite number"),
        (b"model,metric,score\nm,x,=1+1\n", "expected a finite number"),
        (b"model,metric,score\nm,x,\n", "there is no number"),
        (b"model,metric,score\n,x,1\n", "the model is empty"),
        (b"model,metric,score\nm,,1\n", "the metric is empty"),
        (b"model,metric,score\nm,x\n", "line 2: 2 values, expected 3"),
        (b"model,metric,score\nm,x,1,2\n", "line 2: 4 values, expected 3"),
        (b"model,metric,score\nm,x,1\nm,x,1\n", "line 3: m, x is in line 2 already"),
        (b"model,metric,score,n\nm,x,1,-2\n", "n is '-2'"),
        (b"model,metric,score,n\nm,x,1,2.5\n", "n is '2.5'"),
        (b'model,metric,score\nm,"x,1\n', "not readable as CSV"),
        (b"model,metric,score\nm,\xff,1\n", "cannot be read as text"),
    ],
)
def test_a_file_that_cannot_be_trusted_is_refused_with_the_place(content, said, tmp_path):
    path = tmp_path / "published.csv"
    path.write_bytes(content)
    with pytest.raises(UserError, match=said):
        read_published(path)


def test_files_that_are_missing_or_huge_are_refused(tmp_path):
    with pytest.raises(UserError, match="there is no such file"):
        read_published(tmp_path / "none.csv")
    with (tmp_path / "huge.csv").open("wb") as file:
        file.truncate(20_000_000)
    with pytest.raises(UserError, match="larger than"):
        read_published(tmp_path / "huge.csv")


def test_a_file_from_a_spreadsheet_is_read_with_its_mark_empty_lines_and_other_columns(tmp_path):
    path = tmp_path / "published.csv"
    path.write_bytes(b"\xef\xbb\xbfModel, Metric ,SCORE,Remark\r\n m ,x, 0.5,fine\r\n,,,\r\n")
    table = read_published(path)
    assert table.ignored_columns == ("remark",)
    (row,) = table.cells
    assert (row.model, row.metric, row.figures, row.subset, row.n) == ("m", "x", {"score": 0.5}, None, None)


def test_a_tolerance_that_is_no_number_is_refused(tmp_path):
    with pytest.raises(UserError, match="expected a finite number"):
        compare([cell()], published(tmp_path, f"m,{LIGHT},0.5"), float("inf"))


def lock(tau: float = 10.0, other: int = 1, **dataset: str) -> Lock:
    metrics = {LIGHT: {"metric": {"tau": tau}, "software": {"numpy": "2"}}, "other": {"metric": {"size": other}}}
    return Lock({"suite": {"name": "mbench-a"}, "dataset": dataset, "metrics": metrics})


def test_differences_of_locks_are_told_only_where_they_concern_the_metric():
    assert lock_differences(lock(), lock(tau=12.0, other=2), [LIGHT]) == [
        (f"metrics.{LIGHT}.metric.tau", 10.0, 12.0),
    ]
    assert lock_differences(lock(), lock(other=2), [LIGHT]) == []
    assert lock_differences(lock(name="a"), lock(name="b"), [LIGHT]) == [("dataset.name", "a", "b")]


def test_without_another_lock_every_constant_of_the_metric_is_told():
    assert locked_constants(lock(), [LIGHT]) == [(f"{LIGHT}.metric.tau", 10.0), (f"{LIGHT}.software.numpy", "2")]


def test_a_lock_that_somebody_changed_is_refused(tmp_path):
    path = tmp_path / "lock.json"
    path.write_text(json.dumps({**lock().entries, "sha256": lock().sha256}))
    assert read_lock(path) == lock()
    path.write_text(json.dumps({**lock(tau=11.0).entries, "sha256": lock().sha256}))
    with pytest.raises(UserError, match="it was changed"):
        read_lock(path)
    for content in ("[]", "{}", '{"metrics": []}'):
        path.write_text(content)
        with pytest.raises(UserError, match="not a lock"):
            read_lock(path)
