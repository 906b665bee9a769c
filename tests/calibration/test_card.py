from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest

from lookaway.calibration.card import (
    CARDS,
    FIGURES,
    TRUE_EXTRACTORS,
    CardSet,
    MetricCard,
    bound_chain,
    bound_protocol,
    chain_of,
    protocol_of,
    read_cards,
    write_cards,
)
from lookaway.calibration.run_cards import shipped_cards
from lookaway.core import DamagedFile, Dataset, DatasetError
from lookaway.engine.binding import bind_metrics, feature_names
from tests.calibration.planted import card_of, prefers_frozen, reacts_to_everything, reacts_to_nothing


@pytest.fixture(scope="module")
def cards() -> tuple[MetricCard, ...]:
    planted = {"blind": reacts_to_nothing, "jumpy": reacts_to_everything, "frozen": prefers_frozen}
    return tuple(card_of(score).model_copy(update={"metric": name}) for name, score in planted.items())


def test_cards_come_back_as_they_were_written(cards, tmp_path):
    write_cards(tmp_path, cards)
    found = {card.metric: card for card in read_cards(tmp_path).cards}
    assert found == {card.metric: card for card in cards}
    assert found["blind"].sha256 == cards[0].sha256


def test_equal_cards_give_equal_bytes_in_any_order(cards, tmp_path):
    write_cards(tmp_path / "one", cards)
    write_cards(tmp_path / "other", reversed(cards))
    for name in (CARDS, FIGURES):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()


def test_a_changed_number_is_noticed(cards, tmp_path):
    write_cards(tmp_path, cards)
    content = json.loads((tmp_path / CARDS).read_text())
    content["cards"][0]["card"]["floor"]["score"]["mean"] = 0.999
    (tmp_path / CARDS).write_text(json.dumps(content))
    with pytest.raises(DamagedFile, match="changed after it was written"):
        read_cards(tmp_path)


def test_an_unknown_field_or_a_missing_file_is_explained(cards, tmp_path):
    with pytest.raises(DatasetError, match="no such file"):
        read_cards(tmp_path)
    (tmp_path / CARDS).write_text('{"format": 1, "cards": [], "more": 1}')
    with pytest.raises(DatasetError, match="unknown field"):
        read_cards(tmp_path)


def test_the_table_has_every_figure_with_its_dose(cards, tmp_path):
    write_cards(tmp_path, cards)
    rows = pq.read_table(tmp_path / FIGURES).to_pylist()
    (found,) = (
        row
        for row in rows
        if (row["metric"], row["name"], row["figure"], row["severity"]) == ("jumpy", "teleport", "auc", 1.0)
    )
    assert found["value"] == 1.0
    assert found["dose"] == pytest.approx(1.095)
    (card,) = (card for card in cards if card.metric == "jumpy")
    assert found["card"] == card.sha256


def test_a_card_is_found_by_metric_chain_size_and_rate(cards):
    known = CardSet(cards)
    card = cards[0]
    assert known.find("blind", card.chain_sha256, (256, 448), 12) is card
    assert known.find("blind", card.chain_sha256, (480, 832), 12) == "no card for this size and rate"
    assert known.find("blind", card.chain_sha256, (256, 448), 24) == "no card for this size and rate"
    assert known.find("blind", "another", (256, 448), 12) == "no card for these extractors"
    assert known.find("unknown", "another", (256, 448), 12) == "no card"


def test_another_suite_has_the_card_of_the_same_metric_under_another_name(cards):
    assert CardSet(cards[:1]).find("suite.blind", cards[0].chain_sha256, (256, 448), 12) is cards[0]


def test_the_chain_names_extractors_and_does_not_depend_on_versions_of_software():
    entries = {"metric": {"kind": "psnr"}, "features": {"poses": {"kind": "tracked_poses", "height": 240}}}
    text, sha256 = chain_of({**entries, "software": {"numpy": "2.0"}})
    assert text == "poses=tracked_poses"
    assert chain_of({**entries, "software": {"numpy": "2.1"}})[1] == sha256
    other = {**entries, "features": {"poses": {"kind": "tracked_poses", "height": 480}}}
    assert chain_of(other)[1] != sha256


def test_how_a_requested_path_reaches_a_metric_does_not_change_its_card():
    entries = {"metric": {"kind": "return_error"}, "features": {"poses": {"kind": "tracked_poses"}}}
    chains = [
        chain_of({**entries, "features": {**entries["features"], "commanded_poses": {"kind": kind}}})
        for kind in ("commanded_poses", "delivered_poses")
    ]
    assert chains[0][1] == chains[1][1] == chain_of(entries)[1]
    assert chains[0][0] != chains[1][0]


def matched(**changed: object) -> dict[str, object]:
    poses = {"kind": "tracked_poses", "height": 240}
    recipe = {"kind": "sift_matches", "pairs": {"kind": "FoldPairs", "most": 20}, "poses": poses, "keypoints": 2048}
    return {"metric": {"kind": "spatial_epipolar"}, "features": {"matches": {**recipe, **changed}, "poses": poses}}


def test_true_and_estimated_features_have_one_protocol_and_other_pairs_of_frames_another():
    true = matched(kind="true_matches", poses={"kind": "true_poses"}, rows=32)
    true["features"]["poses"] = {"kind": "true_poses"}
    assert protocol_of(true) == protocol_of(matched())
    assert chain_of(true) != chain_of(matched())
    assert protocol_of(matched(pairs={"kind": "SegmentPairs", "most": 5})) != protocol_of(matched())
    assert protocol_of({**matched(), "metric": {"kind": "spatial_capped"}}) != protocol_of(matched())


def test_other_weights_and_another_device_have_the_same_protocol_and_another_network_has_not():
    def seen_by(network: str, sha256: str, device: str) -> dict:
        weights = {"kind": network, "name": network, "source": "x", "revision": "1", "files": [{"sha256": sha256}]}
        tokens = {"kind": "tokens", "weights": weights, "compute": {"device": device}, "device": device}
        return {"metric": {"kind": "likeness"}, "features": {"tokens": tokens}}

    usual = seen_by("dinov2-base", "a", "cpu")
    assert protocol_of(seen_by("dinov2-base", "b", "cuda")) == protocol_of(usual)
    assert protocol_of(seen_by("dinov3-vitb16", "a", "cpu")) != protocol_of(usual)


def test_a_card_of_random_weights_tells_what_a_frozen_video_wins_and_nothing_else(cards):
    card = cards[2].model_copy(update={"features": "random", "chain_sha256": "r", "protocol_sha256": "p"})
    form = (card.height, card.width), card.fps
    assert CardSet((card,)).is_won_by_frozen("other", "p")
    assert CardSet((card,)).find_similar("p", *form) is None
    assert CardSet((card.model_copy(update={"features": "shipped"}),)).find_similar("p", *form) is not None


@pytest.mark.parametrize("suite", ["mbench-a", "mbench-t", "revisit"])
def test_cards_with_true_features_and_as_shipped_have_the_protocol_of_the_installed_metric(suite, tmp_path):
    known = {card.chain_sha256: card for card in shipped_cards().cards}
    dataset, found = Dataset(suite="revisit", root=tmp_path, rollouts=()), set()
    protocol = None if suite == "revisit" else "corrected"
    needed = {
        name for bound in bind_metrics(dataset, [suite], protocol=protocol) for name in feature_names(bound.recipes)
    }
    true = {name: kind for name, kind in TRUE_EXTRACTORS.items() if name in needed}
    for using in ({}, {"poses": "tracked_poses"}, true):
        for bound in bind_metrics(dataset, [suite], protocol=protocol, using=using):
            if card := known.get(bound_chain(bound)[1]):
                assert card.protocol_sha256 == bound_protocol(bound)
                found.add(card.features)
    assert found == {"shipped", "truth"}


def test_the_share_of_the_extractors_is_what_a_perfect_memory_loses(cards):
    card = cards[0]
    floor = card.floor
    better = floor.model_copy(update={"score": floor.score.model_copy(update={"mean": floor.score.mean + 0.1})})
    assert card.extractors_share is None
    assert card.model_copy(update={"truth_floor": better}).extractors_share == pytest.approx(0.1)
