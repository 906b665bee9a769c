"""`lookaway validate`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from lookaway.cli.options import dataset_options, json_option, print_note, read_dataset
from lookaway.cli.suite_options import DatasetCommand

EXIT_INVALID = 2


@click.command("validate", cls=DatasetCommand)
@dataset_options
@click.option("--open-videos", is_flag=True, help="Also open every video; slower, but finds damaged files.")
@json_option
def validate_command(open_videos: bool, as_json: bool, **options: Any) -> int:
    """Check DATASET strictly: on how many rollouts each metric can run, and why not on the others.

    Exits with 2 if the dataset has a problem. Weights and judges that are missing on this machine are listed but do not
    count as problems of the dataset, nor do rollouts without a record of how they were made.
    """
    from lookaway.engine.coverage import coverage, is_whole, reference_problems
    from lookaway.engine.judging import without_gates
    from lookaway.generation.collect import without_provenance
    from lookaway.reports.plan import print_coverage

    dataset, metrics = read_dataset(options)
    if open_videos:
        dataset = replace(dataset, problems=(*dataset.problems, *reference_problems(dataset)))
    covered = coverage(dataset, without_gates(metrics), open_videos=open_videos)
    print_coverage(dataset, covered, as_json=as_json)
    if lacking := without_provenance(dataset):
        print_note(lacking)
    return 0 if is_whole(dataset, covered) else EXIT_INVALID
