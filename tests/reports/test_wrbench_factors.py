"""Tables, slices and contrasts of runs of WRBench whose every score the test chooses."""

from __future__ import annotations

import json

import pytest

from lookaway.cli.wrbench import slices_command
from lookaway.core import Abstention, Reason, Score, UserError
from lookaway.reports.wrbench.dimensions import (
    ALIGNMENT,
    AVERAGED,
    DIMENSIONS,
    STATIC_HOLD,
    SUITE,
    SUPPORT,
    best_models,
    dimension_correlations,
)
from lookaway.reports.wrbench.factors import (
    FACTORS,
    GATE,
    contrasts,
    dimension_rows,
    factored_rollouts,
    interface_of,
    run_scores,
    sliced_rows,
)
from lookaway.reports.wrbench.published import read_published_models
from lookaway.statistics.precision import Mark
from tests.support.beside import DATA, needs_results
from tests.support.chosen_run import Clip, chosen_run
from tests.support.command import lookaway

RESULTS = DATA / "wrbench" / "results" / "wrbench_23model_results.csv"
FAMILIES = tuple(f"room{number:02d}_cat_bed_{action}" for number in range(8) for action in ("jump", "sit"))
LEVELS = ("T0", "T1", "T2_div_a", "T2_div_b")
CAMERAS = ("static", "yaw60_LR")


def rollout(model, family, level, camera, scores, *, seed="0"):
    case = f"{family}__{level}__none__{camera}"
    subset = "static" if camera == "static" else "yaw"
    fields = {"model": model, "case": case, "scene": family, "subset": subset, "seed": seed}
    names = {GATE: GATE, **{name: dimension.metric for name, dimension in DIMENSIONS.items()}}
    return [
        Clip(metric=names[name], outcome=Score(value) if isinstance(value, float) else value, **fields)
        for name, value in scores.items()
    ]


def grid(model, scores, families=FAMILIES):
    """One rollout of every family, event and camera; `scores` makes its scores from place, level and camera."""
    return [
        clip
        for place, family in enumerate(families)
        for level in LEVELS
        for camera in CAMERAS
        for clip in rollout(model, family, level, camera, scores(place, level, camera))
    ]


def plain(place, level, camera):
    """Re-observed wherever the camera turns; moving adds 0.1 to D4, changing takes 0.2 from D3."""
    moves, changes = level in ("T1", "T2_div_b"), level.startswith("T2")
    noise = 0.01 * (place % 4)
    scores = {
        GATE: 0.0 if camera == "static" else 1.0,
        "D2": 0.8 + noise,
        "D3": 0.7 - 0.2 * changes + noise,
        "D4": 0.5 + 0.1 * moves + noise,
        "D5": 0.6 + noise,
        "D6": 0.4 + noise,
    }
    return {**scores, STATIC_HOLD: 1.0} if camera == "static" else {**scores, ALIGNMENT: 0.5 + noise}


def rollouts_of(tmp_path, clips, **options):
    return factored_rollouts(chosen_run(tmp_path / "run", clips, suite="wrbench"), **options)


def test_support_is_the_share_of_judged_rollouts_that_were_seen_again(tmp_path):
    clips = grid("alpha", plain)
    clips[0] = Clip(**{**vars(clips[0]), "outcome": Abstention(Reason.NO_JUDGE, "no judge.")})
    (row,) = dimension_rows(rollouts_of(tmp_path, clips))
    assert (row.outputs, row.support.scored) == (128, 127)
    assert row.support.mean == pytest.approx(64 / 127)
    assert row.support.low < 64 / 127 < row.support.high
    assert row.published.support == 0.5


def test_conditional_dimensions_are_over_rollouts_that_were_seen_again(tmp_path):
    def scores(place, level, camera):
        found = plain(place, level, camera)
        return {**found, "D5": 0.0} if camera == "static" else found

    (row,) = dimension_rows(rollouts_of(tmp_path, grid("alpha", scores)))
    assert row.cells["D5"].estimate.scored == 64
    assert row.cells["D5"].estimate.mean == pytest.approx(0.615)
    assert row.cells["D3"].estimate.scored == 128
    # Rollouts of one family have equal scores here, so that a family counts as one.
    assert (row.cells["D5"].precision.mark, row.cells["D5"].precision.effective) == (Mark.IMPRECISE, 16.0)


def test_a_model_that_never_looks_away_has_no_conditional_number_and_no_average(tmp_path):
    clips = grid("frozen", lambda *case: {**plain(*case), GATE: 0.0})
    (row,) = dimension_rows(rollouts_of(tmp_path, [*clips, *grid("alpha", plain)]))[1:]
    assert row.model == "frozen"
    assert row.cells["D5"].estimate is None
    assert (row.support.mean, row.average, row.published.average, row.published.is_low_n) == (0.0, None, None, True)


def test_a_cell_of_three_rollouts_is_not_estimable_and_never_the_best(tmp_path):
    def rarely(place, level, camera):
        is_open = place < 3 and level == "T0" and camera != "static"
        return {**plain(place, level, camera), GATE: float(is_open), "D5": 0.99}

    given = {"rare": "prompt-only", "alpha": "prompt-only", "other": "source-video"}
    clips = [*grid("rare", rarely), *grid("alpha", plain), *grid("other", plain)]
    rows = dimension_rows(rollouts_of(tmp_path, clips, interfaces=given))
    rare = next(row for row in rows if row.model == "rare")
    assert (rare.cells["D5"].estimate.scored, rare.cells["D5"].precision.mark) == (3, Mark.NOT_ESTIMABLE)
    assert rare.average is None
    assert rare.published.average is not None
    best = best_models(rows, "corrected")
    assert ("prompt-only", "D5") not in best
    assert best_models(rows, "published")["prompt-only", "D5"] == ["rare", "alpha"]
    assert not any(name in ("D2", STATIC_HOLD) for _, name in best)
    assert best["prompt-only", SUPPORT] == ["alpha", "rare"]
    assert not any(condition == "source-video" for condition, _ in best)


def test_the_average_is_that_of_six_dimensions(tmp_path):
    (row,) = dimension_rows(rollouts_of(tmp_path, grid("alpha", plain)))
    assert row.average == pytest.approx(sum(row.cells[name].estimate.mean for name in AVERAGED) / 6)


def test_published_camera_alignment_is_over_all_turns_zeros_among_them(tmp_path):
    values = {"static": {STATIC_HOLD: [1.0, 0.9, 0.0, 1.0]}, "yaw60_LR": {ALIGNMENT: [0.0, 0.0, 0.8, 0.6]}}
    clips = [
        clip
        for camera, (named,) in ((camera, list(found.items())) for camera, found in values.items())
        for place, value in enumerate(named[1])
        for clip in rollout("api", FAMILIES[place], "T0", camera, {named[0]: value})
    ]
    (row,) = dimension_rows(rollouts_of(tmp_path, clips))
    assert row.published.values == pytest.approx({ALIGNMENT: 0.35, STATIC_HOLD: 0.725})


def test_each_protocol_has_its_own_values(tmp_path):
    clips = grid("alpha", plain)
    repaired = [Clip(**{**vars(clip), "metric": clip.metric.replace(SUITE, f"{SUITE}.corrected", 1)}) for clip in clips]
    repaired = [
        Clip(**{**vars(clip), "outcome": Score(clip.outcome.value / 2)})
        for clip in repaired
        if "visual_integrity" in clip.metric
    ]
    run = chosen_run(tmp_path / "run", [*clips, *repaired], suite="wrbench")
    (published,), (corrected,) = (
        dimension_rows(factored_rollouts(run, protocol=protocol)) for protocol in ("published", "corrected")
    )
    assert corrected.cells["D2"].estimate.mean == pytest.approx(published.cells["D2"].estimate.mean / 2)
    assert corrected.cells["D3"] == published.cells["D3"]


def test_a_run_of_the_other_protocol_alone_is_refused_with_what_to_do(tmp_path):
    name = "wrbench.corrected.visual_integrity"
    clips = [Clip(**{**vars(clip), "metric": name}) for clip in grid("alpha", plain) if "integrity" in clip.metric]
    run = chosen_run(tmp_path / "run", clips, suite="wrbench").path
    for command in ("table", "attribution", "contrasts"):
        result = lookaway("wrbench", command, run)
        assert result.code == 2
        assert "holds corrected values and no published ones. Read it with --protocol corrected" in result.err
        assert lookaway("wrbench", command, run, "--protocol", "corrected").code == 0


def test_slices_divide_the_rollouts(tmp_path):
    found = rollouts_of(tmp_path, [*grid("alpha", plain), *grid("wan22_fun_5b_cam", plain)])
    events = {part: row for part, row in sliced_rows(found, "event") if row.model == "all models"}
    assert {part: row.outputs for part, row in events.items()} == dict.fromkeys(
        ("none", "spatial", "state_only", "full"), 64
    )
    assert events["full"].cells["D3"].estimate.mean == pytest.approx(0.515)
    cameras = {(part, row.model): row for part, row in sliced_rows(found, "camera")}
    assert cameras["static", "alpha"].support.mean == 0.0
    assert cameras["yaw60_LR", "all models"].support.mean == 1.0
    interfaces = [(part, row.model) for part, row in sliced_rows(found, "interface")]
    assert interfaces == [("model-inferred", "wan22_fun_5b_cam"), ("not stated", "alpha")]
    assert {part for part, _ in sliced_rows(found, "action")} == {"jump", "sit"}
    assert {part: row.outputs for part, row in sliced_rows(found, "moves") if row.model == "alpha"} == {
        "moves": 64,
        "stays": 64,
    }


def contrast(found, dimension, factor):
    return next(one for one in found if (one.dimension, one.factor) == (dimension, factor))


def test_contrasts_find_what_moving_and_changing_do(tmp_path):
    found = contrasts(rollouts_of(tmp_path, [*grid("alpha", plain), *grid("beta", plain)]))
    moving, changing = contrast(found, "D4", "moves"), contrast(found, "D3", "changes")
    assert (moving.difference.mean, changing.difference.mean) == pytest.approx((0.1, -0.2))
    assert (moving.difference.scored, moving.difference.scenes) == (128, 16)
    assert moving.p < 0.001
    assert contrast(found, "D3", "moves").difference.mean == pytest.approx(0.0, abs=1e-12)
    assert contrast(found, "D4", "interaction").difference.mean == pytest.approx(0.0, abs=1e-12)
    assert contrast(found, "D5", "moves").difference.scored == 64
    assert all(one.q >= one.p for one in found)


def test_an_interaction_is_what_moving_adds_where_the_state_changes(tmp_path):
    def scores(place, level, camera):
        return {"D2": 0.5 + (0.3 if level == "T2_div_b" else 0.0) + 0.01 * (place % 3)}

    found = contrasts(rollouts_of(tmp_path, grid("alpha", scores)))
    one = contrast(found, "D2", "interaction")
    assert one.difference.mean == pytest.approx(0.3)
    assert one.by_model == pytest.approx({"alpha": 0.3})
    assert contrast(found, "D2", "moves").difference.mean == pytest.approx(0.15)


def test_contrasts_of_the_paper_are_tested_over_models(tmp_path):
    models = [f"m{number}" for number in range(6)]
    clips = [clip for model in models for clip in grid(model, plain, FAMILIES[:5])]
    one = contrast(contrasts(rollouts_of(tmp_path, clips)), "D4", "moves")
    assert one.by_model == pytest.approx(dict.fromkeys(models, 0.1))
    assert (one.published_mean, one.published_p) == pytest.approx((0.1, 2 / 2**6))


def test_a_rollout_without_its_twin_is_in_no_pair(tmp_path):
    clips = [clip for clip in grid("alpha", plain) if not clip.case.startswith(f"{FAMILIES[0]}__T1")]
    one = contrast(contrasts(rollouts_of(tmp_path, clips)), "D2", "moves")
    assert one.difference.scored == 62


def test_correlations_need_three_models(tmp_path):
    def shifted(step):
        return lambda *case: {**plain(*case), "D3": 0.5 + 0.1 * step, "D4": 0.8 - 0.1 * step}

    clips = [clip for step in range(3) for clip in grid(f"m{step}", shifted(step), FAMILIES[:6])]
    found = {
        (one.first, one.second): one
        for one in dimension_correlations(dimension_rows(rollouts_of(tmp_path, clips)), "corrected")
    }
    assert found["D3", "D4"].pearson.value == pytest.approx(-1.0)
    assert found["D3", "D4"].ranks.spearman.p == pytest.approx(1 / 3)
    assert found["D2", "D3"].pearson is None


def test_cases_without_event_and_camera_are_refused(tmp_path):
    clip = Clip(metric=DIMENSIONS["D2"].metric, case="c01", outcome=Score(0.5))
    with pytest.raises(UserError, match="'c01' does not name its event and camera"):
        rollouts_of(tmp_path, [clip])


@needs_results
def test_the_interfaces_of_published_models_are_those_of_the_results():
    for row in read_published_models(RESULTS):
        assert interface_of(row.model, {}) == row.condition


def test_runs_of_other_suites_are_refused(tmp_path):
    with pytest.raises(UserError, match="is a run of 'mind'"):
        factored_rollouts(chosen_run(tmp_path, grid("alpha", plain)[:3], suite="mind"))


def test_an_interface_of_a_model_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(UserError, match="there is no model 'beta'"):
        rollouts_of(tmp_path, grid("alpha", plain, FAMILIES[:1]), interfaces={"beta": "prompt-only"})


def test_commands_print_table_slices_contrasts_and_correlations(tmp_path):
    run = chosen_run(tmp_path / "run", grid("alpha", plain), suite="wrbench").path
    table = lookaway("wrbench", "table", run, "--interface", "alpha=prompt-only")
    assert table.code == 0
    assert "prompt-only" in table.out
    (row,) = json.loads(lookaway("wrbench", "table", run, "--json").out)
    assert (row["model"], row["is_low_n"], row["values"]["D5"]) == ("alpha", False, pytest.approx(0.615))
    shared = [clip for clip in grid("alpha", plain) if ".d" in clip.metric or clip.metric == GATE]
    other = chosen_run(tmp_path / "shared", shared, suite="wrbench").path
    (row,) = json.loads(lookaway("wrbench", "table", other, "--protocol", "corrected", "--json").out)
    assert (row["model"], row["dimensions"]["D5"]["mark"]) == ("alpha", "imprecise")
    slices = lookaway("wrbench", "slices", run, "--by", "camera")
    assert [line.split()[0] for line in slices.out.splitlines()[1:3]] == ["static", "yaw60_LR"]
    assert "+0.100" in lookaway("wrbench", "contrasts", run).out
    assert "Pearson" in lookaway("wrbench", "correlations", run).out
    wrong = lookaway("wrbench", "table", run, "--interface", "alpha")
    assert (wrong.code, "'alpha' is not MODEL=INTERFACE" in wrong.err) == (2, True)


def test_every_factor_can_be_named_on_the_command_line():
    (by,) = [parameter for parameter in slices_command.params if parameter.name == "factor"]
    assert set(by.type.choices) == set(FACTORS)


def test_scores_for_pairs_are_those_of_rollouts_that_count(tmp_path):
    score = run_scores(rollouts_of(tmp_path, grid("alpha", plain, FAMILIES[:1])))
    turning = f"alpha/{FAMILIES[0]}__T0__none__yaw60_LR/0"
    assert score("D5", turning) == pytest.approx(0.6)
    assert score("D5", turning.replace("yaw60_LR", "static")) is None
    assert score("D3", turning.replace("yaw60_LR", "static")) == pytest.approx(0.7)
    with pytest.raises(UserError, match="There is no dimension 'D9'"):
        score("D9", turning)
    with pytest.raises(UserError, match="The run has no rollout 'beta/x/0'"):
        score("D3", "beta/x/0")
