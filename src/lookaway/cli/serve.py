"""`lookaway serve`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lookaway.cli.options import COUNT, protocol_option, split_names, use_option

if TYPE_CHECKING:
    from lookaway.serving.server import ServerSettings
    from lookaway.training.reward import RewardRecipe

SECONDS = click.FloatRange(min=0, min_open=True)
MILLISECONDS_PER_SECOND = 1000.0


@click.command("serve")
@click.option("--metrics", callback=split_names, metavar="A,B", help="Metrics to measure; by default the protocol.")
@click.option("--suite", default="revisit", show_default=True, help="Suite whose metrics are measured.")
@protocol_option
@click.option("--reward", metavar="FILE", help="Reward to compute instead of --metrics: a YAML file, or memory.")
@use_option
@click.option("--device", help="Device for networks: cpu, cuda or cuda:1; by default that of each recipe, cpu.")
@click.option(
    "--precision",
    type=click.Choice(["float32", "bfloat16", "float16"]),
    help="Precision of networks; by default that of each recipe, float32.",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on; one that other machines can reach needs a token in LOOKAWAY_TOKEN.",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8321, show_default=True, help="Port; 0 takes a free one."
)
@click.option("--replicas", type=COUNT, help="Replicas on Ray Serve; by default clips are measured in this process.")
@click.option(
    "--gpus-per-replica",
    type=click.FloatRange(min=0),
    default=0.0,
    show_default=True,
    help="GPUs for each replica, such as 0.5.",
)
@click.option("--ray-address", help="Ray cluster for the replicas, such as auto; by default this machine.")
@click.option(
    "--queue",
    type=COUNT,
    default=64,
    show_default=True,
    help="Maximum number of accepted requests that are not yet answered.",
)
@click.option(
    "--batch-window",
    type=click.FloatRange(min=0),
    default=0.0,
    show_default=True,
    metavar="MS",
    help="Milliseconds to wait for more clips of a batch.",
)
@click.option(
    "--max-batch-size",
    type=COUNT,
    default=1,
    show_default=True,
    help="Maximum number of clips that go to a replica together.",
)
@click.option(
    "--max-body", type=click.FloatRange(min=0, min_open=True), default=256.0, show_default=True, metavar="MIB",
    help="Maximum size of a request.",
)  # fmt: skip
@click.option("--max-frames", type=COUNT, default=1024, show_default=True, help="Maximum number of frames of a clip.")
@click.option(
    "--max-pixels", type=COUNT, default=3840 * 2160, show_default=True, help="Maximum number of pixels of a frame."
)
@click.option(
    "--body-timeout",
    type=SECONDS,
    default=60.0,
    show_default=True,
    help="Maximum number of seconds to receive a request.",
)
@click.option(
    "--timeout", type=SECONDS, default=300.0, show_default=True, help="Maximum number of seconds to answer a request."
)
def serve_command(metrics: tuple[str, ...] | None, reward: str | None, using: dict[str, str], **options: Any) -> None:
    """Measure clips that are sent over HTTP, until SIGTERM or Ctrl-C.

    Clients post frames to /v1/score, as .npy or safetensors in multipart/form-data; lookaway.ScorerClient does it. If
    LOOKAWAY_TOKEN is set, every request needs that token. With --replicas, Ray Serve runs the scorers, on this machine
    or on a cluster.
    """
    from lookaway.core import Compute
    from lookaway.serving.scoring import ScorerRecipe
    from lookaway.serving.server import serve

    if reward is not None and (metrics is not None or using or options["protocol"]):
        raise click.UsageError("--reward names its own metrics. Leave --metrics, --protocol and --use out.")
    if options["replicas"] is None and (options["ray_address"] or options["gpus_per_replica"]):
        raise click.UsageError("--ray-address and --gpus-per-replica only apply to replicas. Add --replicas.")
    given = {name: value for name in ("device", "precision") if (value := options[name]) is not None}
    recipe = ScorerRecipe(
        metrics=metrics,
        suite=options["suite"],
        protocol=options["protocol"],
        using=tuple(using.items()),
        reward=None if reward is None else _reward(reward),
        compute=Compute(**given) if given else None,
    )
    serve(recipe, _settings(options), on_ready=lambda address: click.echo(f"Listening on {address}"))
    click.echo("Stopped; all accepted requests are answered.")


def _settings(options: Mapping[str, Any]) -> ServerSettings:
    from lookaway.io.limits import MIB
    from lookaway.serving.schema import ServingLimits
    from lookaway.serving.server import ServerSettings, take_token

    return ServerSettings(
        host=options["host"],
        port=options["port"],
        token=take_token(),
        limits=ServingLimits(
            requests=options["queue"],
            body_bytes=int(options["max_body"] * MIB),
            frames=options["max_frames"],
            pixels=options["max_pixels"],
            body_seconds=options["body_timeout"],
            answer_seconds=options["timeout"],
        ),
        batch_window=options["batch_window"] / MILLISECONDS_PER_SECOND,
        max_batch_size=options["max_batch_size"],
        replicas=options["replicas"] or 0,
        gpus_per_replica=options["gpus_per_replica"],
        ray_address=options["ray_address"],
    )


def _reward(name: str) -> RewardRecipe:
    from lookaway.training.reward import MEMORY, Reward

    return MEMORY if name == "memory" else Reward.read(Path(name)).recipe
