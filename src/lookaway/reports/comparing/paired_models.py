"""Which model of one run is held against which of another."""

from __future__ import annotations

from collections.abc import Sequence

from lookaway.core import UnknownName, UserError
from lookaway.reports.site.gather import SiteRun


def paired_models(before: SiteRun, after: SiteRun, models: Sequence[str] | None) -> list[tuple[str, str]]:
    """Which model of the first run is held against which of the second."""
    own, others = before.models, after.models
    if models is not None:
        if len(models) != 2:
            raise UserError(f"Two models are compared, found {', '.join(models) or 'none'}: give --models a,b.")
        for name, known in zip(models, (own, others), strict=True):
            if name not in known:
                raise UnknownName("model of the run", name, known)
        return [(models[0], models[1])]
    if before.path == after.path:
        raise UserError(f"{before.path}: to compare two models of one run, name them: --models a,b.")
    if len(own) == len(others) == 1:
        return [(own[0], others[0])]
    shared = [(name, name) for name in own if name in others]
    if not shared:
        raise UserError(
            f"No model is in both runs: one has {', '.join(own)}, the other {', '.join(others)}. "
            "Say which to compare: --models a,b."
        )
    return shared
