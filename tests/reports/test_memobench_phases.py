from __future__ import annotations

import pytest

from lookaway.core import Abstention, Reason, Score, UserError
from lookaway.reports.memobench.phases import gated_tables, phase_drops
from tests.support.command import lookaway
from tests.support.memobench_runs import memobench_run

PREFIX = "memobench.corrected."
SCENES = ("Barn", "Miami", "Nordic", "Park", "Town", "Zen")


def phases(first, last, *, metric="ssim", revisited=1.0):
    values = {"visible": first, "disappeared": 0.5, "reappeared": last}
    found = {f"memobench.{phase}.{metric}": Score(value) for phase, value in values.items()}
    return {**found, "memobench.motion_gate": Score(1.0), "memobench.revisited": Score(revisited)}


def clips(model, **options):
    """One clip of each scene, from a drop of 0.2 on."""
    return {
        (model, f"synthetic/{scene}_001"): phases(0.9, 0.7 - 0.01 * place, **options)
        for place, scene in enumerate(SCENES)
    }


def test_the_drop_is_the_mean_difference_of_the_first_and_the_last_phase(tmp_path):
    (drop,) = phase_drops(memobench_run(tmp_path, clips("alpha")))
    assert drop.means == pytest.approx({"visible": 0.9, "disappeared": 0.5, "reappeared": 0.675})
    assert drop.drop.mean == pytest.approx(0.225)
    assert drop.drop.low < 0.225 < drop.drop.high
    assert (drop.drop.scored, drop.drop.scenes, drop.untested) == (6, 6, 0)


def test_a_drop_of_a_distance_is_positive_where_it_grows(tmp_path):
    (drop,) = phase_drops(memobench_run(tmp_path, clips("alpha", metric="lpips")))
    assert drop.drop.mean == pytest.approx(-0.225)


def test_a_video_that_stays_equally_close_has_no_drop(tmp_path):
    outcomes = {("alpha", f"synthetic/{scene}_001"): phases(0.8, 0.8) for scene in SCENES}
    (drop,) = phase_drops(memobench_run(tmp_path, outcomes))
    assert (drop.drop.mean, drop.p) == (0.0, 1.0)


def test_clips_of_one_scene_are_not_independent(tmp_path):
    outcomes = {
        ("alpha", f"synthetic/{scene}_{number:03d}"): phases(0.9, 0.7 - 0.01 * place)
        for place, scene in enumerate(SCENES)
        for number in range(10)
    }
    (one,) = phase_drops(memobench_run(tmp_path / "one", clips("alpha")))
    (ten,) = phase_drops(memobench_run(tmp_path / "ten", outcomes))
    assert ten.drop.scored == 60
    assert ten.drop.high - ten.drop.low == pytest.approx(one.drop.high - one.drop.low)


def repaired(outcomes):
    """The same under the names of the repaired metrics."""
    return {
        key: {
            name if name.endswith((".motion_gate", ".revisited")) else name.replace("memobench.", PREFIX): outcome
            for name, outcome in found.items()
        }
        for key, found in outcomes.items()
    }


def test_published_phases_are_over_every_rollout_that_has_all_scores(tmp_path):
    outcomes = clips("alpha", revisited=0.0)
    outcomes["alpha", "synthetic/Barn_001"]["memobench.reappeared.ssim"] = Abstention(Reason.TOO_SHORT, "short.")
    both = {key: {**found, **repaired(outcomes)[key]} for key, found in outcomes.items()}
    (drop,) = phase_drops(memobench_run(tmp_path, both))
    assert (drop.metric, drop.drop.scored, drop.untested) == ("ssim", 5, 0)


def test_repaired_phases_are_over_rollouts_that_have_all_scores_and_tested_memory(tmp_path):
    outcomes = repaired(clips("alpha"))
    outcomes["alpha", "synthetic/Barn_001"][f"{PREFIX}reappeared.ssim"] = Abstention(Reason.TOO_SHORT, "short.")
    outcomes["alpha", "synthetic/Zen_001"]["memobench.revisited"] = Score(0.0)
    run = memobench_run(tmp_path, outcomes)
    (drop,) = phase_drops(run)
    assert drop.metric == "corrected.ssim"
    assert (drop.drop.scored, drop.untested) == (4, 1)


def test_a_model_that_never_tested_memory_has_no_drop(tmp_path):
    run = memobench_run(tmp_path, repaired({**clips("alpha"), **clips("frozen", revisited=0.0)}))
    assert [drop.model for drop in phase_drops(run)] == ["alpha"]


def test_a_run_without_phases_is_refused_with_what_to_measure(tmp_path):
    run = memobench_run(tmp_path, {("alpha", "real/001"): {"memobench.all.ssim": Score(0.5)}})
    with pytest.raises(UserError, match="Measure them with --metrics"):
        phase_drops(run)


def test_a_run_of_another_suite_is_refused(tmp_path):
    run = memobench_run(tmp_path, clips("alpha"), suite="mind")
    for analyse in (phase_drops, gated_tables):
        with pytest.raises(UserError, match="is a run of 'mind'"):
            analyse(run)


def test_a_frozen_model_passes_the_published_gate_and_not_the_realised_one(tmp_path):
    tables = gated_tables(memobench_run(tmp_path, {**clips("alpha"), **clips("frozen", revisited=0.0)}))
    assert tables.kept == {
        "alpha": {"all": 6, "motion gate": 6, "revisited": 6},
        "frozen": {"all": 6, "motion gate": 6, "revisited": 0},
    }
    frozen = next(row for row in tables.rows if (row.model, row.metric) == ("frozen", "memobench.reappeared.ssim"))
    assert frozen.means["all"].mean == frozen.means["motion gate"].mean == pytest.approx(0.675)
    assert frozen.means["revisited"] is None


def test_each_gate_keeps_its_own_rollouts(tmp_path):
    outcomes = clips("alpha")
    outcomes["alpha", "synthetic/Barn_001"]["memobench.motion_gate"] = Score(0.0)
    for scene in ("Park", "Zen"):
        outcomes["alpha", f"synthetic/{scene}_001"]["memobench.revisited"] = Score(0.0)
    outcomes["alpha", "synthetic/Town_001"]["memobench.revisited"] = Abstention(Reason.POSE_FAILED, "no poses.")
    tables = gated_tables(memobench_run(tmp_path, outcomes))
    assert tables.kept == {"alpha": {"all": 6, "motion gate": 5, "revisited": 3}}
    (row,) = (row for row in tables.rows if row.metric == "memobench.reappeared.ssim")
    assert {way: mean.scored for way, mean in row.means.items()} == {"all": 6, "motion gate": 5, "revisited": 3}
    assert row.means["revisited"].mean == pytest.approx((0.7 + 0.69 + 0.68) / 3)


def test_gated_tables_need_the_scores_of_both_gates(tmp_path):
    outcomes = {("alpha", "real/001"): {"memobench.all.ssim": Score(0.5), "memobench.revisited": Score(1.0)}}
    with pytest.raises(UserError, match=r"nothing has a score of memobench\.motion_gate"):
        gated_tables(memobench_run(tmp_path, outcomes))


def test_both_analyses_are_commands(tmp_path):
    run = memobench_run(tmp_path, {**clips("alpha"), **clips("frozen", revisited=0.0)})
    drop = lookaway("memobench", "phase-drop", run.path)
    assert (drop.code, "+0.225" in drop.out) == (0, True)
    assert lookaway("memobench", "phase-drop", run.path, "--json").json[0]["drop"]["scored"] == 6
    gated = lookaway("memobench", "gated", run.path)
    assert gated.code == 0
    assert "0 of 6" in gated.out
    assert lookaway("memobench", "gated", run.path, "--json").json["kept"]["frozen"]["revisited"] == 0
