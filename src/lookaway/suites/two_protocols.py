"""One list of metrics from two protocols of a benchmark: as it was published, and with our repairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from lookaway.core import BoundMetric

CORRECTED: Final = "corrected"
"""Follows the prefix in the name of a repaired metric: `mind.corrected.lcm.psnr`."""


FURTHER: Final = "further."
"""Begins the names of metrics that no publication has."""


def two_protocols(
    published: Sequence[BoundMetric], corrected: Sequence[BoundMetric], *, gates: Sequence[BoundMetric] = ()
) -> tuple[BoundMetric, ...]:
    """Published metrics, then those that a repair changes, under names of their own.

    Both tables use the published names. A metric that is the same in both exists once; names that begin with `further.`
    are in no publication, and count as corrected. `gates` are ours: they are measured with either protocol, and
    decide nothing about published metrics.
    """
    known = {bound.name: bound for bound in published if not bound.name.startswith(FURTHER)}
    repaired = {bound.name: bound for bound in corrected}
    return (
        *(
            replace(bound, protocol="both" if repaired.get(name) == bound else "published")
            for name, bound in known.items()
        ),
        *_repairs(corrected, known),
        *gates,
    )


def corrected_name(published: str) -> str:
    """The name of the repaired metric.

    >>> corrected_name("mind.lcm.psnr")
    'mind.corrected.lcm.psnr'
    """
    prefix, _, rest = published.partition(".")
    return f"{prefix}.{CORRECTED}.{rest}"


def _repairs(corrected: Sequence[BoundMetric], published: Mapping[str, BoundMetric]) -> Iterator[BoundMetric]:
    for bound in corrected:
        if bound.name not in published:
            yield replace(bound, protocol="corrected")
        elif published[bound.name] != bound:
            yield replace(bound, name=corrected_name(bound.name), protocol="corrected")
