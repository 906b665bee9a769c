"""Shards: parts of a dataset for several machines that are not in one cluster."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from lookaway.core import Dataset, Json, RunError, StorageError, UserError, digest
from lookaway.store.run_folder import RunFolder


@dataclass(frozen=True, slots=True)
class Shard:
    """One of several parts of about the same size. A rollout stays in its shard when others are added.

    >>> Shard.parse("2/8")
    Shard(number=2, of=8)
    """

    number: int
    """From 1."""
    of: int

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.of:
            raise UserError(f"There is no shard {self.number} of {self.of}; shards are numbered from 1 to {self.of}.")

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Parse a shard number and the number of shards, such as `2/8`."""
        if (found := re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text.strip())) is None:
            raise UserError(
                f"{text!r:.40} is not a valid shard; expected its number and the number of shards, such as 2/8."
            )
        return cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def holds(self, rollout: str) -> bool:
        """Whether the rollout with this id belongs to the shard."""
        drawn = int.from_bytes(hashlib.sha256(rollout.encode()).digest()[:8], "big")
        return drawn % self.of == self.number - 1

    def part(self, dataset: Dataset) -> Dataset:
        """The dataset with only the rollouts of this shard."""
        return dataset.select(lambda rollout: self.holds(rollout.id))

    def about(self, dataset: Dataset) -> Json:
        """As `run.json` stores it, given the whole dataset: it decides which runs can be merged."""
        ids = sorted(rollout.id for rollout in dataset.rollouts)
        return {"number": self.number, "of": self.of, "rollouts_of_all": len(ids), "ids_sha256": digest(ids)}


def require_same_shard(folder: RunFolder, shard: Shard | None) -> None:
    """Refuse the folder of another shard."""
    try:
        existing = folder.about().get("shard")
    except StorageError:
        raise
    except UserError:
        return  # there is no run yet, or none that can be read
    found = f"shard {existing['number']}/{existing['of']}" if existing else "an unsharded run"
    wanted = f"shard {shard}" if shard else "an unsharded run"
    if found != wanted:
        raise RunError(f"{folder.path}: found {found}, expected {wanted}. Name another folder with --output.")
