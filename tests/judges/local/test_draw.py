from __future__ import annotations

from collections import Counter

import pytest
import torch

from lookaway.core import Sampling
from lookaway.judges.local.judge import Draw

LOGITS = torch.tensor([[1.0, 3.0, 2.0, -1.0]])
DRAWS = 4000


def shares(sampling: Sampling, seed: int | None = 0, logits: torch.Tensor = LOGITS) -> list[float]:
    draw = Draw(torch, sampling, seed)
    counts = Counter(draw(None, logits).argmax().item() for _ in range(DRAWS))
    return [counts[token] / DRAWS for token in range(logits.shape[1])]


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_words_are_drawn_as_often_as_they_are_likely(temperature: float) -> None:
    expected = (LOGITS[0] / temperature).softmax(0).tolist()
    assert shares(Sampling(temperature=temperature)) == pytest.approx(expected, abs=0.03)


def test_only_the_likeliest_words_that_make_up_the_share_are_drawn() -> None:
    likely = LOGITS[0].softmax(0).tolist()
    assert likely[1] < 0.8 < likely[1] + likely[2]
    kept = likely[1] + likely[2]
    expected = [0.0, likely[1] / kept, likely[2] / kept, 0.0]
    assert shares(Sampling(temperature=1.0, top_p=0.8)) == pytest.approx(expected, abs=0.03)
    assert shares(Sampling(temperature=1.0, top_p=1e-9)) == [0.0, 1.0, 0.0, 0.0]


def test_next_to_no_temperature_is_the_likeliest_word_and_no_overflow() -> None:
    assert shares(Sampling(temperature=1e-300), logits=LOGITS * 1e9) == [0.0, 1.0, 0.0, 0.0]


def test_a_draw_leaves_one_word_and_changes_nothing_that_it_was_given() -> None:
    given = LOGITS.clone()
    left = Draw(torch, Sampling(temperature=1.0), 0)(None, given)
    assert torch.isfinite(left).sum() == 1
    assert torch.equal(given, LOGITS)


def test_without_a_seed_no_two_series_are_alike() -> None:
    sampling = Sampling(temperature=1.0)
    wide = torch.zeros(1, 1000)

    def series(seed: int | None) -> list[int]:
        draw = Draw(torch, sampling, seed)
        return [int(draw(None, wide).argmax()) for _ in range(8)]

    assert series(5) == series(5) != series(6)
    assert series(None) != series(None)
