"""How the ranking of models by the reappearance score depends on threshold, wording and size of the target."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from lookaway.core import Estimate, Floats, Indices, UserError
from lookaway.engine.run import Run
from lookaway.metrics.reappearance import ReappearanceScore, apply_min_score
from lookaway.reports.memobench.scores import CORRECTED, SUITE, counted_gate
from lookaway.reports.numbers import estimate_interval, fixed, print_json, print_rows, probability
from lookaway.reports.scored_rollouts import ScoredRollout, require_suite, scored_rollouts
from lookaway.statistics.rank_correlation import ModelReplicates, rank_correlation
from lookaway.statistics.scene_bootstrap import SEED, scene_weights
from lookaway.statistics.scene_replicates import resampled_sums, safe_divide

DEFAULTS: Final = {SUITE: 0.0, CORRECTED: ReappearanceScore().min_score}
"""Threshold of the published and of the repaired score."""
THRESHOLDS: Final = tuple(step / 10 for step in range(10))
SIZES: Final = ("small", "medium", "large")
"""Thirds of the cases, by the share of the frame that their target covers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The ranking of models with one thing changed, against the one by the default threshold over all cases."""

    changed: str
    """`threshold`, `wording` or `size`."""
    to: str
    means: Mapping[str, float]
    """Mean score of each model."""
    rollouts: int
    tau: Estimate | None
    """Kendall's tau-b with the default ranking, with an interval over scenes; `None` where models have equal scores."""
    p: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Clip:
    """The best scores of one rollout, and the share of the frame that the target covers where it was found."""

    rollout: ScoredRollout
    usual: Floats
    fallback: Floats
    coverages: tuple[float, ...]

    def score(self, min_score: float) -> float:
        return float(apply_min_score(self.usual, self.fallback, min_score).mean())


def ors_sensitivity(run: Run, other: Run | None = None) -> list[Ranking]:
    """Rankings at every threshold, with the words of another run, and for small, medium and large targets.

    Thresholds are applied to stored rows, of the published score where the run has it, else of the repaired one:
    rollouts are all of the former, and those that tested memory of the latter. The size of a target is the median of
    its coverage over all models that show it, so that a case has the same size for every model.
    """
    prefix = _prefix(run)
    usual = DEFAULTS[prefix]
    clips = _clips(run, prefix)
    models = sorted({clip.rollout.model for clip in clips})
    if len(models) < 2:
        raise UserError(
            f"{run.path}: a ranking needs two models with a score of {prefix}.ors, found {len(models)}. Measure it; "
            "`lookaway show` says why a rollout has no score."
        )
    default = _Sums.of(clips, models, usual)
    rankings = [
        _ranking("threshold", f"{threshold:g}", default, _Sums.of(clips, models, threshold), models)
        for threshold in THRESHOLDS
    ]
    if other is not None:
        theirs = _clips(other, prefix)
        _require_same_models(other, models, theirs)
        words = _wording(other, f"{prefix}.ors")
        rankings.append(_ranking("wording", words, default, _Sums.of(theirs, models, usual), models))
    sizes = _sizes(clips)
    for size in SIZES:
        own = [clip for clip in clips if sizes.get(clip.rollout.case) == size]
        if {clip.rollout.model for clip in own} == set(models):
            rankings.append(_ranking("size", size, default, _Sums.of(own, models, usual), models))
    return rankings


def _prefix(run: Run) -> str:
    """What begins the name of the published score, or of the repaired one where a run has no other."""
    require_suite(run, SUITE)
    names = {metric.name for metric in run.metrics}
    return CORRECTED if f"{SUITE}.ors" not in names and f"{CORRECTED}.ors" in names else SUITE


def _clips(run: Run, prefix: str) -> list[_Clip]:
    require_suite(run, SUITE)
    ors, gate = f"{prefix}.ors", counted_gate(run, prefix)
    counted = {rollout.id: rollout for rollout in scored_rollouts(run) if rollout.passes(gate)}
    clips = []
    for row in run.items():
        if row["metric"] != ors or row["status"] != "score" or row["rollout"] not in counted:
            continue
        found = json.loads(row["detail"] or "{}").get("frame_scores")
        if found is None:
            raise UserError(
                f"{run.path}: {ors} of {row['rollout']} does not hold the best score of each frame, since an older "
                "version measured it. Measure it again."
            )
        clips.append(
            _Clip(
                rollout=counted[row["rollout"]],
                usual=np.array(found["usual"]),
                fallback=np.array(found["fallback"]),
                coverages=tuple(value for value in found["coverage"] if value is not None),
            )
        )
    return clips


def _require_same_models(run: Run, models: Sequence[str], clips: Sequence[_Clip]) -> None:
    there = {clip.rollout.model for clip in clips}
    if missing := [model for model in models if model not in there]:
        raise UserError(f"{run.path}: no rollout of {', '.join(missing)} counts there, so rankings do not compare.")


def _wording(run: Run, ors: str) -> str:
    features = run.lock.entries.get("metrics", {}).get(ors, {}).get("features", {})
    return str(features.get("detections", {}).get("wording", "of the other run"))


def _sizes(clips: Sequence[_Clip]) -> dict[str, str]:
    """The size of every case whose target some model shows."""
    coverages: dict[str, list[float]] = {}
    for clip in clips:
        if clip.coverages:
            coverages.setdefault(clip.rollout.case, []).append(float(np.median(clip.coverages)))
    medians = {case: float(np.median(own)) for case, own in coverages.items()}
    order = sorted(medians, key=lambda case: (medians[case], case))
    return {case: SIZES[len(SIZES) * place // len(order)] for place, case in enumerate(order)}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sums:
    """Sums of scores and numbers of rollouts of each model in each scene, both [scenes, models]."""

    scenes: tuple[str, ...]
    sums: Floats
    counts: Indices

    @classmethod
    def of(cls, clips: Sequence[_Clip], models: Sequence[str], min_score: float) -> _Sums:
        scenes = tuple(sorted({clip.rollout.scene for clip in clips}))
        sums, counts = np.zeros((len(scenes), len(models))), np.zeros((len(scenes), len(models)), np.int64)
        for clip in clips:
            place = scenes.index(clip.rollout.scene), models.index(clip.rollout.model)
            sums[place] += clip.score(min_score)
            counts[place] += 1
        return cls(scenes=scenes, sums=sums, counts=counts)

    def over(self, scenes: Sequence[str]) -> _Sums:
        """The same with these scenes; one that is not there has no rollout."""
        wide = {scene: place for place, scene in enumerate(self.scenes)}
        sums, counts = (np.zeros((len(scenes), self.sums.shape[1])) for _ in range(2))
        for place, scene in enumerate(scenes):
            if scene in wide:
                sums[place], counts[place] = self.sums[wide[scene]], self.counts[wide[scene]]
        return _Sums(scenes=tuple(scenes), sums=sums, counts=counts.astype(np.int64))

    def means(self, weights: Floats) -> Floats:
        """[draws, models] means over resampled scenes; NaN for a model without rollouts there."""
        return safe_divide(resampled_sums(self.sums, weights), resampled_sums(self.counts.astype(np.float64), weights))


def _ranking(changed: str, to: str, default: _Sums, now: _Sums, models: Sequence[str]) -> Ranking:
    scenes = sorted({*default.scenes, *now.scenes})
    one, other = now.over(scenes), default.over(scenes)
    whole, weights = np.ones((1, len(scenes))), scene_weights(len(scenes))
    means, usual = one.means(whole)[0], other.means(whole)[0]
    replicates = ModelReplicates(metric=one.means(weights), people=other.means(weights), scenes=len(now.scenes))
    kendall = rank_correlation(means, usual, seed=SEED, replicates=replicates).kendall
    return Ranking(
        changed=changed,
        to=to,
        means=dict(zip(models, means.tolist(), strict=True)),
        rollouts=int(now.counts.sum()),
        tau=kendall.over_scenes if kendall else None,
        p=kendall.p if kendall else None,
    )


def print_rankings(rankings: Sequence[Ranking], *, as_json: bool) -> None:
    """One line for each ranking, with the mean score of every model."""
    if as_json:
        print_json([asdict(ranking) for ranking in rankings])
        return
    rows: list[dict[str, Any]] = [
        {
            "changed": ranking.changed,
            "to": ranking.to,
            "tau": fixed(ranking.tau.mean if ranking.tau else None),
            "95 %": estimate_interval(ranking.tau),
            "p": probability(ranking.p),
            "rollouts": f"{ranking.rollouts}",
            **{model: fixed(mean) for model, mean in ranking.means.items()},
        }
        for ranking in rankings
    ]
    print_rows(rows, as_json=False, right=("tau", "p", "rollouts", *rankings[0].means))
