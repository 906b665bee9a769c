"""Extracts the features of one rollout: its video is decoded once for all extractors that need frames."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import TypeAlias

from lookaway.core import (
    BudgetSpent,
    Case,
    Extraction,
    Extractor,
    Feature,
    Features,
    Frame,
    FrameRequest,
    JudgeExtractor,
    JudgeHandle,
    JudgeUnusable,
    LoadedExtractor,
    MissingDevice,
    MissingExtra,
    NoEnvironment,
    Pending,
    Rollout,
    RunError,
    ServiceClients,
    Timeline,
    Unmeasurable,
)
from lookaway.engine.locking import is_of_video, recipe_key, video_key
from lookaway.engine.networks import RemoteExtractor, RemoteFeature, service_name
from lookaway.engine.timings import (
    ACTIVITY,
    ASKING,
    DECODING,
    READING,
    SENDING,
    WAITING,
    WRITING,
    StageTiming,
    StageTimings,
    stage_of,
)
from lookaway.io.array_frames import ArrayFrames
from lookaway.io.partner_frames import PartnerFrames
from lookaway.io.video import Video
from lookaway.store.feature_store import FeatureStore

Perceived: TypeAlias = Feature | Exception
"""A feature, or why there is none."""
ENDS_THE_RUN = (BudgetSpent, CancelledError, JudgeUnusable, MissingDevice, MissingExtra, NoEnvironment, RunError)
"""Errors of the machine or of the judge itself, which say nothing about a rollout."""
NO_CASE = Case(id="video", subset="", scene="")


@dataclass(slots=True)
class Extractors:
    """Extractors, each loaded once at its first use, and the store of their features."""

    store: FeatureStore | None
    judge: JudgeHandle | None = None
    """For extractors that need a judge."""
    remote: ServiceClients = field(default_factory=dict)
    """Clients of the extractors that run in other processes, by name."""
    uncounted: Callable[[], AbstractContextManager[object]] = nullcontext
    """Entered while a network is loaded or others are waited for: time that is not the rollout's own."""
    _loaded: dict[str, LoadedExtractor | Unmeasurable] = field(default_factory=dict)
    _keys: dict[Extractor, str] = field(default_factory=dict)
    _of_video: dict[Extractor, bool] = field(default_factory=dict)

    def load(self, recipe: Extractor) -> LoadedExtractor:
        """The loaded extractor of a recipe; a failure to load is remembered too."""
        key = self.key(recipe)
        if key not in self._loaded:
            try:
                self._loaded[key] = self._load(recipe)
            except Unmeasurable as error:
                self._loaded[key] = error
        loaded = self._loaded[key]
        if isinstance(loaded, Unmeasurable):
            raise loaded
        return loaded

    def _load(self, recipe: Extractor) -> LoadedExtractor:
        if (client := self.remote.get(service_name(recipe))) is not None:
            return RemoteExtractor(client, recipe)
        if not isinstance(recipe, JudgeExtractor):
            return recipe.load()
        if self.judge is None:
            raise JudgeUnusable(f"{recipe.name} needs the judge {recipe.judge.model!r}, but no judge client was given.")
        return recipe.load_with(self.judge)

    def key(self, recipe: Extractor) -> str:
        """The key of a recipe, computed once."""
        if recipe not in self._keys:
            self._keys[recipe] = recipe_key(recipe)
        return self._keys[recipe]

    def stored(self, content: str, recipe: Extractor) -> Feature | None:
        """The stored feature, if there is one."""
        return self.store.get(self._place(content, recipe), self.key(recipe)) if self.store else None

    def is_remote(self, recipe: Extractor) -> bool:
        """Whether the network of a recipe runs in another process."""
        return service_name(recipe) in self.remote

    def put(self, content: str, recipe: Extractor, feature: Feature) -> int:
        """Store a feature; returns the number of bytes."""
        return self.store.put(self._place(content, recipe), self.key(recipe), feature) if self.store else 0

    def subject(self, rollout: Rollout, recipe: Extractor) -> Rollout:
        """What an extractor is given: a rollout without its case, where the feature is to serve every case."""
        return Rollout(case=NO_CASE, model="", video=rollout.video) if self._is_of_video(recipe) else rollout

    def _place(self, content: str, recipe: Extractor) -> str:
        return video_key(content) if self._is_of_video(recipe) else content

    def _is_of_video(self, recipe: Extractor) -> bool:
        if recipe not in self._of_video:
            self._of_video[recipe] = is_of_video(recipe)
        return self._of_video[recipe]


@dataclass(slots=True)
class FeatureJob:
    """All features of one rollout: stored ones are read, the others share one pass over the video.

    Features from outside this process, such as those of a judge, are waited for last.
    """

    extractors: Extractors
    rollout: Rollout
    content: str
    wanted: Iterable[Extractor]
    decoded_frames: int = 0
    is_dry_run: bool = False
    frames: ArrayFrames | None = None
    """The frames, where they are in memory and not in the rollout's file."""
    idle: Callable[[], AbstractContextManager[object]] = nullcontext
    """Entered while a feature from outside this process is waited for that another one needs."""
    timeline: Timeline | None = None
    """Timeline of the video, once it is open."""
    perceived: dict[Extractor, Perceived] = field(default_factory=dict)
    timings: StageTimings = field(default_factory=StageTimings)
    _extractions: dict[Extractor, Extraction] = field(default_factory=dict)
    _requests: dict[Extractor, FrameRequest | None] = field(default_factory=dict)
    _pending: dict[Extractor, Pending] = field(default_factory=dict)

    def run(self) -> dict[Extractor, Perceived]:
        """Every wanted feature, or why there is none."""
        self.extract()
        return self.wait()

    def extract(self) -> None:
        """Do everything that this process does itself: decode, extract, send questions."""
        missing = self._restore()
        if not missing:
            return
        try:
            with self._opened() as video:
                try:
                    while missing:
                        missing = self._round(video, missing)
                finally:
                    self.decoded_frames += video.decoded_pictures
                    self._note_decoding(video.timeline)
        except ENDS_THE_RUN:
            raise
        except Exception as error:  # noqa: BLE001 - a video that cannot be opened is a finding, not the end of the run
            self.perceived.update((recipe, error) for recipe in missing if recipe not in self.perceived)

    def _opened(self) -> Video:
        with self.timings.timed(DECODING):
            video = Video(self.frames or self.rollout.video)
        self.timeline = video.timeline
        return video

    def _note_decoding(self, timeline: Timeline) -> None:
        decoding = self.timings.of(DECODING)
        decoding.rollouts += 1
        decoding.frames += self.decoded_frames
        decoding.pixels += self.decoded_frames * timeline.width * timeline.height

    def wait(self) -> dict[Extractor, Perceived]:
        """Wait for features from outside this process; returns every wanted feature, or why there is none."""
        for recipe, pending in self._pending.items():
            if isinstance(pending, RemoteFeature):
                self._store(recipe, WAITING, pending.result)
                self.timings.of(stage_of(recipe)).add(_remote_stage(pending))
            else:
                self._store(recipe, ASKING, pending.result)
        self._pending.clear()
        return self.perceived

    def dry_run(self) -> dict[Extractor, FrameRequest | None]:
        """The frames that would be requested: everything but loading networks, decoding and extracting.

        Extractors that only read files request `None`.
        """
        self.is_dry_run = True
        missing = self._restore()
        if missing:
            with self._opened() as video:
                while readers := self._start_all(video.timeline, missing):
                    for recipe in readers:
                        self._finish(recipe)
                self._add_planned_requests(video.timeline, missing)
        return self._requests

    def _add_planned_requests(self, timeline: Timeline, missing: Sequence[Extractor]) -> None:
        """Add the requests of extractors that need the feature of a network, if they declare their frames."""
        for recipe in missing:
            if recipe not in self._requests and recipe not in self.perceived:
                with suppress(Unmeasurable):
                    if recipe.declines(self.rollout) is None and (request := self._planned_frames(recipe, timeline)):
                        self._requests[recipe] = request

    def _planned_frames(self, recipe: Extractor, timeline: Timeline) -> FrameRequest | None:
        if recipe.frames is not None:
            return FrameRequest(frozenset(recipe.frames.indices(timeline, self.rollout)))
        if recipe.compared is not None:
            partners = recipe.compared.partners(timeline, self.rollout)
            return FrameRequest(frozenset(partners.indices), None, partners)
        if recipe.usual_frames:
            count = min(recipe.usual_frames, timeline.frame_count)
            return FrameRequest(frozenset(step * timeline.frame_count // count - 1 for step in range(1, count + 1)))
        return None

    def _restore(self) -> list[Extractor]:
        """Read stored features; returns the recipes without one."""
        ordered = [recipe for recipe in with_needs(self.wanted) if recipe not in self.perceived]
        with self.timings.timed(READING) as reading:
            found = {recipe: self.extractors.stored(self.content, recipe) for recipe in ordered}
            reading.rollouts += 1
        self.perceived.update((recipe, feature) for recipe, feature in found.items() if feature is not None)
        for recipe in self.perceived:
            self.timings.of(stage_of(recipe)).kept += 1
        return [recipe for recipe in ordered if recipe not in self.perceived]

    def _round(self, video: Video, missing: Sequence[Extractor]) -> list[Extractor]:
        """Run every extractor that only reads files; if none is left, all others share one pass over the frames."""
        finishing = self._start_all(video.timeline, missing)
        if not finishing:
            finishing = self._unfinished()
            is_another_pass_to_come = any(
                recipe not in self.perceived and recipe not in self._extractions for recipe in missing
            )
            self._add_frames(video, finishing, keep=is_another_pass_to_come)
        for recipe in finishing:
            self._finish(recipe)
        missing = [recipe for recipe in missing if recipe not in self.perceived]
        if any(need in self._pending for recipe in missing for need in recipe.needs.values()):
            with self.idle():
                self.wait()
        return [recipe for recipe in missing if recipe not in self.perceived and recipe not in self._pending]

    def _start_all(self, timeline: Timeline, missing: Sequence[Extractor]) -> list[Extractor]:
        """Start every recipe whose needs are there; returns those that only read files."""
        for recipe in missing:
            is_new = recipe not in self._extractions and recipe not in self.perceived
            if is_new and all(need in self.perceived for need in recipe.needs.values()):
                self._start(recipe, timeline)
        return [recipe for recipe in self._unfinished() if self._requests[recipe] is None]

    def _unfinished(self) -> list[Extractor]:
        return [recipe for recipe in self._extractions if recipe not in self.perceived and recipe not in self._pending]

    def _start(self, recipe: Extractor, timeline: Timeline) -> None:
        needs = {name: self.perceived[need] for name, need in recipe.needs.items()}
        for problem in needs.values():
            if isinstance(problem, Exception):
                self.perceived[recipe] = problem
                return
        features = {name: feature for name, feature in needs.items() if isinstance(feature, Feature)}
        try:
            subject = self.extractors.subject(self.rollout, recipe)
            if (declined := recipe.declines(subject)) is not None:
                raise Unmeasurable(declined.reason, declined.message)
            extraction = self._start_extraction(recipe, subject, timeline, features)
            self._requests[recipe] = _checked(extraction.request, timeline.frame_count)
            self._extractions[recipe] = extraction
            self.timings.of(stage_of(recipe)).rollouts += 1
        except ENDS_THE_RUN:
            raise
        except Exception as error:  # noqa: BLE001 - one feature less, not the end of the run
            self.perceived[recipe] = error

    def _start_extraction(
        self, recipe: Extractor, subject: Rollout, timeline: Timeline, features: Features
    ) -> Extraction:
        is_heavy = recipe.weights is not None or isinstance(recipe, JudgeExtractor)
        if self.is_dry_run and is_heavy and (request := self._planned_frames(recipe, timeline)) is not None:
            return _DryExtraction(request)
        started = time.perf_counter()
        with self.extractors.uncounted():
            loaded = self.extractors.load(recipe)
        self.timings.of(stage_of(recipe)).loading_seconds += time.perf_counter() - started
        with self.timings.timed(WAITING if self.extractors.is_remote(recipe) else stage_of(recipe)):
            return loaded.start(subject, timeline, features)

    def _own_stage(self, recipe: Extractor) -> str:
        """The stage of this process's own work for a recipe: sending frames if the network is remote."""
        return SENDING if self.extractors.is_remote(recipe) else stage_of(recipe)

    def _add_frames(self, video: Video, recipes: Sequence[Extractor], *, keep: bool) -> None:
        requests = [request for recipe in recipes if (request := self._requests[recipe]) is not None]
        if not requests:
            return
        timings = [StageTiming() for _ in recipes]
        ACTIVITY.begin(self.rollout.id, sum(len(request.indices) for request in requests))
        try:
            with PartnerFrames(requests) as partners, self.timings.timed(DECODING):
                for position, frame in video.frames(requests, keep=keep):
                    ACTIVITY.frames += 1
                    recipe = recipes[position]
                    if recipe in self.perceived:
                        continue
                    try:
                        joined = partners.join(requests[position], frame)
                        with timings[position].timed() as stage:
                            stage.frames += 1
                            self._extractions[recipe].add_frame(joined)
                    except ENDS_THE_RUN:
                        raise
                    except Exception as error:  # noqa: BLE001 - one feature less, not the end of the run
                        self.perceived[recipe] = error
                self.decoded_frames += partners.decoded_pictures
        finally:
            for recipe, stage in zip(recipes, timings, strict=True):
                self._move_from_decoding(recipe, stage)

    def _move_from_decoding(self, recipe: Extractor, stage: StageTiming) -> None:
        """Subtract the work of an extractor from the decoding time that contains it."""
        decoding, own = self.timings.of(DECODING), self.timings.of(self._own_stage(recipe))
        decoding.seconds -= stage.seconds
        decoding.cpu_seconds -= stage.cpu_seconds
        own.seconds += stage.seconds
        own.cpu_seconds += stage.cpu_seconds
        self.timings.of(stage_of(recipe)).frames += stage.frames

    def _finish(self, recipe: Extractor) -> None:
        if recipe not in self.perceived:
            self._store(recipe, self._own_stage(recipe), self._extractions[recipe].finish)

    def _store(self, recipe: Extractor, stage: str, extract: Callable[[], Feature | Pending]) -> None:
        """Store a feature, or remember it as pending."""
        try:
            ACTIVITY.stage = stage
            with self.timings.timed(stage):
                feature = extract()
            if isinstance(feature, Pending):
                self._pending[recipe] = feature
                return
            if not isinstance(feature, Feature):
                raise TypeError(f"{recipe.name} must return a Feature, found {feature!r:.80}.")
            with self.timings.timed(WRITING):
                stored_bytes = self.extractors.put(self.content, recipe, feature)
            self.timings.of(stage_of(recipe)).stored_bytes += stored_bytes
            self.perceived[recipe] = feature
        except ENDS_THE_RUN:
            raise
        except Exception as error:  # noqa: BLE001 - one feature less, not the end of the run
            self.perceived[recipe] = error


@dataclass(frozen=True, slots=True)
class _DryExtraction:
    """Replaces the extraction of a network or a judge in a dry run."""

    request: FrameRequest

    def add_frame(self, frame: Frame) -> None:
        raise NotImplementedError("a dry run decodes no frames")

    def finish(self) -> Feature:
        raise NotImplementedError("a dry run extracts no features")


def _remote_stage(feature: RemoteFeature) -> StageTiming:
    """The timing of a network in a process with its own core."""
    return StageTiming(seconds=feature.seconds, cpu_seconds=feature.seconds, loading_seconds=feature.loading_seconds)


def with_needs(recipes: Iterable[Extractor]) -> list[Extractor]:
    """Recipes and everything they need, each once, needs first."""
    ordered: dict[Extractor, None] = {}
    for recipe in recipes:
        if recipe not in ordered:
            ordered.update(dict.fromkeys(with_needs(recipe.needs.values())))
            ordered[recipe] = None
    return list(ordered)


def _checked(request: FrameRequest | None, frame_count: int) -> FrameRequest | None:
    """Refuse a request that cannot be met, so that it does not spoil the pass for other extractors."""
    if request is not None and request.indices and not 0 <= min(request.indices) <= max(request.indices) < frame_count:
        found = f"{min(request.indices)} to {max(request.indices)}"
        raise IndexError(f"frames {found} were requested, but the video has {frame_count}.")
    if request is not None and request.partners is not None and request.partners.indices.keys() != request.indices:
        raise ValueError("the frames with partners are not the requested frames.")
    return request
