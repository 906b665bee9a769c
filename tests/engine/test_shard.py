from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lookaway
from lookaway.core import RunError, UserError
from lookaway.engine import plan
from lookaway.engine.binding import bind_metrics
from lookaway.engine.run import Run
from lookaway.engine.shard import Shard
from lookaway.store.run_folder import RunFolder
from tests.support.command import lookaway as command
from tests.support.runs import outcomes, times_measured
from tests.support.scripted import bound, script
from tests.support.tiny import QUICK, write_folder, write_mbench


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "videos", cases=6)


def files_under(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "text", ["0/3", "4/3", "1/0", "-1/3", "1", "1/3/5", "a/b", "1.5/3", "", "٢/٨", "٢/8", "1/" + "9" * 10]
)
def test_text_that_names_no_shard_is_an_error_of_the_user(text):
    with pytest.raises(UserError):
        Shard.parse(text)


def test_a_shard_is_typed_as_it_is_printed():
    assert str(Shard.parse(" 2/8 ")) == "2/8"
    assert Shard.parse("1/1") == Shard(1, 1)


@given(st.text(), st.integers(1, 50))
def test_every_rollout_belongs_to_one_shard_whatever_it_is_called(name, of):
    name = name.encode("utf-8", "replace").decode()
    assert sum(Shard(number, of).holds(name) for number in range(1, of + 1)) == 1


def test_a_rollout_belongs_to_the_same_shard_in_every_version():
    """Otherwise shards that two versions have made could not be merged, and nobody would notice."""
    found = [next(n for n in range(1, 9) if Shard(n, 8).holds(f"alpha/case{number}/0")) for number in range(8)]
    assert found == [1, 4, 3, 5, 5, 3, 1, 5]


@pytest.mark.parametrize("of", [2, 3, 8])
def test_shards_are_of_about_the_same_size(of):
    names = [f"model{number % 10}/case{number // 10:05d}/0" for number in range(20_000)]
    sizes = Counter(number for name in names for number in range(1, of + 1) if Shard(number, of).holds(name))
    assert max(abs(size * of / len(names) - 1) for size in sizes.values()) < 0.05


def test_only_the_rollouts_of_the_shard_are_hashed_listed_and_measured(root, tmp_path, monkeypatch):
    script(monkeypatch, bound())
    dataset, hashed = lookaway.read(root, suite="scripted"), []
    content_key = plan.content_key
    monkeypatch.setattr(plan, "content_key", lambda rollout: hashed.append(rollout.id) or content_key(rollout))
    own = [rollout.id for rollout in dataset.rollouts if Shard(1, 2).holds(rollout.id)]
    assert 0 < len(own) < len(dataset.rollouts)
    lookaway.evaluate(dataset, tmp_path / "run", shard=Shard(1, 2))
    assert hashed == own
    assert RunFolder(tmp_path / "run").rollouts()["rollout"].to_pylist() == own
    assert times_measured(tmp_path / "run") == Counter(own)
    assert {rollout for rollout, _ in outcomes(tmp_path / "run")} == set(own)


def test_a_shard_says_which_part_it_is_and_has_the_lock_of_the_whole(root, tmp_path, monkeypatch):
    script(monkeypatch, bound())
    whole = lookaway.evaluate(root, tmp_path / "whole", suite="scripted")
    part = lookaway.evaluate(root, tmp_path / "part", suite="scripted", shard=Shard(2, 3))
    said = part.about["shard"]
    assert (said["number"], said["of"], said["rollouts_of_all"]) == (2, 3, 6)
    assert part.lock == whole.lock
    assert part.about["lock_sha256"] == whole.about["lock_sha256"]
    assert "shard" not in whole.about


def test_a_shard_with_nothing_to_do_ends_well_with_an_empty_table(tmp_path):
    root = write_mbench(tmp_path / "dataset", samples=1, subsets=("causal",)).root
    dataset = lookaway.read(root)
    (number,) = (n for n in (1, 2) if not Shard(n, 2).holds(dataset.rollouts[0].id))
    result = command("eval", root, "--metrics", QUICK[1], "-o", tmp_path / "run", "--shard", f"{number}/2", "--json")
    assert (result.code, result.json["cells"]) == (0, [])
    assert command("show", tmp_path / "run").code == 0
    assert Run(tmp_path / "run").about["rollouts"] == 0


@pytest.mark.parametrize("there", [Shard(1, 2), None], ids=str)
@pytest.mark.parametrize("wanted", [Shard(2, 2), Shard(1, 3), Shard(1, 2), None], ids=str)
def test_a_folder_continues_as_what_it_is_and_refuses_to_be_another_shard(there, wanted, root, tmp_path, monkeypatch):
    script(monkeypatch, bound())
    lookaway.evaluate(root, tmp_path / "run", suite="scripted", shard=there)
    before = files_under(tmp_path / "run")
    if wanted == there:
        lookaway.evaluate(root, tmp_path / "run", suite="scripted", shard=wanted)
        assert set(times_measured(tmp_path / "run").values()) == {1}
        return
    with pytest.raises(RunError, match=r"found (shard 1/2|an unsharded run), expected "):
        lookaway.evaluate(root, tmp_path / "run", suite="scripted", shard=wanted)
    assert files_under(tmp_path / "run") == before


def test_a_damaged_description_of_a_run_is_written_anew_as_before(root, tmp_path, monkeypatch):
    script(monkeypatch, bound())
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text("{")
    run = lookaway.evaluate(root, tmp_path / "run", suite="scripted", shard=Shard(1, 2))
    assert run.about["shard"]["number"] == 1


def test_a_plan_of_a_shard_counts_its_rollouts_only(root):
    arguments = ("plan", root, "--suite", "folder", "--metrics", "rendering_lighting", "--json")
    counts = [command(*arguments, "--shard", f"{number}/2").json for number in (1, 2)]
    assert [plan["cost"]["rollouts"] for plan in counts] == [plan["coverage"][0]["asked"] for plan in counts]
    assert sum(plan["cost"]["rollouts"] for plan in counts) == 6
    assert counts[0]["lock_sha256"] == counts[1]["lock_sha256"]


def test_a_shard_that_does_not_exist_is_refused_before_anything_is_read(tmp_path):
    for name in ("eval", "plan"):
        result = command(name, tmp_path / "none", "-o", tmp_path / "run", "--shard", "3/2")
        assert (result.code, result.out) == (2, "")
        assert "There is no shard 3 of 2" in result.err


def test_two_rollouts_of_one_name_are_refused_in_every_shard(root):
    dataset = lookaway.read(root)
    twice = dataset.rollouts[0]
    (other,) = (n for n in (1, 2) if not Shard(n, 2).holds(twice.id))
    doubled = type(dataset)(suite=dataset.suite, root=dataset.root, rollouts=(*dataset.rollouts, twice))
    with pytest.raises(UserError, match="2 rollouts are named"):
        plan.make_plan(doubled, bind_metrics(dataset), Shard(other, 2))


def test_what_run_json_says_of_a_shard_changes_when_rollouts_are_added(root, tmp_path, monkeypatch):
    script(monkeypatch, bound())
    lookaway.evaluate(root, tmp_path / "run", suite="scripted", shard=Shard(1, 2))
    before = json.loads((tmp_path / "run" / "run.json").read_text())["shard"]
    write_folder(root, models=("beta",), cases=6)
    lookaway.evaluate(root, tmp_path / "run", suite="scripted", shard=Shard(1, 2))
    after = json.loads((tmp_path / "run" / "run.json").read_text())["shard"]
    assert (before["rollouts_of_all"], after["rollouts_of_all"]) == (6, 12)
    assert before["ids_sha256"] != after["ids_sha256"]
    assert set(times_measured(tmp_path / "run").values()) == {1}
