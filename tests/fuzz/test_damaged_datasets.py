from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import lookaway
from lookaway.core import BoundMetric, Dataset, Reason, UserError
from lookaway.engine.binding import bind_metrics
from lookaway.engine.coverage import coverage
from lookaway.perception.poses.sift_matches import SiftMatches
from tests.fuzz.damage import Damage, all_damage
from tests.support.runs import events, outcomes, outcomes_on_disk

DAMAGE = all_damage()
FEWEST, SECONDS_EACH = 300, 20
EVERY_PUSH, BEFORE_A_MERGE = 16, 4
"""One of so many is tried in the first tier and in the second."""
REASONS = {reason.value for reason in Reason}


@pytest.fixture(scope="module")
def found() -> Iterator[Counter[str]]:
    """How every measurement of every damaged dataset ended; printed when all are done."""
    counts: Counter[str] = Counter()
    yield counts
    print(f"\n{len(DAMAGE)} damaged datasets:", dict(counts.most_common()))


@pytest.fixture(autouse=True)
def small_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Match points at the size of the clips: enlarging them would take seconds and find nothing more."""

    def at_native_size(**fields: object) -> SiftMatches:
        return SiftMatches(**{**fields, "height": 48})  # type: ignore[arg-type]

    for suite in ("mbench.protocol", "folder.suite"):
        monkeypatch.setattr(f"lookaway.suites.{suite}.SiftMatches", at_native_size)


def test_there_are_enough_ways_to_damage_a_dataset_and_no_two_of_one_name():
    assert len(DAMAGE) >= FEWEST
    assert len({damage.name for damage in DAMAGE}) == len(DAMAGE)


def test_an_undamaged_dataset_is_scored_wholly(tmp_path):
    DAMAGE[0].make(tmp_path / "dataset")
    metrics = ["spatial_epipolar", "spatial_reprojection", "rendering_lighting", "camera_interaction"]
    lookaway.evaluate(tmp_path / "dataset", tmp_path / "run", metrics=metrics)
    assert {row["status"] for row in outcomes(tmp_path / "run").values()} == {"score"}
    assert len(outcomes(tmp_path / "run")) == 5  # with the gate


def _in_its_tier(number: int) -> object:
    damage = DAMAGE[number]
    tier = "nightly" if number % BEFORE_A_MERGE else "merge" if number % EVERY_PUSH else ""
    return pytest.param(damage, marks=getattr(pytest.mark, tier) if tier else (), id=damage.name[:60])


@pytest.mark.timeout(60)
@pytest.mark.parametrize("damage", [_in_its_tier(number) for number in range(len(DAMAGE))])
def test_a_damaged_dataset_is_scored_or_says_why_not(damage: Damage, tmp_path, monkeypatch, found):
    monkeypatch.chdir(tmp_path)
    root = tmp_path / "dataset"
    damage.make(root)
    damage.apply(root)
    started = time.perf_counter()
    found.update(ends(root, tmp_path / "run", damage.metrics, damage.suite))
    assert time.perf_counter() - started < SECONDS_EACH
    assert not list(tmp_path.rglob("pickle-was-loaded"))


def ends(root: Path, run: Path, names: tuple[str, ...] | None, suite: str | None) -> list[str]:
    """How every measurement ended: a score or the reason why not; or that the dataset was refused as a whole."""
    try:
        dataset = lookaway.read(root, suite=suite)
    except UserError:
        return ["refused"]
    metrics = bind_metrics(dataset, names)
    declined = reasons_without_measuring(dataset, metrics)
    if not dataset.rollouts:
        with pytest.raises(UserError, match="nothing to measure"):
            lookaway.evaluate(dataset, run, metrics=names)
        return ["without rollouts"]
    lookaway.evaluate(dataset, run, metrics=names)
    rows = outcomes_on_disk(run)
    asked = {(r.id, bound.name) for r in dataset.rollouts for bound in metrics if bound.applies_to(r)}
    assert rows.keys() == asked
    assert {row["status"] for row in rows.values()} <= {"score", "abstention"}, [
        event["failures"] for event in events(run)
    ]
    reasons = [row["reason"] for row in rows.values() if row["status"] == "abstention"]
    assert set(reasons) <= REASONS
    assert not declined - Counter(reasons)
    return [row["reason"] or "score" for row in rows.values()]


def reasons_without_measuring(dataset: Dataset, metrics: tuple[BoundMetric, ...]) -> Counter[str]:
    """The reasons that coverage gives; whatever cannot run must not turn out to run."""
    looked = [coverage(dataset, metrics, open_videos=is_open) for is_open in (False, True)]
    without, opened = (Counter(reason for cell in cells for reason in cell.reasons) for cells in looked)
    assert set(without) | set(opened) <= REASONS
    return without
