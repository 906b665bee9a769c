from __future__ import annotations

import pytest

from lookaway.core import plugins
from lookaway.engine.reading import load_suite
from tests.support.command import lookaway


def test_suites_lists_every_installed_suite():
    result = lookaway("suites")
    assert result.code == 0
    assert [line.split()[0] for line in result.out.splitlines()] == ["suite", *plugins.names("suites")]


def test_suites_as_json_says_how_many_metrics_each_has():
    counts = {row["suite"]: row["metrics"] for row in lookaway("suites", "--json").json}
    protocols = {suite: load_suite(suite).metrics({}) for suite in ("mbench-a", "mbench-t")}
    for suite, bounds in protocols.items():
        assert counts[suite] == sum(not bound.is_gate for bound in bounds)
        published = [bound.name for bound in bounds if bound.is_of("published") and not bound.is_gate]
        assert len(published) == {"mbench-a": 12, "mbench-t": 11}[suite]  # MBench's 23 names


def test_metrics_lists_public_names_with_their_direction():
    rows = {row["metric"]: row for row in lookaway("metrics", "--json").json}
    assert rows["mbencha.environment.spatial_epipolar"]["better"] == "higher"
    assert rows["mbencha.environment.spatial_epipolar"]["raw unit"] == "pixels"
    assert rows["mbencha.causal.camera_interaction"]["subsets"] == "causal"


def test_metrics_of_one_suite_lists_no_other():
    rows = lookaway("metrics", "--suite", "mbench-t", "--json").json
    assert {row["suite"] for row in rows} == {"mbench-t"}
    assert {"mbencht.entity.human_identity_consistency", "further.environment.spatial_matched"} < {
        row["metric"] for row in rows
    }


def test_extractors_lists_what_each_perceives():
    rows = {row["extractor"]: row["perceives"] for row in lookaway("extractors", "--json").json}
    assert rows.keys() == set(plugins.names("extractors"))
    assert all(rows.values())


@pytest.mark.parametrize("command", ["suites", "metrics", "extractors"])
def test_a_list_for_people_has_one_line_for_each_entry_of_the_json(command):
    assert len(lookaway(command).out.splitlines()) == 1 + len(lookaway(command, "--json").json)


def test_an_unknown_suite_is_one_line_with_the_nearest_name():
    result = lookaway("metrics", "--suite", "foldr")
    assert (result.code, result.out) == (2, "")
    assert result.err == "error: No suite is named 'foldr'. Did you mean 'folder'?\n"
