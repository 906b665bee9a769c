from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict

from lookaway.core import DatasetError, UnsafePath
from lookaway.io import dataset_files
from lookaway.io.dataset_files import (
    DatasetTree,
    checked,
    open_regular,
    read_dataset_json,
    read_limited,
    read_limited_lines,
)

CANARY = "AKIA-canary-8f2c"


class Inner(BaseModel):
    count: int = 0


class Record(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str = ""
    parts: dict[str, Inner] = {}


def message(value: object) -> str:
    with pytest.raises(DatasetError) as raised:
        checked(Record, value, "here")
    return str(raised.value)


def test_a_file_is_read_up_to_its_limit_and_not_beyond(tmp_path):
    (tmp_path / "file").write_bytes(b"12345")
    assert read_limited(tmp_path / "file", 5) == b"12345"
    with pytest.raises(DatasetError, match="it has 5 bytes, and at most 4 are read"):
        read_limited(tmp_path / "file", 4)


def test_a_large_file_is_refused_before_it_is_read(tmp_path):
    with (tmp_path / "file.json").open("wb") as file:
        file.truncate(1 << 40)  # takes no space
    with pytest.raises(DatasetError, match="1,099,511,627,776 bytes"):
        read_dataset_json(tmp_path / "file.json")


@pytest.mark.parametrize("kind", ["pipe", "folder", "device"])
def test_what_is_not_a_regular_file_is_refused_without_waiting(tmp_path, kind):
    path = tmp_path / "file"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero")
    with pytest.raises(OSError, match=r"not a regular file|Is a directory"):
        open_regular(path, 10)
    with pytest.raises(DatasetError, match="cannot be read"):
        read_limited(path, 10)


def test_a_file_that_is_missing_or_private_is_a_dataset_error(tmp_path):
    with pytest.raises(DatasetError, match="there is no such file"):
        read_limited(tmp_path / "file", 10)
    (tmp_path / "ring").symlink_to("ring")
    with pytest.raises(DatasetError, match="Too many levels of symbolic links"):
        read_limited(tmp_path / "ring", 10)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"name": 3}, "here: name: Input should be a valid string, found a number."),
        ({"name": [CANARY]}, "here: name: Input should be a valid string, found a list."),
        ({"parts": {CANARY: {"count": CANARY}}}, "here: parts.*.count: "),
        ({"parts": {CANARY: CANARY}}, "here: parts.*: "),
        ({CANARY: 1}, "here: an unknown field; known: name, parts."),
        ({"nmae": CANARY}, "here: an unknown field; did you mean 'name'?"),
        (CANARY, "here: the record: "),
        ([CANARY], "here: the record: "),
    ],
)
def test_a_message_names_fields_and_types_and_quotes_no_content(value, expected):
    assert message(value).startswith(expected)
    assert CANARY not in message(value)


def test_lines_that_are_not_records_are_problems_and_quote_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(dataset_files, "MAX_LINE_BYTES", 60)
    long = json.dumps({"name": "x" * 60})
    lines = ['{"name": "a"}', CANARY, json.dumps({"name": {CANARY: 1}}), "", long, '{"name": "b"}']
    (tmp_path / "list").write_text("\n".join(lines))
    tree = DatasetTree(tmp_path)
    assert [(where, record.name) for where, record in tree.records("list", Record)] == [
        ("list:1", "a"),
        ("list:6", "b"),
    ]
    assert [problem.where for problem in tree.problems] == ["list:2", "list:3", "list:5"]
    assert CANARY not in str(tree.problems)
    assert "at most 60 are read" in tree.problems[-1].message


def test_a_tree_reads_what_lies_inside_and_follows_no_link_out_of_it(tmp_path):
    root = tmp_path / "data"
    root.mkdir()
    (root / "in.json").write_text("[1]")
    (tmp_path / "out.json").write_text(f'["{CANARY}"]')
    (root / "link.json").symlink_to("in.json")
    (root / "leak.json").symlink_to(tmp_path / "out.json")
    tree = DatasetTree(root)
    assert tree.json("in.json") == tree.json("link.json") == [1]
    with pytest.raises(UnsafePath):
        tree.path("leak.json")
    with pytest.raises(DatasetError, match="leads out of the dataset"):
        tree.json("leak.json")
    assert DatasetTree(root, allow_outside=True).json("leak.json") == [CANARY]


def test_messages_name_a_file_as_the_dataset_does(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.json").write_text("{")
    (tmp_path / "data").symlink_to("real")
    with pytest.raises(DatasetError) as raised:
        DatasetTree(tmp_path / "data").json("a.json")
    assert str(raised.value).startswith(f"{tmp_path / 'data' / 'a.json'}: not valid JSON")


def test_no_reader_of_datasets_opens_a_file_in_another_way():
    root = Path(dataset_files.__file__).parents[1]
    readers = [*(root / "suites").rglob("*.py"), *(root / "io" / "pose_files").glob("*.py")]
    readers += [root / "io" / name for name in ("clip_card.py", "world_clips.py", "manifest.py", "arrays.py")]
    opening = re.compile(
        r"\.read_text|\.read_bytes|\.open\([\"']|(?<![.\w])(?<!def )open\(|np\.load|\byaml\.|\bread_json"
    )
    found = {path.name: opening.findall(path.read_text(encoding="utf-8")) for path in readers}
    assert len(readers) > 20
    assert not {name: words for name, words in found.items() if words}


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_a_file_of_too_many_lines_is_refused_before_it_is_divided(tmp_path, monkeypatch, end):
    monkeypatch.setattr(dataset_files, "MAX_LINES", 3)
    (tmp_path / "list").write_bytes(b"{}" + end + end + end)
    assert len(list(DatasetTree(tmp_path).lines("list"))) == 1
    (tmp_path / "list").write_bytes(b"{}" + 4 * end)
    with pytest.raises(DatasetError, match="list: it has 4 lines, and at most 3 are read"):
        list(DatasetTree(tmp_path).lines("list"))
    with pytest.raises(DatasetError, match="it has 4 lines"):
        read_limited_lines(tmp_path / "list")


def test_after_too_many_invalid_records_the_rest_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(dataset_files, "MAX_INVALID_RECORDS", 2)
    (tmp_path / "list").write_bytes(b'{"name": "a"}\n5\n[]\n{"name": "b"}\n{\n{"name": "c"}\n')
    tree, found = DatasetTree(tmp_path), []
    with pytest.raises(DatasetError, match="more than 2 records are invalid, and the rest is not read"):
        found.extend(record.name for _, record in tree.records("list", Record))
    assert [problem.where for problem in tree.problems] == ["list:2", "list:3"]
