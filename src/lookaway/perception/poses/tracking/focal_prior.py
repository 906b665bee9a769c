"""What is believed about the focal length before anything was seen."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class FocalPrior:
    """A normal distribution of the logarithm of the focal length in pixels."""

    focal: float
    spread: float
    widest: float
    """A camera has up to so many times the believed focal length, and as many times less."""

    @classmethod
    def from_field(cls, degrees: float, pixels: float, spread: float, widest: float) -> FocalPrior:
        """The focal length that shows so many degrees on so many pixels."""
        return cls(focal=pixels / 2 / float(np.tan(np.radians(degrees) / 2)), spread=spread, widest=widest)

    def tempered(self, matches: int) -> FocalPrior:
        """As strong as one in a thousand matches: small errors that many of them share must not outvote it."""
        return replace(self, spread=self.spread / max(1.0, matches / 1000) ** 0.5)

    def bounded(self, focal: float) -> float:
        """The nearest focal length that a camera may have."""
        return float(np.clip(focal, self.focal / self.widest, self.focal * self.widest))

    def is_at_bound(self, focal: float) -> bool:
        """Whether a focal length is as far from the believed one as it may be."""
        return abs(float(np.log(focal / self.focal))) > 0.99 * float(np.log(self.widest))

    def belief(self, focal: float) -> float:
        """How many standard deviations a focal length is away."""
        return float(np.log(focal / self.focal)) / self.spread
