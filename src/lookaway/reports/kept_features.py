"""Features that a run has stored, as reports read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from lookaway.core import Feature, Json, digest
from lookaway.engine.locking import ARITHMETIC, KEY_CHARACTERS
from lookaway.reports.runs import LoadedRollout, LoadedRun
from lookaway.store.feature_store import FeatureStore
from lookaway.store.run_folder import RunFolder

NO_SOFTWARE: Final[Mapping[str, Json]] = {}


def kept_feature(run: LoadedRun, rollout: LoadedRollout, name: str) -> tuple[str, Feature] | None:
    """The feature of this name and its extractor; `None` where the run's own folder has none.

    The lock names the software of a metric as a whole. A recipe uses none of it, or all but the arithmetic libraries;
    where several recipes of a metric use different parts of it, nothing is found.
    """
    store = FeatureStore(RunFolder(run.path).features)
    for entries in run.lock.entries.get("metrics", {}).values():
        recipe = entries.get("features", {}).get(name)
        if recipe is None:
            continue
        for software in _candidates(entries.get("software", {})):
            named = {"recipe": recipe, "software": software, "decoder": entries.get("decoder")}
            key = digest(named)[:KEY_CHARACTERS]
            if (feature := store.get(rollout.content, key)) is not None:
                return str(recipe.get("kind", name)), feature
    return None


def _candidates(software: Mapping[str, Json]) -> Iterator[Mapping[str, Json]]:
    yield NO_SOFTWARE
    yield {name: version for name, version in software.items() if name not in ARITHMETIC}
    yield software
