from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

import lookaway
from lookaway.cli.run_options import parse_size
from lookaway.core import Abstention, GaveUp, LastResult, Reason, Resources, RunError, Score, ServiceClients, UserError
from lookaway.engine.inline import Inline
from lookaway.engine.limits import RolloutLimits, Stopwatch, held_memory, machine_memory
from lookaway.engine.worker import BatchReport, RolloutWorker, Work
from lookaway.store.feature_store import FeatureStore
from lookaway.store.run_folder import RunFolder
from tests.support.command import lookaway as command
from tests.support.hungry import hungry_extractor, hungry_metric
from tests.support.runs import events, outcomes
from tests.support.scripted import ANSWERS, bound, script
from tests.support.tiny import write_folder

ALLOWED = {"sleep": Resources(rollout_seconds=0.5), "grow": Resources(rollout_memory=1_000_000_000)}
REASONS = {"sleep": "too_slow", "grow": "too_large", "die": "WorkerDied"}
ROLLOUTS = [f"alpha/case{number}/0" for number in range(4)]
SPOILT = ROLLOUTS[1]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_folder(tmp_path_factory.mktemp("videos"), cases=4)


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    """A folder with a file for each time that the spoilt rollout was tried."""
    (tmp_path / "marks").mkdir()
    return tmp_path / "marks"


def tried(marks: Path) -> int:
    return len(list(marks.iterdir()))


def found(run: Path, metric: str) -> dict[str, str]:
    """Status of every rollout, or the reason for having none."""
    return {
        rollout: str(row["reason"] or row["status"]) for (rollout, name), row in outcomes(run).items() if name == metric
    }


def scored_but(reason: str) -> dict[str, str]:
    return {rollout: reason if rollout == SPOILT else "score" for rollout in ROLLOUTS}


# In a child process.


@pytest.mark.parametrize(
    "how",
    [
        pytest.param("sleep", marks=pytest.mark.merge),
        pytest.param("grow", marks=pytest.mark.nightly),
        pytest.param("die", marks=pytest.mark.nightly),
    ],
)
def test_a_spoilt_rollout_costs_no_other_one_and_a_resume_goes_on(how, root, tmp_path, marks, monkeypatch):
    script(monkeypatch, *hungry_metric(how, marks))
    options = {"suite": "scripted", "resources": ALLOWED.get(how, Resources(rollout_seconds=60))}
    lookaway.evaluate(root, tmp_path / "run", **options)
    assert found(tmp_path / "run", "hungry") == scored_but(REASONS[how])
    row = outcomes(tmp_path / "run")[SPOILT, "hungry"]
    assert "--rollout-" in row["message"]
    times = tried(marks)
    lookaway.evaluate(root, tmp_path / "run", **options)
    assert found(tmp_path / "run", "hungry") == scored_but(REASONS[how])
    # A death is a failure, which every resume tries once more; what passed a limit stays as it is.
    assert tried(marks) == times + (how == "die")


@pytest.mark.nightly
@pytest.mark.parametrize("how", ["sleep", "grow"])
def test_an_extractor_that_passes_a_limit_makes_the_metrics_that_need_it_abstain(
    how, root, tmp_path, marks, monkeypatch
):
    script(monkeypatch, *hungry_extractor(how, marks))
    lookaway.evaluate(root, tmp_path / "run", suite="scripted", resources=ALLOWED[how])
    assert found(tmp_path / "run", "fed") == scored_but(REASONS[how])
    assert tried(marks) == 1


@pytest.mark.nightly
def test_a_metric_that_was_measured_before_the_limit_was_passed_keeps_its_score(root, tmp_path, marks, monkeypatch):
    script(monkeypatch, *hungry_metric("sleep", marks))
    lookaway.evaluate(root, tmp_path / "run", suite="scripted", resources=ALLOWED["sleep"])
    assert found(tmp_path / "run", "modest") == dict.fromkeys(ROLLOUTS, "score")


@pytest.mark.nightly
def test_a_higher_limit_measures_the_rollout_again_and_the_same_or_none_does_not(root, tmp_path, marks, monkeypatch):
    script(monkeypatch, *hungry_metric("sleep", marks))
    for resources in (Resources(rollout_seconds=0.2), Resources(rollout_seconds=0.2), None):
        lookaway.evaluate(root, tmp_path / "run", suite="scripted", resources=resources)
        assert tried(marks) == 1
    lookaway.evaluate(root, tmp_path / "run", suite="scripted", resources=Resources(rollout_seconds=0.4))
    assert tried(marks) == 2
    lookaway.evaluate(root, tmp_path / "run", suite="scripted", resources=Resources(rollout_seconds=0.4))
    assert tried(marks) == 2


@pytest.mark.merge
def test_rows_in_a_child_process_are_those_without_one(root, tmp_path):
    lookaway.evaluate(root, tmp_path / "here", metrics=["rendering_lighting"])
    lookaway.evaluate(
        root, tmp_path / "child", metrics=["rendering_lighting"], resources=Resources(rollout_seconds=600)
    )
    assert outcomes(tmp_path / "here") == outcomes(tmp_path / "child")


def make_double(clients: ServiceClients) -> Callable[[int], int]:
    return lambda number: 2 * number


def make_dying(clients: ServiceClients) -> Callable[[int], int]:
    def work(number: int) -> int:
        if number == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return 2 * number

    return work


def make_last(clients: ServiceClients) -> Callable[[int], Any]:
    return lambda number: LastResult(os.getpid()) if number < 2 else os.getpid()


def make_failing(clients: ServiceClients) -> Callable[[int], int]:
    def work(number: int) -> int:
        raise RunError("the disk is full.")

    return work


def make_nothing(clients: ServiceClients) -> Callable[[int], int]:
    raise UserError("there is no such network.")


def in_child(make: Callable[[ServiceClients], Callable[[int], Any]], items: Any, **options: Any) -> Iterator[Any]:
    return Inline(Resources(rollout_seconds=60)).map(make, items, **options)


@pytest.mark.merge
def test_results_of_a_child_come_back_and_items_may_come_late():
    waiting = [1]
    results = []
    for result in in_child(make_double, iter(lambda: waiting.pop() if waiting else None, None)):
        results.append(result)
        waiting.extend([5] if result == 2 else [])
    assert results == [2, 10]
    assert sorted(in_child(make_double, range(5), at_once=3)) == [0, 2, 4, 6, 8]


@pytest.mark.merge
@pytest.mark.parametrize("at_once", [1, pytest.param(3, marks=pytest.mark.nightly)])
def test_only_the_item_that_a_child_dies_of_is_given_up(at_once):
    results = list(in_child(make_dying, range(4), at_once=at_once))
    assert [result for result in results if isinstance(result, GaveUp)] == [GaveUp(1, 1)]
    assert sorted(result for result in results if not isinstance(result, GaveUp)) == [0, 4, 6]


@pytest.mark.nightly
def test_after_a_last_result_another_process_works():
    first, second, third, fourth = in_child(make_last, range(4))
    assert len({first, second, third}) == 3
    assert third == fourth


@pytest.mark.merge
@pytest.mark.parametrize(("make", "message"), [(make_failing, "disk is full"), (make_nothing, "no such network")])
def test_an_error_of_the_worker_is_raised_as_without_a_child(make, message):
    with pytest.raises(UserError, match=message):
        list(in_child(make, [0]))


# In this process.


def worker(folder: Path, limits: RolloutLimits | None, *protocol: Any) -> RolloutWorker:
    metrics = {entry.name: entry for entry in protocol}
    return RolloutWorker(RunFolder(folder), FeatureStore(folder / "features"), metrics, limits=limits)


def batch(root: Path, *metrics: str) -> list[Work]:
    rollouts = lookaway.read(root, suite="folder").rollouts
    return [Work(rollout=rollout, content=rollout.id, metrics=metrics) for rollout in rollouts]


def stuck(release: threading.Event) -> Callable[[Any], Score]:
    def answer(rollout: Any) -> Score:
        if rollout.id == SPOILT:
            release.wait()
        return Score(1.0)

    return answer


def test_what_was_not_begun_is_given_back_with_the_last_result(root, tmp_path, monkeypatch):
    script(monkeypatch, bound())
    release = threading.Event()
    ANSWERS["mean_brightness"] = stuck(release)
    folder = RunFolder(tmp_path / "run")
    folder.outcomes.mkdir(parents=True)
    work = batch(root, "mean_brightness")
    limits = RolloutLimits(seconds=0.2, memory=machine_memory())
    result = worker(tmp_path / "run", limits, bound())(work)
    try:
        assert isinstance(result, LastResult)
        report: BatchReport = result.result
        assert [entry.rollout for entry in report.reports] == ROLLOUTS[:2]
        assert [entry.rollout.id for entry in report.rest] == ROLLOUTS[2:]
        (event,) = events(tmp_path / "run", "passed_limit")
        assert (event["rollout"], event["reason"], event["limit"]) == (SPOILT, "too_slow", 0.2)
    finally:
        release.set()


def test_a_worker_within_its_limits_gives_what_one_without_gives(root, tmp_path, monkeypatch):
    script(monkeypatch, bound())
    counts = []
    for name, limits in {"free": None, "limited": RolloutLimits(seconds=60)}.items():
        RunFolder(tmp_path / name).outcomes.mkdir(parents=True)
        result = worker(tmp_path / name, limits, bound())(batch(root, "mean_brightness"))
        assert isinstance(result, BatchReport)
        counts.append([(entry.rollout, entry.scores) for entry in result.reports])
    assert counts[0] == counts[1] == [(rollout, 1) for rollout in ROLLOUTS]


def test_an_error_that_ends_the_run_is_raised_by_a_worker_with_limits(root, tmp_path, monkeypatch):
    script(monkeypatch, bound())
    RunFolder(tmp_path / "run").outcomes.mkdir(parents=True)
    measuring = worker(tmp_path / "run", RolloutLimits(seconds=60), bound())
    monkeypatch.setattr(RunFolder, "add", lambda folder, measured: (_ for _ in ()).throw(RunError("no space is left.")))
    with pytest.raises(RunError, match="no space"):
        measuring(batch(root, "mean_brightness"))


def test_a_rollout_within_both_limits_has_passed_none():
    assert RolloutLimits(seconds=1.0, memory=100).passed(1.0, 100) is None


@pytest.mark.parametrize(
    ("seconds", "held", "reason", "measured", "limit"),
    [
        (1.5, 100, Reason.TOO_SLOW, "1.5 s", "1 s"),
        (0.5, 3_000_000, Reason.TOO_LARGE, "3 MB", "2 MB"),
    ],
)
def test_the_message_says_what_was_measured_what_the_limit_is_and_which_option_raises_it(
    seconds, held, reason, measured, limit
):
    passed = RolloutLimits(seconds=1.0, memory=2_000_000).passed(seconds, held)
    assert isinstance(passed, Abstention)
    assert passed.reason is reason
    assert f"{measured} and was stopped; the limit is {limit}." in passed.message
    assert ("--rollout-seconds" if reason is Reason.TOO_SLOW else "--rollout-memory") in passed.message


def test_the_default_of_time_grows_with_the_extractors_of_the_plan_and_that_of_memory_with_the_machine():
    alone, fed = hungry_metric("", Path())[:1], hungry_extractor("", Path())
    assert RolloutLimits.of(Resources(), fed).seconds == 2 * RolloutLimits.of(Resources(), alone).seconds
    assert 0.5 < RolloutLimits.of(Resources(), fed).bytes / machine_memory() < 1
    assert RolloutLimits.of(Resources(rollout_seconds=7), fed).seconds == 7


def test_a_stopwatch_counts_neither_pauses_nor_the_time_between(monkeypatch):
    now = 0.0
    monkeypatch.setattr("lookaway.engine.limits.time.monotonic", lambda: now)
    watch = Stopwatch()
    with watch.running():
        now = 1.0
        with watch.paused():
            assert not watch.is_running
            now = 11.0
        assert watch.is_running
        now = 13.0
    now = 20.0
    assert watch.seconds == 3.0
    with watch.paused():
        now = 30.0
    assert (watch.is_running, watch.seconds) == (False, 3.0)
    watch.reset()
    assert watch.seconds == 0.0


def test_memory_that_is_held_is_seen():
    before = held_memory()
    held = bytearray(os.urandom(1)) * 200_000_000
    assert held_memory() - before > 150_000_000
    del held


def test_a_limit_of_nothing_is_refused():
    with pytest.raises(UserError, match="more than zero"):
        Resources(rollout_seconds=0)
    with pytest.raises(UserError, match="at least one"):
        Resources(rollout_memory=0)


def test_other_resources_still_need_ray():
    with pytest.raises(UserError, match="need Ray"):
        Inline(Resources(workers=2, rollout_seconds=1))


@pytest.mark.parametrize(
    ("text", "size"), [("8GB", 8 * 10**9), ("500 MB", 5 * 10**8), ("1.5kB", 1500), ("7B", 7), ("2TB", 2 * 10**12)]
)
def test_a_size_is_a_number_with_a_unit(text, size):
    assert parse_size(None, None, text) == size  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["8", "GB", "8gb", "-1GB", "0GB", "0.0001B", "1e9B", "8GiB", "8GB\n8GB", "٣GB", ""])
def test_what_is_no_size_is_refused_with_an_example(text):
    with pytest.raises(click.BadParameter, match="such as 8GB"):
        parse_size(None, None, text)  # type: ignore[arg-type]


@pytest.mark.merge
def test_the_command_line_takes_both_limits(root, tmp_path):
    given = ("--metrics", "rendering_lighting", "--rollout-seconds", 600, "--rollout-memory", "4GB", "--quiet")
    result = command("eval", root, "-o", tmp_path / "run", *given)
    assert (result.code, result.err) == (0, "")
    assert {rollout for rollout, _ in outcomes(tmp_path / "run")} == set(ROLLOUTS)
