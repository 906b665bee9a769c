"""Evaluations on Ray whose networks and judges are shared, against the same ones in one process."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Annotated, Any, ClassVar
from uuid import uuid4

import numpy as np
import pyarrow.parquet as pq
import pytest
import ray

import lookaway
from lookaway.core import (
    BoundMetric,
    BudgetSpent,
    Compute,
    ExtractorBase,
    Feature,
    Features,
    Json,
    JudgeHandle,
    JudgeModel,
    JudgeRequest,
    JudgeUnusable,
    Outcome,
    Resources,
    Rollout,
    Sampler,
    Score,
    Timeline,
    Unit,
    UserError,
)
from lookaway.engine.on_ray.cluster import start_local
from lookaway.engine.shared_services import shared_services
from lookaway.io.sampling import UniformFrames
from lookaway.judges.budget import Budget
from lookaway.judges.client import CATCH_UP_SECONDS, RetryPolicy
from lookaway.judges.reply import read_reply
from lookaway.judges.server import Connection, Secret
from lookaway.judges.settings import JudgeSettings
from lookaway.perception.isolation.environment import Environment
from lookaway.perception.isolation.runner import LoadedIsolated, Runner
from lookaway.perception.similarity.dinov2_embeddings import Dinov2Embeddings
from lookaway.store.run_folder import RunFolder
from tests.judges.requests import QUICK, completion
from tests.support.command import lookaway as command
from tests.support.hub import empty_hub
from tests.support.runs import outcomes, table_text
from tests.support.scripted import Brightness, MeanBrightness, script
from tests.support.tiny import write_folder, write_mbench

pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.ray,  # warnings are of Ray's own making
    pytest.mark.merge,
]
MARKS = "TEST_MARKS"
KEY = "sk-of-a-test-0123456789"
ROLLOUTS = 4


@pytest.fixture(scope="module", autouse=True)
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Ray with three cores, tiny weights and a home for environments; yields its address."""
    with pytest.MonkeyPatch.context() as patch:
        empty_hub(tmp_path_factory.mktemp("hub"), patch)
        patch.setenv("LOOKAWAY_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv(MARKS, str(tmp_path_factory.mktemp("marks")))
        if os.environ.get("PIP_FIND_LINKS"):
            patch.setenv("UV_FIND_LINKS", os.environ["PIP_FIND_LINKS"])
        start_local(ray, num_cpus=3, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        yield ray.get_runtime_context().gcs_address
        ray.shutdown()


@pytest.fixture
def marks() -> Iterator[Path]:
    """Where processes of all kinds leave word of what they did."""
    folder = Path(os.environ[MARKS])
    yield folder
    for path in folder.iterdir():
        path.unlink()


def mark(what: str, **facts: Json) -> None:
    text = json.dumps({"what": what, "pid": os.getpid(), "torch": "torch" in sys.modules, **facts})
    (Path(os.environ[MARKS]) / uuid4().hex).write_text(text)


def marked(folder: Path, what: str) -> list[dict[str, Any]]:
    marks = [json.loads(path.read_text()) for path in folder.iterdir()]
    return [each for each in marks if each["what"] == what]


@pytest.fixture
def videos(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "videos", cases=ROLLOUTS)


def evaluated(videos: Path, run: Path, resources: Resources | None = None, **options: Any) -> Path:
    """A run of the scripted suite, on Ray where resources are given."""
    executor = {"executor": "ray", "resources": resources} if resources else {}
    lookaway.evaluate(videos, run, suite="scripted", **executor, **options)
    return run


def rows(run: Path) -> list[str]:
    """All rows of a run, units included, in an order of their own."""
    return sorted(
        json.dumps(row, sort_keys=True) for part in RunFolder(run).parts() for row in pq.read_table(part).to_pylist()
    )


# Networks


@dataclass(frozen=True)
class TokenSpread:
    """How far the tokens of frames are from their mean; a unit for each frame."""

    name: str = "token_spread"
    version: ClassVar[int] = 1
    unit: ClassVar[str] = "score"
    raw_unit: ClassVar[str | None] = None
    range: ClassVar[tuple[float | None, float | None]] = (0.0, None)
    higher_is_better: ClassVar[bool] = True
    needs: tuple[str, ...] = ("tokens",)
    uses: tuple[str, ...] = ()

    def declines(self, rollout: Rollout) -> None:
        return None

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        mark("measured")
        found = features["tokens"]
        far = np.linalg.norm(found["cls"] - found["cls"].mean(0), axis=1) + found["patches"].astype(float).std()
        frames = zip(found["frame_indices"].tolist(), far.tolist(), strict=True)
        return Score(float(far.mean()), units=tuple(Unit(f"frame {frame}", Score(value)) for frame, value in frames))


@dataclass(frozen=True, slots=True)
class Dinov2(Dinov2Embeddings):
    """Says when it is loaded."""

    def load(self) -> Any:
        mark("loaded", frames=self.frames.count)
        return Dinov2Embeddings.load(self)


def of_tokens(*counts: int) -> tuple[BoundMetric, ...]:
    """A metric for every recipe; they differ in how many frames they see."""
    from tests.support.networks import tiny_dinov2

    weights = tiny_dinov2()
    return tuple(
        BoundMetric(
            name=f"spread_{count}",
            metric=TokenSpread(name=f"spread_{count}"),
            recipes={"tokens": Dinov2(weights=weights, frames=UniformFrames(count))},
        )
        for count in counts
    )


@pytest.mark.nightly
def test_one_actor_or_two_give_every_row_of_one_process_and_load_a_network_once_each(
    videos, tmp_path, marks, monkeypatch
):
    script(monkeypatch, *of_tokens(3, 5))
    alone = evaluated(videos, tmp_path / "alone")
    assert len(rows(alone)) == ROLLOUTS * (1 + 3 + 1 + 5)
    for copies in (1, 2):
        for path in marks.iterdir():
            path.unlink()
        shared = evaluated(videos, tmp_path / f"shared{copies}", Resources(workers=1, replicas={"dinov2": copies}))
        assert rows(shared) == rows(alone)
        assert table_text(shared) == table_text(alone)
        loads, measures = marked(marks, "loaded"), marked(marks, "measured")
        networks, workers = {load["pid"] for load in loads}, {each["pid"] for each in measures}
        assert len(networks) == copies
        assert len(loads) == len({(load["pid"], load["frames"]) for load in loads})
        assert {load["frames"] for load in loads} == {3, 5}
        assert workers.isdisjoint({os.getpid(), *networks})
        assert not any(each["torch"] for each in measures)


def test_recipes_that_differ_in_their_frames_share_the_weights_of_a_network_as_long_as_one_is_in_use():
    first, second = (bound.recipes["tokens"] for bound in of_tokens(3, 5))
    model = first.network().model
    assert second.network().model is model
    assert replace(first, compute=Compute(precision="bfloat16")).network().model is not model
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


@dataclass(frozen=True)
class Deadly(Brightness):
    """Kills the process that looks at some rollouts: once, or whenever it does."""

    name: str = "deadly"

    def start(self, rollout: Rollout, timeline: Timeline, features: Features) -> Any:
        extraction = Brightness.start(self, rollout, timeline, features)
        return _DeadlyExtraction(extraction, rollout.case.id)


@dataclass
class _DeadlyExtraction:
    extraction: Any
    case: str

    @property
    def request(self) -> Any:
        return self.extraction.request

    def add_frame(self, frame: Any) -> None:
        self.extraction.add_frame(frame)

    def finish(self) -> Feature:
        deaths = len([each for each in marked(Path(os.environ[MARKS]), "died") if each["case"] == self.case])
        if (self.case == "case1" and deaths < 1) or self.case == "case2":
            mark("died", case=self.case)
            os.kill(os.getpid(), signal.SIGKILL)
        return self.extraction.finish()


def test_a_network_that_dies_comes_back_and_what_it_always_dies_of_fails_alone(videos, tmp_path, marks, monkeypatch):
    fine, deadly = (MeanBrightness(name=name) for name in ("fine", "deadly"))
    script(
        monkeypatch,
        BoundMetric(name="fine", metric=fine, recipes={"brightness": Brightness()}),
        BoundMetric(name="deadly", metric=deadly, recipes={"brightness": Deadly()}),
    )
    run = evaluated(videos, tmp_path / "run", Resources(workers=1, replicas={"deadly": 1}))
    found = outcomes(run)
    by_case = {rollout.split("/")[1]: row for (rollout, metric), row in found.items() if metric == "deadly"}
    assert [by_case[f"case{number}"]["status"] for number in range(ROLLOUTS)] == ["score", "score", "failure", "score"]
    assert by_case["case2"]["reason"] == "ServiceDied"
    assert "3 processes of deadly died of this request" in by_case["case2"]["message"]
    assert {row["status"] for (_, metric), row in found.items() if metric == "fine"} == {"score"}
    assert len(marked(marks, "died")) == 1 + 3


# Environments of their own

SIX_RUNNER = """
import json, os, sys, uuid
from pathlib import Path
import numpy as np
import six
def load(settings):
    version = [int(part) for part in six.__version__.split(".")]
    def run(arrays, settings):
        title = Path("/proc/self/cmdline").read_bytes().decode()
        mark = {"what": "seen", "pid": os.getpid(), "prefix": sys.prefix, "title": title, "version": version}
        Path(settings["marks"], uuid.uuid4().hex).write_text(json.dumps(mark))
        return {"version": np.tile(version, (len(arrays["frames"]), 1)), "means": arrays["frames"].mean((1, 2, 3))}
    return run
"""


@dataclass(frozen=True, slots=True)
class SixVersion(ExtractorBase):
    """Sees frames in an environment of its own, and which version of a library is there."""

    name: ClassVar[str] = "six_version"
    bytes_per_frame: ClassVar[float] = 8.0
    arrays: ClassVar[Mapping[str, str]] = {}

    environment: Annotated[Environment, "packages"]
    file: Annotated[str, "the runner file"] = ""
    frames: Annotated[Sampler, "which"] = UniformFrames(2)

    def load(self) -> LoadedIsolated:
        marks = str(Path(self.file).parent / "seen")
        runner = Runner(environment=self.environment, file=Path(self.file), settings={"marks": marks})
        runner.start()
        return LoadedIsolated(runner=runner, frames=self.frames, height=24)


@dataclass(frozen=True)
class MinorVersion(TokenSpread):
    """The version that was seen, and the brightness."""

    name: str = "minor_version"
    needs: tuple[str, ...] = ("seen",)

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        found = features["seen"]
        return Score(float(found["version"][0, 1]), detail={"means": found["means"].tolist()})


@pytest.mark.nightly
def test_extractors_with_conflicting_pins_run_in_actors_in_their_environments(videos, tmp_path, monkeypatch):
    (tmp_path / "seen").mkdir()
    (tmp_path / "six_runner.py").write_text(SIX_RUNNER)
    environments = {minor: Environment(("numpy==2.4.6", f"six==1.{minor}.0")) for minor in (15, 16)}
    script(
        monkeypatch,
        *(
            BoundMetric(
                name=f"six_{minor}",
                metric=MinorVersion(name=f"six_{minor}"),
                recipes={"seen": SixVersion(environment, str(tmp_path / "six_runner.py"))},
            )
            for minor, environment in environments.items()
        ),
    )
    run = evaluated(videos, tmp_path / "ray", Resources(workers=1))
    seen = marked(tmp_path / "seen", "seen")
    assert {(Path(each["prefix"]), each["version"][1]) for each in seen} == {
        (environment.folder, minor) for minor, environment in environments.items()
    }
    assert all(each["title"].startswith("ray::") for each in seen)
    assert len({each["pid"] for each in seen}) == 2
    assert {(metric, row["value"]) for (_, metric), row in outcomes(run).items()} == {
        ("six_15", 15.0),
        ("six_16", 16.0),
    }
    alone = evaluated(videos, tmp_path / "alone")
    assert rows(run) == rows(alone)
    assert table_text(run) == table_text(alone)


# Which services there are


def services_of(*recipes: Any, **replicas: int) -> dict[str, Any]:
    metrics = [BoundMetric(name=str(n), metric=TokenSpread(), recipes={"tokens": one}) for n, one in enumerate(recipes)]
    return shared_services(metrics, replicas, None, Path("run"))


@pytest.mark.parametrize(("python", "is_entered"), [("3.11", True), ("3.11.7", True), ("3.1", False), ("3.12", False)])
def test_only_an_environment_of_our_version_of_python_is_entered(python, is_entered, monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 11, 9))
    (service,) = services_of(SixVersion(Environment(("six==1.16.0",), python=python))).values()
    assert (service.python is not None) == is_entered


def test_recipes_of_one_extractor_share_a_service_and_those_in_other_environments_do_not():
    from lookaway.perception.weights import Weights

    weights = Weights(name="tiny", source="", revision="", files=())
    tokens = [Dinov2Embeddings(weights=weights, frames=UniformFrames(count)) for count in (2, 3)]
    assert services_of(*tokens) == {}
    assert {name: service.copies for name, service in services_of(*tokens, dinov2=2).items()} == {
        "dinov2_embeddings": 2
    }
    on_gpu = Dinov2Embeddings(weights=weights, compute=Compute(device="cuda"))
    for recipes in ((on_gpu, *tokens), (*tokens, on_gpu)):
        shared = services_of(*recipes, dinov2=1)
        assert [service.wants_gpu for service in shared.values()] == [True]
    isolated = [SixVersion(Environment((f"six=={version}",))) for version in ("1.15.0", "1.16.0")]
    assert len(services_of(*isolated)) == 2
    with pytest.raises(UserError, match="Use --device cuda"):
        services_of(Dinov2Embeddings(weights=weights, compute=Compute(device="cuda:1")))


# Judges


@dataclass(frozen=True)
class Verdict(ExtractorBase):
    """Asks some questions about every rollout."""

    name: ClassVar[str] = "verdict"
    seconds_per_frame: ClassVar[float] = 0.0
    bytes_per_frame: ClassVar[float] = 0.0
    arrays: ClassVar[Mapping[str, str]] = {}
    judge: JudgeModel = JudgeModel()
    questions: int = 3

    def load(self) -> Any:
        raise NotImplementedError("it asks a judge")

    def questions_per_rollout(self, rollout: Rollout) -> int:
        return self.questions

    def conditional_questions(self, rollout: Rollout) -> int:
        return 0

    def load_with(self, asking: JudgeHandle) -> Any:
        return _LoadedVerdict(self, asking)


@dataclass(frozen=True)
class _LoadedVerdict:
    recipe: Verdict
    asking: JudgeHandle

    def start(self, rollout: Rollout, timeline: Timeline, features: Features) -> Any:
        return _VerdictExtraction(self, rollout.case.id)


@dataclass
class _VerdictExtraction:
    loaded: _LoadedVerdict
    case: str
    request: ClassVar[None] = None
    _answers: list[Future[Json]] = field(default_factory=list)

    def finish(self) -> Any:
        recipe = self.loaded.recipe
        put = partial(JudgeRequest, judge=recipe.judge, system="Rules.")
        for number in range(recipe.questions):
            self._answers.append(self.loaded.asking.ask(put(instruction=f"Question {number} on {self.case}.")))
        return self

    def result(self) -> Feature:
        said = [read_reply(answer.result()).text for answer in self._answers]
        return Feature({"cls": np.array([[len(text)] for text in said], float), "patches": np.zeros(1)})


@dataclass(frozen=True)
class AnswerLength(TokenSpread):
    """How long the answers are."""

    name: str = "answer_length"
    needs: tuple[str, ...] = ("verdict",)

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        return Score(float(features["verdict"]["cls"].mean()))


@contextmanager
def judging(status: int = 200) -> Iterator[tuple[str, list[tuple[float, str]]]]:
    """A judge behind HTTP; yields its address and the times and questions that arrived."""
    arrived: list[tuple[float, str]] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            question = json.dumps(body["messages"][-1]["content"])
            arrived.append((time.monotonic(), question))
            text = '{"ready": true}' if "Question" not in question else "yes" * (1 + len(question) % 7)
            reply = completion(text) if status == 200 else {"error": {"message": "no such key", "code": None}}
            data = json.dumps(reply).encode()
            self.send_response(status if "Question" in question else 200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", arrived
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def asking(url: str, **options: Any) -> JudgeSettings:
    policy = RetryPolicy(tries=2, **QUICK, **options.pop("policy", {}))
    connection = Connection(url=url, key=Secret(KEY), timeout_seconds=10)
    return JudgeSettings(model=JudgeModel(model="judge"), connection=connection, policy=policy, **options)


def with_verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    script(monkeypatch, BoundMetric(name="answer_length", metric=AnswerLength(), recipes={"verdict": Verdict()}))


TWO_WORKERS = Resources(workers=2)


def test_two_workers_share_one_rate_and_ask_everything_once(videos, tmp_path, monkeypatch):
    with_verdicts(monkeypatch)
    per_second = 5.0

    def seconds_too_few(run: Path) -> float:
        """By which questions came faster than they may."""
        arrived.clear()
        judge = asking(url, policy={"per_second": per_second, "concurrent": 8})
        assert rows(evaluated(videos, run, TWO_WORKERS, judge=judge)) == rows(alone)
        assert len({question for _, question in arrived}) == len(arrived) == 1 + 3 * ROLLOUTS
        times = sorted(when for when, question in arrived if "Question" in question)
        return (len(times) - 1) / per_second - (times[-1] - times[0])

    with judging() as (url, arrived):
        alone = evaluated(videos, tmp_path / "alone", judge=asking(url))
        # On a busy machine the server may notice late what came first.
        runs = [tmp_path / "shared", tmp_path / "again", tmp_path / "once more"]
        assert any(seconds_too_few(run) <= CATCH_UP_SECONDS + 0.1 for run in runs)
    shared = runs[0]
    kept = [path for path in (shared / "replies").rglob("*") if path.is_file()]
    assert kept
    assert KEY.encode() not in b"".join(path.read_bytes() for path in shared.rglob("*") if path.is_file())


def test_a_budget_is_kept_to_the_call_and_says_so_when_it_is_spent(videos, tmp_path, monkeypatch):
    with_verdicts(monkeypatch)
    with judging() as (url, arrived):
        with pytest.raises(BudgetSpent, match=r"The judge's budget is spent: 6 of 6 calls\."):
            evaluated(videos, tmp_path / "run", TWO_WORKERS, judge=asking(url, budget=Budget(calls=6)))
        assert len(arrived) == 6
        run = evaluated(videos, tmp_path / "run", TWO_WORKERS, judge=asking(url))
        assert len({question for _, question in arrived}) == len(arrived) == 1 + 3 * ROLLOUTS
    assert {row["status"] for row in outcomes(run).values()} == {"score"}


def test_a_judge_that_does_not_know_us_ends_the_run(videos, tmp_path, monkeypatch):
    with_verdicts(monkeypatch)
    with judging(401) as (url, _), pytest.raises(JudgeUnusable, match="no such key"):
        evaluated(videos, tmp_path / "run", Resources(workers=1), judge=asking(url))


# The command line


def test_the_command_gives_the_same_table_on_a_cluster_that_is_already_running(tmp_path, cluster):
    write_mbench(tmp_path / "data", samples=1, subsets=("environment", "object"))
    metrics = "mbencha.environment.rendering_lighting,mbencha.entity.object_texture_consistency"
    arguments = (Path(sys.executable).with_name("lookaway"), "eval", tmp_path / "data", "--metrics", metrics, "--json")
    on_ray = ("--executor", "ray", "--workers", "1", "--replicas", "region=1,lab=1", "--address", cluster)
    cells = []
    for name, more in (("alone", ()), ("ray", on_ray)):
        done = subprocess.run([*arguments, "-o", tmp_path / name, *more], capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stderr) == (0, "")
        cells.append(json.loads(done.stdout)["cells"])
    assert cells[0] == cells[1]
    assert rows(tmp_path / "alone") == rows(tmp_path / "ray")
    assert {row["status"] for row in outcomes(tmp_path / "ray").values()} == {"score", "abstention"}


def test_replicas_of_an_extractor_that_the_run_has_not_are_refused(tmp_path):
    write_mbench(tmp_path / "data", samples=1, subsets=("environment",))
    arguments = (
        "eval",
        tmp_path / "data",
        "-o",
        tmp_path / "run",
        "--metrics",
        "mbencha.environment.rendering_lighting",
    )
    result = command(*arguments, "--executor", "ray", "--replicas", "nonsense=1")
    assert result.code == 2
    known = "dis_flow, lab_means, realised_motion, supplied_poses"
    assert f"No network of this run is named 'nonsense'. Known: {known}." in result.err
    result = command(*arguments, "--workers", "2")
    assert result.code == 2
    assert "Add --executor ray" in result.err
