"""What goes over the wire in version 1: the options of a request, its answer, and errors of one shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from lookaway.core import Abstention, Failure, Outcome, Reason, Score, Unit
from lookaway.engine.scorer import VideoScores
from lookaway.io.limits import MIB
from lookaway.training.reward import RewardValue

VERSION: Final = "v1"
SCORE_PATH: Final = f"/{VERSION}/score"
INFO_PATH: Final = f"/{VERSION}/info"
SCHEMA_PATH: Final = f"/{VERSION}/openapi.json"
REQUEST_ID: Final = "Idempotency-Key"
"""Header that names a request: sent again, it gets the answer that it already has."""
TOKEN_VARIABLE: Final = "LOOKAWAY_TOKEN"  # noqa: S105 - the name of a variable
ID_PATTERN: Final = r"[A-Za-z0-9._-]{1,64}"
NPY, SAFETENSORS = "application/x-npy", "application/x-safetensors"
FRAMES, OPTIONS = "frames", "options"
GIVEN_PATHS: Final = ("poses", "requested", "intrinsics")
MAX_FPS: Final = 1000.0
MAX_TEXT: Final = 10_000
"""Characters of a prompt or an action."""
MAX_PROMPTS: Final = 256

Number = Annotated[float, Field(allow_inf_nan=False)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingLimits:
    """What a server accepts; whatever exceeds one is refused with a reason."""

    requests: int = 64
    """Requests that are taken and not yet answered."""
    body_bytes: int = 256 * MIB
    frames: int = 1024
    pixels: int = 3840 * 2160
    """Pixels of a frame."""
    body_seconds: float = 60.0
    """Time to send a request."""
    answer_seconds: float = 300.0
    """Time to answer it, from its last byte."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class ScoreOptions(_Record):
    """The part `options` of a request, as JSON; every field may be left out."""

    fps: Annotated[float, Field(gt=0, le=MAX_FPS, allow_inf_nan=False)] = 16.0
    prompt: Annotated[tuple[Annotated[str, Field(max_length=MAX_TEXT)], ...], Field(max_length=MAX_PROMPTS)] = ()
    action: Annotated[str, Field(max_length=MAX_TEXT)] | None = None
    metrics: Annotated[tuple[str, ...], Field(max_length=1024)] | None = None
    """Metrics to answer with, of those that the server measures; by default all."""


class UnitRecord(_Record):
    """One part of a measurement: a frame pair, a track, a segment."""

    name: str
    outcome: ScoreRecord | AbstentionRecord = Field(discriminator="status")


class ScoreRecord(_Record):
    """A finite measurement."""

    status: Literal["score"] = "score"
    value: Number
    raw: Number | None = None
    units: tuple[UnitRecord, ...] = ()
    detail: dict[str, JsonValue] = {}


class AbstentionRecord(_Record):
    """There is no score, for a typed reason."""

    status: Literal["abstention"] = "abstention"
    reason: Reason
    message: str
    units: tuple[UnitRecord, ...] = ()
    detail: dict[str, JsonValue] = {}


class FailureRecord(_Record):
    """The measurement crashed. The traceback stays on the server."""

    status: Literal["failure"] = "failure"
    error: str
    message: str


OutcomeRecord = Annotated[ScoreRecord | AbstentionRecord | FailureRecord, Field(discriminator="status")]


class RewardRecord(_Record):
    """What the video earns, where the server has a reward."""

    value: Number | None
    """`null` where the video is masked."""
    is_measured: bool
    why_not: str
    parts: dict[str, Number]


class ScoreResponse(_Record):
    """What was measured on one video."""

    id: str
    """The request that this answers."""
    outcomes: dict[str, OutcomeRecord]
    is_tested: bool | None
    """Whether the camera looked away and came back; `null` where that could not be told, or nothing asks for it."""
    untested: tuple[str, ...]
    """Metrics whose score says nothing, because memory was not tested."""
    seconds: Number
    """Time of the measurement."""
    reward: RewardRecord | None = None


ErrorCode = Literal[
    "bad_request", "unauthorised", "not_found", "slow_body", "conflict", "too_large", "unsupported_type",
    "invalid_clip", "invalid_options", "unknown_metric", "too_many_requests", "failed", "replica_died", "stopping",
    "timeout",
]  # fmt: skip


class ErrorResponse(_Record):
    """Why a request was not answered with a measurement."""

    error: ErrorCode
    message: str
    """What was found, what was expected, what to do."""
    id: str | None = None


class ServerInfo(_Record):
    """What a server measures, and what it accepts."""

    lookaway: str
    """Version of the package."""
    metrics: tuple[str, ...]
    has_reward: bool
    replicas: int
    """0: in the process of the server."""
    limits: dict[str, float]


class HealthReport(_Record):
    """Whether a server takes requests."""

    status: Literal["ok", "stopping"]
    waiting: int
    """Requests that are taken and not yet answered."""


class Refused(Exception):
    """A request is answered with an error; nothing is wrong with the server."""

    def __init__(self, status: int, code: ErrorCode, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.retry_after = status, code, retry_after

    def __reduce__(self) -> tuple[Any, ...]:
        return _refused, (self.status, self.code, str(self), self.retry_after)


def _refused(status: int, code: ErrorCode, message: str, retry_after: float | None) -> Refused:
    return Refused(status, code, message, retry_after=retry_after)


def as_response(request: str, scores: VideoScores, reward: RewardValue | None = None) -> ScoreResponse:
    """The answer to a request."""
    return ScoreResponse(
        id=request,
        outcomes={name: _record(outcome) for name, outcome in scores.outcomes.items()},
        is_tested=scores.is_tested,
        untested=tuple(sorted(scores.untested)),
        seconds=scores.seconds,
        reward=None
        if reward is None
        else RewardRecord(
            value=reward.value, is_measured=reward.is_measured, why_not=reward.why_not, parts=dict(reward.parts)
        ),
    )


def as_scores(response: ScoreResponse) -> VideoScores:
    """The scores of an answer, as `Scorer` returns them."""
    return VideoScores(
        outcomes={name: _outcome(record) for name, record in response.outcomes.items()},
        is_tested=response.is_tested,
        untested=frozenset(response.untested),
        seconds=response.seconds,
    )


def as_reward(response: ScoreResponse) -> RewardValue | None:
    """The reward of an answer, as `Reward` returns it; `None` where the server has no reward."""
    found = response.reward
    if found is None:
        return None
    return RewardValue(
        value=found.value,
        is_measured=found.is_measured,
        why_not=found.why_not,
        parts=found.parts,
        scores=as_scores(response),
    )


def _record(outcome: Outcome) -> ScoreRecord | AbstentionRecord | FailureRecord:
    if isinstance(outcome, Failure):
        return FailureRecord(error=outcome.error, message=outcome.message)
    units = tuple(_unit(unit) for unit in outcome.units)
    detail = _plain(outcome.detail)
    if isinstance(outcome, Abstention):
        return AbstentionRecord(reason=outcome.reason, message=outcome.message, units=units, detail=detail)
    return ScoreRecord(value=outcome.value, raw=outcome.raw, units=units, detail=detail)


def _unit(unit: Unit) -> UnitRecord:
    found = _record(unit.outcome)
    assert not isinstance(found, FailureRecord)  # noqa: S101 - by the type of a unit
    return UnitRecord(name=unit.name, outcome=found)


def _plain(detail: Mapping[str, Any]) -> dict[str, JsonValue]:
    return {name: _plain_value(value) for name, value in detail.items()}


def _plain_value(value: Any) -> JsonValue:
    """Lists where Python has tuples, as JSON has nothing else."""
    if isinstance(value, Mapping):
        return {str(key): _plain_value(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain_value(entry) for entry in value]
    found: JsonValue = value.item() if hasattr(value, "item") else value
    return found


def _outcome(record: ScoreRecord | AbstentionRecord | FailureRecord) -> Outcome:
    if isinstance(record, FailureRecord):
        return Failure(record.error, record.message)
    units = tuple(Unit(unit.name, _measured(unit.outcome)) for unit in record.units)
    if isinstance(record, AbstentionRecord):
        return Abstention(record.reason, record.message, units, record.detail)
    return Score(record.value, record.raw, units, record.detail)


def _measured(record: ScoreRecord | AbstentionRecord) -> Score | Abstention:
    found = _outcome(record)
    assert not isinstance(found, Failure)  # noqa: S101 - by the type of a record
    return found
