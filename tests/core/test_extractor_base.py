"""What extractors get from their base classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from lookaway.core import (
    Case,
    ExtractorBase,
    Feature,
    Frame,
    FrameExtractor,
    FramelessExtractor,
    Rollout,
    Sampler,
    Timeline,
    describe,
)

ROLLOUT = Rollout(case=Case(id="room", subset="all", scene="room"), model="model", video=Path("clip.mp4"))
TIMELINE = Timeline(np.arange(4) / 8, 6, 4)


@dataclass(frozen=True, slots=True)
class Odd:
    """Every second frame."""

    def indices(self, timeline: Timeline, rollout: Rollout) -> tuple[int, ...]:
        return tuple(range(1, timeline.frame_count, 2))


@dataclass(frozen=True, slots=True)
class Mean(FrameExtractor):
    """Mean of a frame."""

    name: ClassVar[str] = "mean"
    arrays: ClassVar[Mapping[str, str]] = {"mean": "float64 [frames]: of all channels"}

    def extract(self, frame: Frame) -> dict[str, Any]:
        return {"mean": frame.pixels.mean()}


@dataclass(frozen=True, slots=True)
class ChosenMean(FrameExtractor):
    """Mean and frame of what a required sampler chooses."""

    name: ClassVar[str] = "chosen_mean"
    arrays: ClassVar[Mapping[str, str]] = {"frame_indices": "int64 [frames]: frames", "mean": "float64 [frames]: of it"}

    frames: Sampler
    height: int = 2

    def load_function(self) -> Any:
        return lambda frame: {"mean": frame.pixels.mean()}


def extracted(recipe: FrameExtractor) -> Feature:
    extraction = recipe.load().start(ROLLOUT, TIMELINE, {})
    for index in sorted(extraction.request.indices):
        extraction.add_frame(Frame(index, index / 8, np.full((4, 6, 3), 10 * index, np.uint8)))
    return extraction.finish()


def test_without_a_sampler_every_frame_becomes_a_row():
    feature = extracted(Mean())
    assert list(feature.arrays) == ["mean"]
    assert feature["mean"].tolist() == [0.0, 10.0, 20.0, 30.0]


def test_rows_come_in_the_order_of_the_documented_arrays_with_frame_indices_where_they_are_named():
    feature = extracted(ChosenMean(Odd()))
    assert list(feature.arrays) == ["frame_indices", "mean"]
    assert (feature["frame_indices"].tolist(), feature["mean"].tolist()) == ([1, 3], [10.0, 30.0])
    assert feature["frame_indices"].dtype == np.int64


def test_the_request_has_the_height_of_the_recipe():
    assert ChosenMean(Odd(), height=3).request(TIMELINE, ROLLOUT).height == 3
    assert Mean().request(TIMELINE, ROLLOUT).height is None


def test_a_field_that_the_base_declares_can_be_required():
    with pytest.raises(TypeError, match="frames"):
        ChosenMean()


def test_only_fields_of_the_recipe_are_described():
    assert describe(Mean()) == {"kind": "mean", "version": 1}
    assert describe(ChosenMean(Odd())) == {"kind": "chosen_mean", "version": 1, "frames": {"kind": "Odd"}, "height": 2}


def test_what_a_recipe_does_not_declare_has_its_default():
    recipe = Mean()
    assert (recipe.frames, recipe.compared, recipe.weights, recipe.compute, recipe.environment) == (None,) * 5
    assert (recipe.device, recipe.of_reference, recipe.software, recipe.needs) == ("", False, (), {})
    assert recipe.declines(ROLLOUT) is None


def test_a_frame_extractor_without_a_function_says_what_it_lacks():
    class Nothing(FrameExtractor):
        name = "nothing"
        arrays: ClassVar[Mapping[str, str]] = {}

    with pytest.raises(NotImplementedError, match="Nothing must have `extract` or `load_function`"):
        extracted(Nothing())


def test_an_extractor_without_frames_requests_none_and_reads_at_the_end():
    class Named(FramelessExtractor):
        name = "named"
        arrays: ClassVar[Mapping[str, str]] = {"length": "int64 [names]: of the name of the case"}

        def read(self, rollout, timeline, features):
            return Feature({"length": np.array([len(rollout.case.id)])})

    extraction = Named().load().start(ROLLOUT, TIMELINE, {})
    assert extraction.request is None
    assert extraction.finish()["length"].tolist() == [4]
    with pytest.raises(NotImplementedError, match="no frame was requested"):
        extraction.add_frame(Frame(0, 0.0, np.zeros((4, 6, 3), np.uint8)))


def test_an_extractor_must_say_how_it_is_loaded():
    class Unloadable(ExtractorBase):
        name = "unloadable"

    with pytest.raises(TypeError, match="load"):
        Unloadable()
