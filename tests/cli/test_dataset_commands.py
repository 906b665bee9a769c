from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import lookaway
from tests.support.runs import events, outcomes
from tests.support.tiny import QUICK, write_folder, write_mbench

CASE = "causal:sample0:left_then_right_10s"
METRICS = ("--metrics", ",".join(QUICK))
WITHOUT_NETWORKS = (
    "--metrics",
    "spatial_epipolar,spatial_reprojection,rendering_lighting,camera_interaction",
)


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    return write_mbench(tmp_path / "dataset", models=("alpha", "beta")).root


def test_validate_says_that_a_whole_dataset_is_whole(dataset):
    result = lookaway("validate", dataset, *WITHOUT_NETWORKS)
    assert result.code == 0
    assert result.err.splitlines() == [
        "note: nothing records how these videos were made. `lookaway collect` does, in provenance.jsonl."
    ]
    lines = result.out.splitlines()
    assert lines[0] == "suite mbench-a: 8 rollouts of 2 models"
    assert lines[1].split() == ["metric", "subset", "runnable", "why", "not", "first"]
    assert lines[2].split() == ["mbencha.environment.spatial_epipolar", "environment", "4", "of", "4"]


def test_validate_says_which_metrics_lack_weights_or_a_judge(dataset):
    result = lookaway("validate", dataset, "--json")
    assert result.code == 0
    reasons = {cell["metric"]: cell["reasons"] for cell in result.json["coverage"]}
    assert reasons["mbencha.environment.rendering_style"] == {"missing_weights": 4}
    assert reasons["mbencha.causal.state_progress"] == {"no_judge": 4}


def test_validate_exits_with_2_and_says_what_is_amiss(dataset):
    next(dataset.rglob("video.mp4")).unlink()
    with (dataset / "models" / "beta" / "samples.jsonl").open("a") as file:
        file.write('{"subset": "environment"}\n')
    result = lookaway("validate", dataset)
    assert result.code == 2
    assert "missing_video 1" in result.out
    assert "problem: models/beta/samples.jsonl:5: sample_id: Field required" in result.out


def test_validate_as_json_lists_every_problem(dataset):
    with (dataset / "models" / "beta" / "samples.jsonl").open("a") as file:
        file.write("not json\n" * 30)
    result = lookaway("validate", dataset, "--json", *WITHOUT_NETWORKS)
    assert result.code == 2
    assert len(result.json["problems"]) == 30
    assert {cell["runnable"] for cell in result.json["coverage"]} == {4}


def test_validate_for_people_lists_the_first_problems_and_counts_the_rest(dataset):
    with (dataset / "models" / "beta" / "samples.jsonl").open("a") as file:
        file.write("not json\n" * 30)
    lines = lookaway("validate", dataset).out.splitlines()
    assert sum(line.startswith("problem: models/beta") for line in lines) == 20
    assert lines[-1] == "problem: and 10 more; --json lists all"


def test_validate_opens_videos_when_asked(dataset):
    next(dataset.rglob("video.mp4")).write_bytes(b"no video")
    assert lookaway("validate", dataset, *WITHOUT_NETWORKS).code == 0
    result = lookaway("validate", dataset, "--open-videos", *WITHOUT_NETWORKS)
    assert result.code == 2
    assert "not_a_video 1" in result.out


def test_plan_says_how_long_and_how_much_and_writes_nothing(dataset, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    result = lookaway("plan", dataset, *METRICS)
    assert result.code == 0
    assert "to measure: 12 measurements on 8 rollouts" in result.out
    assert "CPU time: about" in result.out
    assert "judge: no calls" in result.out
    assert "estimated from 4 rollouts" in result.out  # both models gave the same answers
    assert sorted(tmp_path.rglob("*")) == before


def test_plan_leaves_out_what_the_run_holds(dataset, tmp_path):
    lookaway("eval", dataset, *METRICS, "--models", "alpha", "-o", tmp_path / "run", "--quiet")
    cost = lookaway("plan", dataset, *METRICS, "-o", tmp_path / "run", "--json").json["cost"]
    assert (cost["rollouts"], cost["measurements"]) == (4, 6)


def test_eval_prints_the_table_that_show_prints_again(dataset, tmp_path):
    result = lookaway("eval", dataset, *METRICS, "-o", tmp_path / "run", "--no-progress")
    assert (result.code, result.err) == (0, "")
    header, *cells, few, won, without_card, published, footer = result.out.splitlines()
    assert won == "note: mbencha.environment.rendering_lighting: a frozen video scores as well as a perfect memory."
    assert without_card == "note: no card for these extractors: mbencha.causal.camera_interaction."
    assert published == "as published; without the defects of the publication: --protocol corrected"
    assert header.split() == [
        "model",
        "metric",
        "subset",
        "score",
        "95",
        "%",
        "raw",
        "scored",
        "not",
        "scored",
        "tested",
        "judged",
        "if",
        "tested",
    ]
    assert len(cells) == 4
    assert few.startswith("note: 4 of 4 cells have fewer than 5 scenes")
    assert "every rollout counts once; 95 % intervals over scenes" in footer
    assert lookaway("show", tmp_path / "run").out == result.out


def test_eval_as_json_is_unrounded_and_the_same_as_show(dataset, tmp_path):
    result = lookaway("eval", dataset, *METRICS, "-o", tmp_path / "run", "--json")
    assert result.err == ""
    cell = result.json["cells"][1]
    assert (cell["model"], cell["metric"], cell["subset"], cell["asked"]) == ("alpha", QUICK[1], "causal", 2)
    assert cell["estimate"]["scored"] == cell["estimate"]["scenes"] == 2
    assert round(cell["estimate"]["mean"], 3) != cell["estimate"]["mean"]
    assert lookaway("show", tmp_path / "run", "--json").json == result.json


def test_eval_quiet_prints_nothing(dataset, tmp_path):
    result = lookaway("eval", dataset, *METRICS, "-o", tmp_path / "run", "--quiet")
    assert (result.code, result.out, result.err) == (0, "", "")
    assert (tmp_path / "run" / "run.json").is_file()


def test_eval_chooses_models_subsets_and_the_first_cases(dataset, tmp_path):
    chosen = ("--models", "beta", "--subsets", "causal", "--limit", "1")
    cells = lookaway("eval", dataset, *METRICS, *chosen, "-o", tmp_path / "run", "--json").json["cells"]
    assert [(cell["model"], cell["subset"], cell["asked"]) for cell in cells] == [("beta", "causal", 1)]


def test_eval_chooses_single_cases_whose_names_may_hold_commas(tmp_path):
    root = write_folder(tmp_path / "videos", cases=3)
    for path in root.rglob("case1.mp4"):
        path.rename(path.with_name("left, then right.mp4"))
    chosen = ("--case", "left, then right", "--case", "case2", "--metrics", "rendering_lighting")
    lookaway("eval", root, "--suite", "folder", *chosen, "-o", tmp_path / "run", "--quiet")
    assert {row["case"] for row in outcomes(tmp_path / "run").values()} == {"left, then right", "case2"}


def test_eval_warns_of_problems_in_the_dataset(dataset, tmp_path):
    with (dataset / "models" / "beta" / "samples.jsonl").open("a") as file:
        file.write("not json\n")
    result = lookaway("eval", dataset, *METRICS, "-o", tmp_path / "run")
    assert result.code == 0
    assert "warning: the dataset has 1 problem" in result.out


def test_a_folder_of_bare_videos_is_evaluated_without_a_word_about_suites(tmp_path):
    root = write_folder(tmp_path / "videos")
    result = lookaway("eval", root, "-o", tmp_path / "run", "--json")
    cells = {cell["metric"]: cell for cell in result.json["cells"]}
    assert cells["remembered"]["asked"] == 2
    assert cells["return_error"]["reasons"] == {"missing_input": 2}


def test_a_pattern_gives_the_folders_their_meaning(tmp_path):
    root = write_folder(tmp_path / "videos", cases=1)
    arguments = (
        "--suite",
        "folder",
        "--pattern",
        "{subset}/{case}.mp4",
        "--metrics",
        "rendering_lighting",
        "-o",
        tmp_path / "run",
        "--json",
    )
    (cell,) = lookaway("eval", root, *arguments).json["cells"]
    assert cell["subset"] == "alpha"


def test_features_can_be_shared_between_runs(dataset, tmp_path):
    for name in ("one", "two"):
        lookaway("eval", dataset, *METRICS, "-o", tmp_path / name, "--features", tmp_path / "shared", "--quiet")
    assert {event["decoded_frames"] for event in events(tmp_path / "two")} == {0}
    assert list((tmp_path / "shared").rglob("*.npz"))


@pytest.mark.parametrize("command", ["validate", "plan", "eval"])
@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        (
            "--metrics",
            "camera_interacton",
            "No metric is named 'camera_interacton'. Did you mean 'camera_interaction'?",
        ),
        ("--suite", "mbenc-a", "No suite is named 'mbenc-a'. Did you mean 'mbench-a'?"),
        ("--models", "alpa", "No model is named 'alpa'. Did you mean 'alpha'?"),
        ("--subsets", "enviroment", "No subset is named 'enviroment'. Did you mean 'environment'?"),
        ("--case", "causal:sample0:left_then", f"No case is named 'causal:sample0:left_then'. Did you mean {CASE!r}?"),
        ("--models", "zzz", "No model is named 'zzz'. Known: alpha, beta."),
    ],
)
def test_an_unknown_name_is_one_line_with_the_nearest_known(command, option, value, said, dataset, tmp_path):
    output = ("-o", tmp_path / "run") if command == "eval" else ()
    result = lookaway(command, dataset, option, value, *output)
    assert (result.code, result.out, result.err) == (2, "", f"error: {said}\n")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("command", ["validate", "plan", "eval"])
def test_a_folder_that_is_not_there_is_one_line(command, tmp_path):
    output = ("-o", tmp_path / "run") if command == "eval" else ()
    result = lookaway(command, tmp_path / "nowhere", *output)
    said = "there is no such folder. Expected a dataset or a folder of videos; check the path."
    assert (result.code, result.err) == (2, f"error: {tmp_path}/nowhere: {said}\n")


def test_a_broken_dataset_card_is_one_line_although_yaml_says_it_in_four(tmp_path):
    root = write_mbench(tmp_path / "dataset").root
    (root / "dataset.yaml").write_text("dataset_id: [mbencha\nversion: 1\n")
    result = lookaway("validate", root, "--suite", "mbench-a")
    assert result.code == 2
    assert len(result.err.splitlines()) == 1
    assert "dataset.yaml: not readable as YAML" in result.err


def test_an_unknown_executor_is_one_line(dataset, tmp_path):
    result = lookaway("eval", dataset, "-o", tmp_path / "run", "--executor", "inlin")
    assert (result.code, result.err) == (2, "error: No executor is named 'inlin'. Did you mean 'inline'?\n")


def test_an_output_that_is_a_file_is_one_line(dataset, tmp_path):
    (tmp_path / "run").write_text("")
    result = lookaway("eval", dataset, *METRICS, "-o", tmp_path / "run")
    assert result.code == 2
    assert result.err.startswith(f"error: {tmp_path}/run: a file, expected a folder for the run")
    assert len(result.err.splitlines()) == 1


@pytest.mark.parametrize("arguments", [["show"], ["export", "mbench", "-o", "out"]], ids=["show", "export"])
def test_a_folder_that_is_no_run_is_one_line(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = lookaway(*arguments, "nothing")
    assert result.code == 2
    assert result.err == "error: nothing: not a run folder, there is no run.json. Make one with `lookaway eval`.\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "text", ["{", "[]", "{}", '{"suite": "folder", "lock_sha256": "", "metrics": [1], "problems": []}']
)
def test_a_damaged_run_is_one_line(text, dataset, tmp_path):
    lookaway("eval", dataset, *METRICS, "-o", tmp_path / "run", "--quiet")
    (tmp_path / "run" / "run.json").write_text(text)
    result = lookaway("show", tmp_path / "run")
    assert (result.code, len(result.err.splitlines())) == (2, 1)
    assert "run.json" in result.err
