from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from lookaway.calibration import run_cards
from lookaway.calibration.card import CARDS, NO_FORM, CardSet, MetricCard, chain_of, write_cards
from lookaway.calibration.run_cards import cards_of, record_cards
from lookaway.core import DamagedFile, DatasetError
from lookaway.engine.run import Run
from lookaway.io.encoding import write_video
from lookaway.store.run_folder import RunFolder
from tests.calibration.planted import card_of, prefers_frozen
from tests.support.chosen_run import LIGHT, STYLE, chosen_run, clips


@pytest.fixture
def run(tmp_path) -> Run:
    return chosen_run(tmp_path / "run", [*clips(LIGHT, [0.5] * 3), *clips(STYLE, [0.5] * 3)])


@pytest.fixture
def card(run) -> MetricCard:
    """Of the first metric, for small videos."""
    chain = chain_of(run.lock.entries["metrics"][LIGHT])[1]
    form = {"metric": LIGHT, "chain_sha256": chain, "height": 32, "width": 48, "fps": 8}
    return card_of(prefers_frozen).model_copy(update=form)


def with_videos(run: Run, folder: Path, fps: int = 8) -> None:
    """Write the videos of a run where it looks for them, from the folder that is current."""
    for path in {row["video"] for row in RunFolder(run.path).rollouts().to_pylist()}:
        write_video(folder / path, np.zeros((4, 32, 48, 3), np.uint8), fps)


def test_a_metric_has_the_card_of_its_chain_size_and_rate(run, card, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with_videos(run, tmp_path)
    found = cards_of(run, CardSet((card,)))
    assert dict(found.found) == {LIGHT: card}
    assert dict(found.missing) == {STYLE: "no card"}


def test_videos_of_another_rate_or_that_are_gone_have_no_card(run, card, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cards_of(run, CardSet((card,))).missing[LIGHT] == NO_FORM
    with_videos(run, tmp_path, fps=24)
    assert cards_of(run, CardSet((card,))).missing[LIGHT] == NO_FORM


def test_the_lock_names_the_card_and_keeps_its_own_hash(run, card, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with_videos(run, tmp_path)
    monkeypatch.setattr(run_cards, "shipped_cards", lambda: CardSet((card,)))
    before = run.lock
    record_cards(run)
    assert run.lock.cards == {LIGHT: card.sha256}
    assert run.lock == before
    assert run.lock.sha256 == before.sha256
    assert json.loads((run.path / "lock.json").read_text())["cards"] == {LIGHT: card.sha256}
    monkeypatch.chdir("/")
    assert dict(cards_of(run).found) == {LIGHT: card}, "the videos are not needed any more"


def test_a_card_of_another_version_is_not_taken_for_the_one_that_the_lock_names(run, card):
    RunFolder(run.path).add_cards({LIGHT: "0" * 64})
    assert cards_of(run, CardSet((card,))).missing[LIGHT] == "card 000000000000 is of another version"


def test_environments_stay_beside_the_cards(run):
    folder = RunFolder(run.path)
    folder.add_cards({LIGHT: "0" * 64})
    folder.add_environment({"numpy": "2.0"})
    assert run.lock.cards == {LIGHT: "0" * 64}
    assert [entry["numpy"] for entry in run.lock.environments] == ["2.0"]


def test_what_has_no_card_is_told_alike_before_and_after_it_is_recorded(run, card, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with_videos(run, tmp_path, fps=24)
    monkeypatch.setattr(run_cards, "shipped_cards", lambda: CardSet((card,)))
    before = cards_of(run)
    record_cards(run)
    assert run.lock.cards == {}
    assert cards_of(run) == before


def test_a_truncated_card_is_an_error_that_names_it(card, tmp_path):
    from lookaway.calibration.card import read_cards

    write_cards(tmp_path, [card])
    path = tmp_path / CARDS
    whole = path.read_text()
    path.write_text(whole[: len(whole) // 2])
    with pytest.raises((DatasetError, DamagedFile), match=r"cards\.json"):
        read_cards(tmp_path)
