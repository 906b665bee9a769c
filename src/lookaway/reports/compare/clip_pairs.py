"""Pairs of clips: two models on the same case, with the same seed where both have it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lookaway.core import UserError
from lookaway.reports.runs import CountedValues


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipPair:
    """A clip before and after; means over seeds where the two models have no seed of the case in common."""

    case: str
    scene: str
    before: float
    after: float
    before_rollouts: tuple[str, ...]
    after_rollouts: tuple[str, ...]

    @property
    def clips(self) -> int:
        """How often it counts: as many clips as both models have of it."""
        return min(len(self.before_rollouts), len(self.after_rollouts))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipPairs:
    """All pairs, and how many scored clips have no partner."""

    pairs: tuple[ClipPair, ...]
    only_before: int
    only_after: int


@dataclass(frozen=True, slots=True)
class _Clip:
    rollout: str
    scene: str
    value: float


def clip_pairs(before: CountedValues, after: CountedValues, shared: Mapping[str, Collection[str]]) -> ClipPairs:
    """Pairs by case and seed; a case whose seeds are all different counts once, with the means of its seeds.

    `shared` are the seeds of each case that both models have, scored or not: where one clip of a pair has no score, the
    other is left out, and no clip of another seed takes its place.
    """
    own, others = _by_case(before), _by_case(after)
    pairs = [
        pair
        for case in own
        if case in others
        for pair in _pairs(case, own[case], others[case], sorted(shared.get(case, ())))
    ]
    return ClipPairs(
        pairs=tuple(pairs),
        only_before=len(before.values) - sum(len(pair.before_rollouts) for pair in pairs),
        only_after=len(after.values) - sum(len(pair.after_rollouts) for pair in pairs),
    )


def _by_case(column: CountedValues) -> dict[str, dict[str, _Clip]]:
    cases: dict[str, dict[str, _Clip]] = {}
    columns = (column.cases, column.seeds, column.rollouts, column.scenes, column.values.tolist())
    for case, seed, rollout, scene, value in zip(*columns, strict=True):
        cases.setdefault(case, {})[seed] = _Clip(rollout, scene, value)
    return cases


def _pairs(case: str, before: dict[str, _Clip], after: dict[str, _Clip], shared: Sequence[str]) -> Iterator[ClipPair]:
    scene = _scene(case, before, after)
    pairs = [([before[seed]], [after[seed]]) for seed in shared if seed in before and seed in after]
    for old, new in pairs if shared else [([*before.values()], [*after.values()])]:
        yield ClipPair(
            case=case,
            scene=scene,
            before=sum(clip.value for clip in old) / len(old),
            after=sum(clip.value for clip in new) / len(new),
            before_rollouts=tuple(clip.rollout for clip in old),
            after_rollouts=tuple(clip.rollout for clip in new),
        )


def _scene(case: str, before: dict[str, _Clip], after: dict[str, _Clip]) -> str:
    scenes = {clip.scene for clip in (*before.values(), *after.values())}
    if len(scenes) > 1:
        raise UserError(
            f"Case {case!r:.120} has scene {' and '.join(map(repr, sorted(scenes)))}: "
            "it is a different case in each run, so their clips cannot be paired."
        )
    return scenes.pop()
