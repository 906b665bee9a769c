from __future__ import annotations

import pytest

from lookaway.core import BoundMetric, plugins
from lookaway.engine.reading import load_suite
from lookaway.metrics.frame_metrics import Psnr, Ssim
from lookaway.suites.two_protocols import FURTHER, corrected_name, two_protocols

LOW, HIGH = (BoundMetric(name="a.psnr", metric=Psnr(ceiling_db=ceiling)) for ceiling in (50.0, 100.0))
SAME = BoundMetric(name="a.ssim", metric=Ssim())
OURS = BoundMetric(name="further.ssim", metric=Ssim())
GATE = BoundMetric(name="a.revisited", metric=Ssim(), is_gate=True)


def test_a_repair_has_a_name_of_its_own_and_what_is_equal_exists_once():
    found = two_protocols([LOW, SAME, OURS], [HIGH, SAME, OURS], gates=[GATE])
    assert [(bound.name, bound.protocol) for bound in found] == [
        ("a.psnr", "published"),
        ("a.ssim", "both"),
        ("a.corrected.psnr", "corrected"),
        ("further.ssim", "corrected"),
        ("a.revisited", None),
    ]
    assert [bound.metric.ceiling_db for bound in found if "psnr" in bound.name] == [50.0, 100.0]


@pytest.mark.parametrize("suite", ["mbench-a", "mbench-t", "memobench", "mind", "wrbench"])
def test_no_name_of_a_benchmark_stands_for_two_readings(suite):
    bounds = load_suite(suite).metrics({})
    names = [bound.name for bound in bounds]
    assert len(set(names)) == len(names)
    published = {bound.name for bound in bounds if bound.protocol == "published"}
    corrected = {bound.name for bound in bounds if bound.protocol == "corrected" and not bound.name.startswith(FURTHER)}
    assert {corrected_name(name) for name in published} >= corrected
    assert {bound.protocol for bound in bounds if bound.is_gate} <= {None, "both", "published"}


@pytest.mark.parametrize("suite", sorted(plugins.names("suites")))
def test_the_two_protocols_together_are_both(suite):
    bounds = load_suite(suite).metrics({})
    published, corrected = ({b.name for b in bounds if b.is_of(name)} for name in ("published", "corrected"))
    assert published | corrected == {bound.name for bound in bounds if bound.is_of("both")} == {b.name for b in bounds}
