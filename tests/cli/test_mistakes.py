"""Mistakes that users make: each message says what was found, what was expected and what to do; none is a traceback."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.command import Result, lookaway
from tests.support.tiny import write_folder, write_mbench

EVAL = ("eval", "videos", "-o", "new")
FOLDER = ("--suite", "folder", "--metrics", "rendering_lighting")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of videos, a run of it, and everything that is mistaken for them."""
    root = tmp_path_factory.mktemp("mistakes")
    videos = write_folder(root / "videos", models=("m",), cases=1)
    clip = next(videos.rglob("*.mp4"))
    write_folder(root / "other", models=("n",), cases=2)
    assert lookaway("eval", videos, *FOLDER, "-o", root / "run", "--quiet").code == 0
    (root / "empty").mkdir()
    (root / "frames").mkdir()
    (root / "frames" / "000.png").write_bytes(b"x")
    (root / "a_file").write_text("x")
    for name, file, text in (
        ("wrong_column", "manifest.csv", "path,case\nm/case0.mp4,a\n"),
        ("unknown_column", "manifest.csv", "video,caze\nm/case0.mp4,a\n"),
        ("cut_off", "manifest.jsonl", '{"video": \n'),
        ("not_utf8", "manifest.csv", b"video\n\xff\n"),
    ):
        shutil.copytree(videos, root / name)
        (root / name / file).write_bytes(text if isinstance(text, bytes) else text.encode())
    for name in ("deep/a/b", "deep"):
        (root / name).mkdir(parents=True, exist_ok=True)
        shutil.copy(clip, root / name / "clip.mp4")
    card = write_mbench(root / "broken_card", samples=1, subsets=("causal",)).root / "dataset.yaml"
    card.write_text("dataset_id: [mbencha\n")
    (root / "judge.toml").write_text("model = \n")
    return root


@pytest.fixture
def here(prepared: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(prepared)
    monkeypatch.setenv("HF_HOME", str(prepared / "no_weights"))
    for name in ("LOOKAWAY_JUDGE_KEY", "MBENCH_VLM_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return prepared


MISTAKES: list[tuple[tuple[str, ...], tuple[str, ...]]] = [
    # The judge
    (
        ("eval", "videos", "-o", "new", "--judge-repeats", "3"),
        ("No judge is configured: --judge-repeats is given, but no model", "Set it with --judge-model"),
    ),
    # The dataset
    (("eval", "videos/m/case0.mp4", "-o", "new"), ("a file, expected a folder of videos", "videos/m")),
    (("eval", "nowhere", "-o", "new"), ("nowhere: there is no such folder", "Expected a dataset", "check the path")),
    (("eval", "empty", "-o", "new"), ("empty: no videos found", "expected a manifest.jsonl", ".mp4")),
    (("eval", "frames", "-o", "new"), ("pictures such as '000.png'", "expected", "Name each folder of numbered")),
    (("eval", "deep", "-o", "new"), ("videos are at several depths", "--pattern '{model}/{subset}")),
    (("eval", "wrong_column", "-o", "new"), ("manifest.csv:2", "video", "required", "lookaway validate")),
    (
        ("eval", "unknown_column", "-o", "new"),
        ("manifest.csv:2: an unknown field", "did you mean 'case'? `lookaway validate`"),
    ),
    (("eval", "cut_off", "-o", "new"), ("manifest.jsonl:1", "lookaway validate")),
    (("eval", "not_utf8", "-o", "new"), ("manifest.csv", "is not UTF-8")),
    (("eval", "broken_card", "-o", "new"), ("dataset.yaml: not readable as YAML at line 2",)),
    (("validate", "videos", "--suite", "mbench-a"), ("there is no dataset.yaml; an MBench dataset has one",)),
    # Names
    ((*EVAL, "--suite", "mbench"), ("No suite is named 'mbench'", "'mbench-a' or 'mbench-t'")),
    ((*EVAL, "--metrics", "lightt"), ("No metric is named 'lightt'", "Did you mean 'light'")),
    ((*EVAL, "--models", "x"), ("No model is named 'x'", "Known: m")),
    ((*EVAL, "--case", "x"), ("No case is named 'x'", "Known: case0")),
    ((*EVAL, "--scores", "x"), ("No revisit score is named 'x'", "Known: delivered, echo_loop")),
    ((*EVAL, "--use", "poses"), ("'poses' is not FEATURE=EXTRACTOR", "such as poses=tracked_poses")),
    ((*EVAL, "--use", "poses=track_poses"), ("No extractor is named 'track_poses'", "'tracked_poses'")),
    ((*EVAL, "--use", "pose=tracked_poses"), ("No feature of these metrics is named 'pose'", "'poses'")),
    ((*EVAL, "--pattern", "{modle}/{case}.mp4"), ("names {modle}", "known: {model}")),
    ((*EVAL, "--suite", "folder", "--metrics", "lpips"), ("no recipe for the feature 'lpips'", "--suite mind")),
    (("weights", "fetch", "lpips"), ("No published weights is named 'lpips'", "Did you mean")),
    # Options
    (("evl", "videos"), ("No such command 'evl'", "Did you mean 'eval'")),
    ((*EVAL, "--metric", "light"), ("No such option '--metric'", "'--metrics'")),
    ((*EVAL, "--limit", "none"), ("'none' is not a valid integer",)),
    ((*EVAL, "--require-coverage", "90"), ("90.0 is not in the range 0<=x<=1",)),
    ((*EVAL, "--rollout-memory", "lots"), ("'lots' is not a size", "such as 8GB")),
    ((*EVAL, "--shard", "5/2"), ("no shard 5 of 2", "from 1 to 2")),
    ((*EVAL, "--workers", "4"), ("--workers", "need Ray", "--executor ray")),
    (("eval", "videos"), ("Missing option '-o'",)),
    # Where it is written
    (("eval", "other", *FOLDER, "-o", "run"), ("run: holds numbers", "m/case0/0", "--new", "--output run-2")),
    (("eval", "videos", *FOLDER, "-o", "a_file"), ("a_file: a file, expected a folder", "--output")),
    (("eval", "videos", *FOLDER, "-o", "ftp://host/run"), ("ftp://host/run", "expected a folder", "s3://")),
    # Runs
    (("report", "videos", "-o", "site"), ("videos: not a run folder", "no run.json", "lookaway eval")),
    (("report", "run", "run", "-o", "site"), ("run: given more than once", "Name every run once")),
    (("show", "a_file"), ("a_file: not a run folder", "lookaway eval")),
    (("show", "run", "--clip", "x"), ("No rollout is named 'x'", "Known: m/case0/0")),
    (("compare", "run"), ("to compare two models of one run", "--models a,b")),
    (("export", "table", "run", "-o", "table.docx"), ("table.docx", "expected one of .tex, .md, .csv, .parquet")),
    # Judges
    ((*EVAL, "--judge-file", "none.toml"), ("none.toml: there is no such file", "Expected a TOML file with url")),
    ((*EVAL, "--judge-file", "judge.toml"), ("judge.toml: cannot be read as TOML",)),
    ((*EVAL, "--judge-model", "x", "--judge-url", "here"), ("'here' is not the address", "such as http://")),
    ((*EVAL, "--judge-model", "x", "--judge-extra", "{"), ("--judge-extra is not valid JSON",)),
    # The simulated world
    (
        ("world", "render", "-o", "new", "--families", "playroom", "--faults", "vanish", "--severities", "-1"),
        ("the severity of vanish is -1.0", "expected a number from 0 to 1"),
    ),
    (("world", "render", "-o", "new", "--families", "playrom"), ("No family is named 'playrom'", "'playroom'")),
    (("world", "render", "-o", "new", "--size", "big"), ("expected HEIGHTxWIDTH", "480x832", "found 'big'")),
    (("world", "show", "videos"), ("videos: there is no clip.json", "expected a clip", "world render")),
    (("world", "export", "videos", "--layout", "mbench", "-o", "new"), ("No layout is named", "'mbench-a'")),
]


@pytest.mark.parametrize(("command", "said"), MISTAKES, ids=[" ".join(command) for command, _ in MISTAKES])
def test_a_mistake_is_explained_with_exit_code_2_and_leaves_nothing_behind(command, said, here):
    result = lookaway(*command)
    assert result.code == 2
    for words in said:
        assert words in result.err
    assert "Traceback" not in result.err
    assert len(_message(result).splitlines()) == 1
    assert not (here / "new").exists()


def _message(result: Result) -> str:
    """The error, without the line of usage that comes before it where an option is wrong."""
    return result.err[result.err.lower().index("error:") :].strip()


def test_a_file_that_may_not_be_read_is_an_abstention_that_says_so(here, tmp_path):
    clip = tmp_path / "videos" / "clip.mp4"
    clip.parent.mkdir()
    clip.write_text("not a video")
    result = lookaway("eval", clip.parent, "--metrics", "light", "-o", tmp_path / "run")
    assert result.code == 0
    assert "not_a_video: 1 of 1 values missing, light. Check how the model writes its videos." in result.out


def test_without_any_weights_a_run_finishes_and_names_the_command_that_fetches_them(here, tmp_path):
    result = lookaway("eval", "videos", "--metrics", "aligned_lpips", "-o", tmp_path / "run")
    assert result.code == 0
    assert "missing_weights: 1 of 1 values missing, aligned_lpips." in result.out
    assert "lookaway weights fetch " in result.out


def test_a_judge_without_its_key_is_told_where_to_put_it(here, tmp_path):
    judged = ("--suite", "folder", "--metrics", "return_rating_overall")
    result = lookaway("eval", "videos", *judged, "--judge-model", "x", "-o", tmp_path / "run")
    assert result.code == 2
    assert "No key for the judge 'x' at https://api.openai.com/v1" in result.err
    assert "Set LOOKAWAY_JUDGE_KEY" in result.err
