from __future__ import annotations

from dataclasses import replace

import pytest

from lookaway.core import Abstention, Failure, Reason, Score, Unit
from lookaway.store.outcome_reader import AskedMetric, FrameUnits, OutcomeReader
from lookaway.store.run_folder import RunFolder
from tests.store.rows import ASKED, measured, rollout, start_run


def framed(*values: float) -> Score:
    return Score(0.5, units=tuple(Unit(f"f{frame}", Score(value)) for frame, value in enumerate(values)))


def told(units: FrameUnits) -> set[tuple[str, str, str, int, float]]:
    """Model, subset, scene, frame and value of every row."""
    rows = zip(units.rollouts.tolist(), units.frames.tolist(), units.values.tolist(), strict=True)
    found = [(units.models[n], units.subsets[n], units.scenes[n], frame, value) for n, frame, value in rows]
    assert len(set(found)) == len(found)
    return set(found)


def frames(folder: RunFolder) -> set[tuple[str, str, str, int, float]]:
    return told(OutcomeReader(folder, [ASKED]).frames("light"))


def test_every_value_comes_with_its_own_frame_and_rollout(tmp_path):
    first, second = rollout("b", model="alpha"), rollout("a", model="beta", subset="other")
    folder = start_run(tmp_path, first, second)
    folder.add([measured(framed(0.1, 0.2), first)])
    folder.add([measured(framed(0.3), second)])
    assert frames(folder) == {
        ("alpha", "all", "b", 0, 0.1),
        ("alpha", "all", "b", 1, 0.2),
        ("beta", "other", "a", 0, 0.3),
    }


def test_frames_are_numbers_and_not_text(tmp_path):
    folder = start_run(tmp_path)
    folder.add(
        [measured(Score(0.5, units=(Unit("f9", Score(0.1)), Unit("f10", Score(0.2)), Unit("f007", Score(0.3)))))]
    )
    units = OutcomeReader(folder, [ASKED]).frames("light")
    assert (units.frames.dtype, units.values.dtype, units.rollouts.dtype) == ("int64", "float64", "int64")
    assert sorted(units.frames.tolist()) == [7, 9, 10]


@pytest.mark.parametrize("name", ["f0_f9", "phase1", "f", "g3", "f1 ", "F1", "f-1", "f1.5", "f1234567890", "xf1"])
def test_units_that_are_no_single_frames_are_left_out(name, tmp_path):
    folder = start_run(tmp_path)
    folder.add([measured(Score(0.5, units=(Unit(name, Score(0.25)),)))])
    assert frames(folder) == set()
    assert OutcomeReader(folder, [ASKED]).metrics_with_frames() == []


def test_frames_without_a_value_and_measurements_without_a_score_are_left_out(tmp_path):
    folder = start_run(tmp_path, rollout("a"), rollout("b"), rollout("c"))
    no = Abstention(Reason.TOO_SHORT, "no")
    folder.add([measured(Score(0.5, units=(Unit("f0", no), Unit("f1", Score(0.25)))), rollout("b"))])
    folder.add([measured(replace(no, units=(Unit("f0", Score(0.75)),)), rollout("a"))])
    folder.add([measured(Failure("KeyError", ""), rollout("c"))])
    assert frames(folder) == {("alpha", "all", "b", 1, 0.25)}


def test_a_metric_that_scores_no_rollout_has_no_frames(tmp_path):
    folder = start_run(tmp_path)
    folder.add([measured(Abstention(Reason.TOO_SHORT, "no", units=(Unit("f0", Score(0.75)),)))])
    assert OutcomeReader(folder, [ASKED]).metrics_with_frames() == []


def test_one_measurement_in_two_files_counts_once(tmp_path):
    folder = start_run(tmp_path)
    part = folder.add([measured(framed(0.1, 0.2))])
    (folder.outcomes / "compact-again.parquet").write_bytes(part.read_bytes())
    assert len(frames(folder)) == 2


@pytest.mark.parametrize("field", ["rollout", "content", "metric", "lock"])
def test_frames_of_another_key_do_not_count(field, tmp_path):
    folder = start_run(tmp_path)
    folder.add([replace(measured(framed(0.1)), **{field: "other"})])
    assert frames(folder) == set()
    assert OutcomeReader(folder, [ASKED]).metrics_with_frames() == []


def test_frames_are_found_again_where_files_were_compacted_since(tmp_path):
    folder = start_run(tmp_path, rollout("a"), rollout("b"))
    for name in ("a", "b"):
        folder.add([measured(framed(0.1), rollout(name))])
    before, reader = OutcomeReader(folder, [ASKED]), OutcomeReader(folder, [ASKED])
    folder.compact()
    assert len(told(before.frames("light"))) == 2
    assert reader.metrics_with_frames() == ["light"]


def test_metrics_with_frames_come_in_the_order_of_the_protocol(tmp_path):
    folder = start_run(tmp_path)
    names = ["sharpness", "light", "pairs", "colour"]
    pairs = Score(0.5, units=(Unit("f0_f1", Score(0.5)),))
    folder.add([measured(pairs if name == "pairs" else framed(0.1), metric=name) for name in names])
    asked = [AskedMetric(name=name, lock="lock", subsets=None) for name in names]
    assert OutcomeReader(folder, asked).metrics_with_frames() == ["sharpness", "light", "colour"]
    assert told(OutcomeReader(folder, asked).frames("pairs")) == set()


def test_a_run_without_rows_has_no_frames(tmp_path):
    reader = OutcomeReader(start_run(tmp_path), [ASKED])
    assert (reader.metrics_with_frames(), told(reader.frames("light"))) == ([], set())
