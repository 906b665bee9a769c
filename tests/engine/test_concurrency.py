"""Several evaluations of one folder at once, each with options of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

import lookaway
from lookaway.io.files import read_bytes
from lookaway.store.writer import sole_writer
from tests.support.command import lookaway as command
from tests.support.ray_runs import environment
from tests.support.runs import table_text, times_measured
from tests.support.s3_server import new_bucket, s3_server
from tests.support.tiny import QUICK, write_mbench

# Evaluates, and waits for a line after the first rollout; says when it writes, and how it ended.
EVALUATION = """
import sys
import lookaway
from lookaway.core import UserError
from lookaway.engine import session
from lookaway.store import writer
root, run, metrics, limit, machine = sys.argv[1:]
session.MAX_BATCH = 1
writer.RENEWAL_SECONDS = writer.LOOK_SECONDS = 0.05
if machine:
    writer._machine = lambda: machine
if machine == "of a survivor":
    writer.LEASE_SECONDS = 1.0
def wait(progress):
    if progress.done == 1:
        print("writes", flush=True)
        sys.stdin.readline()
try:
    lookaway.evaluate(root, run, metrics=metrics.split(","), limit=int(limit), on_progress=wait)
    print("finished", flush=True)
except UserError as error:
    print(f"error: {error}", flush=True)
"""
SAMPLES = 3


class Evaluation:
    """An evaluation in a process of its own."""

    def __init__(
        self, root: Path, run: Path, metrics: tuple[str, ...] = QUICK, limit: int = SAMPLES, machine: str = ""
    ) -> None:
        self.options = (metrics, limit)
        self.process = subprocess.Popen(
            [sys.executable, "-c", EVALUATION, str(root), str(run), ",".join(metrics), str(limit), machine],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment({}),
        )

    def says(self) -> str:
        """Its next line."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def goes_on(self) -> str:
        """Its last line, when it need not wait any more."""
        return self.process.communicate("\n")[0].strip()

    def is_killed(self) -> None:
        self.process.kill()
        assert self.process.wait() == -signal.SIGKILL


@contextmanager
def ending(evaluations: list[Evaluation]) -> Iterator[None]:
    """Nobody is left behind."""
    try:
        yield
    finally:
        for evaluation in evaluations:
            evaluation.process.kill()
            evaluation.process.communicate()


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_mbench(tmp_path_factory.mktemp("dataset") / "set", samples=SAMPLES).root


@pytest.fixture(params=["disk", pytest.param("bucket", marks=[pytest.mark.server, pytest.mark.nightly])])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    with ExitStack() as serving:
        if request.param == "disk":
            yield tmp_path / "run"
        else:
            serving.enter_context(s3_server(tmp_path))
            yield new_bucket() / "run"


OPTIONS = [(metrics, limit) for limit in (1, 2, SAMPLES) for metrics in (QUICK, QUICK[:1], QUICK[1:])]


@pytest.mark.merge
@pytest.mark.parametrize("writers", [2, pytest.param(8, marks=pytest.mark.nightly)])
def test_one_of_many_evaluations_writes_the_others_name_it_and_after_its_death_the_next_goes_on(
    writers, run, root, tmp_path
):
    evaluations = [Evaluation(root, run, *options) for options in OPTIONS[:writers]]
    with ending(evaluations):
        said = {evaluation: evaluation.says() for evaluation in evaluations}
        (holder,) = (evaluation for evaluation, line in said.items() if line == "writes")
        for evaluation in evaluations:
            if evaluation is not holder:
                assert f"{run}: in use by process {holder.process.pid} on " in said[evaluation]
        holder.is_killed()
        successor = Evaluation(root, run, *holder.options)
        evaluations.append(successor)
        assert successor.goes_on().splitlines()[-1] == "finished"
    metrics, limit = holder.options
    lookaway.evaluate(root, tmp_path / "undisturbed", metrics=metrics, limit=limit)
    assert table_text(run) == table_text(tmp_path / "undisturbed")


@pytest.mark.server
@pytest.mark.nightly
def test_another_machine_is_refused_while_the_writer_lives_and_goes_on_after_its_death(root, tmp_path):
    with s3_server(tmp_path):
        run = new_bucket() / "run"
        holder = Evaluation(root, run, machine="of the holder")
        evaluations = [holder]
        with ending(evaluations):
            assert holder.says() == "writes"
            evaluations.append(Evaluation(root, run, machine="of a visitor"))
            assert f"{run}: in use by process {holder.process.pid} on " in evaluations[-1].says()
            holder.is_killed()
            evaluations.append(Evaluation(root, run, machine="of a survivor"))
            assert evaluations[-1].goes_on().splitlines()[-1] == "finished"
        lookaway.evaluate(root, tmp_path / "undisturbed", metrics=QUICK)
        assert table_text(run) == table_text(tmp_path / "undisturbed")
        assert read_bytes(run / "writer.json") == b"{}\n"


@pytest.mark.merge
def test_an_evaluation_that_is_terminated_continues_to_the_table_of_the_undisturbed_one(root, tmp_path):
    run = tmp_path / "run"
    terminated = Evaluation(root, run)
    with ending([terminated]):
        assert terminated.says() == "writes"
        terminated.process.terminate()
        assert terminated.process.wait() != 0
    lookaway.evaluate(root, run, metrics=QUICK, limit=SAMPLES)
    lookaway.evaluate(root, tmp_path / "undisturbed", metrics=QUICK, limit=SAMPLES)
    assert table_text(run) == table_text(tmp_path / "undisturbed")
    assert set(times_measured(run).values()) == {1}


def test_a_command_on_a_folder_in_use_says_who_writes_it_and_what_to_do(root, tmp_path):
    with sole_writer(tmp_path / "run"):
        found = command("eval", root, "-o", tmp_path / "run", "--metrics", QUICK[1])
    assert (found.code, found.out) == (2, "")
    assert f"run: in use by process {os.getpid()} on " in found.err
    assert found.err.endswith("Wait until it has finished, stop it, or name another folder with --output.\n")
    assert not (tmp_path / "run" / "run.json").exists()


def test_a_merge_into_a_folder_in_use_is_refused(root, tmp_path):
    lookaway.evaluate(root, tmp_path / "run", metrics=QUICK[1:], limit=1)
    with sole_writer(tmp_path / "merged"):
        found = command("merge", tmp_path / "run", "-o", tmp_path / "merged")
    assert found.code == 2
    assert "merged: in use by process" in found.err
