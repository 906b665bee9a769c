from __future__ import annotations

from pathlib import Path

import pytest

from lookaway.core import Case, Dataset, Rollout
from lookaway.core.cases import case_title


def dataset(*names: str) -> Dataset:
    """Rollouts written as model/subset/case/seed."""
    rollouts = []
    for name in names:
        model, subset, case, seed = name.split("/")
        rollouts.append(
            Rollout(case=Case(id=case, subset=subset, scene=case), model=model, seed=seed, video=Path("clip.mp4"))
        )
    return Dataset(suite="folder", root=Path(), rollouts=tuple(rollouts))


def kept(selected: Dataset) -> list[str]:
    return [f"{rollout.model}/{rollout.case.subset}/{rollout.case.id}/{rollout.seed}" for rollout in selected.rollouts]


def identity(model: str, case: str, seed: str = "0") -> str:
    return Rollout(case=Case(id=case, subset="all", scene=case), model=model, seed=seed, video=Path("clip.mp4")).id


def test_ids_are_unique_whatever_slashes_the_names_have():
    names = [("a/b", "c", "0"), ("a", "b/c", "0"), ("a", "b", "c/0"), ("a", "b/c/0", "0"), ("a%2Fb", "c", "0")]
    assert len({identity(*name) for name in names}) == len(names)


def test_ids_of_plain_names_are_the_names():
    assert identity("alpha", "1st_data/mem_test/street", "7") == "alpha/1st_data/mem_test/street/7"


def test_a_limit_counts_the_cases_of_each_model_and_subset():
    names = ["a/rooms/1/0", "a/rooms/2/0", "a/people/3/0", "b/rooms/1/0", "b/rooms/2/0"]
    assert kept(dataset(*names).select(lambda _: True, limit=1)) == ["a/rooms/1/0", "a/people/3/0", "b/rooms/1/0"]


def test_a_limit_keeps_every_seed_of_the_cases_it_keeps():
    names = ["a/rooms/1/0", "a/rooms/2/0", "a/rooms/1/1", "a/rooms/2/1"]
    assert kept(dataset(*names).select(lambda _: True, limit=1)) == ["a/rooms/1/0", "a/rooms/1/1"]


def test_a_limit_counts_only_what_is_wanted():
    names = ["a/rooms/1/0", "a/rooms/2/0", "a/rooms/3/0"]
    assert kept(dataset(*names).select(lambda rollout: rollout.case.id != "1", limit=1)) == ["a/rooms/2/0"]


def test_without_a_limit_all_that_is_wanted_stays_in_order():
    names = ["b/rooms/2/0", "a/rooms/1/0", "b/rooms/1/0"]
    assert kept(dataset(*names).select(lambda rollout: rollout.model == "b")) == ["b/rooms/2/0", "b/rooms/1/0"]


def test_rollouts_of_one_case_with_two_seeds_have_two_ids():
    first, second = dataset("a/rooms/1/0", "a/rooms/1/1").rollouts
    assert first.id != second.id


@pytest.mark.parametrize(
    ("case", "title"),
    [
        (
            Case(id="x", subset="yaw", scene="kitchen_000", action="left_then_right", turn_degrees=60.0),
            "Kitchen, turn left 60 degrees and back",
        ),
        (
            Case(id="x", subset="yaw", scene="loading_dock", action="wait_then_right_then_wait_then_left"),
            "Loading dock, camera right and back",
        ),
        (Case(id="x", subset="all", scene="room", action="forward_then_left"), "Room, forward, then left"),
        (Case(id="x", subset="all", scene="aquarium-in_place-yaw_left_60-000"), "Aquarium"),
    ],
)
def test_a_title_says_where_the_case_is_and_what_the_camera_does(case, title):
    assert case_title(case.id, case) == title


def test_a_case_that_no_dataset_describes_is_titled_by_the_words_of_its_id():
    assert case_title("loading_dock-yaw_left_60-000") == "Loading dock"


@pytest.mark.parametrize("name", ["kitchen", "Kitchen", "007", "", "---", "\u202e"])
def test_an_id_without_other_words_is_its_own_title(name):
    assert case_title(name) == name
    assert case_title(name, Case(id=name, subset="all", scene=name)) == name
