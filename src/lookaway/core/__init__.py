"""The nouns, contracts and errors that every room shares."""

from lookaway.core.cases import Case, Dataset, Problem, Rollout, Target
from lookaway.core.compute import Compute
from lookaway.core.contracts import BoundMetric, Executor, Extractor, Judge, Metric, Perceiver, Suite, Watch
from lookaway.core.errors import (
    ArtifactError,
    DatasetError,
    LookawayError,
    MissingDevice,
    MissingExtra,
    NameClash,
    NoEnvironment,
    RunError,
    UnknownName,
    Unmeasurable,
    UnsafePath,
    UserError,
    VideoError,
)
from lookaway.core.features import Feature, Features, Floats, Indices, Pixels
from lookaway.core.frames import Frame, FrameRequest, Timeline
from lookaway.core.lock import Json, Lock, canonical_json, describe, digest
from lookaway.core.masks import MASK_ARRAYS, Mask, MaskTrack
from lookaway.core.outcomes import Abstention, Failure, Outcome, Score, Unit
from lookaway.core.pairs import Pairs, PairSelector
from lookaway.core.reasons import Reason
from lookaway.core.tables import Cell, Estimate, Group, Table
from lookaway.core.trajectory import TRAJECTORY_ARRAYS, Trajectory, angles_degrees

__all__ = [
    "MASK_ARRAYS",
    "TRAJECTORY_ARRAYS",
    "Abstention",
    "ArtifactError",
    "BoundMetric",
    "Case",
    "Cell",
    "Compute",
    "Dataset",
    "DatasetError",
    "Estimate",
    "Executor",
    "Extractor",
    "Failure",
    "Feature",
    "Features",
    "Floats",
    "Frame",
    "FrameRequest",
    "Group",
    "Indices",
    "Json",
    "Judge",
    "Lock",
    "LookawayError",
    "Mask",
    "MaskTrack",
    "Metric",
    "MissingDevice",
    "MissingExtra",
    "NameClash",
    "NoEnvironment",
    "Outcome",
    "PairSelector",
    "Pairs",
    "Perceiver",
    "Pixels",
    "Problem",
    "Reason",
    "Rollout",
    "RunError",
    "Score",
    "Suite",
    "Table",
    "Target",
    "Timeline",
    "Trajectory",
    "Unit",
    "UnknownName",
    "Unmeasurable",
    "UnsafePath",
    "UserError",
    "VideoError",
    "Watch",
    "angles_degrees",
    "canonical_json",
    "describe",
    "digest",
]
