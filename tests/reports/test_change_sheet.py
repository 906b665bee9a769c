"""The contact sheet of a run: what changed where the camera came back, worst first."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lookaway.core import Pixels, UserError
from lookaway.io.pictures import picture_pixels
from lookaway.reports import change_sheet as module
from lookaway.reports.change_sheet import FLAGGED, MAX_HEIGHT, change_sheet, write_change_sheet
from lookaway.reports.runs import LoadedRun, load_runs
from tests.support.changed import Changed, changed_run, picture
from tests.support.command import lookaway


def loaded(root: Path, **videos: Changed) -> LoadedRun:
    (run,) = load_runs([changed_run(root, videos)])
    return run


def grey(level: int) -> Changed:
    return Changed(pictures=(picture(level), picture(level)))


def order(sheet: Pixels, *levels: int) -> list[int]:
    """The greys of the pictures on a sheet, from top to bottom."""
    edge = sheet[:, 2].astype(int)
    found = [level for row in edge for level in levels if np.abs(row - level).max() <= 2]
    return list(dict.fromkeys(found))


def test_most_flags_come_first_and_then_most_change(tmp_path: Path) -> None:
    run = loaded(
        tmp_path,
        clean=grey(30),
        darker=Changed(light=2.0, flagged=["light"], pictures=(picture(80),) * 2),
        gone=Changed(areas=(9.0, 9.0), flagged=["changed_area"], pictures=(picture(130),) * 2),
        both=Changed(areas=(1.0, 1.0), light=1.0, flagged=["changed_area", "light"], pictures=(picture(180),) * 2),
    )
    sheet, said = change_sheet(run)
    assert order(sheet, 30, 80, 130, 180) == [180, 130, 80, 30]
    assert said == "4 of 4 rollouts, the worst first"


def test_only_flagged_numbers_have_the_colour_of_flags(tmp_path: Path) -> None:
    def has_flags(sheet: Pixels) -> bool:
        return bool((np.abs(sheet.astype(int) - FLAGGED).max(axis=2) < 30).any())

    assert not has_flags(change_sheet(loaded(tmp_path / "clean", clean=grey(30)))[0])
    gone = Changed(areas=(9.0, 9.0), flagged=["changed_area"])
    assert has_flags(change_sheet(loaded(tmp_path / "gone", gone=gone))[0])


def test_the_pair_with_most_change_is_shown(tmp_path: Path) -> None:
    run = loaded(tmp_path, one=Changed(areas=(1.0, 7.0), pictures=(picture(60), picture(160))))
    assert order(change_sheet(run)[0], 60, 160) == [160]


def test_a_sheet_has_a_largest_number_of_rows_and_says_what_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_ROWS", 2)
    videos = {f"m{number}": Changed(areas=(number, number)) for number in range(4)}
    run = loaded(tmp_path, **videos, away=Changed(is_tested=False))
    sheet, said = change_sheet(run)
    assert said == (
        "2 of 5 rollouts, the worst first; left out: 2 with less change or without a picture, 1 not measured"
    )
    assert len(sheet) < 2 * (MAX_HEIGHT + 100)


def test_a_tall_video_makes_no_tall_row(tmp_path: Path) -> None:
    tall = picture(120, (400, 60))
    sheet, _ = change_sheet(loaded(tmp_path, one=Changed(pictures=(tall, tall))))
    assert len(sheet) < MAX_HEIGHT + 100


def test_what_is_no_picture_is_passed_over(tmp_path: Path) -> None:
    damaged = b"\xff\xd8\xff and nothing else"
    run = loaded(tmp_path, one=Changed(areas=(9.0, 1.0), pictures=(damaged, picture(160))), two=grey(60))
    assert order(change_sheet(run)[0], 60, 160) == [160, 60]


def test_a_run_without_pictures_is_refused_with_what_to_do(tmp_path: Path) -> None:
    run = loaded(tmp_path, away=Changed(is_tested=False))
    with pytest.raises(UserError, match=r"no pictures of what changed.*--suite revisit"):
        change_sheet(run)


@pytest.mark.parametrize("name", ["sheet.jpg", "sheet.PNG"])
def test_the_ending_of_the_file_says_how_it_is_written(tmp_path: Path, name: str) -> None:
    run = loaded(tmp_path, one=grey(60))
    write_change_sheet(run, tmp_path / "new" / name)
    assert picture_pixels((tmp_path / "new" / name).read_bytes()).shape == change_sheet(run)[0].shape


def test_the_command_writes_the_sheet_and_refuses_what_is_no_picture(tmp_path: Path) -> None:
    run = changed_run(tmp_path, {"one": grey(60)})
    written = lookaway("show", run, "--contact-sheet", tmp_path / "sheet.jpg")
    assert (written.code, written.out) == (0, f"Wrote {tmp_path}/sheet.jpg: 1 of 1 rollout, the worst first\n")
    refused = lookaway("show", run, "--contact-sheet", tmp_path / "sheet.html")
    assert (refused.code, "ends in .jpg, .jpeg, .png" in refused.err) == (2, True)
