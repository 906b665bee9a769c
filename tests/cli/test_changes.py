from __future__ import annotations

import pytest

from tests.support.command import lookaway
from tests.support.world_clip import FOLDER, write_clip_folder


@pytest.fixture
def world(tmp_path):
    write_clip_folder(tmp_path / FOLDER)
    return tmp_path


def runnable(world, *options: str) -> dict[str, int]:
    result = lookaway("validate", world, "--suite", "folder", "--json", *options)
    return {row["metric"]: row["runnable"] for row in result.json["coverage"]}


def test_another_extractor_makes_a_metric_runnable(world):
    assert runnable(world)["spatial_epipolar"] == 0
    assert runnable(world, "--use", "poses=true_poses")["spatial_epipolar"] == 1


@pytest.mark.parametrize("text", ["poses", "=true_poses", "poses=", ""])
def test_what_is_no_pair_is_refused_with_an_example(world, text):
    result = lookaway("plan", world, "--use", text)
    assert result.code == 2
    assert "FEATURE=EXTRACTOR, such as poses=tracked_poses" in result.err


def test_a_feature_that_nobody_needs_is_met_with_the_nearest(world):
    result = lookaway("eval", world, "-o", world / "run", "--use", "pose=true_poses")
    assert result.code == 2
    assert result.err == "error: No feature of these metrics is named 'pose'. Did you mean 'poses'?\n"


def test_a_precision_that_torch_does_not_have_is_refused(world):
    result = lookaway("plan", world, "--precision", "float8")
    assert result.code == 2
    assert "float32" in result.err
