"""What changed, laid over the players of a case: made from the stored picture, shown at the frame of the return."""

from __future__ import annotations

import re
from pathlib import Path

import cv2
import numpy as np
import pytest

from lookaway.io.pictures import jpeg_bytes
from lookaway.perception.revisit.change_map import ViewChanges
from lookaway.perception.revisit.revisit_changes import side_by_side
from lookaway.reports.case_page.change_overlay import DIMMED, change_overlay
from lookaway.reports.case_page.page import write_item_page
from lookaway.reports.case_page.videos import case_videos
from lookaway.reports.runs import load_runs
from lookaway.reports.site.media import SiteMedia
from tests.support.browser import serious_violations, visit
from tests.support.changed import Changed, changed_run, picture

HEIGHT, WIDTH, LEFT = 240, 320, 60
BOX = (80, 140, 150, 230)
"""Rows and columns of what changed."""


def stored_picture(*, is_changed: bool = True) -> bytes:
    """As the extractor stores it: the left of the view is not compared, and a box may have changed."""
    rows, columns = np.indices((HEIGHT, WIDTH))
    view = np.stack([80 + 100 * columns / WIDTH, 60 + 120 * rows / HEIGHT, np.full((HEIGHT, WIDTH), 120)], axis=2)
    changed, mask = np.zeros((HEIGHT, WIDTH), np.bool_), columns >= LEFT
    if is_changed:
        changed[BOX[0] : BOX[1], BOX[2] : BOX[3]] = True
    changes = ViewChanges(
        differences=np.zeros((HEIGHT, WIDTH)),
        changed=changed,
        mask=mask,
        aside=np.zeros_like(changed),
        stops=np.zeros(3),
    )
    return jpeg_bytes(side_by_side(cv2, view.astype(np.uint8), view.astype(np.uint8), changes))


def laid(jpeg: bytes) -> np.ndarray:
    """[height, width, 4] blue, green, red and opacity."""
    png = change_overlay(jpeg)
    assert png is not None
    return cv2.imdecode(np.frombuffer(png, np.uint8), cv2.IMREAD_UNCHANGED)


def test_what_changed_is_outlined_and_nothing_else_covers_what_was_compared():
    found = laid(stored_picture())
    assert found.shape == (HEIGHT, WIDTH, 4)
    assert all(found[row, BOX[2] : BOX[3], 3].mean() > 200 for row in (BOX[0], BOX[1] - 1))
    assert all(found[BOX[0] : BOX[1], column, 3].mean() > 200 for column in (BOX[2], BOX[3] - 1))
    assert found[BOX[0] + 6 : BOX[1] - 6, BOX[2] + 6 : BOX[3] - 6, 3].max() == 0
    assert found[: BOX[0] - 6, LEFT + 4 :, 3].max() == 0


def test_what_was_not_compared_is_dimmed():
    found = laid(stored_picture(is_changed=False))
    assert (found[:, : LEFT - 4, 3] == DIMMED[3]).mean() > 0.95
    assert found[:, LEFT + 4 :, 3].max() == 0


@pytest.mark.parametrize("content", [b"", b"\xff\xd8\xff broken", picture(40)], ids=["empty", "broken", "one panel"])
def test_what_is_no_such_picture_is_laid_over_nothing(content):
    assert change_overlay(content) is None


def item_page(root: Path) -> Path:
    """The page of three videos: one forgot, one remembered, one was not tested."""
    pictures = (stored_picture(), stored_picture(is_changed=False))
    videos = {
        "alpha": Changed(areas=(9.0, 1.0), flagged=["changed_area"], pictures=pictures),
        "beta": Changed(areas=(0.0, 0.0), pictures=pictures),
        "gamma": Changed(is_tested=False),
    }
    (case,) = case_videos(load_runs([changed_run(root, videos)]), SiteMedia(root / "site"))
    return root / "site" / write_item_page(case, root / "site")


def test_a_page_begins_with_how_many_remembered_and_the_worst_pair(tmp_path):
    text = item_page(tmp_path).read_text()
    head = text[text.index('class="verdict"') : text.index('<main id="main"')]
    assert "1 of 2 tested videos remembered; 1 was not tested." in head
    assert head.index("alpha") < head.index("9.0&nbsp;% changed between frames 1 and 9.")


def test_without_scripts_nothing_is_laid_over_a_video(tmp_path):
    text = item_page(tmp_path).read_text()
    assert text.count('class="overlay"') == len(re.findall(r'<img class="overlay"[^>]* hidden>', text)) == 2


@pytest.mark.browser
@pytest.mark.merge
def test_the_key_goes_to_the_worst_return_and_lays_over_it_what_changed(browser, tmp_path):
    with visit(browser, item_page(tmp_path)) as opened:
        page = opened.page
        page.keyboard.press("c")
        page.wait_for_selector("#player-v0 .overlay:not([hidden])")
        assert page.locator("#player-v0").get_attribute("data-frame") == "9"
        assert page.locator("#overlay").get_attribute("aria-pressed") == "true"
        page.keyboard.press("ArrowRight")
        page.wait_for_selector("#player-v0 .overlay[hidden]", state="attached")
        page.keyboard.press("ArrowLeft")
        page.wait_for_selector("#player-v0 .overlay:not([hidden])")
        page.keyboard.press("c")
        assert page.locator(".overlay:not([hidden])").count() == 0
        assert opened.errors == []


@pytest.mark.browser
@pytest.mark.merge
@pytest.mark.parametrize(("width", "dark"), [(1440, False), (390, True)])
def test_a_page_with_what_changed_over_its_players_bars_nobody(browser, tmp_path, width, dark):
    with visit(browser, item_page(tmp_path), width=width, dark=dark) as opened:
        opened.page.locator("#overlay").click()
        opened.page.wait_for_selector("#player-v0 .overlay:not([hidden])")
        assert serious_violations(opened.page) == []
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.browser
@pytest.mark.merge
def test_the_worst_video_gets_a_player_where_it_had_none(browser, tmp_path):
    pictures = (stored_picture(), stored_picture(is_changed=False))
    fine = {f"m{number}": Changed(areas=(0.0, 0.0), pictures=pictures) for number in range(6)}
    worst = {"worst": Changed(areas=(9.0, 1.0), flagged=["changed_area"], pictures=pictures)}
    (case,) = case_videos(load_runs([changed_run(tmp_path, {**fine, **worst})]), SiteMedia(tmp_path / "site"))
    page = tmp_path / "site" / write_item_page(case, tmp_path / "site")
    with visit(browser, page) as opened:
        assert not opened.page.locator("#player-v6").is_visible()
        opened.page.get_by_role("button", name="Show it on the videos").click()
        opened.page.wait_for_selector("#player-v6 .overlay:not([hidden])")
        assert opened.page.locator(".player video").count() == 6
        assert opened.errors == []
