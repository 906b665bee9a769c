"""Options that say what runs the work, and where."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def split_counts(context: click.Context, parameter: click.Parameter, value: str | None) -> dict[str, int]:
    """Names with numbers, such as `region_embeddings=2,judge=1`."""
    counts = {}
    for text in (value or "").split(","):
        if not text.strip():
            continue
        name, _, count = (part.strip() for part in text.partition("="))
        if not name or not count.isdecimal():
            raise click.BadParameter(f"{text!r} is not NAME=COUNT, such as region_embeddings=2.")
        counts[name] = int(count)
    return counts


def executor_options(command: Command) -> Command:
    """Everything about workers."""
    decorators = [
        click.option(
            "--executor",
            default="inline",
            show_default=True,
            help="What runs the work: inline, or ray for many workers.",
        ),
        click.option("--workers", type=click.IntRange(min=1), help="Rollouts at once; by default one for each core."),
        click.option("--address", help="Ray cluster to join, such as auto or HOST:6379; by default a new one, here."),
        click.option(
            "--gpus-per-worker",
            type=click.FloatRange(min=0),
            help="Part of a GPU for each process that holds networks; by default an equal share.",
        ),
        click.option(
            "--replicas",
            callback=split_counts,
            metavar="NAME=COUNT,...",
            help="Processes that hold an extractor's network for all workers, such as region_embeddings=2,judge=1.",
        ),
    ]
    for decorate in reversed(decorators):
        command = decorate(command)
    return command


def chosen_resources(options: dict[str, Any]) -> dict[str, Any]:
    """Executor and resources; takes them out of `options`."""
    from lookaway.core import Resources

    said = {name: options.pop(name) for name in ("workers", "address", "gpus_per_worker", "replicas")}
    return {"executor": options.pop("executor"), "resources": Resources(**said)}
