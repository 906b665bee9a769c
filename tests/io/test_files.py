import json
import os
import stat

import pytest

from lookaway.core import DatasetError
from lookaway.io.files import parse_json, read_json, write_json, write_text, write_whole


def test_a_file_is_written_whole(tmp_path):
    write_whole(tmp_path / "new" / "folder" / "file", lambda file: file.write(b"content"))
    assert (tmp_path / "new" / "folder" / "file").read_bytes() == b"content"
    assert os.listdir(tmp_path / "new" / "folder") == ["file"]


def test_an_older_file_is_replaced(tmp_path):
    write_text(tmp_path / "file", "old and longer")
    write_text(tmp_path / "file", "new")
    assert (tmp_path / "file").read_text() == "new"


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_a_write_that_fails_leaves_what_was_there(tmp_path, error):
    def fail(file):
        file.write(b"half")
        raise error

    with pytest.raises(error):
        write_whole(tmp_path / "file", fail)
    assert os.listdir(tmp_path) == []
    write_text(tmp_path / "file", "old")
    with pytest.raises(error):
        write_whole(tmp_path / "file", fail)
    assert os.listdir(tmp_path) == ["file"]
    assert (tmp_path / "file").read_text() == "old"


def test_a_target_that_cannot_be_replaced_leaves_nothing_behind(tmp_path):
    (tmp_path / "folder" / "full").mkdir(parents=True)
    with pytest.raises(OSError, match="directory"):
        write_text(tmp_path / "folder", "text")
    assert os.listdir(tmp_path) == ["folder"]


def test_nobody_sees_half_a_file(tmp_path):
    write_text(tmp_path / "file", "old")

    def write(file):
        file.write(b"half")
        file.flush()
        assert (tmp_path / "file").read_text() == "old"
        file.write(b" and half")

    write_whole(tmp_path / "file", write)
    assert (tmp_path / "file").read_text() == "half and half"


def test_other_people_may_read_what_the_umask_allows(tmp_path):
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "file", "text")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


def test_the_longest_name_that_a_folder_takes_can_be_written(tmp_path):
    write_text(tmp_path / ("x" * 255), "text")
    assert os.listdir(tmp_path) == ["x" * 255]


def test_json_comes_back_as_it_was_written(tmp_path):
    value = {"b": [1, 2.5, None, True], "a": {"text": "ü ☃ 𝄞"}}
    write_json(tmp_path / "file.json", value)
    assert read_json(tmp_path / "file.json") == value


def test_json_has_one_spelling(tmp_path):
    write_json(tmp_path / "first.json", {"b": 1, "a": "ü"})
    write_json(tmp_path / "second.json", {"a": "ü", "b": 1})
    assert (tmp_path / "first.json").read_bytes() == (tmp_path / "second.json").read_bytes()
    assert (tmp_path / "first.json").read_text() == '{\n  "a": "ü",\n  "b": 1\n}\n'


def test_nan_is_not_written(tmp_path):
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json(tmp_path / "file.json", {"value": float("nan")})
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"value": NaN}', "NaN is not a JSON number"),
        ("[Infinity]", "Infinity is not a JSON number"),
        ("[-Infinity]", "-Infinity is not a JSON number"),
        ("[1e999]", "a number is too large"),
        ("[-1e999]", "a number is too large"),
        ("[" * 100_000, "recursion"),
        ('{"a":' * 100_000, "recursion"),
        ("9" * 301, "an integer has more than 300 digits"),
        ("9" * 5000, "an integer has more than 300 digits"),
        ('{"value": 1', "delimiter"),
        ("", "Expecting value"),
        ("{'value': 1}", "double quotes"),
        ('{"a": 1} {"b": 2}', "Extra data"),
        ('"half \\ud800 character"', "half of a surrogate pair"),
        ('{"\\udc00": 1}', "half of a surrogate pair"),
        ("\ufeff{}", "BOM"),
    ],
)
def test_what_is_not_json_is_refused_with_what_was_found(tmp_path, text, found):
    path = tmp_path / "records.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DatasetError, match="not valid JSON") as raised:
        read_json(path)
    assert "records.json: " in str(raised.value)
    assert found in str(raised.value)
    with pytest.raises(DatasetError, match="line 7: not valid JSON"):
        parse_json(text, "line 7")


@pytest.mark.parametrize("text", ["[1e308, -0.0, 1e-999, 12345678901234567890]", '"\\ud834\\udd1e \\u00fc"', " [ ] "])
def test_unusual_json_is_read(text):
    assert parse_json(text, "here") == parse_json(text.encode(), "here") == json.loads(text)


@pytest.mark.parametrize("data", [b'{"name": "\xff\xfe"}', b"\xff\xfe{\0}\0", '{"name": "ü"}'.encode("latin-1")])
def test_a_file_that_is_not_utf_8_is_refused(tmp_path, data):
    (tmp_path / "file.json").write_bytes(data)
    with pytest.raises(DatasetError, match=r"file\.json: cannot be read as text: 'utf-8' codec can't decode"):
        read_json(tmp_path / "file.json")


def test_bytes_that_are_not_utf_8_are_refused():
    with pytest.raises(DatasetError, match="line 3: not valid JSON"):
        parse_json(b'{"name": "\xff"}', "line 3")


def test_a_missing_file_and_a_folder_are_told_apart(tmp_path):
    with pytest.raises(DatasetError, match="there is no such file"):
        read_json(tmp_path / "none.json")
    with pytest.raises(DatasetError, match="cannot be read as text: not a regular file"):
        read_json(tmp_path)


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(DatasetError, match="not a regular file"):
        read_json(tmp_path / "pipe.json")
