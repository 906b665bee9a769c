from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from ray import exceptions

import lookaway
from lookaway.core import Abstention, GaveUp, Reason, Rollout, Unmeasurable, UserError, plugins
from lookaway.engine.binding import bind_metrics
from lookaway.engine.inline import Inline
from lookaway.engine.on_ray.worker_pool import WorkerPool
from lookaway.engine.plan import make_plan
from lookaway.engine.run import Run
from lookaway.engine.session import Batches
from lookaway.engine.smoke import choose_smoke
from lookaway.store.run_folder import RunFolder
from tests.support.command import lookaway as command
from tests.support.runs import events, outcomes, table_text, times_measured
from tests.support.scripted import ANSWERS, CRASHES, MeanBrightness, bound, install, script
from tests.support.tiny import write_folder


@dataclass(frozen=True)
class Picky(MeanBrightness):
    """Declines some cases before it looks."""

    declined: tuple[str, ...] = ()
    reason: Reason = Reason.MISSING_INPUT

    def declines(self, rollout: Rollout) -> Abstention | None:
        if "crash" in self.declined:
            raise ZeroDivisionError("a bug")
        if "all" in self.declined or rollout.case.id in self.declined:
            return Abstention(self.reason, "the case has none.")
        return None


def picky(name: str, *declined: str, reason: Reason = Reason.MISSING_INPUT):
    return replace(bound(name), metric=Picky(name=name, declined=declined, reason=reason))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "videos", cases=5)


def evaluate(root: Path, run: Path, **options) -> Run:
    return lookaway.evaluate(root, run, suite="scripted", **options)


def measured(run: Path) -> list[str]:
    return [event["rollout"].split("/")[1] for event in events(run) if event["event"] == "measured"]


def chosen(root: Path, run: Path) -> tuple[list[str], tuple[str, ...]]:
    dataset = lookaway.read(root, suite="scripted")
    plan = make_plan(dataset, bind_metrics(dataset))
    smoke = choose_smoke(plan, plan.work(), RunFolder(run))
    return [work.rollout.case.id for work in smoke.work], smoke.untried


def test_one_rollout_is_enough_where_every_metric_can_be_tried_on_it(root, tmp_path, monkeypatch):
    script(monkeypatch, picky("first", "case0", "case1"), picky("second", "case0", "case4"), picky("third"))
    assert chosen(root, tmp_path / "run") == (["case2"], ())


def test_as_many_rollouts_as_needed_are_chosen_and_no_more(root, tmp_path, monkeypatch):
    script(monkeypatch, picky("first", "case0", "case1", "case2"), picky("second", "case3", "case4"), picky("third"))
    cases, untried = chosen(root, tmp_path / "run")
    assert (sorted(cases), untried) == (["case0", "case3"], ())


def test_a_rollout_without_a_video_is_not_chosen(root, tmp_path, monkeypatch):
    script(monkeypatch, bound())
    dataset = lookaway.read(root, suite="scripted")
    (root / "alpha" / "case0.mp4").unlink()
    plan = make_plan(dataset, bind_metrics(dataset))
    (work,) = choose_smoke(plan, plan.work(), RunFolder(tmp_path / "run")).work
    assert work.rollout.case.id == "case1"


def test_a_metric_that_nothing_can_be_measured_by_is_listed_and_no_error(root, tmp_path, monkeypatch, caplog):
    script(monkeypatch, bound("first"), picky("second", "all"))
    assert chosen(root, tmp_path / "unused") == (["case0"], ("second",))
    caplog.clear()
    run = evaluate(root, tmp_path / "run", smoke=True)
    assert [record.getMessage() for record in caplog.records] == [
        "These metrics cannot run on any rollout of the dataset: second."
    ]
    assert [(cell.scored, dict(cell.reasons)) for cell in run.table().cells] == [(5, {}), (0, {"missing_input": 5})]


def test_a_smoke_test_that_is_passed_gives_the_same_table_and_measures_nothing_twice(root, tmp_path, monkeypatch):
    script(monkeypatch, picky("first", "case0", "case1"), picky("second"))
    evaluate(root, tmp_path / "plain")
    evaluate(root, tmp_path / "run", smoke=True)
    assert table_text(tmp_path / "run") == table_text(tmp_path / "plain")
    assert measured(tmp_path / "run")[0] == "case2"
    assert set(times_measured(tmp_path / "run").values()) == {1}


def test_a_metric_that_fails_ends_the_run_and_the_same_command_without_smoke_continues(root, tmp_path, monkeypatch):
    script(monkeypatch, bound("good"), bound("broken"))
    ANSWERS["broken"] = lambda rollout: 1 / 0
    with pytest.raises(UserError) as caught:
        evaluate(root, tmp_path / "run", smoke=True)
    assert "broken on alpha/case0/0: ZeroDivisionError: division by zero" in str(caught.value)
    assert "good on" not in str(caught.value)
    assert "without --smoke" in str(caught.value)
    assert measured(tmp_path / "run") == ["case0"]
    assert {key[1]: row["status"] for key, row in outcomes(tmp_path / "run").items()} == {
        "good": "score",
        "broken": "failure",
    }
    run = evaluate(root, tmp_path / "run")
    assert [(cell.scored, cell.failures) for cell in run.table().cells] == [(5, 0), (0, 5)]


def test_a_failure_that_was_put_right_is_tried_again_first_and_the_run_continues(root, tmp_path, monkeypatch):
    script(monkeypatch, bound())
    CRASHES["brightness.load"] = ZeroDivisionError("scripted")
    with pytest.raises(UserError, match="mean_brightness on alpha/case0/0: ZeroDivisionError: scripted"):
        evaluate(root, tmp_path / "run", smoke=True)
    CRASHES.clear()
    run = evaluate(root, tmp_path / "run", smoke=True)
    assert run.table().cells[0].scored == 5
    assert measured(tmp_path / "run") == ["case0", "case0", "case1", "case2", "case3", "case4"]


def test_a_crash_before_the_video_is_opened_is_found(root, tmp_path, monkeypatch):
    script(monkeypatch, picky("buggy", "crash"))
    with pytest.raises(UserError, match="buggy on alpha/case0/0: ZeroDivisionError: a bug"):
        evaluate(root, tmp_path / "run", smoke=True)


def test_an_abstention_that_is_the_rollouts_own_ends_nothing(root, tmp_path, monkeypatch):
    script(monkeypatch, bound())
    ANSWERS["mean_brightness"] = lambda rollout: Abstention(Reason.TOO_SHORT, "four frames.")
    run = evaluate(root, tmp_path / "run", smoke=True)
    assert run.table().cells[0].reasons == {"too_short": 5}


def test_weights_that_turn_out_to_be_missing_end_the_run_and_are_found_when_they_are_there(root, tmp_path, monkeypatch):
    script(monkeypatch, bound())
    CRASHES["brightness.load"] = Unmeasurable(Reason.WRONG_WEIGHTS, "fetch them again.")
    with pytest.raises(UserError, match=r"on alpha/case0/0: wrong_weights: fetch them again\."):
        evaluate(root, tmp_path / "run", smoke=True)
    CRASHES.clear()
    run = evaluate(root, tmp_path / "run", smoke=True)
    assert (run.table().cells[0].scored, dict(run.table().cells[0].reasons)) == (5, {})


def test_weights_that_are_known_to_be_missing_end_the_run_too(root, tmp_path, monkeypatch):
    script(monkeypatch, picky("heavy", "all", reason=Reason.MISSING_WEIGHTS))
    with pytest.raises(UserError, match="heavy on alpha/case0/0: missing_weights: the case has none"):
        evaluate(root, tmp_path / "run", smoke=True)
    assert measured(tmp_path / "run") == ["case0"]


def test_what_this_machine_still_lacks_is_not_tried_again(root, tmp_path, monkeypatch):
    script(monkeypatch, picky("heavy", "all", reason=Reason.MISSING_WEIGHTS))
    for _ in range(2):
        evaluate(root, tmp_path / "run")
    assert set(times_measured(tmp_path / "run").values()) == {1}


def test_a_finished_run_has_nothing_to_smoke(root, tmp_path, monkeypatch):
    script(monkeypatch, bound())
    for _ in range(2):
        evaluate(root, tmp_path / "run", smoke=True)
    assert set(times_measured(tmp_path / "run").values()) == {1}


def test_what_an_earlier_session_lacked_does_not_end_a_run_that_does_not_try_it(root, tmp_path, monkeypatch):
    script(monkeypatch, picky("heavy", "all", reason=Reason.MISSING_WEIGHTS), bound("light"))
    evaluate(root, tmp_path / "run", metrics=["heavy"])
    run = evaluate(root, tmp_path / "run", smoke=True)
    assert [(cell.scored, dict(cell.reasons)) for cell in run.table().cells] == [(0, {"missing_weights": 5}), (5, {})]


class LosesTheFirst(Inline):
    """An executor whose workers die of the first rollout."""

    def map(self, make_worker, items, **options) -> Iterator[object]:
        yield GaveUp(next(iter(items)), 3)
        yield from super().map(make_worker, items, **options)


def test_a_rollout_that_workers_die_of_does_not_pass(root, tmp_path, monkeypatch):
    script(monkeypatch, bound())
    install(monkeypatch, "executors", losing=f"{__name__}:LosesTheFirst")
    with pytest.raises(UserError, match="mean_brightness on alpha/case0/0: WorkerDied"):
        evaluate(root, tmp_path / "run", smoke=True, executor="losing")
    assert measured(tmp_path / "run") == []
    assert len(outcomes(tmp_path / "run")) == 1


class Watchful:
    """A worker that writes down what is under way when an item begins."""

    def __init__(self, slow: set[str]) -> None:
        self.slow, self.in_flight, self.seen = slow, set(), {}
        self.turn = threading.Lock()

    def __call__(self, batch) -> int:
        names = {work.rollout.case.id for work in batch}
        with self.turn:
            self.in_flight |= names
            self.seen.update({name: set(self.in_flight) for name in names})
        time.sleep(0.2 if names & self.slow else 0.01)
        with self.turn:
            self.in_flight -= names
        return len(batch)


class FakeRay:
    """Just enough of Ray for a worker pool: actors are threads."""

    exceptions = exceptions

    def wait(self, references, num_returns, timeout):
        until = time.monotonic() + timeout
        while True:
            ready = [reference for reference in references if not reference.is_alive()]
            if len(ready) >= num_returns or time.monotonic() >= until:
                return ready, [reference for reference in references if reference not in ready]
            time.sleep(0.005)

    def get(self, reference):
        return reference.result

    def kill(self, worker) -> None:
        pass


class FakeActor:
    def __init__(self, worker) -> None:
        self.ready, self.work = FakeMethod(lambda: None), FakeMethod(worker)


class FakeMethod:
    def __init__(self, call) -> None:
        self._call = call

    def remote(self, *arguments):
        def run() -> None:
            thread.result = self._call(*arguments)

        thread = threading.Thread(target=run)
        thread.start()
        return thread


def results_of(kind: str, worker, batches: Batches) -> Iterator[int]:
    if kind == "pool":
        return WorkerPool(FakeRay(), lambda: FakeActor(worker), 3, 1).results(iter(batches))
    return Inline().map(lambda clients: worker, batches, at_once={"inline": 1, "overlapping": 4}[kind])


@pytest.mark.parametrize("continues", [True, False])
@pytest.mark.parametrize("kind", ["inline", "overlapping", "pool"])
def test_every_executor_begins_the_rest_only_when_all_that_goes_ahead_is_finished(
    kind, continues, root, tmp_path, monkeypatch
):
    script(monkeypatch, bound())
    dataset = lookaway.read(root, suite="scripted")
    work = make_plan(dataset, bind_metrics(dataset)).work()
    worker, done = Watchful(slow={"case3"}), 0
    batches = Batches(work, ahead=(work[3], work[1]), continues=lambda: continues)
    for rollouts in results_of(kind, worker, batches):
        done += rollouts
        batches.finish(rollouts)
    assert done == (5 if continues else 2)
    rest = [seen for name, seen in worker.seen.items() if name not in ("case3", "case1")]
    assert all(not seen & {"case3", "case1"} for seen in rest)
    assert len(rest) == (3 if continues else 0)
    if kind != "inline":
        assert worker.seen["case1"] == {"case1", "case3"}


def test_the_command_line_says_in_one_line_what_was_found(tmp_path, monkeypatch):
    root = write_folder(tmp_path / "videos", cases=2)
    metric = plugins.load("metrics", "rendering_lighting")

    def measure(self, rollout, features):
        raise OSError("no luck\ntoday")

    with monkeypatch.context() as patch:
        patch.setattr(metric, "measure", measure)
        arguments = ("eval", root, "--suite", "folder", "--metrics", "rendering_lighting", "-o", tmp_path / "run")
        result = command(*arguments, "--smoke", "--no-progress")
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1)
    assert "rendering_lighting on alpha/case0/0: OSError: no luck today" in result.err
    assert measured(tmp_path / "run") == ["case0"]
    assert command(*arguments, "--quiet").code == 0
