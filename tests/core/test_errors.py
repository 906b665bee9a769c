from __future__ import annotations

import inspect
import pickle
import re

import pytest

from lookaway.core import LookawayError, MissingExtra, NameClash, Reason, UnknownName, Unmeasurable, errors

CLASSES = {name: kind for name, kind in vars(errors).items() if inspect.isclass(kind) and issubclass(kind, Exception)}
MADE = {
    "UnknownName": UnknownName("metric", "epipolar", ["spatial_epipolar"]),
    "NameClash": NameClash("metric", "psnr", ["one", "two"]),
    "MissingExtra": MissingExtra("Ray", "ray"),
}


def drawn_parents() -> dict[str, str | None]:
    """Each name of the drawn tree with the name it hangs from."""
    parents: dict[str, str | None] = {}
    path: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        if found := re.match(r"([│ ]*(?:[├└]── )?)([A-Z]\w+)(?:  |$)", line):
            depth = len(found[1]) // 4
            path[depth:] = [found[2]]
            parents[found[2]] = path[depth - 1] if depth else None
    return parents


def made(kind: type[LookawayError]) -> LookawayError:
    if issubclass(kind, Unmeasurable):
        return kind(Reason.POSE_FAILED, "no camera")
    return MADE.get(kind.__name__) or kind("a message")


def test_the_drawn_tree_holds_every_error():
    assert set(drawn_parents()) == set(CLASSES)


@pytest.mark.parametrize("name", CLASSES)
def test_the_drawn_parent_is_the_real_one(name):
    parent = drawn_parents()[name]
    assert CLASSES[name].__bases__[0] is (CLASSES[parent] if parent else Exception)


@pytest.mark.parametrize("kind", CLASSES.values(), ids=list(CLASSES))
def test_every_error_survives_the_way_between_processes(kind):
    error = made(kind)
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), vars(copy)) == (kind, str(error), vars(error))


def test_an_unmeasurable_keeps_its_reason_on_the_way():
    error = errors.VideoError(Reason.TRUNCATED, "cut off")
    assert pickle.loads(pickle.dumps(error)).reason is Reason.TRUNCATED


def test_a_name_that_resembles_nothing_is_answered_with_all_that_is_known():
    assert str(UnknownName("suite", "zzz", ["b", "a"])) == "No suite is named 'zzz'. Known: a, b."


def test_of_thousands_of_names_a_line_shows_some_and_how_many_there_are():
    told = str(UnknownName("case", "zzz", (f"{number:05}" for number in range(10_000))))
    assert told.startswith("No case is named 'zzz'. Known: 00000, 00001, ")
    assert told.endswith("00019 and 9,980 more.")


def test_a_missing_extra_says_how_to_install_it():
    assert "pip install 'lookaway[ray]'" in str(MissingExtra("The cluster", "ray"))
