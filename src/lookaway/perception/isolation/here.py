"""A runner file served by this very process, which is in the right environment already."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Json, Reason, Unmeasurable
from lookaway.perception.isolation import child
from lookaway.perception.isolation.process import RunnerFailed
from lookaway.perception.isolation.variables import fit_to_show


class ServedHere:
    """Answers as a child process would; but what ends a child ends this process."""

    is_alive = True

    def __init__(self, most_bytes: int = child.MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._run: Any = None

    def ask(
        self, header: Mapping[str, Json], arrays: Mapping[str, NDArray[Any]], seconds: float
    ) -> dict[str, NDArray[Any]]:
        """The arrays of the answer; after so many seconds without one this process ends."""
        deadline = threading.Timer(seconds, _end, (seconds,))
        deadline.daemon = True
        deadline.start()
        try:
            return self._answer(dict(header), arrays)
        except (Exception, SystemExit) as error:
            told = child._told(error)
            if told["kind"] == "unmeasurable" and told["reason"] in list(Reason):
                raise Unmeasurable(Reason(told["reason"]), fit_to_show(told["message"])) from error
            raise RunnerFailed(f"The runner failed:\n{fit_to_show(str(told.get('trace') or told))}") from error
        finally:
            deadline.cancel()

    def _answer(self, header: dict[str, Json], arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        if header["kind"] == "load":
            _forget_runners()
        own = {name: np.array(array) for name, array in arrays.items()}  # a runner may write to them
        child.send(_nowhere, header, own, self._most_bytes)
        self._run, answer = child._answer(self._run, header, own)
        child.send(_nowhere, {}, answer, self._most_bytes)
        return {name: np.asarray(array) for name, array in answer.items()}


def _forget_runners() -> None:
    """A runner file of the same name may lie elsewhere; and two networks share no state."""
    for name in [name for name in sys.modules if name == "runners" or name.startswith("runners.")]:
        del sys.modules[name]


def _nowhere(view: memoryview) -> None:
    """Messages are checked as they would be on their way to a child, and stay here."""


def _end(seconds: float) -> None:
    print(f"The runner did not answer within {seconds:g} seconds.", file=sys.stderr, flush=True)
    os._exit(1)
