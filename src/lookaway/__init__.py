"""Measures whether video world models remember what the camera looked away from.

import lookaway

dataset = lookaway.read("data/MBench-A")
run = lookaway.evaluate(dataset, "runs/first")
print(run.table())
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lookaway.core import (
        Abstention,
        BoundMetric,
        Case,
        Cell,
        Compute,
        Dataset,
        Estimate,
        Executor,
        Extractor,
        ExtractorBase,
        Failure,
        Feature,
        Frame,
        FrameExtractor,
        FrameRequest,
        Gated,
        Group,
        JudgeModel,
        Lock,
        LookawayError,
        Metric,
        MetricBase,
        Option,
        Problem,
        Reason,
        Reference,
        Resources,
        Rollout,
        Score,
        Suite,
        Table,
        Target,
        Timeline,
        Unit,
        Unmeasurable,
        UserError,
    )
    from lookaway.engine.evaluate import evaluate
    from lookaway.engine.merging import merge
    from lookaway.engine.reading import read
    from lookaway.engine.run import Run
    from lookaway.engine.scorer import CasePaths, Scorer, VideoScores
    from lookaway.engine.session import Progress
    from lookaway.engine.shard import Shard
    from lookaway.judges.settings import JudgeSettings
    from lookaway.reports.experiment_logs import log_run
    from lookaway.serving.client import ScorerClient, ScoringFailed
    from lookaway.training.reward import Reward, RewardRecipe, RewardTerm, RewardValue

__all__ = [
    "Abstention",
    "BoundMetric",
    "Case",
    "CasePaths",
    "Cell",
    "Compute",
    "Dataset",
    "Estimate",
    "Executor",
    "Extractor",
    "ExtractorBase",
    "Failure",
    "Feature",
    "Frame",
    "FrameExtractor",
    "FrameRequest",
    "Gated",
    "Group",
    "JudgeModel",
    "JudgeSettings",
    "Lock",
    "LookawayError",
    "Metric",
    "MetricBase",
    "Option",
    "Problem",
    "Progress",
    "Reason",
    "Reference",
    "Resources",
    "Reward",
    "RewardRecipe",
    "RewardTerm",
    "RewardValue",
    "Rollout",
    "Run",
    "Score",
    "Scorer",
    "ScorerClient",
    "ScoringFailed",
    "Shard",
    "Suite",
    "Table",
    "Target",
    "Timeline",
    "Unit",
    "Unmeasurable",
    "UserError",
    "VideoScores",
    "evaluate",
    "log_run",
    "merge",
    "read",
]

_HOMES = {
    "JudgeSettings": "lookaway.judges.settings",
    "Progress": "lookaway.engine.session",
    "CasePaths": "lookaway.engine.scorer",
    "Reward": "lookaway.training.reward",
    "RewardRecipe": "lookaway.training.reward",
    "RewardTerm": "lookaway.training.reward",
    "RewardValue": "lookaway.training.reward",
    "Run": "lookaway.engine.run",
    "Scorer": "lookaway.engine.scorer",
    "ScorerClient": "lookaway.serving.client",
    "ScoringFailed": "lookaway.serving.client",
    "Shard": "lookaway.engine.shard",
    "VideoScores": "lookaway.engine.scorer",
    "evaluate": "lookaway.engine.evaluate",
    "log_run": "lookaway.reports.experiment_logs",
    "merge": "lookaway.engine.merging",
    "read": "lookaway.engine.reading",
}
"""Modules of the names that are not from `lookaway.core`."""


def __getattr__(name: str) -> Any:
    """Import what is used when it is first used, so that `import lookaway` loads nothing heavy."""
    if name not in __all__:
        raise AttributeError(f"module 'lookaway' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES.get(name, "lookaway.core")), name)


def __dir__() -> list[str]:
    return __all__
