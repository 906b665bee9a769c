from __future__ import annotations

import pytest

from lookaway.core import Option
from tests.support.command import lookaway
from tests.support.mbench import MBenchWriter
from tests.support.scripted import Scripted, bound, script

COMMANDS = [("eval", "-o", "run"), ("plan",), ("validate",)]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_folder_of_videos_refuses_the_options_of_a_comparison_with_references(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "videos").mkdir()
    name, *rest = command
    result = lookaway(name, "videos", "--alignment", "se3", "--max-frames", "3", *rest)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: The suite 'revisit' has no option")
    assert "is for mind: leave it out, or name another suite with --suite." in result.err


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_mbench_refuses_a_pattern_of_paths(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    writer = MBenchWriter(tmp_path / "data")
    writer.add()
    name, *rest = command
    result = lookaway(name, writer.finish(), "--pattern", "{nonsense", *rest)
    assert (result.code, result.out) == (2, "")
    assert "The suite 'mbench-a' has no option 'pattern'. --pattern is for folder" in result.err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("command", ["eval", "plan", "validate"])
def test_the_help_has_a_group_for_every_suite_and_one_for_suites_with_the_same_options(command):
    own, folder, mbench, memobench, mind, revisit, wrbench = lookaway(command, "--help").out.split("\nOptions of ")
    assert "--pattern" not in own
    assert "--allow-outside" not in own
    for group, heading, flags in (
        (folder, "folder:", ("--pattern", "--extrinsics-convention", "--allow-outside")),
        (mbench, "mbench-a and mbench-t:", ("--extrinsics-convention", "--allow-outside")),
        (memobench, "memobench:", ("--ground-truth", "--allow-outside")),
        (mind, "mind:", ("--ground-truth", "--max-frames", "--alignment", "--allow-outside")),
        (revisit, "revisit:", ("--pattern", "--allow-outside", "--scores")),
        (
            wrbench,
            "wrbench:",
            (
                "--natural25",
                "--cached-poses",
                "--example-sampling",
                "--names-subject",
                "--allow-outside",
            ),
        ),
    ):
        first, *lines = group.splitlines()
        assert first == heading
        assert tuple(line.split()[0] for line in lines if line.startswith("  --")) == flags


def with_option(monkeypatch, option: Option) -> None:
    """One more suite, with one option."""
    script(monkeypatch, bound())
    monkeypatch.setattr(Scripted, "options", (option,))


def test_one_flag_cannot_be_of_two_types(monkeypatch):
    with_option(monkeypatch, Option(name="alignment", type=bool, help="Something else."))
    result = lookaway("validate", ".")
    assert result.code == 2
    assert "--alignment is one of sim3, se3, none for the suite 'mind', True or False for 'scripted'." in result.err


@pytest.mark.parametrize("name", ["limit", "cases", "device"])
def test_a_suite_cannot_take_the_name_of_an_option_that_every_suite_has(monkeypatch, name):
    with_option(monkeypatch, Option(name=name, help="Something else."))
    result = lookaway("validate", ".")
    assert result.code == 2
    assert f"The suite 'scripted' has an option --{name}, which every command has already. Rename it." in result.err


def test_a_suite_without_options_has_no_group(monkeypatch):
    script(monkeypatch, bound())
    monkeypatch.setattr(Scripted, "options", ())
    assert "Options of scripted" not in lookaway("eval", "--help").out
