from __future__ import annotations

import re
from dataclasses import replace

import pytest

from lookaway.core import Estimate
from lookaway.reports.compare.comparison import ChangedClip, NotCompared, Verdict
from lookaway.reports.compare.fail_conditions import check_conditions, parse_condition
from lookaway.reports.compare.text import comparison_markdown, dimension_row, print_comparison
from lookaway.reports.numbers import verbatim
from tests.reports.test_comparison_conditions import APPEARANCE, COMPARISON, TEXTURE

HOSTILE = "a|b <script>alert(1)</script> [x](http://e.vil) @team #12 www.e.vil `c` **d** \u202egnp\n| e"
CLIP = ChangedClip(
    model="m",
    metric="bench.entity.appearance",
    subset="human",
    case="c1",
    rollouts=("m/c1/0",),
    before=0.81,
    after=0.22,
    difference=-0.59,
    share=-0.59,
    video="m/c1.mp4",
    video_before="old/c1.mp4",
)
WHOLE = replace(COMPARISON, worst=(CLIP,), got_worse=7)


def columns_of(line: str) -> int:
    return len(re.findall(r"(?<!\\)\|", line)) - 1


def test_every_figure_of_a_dimension_is_shown_rounded():
    assert dimension_row(APPEARANCE) == {
        "model": "m",
        "metric": "bench.entity.appearance",
        "subset": "human",
        "before": "0.600",
        "after": "0.570",
        "difference": "-0.030",
        "95 %": "[-0.050, -0.010]",
        "p": "0.010",
        "q": "0.020",
        "detectable": "0.020",
        "pairs": "40",
        "unpaired": "0+0",
        "verdict": "worse",
    }


def test_small_numbers_keep_figures_that_show_their_difference():
    small = replace(
        APPEARANCE,
        before=0.000123,
        after=0.000150,
        difference=Estimate(mean=-0.000027, low=-0.00004, high=-0.00001, scored=40, scenes=20),
    )
    row = dimension_row(small)
    assert (row["before"], row["difference"], row["95 %"]) == ("0.000123", "-0.000027", "[-0.000040, -0.000010]")


def test_the_terminal_shows_the_family_the_pairs_the_worst_clips_and_the_checks(capsys):
    left = NotCompared(metric="x", why="the locks differ", lock_differences=(("metrics.x.tau", 10, 12),))
    checks = check_conditions([parse_condition("entity < -0.02"), parse_condition("texture < -0.02")], COMPARISON)
    print_comparison(replace(WHOLE, not_compared=(left,), notes=("be careful",)), checks)
    out = capsys.readouterr().out
    assert "1 worse, 1 not significant" in out
    assert "clips of the same case and seed, 80 in all" in out
    assert "scored on one side only (before+after), 0 in all" in out
    assert "Benjamini-Hochberg over 2 tests" in out
    assert "worse on 7 of 80 pairs, the worst 1 first:" in out
    assert "metrics.x.tau: 10 before, 12 after" in out
    assert "note: be careful" in out
    assert "failed: entity < -0.02: bench.entity.appearance of human is -0.0300 (m)" in out
    assert "passed: texture < -0.02" in out


def test_markdown_shows_what_changed_first_and_folds_the_rest_away():
    text = comparison_markdown(WHOLE, check_conditions([parse_condition("entity < -0.02")], COMPARISON))
    head, _, folded = text.partition("<details>")
    assert head.startswith("### 1 worse, 1 not significant\n\n- ❌ ")
    assert "bench.entity.appearance" in head
    assert "bench.entity.texture" not in head
    assert "bench.entity.texture" in folded
    assert "<summary>Worse on 7 of 80 pairs, the worst 1 first</summary>" in folded
    assert "| ---: |" in head
    assert text.count("<details>") == text.count("</details>") == 2


def test_why_something_is_not_estimable_is_said_everywhere(capsys):
    blind = replace(APPEARANCE, verdict=Verdict.NOT_ESTIMABLE, why="3 cases have a score in both, fewer than 10")
    said = "bench.entity.appearance of human &#40;m&#41;&#58; 3 cases have a score in both"
    assert said in comparison_markdown(replace(COMPARISON, dimensions=(blind,)), [])
    print_comparison(replace(COMPARISON, dimensions=(blind,)), [])
    assert "bench.entity.appearance of human (m): 3 cases" in capsys.readouterr().out


def test_markdown_puts_what_got_worse_before_what_got_better():
    better = replace(TEXTURE, verdict=Verdict.BETTER)
    text = comparison_markdown(replace(COMPARISON, dimensions=(better, APPEARANCE)), [])
    assert 0 < text.index("appearance") < text.index("texture")


def test_every_row_of_a_markdown_table_has_the_columns_of_its_header_whatever_the_names_hold():
    named = replace(APPEARANCE, model=HOSTILE, metric=HOSTILE, subset=HOSTILE)
    clip = replace(CLIP, metric=HOSTILE, rollouts=(HOSTILE,), video=HOSTILE)
    left = NotCompared(metric=HOSTILE, why="locks", lock_differences=((HOSTILE, HOSTILE, 1),))
    hostile = replace(COMPARISON, dimensions=(named,), worst=(clip,), not_compared=(left,), notes=(HOSTILE,))
    checks = check_conditions([parse_condition("human < 0")], replace(COMPARISON, dimensions=(APPEARANCE,)))
    text = comparison_markdown(hostile, checks)
    expected = None
    for line in text.splitlines():
        expected = columns_of(line) if line.startswith("|") and expected is None else expected
        if line.startswith("|"):
            assert columns_of(line) == expected, line
        else:
            expected = None
    assert "<script" not in text
    for live in ("@team", "](http", " #12", "www.", "`c`", "**d**", "\u202e", "http://"):
        assert live not in text, live


def test_long_tables_and_names_fit_into_a_comment():
    long = replace(APPEARANCE, metric="x" * 100_000)
    clip = replace(CLIP, video="y" * 5000)
    text = comparison_markdown(replace(COMPARISON, dimensions=(long,) * 300, worst=(clip,) * 99), [])
    assert len(text) < 65_536
    assert "and 250 more" in text


def test_nothing_to_compare_is_said():
    assert "nothing to compare" in comparison_markdown(replace(COMPARISON, dimensions=(), family=0), [])


@pytest.mark.parametrize("sign", list("|<>&`*[]()#@\\~!:$"))
def test_no_sign_of_markdown_stays_alive(sign):
    assert verbatim(f"a{sign}b") == f"<code>a&#{ord(sign)};b</code>"


def test_underscores_are_alive_only_at_the_ends_of_words():
    assert verbatim("a_b _c_ d__e") == "<code>a_b &#95;c&#95; d&#95;&#95;e</code>"


def test_letters_of_any_language_stay_readable():
    assert verbatim("größe 模型") == "<code>größe 模型</code>"
