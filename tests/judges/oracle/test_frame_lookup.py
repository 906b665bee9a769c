from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lookaway.core import JudgeModel, Picture, Rollout
from lookaway.io.world_clips import open_world
from lookaway.judges.judge_feature import SYSTEM
from lookaway.judges.openai_format import completion_fields
from lookaway.judges.oracle import Noise, OracleServer
from lookaway.judges.oracle.clip_index import index_clips
from lookaway.judges.oracle.frame_lookup import FrameLookup, FrameMatch, _in_order
from lookaway.judges.oracle.parsed_question import read_question
from lookaway.judges.trigger_verdict import TriggerVerdict
from tests.judges.oracle.sending import SHOWN, pictures, put

pytestmark = pytest.mark.render

Rollouts = dict[str, Rollout]
CLIPS = ("perfect", "vanish", "frozen_while_unseen", "camera_never_moves", "static")


@pytest.fixture(scope="module")
def lookup(world: Path) -> FrameLookup:
    return FrameLookup(index_clips(open_world(world)))


def fields(rollout: Rollout, shown: tuple[Picture, ...], media: str) -> dict[str, Any]:
    (question,) = TriggerVerdict().questions(rollout)
    return completion_fields(question.request(SYSTEM, JudgeModel(model="asked", media=media), shown, 0))


def seen(
    lookup: FrameLookup, rollout: Rollout, shown: tuple[Picture, ...], media: str = "png", *, labels: bool = True
) -> FrameMatch:
    request = fields(rollout, shown, media)
    if not labels:
        parts = request["messages"][1]["content"]
        request["messages"][1]["content"] = [
            part for part in parts if not part.get("text", "").startswith(("Frame", "A vid"))
        ]
    return lookup.find(read_question(request, "key"))


@pytest.mark.parametrize("name", CLIPS)
@pytest.mark.parametrize(
    ("media", "height"), [("png", None), ("jpeg", 48), ("jpeg", 300), ("video", None), ("video", 96)]
)
def test_a_clip_is_known_by_its_pictures_whatever_their_size_and_encoding(
    lookup: FrameLookup, rollouts: Rollouts, name: str, media: str, height: int | None
) -> None:
    rollout = rollouts[name]
    found = seen(lookup, rollout, pictures(rollout, height=height), media)
    assert (found.clip.clip.video, found.frames) == (rollout.video, SHOWN)


@pytest.mark.parametrize("name", CLIPS)
def test_a_clip_is_known_without_labels_of_time(lookup: FrameLookup, rollouts: Rollouts, name: str) -> None:
    rollout = rollouts[name]
    found = seen(lookup, rollout, pictures(rollout), "jpeg", labels=False)
    assert found.clip.clip.video == rollout.video
    assert list(found.frames) == sorted(found.frames)


@pytest.mark.parametrize("labels", [True, False])
@pytest.mark.parametrize("name", CLIPS)
def test_a_clip_that_is_not_compared_is_not_the_nearest(
    lookup: FrameLookup, rollouts: Rollouts, name: str, labels: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = pictures(rollouts[name], height=48)
    found, compared = seen(lookup, rollouts[name], shown, "jpeg", labels=labels), []
    narrowed = FrameLookup._candidates

    def everything(own: FrameLookup, *question: Any) -> list[Any]:
        compared.extend(narrowed(own, *question))
        return own._clips

    monkeypatch.setattr(FrameLookup, "_candidates", everything)
    monkeypatch.setattr(lookup, "_matches", {})
    assert seen(lookup, rollouts[name], shown, "jpeg", labels=labels) == found
    assert 0 < len(compared) < len(lookup._clips)


def test_frames_are_found_in_the_order_of_time_though_others_are_nearer() -> None:
    assert _in_order(np.array([[1.0, 9.0, 0.0], [9.0, 0.0, 9.0]])).tolist() == [0, 1]
    assert _in_order(np.array([[9.0, 0.0, 9.0], [9.0, 0.0, 9.0]])).tolist() == [1, 1]
    assert _in_order(np.array([[3.0, 2.0, 1.0]])).tolist() == [2]


def test_two_pictures_are_enough_to_tell_a_lost_target_from_a_remembered_one(
    lookup: FrameLookup, rollouts: Rollouts
) -> None:
    for name in ("perfect", "vanish", "frozen_while_unseen"):
        found = seen(lookup, rollouts[name], pictures(rollouts[name], (0, 15)))
        assert found.clip.card.model.partition("-")[0] == name


def test_pictures_out_of_their_time_belong_to_no_clip(oracle: OracleServer, rollouts: Rollouts) -> None:
    rollout = rollouts["perfect"]
    late = tuple(Picture(shown.index, shown.time_seconds + 100.0, shown.pixels) for shown in pictures(rollout))
    got = put(oracle, fields(rollout, late, "png"))
    assert got.status == 400
    assert "not there at these times" in got.json["error"]["message"]


def test_one_strange_picture_among_known_ones_is_not_overlooked(oracle: OracleServer, rollouts: Rollouts) -> None:
    rollout = rollouts["perfect"]
    shown = list(pictures(rollout))
    brighter = np.minimum(shown[3].pixels.astype(np.int64) + 30, 255).astype(np.uint8)
    shown[3] = Picture(shown[3].index, shown[3].time_seconds, brighter)
    got = put(oracle, fields(rollout, tuple(shown), "png"))
    assert got.status == 400
    assert got.json["error"]["code"] == "cannot_answer"
    assert "no clip of this oracle's world matches these 8 pictures" in got.json["error"]["message"]


def test_what_is_no_picture_is_said_to_be_none(oracle: OracleServer, rollouts: Rollouts) -> None:
    request = fields(rollouts["perfect"], pictures(rollouts["perfect"], (0,)), "png")
    for part in request["messages"][1]["content"]:
        if part["type"] == "image_url":
            part["image_url"]["url"] = "data:image/png;base64,AAAA"
    got = put(oracle, request)
    assert (got.status, "cannot be read as a picture" in got.json["error"]["message"]) == (400, True)


def test_a_model_without_video_rejects_videos_and_takes_pictures(world: Path, rollouts: Rollouts) -> None:
    rollout = rollouts["perfect"]
    with OracleServer(world, noise=Noise(takes_video=False)) as server:
        video = put(server, fields(rollout, pictures(rollout), "video"))
        assert (video.status, "takes no video" in video.json["error"]["message"]) == (400, True)
        assert put(server, fields(rollout, pictures(rollout), "png")).status == 200


def test_pictures_for_an_oracle_without_a_world_are_not_guessed_at(rollouts: Rollouts) -> None:
    with OracleServer(None) as server:
        got = put(server, fields(rollouts["perfect"], pictures(rollouts["perfect"], (0,)), "png"))
    assert (got.status, "has no world" in got.json["error"]["message"]) == (400, True)


def test_pictures_that_were_seen_before_are_not_decoded_again(
    lookup: FrameLookup, rollouts: Rollouts, monkeypatch: pytest.MonkeyPatch
) -> None:
    rollout = rollouts["perfect"]
    before = seen(lookup, rollout, pictures(rollout))

    def decode(encoded: bytes) -> None:
        raise AssertionError("decoded again")

    monkeypatch.setattr("lookaway.judges.oracle.frame_lookup.picture_pixels", decode)
    assert seen(lookup, rollout, pictures(rollout)) is before
    assert seen(lookup, rollout, pictures(rollout, SHOWN[:4])).frames == SHOWN[:4]
