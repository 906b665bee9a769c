"""The schema of `Result.json`: it takes what MIND's card shows, and refuses what cannot have been measured."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from lookaway.reports.export.mind_result import schema_text
from lookaway.suites.mind import Mind
from tests.support.mind_card import card

SCHEMA = json.loads(schema_text())
PLACES = {"visual": "visual_quality"}
MEASURES = ("lcm", "visual_quality", "action", "dino", "video_results")
MIRRORED = ("path", "perspective", "test_type", "error", "video_results")


def is_valid(result: Any) -> bool:
    return Draft202012Validator(SCHEMA).is_valid(result)


def changed(*place: str | int, value: Any) -> dict[str, Any]:
    """The card with another value somewhere in its entry."""
    result = card()
    target: Any = result["data"][0]
    for step in place[:-1]:
        target = target[step]
    target[place[-1]] = value
    return result


def only(*names: str, **values: Any) -> dict[str, Any]:
    """The card with some keys of its entry."""
    result = card()
    (entry,) = result["data"]
    result["data"] = [{**{name: entry[name] for name in names}, **values}]
    return result


def test_what_the_card_shows_is_valid():
    Draft202012Validator.check_schema(SCHEMA)
    Draft202012Validator(SCHEMA).validate(card())


def test_mirrored_paths_need_no_list_of_names_and_may_have_one():
    assert is_valid(only(*MIRRORED, test_type="mirror_test"))
    assert is_valid(only(*MIRRORED, test_type="mirror_test", videos=["path-1.mp4"]))
    assert not is_valid(only(*MIRRORED, "lcm", test_type="mirror_test"))
    assert not is_valid(only(*MIRRORED[:-1], test_type="mirror_test"))


@pytest.mark.parametrize("measure", MEASURES)
def test_one_measure_is_enough_without_an_error(measure):
    place = ("path", "perspective", "test_type")
    assert is_valid(only(*place, measure, error=None))
    assert is_valid(only(*place, error="what went wrong"))
    assert not is_valid(only(*place, error=None))
    assert not is_valid(only(*place, error=""))


def test_a_path_without_a_measure_has_an_error():
    video = {"video_name": "path-1.mp4", "error": "what went wrong"}
    assert is_valid(changed("video_results", value=[video]))
    assert not is_valid(changed("video_results", value=[{**video, "error": None}]))


def test_a_mirrored_path_has_a_length_and_an_answer_may_have_one():
    assert is_valid(changed("lcm", "length", value=2))
    gsc = card()["data"][0]["lcm"]
    assert not is_valid(changed("video_results", 0, "gsc", value=gsc))
    assert not is_valid(changed("lcm", value={"length": 2}))


SCORED = [bound for bound in Mind().metrics({}) if bound.is_of("published") and not bound.is_gate]


@pytest.mark.parametrize("bound", SCORED, ids=lambda bound: bound.name)
def test_a_number_outside_the_range_of_its_metric_is_refused(bound):
    _, family, name = bound.name.split(".")
    low, high = bound.metric.range
    high = None if name == "psnr" else high  # our ceiling, which the card does not have
    for value in (low, high, 0.5):
        for place, shown in placed(family, name, value):
            assert value is None or is_valid(changed(*place, value=shown))
    for value in (None if low is None else low - 1e-6, None if high is None else high + 1e-6):
        for place, shown in placed(family, name, value):
            assert value is None or not is_valid(changed(*place, value=shown))


def placed(family: str, name: str, value: float | None) -> list[tuple[tuple[str | int, ...], Any]]:
    """Where a number of a metric stands in the file, and how."""
    if family == "action":
        unit = "_deg" if name == "rpe_rot" else ""
        return [(("action", "act:forward", f"{name}_{kind}{unit}"), value) for kind in ("mean", "median")]
    start = ("video_results", 0, "gsc") if family == "gsc" else (PLACES.get(family, family),)
    return [((*start, name), [0.5, value]), ((*start, f"avg_{name}"), value)]


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("lcm", "mse"), []),
        (("visual_quality", "imaging"), []),
        (("error",), 3),
        (("perspective",), "2nd_data"),
        (("test_type",), "train"),
        (("lcm", "avg_mse"), None),
        (("lcm", "mse"), [0.1, "0.3"]),
        (("lcm", "avg_lpip"), 0.1),
        (("action", "__overall__", "count"), 1.5),
        (("action", "walks"), {"count": 1}),
        (("visual_quality", "avg_aesthetic"), "good"),
        (("video_results",), []),
        (("sample_frames",), 0),
        (("lcm",), {"mse": [0.1]}),
        (("dino",), {}),
    ],
)
def test_what_the_card_does_not_have_is_refused(place, value):
    assert not is_valid(changed(*place, value=value))


@pytest.mark.parametrize("result", [{"data": []}, {"video_max_time": None, "data": [], "mean": 0.5}])
def test_a_file_has_a_limit_of_frames_and_data_alone(result):
    assert not is_valid(result)
