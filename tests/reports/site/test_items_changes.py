"""Pictures of what changed while the camera was away, on the page of a case."""

from __future__ import annotations

from pathlib import Path

import pytest

from lookaway.reports.case_page import change_pictures as module
from lookaway.reports.case_page.change_pictures import change_pictures
from lookaway.reports.case_page.page import write_item_page
from lookaway.reports.case_page.videos import CaseVideos, case_videos
from lookaway.reports.pair_pictures import MAX_BYTES
from lookaway.reports.runs import load_runs
from lookaway.reports.site.media import SiteMedia
from tests.support.changed import Changed, changed_run, picture

GONE = Changed(areas=(9.0, 1.0), flagged=["changed_area"])


def case_of(root: Path, **videos: Changed) -> CaseVideos:
    (case,) = case_videos(load_runs([changed_run(root, videos)]), SiteMedia(root / "site"))
    return case


def page_of(case: CaseVideos, site: Path) -> str:
    return (site / write_item_page(case, site)).read_text()


def test_the_pair_with_most_change_of_each_video_is_shown_worst_first(tmp_path: Path) -> None:
    case = case_of(tmp_path, alpha=Changed(areas=(0.0, 3.0)), beta=Changed(areas=(9.0, 1.0)))
    shown = change_pictures(case, tmp_path / "site").shown
    assert [(entry.video.rollout.model, entry.frames) for entry in shown] == [("beta", (1, 9)), ("alpha", (2, 10))]
    assert (tmp_path / "site" / shown[0].href).read_bytes() == picture(40)
    page = page_of(case, tmp_path / "site")
    assert "What changed while the camera was away" in page
    assert f'src="../{shown[0].href}"' in page
    assert "9.0 % changed" in page


def test_every_flagged_number_links_to_its_picture_and_no_other_does(tmp_path: Path) -> None:
    case = case_of(tmp_path, alpha=Changed(areas=(0.0, 3.0)), beta=GONE)
    page = page_of(case, tmp_path / "site")
    (key,) = (video.key for video in case.videos if video.rollout.model == "beta")
    assert page.count(f'<a class="flag" href="#changes-{key}">flagged</a>') == 2  # remembered and changed_area
    assert page.count('<a class="flag"') == 2
    assert page.count(f'id="changes-{key}"') == 1


def test_a_flagged_number_whose_picture_does_not_fit_the_page_links_to_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_PICTURES", 0)
    case = case_of(tmp_path, beta=GONE)
    (linked,) = change_pictures(case, tmp_path / "site").linked
    assert page_of(case, tmp_path / "site").count(f'<a class="flag" href="../{linked.href}">flagged</a>') == 2


def test_a_flagged_number_without_a_picture_is_marked_without_a_link(tmp_path: Path) -> None:
    page = page_of(case_of(tmp_path, beta=Changed(flagged=["light"], pictures=(b"", b""))), tmp_path / "site")
    assert '<span class="flag">flagged</span>' in page
    assert '<a class="flag"' not in page


def test_a_page_without_such_pictures_does_not_mention_them(tmp_path: Path) -> None:
    page = page_of(case_of(tmp_path, alpha=Changed(is_tested=False)), tmp_path / "site")
    assert "What changed while the camera was away" not in page


@pytest.mark.parametrize("content", [b"<script>alert(1)</script>", b"", picture(40) + bytes(MAX_BYTES)])
def test_what_is_no_small_jpeg_is_not_written(tmp_path: Path, content: bytes) -> None:
    case = case_of(tmp_path, alpha=Changed(areas=(5.0, 1.0), pictures=(content, content)))
    assert change_pictures(case, tmp_path / "site").shown == ()
    assert not (tmp_path / "site/assets/changes").exists()
