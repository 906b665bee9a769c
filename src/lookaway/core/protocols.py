"""The two protocols of a benchmark, as published and corrected, and whose gate decides about which numbers."""

from __future__ import annotations

from typing import Literal, TypeAlias

ProtocolName: TypeAlias = Literal["published", "corrected", "both"]
"""As in the publication, with repairs, or both."""


def gate_decides(gate: ProtocolName | None, metric: ProtocolName | None) -> bool:
    """Whether the gate of one protocol removes rollouts from the numbers of a metric of another.

    A gate without a protocol is ours: it removes nothing from a published number. What is the same in both protocols
    stands under its published name, and counts as published.

    >>> gate_decides(None, "published"), gate_decides(None, "corrected"), gate_decides(None, None)
    (False, True, True)
    >>> gate_decides("both", "published"), gate_decides("corrected", "both"), gate_decides("published", "both")
    (True, False, True)
    """
    if gate is None:
        return metric in (None, "corrected")
    named = "published" if metric == "both" else metric
    return gate == "both" or named in (None, gate)
