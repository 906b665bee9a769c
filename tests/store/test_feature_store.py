from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from lookaway.core import Feature, RunError
from lookaway.store.feature_store import FeatureStore

FEATURE = Feature(
    {
        "points": np.linspace(0, 1, 30, dtype=np.float32).reshape(10, 3),
        "none": np.zeros((0, 2)),
        "file": np.arange(3, dtype=np.int64),
        "allow_pickle": np.array([True]),
    },
    {"rule": "fold", "größe": [1, 2.5, None]},
)


def file_of(root: Path) -> Path:
    (path,) = root.rglob("*.npz")
    return path


def assert_same(found: Feature | None, expected: Feature) -> None:
    assert found is not None
    assert found.detail == expected.detail
    assert found.arrays.keys() == expected.arrays.keys()
    for name, array in expected.arrays.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


def test_a_feature_comes_back_as_it_was_whatever_its_arrays_are_called(tmp_path):
    store = FeatureStore(tmp_path)
    store.put("ab" * 16, "cd" * 16, FEATURE)
    assert_same(store.get("ab" * 16, "cd" * 16), FEATURE)


def test_another_content_or_recipe_has_no_feature(tmp_path):
    store = FeatureStore(tmp_path)
    store.put("ab" * 16, "cd" * 16, FEATURE)
    assert store.get("ab" * 16, "ef" * 16) is None
    assert store.get("ef" * 16, "cd" * 16) is None


def test_a_feature_that_is_too_large_is_not_kept(tmp_path):
    store = FeatureStore(tmp_path, max_bytes=FEATURE.nbytes - 1)
    store.put("a", "b", FEATURE)
    assert list(tmp_path.iterdir()) == []
    FeatureStore(tmp_path, max_bytes=FEATURE.nbytes).put("a", "b", FEATURE)
    assert store.get("a", "b") is not None


def test_objects_are_never_pickled_into_a_store(tmp_path):
    with pytest.raises(ValueError, match="allow_pickle"):
        FeatureStore(tmp_path).put("a", "b", Feature({"objects": np.array([{}], dtype=object)}))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_planted_pickle_is_never_loaded(tmp_path):
    class Trap:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "sprung",))

    store = FeatureStore(tmp_path / "store")
    store.put("a", "b", FEATURE)
    path = file_of(tmp_path / "store")
    facts = np.frombuffer(b'{"arrays":["trap"],"detail":{}}', np.uint8)
    np.savez(path, allow_pickle=True, **{"facts": facts, "array.trap": np.array([Trap()], dtype=object)})
    assert store.get("a", "b") is None
    path.write_bytes(pickle.dumps(Trap()))
    assert store.get("a", "b") is None
    assert not (tmp_path / "sprung").exists()


@pytest.mark.filterwarnings("ignore:.*:SyntaxWarning", "ignore:.*:UserWarning")
def test_a_damaged_file_yields_the_whole_feature_or_none(tmp_path):
    store = FeatureStore(tmp_path)
    store.put("a", "b", FEATURE)
    path = file_of(tmp_path)
    whole = path.read_bytes()
    dice, refused = np.random.default_rng(0), 0
    for _ in range(300):
        damaged = bytearray(whole)
        damaged[dice.integers(len(whole))] ^= 1 << dice.integers(8)
        path.write_bytes(damaged)
        if (found := store.get("a", "b")) is None:
            refused += 1
        else:
            assert_same(found, FEATURE)
    assert refused > 100


@pytest.mark.parametrize("length", [0, 1, 100, -1])
def test_a_file_that_is_cut_off_yields_none(length, tmp_path):
    store = FeatureStore(tmp_path)
    store.put("a", "b", FEATURE)
    path = file_of(tmp_path)
    path.write_bytes(path.read_bytes()[:length])
    assert store.get("a", "b") is None


@pytest.mark.filterwarnings("ignore:.*:SyntaxWarning", "ignore:.*:UserWarning")
def test_a_block_that_a_power_cut_left_zero_yields_the_whole_feature_or_none(tmp_path):
    store, feature = (
        FeatureStore(tmp_path),
        Feature({"points": np.random.default_rng(0).random(4096)}, {"rule": "fold"}),
    )
    store.put("a", "b", feature)
    path = file_of(tmp_path)
    whole = path.read_bytes()
    for start in range(0, len(whole), 4096):
        path.write_bytes(whole[:start] + bytes(len(whole[start : start + 4096])) + whole[start + 4096 :])
        assert store.get("a", "b") is None
    path.write_bytes(bytes(len(whole)))
    assert store.get("a", "b") is None
    path.write_bytes(whole)
    assert_same(store.get("a", "b"), feature)


def test_a_feature_waits_for_no_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda file: pytest.fail("waited"))
    FeatureStore(tmp_path).put("a", "b", FEATURE)
    assert_same(FeatureStore(tmp_path).get("a", "b"), FEATURE)


def test_a_store_that_cannot_be_written_says_so_to_the_user(tmp_path):
    (tmp_path / "store").write_text("a file where a folder should be")
    with pytest.raises(RunError, match="features cannot be stored here"):
        FeatureStore(tmp_path / "store").put("a", "b", FEATURE)


def test_a_write_that_fails_half_way_leaves_nothing(tmp_path, monkeypatch):
    def fail(file, **arrays):
        file.write(b"half of it")
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(RunError, match="no space left"):
        FeatureStore(tmp_path).put("a", "b", FEATURE)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
