"""Requests to a judge and the model that answers: everything here can change an answer, so it is in locks and keys."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from lookaway.core.features import Pixels
from lookaway.core.lock import Json, digest

Media: TypeAlias = Literal["png", "jpeg", "video"]
Wording: TypeAlias = Literal["schema", "text"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How a judge samples its tokens."""

    temperature: Annotated[float, "0 always takes the most likely token"] = 0.0
    top_p: Annotated[float, "probability mass of the most likely tokens to sample from"] = 1.0
    seed: Annotated[int | None, "random seed; each repeat adds 1; `None` sends none"] = 0
    max_tokens: Annotated[int, "maximum length of an answer"] = 1024

    def __post_init__(self) -> None:
        if not (0 <= self.temperature < math.inf and 0 < self.top_p <= 1 and self.max_tokens > 0):
            raise ValueError(f"expected temperature >= 0, 0 < top_p <= 1 and max_tokens > 0, found {self}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeModel:
    """Which model answers, and how it is asked; the address of its server moves no number."""

    version: ClassVar[int] = 1
    """Raised whenever the text around a question changes: frame labels, the schema as text, corrections."""

    backend: Annotated[str, "the registered name of the judge backend"] = "server"
    model: Annotated[str, "the requested model; empty without a judge"] = ""
    reported: Annotated[str, "the model that replies name"] = ""
    wording: Annotated[Wording, "whether the server enforces the JSON schema, or the prompt has it as text"] = "schema"
    media: Annotated[Media, "how frames are sent: as pictures, or as one video"] = "png"
    sampling: Annotated[Sampling, "how it samples its tokens"] = Sampling()
    repeats: Annotated[int, "how often each question is asked"] = 1
    extra: Annotated[str, "extra fields of every request, as JSON; `null` removes a default field"] = "{}"

    def __post_init__(self) -> None:
        if self.repeats < 1:
            raise ValueError(f"repeats must be at least 1, found {self.repeats}.")


@dataclass(frozen=True, slots=True)
class Picture:
    """A frame shown to a judge."""

    index: int
    time_seconds: float
    pixels: Pixels
    sha256: str = field(init=False)

    def __post_init__(self) -> None:
        hasher = hashlib.sha256(repr(self.pixels.shape).encode())
        hasher.update(self.pixels.tobytes())
        object.__setattr__(self, "sha256", hasher.hexdigest())


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeRequest:
    """One question to a judge, with everything that it is sent."""

    judge: JudgeModel
    system: str
    instruction: str
    pictures: tuple[Picture, ...] = ()
    material: str = ""
    """Text of the dataset, quoted as such."""
    schema: Mapping[str, Json] | None = None
    """JSON schema of the answer; `None` if only its first token counts."""
    token_choices: int = 0
    """How many alternatives with log-probabilities are requested for each token of the answer."""
    max_tokens: int | None = None
    """Overrides the maximum of the sampling."""
    repeat: int = 0
    corrections: tuple[tuple[str, str], ...] = ()
    """Answers that could not be read, each with the complaint sent back."""

    def to_json(self) -> dict[str, Any]:
        """Everything that can change the answer, with hashes instead of pictures."""
        return {
            "judge": {
                "version": self.judge.version,
                "backend": self.judge.backend,
                "model": self.judge.model,
                "wording": self.judge.wording,
                "media": self.judge.media,
                "extra": self.judge.extra,
            },
            "sampling": {
                "temperature": self.judge.sampling.temperature,
                "top_p": self.judge.sampling.top_p,
                "seed": self.seed,
                "max_tokens": self.max_tokens or self.judge.sampling.max_tokens,
            },
            "system": self.system,
            "instruction": self.instruction,
            "pictures": [
                {"index": picture.index, "time_seconds": picture.time_seconds, "sha256": picture.sha256}
                for picture in self.pictures
            ],
            "material": self.material,
            "schema": self.schema,
            "token_choices": self.token_choices,
            "repeat": self.repeat,
            "corrections": [list(correction) for correction in self.corrections],
        }

    @property
    def seed(self) -> int | None:
        """The seed of this repeat."""
        seed = self.judge.sampling.seed
        return None if seed is None else seed + self.repeat

    def key(self) -> str:
        """Equal for the same question about the same frames to the same model."""
        return digest(self.to_json())

    def corrected(self, answer: str, complaint: str) -> JudgeRequest:
        """The same question again, after an answer that could not be read."""
        return replace(self, corrections=(*self.corrections, (answer, complaint)))
