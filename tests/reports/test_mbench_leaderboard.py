from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from lookaway.core import Abstention, Outcome, Reason, Score, UnknownName, UserError
from lookaway.engine.reading import load_suite
from lookaway.engine.run import Run
from lookaway.reports.export.mbench_leaderboard import Entry, make_submission, write_submission
from tests.support.command import lookaway
from tests.support.hand_made import hand_made_run, scores

ENTRY = Entry(model="m", link="https://example.org/m")
ABSENT = Abstention(Reason.NO_TARGET, "nobody.")


def full_run(path: Path, suite: str, *, gates: bool = True, **changes: dict[tuple[str, str], Outcome]) -> Run:
    """All metrics of a setting on ten samples, half of which trigger; 0.9, 0.6 and 0.3 on the three axes."""
    value = {"entity": 0.9, "environment": 0.6, "causal": 0.3}
    outcomes = {}
    for bound in (bound for bound in load_suite(suite).metrics({}) if bound.is_of("published")):
        last = bound.name.split(".")[-1]
        if bound.is_gate and gates:
            outcomes[bound.name] = scores("m", *[1.0, 0.0] * 5)
        elif not bound.is_gate:
            outcomes[bound.name] = changes.get(last, scores("m", *[value[bound.name.split(".")[1]]] * 10))
    return hand_made_run(path, suite, {name: found for name, found in outcomes.items() if found})


def harmonic(score: float, share: float = 0.5) -> float:
    return 2 * score * share / (score + share)


def test_the_total_is_the_mean_of_the_axes_in_hundredths(tmp_path):
    made = make_submission(full_run(tmp_path / "run", "mbench-t"), ENTRY)
    expected = 100 * (harmonic(0.9) + harmonic(0.6) + harmonic(0.3)) / 3
    assert made["total_m_score"] == pytest.approx(expected, abs=1e-9)
    assert made["shortcomings"] == []
    assert made["model_type"] == "text-conditioned"
    assert made["axes"]["entity"]["m_score"] == pytest.approx(100 * harmonic(0.9))
    assert made["axes"]["entity"]["n"] == made["axes"]["entity"]["N"] > 0
    epipolar = made["metrics"]["mbencht.environment.spatial_epipolar"]
    assert (epipolar["n"], epipolar["N"], epipolar["c_trig"]) == (5, 10, 50.0)
    assert epipolar["s_rel"] == pytest.approx(60)
    assert epipolar["m_score_low"] < epipolar["m_score"] < epipolar["m_score_high"]


def test_an_axis_with_fewer_metrics_weighs_as_much_as_the_others(tmp_path):
    made = make_submission(full_run(tmp_path / "run", "mbench-t", state_progress=scores("m", *[1.0] * 10)), ENTRY)
    causal = [value["m_score"] for name, value in made["metrics"].items() if ".causal." in name]
    assert made["axes"]["causal"]["m_score"] == pytest.approx(sum(causal) / len(causal))
    axes = [axis["m_score"] for axis in made["axes"].values()]
    assert made["total_m_score"] == pytest.approx(sum(axes) / 3)
    every = [value["m_score"] for value in made["metrics"].values()]
    assert made["total_m_score"] != pytest.approx(sum(every) / len(every))


def test_setting_a_has_no_gate_and_its_number_is_the_mean_score(tmp_path):
    made = make_submission(full_run(tmp_path / "run", "mbench-a"), ENTRY)
    assert made["total_m_score"] == pytest.approx(60)
    assert (made["shortcomings"], made["model_type"]) == ([], "action-conditioned")


def test_a_model_that_is_never_put_to_the_test_gets_nothing(tmp_path):
    name, gate = "mbencht.entity.human_identity_consistency", "mbencht.human.trigger"
    run = hand_made_run(tmp_path / "run", "mbench-t", {name: scores("m", 1.0, 1.0), gate: scores("m", 0.0, 0.0)})
    made = make_submission(run, ENTRY)
    assert made["metrics"][name]["m_score"] == made["axes"]["entity"]["m_score"] == made["total_m_score"] == 0.0
    assert made["metrics"][name]["s_rel"] is None


def test_a_metric_whose_judge_answered_nobody_has_no_number_and_the_submission_says_why(tmp_path):
    name, gate = "mbencht.entity.human_identity_consistency", "mbencht.human.trigger"
    refused = dict.fromkeys([("m", "s0"), ("m", "s1")], Abstention(Reason.JUDGE_REFUSED, "no."))
    made = make_submission(hand_made_run(tmp_path, "mbench-t", {name: scores("m", 0.9, 0.9), gate: refused}), ENTRY)
    assert made["metrics"][name] == {"m_score": None, "n": 0, "N": 2}
    assert f"{name}: no score of 2 rollouts (gate judge_refused 2)" in made["shortcomings"]


def test_the_same_run_gives_the_same_bytes(tmp_path):
    run = full_run(tmp_path / "run", "mbench-t")
    for name in ("one", "two"):
        assert write_submission(run, ENTRY, tmp_path / f"{name}.zip") == ()
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "one.zip") as archive:
        (member,) = archive.infolist()
        assert (member.filename, member.date_time) == ("leaderboard_submission.json", (1980, 1, 1, 0, 0, 0))
        content = json.loads(archive.read(member))
    assert (content["model_name"], content["model_link"]) == ("m", "https://example.org/m")


def test_a_run_without_a_gate_is_refused_and_written_only_by_force_which_it_tells(tmp_path):
    run, output = full_run(tmp_path / "run", "mbench-t", gates=False), tmp_path / "out.zip"
    arguments = ("export", "mbench-leaderboard", run.path, "-o", output, "--model", "m")
    result = lookaway(*arguments)
    assert result.code == 2
    assert "mbencht.entity.human_identity_consistency: raw consistency" in result.err
    assert not output.exists()
    forced = lookaway(*arguments, "--force", "--model-link", "https://example.org", "--model-type", "mine")
    assert forced.code == 0
    assert "lacks mbencht.entity.human_identity_consistency: raw consistency" in forced.out
    with zipfile.ZipFile(output) as archive:
        content = json.loads(archive.read("leaderboard_submission.json"))
    assert len(content["shortcomings"]) == len(content["metrics"])
    assert (content["model_type"], content["model_link"]) == ("mine", "https://example.org")


def test_a_total_over_missing_metrics_is_never_silent(tmp_path):
    run = full_run(tmp_path / "run", "mbench-t", rendering_style={}, state_progress={("m", "s0"): ABSENT})
    lacking = r"rendering_style: not in the run; .*state_progress: no score of 10 rollouts \(no_target 1, not_yet_meas"
    with pytest.raises(UserError, match=lacking):
        write_submission(run, ENTRY, tmp_path / "out.zip")
    lacks = write_submission(run, ENTRY, tmp_path / "out.zip", force=True)
    assert [lack.split(":")[0].split(".")[-1] for lack in lacks] == ["rendering_style", "state_progress"]
    made = make_submission(run, ENTRY)
    assert (made["axes"]["environment"]["n"], made["axes"]["environment"]["N"]) == (3, 4)
    assert made["metrics"]["mbencht.environment.rendering_style"] == {"m_score": None, "n": 0, "N": 0}


def some(known: int) -> dict[tuple[str, str], Outcome]:
    """Scores of the first samples, every second of which triggers; the others have none."""
    return {("m", f"s{number}"): Score(0.5) if number < known else ABSENT for number in range(10)}


def test_a_rollout_that_the_gate_left_out_is_known_and_one_that_has_no_score_is_not(tmp_path):
    # Of ten samples five trigger: s0, s2, s4, s6, s8; the last of them has no score.
    run = full_run(tmp_path / "run", "mbench-t", spatial_epipolar=some(8))
    assert make_submission(run, ENTRY, min_share=0.9)["shortcomings"] == []
    (lack,) = make_submission(run, ENTRY, min_share=0.95)["shortcomings"]
    assert lack == "mbencht.environment.spatial_epipolar: 9 of 10 rollouts are known, fewer than 95%"


def test_in_setting_a_every_rollout_without_a_score_is_missing(tmp_path):
    run = full_run(tmp_path / "run", "mbench-a", spatial_epipolar=some(8))
    (lack,) = make_submission(run, ENTRY)["shortcomings"]
    assert lack == "mbencha.environment.spatial_epipolar: 8 of 10 rollouts are known, fewer than 90%"


def test_other_models_of_the_run_change_nothing_and_unknown_ones_are_refused(tmp_path):
    both = {**scores("m", *[0.6] * 10), **scores("other", *[0.0] * 10)}
    run = full_run(tmp_path / "run", "mbench-a", spatial_epipolar=both)
    assert make_submission(run, ENTRY)["total_m_score"] == pytest.approx(60)
    with pytest.raises(UnknownName, match=r"No model of the run is named 'mm'\. Did you mean 'm'"):
        make_submission(run, Entry(model="mm"))


def test_nothing_at_all_is_refused_even_by_force(tmp_path):
    run = hand_made_run(tmp_path / "run", "mbench-t", {"mbencht.causal.state_progress": {("m", "s0"): ABSENT}})
    with pytest.raises(UserError, match="nothing to submit"):
        write_submission(run, ENTRY, tmp_path / "out.zip", force=True)


def test_a_link_that_is_none_is_refused():
    with pytest.raises(UserError, match="is not a link"):
        Entry(model="m", link="javascript:alert(1)")


def test_a_file_that_cannot_be_written_is_an_error_of_the_user(tmp_path):
    run = full_run(tmp_path / "run", "mbench-a")
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        write_submission(run, ENTRY, tmp_path / "file" / "out.zip")


def test_metrics_that_mbench_does_not_have_are_not_submitted(tmp_path):
    made = make_submission(full_run(tmp_path / "run", "mbench-a"), ENTRY)
    assert len(made["metrics"]) == 12
    assert all(name.startswith("mbencha.") for name in made["metrics"])
