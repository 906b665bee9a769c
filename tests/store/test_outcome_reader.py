from __future__ import annotations

import os
import signal
import struct
import threading
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lookaway.core import Abstention, Failure, Reason, RunError, Score, Unit
from lookaway.store import outcome_reader
from lookaway.store.outcome_reader import AskedMetric, OutcomeReader
from lookaway.store.run_folder import RunFolder, rollout_rows
from tests.store.rows import ASKED, measured, rollout, score, start_run


def read(folder: RunFolder, *metrics: AskedMetric) -> OutcomeReader:
    return OutcomeReader(folder, metrics or (ASKED,))


def test_a_score_comes_back_with_all_it_holds(tmp_path):
    folder = start_run(tmp_path)
    units = (
        Unit("f0_f9", Score(0.25, raw=1.5, detail={"matches": 8})),
        Unit("f1_f8", Abstention(Reason.TOO_SHORT, "no")),
    )
    folder.add([measured(Score(0.5, raw=0.7, units=units, detail={"pairs": "fold", "größe": None}))])
    (item,) = read(folder).items()
    assert (item["rollout"], item["status"], item["value"], item["raw"]) == ("alpha/case/0", "score", 0.5, 0.7)
    assert item["detail"] == '{"größe":null,"pairs":"fold"}'
    first, second = read(folder).units("light")
    assert (first["unit"], first["value"], first["raw"], first["detail"]) == ("f0_f9", 0.25, 1.5, '{"matches":8}')
    assert (second["unit"], second["status"], second["reason"], second["value"]) == (
        "f1_f8",
        "abstention",
        "too_short",
        None,
    )


@pytest.mark.parametrize("value", [0.1 + 0.2, 1e-300, -0.0, 5e-324, 1.7976931348623157e308])
def test_numbers_come_back_bit_for_bit(value, tmp_path):
    folder = start_run(tmp_path)
    folder.add([measured(Score(value))])
    (item,) = read(folder).items()
    assert item["value"].hex() == value.hex()


@pytest.mark.parametrize("column", ["value", "raw"])
@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_score_that_is_not_finite_is_refused_with_its_file(column, number, tmp_path):
    folder = start_run(tmp_path)
    folder.add([measured(Score(0.5, raw=0.5))])
    path = spoil(folder, 0, column, number)
    with pytest.raises(RunError, match=r"a score of light is not a finite number\. Delete") as raised:
        read(folder)
    assert str(raised.value).startswith(f"{path}: ")


def test_a_score_without_a_number_is_refused(tmp_path):
    folder = start_run(tmp_path)
    folder.add([measured(Score(0.5))])
    spoil(folder, 0, "value", None)
    with pytest.raises(RunError, match="is not a finite number"):
        read(folder)


def test_a_unit_that_is_not_finite_is_refused_where_units_are_read(tmp_path):
    folder = start_run(tmp_path)
    folder.add([measured(Score(0.5, units=(Unit("f0", Score(0.1)), Unit("f1", Score(0.2)))))])
    spoil(folder, 2, "value", float("nan"))
    reader = read(folder)
    assert len(list(reader.items())) == 1
    with pytest.raises(RunError, match="is not a finite number"):
        list(reader.units("light"))
    with pytest.raises(RunError, match="is not a finite number"):
        reader.frames("light")


def spoil(folder: RunFolder, row: int, column: str, value: float | None) -> Path:
    """Replace a number in the one file of a run, which then has no hash in its name."""
    (path,) = folder.parts()
    table = pq.read_table(path)
    values = table[column].to_pylist()
    values[row] = value
    index = table.schema.get_field_index(column)
    path.unlink()
    path = path.with_name("received.parquet")
    pq.write_table(table.set_column(index, table.schema.field(column), pa.array(values, pa.float64())), path)
    return path


def test_abstentions_and_failures_come_back_with_reason_and_message(tmp_path):
    folder = start_run(tmp_path, rollout("a"), rollout("b"))
    folder.add([measured(Abstention(Reason.POSE_FAILED, "NaN \ud800 in a pose"), rollout("a"))])
    folder.add([measured(Failure("KeyError", "'x'", "Traceback"), rollout("b"))])
    first, second = read(folder).items()
    assert (first["reason"], first["message"]) == ("pose_failed", "NaN \\ud800 in a pose")
    assert (second["reason"], second["message"]) == ("KeyError", "'x'")


def test_what_is_asked_but_not_measured_is_counted(tmp_path):
    folder = start_run(tmp_path, rollout("a"), rollout("b"), rollout("c"))
    folder.add([measured(score(0.5), rollout("a"))])
    folder.add([measured(Abstention(Reason.NO_TARGET, ""), rollout("b"))])
    (group,) = read(folder).groups()
    assert (group.asked, list(group.values), group.scenes) == (3, [0.5], ("a",))
    assert group.reasons == {"no_target": 1, "not_yet_measured": 1}


def test_a_run_without_rows_is_all_not_yet_measured(tmp_path):
    (group,) = read(start_run(tmp_path)).groups()
    assert group.reasons == {"not_yet_measured": 1}
    assert list(read(start_run(tmp_path)).items()) == []
    assert list(read(start_run(tmp_path)).units("light")) == []


def test_a_metric_is_asked_of_its_subsets_only(tmp_path):
    folder = start_run(tmp_path, rollout("a", subset="human"), rollout("b", subset="object"))
    (group,) = read(folder, AskedMetric(name="light", lock="lock", subsets=("human",))).groups()
    assert (group.subset, group.asked) == ("human", 1)


@pytest.mark.parametrize("field", ["rollout", "content", "metric", "lock"])
def test_rows_of_another_key_do_not_count(field, tmp_path):
    folder = start_run(tmp_path)
    folder.add([replace(measured(score(0.5)), **{field: "other"})])
    (group,) = read(folder).groups()
    assert len(group.values) == 0


def test_one_measurement_in_two_files_counts_once_with_its_units(tmp_path):
    folder = start_run(tmp_path)
    part = folder.add([measured(score(0.5, 0.25, 0.75))])
    (folder.outcomes / "compact-again.parquet").write_bytes(part.read_bytes())
    (group,) = read(folder).groups()
    assert list(group.values) == [0.5]
    assert len(list(read(folder).items())) == 1
    assert [unit["value"] for unit in read(folder).units("light")] == [0.25, 0.75]


@pytest.mark.parametrize("name", ["000.parquet", "zzz.parquet"])
@pytest.mark.parametrize("worse", [Abstention(Reason.NO_TARGET, ""), Failure("KeyError", "")])
def test_a_score_counts_before_anything_worse_of_the_same_key(name, worse, tmp_path):
    folder = start_run(tmp_path)
    folder.add([measured(score(0.5, 0.25))])
    folder.add([measured(worse)]).rename(folder.outcomes / name)
    (item,) = read(folder).items()
    assert item["status"] == "score"
    assert read(folder).finished() == {("alpha/case/0", "light")}
    assert [unit["value"] for unit in read(folder).units("light")] == [0.25]


def test_failures_are_not_finished_and_abstentions_are(tmp_path):
    folder = start_run(tmp_path, rollout("a"), rollout("b"))
    folder.add([measured(Failure("KeyError", ""), rollout("a"))])
    folder.add([measured(Abstention(Reason.NO_TARGET, ""), rollout("b"))])
    assert read(folder).finished() == {("alpha/b/0", "light")}


def test_rollouts_may_be_given_instead_of_those_of_the_folder(tmp_path):
    folder = start_run(tmp_path, rollout("a"))
    folder.add([measured(score(0.5), rollout("a"))])
    asked = rollout_rows([(rollout("a"), "other content"), (rollout("b"), "content")])
    assert OutcomeReader(folder, [ASKED], asked).finished() == set()


def test_files_that_are_compacted_while_they_are_listed_are_found_again(tmp_path, monkeypatch):
    folder = start_run(tmp_path, rollout("a"), rollout("b"))
    for name in ("a", "b"):
        folder.add([measured(score(0.5), rollout(name))])
    parts, listed = RunFolder.parts, []

    def compacted_just_after(asked):
        found = parts(asked)
        listed.append(found)
        if len(listed) == 1:
            asked.compact()
        return found

    monkeypatch.setattr(RunFolder, "parts", compacted_just_after)
    (group,) = read(folder).groups()
    assert list(group.values) == [0.5, 0.5]


def test_a_file_that_another_writer_puts_back_under_its_name_is_not_called_damaged(tmp_path, monkeypatch):
    folder = start_run(tmp_path, rollout("a"))
    folder.add([measured(score(0.5), rollout("a"))])
    (part,) = folder.parts()
    read_items, tries = OutcomeReader._read_items, []

    def gone_at_first(reader):
        away = part.with_suffix(".away")
        tries.append(reader)
        if len(tries) == 1:
            monkeypatch.setattr(RunFolder, "parts", lambda asked: [part])
            part.rename(away)
        try:
            read_items(reader)
        finally:
            if len(tries) == 1:
                away.rename(part)

    monkeypatch.setattr(OutcomeReader, "_read_items", gone_at_first)
    (group,) = read(folder).groups()
    assert (list(group.values), len(tries)) == ([0.5], 2)


def test_units_are_found_again_where_files_were_compacted_since(tmp_path):
    folder = start_run(tmp_path, rollout("a"), rollout("b"))
    for name in ("a", "b"):
        folder.add([measured(score(0.5, 0.25), rollout(name))])
    reader = read(folder)
    folder.compact()
    assert [unit["value"] for unit in reader.units("light")] == [0.25, 0.25]


def test_control_c_in_the_middle_of_a_question_is_an_interrupt_and_not_an_error(tmp_path, monkeypatch):
    reader = read(start_run(tmp_path))
    monkeypatch.setattr(outcome_reader, "GROUPS", "SELECT count(*) FROM range(100000) a, range(100000) b")
    is_over = threading.Event()

    def press() -> None:
        # Again and again, as a person would: a signal that falls between two questions may be lost.
        while not is_over.wait(0.2):
            os.kill(os.getpid(), signal.SIGINT)

    pressing = threading.Thread(target=press)
    pressing.start()
    try:
        reader.groups()
        ended_by = None
    except (KeyboardInterrupt, Exception) as error:
        ended_by = error
    is_over.set()
    pressing.join()
    assert isinstance(ended_by, KeyboardInterrupt)


DAMAGE = {
    "cut": lambda content: content[:-20],
    "empty": lambda content: b"",
    "another column": lambda content: content.replace(b"reason", b"season"),
}


@pytest.mark.parametrize("has_hash", [True, False])
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_of_rows_is_left_out_kept_and_named_with_what_to_do(damage, has_hash, tmp_path, caplog):
    folder = start_run(tmp_path, rollout("a"), rollout("b"))
    part = folder.add([measured(score(0.5), rollout("a"))])
    folder.add([measured(score(0.25), rollout("b"))])
    if not has_hash:
        part = part.rename(part.with_name("old.parquet"))
    part.write_bytes(DAMAGE[damage](part.read_bytes()))
    (group,) = read(folder).groups()
    assert (list(group.values), group.reasons) == ([0.25], {"not_yet_measured": 1})
    (warning,) = caplog.messages
    assert part.name in warning
    assert "Run the same `lookaway eval` again" in warning
    assert part in folder.parts()


def test_a_flipped_bit_in_a_value_does_not_change_a_score(tmp_path, caplog):
    folder = start_run(tmp_path)
    part = folder.add([measured(score(0.7258))])
    content = bytearray(part.read_bytes())
    content[content.index(struct.pack("<d", 0.7258)) + 7] ^= 0x01
    part.write_bytes(content)
    (group,) = read(folder).groups()
    assert list(group.values) == []
    assert "damaged" in caplog.text


def test_rows_that_do_not_fit_into_memory_are_not_called_damaged(tmp_path, monkeypatch):
    def too_many(folder):
        raise duckdb.OutOfMemoryException("failed to allocate")

    monkeypatch.setattr(RunFolder, "parts", too_many)
    with pytest.raises(RunError, match="too much memory") as caught:
        read(start_run(tmp_path))
    assert "Delete" not in str(caught.value)


def test_a_missing_list_of_rollouts_is_named_with_what_to_do(tmp_path):
    folder = start_run(tmp_path)
    folder.rollouts_file.unlink()
    with pytest.raises(RunError, match=r"rollouts\.parquet.*lookaway eval"):
        read(folder)
