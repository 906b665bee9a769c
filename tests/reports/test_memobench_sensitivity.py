from __future__ import annotations

import pytest

from lookaway.core import Score, UserError
from lookaway.reports.memobench.sensitivity import DEFAULTS, SIZES, THRESHOLDS, ors_sensitivity
from tests.support.command import lookaway
from tests.support.memobench_runs import memobench_run

DEFAULT = DEFAULTS["memobench.corrected"]
SCENES = ("Barn", "Miami", "Nordic", "Park", "Town", "Zen")


def clip(*scores, coverage=0.02, revisited=1.0):
    """The best score of each frame; every detection is of usual size."""
    counted = [score if score > DEFAULT else 0.0 for score in scores]
    frames = {"usual": list(scores), "fallback": list(scores), "coverage": [coverage] * len(scores)}
    return {
        "memobench.corrected.ors": Score(sum(counted) / len(counted), detail={"frame_scores": frames}),
        "memobench.revisited": Score(revisited),
    }


def run_of(path, models, **options):
    """One clip of each scene for each model, from its scores; targets are larger from scene to scene."""
    return memobench_run(
        path,
        {
            (model, f"synthetic/{scene}_001"): clip(*scores, coverage=0.01 * (1 + place), **options)
            for model, scores in models.items()
            for place, scene in enumerate(SCENES)
        },
    )


MODELS = {"sure": (0.9, 0.9), "half": (0.7, 0.1), "unsure": (0.45, 0.45), "gone": (0.05, 0.05)}


def ranked(rankings, changed):
    return {ranking.to: ranking for ranking in rankings if ranking.changed == changed}


def test_thresholds_are_applied_to_stored_rows(tmp_path):
    found = ranked(ors_sensitivity(run_of(tmp_path, MODELS)), "threshold")
    assert list(found) == [f"{threshold:g}" for threshold in THRESHOLDS]
    assert found["0"].means == pytest.approx({"sure": 0.9, "half": 0.4, "unsure": 0.45, "gone": 0.05})
    assert found["0.5"].means == pytest.approx({"sure": 0.9, "half": 0.35, "unsure": 0.0, "gone": 0.0})
    assert set(found["0.9"].means.values()) == {0.0}


def test_the_default_threshold_ranks_as_itself_and_another_may_not(tmp_path):
    found = ranked(ors_sensitivity(run_of(tmp_path, MODELS)), "threshold")
    assert found["0.5"].tau.mean == pytest.approx(1.0)
    assert found["0"].tau.mean < 0.8


def test_a_threshold_at_which_all_models_are_equal_has_no_correlation(tmp_path):
    found = ranked(ors_sensitivity(run_of(tmp_path, MODELS)), "threshold")
    assert found["0.9"].tau is None


def test_models_that_change_places_from_scene_to_scene_have_an_interval(tmp_path):
    outcomes = {}
    for place, scene in enumerate(SCENES):
        scores = {"a": 0.9, "b": 0.6 + 0.1 * (place % 4), "c": 0.55, "d": 0.51 + 0.02 * place}
        for model, score in scores.items():
            outcomes[model, f"synthetic/{scene}_001"] = clip(score, 0.3 if model == "b" else 0.6)
    found = ranked(ors_sensitivity(memobench_run(tmp_path, outcomes)), "threshold")["0"].tau
    assert found.low <= found.mean <= found.high
    assert found.low < found.high


def test_every_case_is_in_one_third_by_the_size_of_its_target(tmp_path):
    found = ranked(ors_sensitivity(run_of(tmp_path, MODELS)), "size")
    assert list(found) == list(SIZES)
    assert [ranking.rollouts for ranking in found.values()] == [2 * len(MODELS)] * 3


def test_another_run_shows_what_other_words_change(tmp_path):
    usual = run_of(tmp_path / "usual", MODELS)
    other = run_of(tmp_path / "other", {**MODELS, "sure": (0.6, 0.1), "half": (0.9, 0.9)})
    (ranking,) = ranked(ors_sensitivity(usual, other), "wording").values()
    assert ranking.tau.mean < 1
    assert ranking.means["half"] == pytest.approx(0.9)


def test_rollouts_that_did_not_test_memory_do_not_count(tmp_path):
    outcomes = {
        (model, f"synthetic/{scene}_001"): clip(0.9, revisited=0.0 if model == "frozen" else 1.0)
        for model in ("frozen", "alpha")
        for scene in SCENES
    }
    run = memobench_run(tmp_path, outcomes)
    with pytest.raises(UserError, match=r"a ranking needs two models .* found 1"):
        ors_sensitivity(run)


def test_a_run_without_scores_of_frames_is_refused(tmp_path):
    run = memobench_run(tmp_path, {("alpha", "real/001"): {"memobench.corrected.ors": Score(0.5)}})
    with pytest.raises(UserError, match="Measure it again"):
        ors_sensitivity(run)


def test_sensitivity_is_a_command(tmp_path):
    run = run_of(tmp_path, MODELS)
    result = lookaway("memobench", "ors-sensitivity", run.path)
    assert result.code == 0
    assert "0.450" in result.out
    assert lookaway("memobench", "ors-sensitivity", run.path, "--json").json[0]["changed"] == "threshold"
