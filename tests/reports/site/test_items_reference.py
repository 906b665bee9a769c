"""The page of a case shows the reference video, wherever the run was told that it lies."""

from __future__ import annotations

import html
import json
import re
import shlex
from pathlib import Path

import pytest

from lookaway.reports.runs import load_runs
from lookaway.reports.site.building import write_items
from tests.support.command import lookaway
from tests.support.filmed import write_numbers
from tests.support.mind import MindWriter, actions


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of MIND whose reference videos lie apart, and were named from another folder."""
    writer = MindWriter(tmp_path)
    writer.case(record=actions(mark=4, total=12), video=write_numbers(tmp_path / "long.mp4", count=16).read_bytes())
    writer.answer(video=write_numbers(tmp_path / "short.mp4", count=8).read_bytes())
    writer.truth.rename(tmp_path / "references")
    monkeypatch.chdir(tmp_path / "models")
    options = ("--ground-truth", "../references", "--max-frames", "3", "--metrics", "mind.lcm.mse", "--quiet")
    assert lookaway("eval", ".", "-o", tmp_path / "run", *options).code == 0
    monkeypatch.chdir(tmp_path)
    return tmp_path / "run"


def page_of(run: Path) -> str:
    (href,) = (page.href for page in write_items(load_runs([run]), run.parent / "site").values())
    return (run.parent / "site" / href).read_text()


def players(page: str) -> list[str]:
    (data,) = re.findall(r'id="player-data">(.*?)</script>', page)
    return [video["key"] for video in json.loads(data)["videos"]]


def test_a_reference_video_that_lies_elsewhere_is_on_the_page(run: Path) -> None:
    page = page_of(run)
    assert players(page) == ["reference", "v0"]
    assert "cannot be read again" not in page


def test_the_command_of_the_page_names_the_folder_of_references_and_gives_the_same_lock(run: Path) -> None:
    (command,) = re.findall(r"lookaway eval [^<]*", page_of(run))
    words = shlex.split(html.unescape(command))
    assert {"--ground-truth=references", "--max-frames=3"} <= set(words)
    assert lookaway(*words[1:]).code == 0
    folder = words[words.index("-o") + 1]
    again, first = (json.loads((run.parent / name / "lock.json").read_text()) for name in (folder, "run"))
    assert again == first


def test_the_page_says_so_where_the_reference_videos_have_moved(run: Path) -> None:
    (run.parent / "references").rename(run.parent / "moved")
    page = html.unescape(page_of(run))
    assert players(page) == []
    assert "not published, since the dataset of the run does not name it" in page
    assert "Captions, phases and reference videos are not shown, since the dataset cannot be read again: " in page
    assert "/references: there is no such folder. Set the folder of reference videos with --ground-truth." in page
