from __future__ import annotations

import sys

import pytest

from lookaway.core import NameClash, UnknownName, plugins


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Puts a package with one metric among the installed ones, as its metadata alone."""
    monkeypatch.syspath_prepend(tmp_path)
    plugins._offers.cache_clear()

    def add(package: str, name: str, target: str) -> None:
        folder = tmp_path / f"{package}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(f"[lookaway.metrics]\n{name} = {target}\n")

    yield add
    plugins._offers.cache_clear()


def test_a_slip_of_the_pen_is_answered_with_the_nearest_name():
    with pytest.raises(UnknownName, match=r"No metric is named 'spatial_epiploar'\. Did you mean 'spatial_epipolar'\?"):
        plugins.load("metrics", "spatial_epiploar")


def test_a_metric_of_another_package_is_found_by_name(install):
    install("colours", "max_common_colour", "collections:Counter")
    assert "max_common_colour" in plugins.names("metrics")
    assert plugins.load("metrics", "max_common_colour").__name__ == "Counter"


def test_two_packages_that_offer_one_name_are_both_named(install):
    install("colours", "shade", "collections:Counter")
    install("paints", "shade", "collections:OrderedDict")
    with pytest.raises(
        NameClash, match=r"colours \(collections:Counter\); paints \(collections:OrderedDict\)\. Uninstall"
    ):
        plugins.load("metrics", "shade")


def test_one_target_that_is_offered_twice_is_no_clash(install):
    install("colours", "shade", "collections:Counter")
    install("colours_copy", "shade", "collections:Counter")
    assert plugins.load("metrics", "shade").__name__ == "Counter"


def test_a_clash_does_not_hinder_other_names(install):
    install("colours", "shade", "collections:Counter")
    install("paints", "shade", "collections:OrderedDict")
    assert plugins.load("metrics", "rendering_lighting").name == "rendering_lighting"


def test_listing_names_imports_nothing(install):
    install("colours", "shade", "no_such_module_anywhere:Shade")
    assert "shade" in plugins.names("metrics")
    assert "no_such_module_anywhere" not in sys.modules


@pytest.mark.parametrize("kind", ["suites", "metrics", "extractors"])
def test_our_own_plugins_are_registered_under_their_own_names(kind):
    for name in plugins.names(kind):
        assert plugins.load(kind, name).name == name
