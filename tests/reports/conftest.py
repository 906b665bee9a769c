from __future__ import annotations

import pytest

from lookaway.calibration.card import CardSet


@pytest.fixture
def tried_on_frozen(monkeypatch):
    """Metrics without a card lose a frozen video, so that models are ranked by them."""
    known = CardSet.is_won_by_frozen
    monkeypatch.setattr(CardSet, "is_won_by_frozen", lambda cards, *hashes: known(cards, *hashes) or False)
