"""Options that several commands share."""

from __future__ import annotations

import sys
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


def tell(text: str, *, enabled: bool) -> None:
    """Say on standard error what begins, before anything slow is imported; on a terminal a progress bar says it."""
    if enabled and not sys.stderr.isatty():
        click.echo("".join(c if c.isprintable() else "?" for c in text), err=True)


def split_names(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """Names separated by commas; `None` where the option was not given."""
    return None if value is None else tuple(part.strip() for part in value.split(",") if part.strip())


def parse_numbers(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[float, ...]:
    """Numbers separated by commas."""
    try:
        return tuple(float(part) for part in split_names(context, parameter, value) or ())
    except ValueError as error:
        raise click.BadParameter(f"expected numbers separated by commas, such as 0.2,0.6,1; {error}.") from error


def parse_seeds(context: click.Context, parameter: click.Parameter, value: str) -> tuple[int, ...]:
    """Numbers and ranges: `0,3,10-19`."""
    seeds: list[int] = []
    for part in split_names(context, parameter, value) or ():
        first, dash, last = part.partition("-")
        try:
            seeds += range(int(first), int(last if dash else first) + 1)
        except ValueError as error:
            raise click.BadParameter(f"expected seeds such as 0,3,10-19; {error}.") from error
    return tuple(seeds)


def parse_frame_size(context: click.Context, parameter: click.Parameter, value: str) -> tuple[int, int]:
    """Height and width: `480x832`."""
    height, cross, width = value.partition("x")
    if not (cross and height.isdigit() and width.isdigit()):
        raise click.BadParameter(f"expected HEIGHTxWIDTH, such as 480x832, found {value!r}.")
    return int(height), int(width)


size_option = click.option(
    "--size", callback=parse_frame_size, default="256x448", show_default=True, metavar="HxW", help="Height and width."
)
fps_option = click.option(
    "--fps", type=click.IntRange(1, 120), default=12, show_default=True, help="Frames per second."
)


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


use_option = click.option(
    "--use",
    "using",
    multiple=True,
    callback=pairs_like("poses=tracked_poses"),
    metavar="FEATURE=EXTRACTOR",
    help="Compute a feature with this extractor, such as poses=tracked_poses; can be repeated.",
)


protocol_option = click.option(
    "--protocol",
    type=click.Choice(["published", "corrected", "both"]),
    help="Metrics as published, with their defects (default), or corrected, as PREFIX.corrected.NAME; or both.",
)


ignore_trigger_option = click.option(
    "--ignore-trigger",
    is_flag=True,
    help="Count rollouts, too, that a trigger of the publication leaves out; for ablations.",
)


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
        protocol_option,
        click.option("--models", callback=split_names, default="", metavar="A,B", help="Only these models."),
        click.option("--subsets", callback=split_names, default="", metavar="A,B", help="Only these subsets."),
        click.option("--case", "cases", multiple=True, metavar="ID", help="Only this case; can be repeated."),
        click.option("--limit", type=COUNT, help="Only the first N cases of each model and subset."),
        use_option,
        click.option("--device", help="Device for networks: cpu, cuda or cuda:1; by default that of each recipe, cpu."),
        click.option(
            "--precision",
            type=click.Choice(["float32", "bfloat16", "float16"]),
            help="Precision of networks; by default that of each recipe, float32.",
        ),
    ]
    for decorate in reversed(decorators):
        command = decorate(command)
    return command


def progress_option(command: Command) -> Command:
    """Add --no-progress."""
    return click.option(
        "--no-progress",
        is_flag=True,
        envvar="LOOKAWAY_NO_PROGRESS",
        help="Do not show progress; results are still printed. Also LOOKAWAY_NO_PROGRESS=1, for all commands.",
    )(command)


def json_option(command: Command) -> Command:
    """Add --json."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")(command)


def layout_option(command: Command) -> Command:
    """Add --layout."""
    return click.option(
        "--layout",
        type=click.Choice(["auto", "models", "clips", "rows"]),
        default="auto",
        show_default=True,
        help="Table: a line for each model, for each clip, or for each number with interval and reasons. "
        "auto: models in a terminal, with the clips of a single one, else rows.",
    )(command)


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
    protocol = options.pop("protocol")
    dataset = read(root, **chosen_reading(options))
    return dataset, bind_metrics(dataset, metrics, protocol=protocol, **changes)
