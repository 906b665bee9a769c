"""What is said to have been shown for a metric is what the tests show, and no more."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from benchmarks import evidence
from lookaway.calibration.card import CardSet
from lookaway.calibration.evidence import RECORD, shown_for
from lookaway.core import BoundMetric
from lookaway.metrics.frame_metrics import Lpips, Psnr
from lookaway.perception.similarity.lpips_pairs import LpipsPairs
from tests.support.command import lookaway

NAMES = ("mbencha.texture", "mbencht.texture", "mind.lcm.psnr", "mind.corrected.lcm.psnr", "memobench.ors", "light")


def test_the_record_is_what_the_tests_say():
    found = evidence.written(evidence.collect(evidence.ROOT / "tests", evidence.public_names()))
    assert RECORD.read_text(encoding="utf-8") == found, "run `python -m benchmarks.evidence` and read what moved"


def test_every_test_in_the_record_exists():
    record = evidence.collect(evidence.ROOT / "tests", evidence.public_names())
    for address in {test for kinds in record.values() for sources in kinds.values() for test in sources.values()}:
        path, _, name = address.partition("::")
        module = ast.parse((evidence.ROOT / path).read_text(encoding="utf-8"))
        assert name in {node.name for node in module.body if isinstance(node, ast.FunctionDef)}


def collected(folder: Path, **files: str) -> evidence.Record:
    for name, text in files.items():
        path = folder / "tests" / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".py").write_text(text)
    return evidence.collect(folder / "tests", NAMES)


@pytest.mark.parametrize(
    ("mark", "kind"),
    [("equation", "equation"), ("golden", "code"), ("weights_run", "weights"), ("published_table", "table")],
)
def test_a_mark_says_what_its_test_shows_and_for_which_names(tmp_path, mark, kind):
    text = f'@pytest.mark.merge\n@pytest.mark.{mark}("MIND, table 2", metrics=["mind.lcm.*"])\ndef test_it(): pass\n'
    assert collected(tmp_path, metrics__test_it=text) == {
        "mind.lcm.psnr": {kind: {"MIND, table 2": "tests/metrics/test_it.py::test_it"}}
    }


def test_a_mark_with_a_name_that_no_metric_has_is_refused(tmp_path):
    text = '@pytest.mark.golden("mind.json", metrics=["mind.lcm.pnsr"])\ndef test_it(): pass\n'
    with pytest.raises(ValueError, match=r"test_it: no metric is named 'mind\.lcm\.pnsr'; see `lookaway metrics`"):
        collected(tmp_path, test_it=text)


def test_a_table_of_equations_counts_with_the_names_in_its_tests(tmp_path):
    text = (
        'EQUATIONS = {5: "test_five", 6: "defines no score"}\nTABLES: dict = {"table 9": ("test_five", "test_other")}\n'
        'def test_five(prefix, bound):\n    assert bound[f"{prefix}.texture"]\n'
        'def test_other(bound):\n    assert bound["memobench.ors"]\n'
        'def test_neither(bound):\n    assert bound["mind.lcm.psnr"]\n'
    )
    where = "tests/conformance/test_paper.py::"
    of_five = {"equation": {"equation 5": f"{where}test_five", "table 9": f"{where}test_five"}}
    assert collected(tmp_path, conformance__test_paper=text) == {
        "mbencha.texture": of_five,
        "mbencht.texture": of_five,
        "memobench.ors": {"equation": {"table 9": f"{where}test_other"}},
    }
    assert collected(tmp_path / "elsewhere", metrics__test_paper=text) == {}


def test_names_are_found_in_constants_and_functions_that_a_test_uses(tmp_path):
    text = (
        'EQUATIONS = {12: "test_it", 9: "test_it"}\nNAMES = ("mind.lcm.psnr",)\nUNUSED = "memobench.ors"\n'
        'def helper(prefix):\n    return f"{prefix}.texture"\n'
        "def test_it():\n    assert NAMES == helper(0)\n"
    )
    found = collected(tmp_path, conformance__test_paper=text)
    assert found.keys() == {"mbencha.texture", "mbencht.texture", "mind.lcm.psnr"}
    assert list(found["mind.lcm.psnr"]["equation"]) == ["equation 9", "equation 12"]


def test_a_key_that_ends_a_name_stands_for_that_name_alone(tmp_path):
    text = (
        'NUMBERS = {"lcm.psnr": "test_it", "other.ors": "test_it", "length": "test_it"}\n'
        'def test_it():\n    assert bound["memobench.ors"] == bound["mbencha.texture"]\n'
    )
    found = collected(tmp_path, conformance__test_code=text)
    assert {name: list(kinds["code"]) for name, kinds in found.items()} == {
        "mbencha.texture": ["length"],
        "memobench.ors": ["length", "other.ors"],
        "mind.lcm.psnr": ["lcm.psnr"],
    }


def test_a_test_that_reads_golden_numbers_counts_with_the_names_in_it(tmp_path):
    text = 'def test_it():\n    assert published("memobench.ors") == golden_numbers("memobench")["ors"]\n'
    found = {"memobench.ors": {"code": {"memobench.json": "tests/test_it.py::test_it"}}}
    assert collected(tmp_path, test_it=text) == found


def test_networks_need_weights_and_arithmetic_does_not():
    with_network = BoundMetric(name="mine", metric=Lpips(), recipes={"lpips": LpipsPairs()})
    shown = shown_for(with_network, CardSet(()))
    assert (shown.needs_weights, shown.has_card, shown.line) == (True, False, "nothing yet")
    assert not shown_for(BoundMetric(name="mine", metric=Psnr()), CardSet(())).needs_weights


def test_the_list_of_metrics_says_what_has_been_shown():
    rows = {row["metric"]: row["shown"] for row in lookaway("metrics", "--json").json}
    assert "code" in rows["mind.lcm.psnr"].split(", ")
    assert "card" in rows["changed_area"].split(", ")
