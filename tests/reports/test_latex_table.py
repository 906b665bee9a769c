from __future__ import annotations

import csv
import re
import shutil
import subprocess

import numpy as np
import pyarrow.parquet as pq
import pytest

from lookaway.core import Estimate, UserError
from lookaway.reports.export.paper_table import (
    PaperCell,
    PaperColumn,
    PaperTable,
    latex_tables,
    latex_text,
    markdown_tables,
    paper_tables,
    write_estimates,
)
from lookaway.reports.lint.printed_table import read_printed
from lookaway.reports.lint.table_lint import lint_table
from lookaway.reports.runs import load_run, with_controls
from lookaway.statistics.precision import precision
from tests.support.chosen_run import GATE, IDENTITY, LIGHT, LPIPS, PSNR, STYLE, chosen_run, clips
from tests.support.command import lookaway

pytestmark = pytest.mark.usefixtures("tried_on_frozen")

BASE = np.random.default_rng(1).uniform(0.4, 0.6, 40)
HOSTILE = r"[x] \input{/etc/passwd} $a$ 50% a_b & {c} ~^#|<b>@x</b> *" + "\u202e\n"


def cell(mean, low, high, n=40, *, is_best=False):
    estimate = Estimate(mean=mean, low=low, high=high, scored=n, scenes=n)
    return PaperCell(estimate=estimate, precision=precision(estimate, n), is_best=is_best)


def one_table(*cells, title="memory", higher=True, models=None, subset="room", controls=0, notes=()):
    column = PaperColumn(title=title, higher_is_better=higher, digits=3, cells=cells)
    names = models or tuple(f"m{number}" for number in range(len(cells)))
    own = names[: len(names) - controls], names[len(names) - controls :]
    return PaperTable(subset=subset, models=own[0], controls=own[1], columns=(column,), notes=notes)


def tables_of(run, *controls):
    (found,) = with_controls([load_run(run, "run")], controls)
    return paper_tables(found)


def best_of(tmp_path, found, metric=STYLE, controls=()):
    tables = tables_of(chosen_run(tmp_path / "run", found), *controls)
    (column,) = [entry for table in tables for entry in table.columns if entry.title == metric.rpartition(".")[2]]
    names = [*tables[0].models, *tables[0].controls]
    return [names[number] for number, entry in enumerate(column.cells) if entry.is_best]


def test_the_best_is_marked_where_it_is_told_apart(tmp_path):
    found = [*clips(STYLE, BASE, model="a"), *clips(STYLE, BASE + 0.2, model="b"), *clips(STYLE, BASE - 0.1, model="c")]
    assert best_of(tmp_path, found) == ["b"]


def test_where_lower_is_better_the_lowest_is_the_best(tmp_path):
    found = [*clips(LPIPS, BASE, model="a"), *clips(LPIPS, BASE + 0.2, model="b")]
    assert best_of(tmp_path, found, LPIPS) == ["a"]


def test_nothing_is_best_where_the_first_two_cannot_be_told_apart(tmp_path):
    noise = np.random.default_rng(2).normal(0, 0.05, 40)
    found = [
        *clips(STYLE, BASE, model="a"),
        *clips(STYLE, BASE + noise, model="b"),
        *clips(STYLE, BASE - 0.3, model="c"),
    ]
    assert best_of(tmp_path, found) == []


def test_a_model_on_nine_clips_is_neither_the_best_nor_in_the_way_of_another(tmp_path):
    few = clips(STYLE, BASE[:9] + 0.3, model="few")
    rest = [*clips(STYLE, BASE, model="a"), *clips(STYLE, BASE + 0.2, model="b")]
    assert best_of(tmp_path, [*few, *rest]) == ["b"]


def test_no_control_is_the_best_nor_in_the_way_of_another(tmp_path):
    frozen, perfect = clips(STYLE, BASE + 0.3, model="frozen"), clips(STYLE, BASE + 0.4, model="perfect")
    rest = [*clips(STYLE, BASE, model="a"), *clips(STYLE, BASE + 0.2, model="z")]
    controls = ("frozen", "perfect")
    assert best_of(tmp_path, [*frozen, *perfect, *rest], controls=controls) == ["z"]
    assert best_of(tmp_path / "x", [*frozen, *perfect, *rest[:40]], controls=controls) == []


def test_controls_stand_below_the_others_and_are_called_so(tmp_path):
    found = [*clips(STYLE, BASE + 0.3, model="frozen"), *clips(STYLE, BASE, model="a"), *clips(STYLE, BASE, model="z")]
    (table,) = tables_of(chosen_run(tmp_path / "run", found), "frozen")
    assert (table.models, table.controls) == (("a", "z"), ("frozen",))
    assert [entry.estimate.mean for entry in table.columns[0].cells] == pytest.approx(
        [*[BASE.mean()] * 2, BASE.mean() + 0.3]
    )
    lines = latex_tables([table], "x").splitlines()
    below = lines[lines.index(r"\midrule", lines.index(r"\midrule") + 1) : lines.index(r"\bottomrule")]
    assert below[1].startswith("{frozen} (control) & $")
    rows = [line for line in markdown_tables([table], "x").splitlines() if line.startswith("| <code>")]
    assert [row.split(" |")[0] for row in rows] == [
        "| <code>a</code>",
        "| <code>z</code>",
        "| <code>frozen</code> (control)",
    ]


def test_a_table_of_controls_alone_has_no_empty_part():
    text = latex_tables([one_table(cell(0.5, 0.4, 0.6), controls=1)], "x")
    assert text.count(r"\midrule") == 1


def test_what_the_suite_says_of_its_numbers_goes_into_caption_and_legend(tmp_path):
    run = chosen_run(tmp_path / "run", clips(STYLE, BASE), suite="mbench-t")
    (note,) = run.table().notes
    assert note.startswith("Raw consistency")
    write_estimates(run, tmp_path / "table.tex")
    (caption,) = re.findall(r"\\caption\{(.*)\}", (tmp_path / "table.tex").read_text(encoding="utf-8"))
    assert caption.startswith(f"environment. {note} every rollout counts once; 95")
    write_estimates(run, tmp_path / "table.md")
    (said,) = [line for line in (tmp_path / "table.md").read_text(encoding="utf-8").splitlines() if "Raw" in line]
    assert said.startswith("- <code>Raw consistency")
    assert said.endswith("can score high.</code>")
    hostile = one_table(cell(0.5, 0.4, 0.6), notes=(HOSTILE,))
    assert r"\input" not in latex_tables([hostile], "x")
    assert markdown_tables([hostile, hostile], "x").count("etc/passwd") == 1
    assert "<b>" not in markdown_tables([hostile], "x")


def test_one_model_alone_is_not_the_best(tmp_path):
    assert best_of(tmp_path, clips(STYLE, BASE)) == []
    few = clips(STYLE, BASE[:9], model="few")
    assert best_of(tmp_path / "x", [*few, *clips(STYLE, BASE, model="a")]) == []


def test_nothing_is_best_where_the_metric_is_not_installed(tmp_path):
    found = [*clips("unheard_of", BASE, model="a"), *clips("unheard_of", BASE + 0.2, model="b")]
    assert best_of(tmp_path, found, "unheard_of") == []


def test_estimates_are_those_of_the_runs_own_table_and_daggers_those_of_the_statistics(tmp_path):
    found = [*clips(STYLE, BASE, model="a"), *clips(STYLE, BASE[:12], model="b"), *clips(STYLE, BASE[:3], model="c")]
    run = chosen_run(tmp_path / "run", found)
    (table,) = tables_of(run)
    (column,) = table.columns
    assert [entry.estimate for entry in column.cells] == [entry.estimate for entry in run.table().cells]
    assert [entry.precision.mark.value for entry in column.cells] == ["", "†", "‡"]
    assert [entry.precision.effective for entry in column.cells] == [40.0, 12.0, 3.0]


def test_the_width_of_an_interval_is_judged_by_what_the_metric_spans(tmp_path):
    wide = np.tile([0.0, 1.0], 20)
    rows = [*clips(STYLE, wide), *clips(PSNR, wide + 20), *clips(LPIPS, wide)]
    (table,) = tables_of(chosen_run(tmp_path / "run", rows))
    assert [column.cells[0].precision.mark.value for column in table.columns] == ["†", "", ""]


def test_clips_of_one_scene_are_worth_less_and_earn_a_dagger(tmp_path):
    rows = [
        entry for group in range(4) for entry in clips(STYLE, [0.2 * group] * 10, scene=f"s{group}", seed=str(group))
    ]
    (table,) = tables_of(chosen_run(tmp_path / "run", rows))
    (found,) = table.columns[0].cells
    assert found.precision.effective == pytest.approx(4.0)
    assert found.precision.mark.value == "†"


def test_what_a_gate_makes_of_a_metric_has_columns_of_its_own(tmp_path):
    closed = np.where(np.arange(40) < 10, 0.0, 1.0)
    found = [*clips(IDENTITY, BASE, subset="human"), *clips(GATE, closed, subset="human")]
    (table,) = tables_of(chosen_run(tmp_path / "run", found, suite="mbench-t"))
    score, triggered, combined = table.columns
    name = "human_identity_consistency"
    assert [column.title for column in table.columns] == [name, f"{name}: triggered", f"{name}: M-Score"]
    assert (score.cells[0].estimate.scored, triggered.cells[0].estimate.mean) == (30, 0.75)
    mean = BASE[10:].mean()
    assert combined.cells[0].estimate.mean == pytest.approx(2 * mean * 0.75 / (mean + 0.75))
    assert triggered.cells[0].precision.effective == 40.0


def test_metrics_whose_last_parts_are_alike_keep_their_whole_names(tmp_path):
    other = "other.rendering_style"
    (table,) = tables_of(chosen_run(tmp_path / "run", [*clips(STYLE, BASE), *clips(other, BASE)]))
    assert [column.title for column in table.columns] == [STYLE, other]


def test_latex_has_rules_means_intervals_n_daggers_and_bold():
    table = one_table(
        cell(0.71234, 0.65, 0.77, is_best=True), cell(0.5, 0.3, 0.7), cell(0.9, 0.1, 1.2, n=3), cell(-0.25, -0.3, -0.2)
    )
    text = latex_tables([table], "suite x")
    body = text[text.index(r"\midrule") : text.index(r"\bottomrule")].splitlines()[1:]
    assert body == [
        r"{m0} & $\mathbf{0.712}$ \\",
        r" & {\scriptsize $[0.650, 0.770]$, 40} \\",
        r"{m1} & $0.500^{\dagger}$ \\",
        r" & {\scriptsize $[0.300, 0.700]$, 40} \\",
        r"{m2} & $0.900^{\ddagger}$ \\",
        r" & {\scriptsize $[0.100, 1.200]$, 3} \\",
        r"{m3} & $-0.250$ \\",
        r" & {\scriptsize $[-0.300, -0.200]$, 40} \\",
    ]
    assert r"model & memory $\uparrow$ \\" in text
    assert r"\begin{tabular}{lc}" in text
    assert r"\toprule" in text


def test_markdown_has_means_daggers_intervals_n_and_bold():
    table = one_table(cell(0.71234, 0.65, 0.77, is_best=True), cell(0.5, 0.3, 0.7), cell(0.9, 0.1, 1.2, n=3))
    assert markdown_tables([table], "x").splitlines()[2:7] == [
        "| model | <code>memory</code> ↑ |",
        "| --- | --- |",
        "| <code>m0</code> | **0.712** [0.650, 0.770] n=40 |",
        "| <code>m1</code> | 0.500 † [0.300, 0.700] n=40 |",
        "| <code>m2</code> | 0.900 ‡ [0.100, 1.200] n=3 |",
    ]


def test_a_cell_without_an_estimate_or_interval_says_so():
    missing = PaperCell(estimate=None, precision=precision(None, 0.0))
    single = cell(0.5, None, None)
    text = latex_tables([one_table(missing, single, higher=False)], "x")
    assert "{m0} & -- \\\\\n &  \\\\" in text
    assert r"{\scriptsize 40}" in text
    assert r"$\downarrow$" in text
    assert "| - |" in markdown_tables([one_table(missing, single)], "x")


@pytest.mark.parametrize("sign", list("&%$#_{}~^\\<>|\"`'-"))
def test_no_sign_of_latex_stays_alive(sign):
    escaped = latex_text(f"a{sign}b")
    assert escaped != f"a{sign}b"
    assert escaped.startswith("a")
    assert escaped.endswith("b")


def test_hostile_names_stay_in_their_cells_in_latex():
    text = latex_tables([one_table(cell(0.5, 0.4, 0.6), models=(HOSTILE,), title=HOSTILE, subset=HOSTILE)], HOSTILE)
    assert r"\input" not in text
    assert "\u202e" not in text
    for line in text.splitlines():
        if line.endswith(r"\\"):
            assert len(re.findall(r"(?<!\\)&", line)) == 1, line
            assert not line.lstrip().startswith(("[", "*"))
    (label,) = re.findall(r"\\label\{(.*)\}", text)
    assert re.fullmatch(r"tab:[a-z0-9-]+", label)
    assert text.count("{") == text.count("}")


def test_hostile_names_stay_in_their_cells_in_markdown():
    text = markdown_tables([one_table(cell(0.5, 0.4, 0.6), models=(HOSTILE,), title=HOSTILE, subset=HOSTILE)], HOSTILE)
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert [line.count("|") for line in rows] == [3, 3, 3]
    for live in ("<b>", "@x", "\u202e", "[x]"):
        assert live not in text


def test_our_own_markdown_has_no_mistake_of_statistics(tmp_path):
    found = [*clips(STYLE, BASE, model="a"), *clips(STYLE, BASE + 0.2, model="b"), *clips(STYLE, BASE[:3], model="c")]
    found += [*clips(LIGHT, BASE, model="a"), *clips(LIGHT, BASE, model="b")]
    run = chosen_run(tmp_path / "run", found)
    write_estimates(run, tmp_path / "table.md")
    (printed,) = read_printed(tmp_path / "table.md")
    assert printed.rows[1][1].is_bold
    assert printed.rows[1][1].n == 40
    assert lint_table(printed) == []


def test_the_command_writes_estimates_in_all_formats_and_the_same_twice(tmp_path):
    run = chosen_run(tmp_path / "run", [*clips(STYLE, BASE, model="a"), *clips(STYLE, BASE + 0.2, model="b")])
    starts = {
        "t.tex": b"% \\usepackage{booktabs",
        "T.MD": b"## <code>environment</code>",
        "t.csv": b"suite,metric,lock,subset,model,run,mean,low,high,scored,",
        "t.parquet": b"PAR1",
    }
    for name, start in starts.items():
        result = lookaway("export", "table", run.path, "-o", tmp_path / name)
        assert (result.code, result.out) == (0, f"Wrote {tmp_path / name}\n")
        first = (tmp_path / name).read_bytes()
        assert first.startswith(start)
        lookaway("export", "table", run.path, "-o", tmp_path / name)
        assert (tmp_path / name).read_bytes() == first
    refused = lookaway("export", "table", run.path, "-o", tmp_path / "t.xlsx")
    assert (refused.code, (tmp_path / "t.xlsx").exists()) == (2, False)
    assert ".tex, .md, .csv, .parquet" in refused.err
    (tmp_path / "file").write_text("")
    for name in ("t.tex", "t.csv"):
        with pytest.raises(UserError, match="cannot be written"):
            write_estimates(run, tmp_path / "file" / name)


def test_csv_and_parquet_hold_the_estimates_whole_with_interval_mark_and_ranks(tmp_path):
    found = [
        *clips(STYLE, BASE, model="a"),
        *clips(STYLE, BASE + 0.2, model="b"),
        *clips(STYLE, BASE[:9] + 0.3, model="few"),
        *clips(STYLE, BASE + 0.3, model="frozen"),
    ]
    run = chosen_run(tmp_path / "run", found)
    write_estimates(run, tmp_path / "t.parquet", ["frozen=a still video"])
    rows = {row["model"]: row for row in pq.read_table(tmp_path / "t.parquet").to_pylist()}
    assert list(rows) == ["b", "a", "few", "frozen"]
    cells = {entry.model: entry.estimate for entry in run.table().cells}
    for model in ("a", "b", "frozen"):
        estimate = cells[model]
        assert [rows[model][name] for name in ("mean", "low", "high")] == [estimate.mean, estimate.low, estimate.high]
    assert (rows["few"]["mean"], rows["few"]["mark"]) == (cells["few"].mean, "not_estimable")
    assert (rows["few"]["low"], rows["few"]["scored"]) == (cells["few"].low, 9)
    ranks = {model: (row["rank_best"], row["rank_worst"], row["tie_group"]) for model, row in rows.items()}
    assert ranks == {"b": (1, 1, 1), "a": (2, 2, 2), "few": (None,) * 3, "frozen": (None,) * 3}
    assert [row["control"] for row in rows.values()] == [None, None, None, "a still video"]
    write_estimates(run, tmp_path / "t.csv", ["frozen=a still video"])
    with (tmp_path / "t.csv").open(encoding="utf-8", newline="") as file:
        printed = list(csv.DictReader(file))
    assert [float(row["mean"]) if row["mean"] else None for row in printed] == [row["mean"] for row in rows.values()]


def test_the_m_score_of_a_model_that_never_met_the_test_is_nothing_and_known(tmp_path):
    found = [*clips(IDENTITY, BASE, subset="human"), *clips(GATE, BASE * 0, subset="human")]
    write_estimates(chosen_run(tmp_path / "run", found, suite="mbench-t"), tmp_path / "t.parquet")
    (row,) = pq.read_table(tmp_path / "t.parquet").to_pylist()
    assert (row["mean"], row["scored"]) == (None, 0)
    assert (row["coverage_mean"], row["coverage_n"], row["combined_mean"], row["combined_n"]) == (0.0, 40, 0.0, 40)
    assert (row["coverage_mark"], row["combined_mark"]) == ("none", "none")


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.md"])
def test_our_own_tables_have_no_mistake_of_statistics(tmp_path, name):
    found = []
    for number, model in enumerate(("frozen", "a", "b")):
        gate = np.where(np.arange(40) < 8 * number, 0.0, 1.0)
        found += clips(GATE, gate, model=model, subset="human")
        found += clips(IDENTITY, BASE + 0.1 * number, model=model, subset="human")
        found += clips(PSNR, 20 + BASE + number, model=model, subset="human")
    found += [*clips(IDENTITY, BASE[:3] + 0.4, model="few", subset="human")]
    found += [*clips(GATE, np.ones(3), model="few", subset="human")]
    write_estimates(chosen_run(tmp_path / "run", found, suite="mbench-t"), tmp_path / name)
    (printed,) = read_printed(tmp_path / name)
    assert len(printed.rows) >= 4
    assert lint_table(printed) == []


def has_latex() -> bool:
    tools = shutil.which("pdflatex") and shutil.which("kpsewhich")
    return bool(tools) and subprocess.run(["kpsewhich", "booktabs.sty"], capture_output=True).returncode == 0


@pytest.mark.skipif(not has_latex(), reason="LaTeX with booktabs is not installed")
def test_latex_typesets_it(tmp_path):
    table = one_table(cell(0.7, 0.6, 0.8, is_best=True), models=(HOSTILE,), title=HOSTILE, subset=HOSTILE)
    source = "\\documentclass{article}\\usepackage{booktabs,textcomp}\\begin{document}\n"
    (tmp_path / "t.tex").write_text(source + latex_tables([table], "x") + "\\end{document}\n", encoding="utf-8")
    command = ["pdflatex", "-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout[-2000:]
