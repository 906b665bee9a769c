from __future__ import annotations

from pathlib import Path

import pytest

from lookaway.core import Case, Rollout, Score
from lookaway.store.outcome_rows import Measured
from lookaway.store.run_folder import RunFolder
from tests.support.chosen_run import LIGHT, STYLE
from tests.support.command import lookaway
from tests.support.hand_made import hand_made_run, scores


@pytest.fixture
def going(tmp_path) -> Path:
    """A run that lacks the light of one of two rollouts."""
    return hand_made_run(tmp_path / "run", "mbench-a", {STYLE: scores("m", 0.2, 0.9), LIGHT: scores("m", 0.5)}).path


def finish(run: Path) -> None:
    case = Case(id="environment:s1:text", subset="environment", scene="s1")
    rollout = Rollout(case=case, model="m", video=Path("video.mp4"))
    outcome = Measured(rollout=rollout.id, content="c", metric=LIGHT, lock="l", outcome=Score(0.7))
    RunFolder(run).add([outcome])


def test_the_report_of_a_run_that_goes_on_is_written_until_it_is_finished(going, tmp_path, monkeypatch):
    page, open_pages = tmp_path / "site" / "index.html", []

    def wait(seconds: float) -> None:
        open_pages.append(page.read_text())
        if len(open_pages) == 2:
            finish(going)

    monkeypatch.setattr("lookaway.cli.report.time.sleep", wait)
    result = lookaway("report", going, "-o", page.parent, "--follow")
    assert result.code == 0, result.err
    assert [text.count('data-reload="60"') for text in open_pages] == [1, 1]
    assert "the run goes on" in result.err
    assert "data-reload=" not in page.read_text()


def test_a_report_that_does_not_follow_is_written_once_and_stays(going, tmp_path, monkeypatch):
    monkeypatch.setattr("lookaway.cli.report.time.sleep", lambda seconds: pytest.fail("it waits"))
    assert lookaway("report", going, "-o", tmp_path / "site").code == 0
    assert "data-reload=" not in (tmp_path / "site" / "index.html").read_text()


def test_one_file_to_send_cannot_follow(going, tmp_path):
    result = lookaway("report", going, "-o", tmp_path / "r.html", "--single-file", "--follow")
    assert result.code == 2
    assert "Leave one of them out" in result.err
