"""The option that names a part of a dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from lookaway.engine.shard import Shard


def parse_shard(context: click.Context, parameter: click.Parameter, value: str | None) -> Shard | None:
    """A shard as it is typed; `None` where none is named."""
    if value is None:
        return None
    from lookaway.engine.shard import Shard

    return Shard.parse(value)


shard_option = click.option(
    "--shard",
    callback=parse_shard,
    metavar="I/N",
    help="Only part I of N of the rollouts, for machines without a cluster; lookaway merge puts the runs together.",
)
