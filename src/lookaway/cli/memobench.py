"""`lookaway memobench`: inputs of MemoBench's cases, and analyses of runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lookaway.cli.options import COUNT, FOLDER_OR_URL, PATH, json_option
from lookaway.cli.validate import EXIT_INVALID

if TYPE_CHECKING:
    from lookaway.core import Problem


@click.group("memobench")
def memobench_command() -> None:
    """Write the inputs of models for the cases of MemoBench, and analyse runs.

    Analyses are computed from the rows that a run stores; nothing is measured again.
    """


@memobench_command.command("inputs")
@click.argument("dataset", type=PATH)
@click.option(
    "--interface",
    type=click.Choice(["i2v", "ci2v", "nvs"]),
    required=True,
    help="What the model takes: first frame and prompt (i2v), both and a camera (ci2v), first frame and camera (nvs).",
)
@click.option("--frames", type=COUNT, required=True, help="Number of frames that the model generates.")
@click.option("--model", default="MODEL", show_default=True, help="Name of the model in the paths of its clips.")
@click.option("--allow-outside", is_flag=True, help="Follow links that lead out of the dataset.")
@click.option("-o", "--output", type=PATH, required=True, help="Folder to write.")
def inputs_command(dataset: Path, interface: Any, frames: int, model: str, allow_outside: bool, output: Path) -> int:
    """Write the inputs of every case of DATASET for models of one interface.

    DATASET is the folder `data` of MemoBench, or its parent. Each case gets a folder with its first frame and, where
    the interface takes one, its camera: pose and intrinsics for each frame. cases.jsonl has prompts, hashes and the
    path where `lookaway eval` expects the generated clip. Exits with 2 if a case lacks an input.
    """
    from lookaway.suites.memobench.case_inputs import CaseInputs, reference_clips

    problems: list[Problem] = []
    clips = reference_clips(dataset, problems, allow_outside=allow_outside)
    count, lacking = CaseInputs(interface, frames, model).write(clips, output)
    for problem in (*problems, *lacking):
        click.echo(f"{problem.where}: {problem.message}", err=True)
    click.echo(f"Wrote {count} cases to {output}")
    return EXIT_INVALID if lacking else 0


@memobench_command.command("phase-drop")
@click.argument("run", type=FOLDER_OR_URL)
@json_option
def phase_drop_command(run: Path, as_json: bool) -> None:
    """Print how fidelity falls from the visible to the reappeared phase of the rollouts of RUN.

    For each model and metric: the mean in each phase, and the drop, positive where the video got worse, with its 95 %
    interval over scenes. All phases are over the same rollouts: all of them for published metrics, those that tested
    memory for repaired ones.
    """
    from lookaway.engine.run import Run
    from lookaway.reports.memobench.phases import phase_drops, print_phase_drops

    print_phase_drops(phase_drops(Run(run)), as_json=as_json)


@memobench_command.command("gated")
@click.argument("run", type=FOLDER_OR_URL)
@json_option
def gated_command(run: Path, as_json: bool) -> None:
    """Print the table of RUN without a gate, with the published motion gate, and with the realised one of this project.

    The published gate keeps rollouts whose reference turned by 90 degrees or more, so a still video passes it. The
    realised one keeps those whose own camera turned away and came back.
    """
    from lookaway.engine.run import Run
    from lookaway.reports.memobench.phases import gated_tables, print_gated_tables

    print_gated_tables(gated_tables(Run(run)), as_json=as_json)


@memobench_command.command("failures")
@click.argument("run", type=FOLDER_OR_URL, required=False)
@click.option("--rules", is_flag=True, help="Print the rules instead; needs no run.")
@click.option("-o", "--output", type=PATH, help="Also write one row per rollout and category: .csv or .parquet.")
@json_option
def failures_command(run: Path | None, rules: bool, output: Path | None, as_json: bool) -> None:
    """Print how many rollouts of RUN show each kind of failure: vanish, identity, state, teleport, background, camera.

    A rollout may show several. A rule compares one score with a limit; where the run has no such score, the category
    is unknown, and a note names the metric. Probes need a judge, and are measured by `lookaway eval --metrics
    probe_support,...`. Rules read repaired metrics, which are measured with `--protocol corrected` or `both`.
    """
    from lookaway.engine.run import Run
    from lookaway.reports.memobench.failures import failure_rule_rows, failures, print_failures, write_failures
    from lookaway.reports.numbers import print_lines, print_rows

    if rules:
        print_rows(failure_rule_rows(), as_json=as_json)
        return
    if run is None:
        raise click.UsageError("Name a run, or print the rules with --rules.")
    found = failures(Run(run))
    if output is not None:
        write_failures(found, output)
    print_failures(found, as_json=as_json)
    if output is not None and not as_json:
        print_lines([f"Wrote {output}"])


@memobench_command.command("ors-sensitivity")
@click.argument("run", type=FOLDER_OR_URL)
@click.option("--wording-run", type=FOLDER_OR_URL, help="Run of the same models with another prompt for the detector.")
@json_option
def ors_sensitivity_command(run: Path, wording_run: Path | None, as_json: bool) -> None:
    """Print how the ranking of the models of RUN by reappearance score depends on the choices behind it.

    The choices are the threshold of the detector, its prompt, and the size of the target (thirds of the cases). Each
    ranking has Kendall's tau with the usual ranking, with its 95 % interval over scenes. The usual threshold is 0 for
    the published score, and 0.5 for the repaired one; where RUN has both, the published one is read.
    """
    from lookaway.engine.run import Run
    from lookaway.reports.memobench.sensitivity import ors_sensitivity, print_rankings

    other = None if wording_run is None else Run(wording_run)
    print_rankings(ors_sensitivity(Run(run), other), as_json=as_json)
