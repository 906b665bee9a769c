from __future__ import annotations

import numpy as np
import pytest

from lookaway.core import Abstention, Reason, Score, UserError
from lookaway.reports.compare.comparison import Verdict, compare_runs
from tests.support.chosen_run import GATE, IDENTITY, LIGHT, LPIPS, PSNR, STYLE, Clip, chosen_run, clips

BASE = np.random.default_rng(3).uniform(0.3, 0.6, 24)
NOISE = np.random.default_rng(4).normal(0.0, 0.01, 24)


def only(comparison):
    (dimension,) = comparison.dimensions
    return dimension


def compared(tmp_path, before, after, suite="mbench-a", **options):
    old, new = (chosen_run(tmp_path / name, run, suite=suite) for name, run in (("before", before), ("after", after)))
    return compare_runs(old, new, **options)


def test_a_drop_on_every_clip_is_worse_with_the_mean_interval_and_p_of_the_paired_differences(tmp_path):
    found = compared(tmp_path, clips(STYLE, BASE), clips(STYLE, BASE - 0.05 + NOISE))
    entry = only(found)
    assert entry.verdict is Verdict.WORSE
    assert entry.difference.mean == pytest.approx(np.mean(NOISE) - 0.05)
    assert (entry.before, entry.after) == (pytest.approx(BASE.mean()), pytest.approx((BASE - 0.05 + NOISE).mean()))
    reach = 2.0686576104190406 * np.std(NOISE, ddof=1) / np.sqrt(24)  # t with 23 degrees
    assert entry.difference.high - entry.difference.mean == pytest.approx(reach)
    assert entry.p == entry.q == 1 / 10_000
    assert entry.detectable == pytest.approx(2.8015852 * np.std(NOISE, ddof=1) / np.sqrt(24), rel=1e-6)
    assert (entry.pairs, entry.only_before, entry.only_after, found.family) == (24, 0, 0, 1)


def test_a_rise_on_every_clip_is_better_and_nothing_got_worse(tmp_path):
    found = compared(tmp_path, clips(STYLE, BASE), clips(STYLE, BASE + 0.05))
    assert only(found).verdict is Verdict.BETTER
    assert (found.worst, found.got_worse) == ((), 0)


def test_where_lower_is_better_a_rise_is_worse_and_the_means_keep_their_own_direction(tmp_path):
    found = compared(tmp_path, clips(LPIPS, BASE), clips(LPIPS, BASE + 0.05 + NOISE))
    entry = only(found)
    assert (entry.verdict, entry.higher_is_better) == (Verdict.WORSE, False)
    assert entry.difference.mean == pytest.approx(-0.05 - np.mean(NOISE))
    assert entry.after > entry.before
    assert found.worst[0].after > found.worst[0].before
    assert found.worst[0].difference == pytest.approx(-(0.05 + NOISE.max()))


def test_chance_cannot_be_told_apart_and_changing_places_changes_only_the_signs(tmp_path):
    one, other = clips(STYLE, BASE), clips(STYLE, BASE + NOISE)
    there = only(compared(tmp_path / "there", one, other))
    back = only(compared(tmp_path / "back", other, one))
    assert there.verdict is back.verdict is Verdict.NOT_SIGNIFICANT
    assert there.difference.mean == pytest.approx(-back.difference.mean)
    assert (there.p, there.detectable) == (back.p, pytest.approx(back.detectable))
    assert 0.05 < there.q < 1


def test_the_same_run_under_another_name_has_no_difference_at_all(tmp_path):
    entry = only(compared(tmp_path, clips(STYLE, BASE), clips(STYLE, BASE)))
    assert (entry.difference.mean, entry.p, entry.detectable) == (0.0, 1.0, 0.0)
    assert entry.verdict is Verdict.NOT_SIGNIFICANT


def test_a_clip_that_one_side_lacks_is_counted_and_moves_nothing(tmp_path):
    before = clips(STYLE, BASE)
    after = clips(STYLE, BASE - 0.05)
    whole = only(compared(tmp_path / "a", before[2:], after[2:]))
    blind = Clip(metric=STYLE, case="c01", outcome=Abstention(Reason.MISSING_VIDEO, "no video"))
    extra = Clip(metric=STYLE, case="c99", outcome=Score(0.0))
    entry = only(compared(tmp_path / "b", before, [*after[2:], blind, extra]))
    assert (entry.pairs, entry.only_before, entry.only_after) == (22, 2, 1)
    assert entry.difference == whole.difference


def test_clips_are_paired_by_seed_and_a_missing_one_is_not_replaced_by_another(tmp_path):
    before = [*clips(STYLE, BASE, seed="0"), *clips(STYLE, BASE + 0.3, seed="1")]
    after = [*clips(STYLE, BASE, seed="0")[1:], *clips(STYLE, BASE, seed="2")]
    after.append(Clip(metric=STYLE, case="c00", seed="0", outcome=Abstention(Reason.MISSING_VIDEO, "no video")))
    entry = only(compared(tmp_path, before, after))
    assert (entry.pairs, entry.only_before, entry.only_after) == (23, 25, 24)
    assert entry.difference.mean == 0.0


def test_cases_whose_seeds_all_differ_are_paired_by_the_means_of_their_seeds(tmp_path):
    before = [*clips(STYLE, BASE - 0.1, seed="0"), *clips(STYLE, BASE + 0.1, seed="1")]
    found = compared(tmp_path, before, clips(STYLE, BASE - 0.2, seed="7"))
    entry = only(found)
    assert (entry.pairs, entry.only_before, entry.only_after) == (24, 0, 0)
    assert entry.difference.mean == pytest.approx(-0.2)
    assert found.worst[0].rollouts == ("m/" + found.worst[0].case + "/7",)


def test_cases_of_one_scene_are_one_difference_and_cannot_lend_each_other_weight(tmp_path):
    scenes = [f"s{number // 8}" for number in range(24)]

    def placed(values):
        return [
            Clip(metric=STYLE, case=f"c{n:02d}", outcome=Score(value), scene=scenes[n])
            for n, value in enumerate(values)
        ]

    entry = only(compared(tmp_path, placed(BASE), placed(BASE - 0.05)))
    assert (entry.difference.scored, entry.difference.scenes, entry.p) == (24, 3, 0.25)
    assert entry.verdict is Verdict.NOT_SIGNIFICANT


def test_nine_cases_are_not_estimable_and_ten_are(tmp_path):
    nine = compared(tmp_path / "nine", clips(STYLE, BASE[:9]), clips(STYLE, BASE[:9] - 0.1))
    entry = only(nine)
    assert (entry.verdict, entry.p, entry.q, entry.detectable) == (Verdict.NOT_ESTIMABLE, None, None, None)
    assert (nine.family, entry.why) == (0, "9 cases have a score in both, fewer than 10")
    assert entry.difference.mean == pytest.approx(-0.1)
    ten = only(compared(tmp_path / "ten", clips(STYLE, BASE[:10]), clips(STYLE, BASE[:10] - 0.1)))
    assert (ten.verdict, ten.p) == (Verdict.WORSE, 2 / 1024)


def test_one_scene_alone_is_not_estimable_however_many_cases_it_has(tmp_path):
    before, after = clips(STYLE, BASE, scene="s"), clips(STYLE, BASE - 0.2, scene="s")
    entry = only(compared(tmp_path, before, after))
    assert entry.verdict is Verdict.NOT_ESTIMABLE
    assert "one scene" in entry.why


def test_no_pair_at_all_is_not_estimable_and_no_crash(tmp_path):
    found = compared(tmp_path, clips(STYLE, BASE[:12]), clips(STYLE, BASE)[12:])
    entry = only(found)
    assert (entry.verdict, entry.difference, entry.pairs) == (Verdict.NOT_ESTIMABLE, None, 0)
    assert (entry.only_before, entry.only_after) == (12, 12)


def test_q_knows_how_many_tests_the_table_has(tmp_path):
    drop = np.where(np.arange(24) < 18, -0.02, 0.02)  # p of about 0.02
    before = [*clips(STYLE, BASE), *clips(LIGHT, BASE), *clips(PSNR, 20 + BASE)]
    after = [*clips(STYLE, BASE + drop), *clips(LIGHT, BASE + NOISE), *clips(PSNR, 20 + BASE + NOISE)]
    alone = compared(tmp_path / "alone", before[:24], after[:24])
    assert only(alone).verdict is Verdict.WORSE
    found = compared(tmp_path / "all", before, after)
    entry = next(entry for entry in found.dimensions if entry.metric == STYLE)
    assert (found.family, entry.q) == (3, pytest.approx(3 * entry.p))
    assert entry.verdict is Verdict.NOT_SIGNIFICANT


def test_different_locks_are_refused_with_what_differs_unless_asked_for(tmp_path):
    old = chosen_run(tmp_path / "before", [*clips(STYLE, BASE), *clips(LIGHT, BASE)], constants={"tau": 10})
    new = chosen_run(tmp_path / "after", clips(STYLE, BASE - 0.1), constants={"tau": 12})
    found = compare_runs(old, new)
    assert found.dimensions == ()
    style, light = found.not_compared
    assert (style.metric, style.lock_differences) == (STYLE, ((f"metrics.{STYLE}.metric.tau", 10, 12),))
    assert (light.metric, light.why) == (LIGHT, "only the first run has it")
    across = compare_runs(old, new, across_locks=True)
    assert only(across).verdict is Verdict.WORSE
    assert any("locks differ" in note for note in across.notes)


def test_a_metric_that_is_not_installed_has_no_better_direction_and_is_left_out(tmp_path):
    found = compared(tmp_path, clips("other.unheard_of", BASE), clips("other.unheard_of", BASE))
    (left,) = found.not_compared
    assert "not installed" in left.why


def test_only_clips_that_put_both_models_to_the_test_count_and_the_gate_has_a_row_of_its_own(tmp_path):
    fields = {"subset": "human"}
    closed = np.where(np.arange(24) < 4, 0.0, 1.0)
    before = [*clips(IDENTITY, BASE, **fields), *clips(GATE, np.ones(24), **fields)]
    spoilt = np.where(closed == 0, 0.0, BASE)
    after = [*clips(IDENTITY, spoilt, **fields), *clips(GATE, closed, **fields)]
    found = compared(tmp_path, before, after, "mbench-t")
    entries = {entry.metric: entry for entry in found.dimensions}
    assert (entries[IDENTITY].pairs, entries[IDENTITY].difference.mean) == (20, 0.0)
    assert entries[GATE].difference.mean == pytest.approx(-4 / 24)
    assert any("passed the gate" in note for note in found.notes)


@pytest.mark.parametrize(("reason", "counting"), [(Reason.NO_JUDGE, 24), (Reason.MISSING_VIDEO, 0)])
def test_without_a_judge_all_clips_count_and_none_where_the_judge_answered_for_nobody(tmp_path, reason, counting):
    unknown = Abstention(reason, "nobody looked")
    gate = [Clip(metric=GATE, case=f"c{n:02d}", outcome=unknown, subset="human") for n in range(24)]
    both = [*clips(IDENTITY, BASE, subset="human"), *gate]
    found = compared(tmp_path, both, both, "mbench-t")
    assert {entry.metric: entry.pairs for entry in found.dimensions} == {IDENTITY: counting, GATE: 0}


def test_a_gate_of_another_subset_closes_nothing(tmp_path):
    elsewhere = [Clip(metric=GATE, case=f"d{n:02d}", outcome=Score(float(n % 2)), subset="object") for n in range(24)]
    both = [*clips(IDENTITY, BASE, subset="human"), *elsewhere]
    other = compared(tmp_path / "other", both, both, "mbench-t")
    assert {(entry.metric, entry.subset): entry.pairs for entry in other.dimensions} == {
        (IDENTITY, "human"): 24,
        (GATE, "object"): 24,
    }


def test_another_gate_makes_it_another_measurement(tmp_path):
    before = [*clips(IDENTITY, BASE, subset="human"), *clips(GATE, np.ones(24), subset="human")]
    found = compared(tmp_path, before, clips(IDENTITY, BASE, subset="human"))
    assert found.dimensions == ()
    assert "locks differ" in {entry.metric: entry.why for entry in found.not_compared}[IDENTITY]


def test_worst_clips_come_first_as_shares_of_what_their_metrics_span_and_name_both_videos(tmp_path):
    psnr, style = 30 + BASE, BASE.copy()
    psnr[3] -= 5.0  # 5 of 100 dB
    style[7] -= 0.2  # a fifth of the whole range
    style[9] -= 0.01
    before = [*clips(PSNR, 30 + BASE, model="old"), *clips(STYLE, BASE, model="old")]
    after = [*clips(PSNR, psnr, model="new"), *clips(STYLE, style, model="new")]
    found = compared(tmp_path, before, after)
    assert [(clip.metric, clip.case) for clip in found.worst] == [(STYLE, "c07"), (PSNR, "c03"), (STYLE, "c09")]
    first = found.worst[0]
    assert (first.rollouts, first.video, first.video_before) == (("new/c07/0",), "new/c07.mp4", "old/c07.mp4")
    assert (first.before, first.after) == (BASE[7], style[7])
    assert found.worst[1].share == pytest.approx(-0.05)
    shorter = compare_runs(chosen_run(tmp_path / "x", before), chosen_run(tmp_path / "y", after), worst=1)
    assert (len(shorter.worst), shorter.got_worse) == (1, 3)


def test_a_metric_without_ends_is_measured_against_its_largest_value(tmp_path):
    before, after = np.full(24, 2.0), np.full(24, 2.0)
    after[0] = 4.0
    found = compared(tmp_path, clips(LPIPS, before), clips(LPIPS, after))
    assert found.worst[0].share == pytest.approx(-0.5)


def test_models_of_one_run_are_compared_by_name(tmp_path):
    run = chosen_run(tmp_path / "run", [*clips(STYLE, BASE, model="a"), *clips(STYLE, BASE - 0.1, model="b")])
    assert only(compare_runs(run, run, ("a", "b"))).verdict is Verdict.WORSE
    assert only(compare_runs(run, run, ("b", "a"))).verdict is Verdict.BETTER
    with pytest.raises(UserError, match="name them: --models"):
        compare_runs(run, run)
    with pytest.raises(UserError, match="No model of the run is named 'c'"):
        compare_runs(run, run, ("a", "c"))
    with pytest.raises(UserError, match="Expected two models to compare"):
        compare_runs(run, run, ("a",))


def test_every_model_is_compared_with_that_of_its_name_and_others_are_told(tmp_path):
    before = [*clips(STYLE, BASE, model="a"), *clips(STYLE, BASE, model="b"), *clips(STYLE, BASE, model="gone")]
    after = [*clips(STYLE, BASE - 0.1, model="a"), *clips(STYLE, BASE + 0.1, model="b")]
    found = compared(tmp_path, before, after)
    assert [(entry.model, entry.verdict) for entry in found.dimensions] == [("a", Verdict.WORSE), ("b", Verdict.BETTER)]
    assert found.family == 2
    assert any("also has gone" in note for note in found.notes)
    with pytest.raises(UserError, match="No model is in both runs"):
        compared(tmp_path / "x", before, clips(STYLE, BASE, model="z"))


def test_single_models_are_compared_whatever_their_names(tmp_path):
    entry = only(compared(tmp_path, clips(STYLE, BASE, model="v1"), clips(STYLE, BASE, model="v2")))
    assert entry.model == "v1 → v2"


def test_a_case_that_is_of_another_scene_in_the_other_run_is_refused(tmp_path):
    with pytest.raises(UserError, match="different case in each run"):
        compared(tmp_path, clips(STYLE, BASE, scene="s"), clips(STYLE, BASE))


def test_two_subsets_are_two_dimensions(tmp_path):
    def both(shift):
        return [
            Clip(metric=STYLE, case=f"{subset}{n}", outcome=Score(value + shift), subset=subset)
            for subset in ("easy", "hard")
            for n, value in enumerate(BASE)
        ]

    found = compared(tmp_path, both(0.0), both(-0.1))
    assert [entry.subset for entry in found.dimensions] == ["easy", "hard"]


def test_the_same_runs_give_the_same_comparison(tmp_path):
    old, new = chosen_run(tmp_path / "b", clips(STYLE, BASE)), chosen_run(tmp_path / "a", clips(STYLE, BASE + NOISE))
    assert compare_runs(old, new) == compare_runs(old, new)
    reordered = chosen_run(tmp_path / "a2", clips(STYLE, BASE + NOISE)[::-1])
    assert compare_runs(old, reordered).dimensions == compare_runs(old, new).dimensions


def test_before_and_after_are_the_means_of_the_tables_however_many_seeds_cases_and_scenes_have(tmp_path):
    rng = np.random.default_rng(8)
    places = [(case, str(seed), f"scene {case % 6}") for case in range(20) for seed in range(1 + case % 3)]
    both = [
        [
            Clip(metric=STYLE, case=f"c{case:02d}", seed=seed, scene=scene, outcome=Score(float(rng.random())))
            for case, seed, scene in places
        ]
        for _ in range(2)
    ]
    runs = [chosen_run(tmp_path / name, own) for name, own in zip(("before", "after"), both, strict=True)]
    entry = only(compare_runs(*runs))
    assert [entry.before, entry.after] == pytest.approx([run.table().cells[0].estimate.mean for run in runs])
    assert entry.difference.mean == pytest.approx(entry.after - entry.before)


def test_cases_whose_seeds_all_differ_count_as_often_as_both_have_clips(tmp_path):
    twice = [*clips(STYLE, BASE[:12], seed="0"), *clips(STYLE, BASE[:12] + 0.1, seed="1")]
    once = clips(STYLE, BASE, seed="0")[12:]
    after = [Clip(**{**vars(clip), "seed": f"9{clip.seed}"}) for clip in (*twice, *once)]
    entry = only(compared(tmp_path, [*twice, *once], after))
    assert entry.before == pytest.approx((2 * BASE[:12].sum() + 1.2 + BASE[12:].sum()) / 36)


def test_few_scenes_and_scenes_unique_to_a_seed_are_named(tmp_path):
    found = compared(tmp_path, clips(STYLE, BASE[:12]), clips(STYLE, BASE[:12] + NOISE[:12]))
    assert any("1 of 1 dimension has fewer than 20 scenes" in note for note in found.notes)
    own = [Clip(metric=STYLE, case=f"c{n}", seed=str(n % 4), outcome=Score(float(BASE[n]))) for n in range(24)]
    found = compared(tmp_path / "seeds", own, own)
    assert [note for note in found.notes if "a scene of its own" in note] == [
        "Every rollout of m has a scene of its own, although there are several seeds. If seeds show the same scene, "
        "intervals are too narrow: give their rollouts one scene name."
    ]


def test_runs_that_are_equal_have_no_interval_and_no_verdict(tmp_path):
    entry = only(compared(tmp_path, clips(STYLE, BASE), clips(STYLE, BASE)))
    assert (entry.difference.mean, entry.difference.low, entry.verdict) == (0.0, None, Verdict.NOT_SIGNIFICANT)
    assert entry.difference.scene_means == (0.0,)
