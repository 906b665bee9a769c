from __future__ import annotations

import io
import json

import numpy as np
import pytest

from lookaway.perception.isolation.child import DTYPES, MAGIC, MAX_HEADER_BYTES, PREFIX, NotAMessage, receive, send


def sent(header, arrays, **limits):
    written = io.BytesIO()
    send(written.write, header, arrays, **limits)
    return written.getvalue()


def received(data, **limits):
    stream = io.BytesIO(data)

    def fill(view):
        if stream.readinto(view) < len(view):
            raise EOFError

    return receive(fill, **limits)


def message(header):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return PREFIX.pack(MAGIC, len(text)) + text


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type_comes_back_as_it_was_sent(dtype):
    array = np.arange(24).reshape(2, 3, 4).astype(dtype)
    header, arrays = received(sent({"kind": "answer", "more": [1, "ä"]}, {"a": array}))
    assert (header["kind"], header["more"]) == ("answer", [1, "ä"])
    np.testing.assert_array_equal(arrays["a"], array)
    assert arrays["a"].dtype == array.dtype


@pytest.mark.parametrize(
    "array",
    [
        np.float64(3),
        np.zeros((0, 4)),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(10)[::-3],
        np.arange(4, dtype=">i4"),
    ],
)
def test_arrays_of_any_layout_come_back_as_they_were_sent(array):
    _, arrays = received(sent({}, {"a": array, "b": np.array([True])}))
    np.testing.assert_array_equal(arrays["a"], array)
    assert arrays["a"].shape == np.shape(array)
    assert arrays["b"].tolist() == [True]


def test_what_came_can_be_written_to():
    _, arrays = received(sent({}, {"a": np.zeros(3)}))
    arrays["a"][0] = 1


@pytest.mark.parametrize("values", [np.array([{}]), np.array(["a"]), np.array([1j]), np.array([b"a"]), [None]])
def test_what_is_no_number_is_not_sent(values):
    written = io.BytesIO()
    with pytest.raises(NotAMessage, match="numbers and truth values"):
        send(written.write, {}, {"fine": np.zeros(2), "a": values})
    assert written.getvalue() == b""


def test_more_than_is_allowed_is_not_sent():
    with pytest.raises(NotAMessage, match="take 800 bytes, 799 are allowed"):
        sent({}, {"a": np.zeros(100)}, most=799)
    with pytest.raises(NotAMessage, match="header"):
        sent({"message": "x" * MAX_HEADER_BYTES}, {})


def test_an_answer_that_is_no_number_is_not_sent_as_json():
    with pytest.raises(ValueError, match="JSON"):
        sent({"score": float("nan")}, {})


@pytest.mark.parametrize(
    "arrays",
    [
        None,
        {},
        "frames",
        [["a", "uint8", [10**18]]],
        [["a", "uint8", [2**31, 2**31, 2**31]]],
        [["a", "uint8", [2000]]],
        [["a", "float64", [200]]],
        [["a", "uint8", [600]], ["b", "uint8", [600]]],
        [["a", "uint8", [-1]]],
        [["a", "uint8", [1.5]]],
        [["a", "uint8", [True]]],
        [["a", "uint8", 3]],
        [["a", "uint8", [1] * 9]],
        [["a", "object", [1]]],
        [["a", "O", [1]]],
        [["a", "<f4", [1]]],
        [["a", ["uint8"], [1]]],
        [["a", "uint8", [1]], ["a", "uint8", [1]]],
        [[1, "uint8", [1]]],
        [["a", "uint8"]],
        ["abc"],
        [["a", "uint8", [0]]] * 300,
    ],
)
def test_arrays_that_nobody_could_mean_are_refused_before_any_is_read(arrays):
    with pytest.raises(NotAMessage):
        received(message({"kind": "answer", "arrays": arrays}) + bytes(3000), most=1000)


@pytest.mark.parametrize(
    "data",
    [
        b"Traceback (most recent call last):\n",
        PREFIX.pack(b"lookback", 2) + b"{}",
        PREFIX.pack(MAGIC, 2**63),
        PREFIX.pack(MAGIC, MAX_HEADER_BYTES + 1) + bytes(100),
        message(b"not json"),
        message(b"\xff\xfe"),
        message(b"[" * 100_000),
        message([]),
        message("arrays"),
        message({}),
        message(b"17"),
    ],
)
def test_what_is_no_message_is_refused(data):
    with pytest.raises(NotAMessage):
        received(data)


def test_a_message_that_breaks_off_is_not_taken_for_whole():
    whole = sent({"kind": "answer"}, {"a": np.arange(50)})
    for length in range(0, len(whole), 7):
        with pytest.raises(EOFError):
            received(whole[:length])


def test_flipped_bits_are_refused_or_give_arrays_of_the_size_that_came():
    whole, dice = sent({"kind": "answer"}, {"a": np.arange(50)}), np.random.default_rng(0)
    for _ in range(500):
        changed = bytearray(whole)
        changed[dice.integers(len(changed))] ^= 1 << dice.integers(8)
        try:
            _, arrays = received(bytes(changed), most=1000)
        except (NotAMessage, EOFError):
            continue
        assert sum(array.nbytes for array in arrays.values()) <= 1000
