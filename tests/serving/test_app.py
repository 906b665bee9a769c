"""A real server on loopback: what it answers, what it refuses and why, and that nothing is measured twice."""

from __future__ import annotations

import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jsonschema
import pytest

from lookaway.engine.scorer import Scorer
from lookaway.judges.server import Secret
from lookaway.serving import app
from lookaway.serving.client import encode_clip
from lookaway.serving.schema import ErrorResponse, ScoreOptions, ScoreResponse, ServingLimits, as_scores
from lookaway.serving.scoring import ClipScorer, InProcess
from tests.serving.running import CLIP, TOKEN, Counting, running, turned

pytestmark = pytest.mark.server
SNAPSHOT = Path(__file__).parent / "openapi_v1.json"


@pytest.fixture
def backend():
    backend = Counting()
    yield backend
    backend.may_go.set()


@pytest.fixture
def server(backend):
    with running(backend) as found:
        yield found


def test_an_answer_is_that_of_the_scorer_to_the_bit():
    scorer = Scorer(["cut", "light"])
    with running(InProcess(ClipScorer(Scorer(["cut", "light"])))) as server:
        for number in range(2):
            clip, paths = turned(number)
            status, answer, _ = server.score(video=clip, paths=paths, fps=8)
            expected = scorer(clip, paths=paths, fps=8)
            found = as_scores(ScoreResponse.model_validate(answer))
            assert status == 200
            assert (found.is_tested, found.untested) == (expected.is_tested, expected.untested)
            assert {name: plain(outcome) for name, outcome in found.outcomes.items()} == {
                name: plain(outcome) for name, outcome in expected.outcomes.items()
            }
            assert found.is_measured("light")


def plain(outcome) -> str:
    """All of an outcome; JSON has lists where Python has tuples."""
    return repr(outcome).replace("(", "[").replace(")", "]").replace(",]", "]")


def test_a_request_without_the_token_is_refused_before_its_body_is_read(backend):
    with running(backend, token=Secret(TOKEN)) as server:
        for given in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN}, {"Authorization": "Bearer é"}):
            status, answer, headers = server.score(headers=given)
            assert (status, answer["error"], headers["www-authenticate"]) == (401, "unauthorised", "Bearer")
            assert TOKEN not in json.dumps(answer)
            for path in ("/metrics", "/v1/info"):
                assert server.get(path, given)[0] == 401
        assert server.score(headers={"Authorization": f"Bearer {TOKEN}"})[0] == 200
        assert server.get("/metrics", {"Authorization": f"Bearer {TOKEN}"})[0] == 200
        assert server.get("/health")[0] == 200
    assert len(backend.measured) == 1


def test_a_metric_that_the_server_does_not_measure_is_refused_with_what_was_meant(server, backend):
    status, answer, _ = server.score(metrics=("lihgt",))
    assert (status, answer["error"]) == (422, "unknown_metric")
    assert "Did you mean 'light'?" in answer["message"]
    assert backend.measured == []


def test_only_the_metrics_that_were_asked_for_are_answered():
    with running(InProcess(ClipScorer(Scorer(["cut", "light"])))) as server:
        _, answer, _ = server.score(metrics=("light",))
    assert list(answer["outcomes"]) == ["light"]
    assert answer["outcomes"]["light"]["status"] == "abstention"


def test_a_body_that_is_too_large_is_refused(backend):
    with running(backend, limits=ServingLimits(body_bytes=1000)) as server:
        status, answer, _ = server.score()
        assert (status, answer["error"]) == (413, "too_large")
        assert server.score(video=CLIP[:1, :, :2, :2])[0] == 200


def test_a_body_that_comes_too_slowly_is_refused(backend):
    boundary, body = encode_clip(CLIP, ScoreOptions())
    with running(backend, limits=ServingLimits(body_seconds=0.2)) as server:
        connection = server.connection()
        connection.putrequest("POST", "/v1/score")
        connection.putheader("Content-Type", f"multipart/form-data; boundary={boundary}")
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body[:100])
        response = connection.getresponse()
        answer = json.loads(response.read())
        assert (response.status, answer["error"]) == (408, "slow_body")
        assert "100 bytes came in 0.2 s" in answer["message"]
        connection.close()
        assert server.admission.taken == 0


def test_a_client_that_leaves_in_the_middle_frees_its_place(backend):
    with running(backend, limits=ServingLimits(requests=1)) as server:
        connection = server.connection()
        connection.putrequest("POST", "/v1/score")
        connection.putheader("Content-Type", "multipart/form-data; boundary=b")
        connection.putheader("Content-Length", "1000")
        connection.endheaders(b"--b\r\n")
        server.wait_for(1)
        connection.close()
        while server.admission.taken:
            threading.Event().wait(0.005)
        assert server.score()[0] == 200


def test_what_exceeds_the_queue_is_refused_until_there_is_room(backend):
    backend.may_go.clear()
    with running(backend, limits=ServingLimits(requests=2)) as server, ThreadPoolExecutor() as pool:
        taken = [pool.submit(server.score) for _ in range(2)]
        server.wait_for(2)
        status, answer, headers = server.score()
        assert (status, answer["error"]) == (429, "too_many_requests")
        assert 1 <= int(headers["retry-after"]) <= 60
        backend.may_go.set()
        assert [future.result()[0] for future in taken] == [200, 200]
        assert server.score()[0] == 200


def test_what_is_not_answered_in_time_is_told_so_and_its_answer_is_kept(backend):
    backend.may_go.clear()
    named = {"Idempotency-Key": "slow-one"}
    with running(backend, limits=ServingLimits(answer_seconds=0.2)) as server:
        status, answer, headers = server.score(headers=named)
        assert (status, answer["error"], answer["id"]) == (504, "timeout", "slow-one")
        assert "retry-after" in headers
        backend.may_go.set()
        while server.score(headers=named)[0] == 504:
            pass
    assert backend.measured == ["slow-one"]


def test_a_request_that_gave_up_waiting_is_not_measured(backend):
    backend.may_go.clear()
    with running(backend, limits=ServingLimits(answer_seconds=0.2)) as server, ThreadPoolExecutor() as pool:
        first = pool.submit(server.score, headers={"Idempotency-Key": "first"})
        server.wait_for(1)
        assert server.score(headers={"Idempotency-Key": "second"})[0] == 504
        first.result()
        backend.may_go.set()
        assert server.score(headers={"Idempotency-Key": "third"})[0] == 200
    assert backend.measured == ["first", "third"]


def test_a_request_that_is_sent_again_is_measured_once(server, backend):
    backend.may_go.clear()
    named = {"Idempotency-Key": "one"}
    with ThreadPoolExecutor() as pool:
        first, second = pool.submit(server.score, headers=named), pool.submit(server.score, headers=named)
        server.wait_for(2)
        backend.may_go.set()
        assert first.result()[:2] == second.result()[:2]
    assert server.score(headers=named)[:2] == first.result()[:2]
    assert backend.measured == ["one"]


def test_another_clip_under_the_same_id_is_refused(server, backend):
    named = {"Idempotency-Key": "one"}
    assert server.score(headers=named)[0] == 200
    for different in ({"video": CLIP + 1}, {"fps": 8.0}):
        status, answer, _ = server.score(headers=named, **different)
        assert (status, answer["error"], answer["id"]) == (409, "conflict", "one")
    assert backend.measured == ["one"]


@pytest.mark.parametrize("name", ["", "x" * 65, "a b", "../../etc"])
def test_an_id_of_other_letters_is_refused(name, server):
    status, answer, _ = server.score(headers={"Idempotency-Key": name})
    assert (status, answer["error"]) == (400, "bad_request")


def test_what_waits_is_measured_in_batches_of_the_size_that_was_asked_for(backend):
    backend.may_go.clear()
    with running(backend, max_batch_size=2) as server, ThreadPoolExecutor() as pool:
        first = pool.submit(server.score)
        while not backend.batches:
            threading.Event().wait(0.005)
        rest = [pool.submit(server.score) for _ in range(4)]
        server.wait_for(5)
        while server.admission._queue.qsize() < 4:
            threading.Event().wait(0.005)
        backend.may_go.set()
        assert {future.result()[0] for future in [first, *rest]} == {200}
    assert [len(batch) for batch in backend.batches] == [1, 2, 2]


def test_a_window_waits_for_a_second_clip(backend):
    with running(backend, max_batch_size=2, batch_window=60.0) as server, ThreadPoolExecutor() as pool:
        both = [pool.submit(server.score) for _ in range(2)]
        assert {future.result()[0] for future in both} == {200}
    assert [len(batch) for batch in backend.batches] == [2]


def test_a_backend_that_breaks_is_an_error_of_one_request(backend):
    class Breaking(Counting):
        async def measure(self, clips):
            if not self.batches:
                self.batches.append([])
                raise RuntimeError("a secret of the server")
            return await super().measure(clips)

    with running(Breaking()) as server:
        status, answer, _ = server.score()
        assert (status, answer["error"]) == (500, "failed")
        assert "secret" not in answer["message"]
        assert server.score()[0] == 200


def test_a_request_that_cannot_be_read_for_an_unknown_reason_is_an_error_of_the_same_shape(server, monkeypatch):
    def break_down(parts, limits):
        raise SystemError("a secret of the server")

    monkeypatch.setattr(app, "parse_clip", break_down)
    status, answer, _ = server.score()
    assert (status, answer["error"]) == (500, "failed")
    assert "secret" not in answer["message"]
    assert server.admission.taken == 0


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/v1/score"), ("GET", "/docs"), ("POST", "/v2/score"), ("GET", "/")]
)
def test_any_other_address_is_refused_in_the_same_shape(method, path, server):
    status, answer, _ = server.ask(method, path, b"")
    assert status in (404, 405)
    assert ErrorResponse.model_validate_json(answer).error == "not_found"


def test_what_happened_is_counted_without_words_of_a_request(backend):
    with running(backend, limits=ServingLimits(body_bytes=10_000)) as server:
        server.score(headers={"Idempotency-Key": "private-name"}, prompt=("private text",))
        server.score(metrics=("private-metric",))
        server.score(video=CLIP.repeat(4, 0))
        text = server.get("/metrics")[1].decode()
    for line in (
        'lookaway_requests_total{result="ok"} 1.0',
        'lookaway_requests_total{result="unknown_metric"} 1.0',
        'lookaway_requests_total{result="too_large"} 1.0',
        'lookaway_outcomes_total{status="score"} 2.0',
        "lookaway_frames_total 4.0",
        "lookaway_request_seconds_count 3.0",
        "lookaway_waiting 0.0",
    ):
        assert line in text.splitlines()
    assert "private" not in text


def test_info_says_what_is_measured_and_accepted(server):
    info = json.loads(server.get("/v1/info")[1])
    assert info["metrics"] == ["light", "look"]
    assert info["limits"]["requests"] == 64


def test_the_schema_of_version_1_stays_as_it_was_published(server):
    found = json.loads(server.get("/v1/openapi.json")[1])
    assert found == json.loads(SNAPSHOT.read_text()), "a change that a client can notice needs another version"


def test_the_schema_is_valid_and_true_of_the_answers(server):
    schema = json.loads(server.get("/v1/openapi.json")[1])
    assert schema["openapi"].startswith("3.1")
    parts = schema["components"]["schemas"]
    for part in parts.values():
        jsonschema.Draft202012Validator.check_schema(part)
    answers = schema["paths"]["/v1/score"]["post"]["responses"]
    for status, options in (("200", {}), ("422", {"metrics": ("none",)})):
        found, answer, _ = server.score(**options)
        assert str(found) == status
        wanted = answers[status]["content"]["application/json"]["schema"]
        jsonschema.validate(answer, {**wanted, "components": schema["components"]}, jsonschema.Draft202012Validator)


def test_every_refusal_of_the_score_route_is_in_the_schema():
    source = "".join(path.read_text() for path in Path(app.__file__).parent.glob("*.py"))
    used = {int(status) for status in re.findall(r"Refused\(\s*(\d{3}),", source)}
    assert used == set(app.REFUSALS)
