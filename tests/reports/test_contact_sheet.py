from __future__ import annotations

import cv2
import numpy as np
import pytest

from lookaway.io.world_clips import WorldClip
from lookaway.reports.contact_sheet import CELL_WIDTH, COLUMNS, MARK, contact_sheet, shown_frames, write_contact_sheet
from tests.support.rendered import copy_small

pytestmark = pytest.mark.render


@pytest.fixture(scope="module")
def clips(tmp_path_factory) -> dict[str, WorldClip]:
    root = tmp_path_factory.mktemp("world")
    copy_small(root, faults=("vanish",), severities=(1.0,))
    return {path.parts[-3]: WorldClip.open(path.parent) for path in root.rglob("clip.json")}


def marked(sheet) -> np.ndarray:
    """Which columns of the sheet show the target in the colour that nothing else has."""
    pixels = (sheet == np.array(MARK, np.uint8)).all(axis=2).any(axis=0)
    width = sheet.shape[1] // COLUMNS
    return np.array([pixels[i * width : (i + 1) * width].any() for i in range(COLUMNS)])


def test_a_sheet_tells_when_the_target_is_seen(clips):
    assert marked(contact_sheet(clips["perfect"])).tolist() == [True, True, False, False, True, True]


def test_a_sheet_of_a_vanished_target_shows_that_it_has_not_come_back(clips):
    assert marked(contact_sheet(clips["vanish-1.00"])).tolist() == [True, True, False, False, False, False]


def test_a_sheet_beside_the_remembered_clip_has_one_row_of_pictures_more(clips):
    alone = contact_sheet(clips["vanish-1.00"])
    beside = contact_sheet(clips["vanish-1.00"], clips["perfect"])
    assert beside.shape[0] > alone.shape[0] + CELL_WIDTH * 128 / 224
    assert beside.shape[1] == alone.shape[1]


def test_the_file_is_a_picture_that_can_be_opened(clips, tmp_path):
    write_contact_sheet(clips["perfect"], tmp_path / "sheet.png")
    opened = cv2.imread(str(tmp_path / "sheet.png"))
    assert opened is not None
    assert (opened[..., ::-1] == contact_sheet(clips["perfect"])).all()


def test_six_frames_tell_the_story_in_order():
    assert shown_frames(36, (10, 26)) == [0, 9, 10, 18, 26, 35]


def test_a_target_that_never_disappears_is_shown_at_even_times():
    assert shown_frames(36, (36, 36)) == [0, 7, 14, 21, 28, 35]


def test_a_target_that_never_comes_back_is_still_shown_to_the_last_frame():
    assert shown_frames(36, (10, 36))[-1] == 35
    assert max(shown_frames(36, (0, 36))) == 35
