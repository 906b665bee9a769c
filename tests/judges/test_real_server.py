"""What our questions get from a real server: vLLM, with a tiny network of random weights."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from lookaway.core import Feature, JudgeModel, JudgeUnusable, Reason, Rollout, Unmeasurable
from lookaway.core.judging import Media
from lookaway.engine.feature_job import Extractors, FeatureJob
from lookaway.io.sampling import UniformFrames
from lookaway.judges.client import JudgeClient, RetryPolicy
from lookaway.judges.judge_feature import JudgeFeature
from lookaway.judges.probe_probabilities import VISIBLE_SPACE, ProbeProbabilities
from lookaway.judges.rating import ProgressRating
from lookaway.judges.server import Connection, Secret
from lookaway.judges.settings import Capabilities, JudgeSettings, probe_capabilities
from lookaway.judges.trigger_verdict import TriggerVerdict
from tests.support.clips import numbered_frames, write_clip
from tests.support.tiny_vlm import make_tiny_vlm
from tests.support.vllm_server import MAX_PICTURES, VllmServer, needs_vllm, vllm_serving
from tests.support.watching import rollout_of

# The first test waits for the server to start.
pytestmark = [needs_vllm, pytest.mark.timeout(600), pytest.mark.server, pytest.mark.nightly]
FRAMES = 12
PROBE = VISIBLE_SPACE[0]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmServer]:
    with vllm_serving(make_tiny_vlm(tmp_path_factory.mktemp("network"))) as server:
        assert len(server.processes()) > 1
        yield server
    for _ in range(100):
        if not server.processes():
            break
        time.sleep(0.05)
    assert not server.processes()


@pytest.fixture(scope="module")
def judge(server: VllmServer, tmp_path_factory: pytest.TempPathFactory) -> JudgeModel:
    """The judge with the model name that it reports."""
    return probe(server, tmp_path_factory.mktemp("run")).judge


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Rollout:
    return rollout(tmp_path_factory.mktemp("clip") / "clip.mp4", seed=0)


def rollout(path: Path, seed: int) -> Rollout:
    """Of a video that is noise, and different for every seed."""
    write_clip(path, numbered_frames(FRAMES, width=64, height=48, seed=seed))
    return rollout_of(path, prompt=("A cup falls from a table.",))


@contextmanager
def open_client(server: VllmServer, run: Path, *, key: str | None = None) -> Iterator[JudgeClient]:
    connection = Connection(url=server.url, key=Secret(server.key if key is None else key), timeout_seconds=100)
    settings = JudgeSettings(model=JudgeModel(model=server.model), connection=connection, policy=RetryPolicy(tries=1))
    client = settings.open_client(run)
    try:
        yield client
    finally:
        client.close()


def probe(server: VllmServer, run: Path, **changes: Any) -> Capabilities:
    with open_client(server, run) as client:
        return probe_capabilities(client, JudgeModel(**{"model": server.model, **changes}))


def ask(server: VllmServer, run: Path, recipe: JudgeFeature, clip: Rollout, *, key: str | None = None) -> Feature:
    """What a recipe makes of the answers of the server about the frames of a video."""
    with open_client(server, run, key=key) as client:
        found = FeatureJob(Extractors(None, client), clip, "content", [recipe]).run()[recipe]
    if isinstance(found, Exception):
        raise found
    return found


def kept_reply(run: Path, key: str) -> dict[str, Any]:
    reply: dict[str, Any] = json.loads((run / "replies" / key[:2] / f"{key}.json").read_text())["reply"]
    return reply


def probes(judge: JudgeModel, frames: int = 3) -> ProbeProbabilities:
    return ProbeProbabilities(judge=judge, frames=UniformFrames(frames), probes=(PROBE,))


def test_it_is_found_to_hold_schemas_and_to_give_log_probabilities(server: VllmServer, tmp_path: Path) -> None:
    found = probe(server, tmp_path)
    assert found.holds_schema
    assert found.gives_log_probabilities
    assert (found.judge.reported, found.judge.wording) == (server.model, "schema")


def test_a_trigger_question_about_frames_is_answered_in_its_schema(
    server: VllmServer, judge: JudgeModel, clip: Rollout, tmp_path: Path
) -> None:
    recipe = TriggerVerdict(judge=replace(judge, repeats=2), frames=UniformFrames(4))
    feature = ask(server, tmp_path, recipe, clip)
    assert feature["triggered"].dtype == np.bool_
    assert np.all((feature["confidence"] >= 0) & (feature["confidence"] <= 1))
    assert feature["frame_indices"].tolist() == [0, 4, 7, 11]
    assert feature.detail["agreement"] == 1.0, "at temperature 0 it says the same twice"


def test_a_rating_is_between_1_and_5(server: VllmServer, judge: JudgeModel, clip: Rollout, tmp_path: Path) -> None:
    feature = ask(server, tmp_path, ProgressRating(judge=judge), clip)
    assert 1 <= feature["rating"][0] <= 5
    assert len(feature["frame_indices"]) == MAX_PICTURES


def test_the_probability_of_yes_is_that_of_the_kept_log_probabilities(
    server: VllmServer, judge: JudgeModel, clip: Rollout, tmp_path: Path
) -> None:
    feature = ask(server, tmp_path, probes(judge), clip)
    (key,) = feature.detail["replies"]
    (token,) = kept_reply(tmp_path, key)["choices"][0]["logprobs"]["content"]
    likely = token["top_logprobs"]
    assert len(likely) == 20
    said = {
        word: math.fsum(math.exp(choice["logprob"]) for choice in likely if choice["token"].strip().lower() == word)
        for word in ("yes", "no")
    }
    assert said["yes"] > 0
    assert said["no"] > 0
    assert feature["p_yes"].item() == pytest.approx(said["yes"] / (said["yes"] + said["no"]), abs=1e-9)
    assert feature["mass"].item() == pytest.approx(said["yes"] + said["no"], abs=1e-9)


@pytest.mark.parametrize("media", get_args(Media))
def test_the_answer_depends_on_the_frames_however_they_are_sent(
    server: VllmServer, judge: JudgeModel, clip: Rollout, tmp_path: Path, media: Media
) -> None:
    def p_yes(run: str, clip: Rollout, frames: int = 4) -> float:
        recipe = probes(replace(judge, media=media), frames)
        return float(ask(server, tmp_path / run, recipe, clip)["p_yes"].item())

    first = p_yes("first", clip)
    assert p_yes("again", clip) == pytest.approx(first, abs=1e-6)
    assert p_yes("fewer", clip, frames=2) != pytest.approx(first, abs=1e-4)
    assert p_yes("other", rollout(tmp_path / "other.mp4", seed=1)) != pytest.approx(first, abs=1e-4)


def test_more_pictures_than_the_server_takes_are_no_measurement(
    server: VllmServer, judge: JudgeModel, clip: Rollout, tmp_path: Path
) -> None:
    with pytest.raises(Unmeasurable, match=f"refused the question: 400 .*{MAX_PICTURES}") as caught:
        ask(server, tmp_path, probes(judge, frames=MAX_PICTURES + 1), clip)
    assert caught.value.reason is Reason.JUDGE_FAILED


def test_a_wrong_key_ends_the_run_and_is_not_repeated(
    server: VllmServer, judge: JudgeModel, clip: Rollout, tmp_path: Path
) -> None:
    with pytest.raises(JudgeUnusable, match="refused the key: 401") as caught:
        ask(server, tmp_path, probes(judge), clip, key="not-the-right-key")
    assert "not-the-right-key" not in str(caught.value)


def test_a_model_that_is_not_served_cannot_be_asked(server: VllmServer, tmp_path: Path) -> None:
    with pytest.raises(JudgeUnusable, match=r"does not serve the model 'another'.* 404"):
        probe(server, tmp_path, model="another")


def test_the_key_is_neither_in_the_log_of_the_server_nor_among_the_replies(
    server: VllmServer, judge: JudgeModel, clip: Rollout, tmp_path: Path
) -> None:
    ask(server, tmp_path, probes(judge), clip)
    written = [server.log, *(path for path in tmp_path.rglob("*") if path.is_file())]
    assert len(written) > 2
    assert not [path for path in written if server.key in path.read_text()]
