from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from lookaway.core import JudgeModel, Picture
from lookaway.judges import openai_format
from lookaway.judges.openai_format import EncodedPictures, completion_fields
from tests.judges.requests import question


def picture(value: int, time_seconds: float = 0.0) -> Picture:
    return Picture(value, time_seconds, np.full((8, 8, 3), value, np.uint8))


@pytest.fixture
def made(monkeypatch):
    """What was encoded, in order."""
    calls, encode = [], openai_format._encode
    monkeypatch.setattr(
        openai_format,
        "_encode",
        lambda pictures, media: calls.append((media, *(p.index for p in pictures))) or encode(pictures, media),
    )
    return calls


@pytest.mark.parametrize("media", ["png", "jpeg"])
def test_a_picture_is_encoded_once_for_all_questions_and_none_of_them_differs(made, media):
    encoded = EncodedPictures()
    requests = [
        question(number, pictures=(picture(1), picture(2)), judge=JudgeModel(model="asked", media=media))
        for number in range(3)
    ]
    shared = [completion_fields(request, encoded) for request in requests]
    assert made == [(media, 1), (media, 2)]
    assert shared == [completion_fields(request) for request in requests]


def test_equal_pixels_in_another_form_or_order_are_encoded_again(made):
    encoded = EncodedPictures()
    encoded.data_url((picture(1),), "png")
    encoded.data_url((picture(1),), "jpeg")
    encoded.data_url((picture(1, 0.0), picture(2, 0.5)), "video")
    encoded.data_url((picture(1, 0.0), picture(2, 1.0)), "video")
    encoded.data_url((picture(1, 0.0), picture(2, 1.0)), "video")
    assert [kind for kind, *_ in made] == ["png", "jpeg", "video", "video"]


def test_pictures_beyond_the_total_size_are_forgotten_the_oldest_first(made):
    encoded = EncodedPictures(max_bytes=len(EncodedPictures().data_url((picture(1),), "png")) * 2 + 8)
    made.clear()
    for value in (1, 2, 3, 3, 2, 1):
        encoded.data_url((picture(value),), "png")
    assert [value for _, value in made] == [1, 2, 3, 1]


def test_two_threads_that_need_one_picture_encode_it_once(monkeypatch):
    both_ask, count = threading.Event(), []

    def slow(pictures, media):
        count.append(1)
        both_ask.wait(10)
        return "data"

    monkeypatch.setattr(openai_format, "_encode", slow)
    encoded = EncodedPictures()
    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(encoded.data_url, (picture(1),), "png") for _ in range(2)]
        both_ask.set()
        assert [future.result(10) for future in futures] == ["data", "data"]
    assert count == [1]


def test_a_picture_that_could_not_be_encoded_is_tried_again(monkeypatch):
    results = [OSError("full"), "data"]

    def encode(pictures, media):
        found = results.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr(openai_format, "_encode", encode)
    encoded = EncodedPictures()
    with pytest.raises(OSError, match="full"):
        encoded.data_url((picture(1),), "png")
    assert encoded.data_url((picture(1),), "png") == "data"
