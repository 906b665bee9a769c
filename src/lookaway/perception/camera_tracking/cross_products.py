"""Cross products as matrices."""

from __future__ import annotations

import numpy as np

from lookaway.core import Floats


def cross_matrices(vectors: Floats) -> Floats:
    """[N, 3, 3] that multiply like the cross product with vectors [N, 3]."""
    matrices = np.zeros((len(vectors), 3, 3))
    matrices[:, 0, 1], matrices[:, 0, 2], matrices[:, 1, 2] = -vectors[:, 2], vectors[:, 1], -vectors[:, 0]
    return np.asarray(matrices - matrices.transpose(0, 2, 1))
