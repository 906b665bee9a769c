from __future__ import annotations

import json

import numpy as np
import pytest

from lookaway.calibration import run_cards
from lookaway.calibration.card import CardSet, MetricCard, chain_of
from lookaway.engine.run import Run
from lookaway.reports.compare.comparison import Verdict, compare_runs
from lookaway.reports.leaderboards import headline, leaderboards, matrix
from lookaway.reports.runs import load_run
from lookaway.reports.site.answer import answers
from lookaway.reports.site.facts import facts
from lookaway.reports.site.tables import matrix_cells
from lookaway.reports.site.warnings import warnings
from lookaway.reports.table import print_table
from lookaway.store.run_folder import RunFolder
from tests.calibration.planted import card_of, prefers_frozen
from tests.support.chosen_run import LIGHT, LPIPS, STYLE, chosen_run, clips

pytestmark = pytest.mark.usefixtures("tried_on_frozen")

SCENES = 20


@pytest.fixture
def card() -> MetricCard:
    """A frozen video wins; the smallest difference is 0.027."""
    return card_of(prefers_frozen).model_copy(update={"metric": LIGHT})


@pytest.fixture
def lost(card) -> MetricCard:
    """The same, but a frozen video loses."""
    loses = tuple(c.model_copy(update={"verdict": "loses"}) if c.name == "frozen" else c for c in card.controls)
    return card.model_copy(update={"controls": loses})


def run_of(tmp_path, card: MetricCard, monkeypatch: pytest.MonkeyPatch, difference: float) -> Run:
    """A model, and another whose scores are better by a steady difference, so that it is significant."""
    values = np.linspace(0.4, 0.6, SCENES)
    found = [*clips(LIGHT, values, model="a"), *clips(LIGHT, values + difference, model="b")]
    run = chosen_run(tmp_path / "run", found)
    own = card.model_copy(update={"chain_sha256": chain_of(run.lock.entries["metrics"][LIGHT])[1]})
    monkeypatch.setattr(run_cards, "shipped_cards", lambda: CardSet((own,)))
    RunFolder(run.path).add_cards({LIGHT: own.sha256})
    return run


@pytest.mark.parametrize(("times", "is_equal"), [(0.9, True), (2.0, False)])
def test_scores_closer_than_the_smallest_difference_are_marked_in_the_table(
    tmp_path, card, monkeypatch, capsys, times, is_equal
):
    run = run_of(tmp_path, card, monkeypatch, times * card.smallest_difference)
    print_table(run, run.table(), as_json=False)
    shown = capsys.readouterr().out
    assert ("≈ not told from the best; smallest differences: " in shown) == is_equal
    assert f"{LIGHT} (frozen wins)" in shown
    assert f"note: {LIGHT}: a frozen video scores as well as a perfect memory." in shown


def test_the_table_for_programs_has_the_hash_of_the_card(tmp_path, card, monkeypatch, capsys):
    run = run_of(tmp_path, card, monkeypatch, 0.1)
    print_table(run, run.table(), as_json=True)
    found = json.loads(capsys.readouterr().out)["cards"][LIGHT]
    assert found["sha256"] == run.lock.cards[LIGHT]
    assert found["is_won_by_frozen"]


@pytest.mark.parametrize(
    ("has_chain", "metrics", "told"),
    [
        (True, [LIGHT], "no card for this size and rate"),
        (False, [LIGHT], "no card for these extractors"),
        (True, [STYLE], "no card"),
        (True, [LIGHT, STYLE], "no card for any metric"),
    ],
)
def test_a_table_without_cards_says_why(tmp_path, lost, monkeypatch, capsys, has_chain, metrics, told):
    run = chosen_run(tmp_path / "run", [clip for metric in metrics for clip in clips(metric, [0.5] * 3)])
    chain = chain_of(run.lock.entries["metrics"].get(LIGHT, {}))[1] if has_chain else "of other extractors"
    own = lost.model_copy(update={"chain_sha256": chain})
    monkeypatch.setattr(run_cards, "shipped_cards", lambda: CardSet((own,)))
    print_table(run, run.table(), as_json=False)
    said = f"{told}: what a metric sees here is not known"
    assert f"note: {said}.\n" in capsys.readouterr().out
    assert dict(facts(load_run(run, "run")))["Cards"] == said


def test_a_metric_that_a_frozen_video_wins_is_not_said_to_have_no_card(tmp_path, card, monkeypatch, capsys):
    run = chosen_run(tmp_path / "run", [clip for metric in (LIGHT, STYLE) for clip in clips(metric, [0.5] * 3)])
    own = card.model_copy(update={"chain_sha256": chain_of(run.lock.entries["metrics"][LIGHT])[1], "fps": 1})
    monkeypatch.setattr(run_cards, "shipped_cards", lambda: CardSet((own,)))
    print_table(run, run.table(), as_json=False)
    shown = capsys.readouterr().out
    assert f"{LIGHT} (frozen wins)" in shown
    assert f"note: {LIGHT}: a frozen video scores as well as a perfect memory.\nnote: no card: {STYLE}.\n" in shown
    print_table(run, run.table(), as_json=True)
    assert json.loads(capsys.readouterr().out)["cards"] == {LIGHT: {"is_won_by_frozen": True}, STYLE: "no card"}
    loaded = load_run(run, "run")
    assert dict(facts(loaded))["Cards"] == "for 1 of 2 metrics"
    texts = {warned.text: warned.details for warned in warnings([loaded], [])}
    assert [details for text, details in texts.items() if text.startswith("A frozen video")] == [(LIGHT,)]


def test_a_table_names_the_metrics_without_a_card_by_reason(tmp_path, card, monkeypatch, capsys):
    metrics = (LIGHT, STYLE, LPIPS)
    run = chosen_run(tmp_path / "run", [clip for metric in metrics for clip in clips(metric, [0.5] * 3)])
    own = card.model_copy(update={"chain_sha256": chain_of(run.lock.entries["metrics"][LIGHT])[1]})
    other = card.model_copy(update={"metric": LPIPS, "chain_sha256": "of other extractors"})
    monkeypatch.setattr(run_cards, "shipped_cards", lambda: CardSet((own, other)))
    RunFolder(run.path).add_cards({LIGHT: own.sha256})
    print_table(run, run.table(), as_json=False)
    assert f"note: no card: {STYLE}; no card for these extractors: {LPIPS}.\n" in capsys.readouterr().out


def test_a_comparison_of_runs_with_different_cards_says_so(tmp_path, lost, monkeypatch):
    runs = [run_of(tmp_path / name, lost, monkeypatch, 0.1) for name in ("old", "new")]
    own = lost.model_copy(update={"chain_sha256": chain_of(runs[1].lock.entries["metrics"][LIGHT])[1]})
    another = own.model_copy(update={"scenes": own.scenes + 1})
    monkeypatch.setattr(run_cards, "shipped_cards", lambda: CardSet((own, another)))
    assert not [note for note in compare_runs(*runs, ["a", "b"]).notes if "card" in note]
    RunFolder(runs[1].path).add_cards({LIGHT: another.sha256})
    (note,) = [note for note in compare_runs(*runs, ["a", "b"]).notes if "card" in note]
    assert note == "a different card in each run: what a metric sees here is not known."


@pytest.mark.parametrize(("times", "verdict"), [(0.9, Verdict.BELOW_CARD), (2.0, Verdict.BETTER)])
def test_a_significant_difference_below_the_card_is_neither_better_nor_worse(
    tmp_path, card, monkeypatch, times, verdict
):
    run = run_of(tmp_path, card, monkeypatch, times * card.smallest_difference)
    (found,) = compare_runs(run, run, ["a", "b"]).dimensions
    assert found.verdict is verdict


@pytest.mark.parametrize(("times", "is_below"), [(0.9, True), (2.0, False)])
def test_reports_grey_out_differences_below_the_card_and_do_not_rank_by_them(
    tmp_path, lost, monkeypatch, times, is_below
):
    run = run_of(tmp_path, lost, monkeypatch, times * lost.smallest_difference)
    (board,) = leaderboards([load_run(run, "run")])
    ((cell,),) = matrix_cells(matrix(board))
    assert (cell.classes == "tied") == is_below
    assert ("below the card" in cell.notes) == is_below
    ranks = [(row.ranks.best, row.ranks.worst) for row in board.rows]
    assert ranks == ([(1, 2), (1, 2)] if is_below else [(1, 1), (2, 2)])
    (answer,) = answers([board], [matrix(board)], {"a": 0, "b": 1}, {})
    lead = "".join(part.text for part in answer.lead)
    assert lead.startswith("No difference between 2 models is significant" if is_below else "b remembers best")


def test_nobody_is_ranked_by_a_column_that_a_frozen_video_wins(tmp_path, card, monkeypatch):
    (board,) = leaderboards([load_run(run_of(tmp_path, card, monkeypatch, 0.1), "run")])
    assert [row.ranks for row in board.rows] == [None, None]
    assert [row.model for row in board.rows] == ["a", "b"]  # by name, though b is better
    assert board.title.endswith(" · frozen wins")
    assert board.short == "rendering_lighting · frozen wins"
    (answer,) = answers([board], [matrix(board)], {"a": 0, "b": 1}, {})
    assert "".join(part.text for part in answer.lead).startswith("No model is ranked: ")


def test_reports_warn_of_metrics_that_a_frozen_video_wins_and_state_where_there_is_no_card(tmp_path, card, monkeypatch):
    run = run_of(tmp_path, card, monkeypatch, 0.1)
    loaded = load_run(run, "run")
    texts = {warned.text: warned.details for warned in warnings([loaded], [])}
    assert [details for text, details in texts.items() if text.startswith("A frozen video")] == [(LIGHT,)]
    assert dict(facts(loaded))["Cards"] == "for 1 of 1 metric"
    other = load_run(chosen_run(tmp_path / "other", clips(STYLE, [0.5] * 3)), "other")
    assert dict(facts(other))["Cards"] == "no card: what a metric sees here is not known"


def test_a_metric_that_a_frozen_video_wins_does_not_answer_for_a_suite(tmp_path, card, monkeypatch):
    values = np.linspace(0.4, 0.6, SCENES)
    found = [*clips(LIGHT, values), *clips(STYLE, values[:-1])]
    run = chosen_run(tmp_path / "run", found)
    assert headline(leaderboards([load_run(run, "run")])).metric.name == LIGHT
    own = card.model_copy(update={"chain_sha256": chain_of(run.lock.entries["metrics"][LIGHT])[1]})
    monkeypatch.setattr(run_cards, "shipped_cards", lambda: CardSet((own,)))
    RunFolder(run.path).add_cards({LIGHT: own.sha256})
    assert headline(leaderboards([load_run(run, "run")])).metric.name == STYLE
