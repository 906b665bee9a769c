"""The commands of the original MBench tool, as its README has them, apart from the program's name."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from lookaway.core import Resources, UserError
from lookaway.engine.inline import Inline
from lookaway.engine.run import Run
from lookaway.judges.oracle import OracleServer
from lookaway.judges.settings import JudgeSettings
from lookaway.world.exports import export_world
from lookaway.world.recipe import PERFECT
from tests.support.command import Result, lookaway
from tests.support.hub import empty_hub, publish
from tests.support.onnx_networks import tiny_buffalo
from tests.support.rendered import copy_small
from tests.support.scripted import ANSWERS, install
from tests.support.tiny import write_folder, write_mbench

pytestmark = pytest.mark.render

LIST = "mbench list-metrics"
VALIDATE = """mbench validate data/MBench-A-Setup \
    --metrics mbencha.environment.spatial_epipolar \
    --models my_model --subsets environment --limit 4"""
EVALUATE = """mbench eval data/MBench-A-Setup \
    --metrics mbencha.environment.spatial_epipolar \
    --models my_model --subsets environment \
    --output runs/my_first_run"""
EVALUATE_WITH_TRIGGER = """mbench eval data/MBench-T-Setup \
    --metrics mbencht.entity.human_identity_consistency \
    --models my_model --subsets human \
    --vlm-judge openai-compatible \
    --output runs/my_t_run_with_trigger"""
WITH_FLAGS = """mbench eval data/MBench-T-Setup --metrics mbencht.entity.human_identity_consistency --subsets human \
    --vlm-judge openai-compatible --vlm-base-url "{url}" --vlm-api-key "{key}" --vlm-model "gpt-4o" \
    --vlm-n-frames 8 --vlm-max-retries 3 --quiet --output runs/flags"""
KEY = "sk-of-the-front-0123456789"
EPIPOLAR, IDENTITY = "mbencha.environment.spatial_epipolar", "mbencht.entity.human_identity_consistency"
LIGHT = "mbencha.environment.rendering_lighting"
METRICS = {
    *(f"mbench{s}.entity.human_{what}_consistency" for s in "at" for what in ("identity", "appearance")),
    *(f"mbench{s}.entity.object_{what}_consistency" for s in "at" for what in ("texture", "geometry")),
    *(f"mbench{s}.environment.spatial_{what}" for s in "at" for what in ("epipolar", "reprojection")),
    *(f"mbench{s}.environment.rendering_{what}" for s in "at" for what in ("style", "lighting")),
    *(f"mbench{s}.causal.{what}" for s in "at" for what in ("prompt_interaction", "state_progress")),
    *(f"mbench{s}.causal.progress_correctness" for s in "at"),
    "mbencha.causal.camera_interaction",
}


def type_in(command: str) -> Result:
    """Type a command of the original with `lookaway` before it."""
    return lookaway(*shlex.split(command))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A room where nothing happens and one where something does, from which the camera looks away and back."""
    root = tmp_path_factory.mktemp("front") / "world"
    copy_small(root, events=("none",))
    copy_small(root, cameras=("yaw_right_60", "yaw_left_60"))
    return root


@pytest.fixture(scope="module")
def workspace(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both sets as the README has them, and a model called my_model."""
    root = tmp_path_factory.mktemp("workspace")
    for setting in "AT":
        place = root / "data" / f"MBench-{setting}-Setup"
        export_world(world, f"mbench-{setting.lower()}", place)
        (place / "models" / PERFECT).rename(place / "models" / "my_model")
        add_people(place)
    return root


def add_people(place: Path) -> None:
    """The world's sets have no people: its targets stand in for them, as far as layout and judge are concerned."""
    shutil.copytree(place / "samples" / "causal", place / "samples" / "human")
    path = place / "models" / "my_model" / "samples.jsonl"
    lines = [{**json.loads(line), "model_id": "my_model"} for line in path.read_text().splitlines()]
    people = [
        {**line, "subset": "human", "item_id": line["item_id"].replace("causal:", "human:")}
        for line in lines
        if line["subset"] == "causal"
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in [*lines, *people]))


@pytest.fixture(autouse=True)
def at_the_workspace(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of a judge is set, and what one test writes no other test sees."""
    monkeypatch.chdir(workspace)
    for name in ("LOOKAWAY_JUDGE_URL", "LOOKAWAY_JUDGE_KEY", "LOOKAWAY_JUDGE_MODEL", "LOOKAWAY_JUDGE_FILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("MBENCH_VLM_BASE_URL", "MBENCH_VLM_API_KEY", "MBENCH_VLM_MODEL"):
        monkeypatch.delenv(name, raising=False)
    shutil.rmtree("runs", ignore_errors=True)


@pytest.fixture
def judge(world: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OracleServer]:
    """A judge that the variables of the original name."""
    with OracleServer(world, key=KEY) as server:
        monkeypatch.setenv("MBENCH_VLM_BASE_URL", server.base_url)
        monkeypatch.setenv("MBENCH_VLM_API_KEY", KEY)
        monkeypatch.setenv("MBENCH_VLM_MODEL", "gpt-4o")
        yield server


@pytest.fixture
def faces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiny networks that find the same two faces in every frame."""
    empty_hub(tmp_path / "home", monkeypatch)
    publish(tiny_buffalo(), monkeypatch)


def lines(path: str) -> list[dict]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def group(run: str, metric: str) -> dict:
    summary = json.loads((Path("runs") / run / "metrics" / metric / "summary.json").read_text())
    (found,) = summary["groups"].values()
    return found


def test_all_metrics_of_both_settings_are_listed_with_one_line_each():
    result = type_in(LIST)
    assert result.code == 0
    listed = dict(line.split(maxsplit=1) for line in result.out.splitlines()[1:])
    assert listed.keys() == METRICS
    assert len(METRICS) == 23
    assert all(listed.values())


def test_the_quick_start_validates_and_evaluates():
    checked = type_in(VALIDATE)
    assert (checked.code, checked.err) == (0, "")
    assert [EPIPOLAR, "environment", "1", "of", "1"] in [line.split() for line in checked.out.splitlines()]
    result = type_in(EVALUATE)
    assert (result.code, result.err) == (0, "")
    assert EPIPOLAR in result.out
    place = Path("runs/my_first_run")
    assert {"items.jsonl", "eval.log", "metrics"} <= {path.name for path in place.iterdir()}
    assert [path.name for path in (place / "metrics").iterdir()] == [EPIPOLAR]
    files = {path.name for path in (place / "metrics" / EPIPOLAR).iterdir()}
    assert files == {"units.jsonl", "items.jsonl", "summary.json"}
    (item,) = lines(f"runs/my_first_run/metrics/{EPIPOLAR}/items.jsonl")
    assert item["model_id"] == "my_model"
    assert item["item_id"].startswith("environment:")
    assert item["scores"].keys() == {"score", "score_raw"}
    assert all(0 <= unit["scores"]["score"] <= 1 for unit in lines(f"runs/my_first_run/metrics/{EPIPOLAR}/units.jsonl"))
    assert group("my_first_run", EPIPOLAR)["score"] == item["scores"]["score"]


def test_the_output_folder_is_a_run_that_our_own_commands_show_and_that_goes_on():
    type_in(EVALUATE)
    (cell,) = lookaway("show", "runs/my_first_run", "--json").json["cells"]
    assert cell["estimate"]["mean"] == group("my_first_run", EPIPOLAR)["score"]
    before = len(lines("runs/my_first_run/events.jsonl"))
    assert type_in(EVALUATE).code == 0
    assert len(lines("runs/my_first_run/events.jsonl")) == before


@pytest.mark.usefixtures("faces")
def test_the_quick_start_with_a_trigger_asks_the_judge_that_the_variables_name(judge):
    result = type_in(EVALUATE_WITH_TRIGGER)
    assert (result.code, result.err) == (0, "")
    items = lines(f"runs/my_t_run_with_trigger/metrics/{IDENTITY}/items.jsonl")
    assert len(items) == 2
    assert all(item["scores"]["triggered"] == item["scores"]["trigger_score"] == 1.0 for item in items)
    found = group("my_t_run_with_trigger", IDENTITY)
    assert found["s_rel"] == pytest.approx(sum(item["scores"]["score"] for item in items) / 2)
    assert found["m_score"] == pytest.approx(2 * found["s_rel"] / (found["s_rel"] + 1))
    assert (found["c_trig"], found["triggered"], found["mode"]) == (1.0, 1.0, "trigger-conditioned")
    assert [path.name for path in Path("runs/my_t_run_with_trigger/metrics").iterdir()] == [IDENTITY]
    assert KEY not in result.out + "".join(
        path.read_text(errors="replace") for path in Path("runs").rglob("*") if path.is_file()
    )


def test_without_vlm_judge_nobody_is_asked_and_the_run_says_raw_consistency(judge):
    result = type_in(EVALUATE_WITH_TRIGGER.replace("--vlm-judge openai-compatible", ""))
    assert (result.code, result.err) == (0, "")
    assert judge.request_log.received.total() == 0
    assert "Raw consistency" in result.out
    assert group("my_t_run_with_trigger", IDENTITY)["mode"] == "raw consistency"


def test_ignore_trigger_forces_the_gate_off(judge):
    assert type_in(f"{EVALUATE_WITH_TRIGGER} --ignore-trigger").code == 0
    assert judge.request_log.received.total() == 0
    assert group("my_t_run_with_trigger", IDENTITY)["mode"] == "raw consistency"


def test_in_setting_a_every_rollout_counts_as_published_even_with_a_judge(judge):
    assert type_in(f"{EVALUATE.replace(EPIPOLAR, LIGHT)} --vlm-judge openai-compatible").code == 0
    assert judge.request_log.received.total() == 0
    table = Run(Path("runs/my_first_run")).table()
    assert [(cell.gated, cell.scored) for cell in table.cells] == [(None, 1)]
    (item,) = lines(f"runs/my_first_run/metrics/{LIGHT}/items.jsonl")
    assert "triggered" not in item["scores"]


def test_a_judge_that_setting_a_has_no_use_for_need_not_be_named():
    assert evaluated("--vlm-judge openai-compatible")
    assert evaluated("--vlm-judge openai-compatible --ignore-trigger --subsets human", "T", IDENTITY)


def test_retries_come_after_the_first_try(monkeypatch):
    asked = []

    def refuse(*_, judge: JudgeSettings, **__):
        asked.append(judge)
        raise UserError("enough is known")

    monkeypatch.setattr("lookaway.engine.evaluate.evaluate", refuse)
    command = WITH_FLAGS.format(url="http://127.0.0.1:9/v1", key=KEY).replace("max-retries 3", "max-retries 1")
    assert type_in(command).err == "error: enough is known\n"
    (judge,) = asked
    assert judge.policy.tries == 2


def test_a_measurement_that_crashes_exits_with_3_and_the_rest_is_written(monkeypatch):
    install(monkeypatch, "metrics", mean_brightness="tests.support.scripted:MeanBrightness")
    install(monkeypatch, "extractors", brightness="tests.support.scripted:Brightness")
    ANSWERS["mean_brightness"] = lambda rollout: [][0]
    result = type_in(f"mbench eval data/MBench-A-Setup --metrics mean_brightness,{LIGHT} --output runs/crashed")
    assert result.code == 3
    assert group("crashed", LIGHT)["n"] == 1
    assert "failed" in result.out


def test_a_metric_that_is_what_a_judge_says_asks_it_without_a_gate(judge):
    command = "mbench eval data/MBench-A-Setup --metrics mbencha.causal.state_progress --quiet --output runs/rated"
    assert type_in(command).code == 0
    assert judge.request_log.received.total() > 0
    assert group("rated", "mbencha.causal.state_progress")["score"] > 0.5


def test_flags_say_who_is_asked_where_no_variable_does(world):
    with OracleServer(world, key=KEY) as server:
        result = type_in(WITH_FLAGS.format(url=server.base_url, key=KEY))
        assert (result.code, result.out, result.err) == (0, "", "")
        assert server.request_log.received.total() > 0
    assert group("flags", IDENTITY)["c_trig"] == 1.0


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("--vlm-judge openai-compatible", "--vlm-judge needs a model"),
        ("--vlm-judge other", "'other' is not"),
        ("--vlm-n-frames 16", "The protocol shows a judge 8 frames, found --vlm-n-frames 16"),
        ("--subsets human --models nobody", "No model is named 'nobody'"),
        ("--conditions textt", "No condition is named 'textt'. Did you mean 'text'?"),
        ("--sample-ids nothing", "No sample is named 'nothing'"),
        ("--limit 0", "0 is not in the range"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_written(more, said):
    result = type_in(f"mbench eval data/MBench-T-Setup --metrics {IDENTITY} --output runs/none {more}")
    assert (result.code, result.out) == (2, "")
    assert said in result.err
    assert not Path("runs/none").exists()


def evaluated(more: str, setting: str = "A", metric: str = LIGHT) -> set[str]:
    """Items of a quick run."""
    shutil.rmtree("runs/part", ignore_errors=True)
    command = f"mbench eval data/MBench-{setting}-Setup --metrics {metric} --quiet --output runs/part {more}"
    result = type_in(command)
    assert (result.code, result.out, result.err) == (0, "", "")
    return {line["item_id"] for line in lines("runs/part/items.jsonl")}


def test_conditions_samples_and_limit_narrow_what_is_measured():
    metric = "mbencha.causal.prompt_interaction"
    every = evaluated("", metric=metric)
    assert len(every) == 2
    one = min(every)
    _, sample, condition = one.split(":")
    assert evaluated(f"--sample-ids {sample}", metric=metric) == {one}
    assert evaluated(f"--conditions {condition}", metric=metric) == {one}
    assert len(evaluated("--limit 1", metric=metric)) == 1
    other = max(every)
    assert evaluated(f"--limit 1 --sample-ids {other.split(':')[1]}", metric=metric) == {other}


def test_no_log_file_leaves_the_log_out_and_quiet_prints_nothing():
    assert evaluated("--no-log-file")
    assert not Path("runs/part/eval.log").exists()
    assert evaluated("--no-progress-bar")
    assert Path("runs/part/eval.log").exists()


def test_metrics_of_the_other_setting_are_left_out_with_a_note():
    command = "mbench eval data/MBench-A-Setup --subsets environment --output runs/mixed --quiet --metrics "
    result = type_in(f"{command}{LIGHT},{IDENTITY}")
    assert result.code == 0
    assert result.err == f"note: left out, since they belong to the other setting: {IDENTITY}\n"
    assert [path.name for path in Path("runs/mixed/metrics").iterdir()] == [LIGHT]
    refused = type_in(f"{command}{IDENTITY}")
    assert refused.code == 2
    assert "whose metric names start with 'mbencha.'" in refused.err


def test_validate_is_strict_and_knows_no_gate():
    poses = next(Path("data/MBench-A-Setup/models").rglob("environment/**/da3/results.npz"))
    hidden = poses.with_suffix(".hidden")
    poses.rename(hidden)
    try:
        result = type_in(VALIDATE)
    finally:
        hidden.rename(poses)
    assert result.code == 2
    assert "0 of 1" in result.out
    text = "mbench validate data/MBench-T-Setup --metrics mbencht.environment.rendering_lighting --subsets environment"
    assert type_in(text).code == 0


def test_problems_of_other_models_and_subsets_are_not_those_of_the_command(tmp_path):
    writer = write_mbench(tmp_path / "set", models=("my_model", "other"), samples=1, subsets=("environment", "object"))
    command = f"mbench validate {writer.root} --metrics rendering_lighting --subsets"
    assert type_in(f"{command} environment").code == 0
    assert "metadata.object_anchor is missing" in type_in(f"{command} environment,object").out
    (writer.root / "models" / "other" / "samples.jsonl").write_text("{}\n")
    assert type_in(f"{command} environment").code == 2
    assert type_in(f"{command} environment --models my_model").code == 0


def test_more_than_one_worker_is_work_for_ray(monkeypatch):
    install(monkeypatch, "executors", ray=f"{__name__}:CountedInline")
    evaluated("--workers 1")
    assert CountedInline.made == 0
    evaluated("--workers 2")
    assert CountedInline.made == 1


class CountedInline(Inline):
    """Counts how often it is made."""

    made = 0

    def __init__(self, resources: Resources) -> None:
        super().__init__()
        assert resources == Resources(workers=2)
        type(self).made += 1


def test_what_is_not_done_says_so_with_what_to_use_instead():
    result = type_in("mbench prepare data/MBench-A-Setup --producer da3 --output artifacts/")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: There is nothing to prepare: `lookaway eval` computes")
    assert not Path("artifacts").exists()


def test_a_folder_that_is_not_of_mbench_is_refused(tmp_path):
    write_folder(tmp_path / "videos")
    result = type_in(f"mbench validate {tmp_path / 'videos'} --metrics {LIGHT}")
    assert result.code == 2
    assert "not an MBench dataset" in result.err
