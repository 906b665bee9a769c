"""Whether a camera moves or only turns."""

from __future__ import annotations

import numpy as np

from lookaway.core import Floats

DATA_DIMENSIONS = 4
"""A match is four numbers."""
TURN, EPIPOLAR = (2, 3), (3, 7)
"""Dimension of the surface on which a model puts the matches, and number of its parameters."""


def preference_for_moving(turn_errors: Floats, epipolar_errors: Floats, noise: float) -> float:
    """How much better a match is explained by epipolar geometry than by a turn, above 0 where the camera moves.

    The difference of Torr's geometric robust information criterion between both models, divided by the number of
    matches: epipolar geometry explains more, and pays for its freedom.
    """
    turn, epipolar = _criterion(turn_errors, *TURN, noise), _criterion(epipolar_errors, *EPIPOLAR, noise)
    return (turn - epipolar) / len(turn_errors)


def _criterion(errors: Floats, dimension: int, parameters: int, noise: float) -> float:
    misfit = np.minimum((errors / noise) ** 2, 2.0 * (DATA_DIMENSIONS - dimension))
    freedom = np.log(DATA_DIMENSIONS) * dimension * len(errors) + np.log(DATA_DIMENSIONS * len(errors)) * parameters
    return float(misfit.sum() + freedom)
