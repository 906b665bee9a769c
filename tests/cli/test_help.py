from __future__ import annotations

from importlib.metadata import version

import click
import pytest

from lookaway.cli.main import lookaway as group
from tests.support.command import lookaway


def commands(found: click.Group) -> list[list[str]]:
    names = []
    for name, command in found.commands.items():
        names.append([name])
        if isinstance(command, click.Group):
            names += [[name, *inner] for inner in commands(command)]
    return names


COMMANDS = commands(group)


def test_help_names_every_command_and_every_exit_code():
    result = lookaway("--help")
    assert result.code == 0
    for name in group.commands:
        assert f"\n  {name} " in result.out
    for meaning in ("0 ok", "1 a bug", "2 an error you can fix", "3 finished", "4 finished"):
        assert meaning in " ".join(result.out.split())


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_explains_itself_and_every_option_has_a_text(command):
    result = lookaway(*command, "-h")
    assert result.code == 0
    found = group
    for name in command:
        found = found.commands[name]
    assert found.help
    parameters = found.get_params(click.Context(found))
    assert all(option.help for option in parameters if option.param_type_name == "option")


def test_version_is_that_of_the_installed_package():
    assert lookaway("--version").out == f"lookaway, version {version('lookaway')}\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["evaluate"], "No such command 'evaluate'"),
        (["eval"], "Missing argument 'DATASET'"),
        (["eval", "data"], "Missing option '-o'"),
        (["eval", "data", "-o", "run", "--limit", "0"], "0 is not in the range x>=1"),
        (
            ["eval", ".", "--suite", "folder", "-o", "run", "--extrinsics-convention", "sideways"],
            "'sideways', expected one of world_to_camera",
        ),
        (["eval", ".", "-o", "run", "--max-frames", "few"], "'few' is not a valid integer"),
        (["eval", ".", "-o", "run", "--patern", "x"], "Did you mean '--pattern'?"),
    ],
)
def test_a_mistyped_command_is_explained_with_exit_code_2(arguments, said):
    result = lookaway(*arguments)
    assert result.code == 2
    assert said in result.err
    assert "Traceback" not in result.err
