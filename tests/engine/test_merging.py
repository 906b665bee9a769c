from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lookaway
from lookaway.core import Abstention, Problem, Reason, RunError, Score, Unit, UserError
from lookaway.engine import merging
from lookaway.engine.merging import merge
from lookaway.engine.run import Run
from lookaway.engine.shard import Shard
from lookaway.engine.timings import read_run_costs
from lookaway.judges.budget import Budget, Spending
from lookaway.store.run_folder import RunFolder
from tests.support.runs import events, outcomes_on_disk, table_text, write_about
from tests.support.scripted import ANSWERS, Brightness, bound, script
from tests.support.tiny import QUICK, clip_bytes, write_folder, write_mbench

Files = dict[Path, bytes]


def answer(rollout):
    """Every kind of outcome, by the number of the case."""
    number = int(rollout.case.id.removeprefix("case"))
    if number % 5 == 3:
        return Abstention(Reason.NO_TARGET, "nobody is in view.")
    if number % 5 == 4:
        raise OSError("the machine had a bad day")
    return Score(number / 100, raw=float(number), units=(Unit("f0", Score(number / 50)),))


@pytest.fixture
def scripted(monkeypatch):
    """A protocol of two metrics that looks at no frame."""
    script(monkeypatch, bound("first", needs=()), bound("second", needs=()))
    ANSWERS.update(first=answer, second=answer)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "videos", models=("alpha", "beta"), cases=5)


def evaluate(root: Path, run: Path, **options) -> Path:
    return lookaway.evaluate(root, run, suite="scripted", **options).path


def shards(root: Path, folder: Path, of: int, **options) -> list[Path]:
    return [evaluate(root, folder / f"shard{n}", shard=Shard(n, of), **options) for n in range(1, of + 1)]


def sorted_rows(run: Path) -> list[dict]:
    """All rows on disk, those of a unit after their measurement."""
    rows = pa.concat_tables([pq.read_table(part) for part in RunFolder(run).parts()]).to_pylist()
    return sorted(rows, key=lambda row: (row["rollout"], row["metric"], row["unit"] or ""))


def files_under(folder: Path) -> Files:
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def interrupt(done: int) -> Callable[[object], None]:
    def stop(progress):
        if progress.done == done:
            raise KeyboardInterrupt

    return stop


def test_merged_shards_are_the_run_that_one_machine_would_have_made_whichever_order(scripted, root, tmp_path):
    whole = evaluate(root, tmp_path / "whole")
    parts = shards(root, tmp_path, 3)
    results = [merge(order, tmp_path / f"out{n}").path for n, order in enumerate(permutations(parts))]
    for result in results:
        assert table_text(result) == table_text(whole)
        assert sorted_rows(result) == sorted_rows(whole)
        rollouts = [RunFolder(run).rollouts() for run in (result, whole)]
        assert rollouts[0].equals(rollouts[1].sort_by("rollout"))
        assert Run(result).lock == Run(whole).lock
        assert files_under(result) == files_under(results[0])
    about = Run(results[0]).about
    assert {name: about[name] for name in about if name != "merged"} == Run(whole).about


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(of=st.integers(1, 7), cases=st.integers(1, 9), order=st.randoms(use_true_random=False))
def test_any_number_of_shards_of_any_dataset_gives_the_table_of_the_whole(scripted, tmp_path_factory, of, cases, order):
    folder = tmp_path_factory.mktemp("some")
    root = write_folder(folder / "videos", cases=cases)
    whole = evaluate(root, folder / "whole")
    parts = shards(root, folder, of)
    order.shuffle(parts)
    result = merge(parts, folder / "out").path
    assert table_text(result) == table_text(whole)
    assert sorted_rows(result) == sorted_rows(whole)


KILLED = """
import os, signal, sys
import lookaway
from lookaway.engine import session
from lookaway.engine.shard import Shard
session.MAX_BATCH = 1
def die(progress):
    if progress.done == 1:
        os.kill(os.getpid(), signal.SIGKILL)
lookaway.evaluate(sys.argv[1], sys.argv[2], metrics=sys.argv[3:], shard=Shard(1, 2), on_progress=die)
"""


def test_a_shard_that_was_killed_and_resumed_merges_to_the_same_table(tmp_path):
    root = write_mbench(tmp_path / "dataset", samples=4).root
    whole = lookaway.evaluate(root, tmp_path / "whole", metrics=QUICK).path
    command = [sys.executable, "-c", KILLED, str(root), str(tmp_path / "shard1"), *QUICK]
    assert subprocess.run(command, capture_output=True).returncode == -signal.SIGKILL
    parts = [tmp_path / "shard1", tmp_path / "shard2"]
    lookaway.evaluate(root, parts[1], metrics=QUICK, shard=Shard(2, 2))
    early = merge(parts, tmp_path / "early").path
    assert "not_yet_measured" in table_text(early)
    lookaway.evaluate(root, parts[0], metrics=QUICK, shard=Shard(1, 2))
    for output in ("early", "late"):
        result = merge(parts, tmp_path / output).path
        assert table_text(result) == table_text(whole)
    assert sorted_rows(tmp_path / "late") == sorted_rows(whole)


def test_more_shards_than_rollouts_merge_as_well(scripted, tmp_path):
    root = write_folder(tmp_path / "videos", cases=2)
    whole = evaluate(root, tmp_path / "whole")
    result = merge(shards(root, tmp_path, 5), tmp_path / "out").path
    assert table_text(result) == table_text(whole)


def test_shards_that_hold_nothing_at_all_merge_to_nothing(scripted, tmp_path):
    root = write_folder(tmp_path / "videos", cases=1)
    empty = [part for part in shards(root, tmp_path, 3) if Run(part).about["rollouts"] == 0]
    assert len(empty) == 2
    assert Run(merge(empty, tmp_path / "out", partial=True).path).table().cells == ()


def test_runs_of_different_models_under_one_lock_become_one(scripted, root, tmp_path):
    whole = evaluate(root, tmp_path / "whole")
    apart = [evaluate(root, tmp_path / model, models=[model]) for model in ("alpha", "beta")]
    result = merge(apart, tmp_path / "out").path
    assert table_text(result) == table_text(whole)
    assert Run(result).about["requested"]["reading"] == {"suite": "scripted"}


def test_shards_of_two_models_are_missed_model_by_model(scripted, root, tmp_path):
    parts = [
        part
        for model in ("alpha", "beta")
        for part in shards(root, tmp_path / model, 2, models=[model], metrics=["first"])
    ]
    assert len(merge(parts, tmp_path / "out").table().cells) == 2
    with pytest.raises(UserError, match=r"^Shard 2 of 2 is missing"):
        merge([*parts[:1], *parts[2:]], tmp_path / "lacking")


def test_runs_under_different_locks_are_refused_with_the_entries_that_differ(scripted, root, tmp_path, monkeypatch):
    first = evaluate(root, tmp_path / "first")
    script(monkeypatch, bound("first", needs=(), scale=100.0), bound("second", needs=()))
    other = evaluate(root, tmp_path / "other")
    with pytest.raises(UserError, match=r"another lock.*metrics\.first\.metric\.scale: 255\.0 there, 100\.0 here\."):
        merge([first, other], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_metrics_in_another_order_are_refused(scripted, root, tmp_path):
    apart = [
        evaluate(root, tmp_path / "first", metrics=["first", "second"], models=["alpha"]),
        evaluate(root, tmp_path / "other", metrics=["second", "first"], models=["beta"]),
    ]
    with pytest.raises(UserError, match="different orders"):
        merge(apart, tmp_path / "out")


def test_missing_shards_are_named(scripted, root, tmp_path):
    parts = shards(root, tmp_path, 5)
    with pytest.raises(UserError, match=r"^Shards 2 and 5 of 5 are missing \(10 rollouts in all\)\."):
        merge([parts[0], parts[2], parts[3]], tmp_path / "out")
    with pytest.raises(UserError, match=r"^Shards 1, 2 and 3 of 5 are missing"):
        merge(parts[3:], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_partial_merge_says_what_is_missing_and_can_be_completed_by_another_merge(scripted, root, tmp_path):
    whole = evaluate(root, tmp_path / "whole")
    parts = shards(root, tmp_path, 4)
    some = merge(parts[::2], tmp_path / "some", partial=True)
    assert [(entry["of"], entry["numbers"]) for entry in some.about["merged"]["shards"]] == [(4, [1, 3])]
    own = {row["rollout"] for row in some.items()}
    assert own == {row["rollout"] for part in parts[::2] for row in Run(part).items()}
    everything = merge([some.path, *parts[1::2]], tmp_path / "all")
    assert table_text(everything.path) == table_text(whole)


def test_a_measurement_that_several_runs_made_is_there_once_and_the_better_one(scripted, root, tmp_path):
    good = evaluate(root, tmp_path / "good")
    ANSWERS["first"] = ANSWERS["second"] = lambda rollout: Abstention(Reason.NO_TARGET, "nobody.")
    middling = evaluate(root, tmp_path / "middling")
    ANSWERS["first"] = ANSWERS["second"] = lambda rollout: 1 / 0
    bad = evaluate(root, tmp_path / "bad")
    result = merge([bad, good, middling], tmp_path / "out").path
    rows = outcomes_on_disk(result)  # asserts that each is there once
    for key, row in outcomes_on_disk(good).items():
        expected = "abstention" if row["status"] == "failure" else row["status"]
        assert rows[key]["status"] == expected
    unit_rows = [row for row in sorted_rows(result) if row["unit"]]
    assert len(unit_rows) == sum(row["status"] == "score" for row in rows.values())


def test_a_rollout_that_differs_between_runs_is_refused(scripted, root, tmp_path):
    first = evaluate(root, tmp_path / "first")
    (root / "beta" / "case2.mp4").write_bytes(clip_bytes(9))
    other = evaluate(root, tmp_path / "other")
    with pytest.raises(UserError, match="'beta/case2/0' is not the same in all runs"):
        merge([first, other], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_merging_again_changes_nothing(scripted, root, tmp_path):
    parts = shards(root, tmp_path, 2)
    merge(parts, tmp_path / "out")
    before = files_under(tmp_path / "out")
    merge(parts[::-1], tmp_path / "out")
    assert files_under(tmp_path / "out") == before


def test_merging_again_after_a_run_has_grown_leaves_no_row_twice(scripted, root, tmp_path, monkeypatch):
    monkeypatch.setattr("lookaway.engine.session.MAX_BATCH", 1)
    ANSWERS["first"] = ANSWERS["second"] = lambda rollout: Score(0.5)
    whole = evaluate(root, tmp_path / "whole")
    run = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        evaluate(root, run, on_progress=interrupt(3))
    merge([run], tmp_path / "out")
    assert 0 < len(sorted_rows(tmp_path / "out")) < len(sorted_rows(whole))
    evaluate(root, run)
    merge([run], tmp_path / "out")
    assert sorted_rows(tmp_path / "out") == sorted_rows(whole)


def test_an_output_that_is_anything_else_is_refused_and_left_as_it_is(scripted, root, tmp_path):
    parts = shards(root, tmp_path, 2)
    another = evaluate(root, tmp_path / "another")
    merge([another], tmp_path / "merged")
    (tmp_path / "rows" / "outcomes").mkdir(parents=True)
    (tmp_path / "rows" / "outcomes" / "a.parquet").write_bytes(b"rows of somebody")
    for name in ("another", "merged", "shard1", "rows"):
        before = files_under(tmp_path / name)
        with pytest.raises(RunError, match="not an earlier merge of these runs"):
            merge(parts, tmp_path / name)
        assert files_under(tmp_path / name) == before


def test_an_earlier_merge_of_runs_that_now_hold_other_rollouts_is_refused(scripted, root, tmp_path):
    run = evaluate(root, tmp_path / "run")
    merge([run], tmp_path / "out")
    write_folder(root, models=("gamma",), cases=5)
    evaluate(root, run)
    with pytest.raises(RunError, match="not an earlier merge"):
        merge([run], tmp_path / "out")


def test_a_merge_that_was_cut_off_lacks_rows_and_is_completed_by_the_same_command(
    scripted, root, tmp_path, monkeypatch
):
    whole = evaluate(root, tmp_path / "whole")
    parts = shards(root, tmp_path, 2)

    def cut_off(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(merging, "_merged_rows", cut_off)
        with pytest.raises(KeyboardInterrupt):
            merge(parts, tmp_path / "out")
    assert {reason for cell in Run(tmp_path / "out").table().cells for reason in cell.reasons} == {"not_yet_measured"}
    merge(parts, tmp_path / "out")
    assert table_text(tmp_path / "out") == table_text(whole)


def test_rows_that_do_not_fit_into_memory_together_become_several_files(scripted, root, tmp_path, monkeypatch):
    whole = evaluate(root, tmp_path / "whole")
    parts = shards(root, tmp_path, 3)
    monkeypatch.setattr(merging, "ROWS_AT_ONCE", 1)
    result = merge(parts, tmp_path / "out").path
    assert len(RunFolder(result).parts()) == sum(len(RunFolder(part).parts()) for part in parts)
    assert sorted_rows(result) == sorted_rows(whole)


def test_a_run_that_is_not_over_merges_with_what_it_has(scripted, root, tmp_path, monkeypatch):
    monkeypatch.setattr("lookaway.engine.session.MAX_BATCH", 1)
    first = evaluate(root, tmp_path / "alpha", models=["alpha"])
    with pytest.raises(KeyboardInterrupt):
        evaluate(root, tmp_path / "beta", models=["beta"], on_progress=interrupt(2))
    cells = merge([first, tmp_path / "beta"], tmp_path / "out").table().cells
    assert [cell.reasons.get("not_yet_measured", 0) for cell in cells] == [0, 0, 3, 3]


def test_files_that_vanish_while_they_are_read_are_no_loss_of_rows_but_an_error(scripted, root, tmp_path, monkeypatch):
    run = evaluate(root, tmp_path / "run")
    listed = [*RunFolder(run).parts(), run / "outcomes" / "gone.parquet"]
    monkeypatch.setattr(RunFolder, "parts", lambda folder: listed if folder.path == run else [])
    with pytest.raises(RunError, match="change while they are read"):
        merge([run], tmp_path / "out")


def test_a_damaged_file_of_rows_is_named(scripted, root, tmp_path):
    run = evaluate(root, tmp_path / "run")
    (run / "outcomes" / "damaged.parquet").write_bytes(b"no rows")
    with pytest.raises(RunError, match=r"damaged\.parquet: cannot be read.*sets the file aside"):
        merge([run], tmp_path / "out")


@pytest.mark.parametrize("again", [Path("run"), Path("other/../run")], ids=str)
def test_a_run_that_is_named_twice_is_refused(scripted, root, tmp_path, again):
    evaluate(root, tmp_path / "run")
    (tmp_path / "other").mkdir()
    with pytest.raises(UserError, match="named more than once"):
        merge([tmp_path / "run", tmp_path / again], tmp_path / "out")


def test_nothing_to_merge_and_a_folder_that_is_no_run_are_errors_of_the_user(tmp_path):
    with pytest.raises(UserError, match="No runs to merge"):
        merge([], tmp_path / "out")
    with pytest.raises(UserError, match="not a run folder"):
        merge([tmp_path], tmp_path / "out")


def test_a_run_whose_shard_cannot_be_read_is_an_error_of_the_user(scripted, root, tmp_path):
    run = evaluate(root, tmp_path / "run", shard=Shard(1, 2))
    about = json.loads((run / "run.json").read_text())
    for shard in ({"number": 1}, [1, 2], {**about["shard"], "more": 1}):
        write_about(run, {**about, "shard": shard})
        with pytest.raises(RunError, match=r"The shard in run\.json cannot be read"):
            merge([run], tmp_path / "out")


def test_events_spending_and_sessions_of_all_runs_come_together_once(scripted, root, tmp_path):
    parts = shards(root, tmp_path, 2)
    for number, part in enumerate(parts, 1):
        spending = Spending(part / "spending.jsonl", Budget())
        for _ in range(number):
            spending.take_call()
        spending.add_tokens(10 * number, number)
    for _ in range(2):
        result = merge(parts, tmp_path / "out").path
        assert events(result) == [event for part in parts for event in events(part)]
        spent = Spending(result / "spending.jsonl", Budget()).spent()
        assert (spent.calls, spent.prompt_tokens, spent.answer_tokens) == (3, 30, 3)
        costs = [read_run_costs(run) for run in (result, *parts)]
        assert {session.id for session in costs[0].sessions} == {s.id for known in costs[1:] for s in known.sessions}
        assert sum(session.rollouts for session in costs[0].sessions) == 10


def test_features_and_replies_are_not_copied(root, tmp_path, monkeypatch):
    script(monkeypatch, bound(recipe=Brightness()))
    run = evaluate(root, tmp_path / "run")
    (run / "replies").mkdir()
    (run / "replies" / "reply.json").write_text("{}")
    assert list((run / "features").rglob("*.npz"))
    result = merge([run], tmp_path / "out").path
    assert not (result / "features").exists()
    assert not (result / "replies").exists()


def test_problems_of_the_dataset_are_listed_once(scripted, root, tmp_path):
    dataset = lookaway.read(root, suite="scripted")
    found = [Problem(where=f"line {n}", message="is broken.") for n in range(3)]
    runs = []
    for number, model in enumerate(("alpha", "beta")):
        own = dataset.select(lambda rollout, model=model: rollout.model == model)
        own = type(own)(
            suite=own.suite, root=own.root, rollouts=own.rollouts, problems=tuple(found[number : number + 2])
        )
        runs.append(lookaway.evaluate(own, tmp_path / model).path)
    assert [problem["where"] for problem in merge(runs, tmp_path / "out").about["problems"]] == [
        "line 0",
        "line 1",
        "line 2",
    ]


def test_runs_of_older_versions_that_remember_less_are_merged(scripted, root, tmp_path):
    runs = [evaluate(root, tmp_path / model, models=[model]) for model in ("alpha", "beta")]
    about = json.loads((runs[1] / "run.json").read_text())
    write_about(runs[1], {**about, "requested": None, "lookaway": "0.0.1"} | {"requested": {}})
    (runs[1] / "costs.json").unlink()
    merged = merge(runs, tmp_path / "out").about
    assert merged["requested"] == {"reading": {}}
    assert merged["lookaway"].startswith("0.0.1, ")


def test_an_evaluation_continues_in_a_merged_folder_and_measures_nothing_again(scripted, root, tmp_path):
    ANSWERS["first"] = ANSWERS["second"] = lambda rollout: Score(0.5)
    result = merge(shards(root, tmp_path, 2), tmp_path / "out").path
    seen = []
    evaluate(root, result, on_progress=seen.append)
    assert [progress.total for progress in seen] == [0]
    assert "merged" not in Run(result).about
