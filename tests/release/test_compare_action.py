"""The action that comments on a pull request: its script as GitHub runs it, and its comment on a server of our own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import yaml

from tests.support.chosen_run import STYLE
from tests.support.hand_made import hand_made_run, scores

FOLDER = Path(__file__).parents[2] / ".github" / "actions" / "compare"
ACTION = yaml.safe_load((FOLDER / "action.yml").read_text(encoding="utf-8"))
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}
TOKEN = "not-a-real-token"


class GitHub(HTTPServer):
    """Comments of a pull request, as much of them as the script asks for."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.comments: list[dict] = []
        self.refuses = False


class Answers(BaseHTTPRequestHandler):
    server: GitHub

    def do_GET(self) -> None:
        page = int(self.path.rpartition("page=")[2])
        self.answer(self.server.comments[100 * (page - 1) : 100 * page])

    def do_POST(self) -> None:
        self.server.comments.append({"id": len(self.server.comments), "user": {"type": "Bot"}, **self.body()})
        self.answer(self.server.comments[-1])

    def do_PATCH(self) -> None:
        self.server.comments[int(self.path.rpartition("/")[2])].update(self.body())
        self.answer({})

    def body(self) -> dict:
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def answer(self, found: object) -> None:
        is_allowed = self.headers["Authorization"] == f"Bearer {TOKEN}" and not self.server.refuses
        self.send_response(200 if is_allowed else 403)
        self.end_headers()
        self.wfile.write(json.dumps(found).encode())

    def log_message(self, *parts: object) -> None:
        pass


@pytest.fixture
def github() -> Iterator[GitHub]:
    with GitHub() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def comment(github: GitHub, file: Path, key: str = "compare", number: str = "7") -> subprocess.CompletedProcess[str]:
    address = f"http://127.0.0.1:{github.server_port}"
    told = {"TOKEN": TOKEN, "NUMBER": number, "KEY": key, "FILE": str(file), "GITHUB_API_URL": address}
    return subprocess.run(
        [sys.executable, FOLDER / "comment.py"],
        env={**os.environ, **told, "GITHUB_REPOSITORY": "owner/model", "no_proxy": "127.0.0.1"},
        text=True,
        capture_output=True,
    )


@pytest.mark.server
def test_a_second_run_replaces_the_comment_of_the_first(github, tmp_path):
    file = tmp_path / "result.md"
    github.comments += [{"id": n, "body": "hello", "user": {"type": "User"}} for n in range(120)]
    github.comments[3]["body"] = "<!-- lookaway compare: compare -->\nby somebody else"
    for text in ("first", "second"):
        file.write_text(text)
        done = comment(github, file)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    file.write_text("x" * 100_000)
    assert comment(github, file, key="another one").returncode == 0
    assert [one["body"] for one in github.comments[120:121]] == ["<!-- lookaway compare: compare -->\nsecond"]
    assert github.comments[3]["body"].endswith("by somebody else")
    assert len(github.comments) == 122
    assert len(github.comments[121]["body"]) < 65_536


@pytest.mark.server
def test_a_refusal_says_what_to_do_and_never_the_token(github, tmp_path):
    file = tmp_path / "result.md"
    file.write_text("text")
    github.refuses = True
    refused = comment(github, file)
    assert refused.returncode == 1
    assert "answered 403" in refused.stderr
    assert "pull-requests: write" in refused.stderr
    assert TOKEN not in refused.stdout + refused.stderr
    assert "expected the number" in comment(github, file, number="7/../8").stderr


@pytest.mark.merge
def test_the_script_compares_and_tells_whether_a_condition_was_met(tmp_path):
    values = {**scores("old", *[0.9] * 12), **scores("new", *[0.5] * 12)}
    hand_made_run(tmp_path / "run", "mbench-a", {STYLE: values})
    for condition, code in (("", "0"), ("\nrendering_style < -0.02\n", "3")):
        output, summary = tmp_path / f"output{code}", tmp_path / f"summary{code}"
        done = run_step(
            "Compare",
            tmp_path,
            {"BEFORE": "run", "AFTER": "", "MODELS": "old,new", "FAIL_IF": condition, "WORST": "0", "KEY": "../x"},
            {"GITHUB_OUTPUT": output, "GITHUB_STEP_SUMMARY": summary},
        )
        assert done.returncode == 0, done.stderr
        file = tmp_path / "lookaway----x.md"
        assert output.read_text() == f"code={code}\nfile={file}\n"
        assert "rendering_style" in summary.read_text()
        assert summary.read_text() == file.read_text()


@pytest.mark.merge
def test_a_run_that_is_not_there_fails_the_job(tmp_path):
    told = {"BEFORE": "--help", "AFTER": "", "MODELS": "", "FAIL_IF": "", "WORST": "0", "KEY": "x"}
    files = {"GITHUB_OUTPUT": tmp_path / "output", "GITHUB_STEP_SUMMARY": tmp_path / "summary"}
    assert run_step("Compare", tmp_path, told, files).returncode == 2
    assert not (tmp_path / "output").exists()


def run_step(name: str, folder: Path, inputs: dict, files: dict) -> subprocess.CompletedProcess[str]:
    """A step of the action, as GitHub runs bash."""
    assert set(inputs) == set(STEPS[name]["env"])
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, **inputs, **{key: str(value) for key, value in files.items()}}
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", STEPS[name]["run"]],
        cwd=folder,
        env={**environment, "PATH": path, "RUNNER_TEMP": str(folder)},
        text=True,
        capture_output=True,
    )


def test_every_input_and_output_says_what_it_is():
    for entry in (*ACTION["inputs"].values(), *ACTION["outputs"].values()):
        assert entry["description"]
    optional = [entry for entry in ACTION["inputs"].values() if not entry["required"]]
    assert all("default" in entry for entry in optional)


def test_the_token_is_given_to_the_comment_alone():
    holders = [name for name, step in STEPS.items() if "inputs.token" in str(step.get("env"))]
    assert holders == ["Comment on the pull request"]
