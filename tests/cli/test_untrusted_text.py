from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import lookaway
from tests.support.tiny import QUICK, clip_bytes, write_mbench

HOSTILE = "\x1b]0;owned\x07\x1b[31mred\x9b2J\x7f\u202egnp"
"""Sets a window's title, turns it red, clears it, and writes from right to left."""
METRICS = ("--suite", "folder", "--metrics", "rendering_lighting")


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """A dataset whose sample ids and models try to speak to the terminal."""
    root = tmp_path / "dataset"
    root.mkdir()
    (root / "manifest.jsonl").write_text(
        "".join(
            json.dumps({"video": f"{number}.mp4", "case": case, "model": model}) + "\n"
            for number, (case, model) in enumerate(
                [(HOSTILE, "[red]x[/red]"), ("two\nlines", ":smile:[/]"), ("b", HOSTILE)]
            )
        )
    )
    (root / "0.mp4").write_bytes(clip_bytes())
    return root


def assert_harmless(text: str) -> None:
    assert all(character.isprintable() or character == "\n" for character in text), repr(text)


@pytest.mark.parametrize("command", ["validate", "plan", "eval", "show"])
def test_names_of_a_dataset_are_printed_as_text_whatever_they_hold(command, dataset, tmp_path):
    lookaway("eval", dataset, *METRICS, "-o", tmp_path / "run", "--quiet")
    arguments = {
        "validate": (dataset, *METRICS),
        "plan": (dataset, *METRICS),
        "eval": (dataset, *METRICS, "-o", tmp_path / "run"),
        "show": (tmp_path / "run",),
    }
    for as_json in ([], ["--json"]):
        result = lookaway(command, *arguments[command], *as_json)
        assert_harmless(result.out)
        assert_harmless(result.err)
    if command in {"eval", "show"}:
        assert "[red]x[/red]" in lookaway(command, *arguments[command]).out
        assert ":smile:[/]" in lookaway(command, *arguments[command]).out


def test_json_holds_the_names_as_they_are(dataset, tmp_path):
    cells = lookaway("eval", dataset, *METRICS, "-o", tmp_path / "run", "--json").json["cells"]
    assert {cell["model"] for cell in cells} == {"[red]x[/red]", ":smile:[/]", HOSTILE}


def test_problems_of_a_dataset_are_printed_as_text(tmp_path):
    root = write_mbench(tmp_path / "dataset").root
    with (root / "models" / "alpha" / "samples.jsonl").open("a") as file:
        file.write(
            json.dumps({"subset": HOSTILE, "sample_id": "[bold]", "condition_id": "c", "media": {"videos": []}}) + "\n"
        )
        file.write(json.dumps({"subset": "environment", "sample_id": HOSTILE + "/", "condition_id": "c"}) + "\n")
    result = lookaway("validate", root)
    assert result.code == 2
    assert result.out.count("problem: models/alpha") == 2
    assert_harmless(result.out)


def test_errors_are_printed_as_text_in_one_line(tmp_path):
    result = lookaway("show", tmp_path / f"run{HOSTILE}\nsecond line")
    assert result.code == 2
    assert len(result.err.splitlines()) == 1
    assert_harmless(result.err)


def test_a_folder_whose_name_is_no_unicode_is_printed(tmp_path):
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    result = lookaway("show", folder)
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert r"caf\udce9" in result.err


def test_text_that_is_piped_keeps_whole_lines_however_long_they_are(tmp_path):
    root = write_mbench(tmp_path / "dataset", models=("m" * 200,)).root
    result = lookaway("eval", root, "--metrics", ",".join(QUICK), "-o", tmp_path / "run")
    rows = [line for line in result.out.splitlines() if line.startswith("m" * 200)]
    assert [row.split()[1] for row in rows] == list(QUICK)


def test_piped_text_keeps_whole_lines_where_colour_is_forced(tmp_path, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "40")
    root = write_mbench(tmp_path / "dataset", models=("m" * 200,)).root
    result = lookaway("eval", root, "--metrics", ",".join(QUICK), "-o", tmp_path / "run")
    assert sum("m" * 200 in line for line in result.out.splitlines()) == 2


def test_a_terminal_shows_a_hostile_name_as_text(dataset, tmp_path):
    lookaway("eval", dataset, *METRICS, "-o", tmp_path / "run", "--quiet")
    shown = on_terminal("show", str(tmp_path / "run"))
    assert "[red]x[/red]" in shown
    assert r"\x1b]0;owned" in shown
    assert "\x1b]0;" not in shown
    assert "\x9b" not in shown


def test_progress_is_shown_on_a_terminal_and_the_table_after_it(dataset, tmp_path, monkeypatch):
    monkeypatch.delenv("LOOKAWAY_NO_PROGRESS")
    arguments = ["eval", str(dataset), *METRICS, "-o", str(tmp_path / "run")]
    shown = on_terminal(*arguments)
    assert "measuring" in shown
    assert "3/3" in shown
    assert "95 % intervals" in shown
    assert "measuring" not in on_terminal(*arguments, "--no-progress")


def on_terminal(*arguments: str) -> str:
    """What a command writes to a terminal of 200 columns."""
    main, other = pty.openpty()
    command = [sys.executable, "-c", "from lookaway.cli import main; main()", *arguments]
    environment = {**os.environ, "COLUMNS": "200", "TERM": "xterm-256color"}
    process = subprocess.Popen(command, stdout=other, stderr=other, stdin=other, env=environment)
    os.close(other)
    written = b""
    while chunk := _read(main):
        written += chunk
    process.wait()
    os.close(main)
    return written.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # Linux ends a terminal that nobody holds any longer with an error
        return b""
