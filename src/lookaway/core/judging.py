"""What a judge is asked, and who is asked: everything here can move an answer, so it goes into locks and keys."""

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
    """How a judge chooses its words."""

    temperature: Annotated[float, "0 takes the likeliest word every time"] = 0.0
    top_p: Annotated[float, "share of the likeliest words that are drawn from"] = 1.0
    seed: Annotated[int | None, "of the draw; repeats count on from it; `None` sends none"] = 0
    max_tokens: Annotated[int, "length of an answer at most"] = 1024

    def __post_init__(self) -> None:
        if not (0 <= self.temperature < math.inf and 0 < self.top_p <= 1 and self.max_tokens > 0):
            raise ValueError(f"temperature >= 0, 0 < top_p <= 1 and max_tokens > 0 are expected, found {self}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeModel:
    """Which model answers, and how it is asked; where its server stands moves no number."""

    version: ClassVar[int] = 1
    """Raised whenever other words stand around a question: labels of frames, the schema in words, corrections."""

    backend: Annotated[str, "the name that the kind of judge is registered under"] = "server"
    model: Annotated[str, "the model asked for; empty where no judge is named"] = ""
    reported: Annotated[str, "the model that says it answered"] = ""
    wording: Annotated[Wording, "whether the server holds answers to their schema, or is told to in words"] = "schema"
    media: Annotated[Media, "how frames are sent: pictures, or one video"] = "png"
    sampling: Annotated[Sampling, "how it chooses its words"] = Sampling()
    repeats: Annotated[int, "how often each question is put"] = 1
    extra: Annotated[str, "more fields of every request, as JSON; `null` leaves one out that is sent else"] = "{}"

    def __post_init__(self) -> None:
        if self.repeats < 1:
            raise ValueError(f"a question is put at least once, found repeats {self.repeats}.")


@dataclass(frozen=True, slots=True)
class Picture:
    """A frame that a judge is shown."""

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
    """One question to a judge, as it is put."""

    judge: JudgeModel
    system: str
    instruction: str
    pictures: tuple[Picture, ...] = ()
    material: str = ""
    """Text of the dataset, marked as such."""
    schema: Mapping[str, Json] | None = None
    """What the answer must look like; `None` where its first word is all that counts."""
    token_choices: int = 0
    """How many likely words are wanted in place of each word of the answer, with their probabilities."""
    max_tokens: int | None = None
    """In place of what the sampling says."""
    repeat: int = 0
    corrections: tuple[tuple[str, str], ...] = ()
    """Answers that could not be read, each with what was said about it."""

    def shown(self) -> dict[str, Any]:
        """All that can move the answer, with hashes in place of pictures."""
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
        """A seed of its own for every repeat."""
        seed = self.judge.sampling.seed
        return None if seed is None else seed + self.repeat

    def key(self) -> str:
        """The same for the same question about the same frames to the same model."""
        return digest(self.shown())

    def corrected(self, answer: str, complaint: str) -> JudgeRequest:
        """The same question once more, after an answer that could not be read."""
        return replace(self, corrections=(*self.corrections, (answer, complaint)))
