"""Workflows parse, name what exists, and take no rights that they do not need."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".github" / "workflows"
CHECK, RELEASE = FOLDER / "check.yml", FOLDER / "release.yml"
WORKFLOWS = sorted(FOLDER.glob("*.yml"))
ACTIONS = sorted((ROOT / ".github" / "actions").glob("*/action.yml"))
TARGETS = set(re.findall(r"^([\w-]+):(?!=)", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
MAKE = re.compile(r"^(?:\S+ )?make ([\w-]+)", re.MULTILINE)
SCRIPT = re.compile(r"python -m (release\.\w+)")


def read(path: Path) -> Any:
    """A workflow; YAML takes its key `on` for a truth value."""
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def steps(path: Path) -> Iterator[dict[str, Any]]:
    found = read(path)
    for job in found.get("jobs", {"": found.get("runs")}).values():
        yield from job["steps"]


def commands(path: Path) -> str:
    return "\n".join(step["run"] for step in steps(path) if "run" in step)


def test_there_are_workflows_for_checks_releases_and_docs():
    assert [path.name for path in WORKFLOWS] == ["check.yml", "docs.yml", "release.yml"]


@pytest.mark.parametrize("path", [*WORKFLOWS, *ACTIONS], ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_target_and_script_that_a_workflow_names_exists(path):
    text = commands(path)
    assert not set(MAKE.findall(text)) - TARGETS
    assert not [name for name in SCRIPT.findall(text) if not (ROOT / f"{name.replace('.', '/')}.py").exists()]


@pytest.mark.parametrize("tier", ["check", "check-all", "check-nightly"])
def test_every_tier_of_checks_is_a_target_that_a_workflow_runs(tier):
    assert tier in TARGETS
    assert tier in MAKE.findall(commands(CHECK))


def test_the_first_tier_runs_on_every_python_that_the_package_claims():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    prefix = "Programming Language :: Python :: "
    claimed = [name.removeprefix(prefix) for name in project["classifiers"] if name.startswith(prefix)]
    check = read(CHECK)["jobs"]["push"]["strategy"]["matrix"]["python"]
    release = read(RELEASE)["jobs"]
    assert claimed == check
    assert all(release[job]["strategy"]["matrix"]["python"] == claimed for job in ("test-sdist", "try-wheel"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_of_others_are_pinned_to_a_commit(path):
    foreign = [step["uses"] for step in steps(path) if not step.get("uses", "./").startswith("./")]
    assert foreign
    assert all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", name) for name in foreign)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_only_the_jobs_that_publish_may_write(path):
    found = read(path)
    assert found["permissions"] == {"contents": "read"}
    writing = {name for name, job in found["jobs"].items() if "write" in job.get("permissions", {}).values()}
    assert writing <= {"publish", "announce", "deploy"}


def test_nothing_is_published_before_sdist_and_wheel_were_tried():
    jobs = read(RELEASE)["jobs"]
    assert jobs["publish"]["needs"] == ["test-sdist", "try-wheel"]
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert jobs["announce"]["needs"] == "publish"


@pytest.mark.parametrize("path", [*WORKFLOWS, *ACTIONS], ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_command_is_put_together_from_what_a_stranger_can_write(path):
    assert "${{" not in commands(path)


def test_every_issue_form_asks_something_that_must_be_answered():
    forms = [read(path) for path in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml"]
    assert len(forms) == 3
    for form in forms:
        assert any(part.get("validations", {}).get("required") for part in form["body"])


def test_pull_requests_are_asked_whether_a_number_moves():
    text = (ROOT / ".github/pull_request_template.md").read_text(encoding="utf-8")
    assert "## Does it move a number?\n" in text
    assert (ROOT / ".github" / "../docs/deprecation.md").resolve().exists()
