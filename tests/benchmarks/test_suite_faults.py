from __future__ import annotations

from benchmarks.suite_faults import SUITES, Cell, best, cells, known_metrics
from lookaway.core import plugins


def row(model, metric, value):
    return {"model": model, "metric": metric, "status": "abstention" if value is None else "score", "value": value}


def found(fault, values, clean=(0.9, 0.8), *, is_better=True):
    rows = [row("perfect", "m", value) for value in clean] + [row(f"{fault}-1.00", "m", value) for value in values]
    return dict(cells(rows, {"m": is_better}))


def test_a_metric_that_falls_with_the_fault_has_an_auc_of_one_whichever_way_it_goes():
    assert found("vanish", [0.1, 0.2])["vanish"] == Cell("m", 1.0)
    assert found("vanish", [0.95, 0.99], is_better=False)["vanish"] == Cell("m", 1.0)
    assert found("vanish", [0.95, 0.99])["vanish"] == Cell("m", 0.0)


def test_a_metric_that_does_not_react_has_an_auc_of_a_half():
    assert found("vanish", [0.9, 0.8])["vanish"] == Cell("m", 0.5)


def test_a_fault_that_makes_a_metric_decline_is_said_to():
    assert found("camera_never_moves", [None, None])["camera_never_moves"] == Cell("m", None)
    assert best([Cell("m", None)]) == "declined"


def test_a_metric_that_declines_clean_clips_as_well_has_no_cell():
    assert found("vanish", [0.1, 0.2], clean=(None, None)) == {}
    assert best([]) == "-"


def test_the_best_metric_of_a_suite_is_shown_with_its_auc():
    assert best([Cell("a", 0.6), Cell("b", 0.97), Cell("c", None)]) == "0.97 (b)"


def test_every_metric_of_the_suites_belongs_to_one_of_them():
    assert set(SUITES) <= set(plugins.names("suites"))
    assert {suite for suite, _ in known_metrics().values()} == set(SUITES)
