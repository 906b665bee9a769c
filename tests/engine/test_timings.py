"""What the stages of the work took: every second counts once, under the name of what was done."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

import lookaway
from lookaway.core import Compute, Feature, Frame, RunError
from lookaway.engine import feature_job as module
from lookaway.engine.feature_job import Extractors, FeatureJob
from lookaway.engine.networks import NetworkService
from lookaway.engine.timings import (
    ASKING,
    DECODING,
    METRICS,
    READING,
    SENDING,
    WAITING,
    WRITING,
    StageTiming,
    StageTimings,
    is_on_gpu,
    stage_of,
)
from lookaway.store.feature_store import FeatureStore
from tests.support.scripted import CRASHES, Brightness, bound, script
from tests.support.tiny import FRAMES, HEIGHT, WIDTH, write_folder


class Clock:
    """Stands still unless somebody says that time goes by."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = self.busy = 1000.0
        monkeypatch.setattr(time, "perf_counter", lambda: self.now)
        monkeypatch.setattr(time, "process_time", lambda: self.busy)
        monkeypatch.setattr(time, "thread_time", lambda: self.busy)

    def go(self, seconds: float, *, is_busy: bool = True) -> None:
        self.now += seconds
        self.busy += seconds if is_busy else 0.0


CLOCKS: list[Clock] = []
"""The clock of the test that runs; recipes are frozen and compared, so they cannot hold it."""


@dataclass(frozen=True)
class Slow(Brightness):
    """Takes 100 s to load, 10 s to start, 1 s for each frame and 5 s to finish."""

    name: str = "slow"

    def step(self, name: str) -> None:
        CLOCKS[-1].go({"load": 100, "start": 10, "add_frame": 1, "finish": 5}[name])
        super().step(name)


@pytest.fixture
def clock(monkeypatch) -> Clock:
    CRASHES.clear()
    CLOCKS.append(Clock(monkeypatch))
    return CLOCKS[-1]


@pytest.fixture
def rollout(tmp_path):
    return lookaway.read(write_folder(tmp_path / "videos", cases=1)).rollouts[0]


def perceive(rollout, tmp_path, *recipes, remote=None) -> FeatureJob:
    extractors = Extractors(FeatureStore(tmp_path / "features"), remote=remote or {})
    job = FeatureJob(extractors, rollout, "c" * 32, recipes)
    job.run()
    return job


def test_seconds_are_those_of_the_extractor_and_loading_stands_apart(clock, rollout, tmp_path):
    stage = perceive(rollout, tmp_path, Slow()).timings.stages["slow"]
    assert (stage.seconds, stage.cpu_seconds, stage.loading_seconds) == (10 + FRAMES + 5, 10 + FRAMES + 5, 100)
    assert (stage.rollouts, stage.frames, stage.kept) == (1, FRAMES, 0)
    assert stage.stored_bytes == 8 * FRAMES


def test_no_second_counts_twice(clock, rollout, tmp_path, monkeypatch):
    original = FeatureStore.put
    monkeypatch.setattr(FeatureStore, "put", lambda *args: (clock.go(7), original(*args))[1])
    started = clock.now
    recipe = Slow()
    timings = perceive(rollout, tmp_path, recipe, Slow(name="slower", weight=2.0, from_features=(recipe,))).timings
    counted = sum(stage.seconds + stage.loading_seconds for stage in timings.stages.values())
    assert counted == clock.now - started
    assert timings.of(WRITING).seconds == 2 * 7
    assert timings.of(DECODING).seconds == 0


def test_decoding_takes_what_is_left_between_frames_and_the_opening(clock, rollout, tmp_path, monkeypatch):
    class SlowVideo(module.Video):
        def __init__(self, path):
            clock.go(3)
            super().__init__(path)

        def frames(self, *args, **kwargs):
            for found in super().frames(*args, **kwargs):
                clock.go(2)
                yield found

    monkeypatch.setattr(module, "Video", SlowVideo)
    decoding = perceive(rollout, tmp_path, Slow()).timings.of(DECODING)
    assert (decoding.seconds, decoding.cpu_seconds) == (3 + 2 * FRAMES, 3 + 2 * FRAMES)
    assert (decoding.rollouts, decoding.frames) == (1, FRAMES)
    assert decoding.pixels == FRAMES * WIDTH * HEIGHT


def test_a_crash_while_seeing_is_no_time_of_decoding(clock, rollout, tmp_path):
    CRASHES["slow.add_frame"] = ValueError("scripted crash")
    timings = perceive(rollout, tmp_path, Slow()).timings
    assert timings.of(DECODING).seconds == 0
    assert (timings.of("slow").seconds, timings.of("slow").frames) == (10 + 1, 1)


def test_a_video_that_breaks_off_leaves_every_second_in_its_place(clock, rollout, tmp_path, monkeypatch):
    class Broken(module.Video):
        def frames(self, *args, **kwargs):
            for number, found in enumerate(super().frames(*args, **kwargs)):
                if number == 4:
                    raise ValueError("broken off")
                yield found

    monkeypatch.setattr(module, "Video", Broken)
    timings = perceive(rollout, tmp_path, Slow()).timings
    assert timings.of(DECODING).seconds == 0
    assert (timings.of("slow").seconds, timings.of("slow").frames) == (10 + 4, 4)


def test_what_was_kept_is_counted_and_takes_no_time(clock, rollout, tmp_path):
    perceive(rollout, tmp_path, Slow())
    timings = perceive(rollout, tmp_path, Slow()).timings
    assert (timings.of("slow").kept, timings.of("slow").seconds, timings.kept) == (1, 0, 1)
    assert (timings.of(DECODING).rollouts, timings.of(READING).rollouts) == (0, 1)


def test_a_network_elsewhere_has_its_own_seconds_and_the_worker_only_waits(clock, rollout, tmp_path):
    service = NetworkService()

    def client(request: Any) -> Future[Any]:
        clock.go(50, is_busy=False)  # somebody else's rollout comes first
        answer: Future[Any] = Future()
        answer.set_result(service(request))
        return answer

    timings = perceive(rollout, tmp_path, Slow(), remote={"slow": client}).timings
    stage = timings.of("slow")
    assert (stage.frames, stage.rollouts) == (FRAMES, 1)
    assert stage.seconds == 10 + FRAMES + 5
    assert stage.loading_seconds == 100
    assert timings.of(WAITING).seconds >= 50
    assert timings.of(SENDING).frames == 0


def test_waiting_for_an_answer_is_no_work_of_the_extractor(clock, rollout, tmp_path):
    class JudgeHandle(Slow):
        def perceive_later(self) -> Feature:
            clock.go(1000, is_busy=False)
            return Feature({}, {})

        def start(self, *args: Any) -> Any:
            extraction = super().start(*args)
            later = SimpleNamespace(result=self.perceive_later)
            return SimpleNamespace(request=extraction.request, add_frame=extraction.add_frame, finish=lambda: later)

    timings = perceive(rollout, tmp_path, JudgeHandle()).timings
    assert (timings.of(ASKING).seconds, timings.of(ASKING).cpu_seconds) == (1000, 0)
    assert WAITING not in timings.stages
    assert timings.of("slow").seconds == 10 + FRAMES


@pytest.mark.parametrize(
    ("stage", "is_of_all_threads"),
    [(READING, False), (WRITING, False), (ASKING, False), (WAITING, False), (DECODING, True), (METRICS, True)],
)
def test_what_is_done_beside_another_rollout_counts_no_work_of_that_one(stage, is_of_all_threads):
    timings, went_by = StageTimings(), 0.05

    def work() -> None:
        started = time.thread_time()
        while time.thread_time() - started < went_by:
            pass

    other = threading.Thread(target=work)
    with timings.timed(stage):
        other.start()
        other.join()
    assert (timings.of(stage).cpu_seconds >= went_by) == is_of_all_threads
    assert timings.of(stage).seconds >= went_by


@pytest.mark.parametrize(
    ("asking", "working", "is_pace"), [(60, 10, True), (60, 55, False), (40, 10, False), (0, 0, False)]
)
def test_a_session_tells_the_pace_of_a_judge_only_if_it_mostly_waited_for_answers(asking, working, is_pace):
    work = StageTiming(seconds=working - 5, loading_seconds=5) if working else StageTiming()
    timings = StageTimings({ASKING: StageTiming(seconds=asking), "sift": work, WAITING: StageTiming(seconds=99)})
    assert timings.is_mostly_waiting_for_judge(100) == is_pace


def test_the_timings_of_a_session_are_those_of_all_its_rollouts(tmp_path, monkeypatch):
    script(monkeypatch, bound())
    told = []
    lookaway.evaluate(
        write_folder(tmp_path / "videos", cases=3), tmp_path / "run", suite="scripted", on_progress=told.append
    )
    stages = told[-1].timings.stages
    assert (stages["brightness"].rollouts, stages["brightness"].frames) == (3, 3 * FRAMES)
    assert stages["metrics"].rollouts == stages["writing"].rollouts == 3


def test_timings_add_up_and_come_back_as_they_were_stored():
    timings = StageTimings({"a": StageTiming(seconds=1.5, frames=2)})
    timings.add(StageTimings({"a": StageTiming(seconds=1.0, frames=3, kept=1), "b": StageTiming(rollouts=4)}))
    assert timings.stages["a"] == StageTiming(seconds=2.5, frames=5, kept=1)
    assert StageTimings.from_json(timings.to_json()) == timings


@pytest.mark.parametrize(
    "value",
    [[], {"a": 1}, {"a": {"minutes": 1}}, {"a": {"seconds": "1"}}, {"a": {"frames": -1}}, {"a": {"frames": True}}],
)
def test_what_is_not_a_timing_is_refused(value):
    with pytest.raises(RunError, match="expected"):
        StageTimings.from_json(value)


def test_a_stage_says_where_its_network_runs():
    @dataclass(frozen=True)
    class Network(Brightness):
        compute: Compute = Compute(device="cuda:1", precision="bfloat16")

    @dataclass(frozen=True)
    class OnDevice(Brightness):
        device: str = "cuda:0"

    assert [stage_of(recipe) for recipe in (Brightness(), Network(), OnDevice())] == [
        "brightness",
        "brightness cuda bfloat16",
        "brightness cuda",
    ]
    assert [is_on_gpu(stage) for stage in ("brightness", "brightness cuda", "cuda cpu float32")] == [False, True, False]


def test_showing_frames_costs_little_beside_looking_at_them(rollout, tmp_path):
    frames = 2000

    @dataclass
    class Extraction:
        def add_frame(self, frame: Frame) -> None:
            pass

    stage, extraction, frame = StageTiming(), Extraction(), Frame(index=0, time_seconds=0.0, pixels=None)  # type: ignore[arg-type]
    started = time.process_time()
    for _ in range(frames):
        with stage.timed():
            extraction.add_frame(frame)
    assert (time.process_time() - started) / frames < 100e-6
