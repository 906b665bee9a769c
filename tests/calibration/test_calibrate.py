from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from lookaway.calibration.calibrate import CalibrationPlan, calibrate, cards_of_run, joined, with_changes
from lookaway.calibration.card import CARDS, FIGURES, CardSet, read_cards
from lookaway.core import JudgeModel, MetricBase, Outcome, Score, UnknownName, UserError
from lookaway.engine.evaluate import evaluate
from lookaway.engine.inline import Inline
from lookaway.engine.reading import read
from lookaway.judges.oracle import OracleServer
from lookaway.judges.server import Connection
from lookaway.judges.settings import JudgeSettings
from lookaway.perception.truth import TRUTH
from lookaway.world.grid import Grid
from tests.support.command import lookaway
from tests.support.rendered import copy_small
from tests.support.world import FORM

pytestmark = pytest.mark.render

CHOSEN = ("frozen", "wrong_scene", "crf35")
GRID = Grid(
    families=("playroom", "kitchen"), events=("none",), cameras=("yaw_right_60",), seeds=(0,),
    faults=("lighting_shift",), severities=(0.5, 1.0),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class LastLight(MetricBase):
    """Lightness of the end against the start: needs no weights, and is blind to a frozen video."""

    name = "last_light"
    range = (0.0, None)
    needs = ("lab_means",)
    higher_is_better = False

    def measure(self, rollout, features) -> Outcome:
        lightness = features["lab_means"]["lab"][:, 0]
        return Score(abs(float(lightness[-1] - lightness[0])))


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Path:
    return copy_small(
        tmp_path_factory.mktemp("calibration") / "world", families=GRID.families, events=GRID.events,
        faults=GRID.faults, severities=GRID.severities,
    )  # fmt: skip


@pytest.fixture(scope="module")
def cards(world, tmp_path_factory) -> CardSet:
    folder = tmp_path_factory.mktemp("cards")
    dataset, labels = with_changes(read(world), CHOSEN, folder / "changed", Inline())
    run = evaluate(dataset, folder / "run", metrics=[LastLight()])
    return CardSet(tuple(cards_of_run(run, labels, folder)))


def test_a_run_on_the_world_gives_a_card_for_each_metric_without_gates(cards):
    (card,) = cards.cards
    assert (card.metric, card.height, card.width, card.fps) == ("last_light", 128, 224, 8)
    assert (card.scenes, card.families, card.features) == (2, ("kitchen", "playroom"), "shipped")
    assert card.clips == 2 * (1 + 2 + len(CHOSEN))
    assert card.chain == "lab_means=lab_means"


def test_the_light_is_found_at_its_realised_dose_and_a_frozen_video_wins(cards):
    (card,) = cards.cards
    (light,) = card.responses
    assert (light.fault, light.dose_unit) == ("lighting_shift", "stops")
    assert light.at(1.0).auc.mean == 1.0
    assert 0 < light.at(0.5).dose < light.at(1.0).dose
    assert card.is_won_by_frozen
    assert {control.name for control in card.controls} == {"reference", "frozen", "wrong_scene"}
    assert [nuisance.name for nuisance in card.nuisances] == ["crf35"]


def test_the_floor_of_true_features_goes_to_the_metric_that_compares_the_same_frames(cards):
    (card,) = cards.cards
    own, other, true = (
        card.model_copy(update={"chain_sha256": chain * 32, "protocol_sha256": protocol * 32, "features": features})
        for chain, protocol, features in (("a", "1", "shipped"), ("b", "2", "shipped"), ("c", "1", "truth"))
    )
    found = {card.chain_sha256[0]: card.truth_floor for card in joined([own, other], [true]).cards}
    assert found == {"a": card.floor, "b": None, "c": card.floor}


def test_a_metric_that_asks_the_oracle_finds_a_reset_event_and_its_card_says_it_read_the_truth(tmp_path):
    world = copy_small(
        tmp_path / "world", families=("playroom",), events=("in_place",), faults=("state_reset",), severities=(1.0,)
    )
    with OracleServer(world) as server:
        judge = JudgeSettings(model=JudgeModel(model="oracle"), connection=Connection(url=server.base_url))
        dataset, labels = with_changes(read(world), (), tmp_path / "changed", Inline())
        run = evaluate(dataset, tmp_path / "run", metrics=["mbencha.causal.state_progress"], judge=judge)
    (card,) = cards_of_run(run, labels, tmp_path)
    (reset,) = card.responses
    assert (reset.fault, reset.at(1.0).auc.mean, card.features) == ("state_reset", 1.0, "truth")


def test_a_world_without_a_clean_clip_is_refused(world, tmp_path):
    dataset = read(world)
    faulty = replace(dataset, rollouts=tuple(r for r in dataset.rollouts if r.model != "perfect"))
    with pytest.raises(UserError, match="no clip without a fault"):
        with_changes(faulty, (), tmp_path, Inline())


def test_a_single_scene_is_calibrated_without_a_wrong_scene(world, tmp_path):
    dataset = read(world, models=["perfect"], limit=1)
    found, _ = with_changes(dataset, ("wrong_scene", "frozen"), tmp_path, Inline())
    assert [rollout.model for rollout in found.rollouts] == ["perfect", "perfect+frozen"]


def test_only_the_changes_that_are_asked_for_are_measured_whatever_clips_are_there(world, tmp_path):
    dataset = read(world, models=["perfect"], limit=1)
    with_changes(dataset, ("frozen", "noise"), tmp_path, Inline())
    later, labels = with_changes(dataset, ("noise",), tmp_path, Inline())
    assert [rollout.model for rollout in later.rollouts] == ["perfect", "perfect+noise"]
    assert labels[later.rollouts[-1].id].name == "noise"


class _Counting(Inline):
    """Remembers what it was given to do."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[str] = []

    def map(self, make_worker, items, **options):
        items = list(items)
        self.given += [f"{rollout.model}+{change.name}" for rollout, change, _ in items]
        return super().map(make_worker, items, **options)


def test_workers_make_the_changed_clips_that_are_not_there_and_no_others(world, tmp_path):
    dataset, workers = read(world, models=["perfect"], limit=1), _Counting()
    with_changes(dataset, ("frozen",), tmp_path, workers)
    with_changes(dataset, ("frozen", "noise"), tmp_path, workers)
    assert workers.given == ["perfect+frozen", "perfect+noise"]


def test_a_changed_clip_that_a_worker_left_half_made_is_made(world, tmp_path):
    dataset = read(world, models=["perfect"], limit=1)
    found, _ = with_changes(dataset, ("reversed",), tmp_path, Inline())
    truth = found.rollouts[-1].artifacts[TRUTH]
    truth.unlink()
    with_changes(dataset, ("reversed",), tmp_path, Inline())
    assert truth.is_file()


def test_a_misspelt_change_is_refused_before_anything_is_rendered():
    with pytest.raises(UnknownName, match="Did you mean 'frozen'"):
        CalibrationPlan(grid=GRID, form=FORM, changes=("frosen",))


def test_the_oracle_is_not_asked_about_frames_that_it_cannot_know():
    with pytest.raises(UserError, match=r"the truth about noise, wrong_scene\. .* frozen, reversed"):
        CalibrationPlan(grid=GRID, form=FORM, changes=("frozen", "noise", "wrong_scene"), judge="oracle")
    with pytest.raises(UserError, match="under the look generator_like it takes some for others"):
        CalibrationPlan(grid=GRID, form=FORM, changes=("frozen",), judge="oracle", look="generator_like")


def test_a_second_judge_beside_the_oracle_is_refused(tmp_path):
    made = lookaway("calibrate", "-o", tmp_path / "cards", "--oracle", "--judge-model", "another")
    assert made.code == 2
    assert "the judge 'another' as well. Leave one out" in made.err
    assert not (tmp_path / "cards").exists()


@pytest.mark.merge
def test_the_oracle_shows_which_answers_of_a_judge_a_frozen_video_wins(tmp_path):
    form = ("--size", "128x224", "--fps", 8, "--seconds", 2, "--families", "playroom", "--events", "in_place")
    asked = ("wrbench.d3.visible_spatial", "wrbench.d4.visible_state")
    made = lookaway("calibrate", "-o", tmp_path, "--oracle", "--metrics", ",".join(asked), "--faults", "", *form)
    assert made.code == 0, made.err
    verdicts = {
        card.metric: {control.name: control.verdict for control in card.controls} for card in read_cards(tmp_path).cards
    }
    assert [verdicts[metric]["frozen"] for metric in asked] == ["wins", "loses"]
    assert set(verdicts[asked[0]]) == {"reference", "frozen", "reversed", "shuffled", "loop"}


@pytest.mark.merge
def test_a_calibration_is_resumed_and_adds_to_the_cards_that_are_there(tmp_path):
    plan = CalibrationPlan(
        grid=replace(GRID, families=("playroom",)),
        form=replace(FORM, wait=1.0),
        metrics=("light",),
        changes=("frozen",),
    )
    first = calibrate(plan, tmp_path)
    before = (tmp_path / CARDS).read_bytes()
    rendered = {path: path.stat().st_mtime_ns for path in tmp_path.glob("worlds/*/clips/*/*/*/video.mp4")}
    assert calibrate(plan, tmp_path) == first
    assert (tmp_path / CARDS).read_bytes() == before
    assert {path: path.stat().st_mtime_ns for path in rendered} == rendered
    more = calibrate(replace(plan, metrics=("look",)), tmp_path)
    assert {card.metric for card in more.cards} == {"light", "look"}
    assert (tmp_path / FIGURES).is_file()
    clean = replace(plan, grid=replace(plan.grid, faults=(), severities=()), metrics=("cut",))
    (card,) = (card for card in calibrate(clean, tmp_path).cards if card.metric == "cut")
    assert card.responses == (), "clips that lie there and were not asked for are not measured"


@pytest.mark.merge
def test_the_command_writes_cards_that_lists_of_metrics_show(tmp_path):
    small = ("--size", "128x224", "--fps", 8, "--seconds", 2)
    chosen = ("--families", "playroom", "--faults", "lighting_shift", "--severities", "1", "--changes", "frozen")
    made = lookaway("calibrate", "-o", tmp_path, "--metrics", "light", *chosen, *small, "--json")
    assert made.code == 0, made.err
    assert [row["metric"] for row in made.json] == ["light"]
    assert read_cards(tmp_path).cards[0].metric == "light"
    rows = lookaway("metrics", "--suite", "revisit", "--cards", tmp_path, *small[:4], "--json").json
    lines = {row["metric"]: row["sees"] for row in rows}
    assert "lighting_shift" in lines["light"] or "no score" in lines["light"]
    assert lines["cut"] == "no card"
    rows = lookaway("metrics", "--suite", "revisit", "--cards", tmp_path, "--json").json
    assert {row["sees"] for row in rows} == {"no card", "no card for this size and rate"}
