"""Pictures of what changed while the camera was away, on the page of a case."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lookaway.core import Feature
from lookaway.io.pictures import jpeg_bytes
from lookaway.reports.case_page import change_pictures as module
from lookaway.reports.case_page.change_pictures import change_pictures
from lookaway.reports.case_page.page import write_item_page
from lookaway.reports.case_page.videos import CaseVideos, case_videos
from lookaway.reports.runs import load_runs
from lookaway.reports.site.media import SiteMedia
from tests.support.filmed import FilmedRun

PICTURES = [jpeg_bytes(np.full((32, 96, 3), level, np.uint8)) for level in (40, 200)]


def kept(contents: list[bytes], changed: list[float]) -> Feature:
    return Feature(
        {
            "pairs": np.array([[1, 9], [2, 10]]),
            "changed_area": np.array(changed),
            "pictures": np.frombuffer(b"".join(contents), np.uint8),
            "offsets": np.cumsum([0, *map(len, contents)]),
        }
    )


@pytest.fixture
def case(tmp_path: Path) -> CaseVideos:
    filmed = FilmedRun(tmp_path)
    filmed.film("alpha")
    filmed.film("beta")
    (case,) = case_videos(load_runs([filmed.write()]), SiteMedia(tmp_path / "site"))
    return case


def store(monkeypatch: pytest.MonkeyPatch, **features: Feature) -> None:
    monkeypatch.setattr(
        module,
        "kept_feature",
        lambda run, rollout, name: ("revisit_changes", features[rollout.model]) if rollout.model in features else None,
    )


def test_the_pair_with_most_change_of_each_video_is_shown_worst_first(
    case: CaseVideos, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(monkeypatch, alpha=kept(PICTURES, [0.0, 3.0]), beta=kept(PICTURES, [9.0, 1.0]))
    shown = change_pictures(case, tmp_path / "site")
    assert [(picture.video.rollout.model, picture.frames) for picture in shown] == [
        ("beta", (1, 9)),
        ("alpha", (2, 10)),
    ]
    assert (tmp_path / "site" / shown[0].href).read_bytes() == PICTURES[0]
    page = (tmp_path / "site" / write_item_page(case, tmp_path / "site")).read_text()
    assert "What changed while the camera was away" in page
    assert f'src="../{shown[0].href}"' in page
    assert "9.0 % changed" in page


def test_a_page_without_such_pictures_does_not_mention_them(case: CaseVideos, tmp_path: Path) -> None:
    page = (tmp_path / "site" / write_item_page(case, tmp_path / "site")).read_text()
    assert "What changed while the camera was away" not in page


@pytest.mark.parametrize("content", [b"<script>alert(1)</script>", b"", PICTURES[0] + bytes(module.MAX_BYTES)])
def test_what_is_no_small_jpeg_is_not_written(
    case: CaseVideos, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    store(monkeypatch, alpha=kept([content, content], [5.0, 1.0]))
    assert change_pictures(case, tmp_path / "site") == []
    assert not (tmp_path / "site/assets/changes").exists()
