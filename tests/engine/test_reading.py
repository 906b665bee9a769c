from __future__ import annotations

import json

import pytest

import lookaway
from lookaway.core import Option, UserError
from tests.support.mbench import MBenchWriter
from tests.support.scripted import Scripted, bound, script
from tests.support.tiny import write_folder


@pytest.fixture
def root(tmp_path):
    return write_folder(tmp_path / "videos")


def test_an_option_that_no_suite_knows_is_refused_with_the_one_that_was_meant(root):
    with pytest.raises(UserError) as caught:
        lookaway.read(root, patern="{model}/{case}.mp4")
    assert str(caught.value) == "The suite 'revisit' has no option 'patern'. Did you mean 'pattern'?"
    with pytest.raises(UserError, match="Did you mean 'models'"):
        lookaway.read(root, model=["alpha"])


def test_an_option_like_no_other_is_refused_with_those_that_there_are(root):
    with pytest.raises(UserError) as caught:
        lookaway.read(root, suite="folder", zoom=2)
    known = "allow_outside, extrinsics_convention, pattern"
    assert str(caught.value) == f"The suite 'folder' has no option 'zoom'. Known: {known}."


def test_an_option_of_other_suites_is_refused_with_their_names(tmp_path):
    writer = MBenchWriter(tmp_path / "data")
    writer.add()
    with pytest.raises(UserError) as caught:
        lookaway.read(writer.finish(), pattern="{nonsense")
    assert str(caught.value) == (
        "The suite 'mbench-a' has no option 'pattern'. --pattern is for folder, revisit: leave it out, or name another "
        "suite with --suite."
    )


@pytest.mark.parametrize("value", [None, False])
def test_an_option_that_a_suite_does_not_know_is_refused_even_where_it_is_off(root, value):
    with pytest.raises(UserError, match="has no option 'natural26'"):
        lookaway.read(root, suite="folder", natural26=value)


def test_a_dataset_that_was_read_already_takes_no_options(root, tmp_path):
    with pytest.raises(UserError, match=r"^limit, pattern: the dataset was read already"):
        lookaway.evaluate(lookaway.read(root), tmp_path / "run", pattern="{case}.mp4", limit=1)
    assert not (tmp_path / "run").exists()


def test_what_can_move_a_number_is_in_the_lock_under_its_name_there_and_nothing_else_is(root, tmp_path, monkeypatch):
    script(monkeypatch, bound())
    tuning = Option(name="tuning", type=float, moves_numbers=True, lock_name="tau", help="Moves numbers.")
    remark = Option(name="remark", help="Moves none.")
    monkeypatch.setattr(Scripted, "options", (*Scripted.options, tuning, remark))
    plain = lookaway.evaluate(root, tmp_path / "plain", suite="scripted")
    assert plain.lock.entries["dataset"]["settings"] == {}
    tuned = lookaway.evaluate(root, tmp_path / "tuned", suite="scripted", tuning=2, remark="a try")
    assert tuned.lock.entries["dataset"]["settings"] == {"tau": 2.0}
    about = json.loads((tmp_path / "tuned" / "run.json").read_text())
    assert about["requested"]["reading"] == {"suite": "scripted", "tuning": 2.0, "remark": "a try"}
    remarked = lookaway.evaluate(root, tmp_path / "remarked", suite="scripted", remark="a try")
    assert remarked.lock.sha256 == plain.lock.sha256 != tuned.lock.sha256


def test_a_suite_is_given_every_option_of_its_own_with_defaults_filled_in(root, monkeypatch):
    script(monkeypatch, bound())
    seen = []
    known = Scripted.read

    def watched(self, root, options):
        seen.append(options)
        return known(self, root, options)

    monkeypatch.setattr(Scripted, "read", watched)
    lookaway.read(root, suite="scripted", pattern="{model}/{case}.mp4")
    assert seen == [{"pattern": "{model}/{case}.mp4", "extrinsics_convention": None, "allow_outside": False}]
