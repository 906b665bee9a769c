"""From a dataset to scores through the same door as any model: cases, export, generate, collect, eval."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lookaway
from lookaway.core import Case, Dataset, Rollout, angles_degrees, plugins
from lookaway.generation.cases import ActionForm, requests_of
from lookaway.generation.collect import collect_outputs
from lookaway.generation.work_plan import read_plan
from tests.generation.golden import there_and_back
from tests.generation.outputs import made_output, made_plan
from tests.support.command import lookaway as command

SMALL = ("--size", "128x224", "--fps", 8, "--seconds", 2, "--wait", 0.5)


def run_all(work, outputs, actor="perfect"):
    """Run the exported commands with the `lookaway` of this environment."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "OUTPUTS": str(outputs), "ACTOR": actor, "PATH": path}
    return subprocess.run(["sh", work / "run.sh"], env=environment, capture_output=True, text=True, check=False)


@pytest.mark.merge
@pytest.mark.render
def test_the_world_is_asked_and_measured_like_any_model(tmp_path):
    world, work, outputs, dataset = (tmp_path / name for name in ("world", "work", "outputs", "dataset"))
    rendered = command("world", "render", "-o", world, "--families", "playroom", *SMALL)
    assert rendered.code == 0, rendered.err

    listed = command("cases", "list", world, "--json").json
    assert [row["frames"] for row in listed] == [16]
    assert "turns right" in listed[0]["camera"]
    shown = command("cases", "show", world, "--for", "lingbot-world", "--json").json
    assert shown[0]["return_error_deg"] < 1

    for _ in range(2):  # the second time nothing is left to do
        exported = command("cases", "export", world, "--for", "world", "-o", work)
        assert exported.code == 0, exported.err
        generated = run_all(work, outputs, "forgetful")
        assert generated.returncode == 0, generated.stderr
    assert generated.stdout == ""

    collected = command("collect", work, outputs, "-o", dataset, "--model", "forgetful")
    assert collected.code == 0, collected.out + collected.err
    assert "1 of 1 outputs can be measured" in collected.out
    evaluated = command("eval", dataset, "-o", tmp_path / "run", "--metrics", "light,delivered.lost,return_error")
    assert evaluated.code == 0, evaluated.err
    scores = {row["metric"]: row["value"] for row in lookaway.Run(tmp_path / "run").items()}
    assert scores["delivered.lost"] == pytest.approx(0, abs=0.01), "a world does exactly what was asked"
    (rollout,) = lookaway.read(dataset).rollouts
    assert rollout.model == "forgetful"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    root = tmp_path_factory.mktemp("cases") / "world"
    assert command("world", "render", "-o", root, "--families", "playroom", *SMALL).code == 0
    return root


@pytest.mark.merge
@pytest.mark.render
@pytest.mark.parametrize(("layout", "written"), [("mbench-a", 2), ("mind", 2), ("memobench", 1), ("wrbench", 1)])
def test_cases_of_a_world_are_exported_from_every_layout(layout, written, world, tmp_path):
    assert command("world", "export", world, "--layout", layout, "-o", tmp_path / "dataset").code == 0
    exported = command("cases", "export", tmp_path / "dataset", "--for", "lingbot-world", "-o", tmp_path / "work")
    items = read_plan(tmp_path / "work")
    assert len(items) == written, exported.out
    for item in items:
        assert item.refusal is None
        assert item.moves
        assert item.loss["return_error_deg"] < 0.1


def test_the_requested_path_of_a_manifest_is_asked_again_as_it_was(tmp_path):
    (item,) = made_plan(tmp_path / "work", 1)
    made_output(tmp_path / "outputs", item, 1)
    collect_outputs(tmp_path / "work", tmp_path / "outputs", tmp_path / "dataset")
    (found,) = requests_of(lookaway.read(tmp_path / "dataset"), ActionForm())
    assert np.allclose(found.camera.camera_to_world, there_and_back(frames=9))
    assert (found.camera.fps, found.camera.width, found.camera.height) == (16, 832, 480)


@pytest.mark.parametrize(
    ("action", "degrees", "peak"),
    [("left_then_right", None, 60), ("right_then_wait_then_left", 90.0, 90), ("forward_then_backward", None, 0)],
)
def test_an_action_in_words_becomes_a_path_that_returns(action, degrees, peak):
    case = Case(id="a", subset="all", scene="a", action=action, turn_degrees=degrees)
    dataset = Dataset(suite="mbench", root=Path(), rollouts=(Rollout(case=case, model="m", video=Path("a.mp4")),))
    (found,) = requests_of(dataset, ActionForm())
    poses = found.camera.camera_to_world
    assert np.allclose(poses[-1], np.eye(4), atol=1e-9)
    assert angles_degrees(poses[:, :3, :3], np.eye(3)).max() == pytest.approx(peak, abs=1e-4)


def test_a_case_without_any_path_is_still_a_prompt():
    case = Case(id="a", subset="all", scene="a", action="dances", prompt=("a room",))
    dataset = Dataset(suite="mbench", root=Path(), rollouts=(Rollout(case=case, model="m", video=Path("a.mp4")),))
    (found,) = requests_of(dataset, ActionForm())
    assert found.camera is None
    assert plugins.load("adapters", "text")().plan(found, 0).files["control.txt"] == b"a room\n"
