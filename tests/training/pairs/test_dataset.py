"""Pairs of real files: prompts, frame rates, and files that are not what was measured."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from lookaway.core import Lock, Score, UserError
from lookaway.engine.locking import content_key
from lookaway.engine.reading import read
from lookaway.io.encoding import write_video
from lookaway.store.outcome_rows import Measured
from lookaway.store.run_folder import RunFolder
from tests.training.pairs.made_runs import GATE, LIGHT, METRICS, exported, winner

VALUES = {"good": 0.9, "fair": 0.6, "poor": 0.1}


@pytest.fixture
def dataset(tmp_path):
    """Three models, two scenes, with a manifest."""
    folder = tmp_path / "dataset"
    lines = []
    for scene in ("garden", "hall"):
        for number, model in enumerate(VALUES):
            path = folder / model / f"{scene}.mp4"
            path.parent.mkdir(parents=True, exist_ok=True)
            level = 25 * number + (130 if scene == "hall" else 20)
            write_video(path, [np.full((16, 16, 3), level + frame, np.uint8) for frame in range(4)], fps=8)
            line = {"video": f"{model}/{scene}.mp4", "model": model, "case": f"{scene}-1", "scene": scene}
            lines.append({**line, "prompt": f"A {scene}, seen twice."})
    (folder / "manifest.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return folder


def run_of(path: Path, dataset: Path) -> Path:
    """A run of the dataset as it lies there, with chosen scores."""
    rollouts = [(rollout, content_key(rollout)) for rollout in read(dataset, suite="revisit").rollouts]
    locked = {"suite": {"name": "revisit"}, "metrics": {}}
    about = {
        "suite": "revisit",
        "dataset": str(dataset),
        "lock_sha256": Lock(locked).sha256,
        "problems": [],
        "metrics": [METRICS[0].entry, METRICS[2].entry],
    }
    folder = RunFolder(path)
    folder.start(Lock(locked), rollouts, about)
    folder.add(
        [
            Measured(rollout=one.id, content=content, metric=name, lock=f"lock of {name}", outcome=Score(value))
            for one, content in rollouts
            for name, value in ((LIGHT, VALUES[one.model]), (GATE, 1.0))
        ]
    )
    return path


def test_pairs_have_the_prompt_and_the_facts_of_their_files(dataset, tmp_path):
    rows = exported(tmp_path / "pairs", run_of(tmp_path / "run", dataset), reads_dataset=True)
    assert len(rows) == 6
    for row in rows:
        assert row["prompt"] == f"A {row['scene_id']}, seen twice."
        assert (row["fps_a"], row["num_frames_b"]) == (pytest.approx(8.0), 4)
        assert len(row["sha_a"]) == 64
        assert row["flags"] == []
        assert Path(row["video_a"]).is_file()


def test_a_video_that_changed_since_it_was_measured_makes_no_pair(dataset, tmp_path):
    run = run_of(tmp_path / "run", dataset)
    write_video(dataset / "good" / "hall.mp4", [np.full((16, 16, 3), 7, np.uint8)] * 4, fps=8)
    rows = exported(tmp_path / "pairs", run, reads_dataset=True)
    assert len(rows) == 4
    assert not [row for row in rows if row["scene_id"] == "hall" and "good" in (row["model_a"], row["model_b"])]
    card = json.loads((tmp_path / "pairs" / "card.json").read_text())
    assert card["videos_left_out"] == {"changed since it was measured": 1}


def test_a_video_that_is_gone_makes_no_pair(dataset, tmp_path):
    run = run_of(tmp_path / "run", dataset)
    (dataset / "good" / "hall.mp4").unlink()
    rows = exported(tmp_path / "pairs", run, reads_dataset=True)
    assert not [row for row in rows if row["scene_id"] == "hall" and winner(row) == "good"]


def test_a_video_that_two_scenes_share_makes_no_pair(dataset, tmp_path):
    shutil.copy(dataset / "good" / "hall.mp4", dataset / "good" / "garden.mp4")
    rows = exported(tmp_path / "pairs", run_of(tmp_path / "run", dataset), reads_dataset=True)
    assert {winner(row) for row in rows} == {"fair"}


def test_equal_files_make_no_pair_whatever_lies_beside_them(dataset, tmp_path):
    shutil.copy(dataset / "good" / "hall.mp4", dataset / "fair" / "hall.mp4")
    np.savez(dataset / "fair" / "hall.npz", extrinsics=np.tile(np.eye(4), (4, 1, 1)))
    rows = exported(tmp_path / "pairs", run_of(tmp_path / "run", dataset), reads_dataset=True)
    assert all(row["sha_a"] != row["sha_b"] for row in rows)
    assert len({frozenset((row["sha_a"], row["sha_b"])) for row in rows}) == len(rows)


def test_a_dataset_that_is_gone_is_refused_unless_it_is_not_needed(dataset, tmp_path):
    run = run_of(tmp_path / "run", dataset)
    shutil.rmtree(dataset)
    with pytest.raises(UserError, match="--without-dataset"):
        exported(tmp_path / "pairs", run, reads_dataset=True)
    rows = exported(tmp_path / "pairs", run, reads_dataset=False)
    assert {tuple(row["flags"]) for row in rows} == {("files_not_checked",)}


def test_a_case_with_two_prompts_is_refused(dataset, tmp_path):
    first = run_of(tmp_path / "one", dataset)
    other = tmp_path / "other"
    shutil.copytree(dataset, other)
    manifest = other / "manifest.jsonl"
    manifest.write_text(manifest.read_text().replace("seen twice", "seen once").replace('"good"', '"best"'))
    VALUES["best"] = 1.0
    try:
        second = run_of(tmp_path / "two", other)
    finally:
        del VALUES["best"]
    with pytest.raises(UserError, match="another prompt"):
        exported(tmp_path / "pairs", first, second, reads_dataset=True)
