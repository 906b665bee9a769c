from __future__ import annotations

from xml.etree import ElementTree

import pytest

from lookaway.calibration.card import MeanRecord, MetricCard, Nuisance
from lookaway.calibration.run_cards import shipped_cards
from lookaway.reports.charts.card_matrix import DIFFERS, FOUND, MISSED, card_matrix
from lookaway.reports.judged_guide import judged_parts
from lookaway.reports.metric_facts import is_recommended, won_by
from lookaway.reports.metric_guide import (
    GUIDE,
    HELD_OUT,
    MATRIX,
    SIDEWAYS,
    guide_cards,
    guide_markdown,
    needs_of,
    seconds_of,
    write_guide,
)
from tests.calibration.planted import card_of, prefers_frozen, reacts_to_everything, reacts_to_nothing


def planted(metric: str, score: object) -> MetricCard:
    """A card whose faults are all there to be found by its metric."""
    card = card_of(score).model_copy(update={"metric": metric})
    faults = tuple(response.model_copy(update={"role": "must_find"}) for response in card.responses)
    return card.model_copy(update={"responses": faults})


def with_exact_floor(card: MetricCard) -> MetricCard:
    """Clean clips all score the same, as those that are compared with themselves do."""
    return card.model_copy(update={"floor": card.floor.model_copy(update={"spread": 0.0})})


@pytest.fixture(scope="module")
def cards() -> list[MetricCard]:
    found = {"blind": reacts_to_nothing, "jumpy": reacts_to_everything, "still": prefers_frozen}
    return [planted(name, score) for name, score in found.items()]


def row_of(page: str, start: str) -> str:
    (row,) = (line for line in page.splitlines() if line.startswith(f"| `{start}`") and "scenes" not in line)
    return row


def test_a_metric_that_a_frozen_video_wins_is_never_recommended(cards):
    blind, jumpy, still = cards
    assert won_by(still) == ["frozen"]
    assert not any(is_recommended(still, response) for response in still.responses)
    assert all(is_recommended(jumpy, response) for response in jumpy.responses)
    assert not any(is_recommended(blind, response) for response in blind.responses)


def test_the_guide_says_what_finds_a_fault_and_what_a_metric_misses(cards):
    page = guide_markdown(cards)
    fault, _, metric, _ = (part for part in page.split("\n## ")[1:])
    assert "`jumpy`: 1.00 at 1, 1.00 at 0.5" in row_of(fault, "vanish")
    assert row_of(fault, "vanish").endswith("| `still` |")
    assert "| vanish, teleport, lighting_shift |" in row_of(metric, "blind")
    assert row_of(metric, "still").endswith("| frozen, reversed |")


def test_the_guide_says_how_many_scenes_each_figure_has(cards):
    assert "| `teleport` | 20 | 20 | 20 |" in guide_markdown(cards)


def nuisance(name: str, change: float, **declined: int) -> Nuisance:
    moved = MeanRecord(mean=change, low=None, high=None, scored=20, scenes=20)
    return Nuisance(name=name, largest=abs(change), change=moved, declined=declined)


def test_the_guide_names_what_moves_a_recommended_metric_more_than_two_models_may_differ(cards):
    least = cards[1].smallest_difference
    changes = (nuisance("crf35", -2 * least - 0.1), nuisance("grain", least / 2, pose_failed=3), nuisance("blur", 0.0))
    page = guide_markdown([card.model_copy(update={"nuisances": changes}) for card in cards])
    (section,) = (part for part in page.split("\n## ") if part.startswith("What should not move it"))
    assert row_of(section, "jumpy").startswith("| `jumpy` | 2 of 3 | `crf35` (-")
    assert row_of(section, "jumpy").endswith("| `grain` 3 |")
    assert "`blind`" not in section, "nobody is told to use it"


def test_metrics_that_compare_with_the_reference_video_are_set_apart(cards):
    compared = with_exact_floor(cards[1]).model_copy(update={"chain": "fidelity=luma_fidelity, phases=phases"})
    assert "compare a clip with the reference video" in guide_markdown([compared])
    drawn, alone = str(card_matrix([compared], "t")), str(card_matrix(cards[1:2], "t"))
    assert (drawn.count(FOUND), drawn.count(DIFFERS)) == (1, 4), "the legend has one of each"
    assert (alone.count(FOUND), alone.count(DIFFERS)) == (4, 1)


def test_the_matrix_is_valid_and_has_a_cell_for_each_metric_and_fault(cards):
    root = ElementTree.fromstring(str(card_matrix(cards, "What is found")))
    texts = [node.text for node in root.iter() if node.tag.endswith("text")]
    assert texts.count("1.00") >= 3
    assert "frozen wins" in texts
    colours = [node.get("fill") for node in root.iter() if node.tag.endswith("rect")]
    assert colours.count(MISSED) >= 3


def test_a_narrow_strip_shows_what_true_poses_would_find(cards):
    blind, jumpy, _ = cards
    perceived = blind.model_copy(update={"metric": "jumpy"})
    drawn = str(card_matrix([perceived], "t", [jumpy.model_copy(update={"features": "truth"})]))
    assert drawn.count(FOUND) == 1 + len(jumpy.responses), "the legend has one"
    assert "narrow part" in drawn
    assert "narrow part" not in str(card_matrix([perceived], "t"))


def test_true_features_of_a_metric_that_compares_other_frames_are_not_shown_beside_it(cards, tmp_path):
    blind, jumpy, still = cards
    true = blind.model_copy(update={"metric": "jumpy", "features": "truth"})
    write_guide(tmp_path, [blind, jumpy, still, true.model_copy(update={"protocol_sha256": "b" * 32})])
    assert "true features |" not in (tmp_path / GUIDE).read_text().split("## By metric")[0]
    assert "narrow part" not in (tmp_path / MATRIX).read_text()
    write_guide(tmp_path, [blind, jumpy, still, true])
    assert "| `vanish` | `jumpy` | 1.00 / 1.00 | 0.53 / 0.62 |" in (tmp_path / GUIDE).read_text()
    assert "narrow part" in (tmp_path / MATRIX).read_text()


def test_the_guide_is_about_the_form_of_which_most_clips_were_measured(cards):
    small = [card.model_copy(update={"height": 96, "width": 160, "clips": 1}) for card in cards]
    assert {card.height for card in guide_cards([*small, *cards])} == {cards[0].height}
    many = [card.model_copy(update={"clips": 10_000}) for card in small]
    assert {card.height for card in guide_cards([*many, *cards])} == {96}


def test_a_metric_is_in_the_guide_once_with_poses_that_are_estimated(cards):
    supplied, tracked = (
        cards[0].model_copy(update={"chain": f"poses={name}"}) for name in ("supplied_poses", "tracked_poses")
    )
    assert guide_cards([tracked, supplied]) == guide_cards([supplied, tracked]) == [tracked]


def test_the_guide_shows_recommended_metrics_at_other_sizes_looks_scenes_and_paths(cards, tmp_path):
    blind, jumpy, _ = cards
    at_other_size = blind.model_copy(update={"metric": "jumpy", "height": 96, "width": 160, "clips": 1})
    grainy = jumpy.model_copy(update={"look": "generator_like"})
    declining = jumpy.model_copy(update={"floor": None, "responses": ()})
    write_guide(tmp_path, [*cards, at_other_size, grainy], others={HELD_OUT: [jumpy], SIDEWAYS: [declining]})
    section = (tmp_path / GUIDE).read_text().split("\n## ")[2]
    header, _, *rows = (line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("|"))
    assert header[3:] == ["96x160 at 12", "generator-like look", "held-out families", "sideways path"]
    assert rows[0][2:] == ["1.00 / 1.00", "0.53 / 0.62", "1.00 / 1.00", "1.00 / 1.00", "declines"]


def test_the_guide_says_what_a_judge_that_knows_the_truth_finds_of_an_event(cards, tmp_path):
    reset = cards[1].responses[0].model_copy(update={"fault": "state_reset"})
    judged = cards[1].model_copy(update={"metric": "progress", "features": "truth", "responses": (reset,)})
    smaller = judged.model_copy(update={"height": 192, "width": 336, "fps": 8})
    write_guide(tmp_path, [*cards, judged, smaller])
    page = (tmp_path / GUIDE).read_text()
    assert "| metric | finds | declines | won by |" in page
    assert row_of(page, "progress") == "| `progress` | state_reset | - | - |"
    assert "on 20 scenes with an event, at 192x336 and 8 frames per second" in page
    assert "At 256x448 and 12 frames per second they find the same." in page


def test_the_guide_says_which_metrics_that_ask_a_judge_a_frozen_video_wins(cards):
    judged = [card.model_copy(update={"responses": (), "features": "truth"}) for card in cards]
    judged[0] = judged[0].model_copy(update={"controls": judged[0].controls[:1]})
    page = "\n".join(judged_parts(judged))
    cells = {name: row_of(page, name).rstrip(" |").rsplit(" | ", 1)[1] for name in ("blind", "jumpy", "still")}
    assert cells == {"blind": "not measured", "jumpy": "-", "still": "frozen, reversed"}


def test_the_guide_says_what_a_judge_finds_otherwise_at_another_size(cards):
    response = cards[1].responses[0]
    own = tuple(response.model_copy(update={"fault": fault}) for fault in ("state_reset", "teleport", "vanish"))
    here = cards[1].model_copy(update={"metric": "place", "responses": own})
    weaker = (*own[:2], cards[0].responses[0].model_copy(update={"fault": "vanish"}))
    larger = here.model_copy(update={"height": 512, "width": 896})
    events = larger.model_copy(update={"responses": own[:1]})
    last = [
        list(judged_parts([here, other]))[-1]
        for other in (larger.model_copy(update={"responses": weaker}), larger, events)
    ]
    assert last == [
        "At 512x896 and 12 frames per second `place` misses `vanish`. All else is the same.",
        "At 512x896 and 12 frames per second they find the same.",
        "At 512x896 and 12 frames per second, where 1 of 3 faults were tried, they find the same.",
    ]


def test_the_guide_says_which_faults_of_pixels_a_judge_finds_and_which_metrics_decline_them(cards, tmp_path):
    found = cards[1].responses[0].model_copy(update={"fault": "teleport"})
    missed = cards[0].responses[0].model_copy(update={"fault": "style_shift"})
    points = [point.model_copy(update={"auc": None, "score": None}) for point in found.points]
    declined = found.model_copy(update={"fault": "vanish", "points": tuple(points)})
    weak = {0.5: cards[0].responses[0].at(0.5)}
    late = found.model_copy(
        update={"fault": "duplicate", "points": tuple(weak.get(point.severity, point) for point in found.points)}
    )
    reset = found.model_copy(update={"fault": "state_reset"})
    update = {"metric": "place", "features": "truth", "responses": (reset, found, missed, declined, late)}
    write_guide(tmp_path, [*cards, cards[1].model_copy(update=update)])
    page = (tmp_path / GUIDE).read_text()
    assert row_of(page, "place") == "| `place` | state_reset, teleport, duplicate (only at 1) | vanish | - |"
    assert "None of them finds `style_shift`." in page


def test_the_guide_shows_the_floor_that_true_features_would_have(cards):
    floor = cards[1].floor
    better = floor.model_copy(update={"score": floor.score.model_copy(update={"mean": 0.987})})
    page = guide_markdown([cards[0], cards[1].model_copy(update={"truth_floor": better})])
    metric = page.split("\n## ")[3]
    assert [row_of(metric, name).split(" | ")[4] for name in ("jumpy", "blind")] == ["0.987", "-"]


def test_a_metric_that_runs_with_true_features_only_has_a_table_of_its_own(cards, tmp_path):
    true = [card.model_copy(update={"features": "truth"}) for card in cards]
    write_guide(tmp_path, [*cards[1:], *true])
    first, section = (tmp_path / GUIDE).read_text().split("## With true features only")
    rows = [line for line in section.split("\n## ")[0].splitlines() if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == ["blind"]
    assert "vanish, teleport, lighting_shift" in rows[0], "what it misses"
    assert "`blind`" not in first
    write_guide(tmp_path, [*cards, *true])
    assert "With true features only" not in (tmp_path / GUIDE).read_text()


def test_truth_fed_cards_are_not_in_the_guide(cards, tmp_path):
    write_guide(tmp_path, [card.model_copy(update={"features": "truth"}) for card in cards])
    assert not list(tmp_path.iterdir())


def test_the_guide_says_in_words_what_a_metric_needs_and_what_it_costs(cards):
    chains = {
        "changes=revisit_changes": "nothing else",
        "fidelity=luma_fidelity, phases=phases": "a reference video, when the target is in view",
        "poses=tracked_poses, requested_poses=true_requested_poses": "the requested path",
    }
    found = [with_exact_floor(cards[0]).model_copy(update={"chain": chain}) for chain in chains]
    assert [needs_of(card) for card in found] == list(chains.values())
    changes, fidelity, camera = map(seconds_of, found)
    assert fidelity < camera < changes, "changes are looked for along tracked poses"


def test_frames_of_the_way_back_need_no_reference_video_though_the_same_extractor_compares_them():
    known = {card.metric: card for card in guide_cards(shipped_cards().cards)}
    mirrored, referred = known["mind.corrected.gsc.psnr"], known["mind.corrected.lcm.psnr"]
    assert mirrored.chain == referred.chain
    assert (mirrored.compares_with_reference, needs_of(mirrored)) == (False, "nothing else")
    assert (referred.compares_with_reference, needs_of(referred)) == (True, "a reference video")
    assert "frozen" in won_by(mirrored)


def test_of_two_samplings_of_one_metric_the_one_that_finds_more_is_shown(cards):
    blind, jumpy, _ = (card.model_copy(update={"metric": "one"}) for card in cards)
    assert guide_cards([jumpy, blind]) == guide_cards([blind, jumpy]) == [jumpy]
