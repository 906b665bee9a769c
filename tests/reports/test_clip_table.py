"""`lookaway show --layout clips`: what is known about each clip, in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lookaway.core import UserError
from lookaway.reports.clip_table import clip_line, clip_lines
from lookaway.reports.runs import load_runs
from tests.reports.site.simulated import Simulated
from tests.support.changed import Changed, changed_run, picture
from tests.support.command import lookaway

TURNED = {"turned_degrees": 58.1, "revisited_percent": 83.3, "why": None}


def row(value=None, *, reason=None, message=None, **detail):
    status = "abstention" if reason else "score"
    return {"status": status, "value": value, "reason": reason, "message": message, "detail": json.dumps(detail)}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    gone = Changed(areas=(3.0, 9.0), flagged=["changed_area"], pictures=(picture(40), picture(200)))
    return changed_run(tmp_path, {"clean": Changed(), "gone": gone, "away": Changed(is_tested=False)})


def test_a_line_names_all_that_is_above_its_limit_and_nothing_else():
    facts = {"changed_area": row(39.668), "light": row(0.61), "look": row(3.0)}
    verdict = row(0.0, flagged=["changed_area", "light"])
    line = clip_line("a/b/0", {"revisited": row(1.0, **TURNED), "remembered": verdict, **facts})
    assert (line.tested, line.camera) == ("yes", "turned 58 degrees, 83 % seen again")
    assert line.changed == "39.7 % of the view, light by 0.61 stops"


def test_a_remembered_clip_says_that_nothing_changed():
    line = clip_line("a/b/0", {"revisited": row(1.0, **TURNED), "remembered": row(1.0, flagged=[])})
    assert line.changed == "nothing: remembered"


def test_an_untested_clip_says_why_and_no_change():
    gate = row(0.0, shift_heights=0.06, revisited_percent=4.2, why="the camera never left the view")
    line = clip_line("a/b/0", {"revisited": gate, "remembered": row(1.0, flagged=[])})
    assert (line.tested, line.changed) == ("no", "not tested: the camera never left the view")
    assert line.camera == "picture shifted by 0.06 heights, 4 % seen again"


def test_a_clip_that_could_not_be_measured_has_its_typed_reason():
    lost = row(reason="pose_failed", message="the camera is lost.")
    line = clip_line("a/b/0", {"revisited": row(1.0, shift_heights=0.9), "remembered": lost})
    assert (line.tested, line.changed) == ("yes", "pose_failed: the camera is lost.")
    assert clip_line("a/b/0", {"revisited": lost, "remembered": lost}).tested == "unknown"


def test_without_a_gate_the_verdict_tells_whether_memory_was_tested(run: Path):
    (loaded,) = load_runs([run])
    assert {line.clip.split("/")[0]: line.tested for line in clip_lines(loaded)} == {
        "away": "no",
        "clean": "yes",
        "gone": "yes",
    }


def test_the_command_prints_a_line_for_each_clip(run: Path):
    lines = lookaway("show", run, "--layout", "clips").out.splitlines()
    assert lines[0].split() == ["clip", "tested", "camera", "changed"]
    assert [line.split()[0] for line in lines[1:]] == ["away/candle/0", "clean/candle/0", "gone/candle/0"]
    assert [line["changed"] for line in lookaway("show", run, "--layout", "clips", "--json").json][1:] == [
        "nothing: remembered",
        "6.0 % of the view",
    ]


def test_a_run_without_the_verdict_says_how_to_get_it(tmp_path: Path):
    made = Simulated(path=tmp_path / "run", skills={"one": 0.5}, metrics=["mbencht.environment.rendering_style"])
    (loaded,) = load_runs([made.write().path])
    with pytest.raises(UserError, match="`remembered` was not measured"):
        clip_lines(loaded)
