"""Whatever is interrupted between a case and a dataset, the same command finishes it as if nothing had happened."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

import lookaway
from lookaway.core import UserError, plugins
from lookaway.generation.cases import ActionForm, requests_of
from lookaway.generation.collect import collect_outputs
from lookaway.generation.export import export_cases
from lookaway.generation.run_scripts import OTHER_MODEL
from lookaway.generation.work_plan import PLAN, RUN_RECORD, read_plan
from tests.generation.golden import request, there_and_back
from tests.generation.outputs import made_output, made_plan
from tests.support.command import lookaway as command
from tests.support.dying import die_at, writing
from tests.support.rendered import copy_small

TIMES = {PLAN: ("exported",), RUN_RECORD: ("started", "finished"), "provenance.jsonl": ("wall_seconds",)}
MODEL = """#!/bin/sh
# Stands for `lookaway world perform CONTROL -o OUT --actor ACTOR --take SEED`, and dies once where it is told to.
printf 'half' > "$5/video.mp4"
if [ -n "${DIES_IN:-}" ] && [ ! -f "$DIES_IN" ] && [ "$(ls "$5/.." | wc -l)" -eq 2 ]; then
  touch "$DIES_IN" "$5/half"
  kill -9 "$PPID"
fi
printf '%s of %s' "$7" "$(cat "$3")" > "$5/video.mp4"
"""


def tree(root):
    """The hash of every file below a folder, apart from times."""
    found = {}
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        content = path.read_bytes()
        if path.name in TIMES:
            lines = [json.loads(line) for line in content.splitlines()]
            kept = [{name: line[name] for name in line if name not in TIMES[path.name]} for line in lines]
            content = json.dumps(kept).encode()
        found[path.relative_to(root).as_posix()] = hashlib.sha256(content).hexdigest()
    return found


def requests(count=2):
    return [request(there_and_back(), case=f"scene/{number}") for number in range(count)]


def exported(work, count=2):
    return export_cases(requests(count), plugins.load("adapters", "lingbot-world")(), (0, 1), work)


def stopped(asked, count):
    """Requests of a dataset, of which somebody has enough after some of them."""
    yield from asked[:count]
    raise KeyboardInterrupt


@pytest.mark.parametrize("count", [0, 1])
def test_an_export_that_stops_after_some_cases_is_finished_by_the_same_command(tmp_path, count):
    exported(tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        export_cases(stopped(requests(), count), plugins.load("adapters", "lingbot-world")(), (0, 1), tmp_path / "work")
    assert not (tmp_path / "work" / PLAN).exists()
    exported(tmp_path / "work")
    assert tree(tmp_path / "work") == tree(tmp_path / "whole")


def test_a_case_that_is_no_longer_asked_for_is_no_longer_run(tmp_path):
    exported(tmp_path, 2)
    exported(tmp_path, 1)
    assert sorted(path.parent.name for path in tmp_path.glob("cases/*/run.sh")) == sorted(
        item.folder for item in read_plan(tmp_path)
    )


@pytest.mark.merge
def test_an_export_that_is_killed_at_any_step_is_finished_by_the_same_command(tmp_path):
    with writing() as writes:
        exported(tmp_path / "whole", 1)
    for number, point in enumerate(writes.points()):
        work = tmp_path / str(number)
        die_at(point, lambda work=work: exported(work, 1))
        exported(work, 1)
        assert tree(work) == tree(tmp_path / "whole"), point


@pytest.mark.merge
def test_a_collection_that_is_killed_at_any_step_is_finished_by_the_same_command(tmp_path):
    work, outputs = tmp_path / "work", tmp_path / "outputs"
    for number, item in enumerate(made_plan(work, 2)):
        made_output(outputs, item, number)
    with writing() as writes:
        collect_outputs(work, outputs, tmp_path / "whole")
    for number, point in enumerate(writes.points()):
        dataset = tmp_path / str(number)
        die_at(point, lambda dataset=dataset: collect_outputs(work, outputs, dataset))
        collect_outputs(work, outputs, dataset)
        assert tree(dataset) == tree(tmp_path / "whole"), point


@pytest.fixture
def world_work(tmp_path):
    """A plan of three cases for the world, without having drawn them."""
    recipe = {"family": "playroom", "event": "none", "camera": "yaw_left_60", "seed": 0}
    cases = [replace(asked, world_recipe={**recipe, "seed": number}) for number, asked in enumerate(requests(3))]
    export_cases(cases, plugins.load("adapters", "world")(), (0,), tmp_path / "work")
    model = tmp_path / "bin" / "lookaway"
    model.parent.mkdir()
    model.write_text(MODEL)
    model.chmod(0o755)
    return tmp_path / "work"


def run_all(work, outputs, *, actor="perfect", **variables):
    """Run the exported commands with the model that stands beside the plan."""
    path = f"{work.parent / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "OUTPUTS": str(outputs), "ACTOR": actor, "PATH": path, **variables}
    return subprocess.run(["sh", work / "run.sh"], env=environment, capture_output=True, text=True, check=False)


def test_a_case_in_which_the_model_was_killed_is_made_again_and_the_others_are_kept(world_work, tmp_path):
    assert run_all(world_work, tmp_path / "whole").returncode == 0
    broken = run_all(world_work, tmp_path / "outputs", DIES_IN=str(tmp_path / "died"))
    assert broken.returncode == 1
    assert broken.stderr.count("failed: ") == 1
    done = [path for path in (tmp_path / "outputs").iterdir() if (path / RUN_RECORD).exists()]
    times = {path: (path / "video.mp4").stat().st_mtime_ns for path in done}
    assert len(done) == 2
    assert run_all(world_work, tmp_path / "outputs").returncode == 0
    assert tree(tmp_path / "outputs") == tree(tmp_path / "whole")
    assert times == {path: (path / "video.mp4").stat().st_mtime_ns for path in done}


def test_finished_outputs_of_another_actor_are_neither_kept_nor_replaced(world_work, tmp_path):
    outputs = tmp_path / "outputs"
    run_all(world_work, outputs, actor="perfect")
    before = tree(outputs)
    refused = run_all(world_work, outputs, actor="forgetful")
    assert refused.returncode == OTHER_MODEL
    assert 'made with "ACTOR": "perfect", and this run is with "ACTOR": "forgetful"' in refused.stderr
    assert refused.stderr.count("another folder") == 1
    assert tree(outputs) == before
    assert run_all(world_work, outputs, actor="perfect").returncode == 0


def test_an_actor_with_a_strange_name_is_recorded_as_it_is(world_work, tmp_path):
    for _ in range(2):
        assert run_all(world_work, tmp_path / "outputs", actor='a "b" \\ $c').returncode == 0
    for record in (tmp_path / "outputs").glob(f"*/{RUN_RECORD}"):
        assert json.loads(record.read_text())["variables"] == {"ACTOR": 'a "b" \\ $c'}


def test_outputs_of_two_actors_are_not_collected_as_those_of_one(world_work, tmp_path):
    run_all(world_work, tmp_path / "outputs")
    run_all(world_work, tmp_path / "others", actor="forgetful")
    first = read_plan(world_work)[0].folder
    for name in ("video.mp4", RUN_RECORD):
        (tmp_path / "others" / first / name).replace(tmp_path / "outputs" / first / name)
    with pytest.raises(UserError, match=r"2 with \{.*perfect.*, 1 with \{.*forgetful"):
        collect_outputs(world_work, tmp_path / "outputs", tmp_path / "dataset")
    assert not (tmp_path / "dataset").exists()


def kill_after_the_first(work, outputs, environment):
    """Run all cases, and kill everything as soon as one is finished."""
    process = subprocess.Popen(["sh", work / "run.sh"], env=environment, start_new_session=True)
    until = time.monotonic() + 300
    while not list(outputs.glob(f"*/{RUN_RECORD}")):
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def killed_loop(world, root, environment):
    """Everything that a loop writes until it is killed: one case of the export, one output, half a dataset."""
    work, outputs = root / "work", root / "outputs"
    asked = list(requests_of(lookaway.read(world), ActionForm()))
    with pytest.raises(KeyboardInterrupt):
        export_cases(stopped(asked, 1), plugins.load("adapters", "world")(), (0,), work)
    assert len(list(work.glob("cases/*/run.sh"))) == 1
    assert command("cases", "export", world, "--for", "world", "-o", work).code == 0
    kill_after_the_first(work, outputs, environment)
    subprocess.run(["sh", work / "run.sh"], env=environment, check=True, capture_output=True)
    with writing() as writes:
        collect_outputs(work, outputs, root / "traced")
    die_at(writes.points()[len(writes.steps) // 2], lambda: collect_outputs(work, outputs, root / "dataset"))


@pytest.mark.nightly
@pytest.mark.render
def test_a_loop_that_is_killed_at_every_station_ends_as_one_that_is_not(tmp_path):
    world = copy_small(tmp_path / "world", families=("playroom", "kitchen"))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for root in (tmp_path / "whole", tmp_path / "killed"):
        work, outputs = root / "work", root / "outputs"
        environment = {**os.environ, "OUTPUTS": str(outputs), "ACTOR": "forgetful", "PATH": path}
        if root.name == "killed":
            killed_loop(world, root, environment)
        assert command("cases", "export", world, "--for", "world", "-o", work).code == 0
        subprocess.run(["sh", work / "run.sh"], env=environment, check=True, capture_output=True)
        assert command("collect", work, outputs, "-o", root / "dataset").code == 0
    for name in ("work", "outputs", "dataset"):
        assert tree(tmp_path / "killed" / name) == tree(tmp_path / "whole" / name)
