from __future__ import annotations

from lookaway.calibration.card import write_cards
from lookaway.calibration.run_cards import shipped_cards
from lookaway.reports.metric_facts import card_line, card_row
from tests.calibration.planted import card_of, prefers_frozen, reacts_to_nothing
from tests.support.command import lookaway


def test_a_line_says_what_a_metric_finds_and_what_it_is_fooled_by():
    line = card_line(card_of(prefers_frozen))
    assert line.startswith("clean 0.81; finds 3 of 3 faults: ")
    assert "teleport from 0.27 diameters" in line
    assert "won by a frozen video" in line
    assert line.endswith("differences below 0.027 are equal")


def test_a_line_does_not_call_equal_what_differs_by_less_than_nothing():
    card = card_of(reacts_to_nothing)
    assert "equal" in card_line(card)
    assert "equal" not in card_line(card.model_copy(update={"smallest_difference": 0.0001}))


def test_a_line_says_that_a_metric_finds_nothing_or_has_no_score():
    assert "finds none of 3 faults" in card_line(card_of(reacts_to_nothing))
    assert card_line(card_of(lambda label, rng: None)) == "no score on clean clips"


def test_a_row_says_whether_a_frozen_video_wins():
    assert card_row(card_of(prefers_frozen))["frozen wins"] == "yes"
    assert card_row(card_of(lambda label, rng: None))["frozen wins"] == "not measured"


def test_lists_of_metrics_say_where_there_is_no_card(tmp_path):
    write_cards(tmp_path, [card_of(reacts_to_nothing).model_copy(update={"metric": "light"})])
    rows = lookaway("metrics", "--suite", "revisit", "--cards", tmp_path, "--json").json
    lines = {row["metric"]: row["sees"] for row in rows}
    assert lines["light"] == "no card for these extractors"
    assert set(lines.values()) == {"no card", "no card for these extractors"}


def test_a_list_of_metrics_shows_the_cards_of_other_extractors_and_says_which():
    rows = lookaway("metrics", "--suite", "mbench-a", "--json").json
    lines = {row["metric"]: row["sees"] for row in rows}
    assert lines["mbencha.corrected.environment.spatial_epipolar"].startswith(
        "with poses=tracked_poses: clean 0.67; finds "
    )
    assert lines["mbencha.causal.state_progress"].startswith("with features from the ground truth: clean 1.00; finds ")


def test_a_list_says_that_a_frozen_video_wins_a_metric_whose_only_card_is_of_random_weights():
    lines = {row["metric"]: row["sees"] for row in lookaway("metrics", "--suite", "memobench", "--json").json}
    assert lines["memobench.object_identity"] == "won by a frozen video"
    assert lines["memobench.all.lpips"] == "no card"


def test_lists_of_metrics_show_the_cards_that_are_shipped():
    shipped = [card for card in shipped_cards().cards if (card.features, card.height, card.fps) == ("shipped", 256, 12)]
    known = {card.metric: card_line(card) for card in shipped}
    rows = lookaway("metrics", "--suite", "revisit", "--json").json
    lines = {row["metric"]: row["sees"] for row in rows if row["metric"] in known}
    assert lines
    assert lines == {name: known[name] for name in lines}
    assert "no card for this size and rate" in {
        row["sees"] for row in lookaway("metrics", "--suite", "revisit", "--fps", 60, "--json").json
    }
