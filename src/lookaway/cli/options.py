"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from lookaway.cli.suite_options import SUITE_OPTIONS

if TYPE_CHECKING:
    from lookaway.core import BoundMetric, Dataset

Command = TypeVar("Command", bound=Callable[..., Any])


class PlaceType(click.Path):
    """A folder on disk, or one on object storage such as s3://bucket/run."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """A path that is used like any other."""
        if not (isinstance(value, str) and "://" in value):
            return super().convert(value, param, ctx)
        from lookaway.io.object_storage import as_path

        return as_path(value)


PLACE = PlaceType()


def split_names(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """Names separated by commas; `None` where the option was not given."""
    return None if value is None else tuple(part.strip() for part in value.split(",") if part.strip())


def split_pairs(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> dict[str, str]:
    """Pairs that an equals sign joins."""
    pairs = {}
    for text in value:
        name, sign, meaning = (part.strip() for part in text.partition("="))
        if not (name and sign and meaning):
            raise click.BadParameter(f"{text!r} is not FEATURE=EXTRACTOR, such as poses=tracked_poses.")
        pairs[name] = meaning
    return pairs


def dataset_options(command: Command) -> Command:
    """DATASET and everything that every suite takes; goes with `DatasetCommand`, which adds the rest."""
    decorators = [
        click.argument("dataset", type=click.Path(path_type=Path)),
        click.option("--suite", help="Suite to read it with; by default the one that recognises the folder."),
        click.option(
            "--metrics", callback=split_names, metavar="A,B", help="Metrics to run; by default the suite's protocol."
        ),
        click.option("--models", callback=split_names, default="", metavar="A,B", help="Only these models."),
        click.option("--subsets", callback=split_names, default="", metavar="A,B", help="Only these subsets."),
        click.option("--case", "cases", multiple=True, metavar="ID", help="Only this case; can be repeated."),
        click.option("--limit", type=click.IntRange(min=1), help="Only the first N cases of each model and subset."),
        click.option(
            "--use",
            "using",
            multiple=True,
            callback=split_pairs,
            metavar="FEATURE=EXTRACTOR",
            help="Another extractor for a feature, such as poses=tracked_poses; can be repeated.",
        ),
        click.option("--device", help="Where networks run: cpu, cuda or cuda:1; by default as their recipes say: cpu."),
        click.option(
            "--precision",
            type=click.Choice(["float32", "bfloat16", "float16"]),
            help="In which networks compute; by default as their recipes say: float32.",
        ),
    ]
    for decorate in reversed(decorators):
        command = decorate(command)
    return command


def json_option(command: Command) -> Command:
    """Machine-readable output."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")(command)


def chosen_changes(options: dict[str, Any]) -> dict[str, Any]:
    """Other extractors and devices, if the options say so; takes them out of `options`."""
    from lookaway.core import Compute

    said = {name: value for name in ("device", "precision") if (value := options.pop(name)) is not None}
    return {"using": options.pop("using"), "compute": Compute(**said) if said else None}


def chosen_reading(options: dict[str, Any]) -> dict[str, Any]:
    """What is read, and how, as `read` takes it; takes it out of `options`."""
    own = {name: options.pop(name) for name in ("suite", "models", "subsets", "cases", "limit")}
    return {**own, **options.pop(SUITE_OPTIONS)}


def read_dataset(options: dict[str, Any]) -> tuple[Dataset, tuple[BoundMetric, ...]]:
    """The dataset and the metrics that the options name; takes them out of `options`."""
    from lookaway.engine.binding import bind_metrics
    from lookaway.engine.reading import read

    root, metrics, changes = options.pop("dataset"), options.pop("metrics"), chosen_changes(options)
    dataset = read(root, **chosen_reading(options))
    return dataset, bind_metrics(dataset, metrics, **changes)
