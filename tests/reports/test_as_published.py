from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lookaway.core import BoundMetric, UserError
from lookaway.engine.binding import Overrides, bind_metrics
from lookaway.engine.locking import metric_entries
from lookaway.engine.reading import load_suite
from lookaway.engine.run import Run
from lookaway.io.checksums import with_hash
from lookaway.reports.as_published import is_corrected, not_as_published, require_published
from lookaway.reports.export.mbench import export_mbench
from lookaway.reports.export.mbench_leaderboard import Entry, make_submission
from lookaway.reports.export.mind_result import export_mind_result
from lookaway.reports.export.sana_results import export_sana_results
from lookaway.reports.verification import FigureVerdict, compare, is_reproduced
from tests.reports.test_verification import cell, published
from tests.support.command import lookaway
from tests.support.hand_made import hand_made_run, scores

LIGHT = "mbencha.environment.rendering_lighting"
CAMERA = "mbencha.causal.camera_interaction"
IDENTITY = "mbencha.entity.human_identity_consistency"
CORRECTED = "mbencha.corrected.environment.rendering_lighting"
RPE = "mind.action.rpe_trans"
COMMAND = "lookaway eval DATASET -o RUN --protocol published"


def of_suite(suite: str, settings: dict[str, Any] | None = None) -> dict[str, BoundMetric]:
    bounds = load_suite(suite).metrics(settings or {})
    return {bound.name: bound for bound in bounds if bound.is_of("published")}


def run_of(path: Path, suite: str, bounds: list[BoundMetric], *, settings=None, **requested: Any) -> Run:
    """A run whose lock is that of these metrics."""
    entries = {
        "suite": {"name": suite},
        "dataset": {"settings": settings or {}},
        "metrics": {bound.name: json.loads(json.dumps(metric_entries(bound))) for bound in bounds},
    }
    run = hand_made_run(path, suite, {bound.name: scores("m", 0.5, 0.5) for bound in bounds}, lock=entries)
    about = json.loads((path / "run.json").read_text())
    (path / "run.json").write_text(json.dumps(with_hash({**about, "requested": requested})))
    return run


@pytest.mark.parametrize("suite", ["mbench-a", "mbench-t", "memobench", "mind", "wrbench"])
def test_what_the_published_protocol_binds_is_as_published(suite, tmp_path):
    assert not_as_published(run_of(tmp_path, suite, [*of_suite(suite).values()])) == {}


def test_another_extractor_is_named_with_the_option_that_chose_it(tmp_path):
    known = of_suite("mbench-a")
    bounds = Overrides(using={"poses": known_extractor("tracked_poses")}).apply(tuple(known.values()))
    run = run_of(tmp_path, "mbench-a", list(bounds), using={"poses": "tracked_poses"})
    found = not_as_published(run)
    assert found[CAMERA] == "--use poses=tracked_poses"
    assert IDENTITY in known
    assert IDENTITY not in found
    assert not [name for name in found if name.startswith("further.")]


def known_extractor(name: str) -> Any:
    from lookaway.core import plugins

    return plugins.load("extractors", name)


@pytest.mark.parametrize(
    ("settings", "why"), [({"alignment": "none"}, "--alignment none"), ({"video_max_time": 8}, "--max-frames 8")]
)
def test_an_option_of_the_suite_is_named(settings, why, tmp_path):
    run = run_of(tmp_path, "mind", [*of_suite("mind", settings).values()], settings=settings)
    found = not_as_published(run)
    assert found
    assert set(found.values()) == {why}
    assert (RPE in found) == ("alignment" in settings) or "video_max_time" in settings


def test_how_files_are_laid_out_is_no_departure(tmp_path):
    settings = {"extrinsics_convention": "world_to_camera"}
    run = run_of(tmp_path, "mbench-a", [*of_suite("mbench-a", settings).values()], settings=settings)
    assert not_as_published(run) == {}


def test_which_scores_are_measured_is_no_departure(tmp_path):
    settings = {"scores": "revisit,sana"}
    run = run_of(tmp_path, "revisit", [*of_suite("revisit", settings).values()], settings=settings)
    assert "sana.revisit_psnr" in run.lock.entries["metrics"]
    assert not_as_published(run) == {}


def test_versions_decoder_weights_and_device_are_no_departure(tmp_path):
    text = json.dumps({name: metric_entries(bound) for name, bound in of_suite("mind").items()})
    for old, new in (
        ('"device": "cpu"', '"device": "cuda"'),
        ('"sha256": "', '"sha256": "0'),
        ('"numpy": "', '"numpy": "0'),
    ):
        assert old in text
        text = text.replace(old, new)
    run = run_of(tmp_path, "mind", [*of_suite("mind").values()])
    lock = run.lock
    object.__setattr__(lock, "entries", {**lock.entries, "metrics": json.loads(text)})
    (tmp_path / "lock.json").write_text(json.dumps(lock.to_json()))
    assert not_as_published(run) == {}


def test_a_constant_that_no_option_explains_is_named_with_both_values(tmp_path):
    bound = of_suite("mbench-a")[CAMERA]
    field = next(name for name, value in vars_of(bound.metric).items() if isinstance(value, float))
    changed = replace(bound, metric=replace(bound.metric, **{field: 123.0}))  # type: ignore[type-var]
    (why,) = not_as_published(run_of(tmp_path, "mbench-a", [changed])).values()
    assert why.startswith(f"metric.{field} is 123.0, published ")


def vars_of(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__dataclass_fields__}


def test_corrected_and_further_metrics_are_none_of_its_business(tmp_path):
    bounds = [bound for bound in load_suite("mbench-a").metrics({}) if bound.protocol in (None, "corrected")]
    assert not_as_published(run_of(tmp_path, "mbench-a", bounds)) == {}


def test_metrics_of_another_suite_are_held_against_that_suite(tmp_path):
    bound = of_suite("mind")[RPE]
    assert not_as_published(run_of(tmp_path / "same", "mbench-a", [bound])) == {}
    (other,) = (each for each in of_suite("mind", {"alignment": "none"}).values() if each.name == RPE)
    assert not_as_published(run_of(tmp_path / "other", "mbench-a", [other])).keys() == {RPE}


def test_names_of_corrected_metrics_are_told():
    assert is_corrected("mind.corrected.lcm.psnr")
    assert not is_corrected("mind.lcm.psnr")
    assert not is_corrected("corrected.lcm")


def corrected_run(path: Path) -> Run:
    return hand_made_run(path, "mbench-a", {CORRECTED: scores("m", *[0.5] * 10)})


def test_a_run_of_corrected_metrics_alone_is_refused_with_the_command(tmp_path):
    run = corrected_run(tmp_path / "run")
    for export in (
        lambda: export_mbench(run, tmp_path / "out"),
        lambda: make_submission(run, Entry(model="m")),
        lambda: require_published(run, [LIGHT]),
    ):
        with pytest.raises(UserError, match="has corrected metrics alone of mbench-a") as error:
            export()
        assert str(error.value).endswith(COMMAND)
    assert not (tmp_path / "out").exists()


def test_a_run_of_mind_without_published_metrics_is_refused(tmp_path):
    run = hand_made_run(tmp_path / "run", "mind", {"mind.corrected.lcm.psnr": scores("m", 0.5)})
    with pytest.raises(UserError, match="has corrected metrics alone of mind"):
        export_mind_result(run, tmp_path / "out")


def test_what_is_not_as_published_is_refused_with_why_and_the_command(tmp_path):
    bounds = Overrides(using={"poses": known_extractor("tracked_poses")}).apply((of_suite("mbench-a")[CAMERA],))
    run = run_of(tmp_path / "run", "mbench-a", list(bounds), using={"poses": "tracked_poses"})
    for export in (lambda: export_mbench(run, tmp_path / "out"), lambda: make_submission(run, Entry(model="m"))):
        with pytest.raises(UserError, match=f"not as published.*{CAMERA} \\(--use poses=tracked_poses\\)") as error:
            export()
        assert COMMAND in str(error.value)


def test_results_of_sana_that_are_not_as_published_are_refused_with_why_and_the_command(tmp_path):
    known = of_suite("revisit", {"scores": "sana"})["sana.rot_err"]
    (bound,) = Overrides(using={"poses": known_extractor("vggt_poses")}).apply((known,))
    settings = {"scores": "sana"}
    run = run_of(tmp_path / "run", "revisit", [bound], settings=settings, using={"poses": "vggt_poses"})
    with pytest.raises(UserError, match=r"not as published.*sana\.rot_err \(--use poses=vggt_poses\)") as error:
        export_sana_results(run, tmp_path / "out")
    assert str(error.value).endswith("lookaway eval DATASET -o RUN --suite revisit --scores sana --protocol published")
    assert not (tmp_path / "out").exists()


def test_the_layout_of_mbench_has_no_corrected_values(tmp_path):
    run = hand_made_run(tmp_path / "run", "mbench-a", {LIGHT: scores("m", 0.5), CORRECTED: scores("m", 0.6)})
    export_mbench(run, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out" / "metrics").iterdir()] == [LIGHT]
    assert CORRECTED not in (tmp_path / "out" / "eval.log").read_text()


def test_the_commands_of_mbench_know_published_metrics_alone():
    listed = lookaway("mbench", "list-metrics").out
    assert LIGHT in listed
    assert ".corrected." not in listed


def test_a_short_name_in_a_published_table_stands_for_the_published_metric(tmp_path):
    cells = [cell(LIGHT, mean=0.5), cell(CORRECTED, mean=0.9)]
    (entry,) = (e for e in compare(cells, published(tmp_path, "m,rendering_lighting,0.5"), 0.001) if e.theirs)
    assert (entry.metric, entry.verdict) == (LIGHT, FigureVerdict.AGREES)
    (entry,) = (e for e in compare(cells, published(tmp_path, f"m,{CORRECTED},0.9"), 0.001) if e.theirs)
    assert (entry.metric, entry.verdict) == (CORRECTED, FigureVerdict.AGREES)


@pytest.mark.parametrize("name", ["rendering_lighting", LIGHT])
def test_a_corrected_value_is_never_held_against_a_published_number(name, tmp_path):
    found = compare([cell(CORRECTED, mean=0.5)], published(tmp_path, f"m,{name},0.5"), 0.001)
    (entry,) = (e for e in found if e.theirs)
    assert entry.verdict is FigureVerdict.MISSING_HERE
    assert entry.note == f"the run has the corrected metric alone; measure the published one with: {COMMAND}"


def test_a_value_that_is_not_as_published_is_not_verified(tmp_path):
    rows = published(tmp_path, f"m,{LIGHT},0.5")
    (entry,) = compare([cell(LIGHT, mean=0.5)], rows, 0.001, departures={LIGHT: "--use poses=tracked_poses"})
    assert entry.verdict is FigureVerdict.NOT_AS_PUBLISHED
    assert entry.note == f"--use poses=tracked_poses; measure it with: {COMMAND}"
    assert not is_reproduced([entry])


def test_verify_refuses_it_and_goes_on_with_the_others(tmp_path):
    known = (of_suite("mbench-a")[CAMERA], of_suite("mbench-a")[IDENTITY])
    bounds = Overrides(using={"poses": known_extractor("tracked_poses")}).apply(known)
    run = run_of(tmp_path / "run", "mbench-a", list(bounds), using={"poses": "tracked_poses"})
    table = tmp_path / "published.csv"
    table.write_text(f"model,metric,score\nm,{CAMERA},0.5\nm,{IDENTITY},0.5\n")
    result = lookaway("verify", run.path, table)
    assert result.code == 3
    assert "1 not as published, 1 agrees" in result.out
    assert "--use poses=tracked_poses" in result.out


def test_what_is_measured_by_default_is_as_published(tmp_path):
    from lookaway.core import Dataset

    dataset = Dataset(suite="mind", root=tmp_path, rollouts=(), problems=(), identity={}, settings={})
    names = {bound.name for bound in bind_metrics(dataset)}
    assert {name for name in names if is_corrected(name)} == set()
