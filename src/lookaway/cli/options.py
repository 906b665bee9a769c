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


class FolderOrUrl(click.Path):
    """A folder on disk, or one on object storage such as s3://bucket/run."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """A path, on disk or on object storage."""
        if not (isinstance(value, str) and "://" in value):
            return super().convert(value, param, ctx)
        from lookaway.io.object_storage import as_path

        return as_path(value)


FOLDER_OR_URL = FolderOrUrl()
PATH = click.Path(path_type=Path)
COUNT, SHARE = click.IntRange(min=1), click.FloatRange(0, 1)


new_option = click.option(
    "--new", is_flag=True, help="Begin a new run in a folder that holds another; measurements that fit it are kept."
)


def print_note(text: str) -> None:
    """Print a note on standard error, so that tables can be piped."""
    from lookaway.reports.numbers import visible

    click.echo(f"note: {visible(text)}", err=True)


def split_names(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """Names separated by commas; `None` where the option was not given."""
    return None if value is None else tuple(part.strip() for part in value.split(",") if part.strip())


def pairs_like(example: str) -> Callable[[click.Context, click.Parameter, tuple[str, ...]], dict[str, str]]:
    """Parse pairs such as FEATURE=EXTRACTOR, which the metavar of the option names."""

    def split_pairs(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> dict[str, str]:
        pairs = {}
        for text in value:
            name, sign, meaning = (part.strip() for part in text.partition("="))
            if not (name and sign and meaning):
                raise click.BadParameter(f"{text!r} is not {parameter.metavar}, such as {example}.")
            pairs[name] = meaning
        return pairs

    return split_pairs


def dataset_options(command: Command) -> Command:
    """DATASET and the options common to all suites; `DatasetCommand` adds those of each suite."""
    decorators = [
        click.argument("dataset", type=PATH),
        click.option(
            "--suite", help="Suite that reads it; by default the one that recognises the folder, else revisit."
        ),
        click.option(
            "--metrics", callback=split_names, metavar="A,B", help="Metrics or suites to run; by default the protocol."
        ),
        click.option("--models", callback=split_names, default="", metavar="A,B", help="Only these models."),
        click.option("--subsets", callback=split_names, default="", metavar="A,B", help="Only these subsets."),
        click.option("--case", "cases", multiple=True, metavar="ID", help="Only this case; can be repeated."),
        click.option("--limit", type=COUNT, help="Only the first N cases of each model and subset."),
        click.option(
            "--use",
            "using",
            multiple=True,
            callback=pairs_like("poses=tracked_poses"),
            metavar="FEATURE=EXTRACTOR",
            help="Compute a feature with this extractor, such as poses=tracked_poses; can be repeated.",
        ),
        click.option(
            "--device", help="Device for networks: cpu, cuda or cuda:1; by default what each recipe says: cpu."
        ),
        click.option(
            "--precision",
            type=click.Choice(["float32", "bfloat16", "float16"]),
            help="Precision of networks; by default what each recipe says: float32.",
        ),
    ]
    for decorate in reversed(decorators):
        command = decorate(command)
    return command


def json_option(command: Command) -> Command:
    """Add --json."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")(command)


def control_option(command: Command) -> Command:
    """Add --control."""
    return click.option(
        "--control",
        "controls",
        multiple=True,
        metavar="MODEL[=WHAT]",
        help="Declare a model a control, such as 'still=a still video': shown apart, never ranked; can be repeated.",
    )(command)


def chosen_changes(options: dict[str, Any]) -> dict[str, Any]:
    """Extractors and device that the options override; removed from `options`."""
    from lookaway.core import Compute

    given = {name: value for name in ("device", "precision") if (value := options.pop(name)) is not None}
    return {"using": options.pop("using"), "compute": Compute(**given) if given else None}


def chosen_reading(options: dict[str, Any]) -> dict[str, Any]:
    """Arguments of `read`; removed from `options`."""
    own = {name: options.pop(name) for name in ("suite", "models", "subsets", "cases", "limit")}
    return {**own, **options.pop(SUITE_OPTIONS)}


def read_dataset(options: dict[str, Any]) -> tuple[Dataset, tuple[BoundMetric, ...]]:
    """The dataset and the metrics that the options name; removed from `options`."""
    from lookaway.engine.binding import bind_metrics
    from lookaway.engine.reading import read

    root, metrics, changes = options.pop("dataset"), options.pop("metrics"), chosen_changes(options)
    dataset = read(root, **chosen_reading(options))
    return dataset, bind_metrics(dataset, metrics, **changes)
