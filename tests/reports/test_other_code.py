from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from lookaway.core import Lock
from lookaway.engine.run import Run
from lookaway.reports.compare.comparison import compare_runs
from lookaway.reports.lock_explanations import mixed_code, other_code
from lookaway.store.run_folder import RunFolder
from tests.support.chosen_run import STYLE, chosen_run, clips
from tests.support.command import lookaway

GEOMETRY = "mbencha.geometry"
BASE = np.linspace(0.4, 0.6, 24)
RELEASE = {"version": "0.1.0", "metrics": {STYLE: "a", GEOMETRY: "b"}}
EDITED = {"version": "0.1.0", "metrics": {STYLE: "a", GEOMETRY: "c"}}
NEWER = {"version": "0.2.0", "metrics": {STYLE: "a", GEOMETRY: "b"}}
NAMES = ("ours", "theirs")


def lock(*code: dict[str, object]) -> Lock:
    return Lock({"metrics": {}}, code=code)


def notes(ours: Lock, theirs: Lock) -> list[str]:
    return other_code(ours, theirs, [STYLE, GEOMETRY], NAMES)


def test_an_edited_metric_is_said_to_be_of_other_code():
    assert notes(lock(EDITED), lock(RELEASE)) == [
        f"other code: ours was measured with lookaway 0.1.0, whose code of {GEOMETRY} differs from that of theirs, "
        "lookaway 0.1.0; numbers are compared all the same."
    ]


def test_the_same_code_of_another_version_is_the_same():
    assert notes(lock(NEWER), lock(RELEASE)) == []


@pytest.mark.parametrize(("ours", "theirs"), [((), (RELEASE,)), ((EDITED,), ()), ((), ())])
def test_a_run_that_records_no_code_is_compared_silently(ours, theirs):
    assert notes(lock(*ours), lock(*theirs)) == []


def test_a_run_of_several_codes_says_so_and_differs_from_one_of_a_single_code():
    mixed = lock(RELEASE, EDITED)
    assert mixed_code(mixed, "it") == [
        f"other code: it was measured in parts, with lookaway 0.1.0, whose code of {GEOMETRY} differs from part to "
        "part; all of it is counted."
    ]
    assert mixed_code(lock(RELEASE), "it") == mixed_code(lock(RELEASE, NEWER), "it") == []
    assert len(notes(mixed, lock(RELEASE))) == 1


def test_code_of_one_version_that_differs_in_no_metric_is_one_entry():
    more = {"version": "0.1.0", "metrics": {"another": "d"}}
    assert lock(RELEASE).with_code(more).code == (
        {"version": "0.1.0", "metrics": {"another": "d", **dict(sorted(RELEASE["metrics"].items()))}},
    )
    assert lock(RELEASE).with_code(EDITED).code == (RELEASE, EDITED)
    assert lock(RELEASE, EDITED).with_code(EDITED).code == (RELEASE, EDITED)


def test_only_the_first_names_are_listed():
    many = [{"version": "1", "metrics": {f"m{n}": text for n in range(8)}} for text in "ab"]
    (note,) = other_code(lock(many[0]), lock(many[1]), list(many[0]["metrics"]), NAMES)
    assert "m0, m1, m2, m3, m4 and 3 more" in note


def test_the_code_is_not_part_of_the_hash_and_has_one_of_its_own(tmp_path):
    folder = RunFolder(chosen_run(tmp_path / "run", clips(STYLE, BASE)).path)
    before = folder.lock()
    folder.add_code(RELEASE)
    assert folder.lock().sha256 == before.sha256
    assert folder.lock() == before
    assert folder.lock().code == (RELEASE,)
    content = json.loads(folder.lock_file.read_text())
    content["code"][0]["version"] = "9"
    folder.lock_file.write_text(json.dumps(content))
    with pytest.raises(Exception, match="it was changed"):
        folder.lock()


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    found = [chosen_run(tmp_path / str(n), clips(STYLE, BASE)).path for n in range(2)]
    for path, fingerprint in zip(found, "ab", strict=True):
        RunFolder(path).add_code({"version": "0.1.0", "metrics": {STYLE: fingerprint}})
    return found


def test_compare_says_other_code_and_compares_all_the_same(runs):
    result = lookaway("compare", *runs)
    assert f"note: other code: {runs[1]} was measured with lookaway 0.1.0, whose code of {STYLE} differs" in result.out
    assert "1 not significant" in result.out


def test_verify_says_other_code_and_verifies_all_the_same(runs, tmp_path):
    table = tmp_path / "published.csv"
    table.write_text(f"model,metric,score\nm,{STYLE},{BASE.mean()}\n")
    result = lookaway("verify", runs[0], table, "--lock", runs[1] / "lock.json")
    assert (result.code, "1 agrees" in result.out) == (0, True)
    assert f"note: other code: {runs[0]} was measured with lookaway 0.1.0" in result.out
    assert "other code" not in lookaway("verify", runs[0], table).out


def test_only_equal_names_are_compared(tmp_path):
    corrected = "mbencha.corrected.style"
    before = chosen_run(tmp_path / "before", clips(STYLE, BASE))
    after = chosen_run(tmp_path / "after", clips(corrected, BASE))
    found = compare_runs(Run(before.path), Run(after.path), across_locks=True)
    assert not found.dimensions
    assert {entry.metric: entry.why for entry in found.not_compared} == {
        STYLE: "only the first run has it",
        corrected: "only the second run has it",
    }
