"""Measures whether video world models remember what the camera looked away from.

import lookaway

dataset = lookaway.read("data/MBench-A")
run = lookaway.evaluate(dataset, "runs/first")
print(run.table())
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lookaway.core.compute import Resources
    from lookaway.engine.evaluate import evaluate
    from lookaway.engine.merging import merge
    from lookaway.engine.reading import read
    from lookaway.engine.run import Run
    from lookaway.engine.shard import Shard

__all__ = ["Resources", "Run", "Shard", "evaluate", "merge", "read"]

_HOMES = {
    "Resources": "lookaway.core.compute",
    "Run": "lookaway.engine.run",
    "Shard": "lookaway.engine.shard",
    "evaluate": "lookaway.engine.evaluate",
    "merge": "lookaway.engine.merging",
    "read": "lookaway.engine.reading",
}


def __getattr__(name: str) -> Any:
    """Import the engine when it is first asked for, so that `import lookaway` costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'lookaway' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
