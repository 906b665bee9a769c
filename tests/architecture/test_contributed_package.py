from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.tiny import clip_bytes, write_folder

PACKAGE = Path(__file__).parent / "contributed_package"


def lookaway(*arguments: object, packages: tuple[Path, ...] = (PACKAGE,)) -> subprocess.CompletedProcess[str]:
    """The command line with further packages beside those that are installed."""
    command = [sys.executable, "-c", "from lookaway.cli import main; main()", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, packages))}
    return subprocess.run(command, capture_output=True, text=True, env=environment)


@pytest.fixture
def reels(tmp_path: Path) -> Path:
    root = tmp_path / "reels"
    root.mkdir()
    (root / "reels.txt").write_text("one.mp4\ntwo.mp4\nlost.mp4\n")
    for number, name in enumerate(("one.mp4", "two.mp4")):
        (root / name).write_bytes(clip_bytes(number))
    return root


def test_a_contributed_suite_is_recognised_and_evaluated_with_its_metric_and_extractor(reels, tmp_path):
    result = lookaway("eval", reels, "-o", tmp_path / "run", "--json")
    assert (result.returncode, result.stderr) == (0, "")
    table = json.loads(result.stdout)
    (cell,) = table["cells"]
    assert (table["suite"], cell["metric"], cell["model"]) == ("reels", "reels.contrast_kept", "camera")
    assert (cell["estimate"]["scored"], cell["asked"], cell["reasons"]) == (2, 3, {"missing_video": 1})
    assert table["notes"][0] == "A ratio above 1 is no better than 1."
    lock = json.loads((tmp_path / "run" / "lock.json").read_text())
    assert lock["metrics"]["reels.contrast_kept"]["features"]["contrast"] == {
        "kind": "contrast",
        "version": 1,
        "height": 32,
    }


@pytest.mark.parametrize(
    "command", ["eval", *(pytest.param(name, marks=pytest.mark.nightly) for name in ("plan", "validate"))]
)
def test_the_options_of_a_contributed_suite_have_a_group_in_the_help(command):
    result = lookaway(command, "--help")
    assert (result.returncode, result.stderr) == (0, "")
    group = result.stdout.partition("\nOptions of reels:\n")[2]
    assert re.search(r"^  --edge-frames INTEGER +Frames at either end of a video\.$", group, re.MULTILINE)
    assert re.search(r"^  --listing TEXT +File that names the videos\.$", group, re.MULTILINE)


@pytest.mark.nightly
def test_an_option_of_a_contributed_suite_is_in_the_run_in_the_lock_and_in_the_command_of_an_item_page(reels, tmp_path):
    (reels / "short.txt").write_text("one.mp4\n")
    said = ("--edge-frames", "3", "--listing", "short.txt")
    assert lookaway("eval", reels, "-o", tmp_path / "run", "--quiet", *said).returncode == 0
    asked = json.loads((tmp_path / "run" / "run.json").read_text())["requested"]
    assert asked["reading"] == {"edge_frames": 3, "listing": "short.txt"}
    lock = json.loads((tmp_path / "run" / "lock.json").read_text())
    assert lock["dataset"]["settings"] == {"edge_frames": 3}
    assert lock["metrics"]["reels.contrast_kept"]["metric"]["edge_frames"] == 3
    assert lookaway("report", tmp_path / "run", "-o", tmp_path / "site").returncode == 0
    (page,) = (tmp_path / "site" / "items").glob("*.html")
    assert "--edge-frames=3 --listing=short.txt" in html.unescape(page.read_text())


@pytest.mark.nightly
def test_an_option_of_ours_is_refused_by_a_contributed_suite_that_does_not_know_it(reels, tmp_path):
    result = lookaway("eval", reels, "-o", tmp_path / "run", "--max-frames", "3")
    assert (result.returncode, result.stdout) == (2, "")
    refusal = "'reels' has no option 'max_frames'. --max-frames is for mind: leave it out"
    assert refusal in result.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.nightly
def test_a_wrong_value_for_an_option_of_a_contributed_suite_is_explained(reels):
    result = lookaway("validate", reels, "--edge-frames", "0")
    assert result.returncode == 2
    assert "--edge-frames is 0, expected a whole number, 1 or more. Correct it, or leave it out." in result.stderr


@pytest.mark.nightly
def test_a_contributed_metric_runs_on_a_dataset_of_another_suite(tmp_path):
    root = write_folder(tmp_path / "videos")
    metrics = ("--suite", "folder", "--metrics", "contrast_kept,rendering_lighting")
    result = lookaway("eval", root, *metrics, "-o", tmp_path / "run", "--json")
    scored = {cell["metric"]: cell["asked"] for cell in json.loads(result.stdout)["cells"]}
    assert scored == {"contrast_kept": 2, "rendering_lighting": 2}


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("suites", "reels"),
        pytest.param("extractors", "contrast", marks=pytest.mark.nightly),
        pytest.param("metrics", "reels   ", marks=pytest.mark.nightly),
    ],
)
def test_contributed_plugins_are_listed_beside_ours(command, line):
    result = lookaway(command)
    assert result.returncode == 0
    assert any(shown.startswith(line) for shown in result.stdout.splitlines())
    assert not any(shown.startswith(line) for shown in lookaway(command, packages=()).stdout.splitlines())


def test_two_packages_that_offer_one_name_are_both_named(reels, tmp_path):
    other = tmp_path / "other"
    (other / "rival-1.0.dist-info").mkdir(parents=True)
    (other / "rival-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: rival\nVersion: 1.0\n")
    (other / "rival-1.0.dist-info" / "entry_points.txt").write_text("[lookaway.suites]\nreels = rival:Reels\n")
    result = lookaway("validate", reels, packages=(PACKAGE, other))
    assert result.returncode == 2
    assert "'reels' is registered more than once: contrast (contrast:Reels); rival (rival:Reels)" in result.stderr


def test_a_plugin_that_cannot_be_imported_is_a_bug_of_its_own_with_a_traceback(tmp_path):
    (tmp_path / "broken-1.0.dist-info").mkdir()
    (tmp_path / "broken-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (tmp_path / "broken-1.0.dist-info" / "entry_points.txt").write_text("[lookaway.suites]\nbroken = broken:Suite\n")
    (tmp_path / "broken.py").write_text("import there_is_no_such_module\n")
    result = lookaway("suites", packages=(tmp_path,))
    assert result.returncode == 1
    assert "there_is_no_such_module" in result.stderr
