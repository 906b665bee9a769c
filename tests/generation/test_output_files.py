"""Outputs are found under the names that the models themselves give them."""

from __future__ import annotations

import pytest

from lookaway.core import plugins
from lookaway.generation.export import export_cases
from lookaway.generation.output_checks import OutputProblem
from lookaway.generation.output_files import OutputFinder
from lookaway.io.dataset_files import DatasetTree
from tests.generation.golden import request, there_and_back

LINE = "a quiet room The camera turns left by 60 degrees. "
NAMES = {
    "dreamx-5b-cam": ["first_frame_j_l.mp4"],
    "dreamx-ar": ["result_case_first_frame.mp4"],
    "gamecraft": ["first_frame.mp4"],
    "hy-worldplay": ["gen.mp4", "gen_sr.mp4"],
    "hy-worldplay-keys": ["gen.mp4"],
    "lingbot-world": ["result.mp4"],
    "lyra-2": ["first_frame.mp4"],
    "matrix-game-2": ["demo.mp4", "demo_icon.mp4"],
    "matrix-game-3": ["result.mp4", "result_current_iteration_0.mp4", "result_current_iteration_1.mp4"],
    "matrix-game-3.5": ["first_person/result/result.mp4", "first_person/result/memory_visualization.mp4"],
    "minwm-fork": ["a quiet roomj*20,l*20.mp4"],
    "minwm-hy15": ["sample_000_j*20,l*20.mp4"],
    "minwm-wan": ["a quiet roomj*20,l*19.mp4"],
    "sana-wm": ["result_generated.mp4", "result_stage1_generated.mp4"],
    "sana-wm-keys": ["result_generated.mp4"],
    "text": ["result.mp4"],
    "wan-fun-camera": ["00000001.mp4"],
    "yume": [f"first_frame_{LINE}_0_0_{segment}.mp4" for segment in (10, 0, 1, 2, 9)],
}
"""What the code of each model writes for one case; the first one is the result."""


def found_among(tmp_path, model, names, *, folder="outputs"):
    """The only item of a plan, its output, and the videos that are of none."""
    adapter = plugins.load("adapters", model)()
    (item,) = export_cases([request(there_and_back())], adapter, (0,), tmp_path / "work").items
    for name in names:
        path = tmp_path / folder / item.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())
    (output,), extra = OutputFinder(DatasetTree(tmp_path / folder), adapter.card).find([item])
    return item, output, extra


def test_every_model_whose_controls_are_exported_has_known_names():
    # The world is run in other tests; the rest refuses to turn by 60 degrees and back.
    assert set(plugins.names("adapters")) - set(NAMES) == {"world", "gen3c", "matrix-game-3-blocks"}


@pytest.mark.parametrize(("model", "names"), NAMES.items())
def test_what_a_model_writes_is_found_without_a_finding(tmp_path, model, names):
    item, output, extra = found_among(tmp_path, model, names)
    assert output.relative == f"{item.folder}/{names[0]}"
    assert output.findings == ()
    assert extra == []


def test_of_two_files_under_a_name_that_does_not_grow_neither_is_taken(tmp_path):
    _, output, _ = found_among(tmp_path, "minwm-hy15", ["sample_000_j*20,l*20.mp4", "sample_000_j*19,l*19.mp4"])
    assert [finding.kind for finding in output.findings] == [OutputProblem.AMBIGUOUS]
    assert output.path is None


def test_another_name_is_still_told(tmp_path):
    _, output, _ = found_among(tmp_path, "minwm-hy15", ["my video.mp4"])
    assert [finding.kind for finding in output.findings] == [OutputProblem.RENAMED]


def test_a_video_beside_the_segments_of_yume_is_extra(tmp_path):
    item, output, extra = found_among(tmp_path, "yume", [*NAMES["yume"], "other.mp4"])
    assert output.relative.endswith("_10.mp4")
    assert extra == [f"{item.folder}/other.mp4"]
