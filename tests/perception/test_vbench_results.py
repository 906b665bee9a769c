from __future__ import annotations

import json
from pathlib import Path

import pytest

from lookaway.core import Reason, Unmeasurable
from lookaway.perception.quality.vbench_results import VbenchResults
from tests.support.revisit_golden import rollout_of, timeline_of
from tests.support.watching import check_documented


def row(value: object, name: str = "clip.mp4") -> dict[str, object]:
    return {"video_path": f"/somewhere/else/{name}", "video_results": value}


def read(folder: Path, content: object):
    path = folder / "results_eval_results.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return VbenchResults().read(rollout_of(artifacts={"vbench": path}), timeline_of(9), {})


def test_values_of_the_video_are_found_by_its_name_and_go_from_0_to_1(tmp_path):
    content = {
        "imaging_quality": [0.6, [row(50.0, "other.mp4"), row(70.0)]],
        "dynamic_degree": [0.5, [row(True)]],
        "motion_smoothness": [0.9, [row(0.98)]],
        "aesthetic_quality": [0.5, [row(0.4, "other.mp4")]],
    }
    feature = read(tmp_path, content)
    check_documented(VbenchResults(), feature)
    assert dict(zip(feature.detail["dimensions"], feature["values"].tolist(), strict=True)) == {
        "imaging_quality": 0.7,
        "dynamic_degree": 1.0,
        "motion_smoothness": 0.98,
    }


def test_files_of_single_dimensions_are_read_together(tmp_path):
    contents = {"vbench": {"imaging_quality": [0.6, [row(70.0)]]}, "vbench_01": {"dynamic_degree": [0.5, [row(True)]]}}
    artifacts = {name: tmp_path / f"{name}.json" for name in contents}
    for name, content in contents.items():
        artifacts[name].write_text(json.dumps(content))
    feature = VbenchResults().read(rollout_of(artifacts=artifacts), timeline_of(9), {})
    assert feature.detail["dimensions"] == ["imaging_quality", "dynamic_degree"]
    assert feature["values"].tolist() == [0.7, 1.0]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", Reason.INVALID_INPUT),
        ([], Reason.INVALID_INPUT),
        ({}, Reason.MISSING_INPUT),
        ({"imaging_quality": 0.7}, Reason.MISSING_INPUT),
        ({"imaging_quality": [0.7, [row(70.0, "other.mp4")]]}, Reason.MISSING_INPUT),
        ({"imaging_quality": [0.7, [row("high")]]}, Reason.MISSING_INPUT),
    ],
)
def test_a_file_without_the_video_is_refused(tmp_path, content, reason):
    with pytest.raises(Unmeasurable) as error:
        read(tmp_path, content)
    assert error.value.reason == reason


def test_a_rollout_without_the_file_is_declined():
    declined = VbenchResults().declines(rollout_of())
    assert declined is not None
    assert declined.reason == Reason.MISSING_INPUT
