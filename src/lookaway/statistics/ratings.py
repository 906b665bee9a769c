"""What several raters said about the same items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lookaway.core import Floats, Indices

MISSING = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratings:
    """A table of items and raters; some may not have rated some items."""

    codes: Indices
    """[items, raters]: the place of the answer in `categories`, or -1 where there is none."""
    categories: tuple[str, ...]
    """The answers that could have been given, whether or not anybody gave them."""
    scenes: Sequence[str]
    """Scene of each item."""

    def __post_init__(self) -> None:
        if len(self.categories) < 2 or len(set(self.categories)) != len(self.categories):
            raise ValueError(f"Ratings need two or more different categories, found {list(self.categories)}.")
        if self.codes.ndim != 2 or len(self.codes) != len(self.scenes):
            raise ValueError(
                f"Ratings are [items, raters] with one scene per item, found {list(self.codes.shape)} and "
                f"{len(self.scenes)} scenes."
            )
        if np.any((self.codes < MISSING) | (self.codes >= len(self.categories))):
            raise ValueError(f"A code is a place in the {len(self.categories)} categories, or -1 for none.")


def ratings_of(
    answers: Sequence[Sequence[str | None]], categories: Sequence[str], scenes: Sequence[str] | None = None
) -> Ratings:
    """Ratings from answers, item by item, `None` where a rater gave none; without scenes, each item is one.

    >>> ratings_of([["yes", "no"], ["yes", None]], ["no", "yes"]).codes.tolist()
    [[1, 0], [1, -1]]
    """
    places: dict[str | None, int] = {name: place for place, name in enumerate(categories)}
    strange = {answer for row in answers for answer in row if answer is not None} - set(places)
    if strange:
        raise ValueError(f"Answers outside the declared categories {list(categories)}: {sorted(map(str, strange))}.")
    raters = len(answers[0]) if answers else 0
    codes = np.array([[places.get(answer, MISSING) for answer in row] for row in answers], np.int64)
    own = [f"{number:09d}" for number in range(len(answers))]
    return Ratings(
        codes=codes.reshape(len(answers), raters),
        categories=tuple(categories),
        scenes=own if scenes is None else scenes,
    )


def category_counts(codes: Indices, categories: int) -> Floats:
    """How many raters gave each answer to each item [items, categories]."""
    return np.stack([np.sum(codes == place, axis=1) for place in range(categories)], axis=1).astype(np.float64)
