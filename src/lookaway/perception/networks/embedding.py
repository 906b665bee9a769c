"""What turns pictures into vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from lookaway.core import Abstention, Extractor, Floats, Pixels

Embedder: TypeAlias = Callable[[Sequence[Pixels]], Floats]
"""Pictures of any sizes to [pictures, channels]."""


class Embedding(Extractor, Protocol):
    """An extractor of one vector a frame, whose network others can use on pictures of their own."""

    def lacks(self) -> Abstention | None:
        """Why the network cannot be loaded."""
        ...

    def embedder(self) -> Embedder:
        """The loaded network."""
        ...
