from __future__ import annotations

import pytest

from benchmarks.random_networks import is_won_by_any_network
from tests.calibration.planted import card_of


@pytest.mark.parametrize(
    ("clean", "frozen", "is_won"),
    [
        (0.9, 1.0, True),
        (0.9, 0.98, False),  # better than what remembers, but other features might give less
        (1.0, 1.0, False),  # a network that tells nothing apart
        (1.0, 0.9999, False),  # a clean clip is its own reference
        (0.9, None, False),
    ],
)
def test_a_win_counts_where_equal_pictures_have_the_best_score_and_others_less(clean, frozen, is_won):
    card = card_of(lambda label, rng: frozen if label.name == "frozen" else clean)
    assert is_won_by_any_network(card) == is_won
