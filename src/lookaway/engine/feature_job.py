"""Perceives the features of one rollout: its video is decoded once for all extractors that want frames."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeAlias

from lookaway.core import (
    BudgetSpent,
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
from lookaway.engine.locking import recipe_key
from lookaway.engine.networks import RemoteExtractor, RemoteFeature, service_name
from lookaway.engine.timings import ASKING, DECODING, READING, SENDING, WAITING, WRITING, Stage, StageTimings, stage_of
from lookaway.io.partner_frames import PartnerFrames
from lookaway.io.video import Video
from lookaway.store.feature_store import FeatureStore

Perceived: TypeAlias = Feature | Exception
"""A feature, or why there is none."""
ENDS_THE_RUN = (BudgetSpent, CancelledError, JudgeUnusable, MissingDevice, MissingExtra, NoEnvironment, RunError)
"""What is wrong with the machine, or with the judge as such, is no finding about a rollout."""


@dataclass(slots=True)
class Extractors:
    """Extractors, each loaded at its first use and then kept, and the store of what they perceived."""

    store: FeatureStore | None
    asking: JudgeHandle | None = None
    """For extractors that ask a judge."""
    elsewhere: ServiceClients = field(default_factory=dict)
    """Where extractors run that other processes hold, by name."""
    _loaded: dict[str, LoadedExtractor | Unmeasurable] = field(default_factory=dict)
    _keys: dict[Extractor, str] = field(default_factory=dict)

    def load(self, recipe: Extractor) -> LoadedExtractor:
        """The loaded extractor of a recipe; what kept it from loading is found out once, too."""
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
        if (client := self.elsewhere.get(service_name(recipe))) is not None:
            return RemoteExtractor(client, recipe)
        if not isinstance(recipe, JudgeExtractor):
            return recipe.load()
        if self.asking is None:
            raise JudgeUnusable(f"{recipe.name} asks the judge {recipe.judge.model!r}, but no way to it was given.")
        return recipe.load_with(self.asking)

    def key(self, recipe: Extractor) -> str:
        """The key of a recipe, computed once."""
        if recipe not in self._keys:
            self._keys[recipe] = recipe_key(recipe)
        return self._keys[recipe]

    def kept(self, content: str, recipe: Extractor) -> Feature | None:
        """What was perceived earlier, if it was kept."""
        return self.store.get(content, self.key(recipe)) if self.store else None

    def is_remote(self, recipe: Extractor) -> bool:
        """Whether another process holds the network of a recipe."""
        return service_name(recipe) in self.elsewhere

    def keep(self, content: str, recipe: Extractor, feature: Feature) -> int:
        """Keep what was perceived; returns how many bytes are kept."""
        return self.store.put(content, self.key(recipe), feature) if self.store else 0


@dataclass(slots=True)
class FeatureJob:
    """All features of one rollout: those on disk are read, the rest share one pass over the video.

    What somebody outside this process is asked, such as a judge, is waited for last.
    """

    extractors: Extractors
    rollout: Rollout
    content: str
    wanted: Iterable[Extractor]
    decoded_frames: int = 0
    is_rehearsal: bool = False
    timeline: Timeline | None = None
    """Of the video, once it is open."""
    perceived: dict[Extractor, Perceived] = field(default_factory=dict)
    timings: StageTimings = field(default_factory=StageTimings)
    _extractions: dict[Extractor, Extraction] = field(default_factory=dict)
    _requests: dict[Extractor, FrameRequest | None] = field(default_factory=dict)
    _pending: dict[Extractor, Pending] = field(default_factory=dict)

    def run(self) -> dict[Extractor, Perceived]:
        """Every wanted feature, or why there is none."""
        self.look()
        return self.wait()

    def look(self) -> None:
        """Everything that this process does itself: decode, perceive, put questions."""
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
            video = Video(self.rollout.video)
        self.timeline = video.timeline
        return video

    def _note_decoding(self, timeline: Timeline) -> None:
        decoding = self.timings.of(DECODING)
        decoding.rollouts += 1
        decoding.frames += self.decoded_frames
        decoding.pixels += self.decoded_frames * timeline.width * timeline.height

    def wait(self) -> dict[Extractor, Perceived]:
        """Wait for what others were asked; returns every wanted feature, or why there is none."""
        for recipe, pending in self._pending.items():
            if isinstance(pending, RemoteFeature):
                self._take(recipe, WAITING, pending.result)
                self.timings.of(stage_of(recipe)).add(_remote_stage(pending))
            else:
                self._take(recipe, ASKING, pending.result)
        self._pending.clear()
        return self.perceived

    def dry_run(self) -> dict[Extractor, FrameRequest | None]:
        """The frames that would be asked for: everything but loading networks, decoding and perceiving.

        Extractors that would read files only ask for `None`.
        """
        self.is_rehearsal = True
        missing = self._restore()
        if missing:
            with self._opened() as video:
                while readers := self._begin_all(video.timeline, missing):
                    for recipe in readers:
                        self._finish(recipe)
                self._guess_requests(video.timeline, missing)
        return self._requests

    def _guess_requests(self, timeline: Timeline, missing: Sequence[Extractor]) -> None:
        """Of extractors that need what a network would perceive, as far as they tell beforehand what they want."""
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
        return None

    def _restore(self) -> list[Extractor]:
        """Take what is on disk; returns what is not."""
        ordered = with_needs(self.wanted)
        with self.timings.timed(READING) as reading:
            found = {recipe: self.extractors.kept(self.content, recipe) for recipe in ordered}
            reading.rollouts += 1
        self.perceived.update((recipe, feature) for recipe, feature in found.items() if feature is not None)
        for recipe in self.perceived:
            self.timings.of(stage_of(recipe)).kept += 1
        return [recipe for recipe in ordered if recipe not in self.perceived]

    def _round(self, video: Video, missing: Sequence[Extractor]) -> list[Extractor]:
        """Read every file that can be read; when none is left, let all extractors share one pass over the frames."""
        finishing = self._begin_all(video.timeline, missing)
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
            self.wait()
        return [recipe for recipe in missing if recipe not in self.perceived and recipe not in self._pending]

    def _begin_all(self, timeline: Timeline, missing: Sequence[Extractor]) -> list[Extractor]:
        """Begin every recipe whose needs are known; returns those that read files only."""
        for recipe in missing:
            is_new = recipe not in self._extractions and recipe not in self.perceived
            if is_new and all(need in self.perceived for need in recipe.needs.values()):
                self._begin(recipe, timeline)
        return [recipe for recipe in self._unfinished() if self._requests[recipe] is None]

    def _unfinished(self) -> list[Extractor]:
        return [recipe for recipe in self._extractions if recipe not in self.perceived and recipe not in self._pending]

    def _begin(self, recipe: Extractor, timeline: Timeline) -> None:
        needs = {name: self.perceived[need] for name, need in recipe.needs.items()}
        for problem in needs.values():
            if isinstance(problem, Exception):
                self.perceived[recipe] = problem
                return
        features = {name: feature for name, feature in needs.items() if isinstance(feature, Feature)}
        try:
            if (declined := recipe.declines(self.rollout)) is not None:
                raise Unmeasurable(declined.reason, declined.message)
            extraction = self._start(recipe, timeline, features)
            self._requests[recipe] = _checked(extraction.request, timeline.frame_count)
            self._extractions[recipe] = extraction
            self.timings.of(stage_of(recipe)).rollouts += 1
        except ENDS_THE_RUN:
            raise
        except Exception as error:  # noqa: BLE001 - one feature less, not the end of the run
            self.perceived[recipe] = error

    def _start(self, recipe: Extractor, timeline: Timeline, features: Features) -> Extraction:
        is_heavy = recipe.weights is not None or isinstance(recipe, JudgeExtractor)
        if self.is_rehearsal and is_heavy and (request := self._planned_frames(recipe, timeline)) is not None:
            return _Planned(request)
        started = time.perf_counter()
        loaded = self.extractors.load(recipe)
        self.timings.of(stage_of(recipe)).loading_seconds += time.perf_counter() - started
        with self.timings.timed(WAITING if self.extractors.is_remote(recipe) else stage_of(recipe)):
            return loaded.start(self.rollout, timeline, features)

    def _own_stage(self, recipe: Extractor) -> str:
        """What this process does for a recipe is that of the recipe, unless the network is elsewhere."""
        return SENDING if self.extractors.is_remote(recipe) else stage_of(recipe)

    def _add_frames(self, video: Video, recipes: Sequence[Extractor], *, keep: bool) -> None:
        requests = [request for recipe in recipes if (request := self._requests[recipe]) is not None]
        if not requests:
            return
        seeing = [Stage() for _ in recipes]
        try:
            with PartnerFrames(requests) as partners, self.timings.timed(DECODING):
                for position, frame in video.frames(requests, keep=keep):
                    recipe = recipes[position]
                    if recipe in self.perceived:
                        continue
                    try:
                        joined = partners.join(requests[position], frame)
                        with seeing[position].timed() as stage:
                            stage.frames += 1
                            self._extractions[recipe].add_frame(joined)
                    except ENDS_THE_RUN:
                        raise
                    except Exception as error:  # noqa: BLE001 - one feature less, not the end of the run
                        self.perceived[recipe] = error
                self.decoded_frames += partners.decoded_pictures
        finally:
            for recipe, stage in zip(recipes, seeing, strict=True):
                self._note_seeing(recipe, stage)

    def _note_seeing(self, recipe: Extractor, seeing: Stage) -> None:
        """What an extractor did with frames happened while they were decoded, and is not decoding."""
        decoding, own = self.timings.of(DECODING), self.timings.of(self._own_stage(recipe))
        decoding.seconds -= seeing.seconds
        decoding.cpu_seconds -= seeing.cpu_seconds
        own.seconds += seeing.seconds
        own.cpu_seconds += seeing.cpu_seconds
        self.timings.of(stage_of(recipe)).frames += seeing.frames

    def _finish(self, recipe: Extractor) -> None:
        if recipe not in self.perceived:
            self._take(recipe, self._own_stage(recipe), self._extractions[recipe].finish)

    def _take(self, recipe: Extractor, stage: str, perceive: Callable[[], Feature | Pending]) -> None:
        """Take and keep what is perceived; what is still to come is waited for later."""
        try:
            with self.timings.timed(stage):
                feature = perceive()
            if isinstance(feature, Pending):
                self._pending[recipe] = feature
                return
            if not isinstance(feature, Feature):
                raise TypeError(f"{recipe.name} must perceive a Feature, found {feature!r:.80}.")
            with self.timings.timed(WRITING):
                stored_bytes = self.extractors.keep(self.content, recipe, feature)
            self.timings.of(stage_of(recipe)).stored_bytes += stored_bytes
            self.perceived[recipe] = feature
        except ENDS_THE_RUN:
            raise
        except Exception as error:  # noqa: BLE001 - one feature less, not the end of the run
            self.perceived[recipe] = error


@dataclass(frozen=True, slots=True)
class _Planned:
    """In place of a network or a judge, which are too heavy for a plan."""

    request: FrameRequest

    def add_frame(self, frame: Frame) -> None:
        raise NotImplementedError("no frame is shown in a rehearsal")

    def finish(self) -> Feature:
        raise NotImplementedError("nothing is perceived in a rehearsal")


def _remote_stage(feature: RemoteFeature) -> Stage:
    """What a network took in a process that has a core of its own."""
    return Stage(seconds=feature.seconds, cpu_seconds=feature.seconds, loading_seconds=feature.loading_seconds)


def with_needs(recipes: Iterable[Extractor]) -> list[Extractor]:
    """Recipes and all that they are made from, each once, needs first."""
    ordered: dict[Extractor, None] = {}
    for recipe in recipes:
        if recipe not in ordered:
            ordered.update(dict.fromkeys(with_needs(recipe.needs.values())))
            ordered[recipe] = None
    return list(ordered)


def _checked(request: FrameRequest | None, frame_count: int) -> FrameRequest | None:
    """A request that cannot be met is its extractor's fault, and must not spoil the pass for the others."""
    if request is not None and request.indices and not 0 <= min(request.indices) <= max(request.indices) < frame_count:
        found = f"{min(request.indices)} to {max(request.indices)}"
        raise IndexError(f"frames {found} were asked for, but the video has {frame_count}.")
    if request is not None and request.partners is not None and request.partners.indices.keys() != request.indices:
        raise ValueError("partners are named for other frames than those that were asked for.")
    return request
