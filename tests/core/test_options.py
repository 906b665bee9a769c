from __future__ import annotations

from pathlib import Path

import pytest

from lookaway.core import Option, UserError


def option(**fields) -> Option:
    return Option(name="max_frames", help="At most so many.", **fields)


def test_an_option_has_one_name_for_the_command_line_and_one_for_the_lock():
    assert (option().flag, option().setting) == ("--max-frames", "max_frames")
    assert option(lock_name="video_max_time").setting == "video_max_time"


@pytest.mark.parametrize(
    ("fields", "value", "checked"),
    [
        ({}, "some text", "some text"),
        ({"type": int}, 0, 0),
        ({"type": int, "minimum": 1}, 1, 1),
        ({"type": float, "minimum": 0}, 2, 2.0),
        ({"type": bool}, True, True),
        ({"choices": ("a", "b")}, "b", "b"),
        ({"type": Path}, "/truth", Path("/truth")),
        ({"type": int, "default": 3}, None, 3),
        ({"type": bool}, None, False),
        ({}, None, None),
    ],
)
def test_a_value_that_fits_is_what_a_suite_gets(fields, value, checked):
    found = option(**fields).check(value)
    assert (found, type(found)) == (checked, type(checked))


def test_a_path_is_absolute_so_that_it_means_the_same_in_another_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert option(type=Path).check("truth") == tmp_path / "truth"


@pytest.mark.parametrize(
    ("fields", "value", "expected"),
    [
        ({}, 3, "text"),
        ({}, "", "text"),
        ({"type": int}, "3", "a whole number"),
        ({"type": int}, 3.0, "a whole number"),
        ({"type": int}, True, "a whole number"),
        ({"type": int, "minimum": 1}, 0, "a whole number, 1 or more"),
        ({"type": float, "minimum": 0.5}, 0.25, "a number, 0.5 or more"),
        ({"type": float}, float("nan"), "a number"),
        ({"type": bool}, 1, "True or False"),
        ({"type": bool}, "yes", "True or False"),
        ({"choices": ("a", "b")}, "c", "one of a, b"),
        ({"type": Path}, "", "a path"),
        ({"type": Path}, 3, "a path"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_what_was_found_and_expected(fields, value, expected):
    with pytest.raises(UserError) as caught:
        option(**fields).check(value)
    assert str(caught.value) == f"--max-frames is {value!r}, expected {expected}. Correct it, or leave it out."


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"type": list}, "expected str, int, float, bool or Path"),
        ({"type": int, "choices": ("a",)}, "choices are for text"),
        ({"minimum": 1}, "a minimum is for numbers"),
        ({"type": Path, "moves_numbers": True}, "a path does not belong in the lock"),
    ],
)
def test_an_option_that_contradicts_itself_cannot_be_declared(fields, message):
    with pytest.raises(TypeError, match=message):
        option(**fields)


def test_a_flag_without_a_value_cannot_be_on_by_default():
    with pytest.raises(ValueError, match="off by default"):
        option(type=bool, default=True)


def test_a_default_is_checked_like_any_value():
    with pytest.raises(UserError, match="--max-frames is 0, expected a whole number, 1 or more"):
        option(type=int, minimum=1, default=0)


@pytest.mark.parametrize("name", ["max-frames", "Max", "", "3d"])
def test_an_option_is_named_as_a_keyword(name):
    with pytest.raises(ValueError, match="expected a name such as 'max_frames'"):
        Option(name=name, help="Anything.")
