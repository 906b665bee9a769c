"""What workers share on Ray: who answers, what becomes of errors, and what of deaths."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import pytest
import ray

from lookaway.core import BudgetSpent, JudgeUnusable, Reason, Resources, RunError, Service, ServiceClients, Unmeasurable
from lookaway.engine.on_ray import services as module
from lookaway.engine.on_ray.cluster import start_local
from lookaway.engine.on_ray.executor import RayExecutor
from lookaway.engine.on_ray.services import (
    DEATHS_PER_REQUEST,
    DeathLog,
    ServiceDied,
    _CrashGuard,
    gpu_share,
    start_services,
)
from lookaway.judges.errors import NotAnswered

pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.ray,  # warnings are of Ray's own making
    pytest.mark.merge,
]


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    """Some cores, and two GPUs that are not used."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        patch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        start_local(ray, num_cpus=3, num_gpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        yield
        ray.shutdown()


@pytest.fixture(scope="module")
def clients(cluster) -> Iterator[dict[str, Any]]:
    """Of one copy that answers one request after the other, and of one that answers several at once."""
    started = {**doing(), "later": Service(make=AskedLater, at_once=8)}
    with start_services(ray, started, None) as found:
        yield found


@dataclass(frozen=True)
class Quick:
    """A request that does not wait for others."""

    is_quick: ClassVar[bool] = True
    said: Any


def make_doing() -> Callable[[Callable[[], Any] | Quick], Any]:
    """Does what it is asked to."""
    return lambda request: request.said() if isinstance(request, Quick) else request()


def raising(error: Exception) -> Any:
    raise error


def after(seconds: float, answer: Any = None) -> Any:
    time.sleep(seconds)
    return answer


def die(marks: Path, times: int) -> str:
    """The death of the process that is asked, so many times."""
    deaths = len(list(marks.iterdir()))
    if deaths < times:
        (marks / str(deaths)).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return f"alive after {deaths} deaths"


def visible_gpus() -> str | None:
    return os.environ.get("CUDA_VISIBLE_DEVICES")


def doing(**options: Any) -> dict[str, Service]:
    return {"doing": Service(make=make_doing, **options)}


class AskedLater:
    """Answers with futures, several at once."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(8)

    def __call__(self, request: Callable[[], Any]) -> Future[Any]:
        return self._pool.submit(request)


ERRORS = [
    BudgetSpent("The budget is spent: 7 of 7 calls."),
    JudgeUnusable("No such model."),
    Unmeasurable(Reason.NO_TARGET, "nobody is there."),
    NotAnswered("a refusal.", is_permanent=True, is_refusal=True),
    ValueError("of our own making", 3),
]


@pytest.mark.parametrize("name", ["doing", "later"])
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_comes_through_a_client_as_it_was_raised(clients, name, error):
    found = clients[name](partial(raising, error)).exception(30)
    assert type(found) is type(error)
    assert (str(found), found.args) == (str(error), error.args)
    assert vars(found) == vars(error)
    assert "raising" in str(found.__cause__)  # where in the other process


def test_a_service_that_cannot_be_made_ends_the_work_with_its_own_error():
    broken = {"broken": Service(make=partial(raising, JudgeUnusable("There is no key.")))}
    with pytest.raises(JudgeUnusable, match=r"There is no key\.$"), start_services(ray, broken, None):
        pytest.fail("it was not made")


def test_a_worker_that_cannot_be_made_ends_the_work_with_its_own_error():
    with pytest.raises(JudgeUnusable, match=r"There is no key\.$"):
        list(RayExecutor(Resources(workers=1)).map(lambda clients: raising(JudgeUnusable("There is no key.")), [1]))


# Deaths


def test_a_copy_that_is_killed_comes_back_and_the_request_is_answered(clients, tmp_path):
    times = DEATHS_PER_REQUEST - 1
    assert clients["doing"](partial(die, tmp_path, times)).result(200) == f"alive after {times} deaths"


def test_a_request_that_copies_die_of_is_refused_and_those_beside_it_are_answered(clients, tmp_path):
    other = clients_like(clients)
    deadly = clients["doing"](partial(die, tmp_path, 99))
    beside = [client(partial(after, 0.01, number)) for number in range(6) for client in (clients["doing"], other)]
    with pytest.raises(ServiceDied, match="3 processes of doing died of this request"):
        deadly.result(200)
    assert [future.result(200) for future in beside] == [number for number in range(6) for _ in range(2)]
    assert len(list(tmp_path.iterdir())) == DEATHS_PER_REQUEST


def clients_like(clients: ServiceClients) -> Any:
    """The client of another worker of the same copies."""
    return module.RayServiceClient("doing", clients["doing"].copies)


class LocalLog(DeathLog):
    """The death log in this process; it is called as an actor is."""

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        return found if name.startswith("_") else LocalMethod(found)


@dataclass(frozen=True)
class LocalMethod:
    """A method that is called as that of an actor is."""

    method: Callable[..., Any]

    def remote(self, *arguments: Any) -> LocalMethod:
        return LocalMethod(partial(self.method, *arguments))

    def future(self) -> Future[Any]:
        answer: Future[Any] = Future()
        answer.set_result(self.method())
        return answer


NEVER_LEFT: list[Any] = []


def hold_until_death(life: _CrashGuard, request: Any, key: str) -> None:
    """Begin a request that is not finished."""
    context = life.holding(request, key)
    NEVER_LEFT.append(context)  # otherwise it would end with the last reference to it
    context.__enter__()


@pytest.fixture
def lives(monkeypatch) -> Callable[[], _CrashGuard]:
    """Starts one process of a copy after the other; what the one before held when the next starts, it died of."""
    log = LocalLog()
    monkeypatch.setattr(module, "actor_named", lambda name: log)
    return lambda: _CrashGuard("doing", 0, "log")


def test_what_a_copy_died_of_is_not_blamed_on_what_came_before_or_waited(lives):
    life = lives()
    with life.holding("request", "fine"):
        pass
    for _ in range(DEATHS_PER_REQUEST):
        hold_until_death(life, "request", "deadly")
        life = lives()
    with pytest.raises(ServiceDied, match="3 processes of doing died of this request"), life.holding("", "deadly"):
        pytest.fail("it would kill another process")
    assert life._deaths == {"deadly": DEATHS_PER_REQUEST}


def test_what_was_answered_before_a_death_is_not_blamed_for_it(lives):
    life = lives()
    with life.holding(Quick("query"), "finished"):
        pass
    hold_until_death(life, "request", "deadly")
    assert lives()._deaths_of("finished") == 0


def test_an_innocent_request_beside_a_deadly_one_is_blamed_once_however_often_it_is_repeated(lives):
    life = lives()
    hold_until_death(life, Quick("query"), "innocent")
    hold_until_death(life, "request", "deadly")
    for deaths in range(1, DEATHS_PER_REQUEST):
        life = lives()
        assert (life._deaths_of("deadly"), life._deaths_of("innocent")) == (deaths, 1)
        hold_until_death(life, "request", "deadly")
        beside = (life, Quick("query"), "innocent")
        threading.Thread(target=hold_until_death, args=beside, daemon=True).start()  # waits for the deadly one
        assert not life._quick.acquire(blocking=False)
    assert lives()._deaths_of("deadly") == DEATHS_PER_REQUEST
    with lives().holding(Quick("query"), "innocent"):
        pass


def test_requests_that_killed_nothing_are_answered_at_once(lives):
    life = lives()
    with life.holding("request", "slow"), life.holding(Quick("query"), "quick"):
        assert life._held == {"slow", "quick"}


def test_a_service_without_anybody_to_blame_ends_the_run_when_it_keeps_dying(clients, tmp_path):
    with pytest.raises(RunError, match="actors of later have died"):
        clients["later"](partial(die, tmp_path, 99)).result(200)
    assert len(list(tmp_path.iterdir())) == 1 + module.RETRIES


# Room


def make_deadly(marks: Path) -> Callable[[Any], Any]:
    """Dies before it is ready."""
    (marks / str(os.getpid())).touch()
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def test_a_service_that_dies_before_it_is_ready_ends_the_run_and_says_which(tmp_path):
    with (
        pytest.raises(RunError, match="The actors of doomed could not be started"),
        start_services(ray, {"doomed": Service(make=partial(make_deadly, tmp_path))}, None),
    ):
        pass
    assert len(list(tmp_path.iterdir())) == module.DEATHS_AT_START


def ask_and_wait(clients: ServiceClients) -> Callable[[int], Any]:
    return lambda number: clients["doing"](partial(after, 0.5, number)).result()


@pytest.mark.parametrize("wants_gpu", [False, True])
def test_runs_whose_services_fill_the_cluster_do_not_wait_for_each_other(wants_gpu):
    def run(_: int) -> list[Any]:
        pool = RayExecutor(Resources(workers=1))
        return sorted(pool.map(ask_and_wait, range(3), services=doing(copies=2, wants_gpu=wants_gpu)))

    with ThreadPoolExecutor(2) as together:
        assert list(together.map(run, range(2), timeout=200)) == [[0, 1, 2]] * 2


def test_how_many_workers_there_are_is_what_the_cluster_has_and_services_leave():
    pool = RayExecutor()
    assert sorted(pool.map(ask_and_wait, range(4), services=doing())) == [0, 1, 2, 3]
    assert pool.workers == 2  # of three cores


# The end


def take_a_second(marks: Path) -> None:
    (marks / "begun").touch()
    time.sleep(1.0)
    (marks / "given").touch()


@pytest.mark.parametrize("error", [None, OSError("the disk is full")], ids=["done", "failed"])
def test_answers_in_flight_at_the_end_are_still_given(tmp_path, error):
    with (
        pytest.raises(OSError, match="full") if error else nullcontext(),
        start_services(ray, {"later": Service(make=AskedLater, at_once=8)}, None) as found,
    ):
        found["later"](partial(take_a_second, tmp_path))
        while not (tmp_path / "begun").exists():
            time.sleep(0.01)
        if error:
            raise error
    assert (tmp_path / "given").exists()


@pytest.mark.parametrize("ending", [GeneratorExit, KeyboardInterrupt])
def test_an_interruption_leaves_no_actor_and_waits_for_none(ending):
    def make(clients: ServiceClients) -> Callable[[int], Any]:
        def work(number: int) -> Any:
            clients["doing"](partial(after, 60.0 * number))
            return clients["doing"](Quick(os.getpid)).result(), os.getpid()

        return work

    mapped = RayExecutor(Resources(workers=1)).map(make, range(3), services=doing())
    processes = {*next(mapped)}
    assert len(processes) == 2
    began = time.monotonic()
    with pytest.raises(ending):
        mapped.throw(ending())
    while any(is_running(process) for process in processes):
        assert time.monotonic() - began < 50
        time.sleep(0.05)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


# Who answers


def test_a_quick_request_does_not_wait_for_a_slow_one(clients):
    slow = clients["doing"](partial(after, 2.0, "slow"))
    assert clients["doing"](Quick(partial(after, 0.0, "quick"))).result(30) == "quick"
    assert not slow.done()
    assert slow.result(30) == "slow"


def test_slow_requests_of_one_copy_are_answered_one_after_the_other(clients):
    def stretch() -> tuple[float, float]:
        return time.monotonic(), after(0.1, 0.0) + time.monotonic()

    stretches = sorted(future.result(30) for future in [clients["doing"](stretch) for _ in range(4)])
    assert all(end <= begin for (_, end), (begin, _) in pairwise(stretches))


class Answering:
    """A copy of a service, without Ray: who asks it gets the answer when the test says so."""

    def __init__(self) -> None:
        self.answers: list[Future[Any]] = []

    @property
    def serve(self) -> Answering:
        return self

    def remote(self, request: Any, number: str) -> Answering:
        self.answers.append(Future())
        return self

    def future(self) -> Future[Any]:
        return self.answers[-1]


def test_requests_go_to_the_copy_that_has_the_fewest():
    copies = [Answering(), Answering(), Answering()]
    client = module.RayServiceClient("doing", copies)
    for _ in range(6):
        client("request")
    assert [len(copy.answers) for copy in copies] == [2, 2, 2]
    for answer in copies[1].answers:
        answer.set_result("answer")
    for _ in range(2):
        client("request")
    assert [len(copy.answers) for copy in copies] == [2, 4, 2]


# GPUs


def test_every_copy_sees_the_gpu_that_it_was_given_and_who_finds_no_room_is_waited_for(monkeypatch):
    class Enough(Exception):
        pass

    def warn(message: str, *arguments: object) -> None:
        raise Enough(message % arguments)

    with start_services(ray, doing(copies=3, wants_gpu=True), None) as found:
        seen = [module.RayServiceClient("one", [copy])(visible_gpus).result(30) for copy in found["doing"].copies]
        assert sorted(seen) in (["0", "0", "1"], ["0", "1", "1"])
        monkeypatch.setattr(module, "SECONDS_BEFORE_WARNING", 1.0)
        monkeypatch.setattr(module.LOG, "warning", warn)
        late = {"late": Service(make=make_doing, wants_gpu=True)}
        said = pytest.raises(Enough, match=r"the actors of late: the cluster has \d cores and 0.5 GPUs free.")
        with said, start_services(ray, late, 1.0):
            pytest.fail("there was room")


def test_more_copies_than_fit_on_the_gpus_are_an_error_before_anything_waits():
    with (
        pytest.raises(RunError, match=r"5 networks on GPUs need 0.4 each, found 2 in the cluster. Lower"),
        start_services(ray, doing(copies=5, wants_gpu=True), 0.4),
    ):
        pytest.fail("there was room")


@pytest.mark.parametrize(
    ("found", "copies", "asked", "share"),
    [
        (8, 8, None, 1.0),
        (8, 3, None, 1.0),
        (8, 9, None, 0.5),
        (1, 3, None, 0.3333),
        (0, 0, None, 0.0),
        (0, 4, 0.0, 0.0),
        (2, 4, 0.5, 0.5),
        (1, 10, 0.1, 0.1),
        (4, 2, 2.0, 2.0),
    ],
)
def test_shares_of_gpus_fit(found, copies, asked, share):
    assert gpu_share(found, copies, asked) == pytest.approx(share, abs=1e-9)
    assert share <= 1 or share.is_integer()


@pytest.mark.parametrize(
    ("found", "copies", "asked"), [(0, 1, None), (0, 1, 0.5), (2, 5, 0.4), (2, 3, 0.7), (4, 3, 2.0), (4, 1, 1.5)]
)
def test_shares_of_gpus_that_cannot_be_had_are_refused(found, copies, asked):
    with pytest.raises(RunError, match="GPUs"):
        gpu_share(found, copies, asked)
