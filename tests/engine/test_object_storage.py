from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lookaway
from lookaway.core import Resources, RunError, StorageError
from lookaway.engine.run import Run
from lookaway.io import object_storage as patience
from lookaway.io.files import read_all
from lookaway.io.journal import Journal
from lookaway.store.run_folder import RunFolder
from tests.support.command import lookaway as command
from tests.support.ray_runs import ray_folder
from tests.support.runs import table_text
from tests.support.s3_server import S3Server, new_bucket, s3_server
from tests.support.tiny import QUICK, write_mbench

pytestmark = [pytest.mark.server, pytest.mark.merge]

ROLLOUTS = 24


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with s3_server(tmp_path_factory.mktemp("s3")) as running:
        yield running


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    return write_mbench(tmp_path_factory.mktemp("dataset") / "set", samples=ROLLOUTS // 2).root


@pytest.fixture(scope="module")
def on_disk(root, tmp_path_factory) -> Path:
    """The same run on disk, which nobody disturbed."""
    run = tmp_path_factory.mktemp("disk") / "run"
    lookaway.evaluate(root, run, metrics=QUICK)
    return run


@pytest.fixture(scope="module")
def finished(server, root) -> Path:
    """A run on object storage, which nobody disturbed."""
    run = new_bucket() / "runs" / "first"
    lookaway.evaluate(root, str(run), metrics=QUICK)
    return run


@pytest.fixture
def run(server: S3Server) -> Path:
    return new_bucket() / "run"


def times_measured(run: Path) -> Counter[str]:
    events = [json.loads(line) for line in Journal(run / "events.jsonl").lines()]
    return Counter(event["rollout"] for event in events if event["event"] == "measured")


def rows_there(run: Path) -> list[tuple[str, str, str | None]]:
    """Keys of all rows, read without a database."""
    tables = [pq.read_table(pa.BufferReader(content)) for content in read_all(RunFolder(run).parts())]
    return [(row["rollout"], row["metric"], row["unit"]) for table in tables for row in table.to_pylist()]


def assert_whole(run: Path, on_disk: Path) -> None:
    """Nothing is lost, nothing is there twice."""
    assert table_text(run) == table_text(on_disk)
    assert sorted(rows_there(run), key=str) == sorted(rows_there(on_disk), key=str)
    assert set(times_measured(run).values()) == {1}
    assert len(times_measured(run)) == ROLLOUTS


@pytest.mark.nightly
def test_a_server_that_is_killed_again_and_again_loses_nothing_and_doubles_nothing(
    server, root, run, on_disk, monkeypatch
):
    monkeypatch.setattr(patience, "LONGEST_WAIT_SECONDS", 0.25)
    restarts = []

    def kill(progress):
        if progress.done >= 6 * (1 + len(restarts)) and len(restarts) < 2:
            if restarts:
                restarts[-1].join()
            restarts.append(server.kill_and_start(seconds=0.2))

    lookaway.evaluate(root, run, metrics=QUICK, on_progress=kill)
    for restart in restarts:
        restart.join()
    assert len(restarts) == 2
    assert_whole(run, on_disk)


@pytest.mark.ray
@pytest.mark.nightly
def test_a_server_that_is_killed_while_workers_of_ray_write_loses_nothing_and_doubles_nothing(
    server, root, run, on_disk, monkeypatch
):
    restarts = []

    def kill(progress):
        if progress.done >= 6 and not restarts:
            restarts.append(server.kill_and_start(seconds=0.2))

    monkeypatch.setenv("RAY_ADDRESS", "")
    with ray_folder() as env:
        monkeypatch.setenv("RAY_TMPDIR", env["RAY_TMPDIR"])
        monkeypatch.setattr("lookaway.engine.session.MAX_BATCH", 1)  # so that rows are written while it is gone
        lookaway.evaluate(root, run, metrics=QUICK, executor="ray", resources=Resources(workers=1), on_progress=kill)
    restarts[0].join()
    assert_whole(run, on_disk)
    assert list(Run(run).items()) == list(Run(on_disk).items())


def test_a_server_that_stays_dead_ends_the_run_which_continues_when_it_is_back(server, root, run, on_disk, monkeypatch):
    monkeypatch.setattr(patience, "MAX_RETRY_SECONDS", 0.5)

    def kill(progress):
        if progress.done >= 3:
            server.kill()

    started = time.monotonic()
    try:
        with pytest.raises(RunError, match=r"did not answer for .*run the same command to resume"):
            lookaway.evaluate(root, run, metrics=QUICK, on_progress=kill)
        assert time.monotonic() - started < 120
        shown = command("show", run)
    finally:
        server.start()
    assert shown.code == 2
    assert "did not answer" in shown.err
    assert shown.err.count("\n") == 1
    lookaway.evaluate(root, run, metrics=QUICK)
    assert_whole(run, on_disk)


def test_a_server_that_denies_access_half_way_ends_the_run_which_continues_when_it_is_allowed(
    server, root, run, on_disk
):
    def deny(progress):
        if progress.done == 5:
            server.deny()

    try:
        with pytest.raises(StorageError, match="object storage denies access"):
            lookaway.evaluate(root, run, metrics=QUICK, on_progress=deny)
    finally:
        server.allow()
    assert 0 < len(times_measured(run)) < ROLLOUTS
    lookaway.evaluate(root, run, metrics=QUICK)
    assert_whole(run, on_disk)


def test_a_run_there_has_the_rows_and_the_table_of_the_same_run_on_disk(finished, on_disk):
    assert_whole(finished, on_disk)
    assert list(Run(finished).items()) == list(Run(on_disk).items())
    for metric in QUICK:
        assert list(Run(finished).units(metric)) == list(Run(on_disk).units(metric))
    assert Run(finished).lock == Run(on_disk).lock


def test_a_run_that_was_cut_off_continues_there_and_a_finished_one_measures_nothing(root, run, on_disk):
    def interrupt(progress):
        if progress.done >= 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lookaway.evaluate(root, run, metrics=QUICK, on_progress=interrupt)
    before = times_measured(run)
    assert 5 <= len(before) < ROLLOUTS
    for _ in range(2):
        lookaway.evaluate(root, run, metrics=QUICK)
    assert_whole(run, on_disk)


@pytest.mark.nightly
def test_a_command_that_is_killed_at_any_time_continues_to_the_same_table(root, run, on_disk):
    arguments = ["eval", str(root), "--metrics", ",".join(QUICK), "-o", str(run), "--quiet"]
    process = subprocess.Popen([sys.executable, "-c", "from lookaway.cli import main; main()", *arguments])
    while process.poll() is None and not RunFolder(run).parts():
        time.sleep(0.02)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    kept = {rollout for rollout, _, _ in rows_there(run)}
    noted = times_measured(run)
    lookaway.evaluate(root, run, metrics=QUICK)
    assert table_text(run) == table_text(on_disk)
    assert 0 < len(kept) < ROLLOUTS
    assert not kept & (times_measured(run) - noted).keys()


def test_a_missing_bucket_is_an_error_before_anything_is_measured(server, root):
    started = time.monotonic()
    found = command("eval", root, "--metrics", ",".join(QUICK), "-o", "s3://no-such-bucket/run")
    assert (found.code, found.out) == (2, "")
    assert "s3://no-such-bucket: there is no such bucket. Create it, or choose another one." in found.err
    assert time.monotonic() - started < 120


def test_features_there_are_shared_between_runs(root, run):
    shared = run.parent / "features"
    first = lookaway.evaluate(root, run, metrics=QUICK, features=str(shared))
    lookaway.evaluate(root, run.parent / "second", metrics=QUICK, features=str(shared))
    events = [json.loads(line) for line in Journal(run.parent / "second" / "events.jsonl").lines()]
    assert [event["decoded_frames"] for event in events if event["event"] == "measured"] == [0] * ROLLOUTS
    assert table_text(run.parent / "second") == table_text(first.path)


def test_every_command_that_reads_a_run_reads_one_there(finished, on_disk, tmp_path):
    there, here = (command("show", run, "--json").json for run in (finished, on_disk))
    assert there == here
    assert command("show", f"{finished}/").out == command("show", on_disk).out
    for form in ("csv", "md"):
        for name, run in (("there", finished), ("here", on_disk)):
            assert command("export", "table", run, "-o", tmp_path / f"{name}.{form}").code == 0
        there_text, here_text = ((tmp_path / f"{name}.{form}").read_text() for name in ("there", "here"))
        # Models are distinguished by the names of their runs.
        assert there_text.replace(f",{finished.name},", f",{on_disk.name},") == here_text
    for name, run in (("there", finished), ("here", on_disk)):
        assert command("export", "mbench", run, "-o", tmp_path / name).code == 0
    exported = {
        name: {path.relative_to(tmp_path / name): path.read_bytes() for path in (tmp_path / name).rglob("*.json*")}
        for name in ("there", "here")
    }
    assert exported["there"] == exported["here"]
    compared = command("compare", finished, on_disk, "--format", "json")
    assert compared.code == 0
    assert all(row["difference"]["mean"] == 0 for row in compared.json["dimensions"])


def test_published_numbers_are_held_against_a_run_there(finished, on_disk, tmp_path):
    cells = [cell for cell in Run(on_disk).table().cells if cell.estimate is not None]
    lines = [f"{cell.model},{cell.metric},{cell.subset},{cell.estimate.mean}" for cell in cells]
    (tmp_path / "published.csv").write_text("\n".join(["model,metric,subset,score", *lines]) + "\n")
    assert command("verify", finished, tmp_path / "published.csv", "--scale", "1").code == 0
    there, here = (command("drift", run) for run in (str(finished), on_disk))
    assert (there.code, there.out) == (here.code, here.out)
    assert there.err == here.err.replace(str(on_disk), str(finished))


def test_a_site_is_made_of_a_run_there(finished, on_disk, tmp_path):
    made = command("report", finished, on_disk, "-o", tmp_path / "site")
    assert made.code == 0, made.err
    page = (tmp_path / "site" / "index.html").read_text()
    assert "no events" not in page
    assert "first" in page


def test_a_plan_knows_what_is_finished_there(root, finished):
    plan = command("plan", root, "--metrics", ",".join(QUICK), "-o", finished, "--json")
    assert plan.code == 0, plan.err
    assert plan.json["cost"]["measurements"] == 0
