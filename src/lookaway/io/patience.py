"""Tries again what may work in a moment."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from lookaway.core import StorageError
from lookaway.io.storage_faults import is_passing

T = TypeVar("T")

PATIENCE_SECONDS = 600.0
"""Long enough for a server to be started again, short enough to be told the same hour."""
FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 0.5, 15.0


def patiently(what: str, call: Callable[[], T]) -> T:
    """The result of a call to object storage, tried again while nobody answers, with growing waits."""
    started, tries = time.monotonic(), 0
    while True:
        tries += 1
        try:
            return call()
        except Exception as error:
            if not is_passing(error):
                raise
            wait = min(FIRST_WAIT_SECONDS * 2.0 ** min(tries - 1, 10), LONGEST_WAIT_SECONDS)
            wait *= random.uniform(0.5, 1.0)  # noqa: S311 - waits are spread, nothing is kept secret
            waited = time.monotonic() - started
            if waited + wait > PATIENCE_SECONDS:
                raise StorageError(
                    f"{what}: object storage did not answer for {waited:.0f} seconds, {tries} tries "
                    f"({type(error).__name__}). What is finished is kept; the same command goes on from there when it "
                    "answers again. Check AWS_ENDPOINT_URL and the network."
                ) from error
        time.sleep(wait)
