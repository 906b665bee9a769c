from __future__ import annotations

import time

import pytest

from lookaway.core import DatasetError
from lookaway.io.limits import MAX_YAML_DEPTH
from lookaway.io.safe_yaml import parse_yaml

CANARY = "AKIA-canary-8f2c"


def refused(text: str) -> str:
    with pytest.raises(DatasetError) as raised:
        parse_yaml(text, "dataset.yaml")
    message = str(raised.value)
    assert message.startswith("dataset.yaml: not readable as YAML")
    assert CANARY not in message
    return message


def test_plain_yaml_is_read_as_ever():
    text = "a: 1\nb: -2.5\nc: [x, 'y', null, true]\nd: {e: 1e3, f: .5}\ng: 2024-05-06\nh: '12:30:00'\ni: .inf\n"
    found = parse_yaml(text, "dataset.yaml")
    assert found["a"] == 1
    assert found["b"] == -2.5
    assert found["c"] == ["x", "y", None, True]
    assert found["d"]["f"] == 0.5
    assert str(found["g"]) == "2024-05-06"
    assert found["h"] == "12:30:00"
    assert found["i"] == float("inf")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: &x {b: 1}\nc: {<<: {d: 1}}\n", "line 2: merge keys"),
        ("<<: [{a: 1}, {b: 2}]\n", "line 1: merge keys"),
        ("a: &x [1]\nb: *x\n", "line 2: aliases"),
        ("a: &a [*a]\n", "line 1: aliases"),
        (f"a: {'9' * 301}\n", "line 1: a number"),
        (f"a: 0x{'f' * 100_000}\n", "line 1: a number"),
        ("a: 0b101\n", "line 1: a number"),
        ("a: 1:30\n", "line 1: a number"),
        ("a: 1:30:59.5\n", "line 1: a number"),
        (f"a: 1{':59' * 30_000}\n", "line 1: a number"),
        (f"a: 1{':59' * 30_000}.5\n", "line 1: a number"),
        (f"a: !!int {CANARY}\n", "line 1: a number"),
        (f"a: !!float {CANARY}\n", "line 1: a number"),
        ("[" * (MAX_YAML_DEPTH + 1), "collections inside each other"),
        ("? " * 2000, "collections inside each other"),
        (f"a: [{CANARY}\n", "at line 2"),
        (f"a: *{CANARY}\n", "line 1: aliases"),
        (f"a: !{CANARY} 1\n", "at line 1"),
        (f"a: !!python/object/apply:os.system [{CANARY}]\n", "at line 1"),
        (f'a: "\\q{CANARY}"\n', "at line 1"),
        (f"{CANARY}: a: b\n", "at line 1"),
        ("a: 2024-13-99\n", "ValueError"),
        (f"a: !!binary {CANARY}\n", ""),
        ("a: \x01\n", ""),
        ("--- a\n--- b\n", "at line 2"),
    ],
)
def test_what_is_not_read_is_a_typed_error_that_quotes_nothing(text, message):
    started = time.process_time()
    assert message in refused(text)
    assert time.process_time() - started < 5


def test_collections_up_to_the_limit_are_read():
    text = "[" * (MAX_YAML_DEPTH - 1) + "]" * (MAX_YAML_DEPTH - 1)
    assert parse_yaml(text, "dataset.yaml") is not None
