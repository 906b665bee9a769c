from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lookaway.core import describe
from lookaway.engine.evaluate import evaluate
from lookaway.engine.locking import metric_key
from lookaway.engine.reading import read
from lookaway.engine.run import Run
from lookaway.suites.wrbench import WrBench
from tests.support.clips import write_clip
from tests.support.hub import empty_hub, publish
from tests.support.networks import tiny_dinov2
from tests.support.picture_networks import noise
from tests.support.wrbench import WrBenchWriter

NAMES = (
    "wrbench.camera_precision",
    "wrbench.camera_alignment",
    "wrbench.static_hold",
    "wrbench.visual_integrity",
    "wrbench.revisited",
)


def protocol(**settings: Any):
    return {bound.name: bound for bound in WrBench().metrics(settings)}


def test_camera_and_integrity_are_bound_as_published_or_not():
    assert set(NAMES) <= set(protocol()) == set(protocol(as_published=True))


def test_a_camera_that_holds_still_has_a_column_of_its_own_except_in_the_published_precision():
    ours, theirs = protocol(), protocol(as_published=True)
    assert ours["wrbench.camera_precision"].subsets == ("yaw", "pan")
    assert theirs["wrbench.camera_precision"].subsets is None
    for bound in (ours, theirs):
        assert bound["wrbench.camera_alignment"].subsets == ("yaw",)
        assert bound["wrbench.static_hold"].subsets == ("static",)


@pytest.mark.parametrize("name", NAMES[:4])
def test_as_published_has_another_lock(name):
    assert metric_key(protocol()[name]) != metric_key(protocol(as_published=True)[name])


def test_the_target_of_published_scores_has_its_gain_and_ours_has_not():
    recipes = [protocol(as_published=flag)["wrbench.camera_precision"].recipes for flag in (False, True)]
    assert [found["requested_poses"].undo_gain for found in recipes] == [True, False]
    assert [found["poses"].name for found in recipes] == ["tracked_poses", "vggt_poses"]


@pytest.mark.parametrize("as_published", [False, True])
def test_poses_of_other_tools_may_be_named_in_the_list(as_published):
    bound = protocol(cached_poses=True, as_published=as_published)
    assert {found.recipes["poses"].name for found in bound.values() if "poses" in found.recipes} == {"supplied_poses"}
    assert metric_key(bound[NAMES[0]]) != metric_key(protocol(as_published=as_published)[NAMES[0]])


def test_integrity_sees_the_whole_frame_three_times_a_second_unless_asked_otherwise():
    def tokens(**settings):
        return describe(protocol(**settings)["wrbench.visual_integrity"].recipes["tokens"])

    assert (tokens()["fit"]["kind"], tokens(as_published=True)["fit"]["kind"]) == ("WholeFrame", "CentreCrop")
    for settings in ({}, {"as_published": True}):
        assert (tokens(**settings)["frames"]["fps"], tokens(**settings)["frames"]["max_frames"]) == (3.0, 24)
    example = tokens(as_published=True, example_sampling=True)
    assert (example["frames"]["fps"], example["frames"]["max_frames"]) == (2.0, 16)


@pytest.mark.merge
def test_integrity_by_a_tiny_network_is_full_for_a_still_picture_and_less_for_noise(tmp_path, monkeypatch):
    empty_hub(tmp_path / "home", monkeypatch)
    publish(tiny_dinov2(), monkeypatch)
    writer = WrBenchWriter(tmp_path / "set")
    still, restless = np.repeat(noise(1, 96, 160), 24, axis=0), noise(24, 96, 160)
    for model, pictures in (("still", still), ("restless", restless)):
        write_clip(writer.add(model=model, camera="static", level="T0"), list(pictures), fps=12)
    values = {}
    for name, options in (("ours", {}), ("published", {"as_published": True, "example_sampling": True})):
        evaluate(read(writer.root, **options), tmp_path / name, metrics=["wrbench.visual_integrity"])
        values[name] = {row["model"]: row for row in Run(tmp_path / name).items()}
    for rows in values.values():
        assert rows["still"]["value"] > 0.99
        assert rows["restless"]["value"] < rows["still"]["value"]
