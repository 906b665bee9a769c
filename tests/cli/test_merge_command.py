from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import lookaway
from tests.support.runs import table_text
from tests.support.s3_server import new_bucket, s3_server
from tests.support.tiny import write_folder

METRICS = ("--suite", "folder", "--metrics", "rendering_lighting")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "videos", cases=6)


def shards(root: Path, folder: Path, of: int) -> list[str]:
    runs = [str(folder / f"shard{number}") for number in range(1, of + 1)]
    for number, run in enumerate(runs, 1):
        result = lookaway("eval", root, *METRICS, "-o", run, "--shard", f"{number}/{of}", "--quiet")
        assert (result.code, result.err) == (0, "")
    return runs


def test_merged_shards_are_shown_as_the_whole_run_is(root, tmp_path):
    runs = shards(root, tmp_path, 3)
    result = lookaway("merge", *reversed(runs), "-o", tmp_path / "out")
    assert (result.code, result.err) == (0, "")
    first, last = result.out.splitlines()
    assert first == f"{tmp_path / 'out'}: 6 rollouts of 3 runs"
    assert last.startswith("Features and replies are not merged")
    lookaway("eval", root, *METRICS, "-o", tmp_path / "whole", "--quiet")
    for options in ((), ("--json",)):
        assert lookaway("show", tmp_path / "out", *options).out == lookaway("show", tmp_path / "whole", *options).out


def test_what_is_missing_is_an_error_and_with_partial_a_warning_wherever_the_run_is_shown(root, tmp_path):
    runs = shards(root, tmp_path, 3)
    refused = lookaway("merge", runs[1], "-o", tmp_path / "out")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith("error: Shards 1 and 3 of 3 are missing (6 rollouts in all).")
    merged = lookaway("merge", runs[1], "-o", tmp_path / "out", "--partial")
    assert merged.code == 0
    said = "shards 1 and 3 of 3 are missing (6 rollouts in all)"
    assert merged.out.splitlines()[1] == f"warning: {said}"
    assert f"warning: {said}: their rollouts are not in this table\n" in lookaway("show", tmp_path / "out").out
    assert lookaway("show", tmp_path / "out", "--json").json["missing_shards"] == [said]


def test_as_json_a_merge_says_what_came_together(root, tmp_path):
    runs = shards(root, tmp_path, 2)
    said = lookaway("merge", *runs, "-o", tmp_path / "out", "--json").json
    assert (said["run"], said["rollouts"], said["runs"], said["missing"]) == (str(tmp_path / "out"), 6, runs, [])
    assert [(entry["of"], entry["numbers"]) for entry in said["shards"]] == [(2, [1, 2])]


def test_merge_without_runs_or_output_is_an_error_of_the_user(tmp_path):
    assert lookaway("merge", "-o", tmp_path / "out").code == 2
    assert lookaway("merge", tmp_path / "run").code == 2
    assert lookaway("merge", tmp_path / "run", "-o", tmp_path / "out").code == 2


@pytest.mark.server
def test_runs_on_object_storage_are_merged_there_and_again_without_a_change(root, tmp_path):
    lookaway("eval", root, *METRICS, "-o", tmp_path / "whole", "--quiet")
    with s3_server(tmp_path):
        bucket = new_bucket()
        runs = shards(root, bucket, 2)
        for _ in range(2):
            result = lookaway("merge", *runs, "-o", bucket / "out")
            assert (result.code, result.err) == (0, "")
            assert lookaway("show", bucket / "out").out == lookaway("show", tmp_path / "whole").out
        assert lookaway("merge", *runs, "-o", tmp_path / "out").code == 0
        assert table_text(tmp_path / "out") == table_text(tmp_path / "whole")
