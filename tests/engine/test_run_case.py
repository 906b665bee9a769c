from __future__ import annotations

import pytest

from lookaway.core import Abstention, Failure, Reason, Score, UnknownName
from lookaway.engine.run import Run
from tests.reports.site.page import read_page
from tests.support.chosen_run import GATE, IDENTITY, LIGHT, STYLE, Clip, chosen_run

KITCHEN = "kitchen-yaw_left_60-000"
DECLINED = Abstention(Reason.MISSING_INPUT, "there are no poses.")


def kitchen(metric: str, outcome: object, model: str = "m", **fields: str) -> Clip:
    return Clip(metric=metric, case=fields.pop("case", KITCHEN), outcome=outcome, model=model, **fields)


def lines(run: Run, name: str = KITCHEN) -> list[str]:
    return str(run.case(name)).splitlines()


def test_a_case_prints_a_line_for_each_metric_with_a_value_or_the_reason_of_every_video(tmp_path):
    found = [
        kitchen(STYLE, Score(0.25), "a"),
        kitchen(STYLE, DECLINED, "b"),
        kitchen(LIGHT, Failure("OSError", "the disk is full."), "a"),
        kitchen(LIGHT, Score(-1e-9), "b"),
        kitchen(STYLE, Score(0.75), "a", case="hall"),
    ]
    run = chosen_run(tmp_path / "run", found)
    title, name, _, *table = lines(run)
    assert (title, name) == ("Kitchen", KITCHEN)
    assert [line.split() for line in table] == [
        ["metric", "a", "b"],
        [STYLE, "0.250", "missing_input"],
        [LIGHT, "failed", "0.000"],
    ]
    assert repr(run.case(KITCHEN)) == str(run.case(KITCHEN))


def test_an_id_that_is_its_own_title_is_printed_once(tmp_path):
    run = chosen_run(tmp_path / "run", [kitchen(STYLE, Score(0.25), case="hall")])
    assert lines(run, "hall")[:2] == ["hall", ""]
    assert "<code>" not in run.case("hall")._repr_html_()


def test_videos_of_one_model_are_told_apart_by_their_seeds(tmp_path):
    found = [
        kitchen(STYLE, Score(0.2), "a"),
        kitchen(STYLE, Score(0.3), "b", seed="0"),
        kitchen(STYLE, Score(0.4), "b", seed="1"),
    ]
    assert list(chosen_run(tmp_path / "run", found).case(KITCHEN).videos.values()) == ["a", "b, seed 0", "b, seed 1"]


def test_a_case_lists_the_metrics_of_its_subset_and_says_which_are_not_measured_yet(tmp_path):
    found = [
        kitchen(STYLE, Score(0.2), "a"),
        kitchen(LIGHT, Score(0.3), "b"),
        kitchen(IDENTITY, Score(0.4), "a", case="hall", subset="human"),
    ]
    table = lines(chosen_run(tmp_path / "run", found))[3:]
    assert [line.split(maxsplit=1)[0] for line in table] == ["metric", STYLE, LIGHT]
    assert table[1].split(maxsplit=1)[1].split(maxsplit=1) == ["0.200", "not measured"]


def test_a_score_of_a_video_that_did_not_pass_the_gate_is_shown_as_one_that_does_not_count(tmp_path):
    found = [
        Clip(metric=metric, case=KITCHEN, outcome=Score(value), model=model, subset="human")
        for metric, model, value in (
            (IDENTITY, "kept", 0.8),
            (IDENTITY, "still", 0.9),
            (GATE, "kept", 1.0),
            (GATE, "still", 0.0),
        )
    ]
    case = chosen_run(tmp_path / "run", found, suite="mbench-t").case(KITCHEN)
    table = [line.split(maxsplit=2) for line in str(case).splitlines()[3:]]
    assert table[1:] == [[IDENTITY, "0.800", "0.900 (does not count)"], [GATE, "1.000", "0.000"]]


def test_a_notebook_shows_a_case_as_a_table_and_text_of_the_dataset_as_text(tmp_path):
    name = "a_<script>alert(1)</script>&000"
    run = chosen_run(tmp_path / "run", [kitchen(STYLE, Score(0.25), "<b>m", case=name)])
    shown = run.case(name)._repr_html_()
    page = read_page(shown)
    assert page.one("code").text == name
    assert page.one("h4").text == run.case(name).title
    assert [cell.text for cell in page.all("th")] == ["metric", "<b>m"]
    assert {node.tag for node in page.all()} == {"h4", "p", "code", "table", "thead", "tbody", "tr", "th", "td"}
    assert not any(node.attributes for node in page.all())


def test_a_case_that_the_run_does_not_have_is_an_error_that_names_the_nearest(tmp_path):
    run = chosen_run(tmp_path / "run", [kitchen(STYLE, Score(0.25))])
    with pytest.raises(UnknownName, match=rf"No case is named 'kitchen-yaw_left_60'.*Did you mean '{KITCHEN}'"):
        run.case("kitchen-yaw_left_60")


def test_a_case_keeps_the_rows_of_its_outcomes_with_their_messages(tmp_path):
    found = [kitchen(STYLE, DECLINED), kitchen(STYLE, Score(0.5), case="hall")]
    (row,) = chosen_run(tmp_path / "run", found).case(KITCHEN).outcomes
    assert (row["case"], row["reason"], row["message"]) == (KITCHEN, "missing_input", "there are no poses.")
