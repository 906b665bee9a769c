"""A sample of `make constants`: what moves a number moves the lock."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.constant_clips import CLIPS
from benchmarks.locked_constants import (
    FIELD,
    FOUND,
    MODULE,
    REASONS,
    Check,
    Constant,
    changed,
    field_moves_lock,
    find_constants,
    problems,
    value_of,
    variants,
)
from lookaway.io.files import read_json
from lookaway.perception.revisit import revisit_changes
from lookaway.perception.revisit.change_map import ChangeLimits

PATCHED = next(clip for clip in CLIPS if clip.name == "patched")


def test_another_limit_of_changes_gives_other_numbers_and_another_lock():
    bounds = PATCHED.bounds()[:3]
    recipe = bounds[0].recipes["changes"]
    changes = replace(recipe.limits.changes, changed=60.0)
    other = replace(recipe, limits=replace(recipe.limits, changes=changes))
    others = [replace(bound, recipes={"changes": other}) for bound in bounds]
    assert PATCHED.measure(others) != PATCHED.measure(bounds)
    assert PATCHED.lock(others) != PATCHED.lock(bounds)


def test_every_field_of_a_limit_moves_the_lock():
    module = ChangeLimits.__module__
    found = find_constants([(module, "ChangeLimits")], [ChangeLimits])
    assert len(found) == 9
    assert all(constant.kind == FIELD and field_moves_lock(constant) for constant in found)


def test_a_constant_is_changed_for_a_while():
    constant = Constant(revisit_changes.__name__, "OUTLINE", MODULE, 2)
    assert value_of(constant) == 96
    with changed(constant, 5):
        assert revisit_changes.OUTLINE == (255, 0, 5)
    assert revisit_changes.OUTLINE == (255, 0, 96)


@pytest.mark.parametrize(
    ("value", "others"), [(10, [20, 5, -10, 11, 9]), (0.5, [1.0, 0.25, -0.5]), (0.0, [1e-3, 1.0]), (0, [1])]
)
def test_numbers_are_doubled_halved_and_negated(value, others):
    assert variants(value) == others


def test_what_moves_a_number_outside_the_lock_or_is_read_by_no_clip_is_a_problem():
    rows = {
        "a:MOVES": {"kind": MODULE, "value": 1, "clips": ["c"], "moved_by": ["c", 2], "locked": False},
        "a:UNREAD": {"kind": MODULE, "value": 1, "clips": []},
        "a:EXCUSED[0]": {"kind": MODULE, "value": 1, "clips": []},
        "a:STILL": {"kind": MODULE, "value": 1, "clips": ["c"]},
    }
    found = problems(rows, {"a:EXCUSED": "it is the size of a memory", "a:GONE": "it is gone"})
    assert [text.split(" ")[0] for text in found] == ["a:MOVES", "a:UNREAD", "a:GONE"]


def test_every_constant_was_tried_at_the_value_that_it_has():
    rows = {key.replace(".__init__", ""): row["value"] for key, row in read_json(FOUND).items()}
    constants = Check(clips=CLIPS, readers={}, usual={}, locks={}).constants()
    assert len(constants) > 500
    values = {constant.key.replace(".__init__", ""): value_of(constant) for constant in constants}
    assert values.items() <= rows.items(), "run `make constants`, which measures what is new"


def test_no_number_outside_of_the_lock_moves_a_score():
    assert problems(read_json(FOUND), read_json(REASONS)) == []
