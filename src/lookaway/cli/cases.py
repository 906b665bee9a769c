"""`lookaway cases`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lookaway.cli.options import COUNT, PATH, chosen_reading, json_option, parse_seeds, split_names
from lookaway.cli.suite_options import DatasetCommand

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lookaway.core import Dataset, Json, Problem
    from lookaway.generation.adapter import Adapter, ControlPlan
    from lookaway.generation.request import GenerationRequest

EXIT_REFUSED = 2


def case_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """DATASET, what is chosen of it, and what actions in words mean."""
    decorators = [
        click.argument("dataset", type=PATH),
        click.option("--suite", help="Suite that reads it; by default the one that recognises the folder."),
        click.option("--models", callback=split_names, default="", metavar="A,B", help="Only cases of these models."),
        click.option("--subsets", callback=split_names, default="", metavar="A,B", help="Only these subsets."),
        click.option("--case", "cases", multiple=True, metavar="ID", help="Only this case; can be repeated."),
        click.option("--limit", type=COUNT, help="Only the first N cases of each model and subset."),
        click.option(
            "--turn-degrees", type=float, default=60.0, show_default=True, help="Turn of an action without degrees."
        ),
        click.option(
            "--clip-seconds",
            type=float,
            default=5.0,
            show_default=True,
            help="Seconds of a clip whose case has no poses.",
        ),
    ]
    for decorate in reversed(decorators):
        command = decorate(command)
    return command


@click.group("cases")
def cases_command() -> None:
    """List the cases of a dataset, and export their controls for a model."""


@cases_command.command("list", cls=DatasetCommand)
@case_options
@json_option
def list_command(as_json: bool, **options: Any) -> None:
    """List the cases of DATASET and the camera path that each requests."""
    from lookaway.reports.numbers import print_rows

    _, requests = _requests(options)
    print_rows([_request_row(request) for request in requests], as_json=as_json)


@cases_command.command("show", cls=DatasetCommand)
@case_options
@click.option("--for", "model", required=True, metavar="MODEL", help="Model, by the name of its adapter.")
@json_option
def show_command(model: str, as_json: bool, **options: Any) -> None:
    """Print the controls that MODEL would get for the cases of DATASET, and their errors."""
    from lookaway.core import plugins
    from lookaway.reports.numbers import print_rows

    adapter = plugins.load("adapters", model)()
    _, requests = _requests(options)
    print_rows([_plan_row(request, adapter) for request in requests], as_json=as_json)


@cases_command.command("export", cls=DatasetCommand)
@case_options
@click.option("--for", "model", required=True, metavar="MODEL", help="Model, by the name of its adapter.")
@click.option("-o", "--output", type=PATH, required=True, help="Work folder to write or resume.")
@click.option(
    "--seeds", callback=parse_seeds, default="0", show_default=True, metavar="0,3,10-19", help="Seeds of each case."
)
@click.option(
    "--nearest", is_flag=True, help="For a case that the model cannot express, export the nearest that it can."
)
def export_command(model: str, output: Path, seeds: tuple[int, ...], nearest: bool, **options: Any) -> int:
    """Write the native controls of MODEL for the cases of DATASET: files, run.sh, delivered paths, losses, and a plan.

    Exits with 2 if a case cannot be exported; the others are.
    """
    from lookaway.core import plugins
    from lookaway.generation.export import export_cases
    from lookaway.reports.numbers import amount, print_lines

    adapter = plugins.load("adapters", model)()
    _, requests = _requests(options)
    report = export_cases(requests, adapter, seeds, output, take_nearest=nearest)
    refused = [f"refused: {item.case}: {(item.refusal or {}).get('message')}" for item in report.refused]
    problems = [f"left out: {problem.where}: {problem.message}" for problem in report.problems]
    written = len(report.items) - len(report.refused)
    print_lines([*problems, *refused, f"Wrote {amount(written, 'case')} for {model} to {output}"])
    return EXIT_REFUSED if refused or problems else 0


def _requests(options: dict[str, Any]) -> tuple[Dataset, Iterator[GenerationRequest | Problem]]:
    from lookaway.engine.reading import read
    from lookaway.generation.cases import ActionForm, requests_of

    form = ActionForm(degrees=options.pop("turn_degrees"), seconds=options.pop("clip_seconds"))
    dataset = read(options.pop("dataset"), **chosen_reading(options))
    return dataset, requests_of(dataset, form)


def _request_row(request: GenerationRequest | Problem) -> dict[str, Json]:
    """A case and its camera path in words."""
    from lookaway.core import Problem
    from lookaway.generation.models.text_prompt import camera_sentence

    if isinstance(request, Problem):
        return {"case": request.where, "frames": None, "camera": f"cannot be asked: {request.message}"}
    camera = request.camera
    return {
        "case": request.case.id,
        "frames": camera.frames if camera else None,
        "camera": camera_sentence(camera) if camera else "no camera path",
    }


def _plan_row(request: GenerationRequest | Problem, adapter: Adapter) -> dict[str, Json]:
    """What a model is given, and the errors of what it will execute."""
    from lookaway.core import Problem
    from lookaway.generation.adapter import ControlPlan

    if isinstance(request, Problem):
        return {**_plan_columns(request.where, None), "note": f"cannot be asked: {request.message}"}
    planned = adapter.plan(request, 0)
    if isinstance(planned, ControlPlan):
        return {**_plan_columns(request.case.id, planned), "note": ""}
    refused = "refused, this is the nearest" if planned.nearest else "refused"
    return {**_plan_columns(request.case.id, planned.nearest), "note": f"{refused}: {planned.message}"}


def _plan_columns(case: str, plan: ControlPlan | None) -> dict[str, Json]:
    loss = plan.loss if plan else None
    return {
        "case": case,
        "native": plan.native if plan else None,
        "frames": plan.frames if plan else None,
        "peak_error_deg": _rounded(loss and loss.peak_angle_error_deg),
        "return_error_deg": _rounded(loss and loss.return_error_deg),
        "path_rmse_deg": _rounded(loss and loss.path_rmse_deg),
    }


def _rounded(value: object) -> float | None:
    return round(value, 3) if isinstance(value, float) else None
