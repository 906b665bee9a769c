"""Which rollouts a gate let pass."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Group


def passed_gate(rollouts: Sequence[str], gate: Group) -> NDArray[np.bool_]:
    """Whether each rollout is known to have been put to the test; one that was not judged is not."""
    is_open = {rollout for rollout, value in zip(gate.rollouts, gate.values.tolist(), strict=True) if value == 1.0}
    return np.array([rollout in is_open for rollout in rollouts], np.bool_)
