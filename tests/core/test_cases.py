from __future__ import annotations

from pathlib import Path

from lookaway.core import Case, Dataset, Rollout


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
