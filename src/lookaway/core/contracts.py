"""The protocols between packages. A plugin is any object that fits one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, runtime_checkable

from lookaway.core.cases import Dataset, Rollout
from lookaway.core.compute import Compute
from lookaway.core.features import Feature, Features
from lookaway.core.frames import Frame, FrameRequest, Partners, Timeline
from lookaway.core.judging import JudgeModel, JudgeRequest
from lookaway.core.lock import Json
from lookaway.core.options import Option
from lookaway.core.outcomes import Abstention, Outcome
from lookaway.core.tables import Group, ProtocolName, Table

T = TypeVar("T")
R = TypeVar("R")


@runtime_checkable
class Pending(Protocol):
    """A feature that another process or service is still working on."""

    def result(self) -> Feature:
        """Wait for it; or an `Unmeasurable`."""
        ...


class Sampler(Protocol):
    """Chooses frames of a rollout's video: a frozen value, since it is part of the lock."""

    def indices(self, timeline: Timeline, rollout: Rollout) -> tuple[int, ...]:
        """Increasing frame indices, none twice; or an `Unmeasurable`."""
        ...


class ComparedFrames(Protocol):
    """Chooses frames and the frame that each is compared with: a frozen value, since it is part of the lock."""

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Why nothing can be compared, as far as can be told without opening a video."""
        ...

    def partners(self, timeline: Timeline, rollout: Rollout) -> Partners:
        """One pair or more; or an `Unmeasurable`."""
        ...


class PythonEnvironment(Protocol):
    """A Python environment that an extractor runs in: a frozen value, since it is part of the lock."""

    @property
    def python(self) -> str:
        """Its version of Python."""
        ...

    def entry_command(self) -> str:
        """The command that starts its Python, with this package importable."""
        ...


class Extraction(Protocol):
    """An extractor at work on one rollout: it requests frames, is given them in order, and makes a feature."""

    @property
    def request(self) -> FrameRequest | None:
        """The frames it needs; `None` when it needs none."""
        ...

    def add_frame(self, frame: Frame) -> None:
        """Take one of the requested frames. Called in order of frames, once for each."""
        ...

    def finish(self) -> Feature | Pending:
        """The feature, after the last frame; or an `Unmeasurable`."""
        ...


class LoadedExtractor(Protocol):
    """A loaded extractor, kept by a worker for all its rollouts."""

    def start(self, rollout: Rollout, timeline: Timeline, features: Features) -> Extraction:
        """Start on a rollout, given the features that the recipe needs; or an `Unmeasurable`."""
        ...


class Extractor(Protocol):
    """A recipe for a feature: a frozen dataclass whose fields are all that can change the feature.

    `ExtractorBase` has defaults for most of this.
    """

    @property
    def name(self) -> str:
        """The name it is registered under."""
        ...

    @property
    def version(self) -> int:
        """Raised whenever the same fields would give other numbers."""
        ...

    @property
    def software(self) -> tuple[str, ...]:
        """Distributions whose version can change the feature; they go into the lock."""
        ...

    @property
    def seconds_per_frame(self) -> float:
        """Rough cost on one core at 480p, for plans made before anything was measured."""
        ...

    @property
    def bytes_per_frame(self) -> float:
        """Rough size of what is stored for each requested frame, for plans."""
        ...

    @property
    def usual_frames(self) -> int:
        """How many frames of a video it usually requests, where that depends on other features; for plans."""
        ...

    @property
    def arrays(self) -> Mapping[str, str]:
        """What the feature holds: type, axes and meaning of each array, as in `float32 [frames, 3]: mean colours`."""
        ...

    @property
    def needs(self) -> Mapping[str, Extractor]:
        """Recipes of the features that this one is made from."""
        ...

    @property
    def frames(self) -> Sampler | None:
        """Which frames it requests, where that is known before anything is loaded; plans are made from it."""
        ...

    @property
    def compared(self) -> ComparedFrames | None:
        """Which pairs of frames it requests, for one that compares frames."""
        ...

    @property
    def weights(self) -> object | None:
        """The weights of its network; a plan does not load an extractor that has some."""
        ...

    @property
    def compute(self) -> Compute | None:
        """Where its network runs, and how precisely; `--device` and `--precision` change it."""
        ...

    @property
    def device(self) -> str:
        """Where its network runs, for one without `compute`; empty where nothing runs on a device of its own."""
        ...

    @property
    def environment(self) -> PythonEnvironment | None:
        """The environment that it runs in, where that is not the one of this package."""
        ...

    @property
    def of_video(self) -> bool:
        """Whether it looks at the video alone, and at no case: its feature then serves every case of that video."""
        ...

    @property
    def of_reference(self) -> bool:
        """Whether it looks at the reference video alone, not at the generated one."""
        ...

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Why this rollout cannot have the feature, as far as can be told without opening a video."""
        ...

    def load(self) -> LoadedExtractor:
        """The heavy part, once per worker."""
        ...


class Metric(Protocol):
    """Arithmetic from features to an outcome: a frozen dataclass that opens no file and loads no network.

    `MetricBase` has defaults for all but `name` and `measure`.
    """

    @property
    def name(self) -> str:
        """The name it is registered under."""
        ...

    @property
    def version(self) -> int:
        """Raised whenever the same fields would give other numbers."""
        ...

    @property
    def unit(self) -> str:
        """Unit of the value."""
        ...

    @property
    def raw_unit(self) -> str | None:
        """Unit of the raw value, if there is one."""
        ...

    @property
    def range(self) -> tuple[float | None, float | None]:
        """Least and greatest possible value; `None` where there is no limit."""
        ...

    @property
    def higher_is_better(self) -> bool:
        """Direction."""
        ...

    @property
    def needs(self) -> tuple[str, ...]:
        """Features without which it abstains."""
        ...

    @property
    def uses(self) -> tuple[str, ...]:
        """Features that it takes into account where they are available; `measure` abstains with the reason of one that
        is not, where it asks for it all the same."""
        ...

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Why this rollout cannot be measured, as far as its case tells."""
        ...

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundMetric:
    """A suite's public name for a metric with the suite's constants, recipes and subsets."""

    name: str
    metric: Metric
    recipes: Mapping[str, Extractor] = field(default_factory=dict)
    """The recipe of every feature that the metric needs or uses."""
    subsets: tuple[str, ...] | None = None
    """Subsets of the dataset that it applies to; `None` is all."""
    is_gate: bool = False
    """Whether it decides which rollouts count, rather than scoring them."""
    is_consistency: bool = False
    """Whether it compares what is shown before and after looking away: only rollouts that pass the gate count."""
    protocol: ProtocolName | None = None
    """Whether it is of the published protocol, of the corrected one, or the same in both; `None` where the suite has
    no publication to differ from. A gate without one decides nothing about published metrics."""
    source_sha256: str | None = None
    """Hash of the source of a metric that is not installed but was given as an object."""

    def is_of(self, protocol: ProtocolName) -> bool:
        """Whether it is measured where this protocol is asked for."""
        return self.protocol in (None, "both", protocol) or protocol == "both"

    def applies_to(self, rollout: Rollout) -> bool:
        """Whether the protocol has this metric for this rollout."""
        return self.subsets is None or rollout.case.subset in self.subsets


class Suite(Protocol):
    """A benchmark's protocol: its files, its metrics with its constants, its table."""

    @property
    def name(self) -> str:
        """The name it is registered under."""
        ...

    @property
    def version(self) -> int:
        """Raised whenever the same files would give other cases, rollouts or tables."""
        ...

    @property
    def title(self) -> str:
        """One line for lists."""
        ...

    @property
    def options(self) -> tuple[Option, ...]:
        """All that a user can choose; flags, `run.json`, lock and reports come from this list."""
        ...

    def recognises(self, root: Path) -> bool:
        """Whether the folder looks like a dataset of this suite; quick, so that no file is opened."""
        ...

    def read(self, root: Path, options: Mapping[str, Any]) -> Dataset:
        """All cases and rollouts under a root. `options` has a checked value for every option, and no other.

        The engine adds the options that move numbers to the settings of the dataset.
        """
        ...

    def metrics(self, settings: Mapping[str, Any]) -> tuple[BoundMetric, ...]:
        """The suite's metrics, for a dataset with these settings."""
        ...

    def table(self, groups: Sequence[Group]) -> Table:
        """The suite's table, from the values of each model, metric and subset."""
        ...


ServiceClient: TypeAlias = Callable[[Any], Future[Any]]
"""Where a worker hands in a request to a service, and gets the answer later."""
ServiceClients: TypeAlias = Mapping[str, ServiceClient]
"""By the name of the service."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """Something heavy that all workers share, such as a network or a judge; made once for each of its copies."""

    make: Callable[[], Callable[[Any], Any]]
    """Makes what answers requests; an answer may also be a `Future` of one."""
    copies: int = 1
    at_once: int | None = None
    """How many requests a copy holds at a time, where it answers with futures; `None` answers one after the other."""
    wants_gpu: bool = False
    python: str | None = None
    """Command that starts Python in an environment of its own."""


@dataclass(frozen=True, slots=True)
class GaveUp(Generic[T]):
    """An item that several workers died of, one after the other."""

    item: T
    workers: int
    """How many."""


@dataclass(frozen=True, slots=True)
class LastResult(Generic[R]):
    """A result after which its worker is replaced: a rollout that passed a limit still runs in it."""

    result: R


class Executor(Protocol):
    """Runs work over items; `make_worker` is called once per worker, to load its networks."""

    @property
    def name(self) -> str:
        """The name it is registered under."""
        ...

    @property
    def workers(self) -> int:
        """How many workers it makes."""
        ...

    @property
    def has_services(self) -> bool:
        """Whether workers can share a service; if not, none may be given, and every worker does all itself."""
        ...

    @property
    def can_end_workers(self) -> bool:
        """Whether a worker is a process of its own, which can be ended in the middle of its work."""
        ...

    @property
    def dashboard(self) -> str | None:
        """Address of a page that shows the workers, once they work."""
        ...

    @property
    def deaths(self) -> int:
        """How many workers died so far, and were replaced."""
        ...

    @property
    def retries(self) -> int:
        """How many items were handed out again so far, since the worker that held them died."""
        ...

    def map(
        self,
        make_worker: Callable[[ServiceClients], Callable[[T], R | LastResult[R]]],
        items: Iterable[T],
        *,
        at_once: int = 1,
        services: Mapping[str, Service] | None = None,
    ) -> Iterator[R | GaveUp[T]]:
        """Results in any order, as they are finished.

        After a `LastResult`, which only workers that can be ended give, the worker is ended and replaced, and other
        items that it holds are handed out again.
        A worker that mostly waits for others, such as a judge, is given `at_once` items at a time, each in a thread.
        Items are taken one by one, when there is a worker for them, so that whoever gives them can wait and see; more
        of them may come after a result, even after there was none left.
        """
        ...


class Judge(Protocol):
    """A vision-language model that can be asked."""

    async def reply(self, request: JudgeRequest) -> Json:
        """A chat completion, worded as the OpenAI protocol has it; or a `TransientError` or `PermanentError`."""
        ...

    async def close(self) -> None:
        """Give back what it holds."""
        ...


class JudgeHandle(Protocol):
    """Puts questions to a judge, patiently, and keeps what it answers."""

    def ask(self, request: JudgeRequest) -> Future[Json]:
        """A chat completion, from the kept replies where there is one; or an `Unmeasurable`."""
        ...


@runtime_checkable
class JudgeExtractor(Protocol):
    """An extractor whose feature is what a judge says."""

    @property
    def judge(self) -> JudgeModel:
        """Who is asked, and how."""
        ...

    def questions_per_rollout(self, rollout: Rollout) -> int:
        """How many questions it puts at most, repeats included."""
        ...

    def conditional_questions(self, rollout: Rollout) -> int:
        """How many of them depend on an earlier answer, such as that of a gate."""
        ...

    def load_with(self, asking: JudgeHandle) -> LoadedExtractor:
        """Get ready to ask."""
        ...
