"""`lookaway show --clip`: the numbers of one rollout, which are flagged, and the pictures that show why."""

from __future__ import annotations

from pathlib import Path

import pytest

from lookaway.core import UnknownName
from lookaway.reports.one_rollout import rollout_numbers
from lookaway.reports.runs import load_runs
from tests.support.changed import Changed, changed_run, picture
from tests.support.command import lookaway

GONE = Changed(areas=(3.0, 9.0), flagged=["changed_area"], pictures=(picture(40), picture(200)))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return changed_run(tmp_path, {"clean": Changed(), "gone": GONE, "away": Changed(is_tested=False)})


def test_a_rollout_has_its_own_numbers_and_flags(run: Path) -> None:
    (loaded,) = load_runs([run])
    gone = {number.metric: (number.value, number.is_flagged) for number in rollout_numbers(loaded, "gone/candle/0")}
    assert gone == {"remembered": (0.0, True), "changed_area": (6.0, True), "light": (0.0, False)}
    clean = rollout_numbers(loaded, "clean/candle/0")
    assert not any(number.is_flagged for number in clean)


def test_a_rollout_that_the_run_has_not_is_met_with_the_nearest(run: Path) -> None:
    (loaded,) = load_runs([run])
    with pytest.raises(UnknownName, match="Did you mean 'gone/candle/0'"):
        rollout_numbers(loaded, "gone/candel/0")


def test_the_command_prints_numbers_and_where_the_pictures_are_worst_first(run: Path, tmp_path: Path) -> None:
    shown = lookaway("show", run, "--clip", "gone/candle/0", "--pictures", tmp_path / "pictures")
    lines = shown.out.splitlines()
    assert [line.split()[0] for line in lines if line.split()[-1] == "flagged"] == ["remembered", "changed_area"]
    first, second = lines[-2:]
    assert first.startswith("frames 2 and 10, 9.0 % changed: ")
    assert second.startswith("frames 1 and 9, 3.0 % changed: ")
    assert [Path(line.split(": ")[1]).read_bytes() for line in (first, second)] == [picture(200), picture(40)]
    assert {path.parent for path in (tmp_path / "pictures").rglob("*.jpg")} == {tmp_path / "pictures"}


def test_without_a_folder_nothing_is_written_and_the_option_is_named(run: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    shown = lookaway("show", run, "--clip", "gone/candle/0")
    assert "2 pictures of what changed: write them with --pictures FOLDER" in shown.out
    assert sorted(tmp_path.rglob("*")) == before


def test_a_rollout_without_numbers_says_why(run: Path, tmp_path: Path) -> None:
    shown = lookaway("show", run, "--clip", "away/candle/0", "--pictures", tmp_path / "pictures")
    assert shown.out.count("gate_closed: the camera never left.") == 3
    assert "no pictures of what changed are stored" in shown.out
    assert not (tmp_path / "pictures").exists()


def test_as_json_a_rollout_has_numbers_and_paths(run: Path, tmp_path: Path) -> None:
    found = lookaway("show", run, "--clip", "gone/candle/0", "--pictures", tmp_path / "pictures", "--json").json
    assert {entry["metric"]: entry["is_flagged"] for entry in found["metrics"]}["changed_area"]
    assert [(entry["frames"], Path(entry["path"]).is_file()) for entry in found["pictures"]] == [
        ([2, 10], True),
        ([1, 9], True),
    ]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--pictures", "here"), "--pictures only applies with --clip"),
        (("--clip", "gone/candle/0", "--contact-sheet", "sheet.jpg"), "give one of them"),
        (("--clip", "gone/candle/0", "--ignore-trigger"), "only apply to the table"),
    ],
)
def test_options_that_do_not_go_together_are_refused(run: Path, options: tuple[str, ...], said: str) -> None:
    result = lookaway("show", run, *options)
    assert (result.code, said in result.err) == (2, True)
