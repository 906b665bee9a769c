from __future__ import annotations

from lookaway.core import Cell, Estimate, Gated, Table
from lookaway.reports.world import standings


def cell(model: str, metric: str, mean: float | None) -> Cell:
    estimate = None if mean is None else Estimate(mean=mean, low=None, high=None, scored=4, scenes=4)
    tested = None if metric.endswith("camera_interaction") else Gated(coverage=None)
    return Cell(
        model=model,
        metric=metric,
        subset="all",
        estimate=estimate,
        raw_mean=None,
        asked=4,
        failures=0,
        reasons={},
        gated=tested,
    )


def table(**models: tuple[float | None, float | None, float | None]) -> Table:
    cells = []
    for model, (epipolar, lighting, camera) in models.items():
        cells += [
            cell(model, "mbencha.environment.spatial_epipolar", epipolar),
            cell(model, "mbencha.environment.rendering_lighting", lighting),
            cell(model, "mbencha.causal.camera_interaction", camera),
        ]
    return Table(suite="mbench-a", cells=tuple(cells))


def test_models_are_ranked_by_the_mean_of_their_consistency():
    order = standings(table(worse=(0.5, 0.7, 1.0), better=(0.9, 0.8, 0.9)))
    assert [(s.model, s.rank) for s in order] == [("better", 1), ("worse", 2)]
    assert order[0].consistency is not None
    assert abs(order[0].consistency - 0.85) < 1e-12


def test_a_camera_that_does_not_obey_is_never_ranked_however_consistent():
    order = standings(table(frozen=(1.0, 1.0, 0.0), honest=(0.2, 0.1, 0.9)))
    assert [(s.model, s.rank) for s in order] == [("honest", 1), ("frozen", None)]


def test_a_model_without_any_consistency_or_camera_score_is_not_ranked():
    order = standings(table(blind=(None, None, 1.0), lost=(1.0, 1.0, None), seen=(0.1, 0.1, 0.6)))
    assert {s.model: s.rank for s in order} == {"seen": 1, "blind": None, "lost": None}
    assert order[0].model == "seen"


def test_what_could_not_be_scored_does_not_count_as_zero():
    (only,) = standings(table(half=(None, 0.8, 1.0)))
    assert (only.rank, only.consistency) == (1, 0.8)
