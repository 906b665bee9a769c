from __future__ import annotations

import pickle
import sys
from pathlib import Path

import pytest

from lookaway.core import MissingExtra, UserError
from lookaway.io.object_storage import as_path, is_remote
from tests.support.s3_server import SECRET


def test_a_folder_on_disk_is_a_plain_path():
    for where in ("runs/first", "/runs", "s3:/bucket", "a:b"):
        assert as_path(where) == Path(where)
        assert not is_remote(as_path(where))
    path = Path("runs")
    assert as_path(path) is path


def test_an_address_is_used_like_a_path():
    run = as_path("s3://bucket/some/run/")
    assert is_remote(run)
    assert str(run) == "s3://bucket/some/run"
    assert str(run / "outcomes" / "a.parquet") == "s3://bucket/some/run/outcomes/a.parquet"
    assert (run / "a.parquet").name == "a.parquet"
    assert as_path(run) is run
    assert pickle.loads(pickle.dumps(run)) == run


@pytest.mark.parametrize("where", ["gs://bucket/run", "http://server/run", "file:///run", "s3://", "s3:///run"])
def test_what_is_no_object_storage_that_is_known_is_refused(where):
    with pytest.raises(UserError, match="expected a folder, or a URL such as s3://bucket/run"):
        as_path(where)


@pytest.mark.parametrize("where", [f"s3://key:{SECRET}@bucket/run", f"https://key:{SECRET}@server/run"])
def test_keys_in_an_address_are_refused_and_not_repeated(where):
    with pytest.raises(UserError) as told:
        as_path(where)
    assert SECRET not in str(told.value)


def test_a_missing_package_is_named_with_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "upath", None)
    with pytest.raises(MissingExtra, match=r"lookaway\[s3\]"):
        as_path("s3://bucket/run")


def test_an_empty_part_of_an_address_is_left_out():
    assert str(as_path("s3://bucket//runs///night/")) == "s3://bucket/runs/night"
