"""Bases for extractors: defaults for what most of them share, and two short forms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from lookaway.core.cases import Rollout
from lookaway.core.compute import Compute
from lookaway.core.contracts import ComparedFrames, Extractor, LoadedExtractor, PythonEnvironment, Sampler
from lookaway.core.features import Feature, Features
from lookaway.core.frames import Frame, FrameRequest, Timeline
from lookaway.core.lock import Json
from lookaway.core.outcomes import Abstention

FrameFunction: TypeAlias = Callable[[Frame], Mapping[str, ArrayLike]]
"""From a frame to one row of each array."""


class _Default:
    """What instances have where a subclass declares no field of that name.

    A class does not have it: a dataclass would take it for the default of the field, which then could not be required.
    """

    def __init__(self, value: object) -> None:
        self._value = value

    def __get__(self, instance: object | None, owner: type) -> object:
        if instance is None:
            raise AttributeError(f"{owner.__name__} has it only as an instance")
        return self._value


_DefaultOf: Any = _Default
"""Typed as any value, so that what is declared has the type of the value."""


class ExtractorBase(ABC):
    """A base for frozen dataclasses that are an `Extractor`: give a `name`, `arrays`, `load`, and what differs.

    Fields of the dataclass are all that can change the feature, and go into the lock. What is declared here goes into
    the lock only where a subclass makes it a field of its own.
    """

    __slots__ = ()

    name: ClassVar[str]
    """The name it is registered under."""
    version: ClassVar[int] = 1
    """Raised whenever the same fields would give other numbers."""
    constants: ClassVar[tuple[str, ...]] = ()
    """Numbers of a formula that it shares with others, as `module:NAME`: the lock holds them beside its fields."""
    seconds_per_frame: ClassVar[float] = 0.01
    """Rough cost on one core at 480p, for plans made before anything was measured."""
    bytes_per_frame: ClassVar[float] = 100.0
    """Rough size of what is stored for each requested frame, for plans."""
    usual_frames: ClassVar[int] = 0
    """How many frames of a video it usually requests, where that depends on other features; for plans."""
    arrays: ClassVar[Mapping[str, str]]
    """What the feature holds: type, axes and meaning of each array, as in `float32 [frames, 3]: mean colours`."""
    frames: Sampler | None = _DefaultOf(None)
    """Which frames it requests, where that is known before anything is loaded; plans are made from it."""
    compared: ComparedFrames | None = _DefaultOf(None)
    """Which pairs of frames it requests, for one that compares frames."""
    weights: object | None = _DefaultOf(None)
    """The weights of its network; a plan does not load an extractor that has some."""
    compute: Compute | None = _DefaultOf(None)
    """Where its network runs, and how precisely; `--device` and `--precision` change it."""
    device: str = _DefaultOf("")
    """Where its network runs, for one without `compute`; empty where nothing runs on a device of its own."""
    environment: PythonEnvironment | None = _DefaultOf(None)
    """The environment that it runs in, where that is not the one of this package."""
    of_video: ClassVar[bool] = False
    """Whether it looks at the video alone, and at no case: its feature then serves every case of that video."""
    of_reference: ClassVar[bool] = False
    """Whether it looks at the reference video alone; `--use` never swaps such a recipe with one of the other kind."""

    @property
    def software(self) -> tuple[str, ...]:
        """Distributions whose version can change the feature; they go into the lock. By default none."""
        return ()

    @property
    def needs(self) -> Mapping[str, Extractor]:
        """Recipes of the features that this one is made from; by default none."""
        return {}

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Why this rollout cannot have the feature, as far as can be told without opening a video; by default not."""
        return None

    @abstractmethod
    def load(self) -> LoadedExtractor:
        """The heavy part, once per worker."""


class SampledExtractor(ExtractorBase):
    """An extractor that requests the frames that `frames` or `compared` choose; without either, all."""

    __slots__ = ()

    height: int | None = _DefaultOf(None)
    """Height of the requested frames; `None` keeps the video's."""

    def request(self, timeline: Timeline, rollout: Rollout) -> FrameRequest:
        """The frames of a rollout; or an `Unmeasurable`."""
        if self.compared is not None:
            partners = self.compared.partners(timeline, rollout)
            return FrameRequest(frozenset(partners.indices), self.height, partners)
        indices = range(timeline.frame_count) if self.frames is None else self.frames.indices(timeline, rollout)
        return FrameRequest(frozenset(indices), self.height)


class FrameExtractor(SampledExtractor):
    """An extractor that turns each frame into one row of every array, from that frame and its partner alone.

    Where `arrays` names `frame_indices`, they are added.

    >>> @dataclass(frozen=True, slots=True)
    ... class Brightness(FrameExtractor):
    ...     name = "brightness"
    ...     arrays = {"mean": "float64 [frames]: mean of all channels"}
    ...     height: int = 120
    ...
    ...     def extract(self, frame):
    ...         return {"mean": frame.pixels.mean()}
    """

    __slots__ = ()

    def extract(self, frame: Frame) -> Mapping[str, ArrayLike]:
        """One row of each array."""
        raise NotImplementedError(f"{type(self).__name__} must have `extract` or `load_function`.")

    def load_function(self) -> FrameFunction:
        """What is called with each frame; override it, instead of `extract`, to load something once per worker."""
        return self.extract

    def detail(self, timeline: Timeline) -> Mapping[str, Json]:
        """Facts that are stored with the feature; by default none."""
        return {}

    def load(self) -> LoadedFrameExtractor:
        """Load the function."""
        return LoadedFrameExtractor(self, self.load_function())


@dataclass(frozen=True, slots=True)
class LoadedFrameExtractor:
    """A frame extractor with its function loaded."""

    recipe: FrameExtractor
    function: FrameFunction

    def start(self, rollout: Rollout, timeline: Timeline, features: Features) -> FrameExtraction:
        """Start on one rollout."""
        request, detail = self.recipe.request(timeline, rollout), self.recipe.detail(timeline)
        return FrameExtraction(self.function, tuple(self.recipe.arrays), request, detail)


@dataclass(frozen=True, slots=True)
class FrameExtraction:
    """Stacks the rows of one rollout."""

    function: FrameFunction
    arrays: tuple[str, ...]
    request: FrameRequest
    detail: Mapping[str, Json]
    _rows: list[Mapping[str, ArrayLike]] = field(default_factory=list)

    def add_frame(self, frame: Frame) -> None:
        """Extract the rows of one frame."""
        self._rows.append({"frame_indices": frame.index, **self.function(frame)})

    def finish(self) -> Feature:
        """All arrays, in the order in which the recipe names them."""
        return Feature({name: np.array([row[name] for row in self._rows]) for name in self.arrays}, self.detail)


class FramelessExtractor(ExtractorBase):
    """An extractor that reads files or other features and requests no frames."""

    __slots__ = ()

    @abstractmethod
    def read(self, rollout: Rollout, timeline: Timeline, features: Features) -> Feature:
        """The feature of one rollout; or an `Unmeasurable`."""

    def load(self) -> FramelessExtractor:
        """Nothing to load."""
        return self

    def start(self, rollout: Rollout, timeline: Timeline, features: Features) -> FramelessExtraction:
        """Start on one rollout."""
        return FramelessExtraction(lambda: self.read(rollout, timeline, features))


@dataclass(frozen=True, slots=True)
class FramelessExtraction:
    """Makes a feature without frames."""

    read: Callable[[], Feature]
    request: ClassVar[FrameRequest | None] = None

    def add_frame(self, frame: Frame) -> None:
        """No frame is requested."""
        raise NotImplementedError("no frame was requested")

    def finish(self) -> Feature:
        """The feature."""
        return self.read()
