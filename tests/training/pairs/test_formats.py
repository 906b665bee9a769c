"""Each format, read back as its trainer reads it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from lookaway.core import Score
from lookaway.training.pairs.formats import FORMATS, file_names
from tests.training.pairs.made_runs import LIGHT, LOOK, clip, exported, loser, made_run, winner

ALL = {"train": 1.0}
NAMES = [("good", 0.9), ("poor", 0.4)]


@pytest.fixture
def written(tmp_path):
    """A folder with ten pairs on two axes, of which `look` has ties only, and their rows."""
    clips = [clip(model, value, f"case{n}", outcomes={LOOK: Score(0.5)}) for n in range(10) for model, value in NAMES]
    run = made_run(tmp_path / "run", clips)
    rows = exported(tmp_path / "pairs", run, metrics=(LIGHT, LOOK), splits=ALL)
    return tmp_path / "pairs", rows


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_videoalign_has_a_row_for_each_pair_with_a_label_for_each_axis(written):
    folder, rows = written
    found = read_csv(folder / "videoalign" / "train.csv")
    assert len(found) == 10
    fixed = {"path_A", "path_B", "prompt", "fps_A", "num_frames_A", "fps_B", "num_frames_B"}
    assert fixed | {LIGHT, LOOK, "A_model", "B_model"} == found[0].keys()
    for row in found:
        assert row[LOOK] == "same"
        better = row["A_model"] if row[LIGHT] == "A" else row["B_model"]
        assert better == "good"
        assert f"/{row['A_model']}/" in row["path_A"]
    assert {row[LIGHT] for row in found} == {"A", "B"}
    assert len(rows) == 20


def test_videoalign_calls_an_axis_invalid_on_which_a_pair_is_not_judged(tmp_path):
    clips = [clip("good", 0.9, outcomes={LOOK: Score(0.9)}), clip("poor", 0.4)]
    exported(tmp_path / "pairs", made_run(tmp_path / "run", clips), metrics=(LIGHT, LOOK), splits=ALL)
    (row,) = read_csv(tmp_path / "pairs" / "videoalign" / "train.csv")
    assert row[LIGHT] in ("A", "B")
    assert row[LOOK] == "invalid"


def test_videodpo_pairs_name_two_videos_of_the_metadata_the_winner_first(written):
    folder, _ = written
    own = folder / "videodpo" / LIGHT / "train"
    metadata, pairs = (json.loads((own / f"{name}.json").read_text()) for name in ("metadata", "pair"))
    assert len(pairs) == 10
    for pair in pairs:
        won, lost = metadata[pair["video1"]], metadata[pair["video2"]]
        assert "/good/" in won["basic"]["clip_path"]
        assert "/poor/" in lost["basic"]["clip_path"]
        assert won["misc"]["frame_caption"] == [pair["frame_caption"]]
        assert pair["label"] == 0


def test_unifiedreward_has_chosen_and_rejected(written):
    folder, _ = written
    for entry in json.loads((folder / "unifiedreward" / LIGHT / "train.json").read_text()):
        assert entry.keys() == {"id", "caption", "chosen", "rejected"}
        assert ("/good/" in entry["chosen"], "/poor/" in entry["rejected"]) == (True, True)


def test_hpdv3_prefers_the_first_path(written):
    folder, _ = written
    for entry in json.loads((folder / "hpdv3" / LIGHT / "train.json").read_text()):
        assert ("/good/" in entry["path1"], "/poor/" in entry["path2"]) == (True, True)
        assert (entry["model1"], entry["model2"], entry["source"]) == ("good", "poor", "metric")
        assert entry["confidence"] is None
        assert entry["choice_dist"] is None


def test_trl_has_prompt_chosen_rejected_and_margin(written):
    folder, _ = written
    lines = (folder / "trl" / LIGHT / "train.jsonl").read_text().splitlines()
    assert len(lines) == 10
    for entry in map(json.loads, lines):
        assert entry.keys() == {"prompt", "chosen", "rejected", "margin"}
        assert entry["margin"] == pytest.approx(5.0)


def test_csv_has_chosen_and_rejected(written):
    folder, _ = written
    for row in read_csv(folder / "csv" / LIGHT / "train.csv"):
        assert ("/good/" in row["chosen"], "/poor/" in row["rejected"]) == (True, True)
        assert (row["model_chosen"], row["model_rejected"]) == ("good", "poor")


def test_all_formats_agree_with_the_table(written):
    folder, rows = written
    expected = {
        (row[f"video_{better}"], row[f"video_{worse}"])
        for row in rows
        for better, worse in [{"A": "ab", "B": "ba"}.get(row["label"], "  ")]
        if better != " "
    }
    found = json.loads((folder / "unifiedreward" / LIGHT / "train.json").read_text())
    assert {(entry["chosen"], entry["rejected"]) for entry in found} == expected
    assert {(winner(row), loser(row)) for row in rows if row["label"] != "same"} == {("good", "poor")}


def test_an_axis_of_ties_has_no_file_where_a_winner_is_needed(written):
    folder, _ = written
    assert not (folder / "hpdv3" / LOOK).exists()


def test_only_the_formats_that_are_asked_for_are_written(tmp_path):
    run = made_run(tmp_path / "run", [clip("good", 0.9), clip("poor", 0.4)])
    exported(tmp_path / "pairs", run, formats=("trl",))
    assert {path.name for path in (tmp_path / "pairs").iterdir()} == {
        "preferences.parquet",
        "card.json",
        "README.md",
        "trl",
    }
    assert "videoalign" in FORMATS


def test_text_of_a_dataset_stays_in_its_field(tmp_path):
    name = 'a"b,c\nd'
    clips = [clip(name, 0.9), clip("poor", 0.4)]
    exported(tmp_path / "pairs", made_run(tmp_path / "run", clips), splits=ALL)
    (row,) = read_csv(tmp_path / "pairs" / "videoalign" / "train.csv")
    assert {row["A_model"], row["B_model"]} == {name, "poor"}
    (entry,) = json.loads((tmp_path / "pairs" / "hpdv3" / LIGHT / "train.json").read_text())
    assert entry["model1"] == name
    assert name not in (tmp_path / "pairs" / "README.md").read_text()


def test_axes_have_file_names_of_their_own():
    assert len(set(file_names(["a/b", "a_b", "a b"]).values())) == 3
