"""Options that say who answers questions, how, how fast, and for how much."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from lookaway.cli.options import PLACE

if TYPE_CHECKING:
    from lookaway.judges.settings import JudgeSettings

Command = TypeVar("Command", bound=Callable[..., Any])
PREFIX = "judge_"

WHO = (
    click.option("--judge-model", help="Model that answers questions; also LOOKAWAY_JUDGE_MODEL."),
    click.option("--judge-url", help="Address of its server; also LOOKAWAY_JUDGE_URL, OPENAI_BASE_URL."),
    click.option(
        "--judge-key",
        help="Key to its server. Others see it in the list of processes: better LOOKAWAY_JUDGE_KEY or a file.",
    ),
    click.option(
        "--judge-file",
        type=click.Path(path_type=Path),
        help="Private TOML file with url, key and model; also LOOKAWAY_JUDGE_FILE.",
    ),
    click.option("--judge-backend", default="server", show_default=True, help="Kind of judge: server or local."),
)
HOW = (
    click.option(
        "--judge-wording",
        type=click.Choice(["auto", "schema", "text"]),
        default="auto",
        show_default=True,
        help="Whether the server holds answers to a JSON schema, or the judge is told in words.",
    ),
    click.option(
        "--judge-media",
        type=click.Choice(["png", "jpeg", "video"]),
        default="png",
        show_default=True,
        help="How frames are sent.",
    ),
    click.option(
        "--judge-temperature",
        type=click.FloatRange(min=0),
        default=0.0,
        show_default=True,
        help="0 takes the likeliest word every time.",
    ),
    click.option("--judge-seed", type=int, default=0, show_default=True, help="Of the first repeat."),
    click.option(
        "--judge-answer-tokens", type=click.IntRange(min=1), default=1024, show_default=True, help="Of one answer."
    ),
    click.option(
        "--judge-repeats",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        help="How often each question is put.",
    ),
    click.option(
        "--judge-extra", default="{}", metavar="JSON", help="More fields of every request; null leaves one out."
    ),
)
PACE = (
    click.option(
        "--judge-concurrent",
        type=click.IntRange(min=1),
        default=8,
        show_default=True,
        help="Questions under way at once.",
    ),
    click.option("--judge-rate", type=click.FloatRange(min=0, min_open=True), help="Questions a second at most."),
    click.option(
        "--judge-timeout",
        type=click.FloatRange(min=0, min_open=True),
        default=120.0,
        show_default=True,
        help="Seconds to wait for an answer.",
    ),
)
BUDGET = (
    click.option("--judge-calls", type=click.IntRange(min=0), help="Budget: calls."),
    click.option("--judge-tokens", type=click.IntRange(min=0), help="Budget: tokens."),
    click.option("--judge-money", type=click.FloatRange(min=0), help="Budget: money, at the prices given."),
    click.option(
        "--judge-prices",
        nargs=2,
        type=click.FloatRange(min=0),
        default=(0.0, 0.0),
        metavar="PROMPT ANSWER",
        help="Prices of a million tokens of prompts and of answers.",
    ),
)
REPLIES = (
    click.option("--replies", type=PLACE, help="Folder of replies to share between runs."),
    click.option("--replay", is_flag=True, help="Ask nobody: take all answers from kept replies."),
)


def judge_options(command: Command) -> Command:
    """Everything about the judge."""
    for decorate in reversed((*WHO, *HOW, *PACE, *BUDGET, *REPLIES)):
        command = decorate(command)
    return command


def chosen_judge(options: dict[str, Any]) -> JudgeSettings | None:
    """The judge that options, file or environment name; takes the options out of `options`."""
    from lookaway.core import Compute, JudgeModel, Sampling
    from lookaway.judges.budget import Budget
    from lookaway.judges.client import RetryPolicy
    from lookaway.judges.server import DEFAULT_URL, Connection, Secret, find_setting, read_private_file
    from lookaway.judges.settings import JudgeSettings

    said = {name.removeprefix(PREFIX): options.pop(name) for name in list(options) if name.startswith(PREFIX)}
    replies, is_replay = options.pop("replies"), options.pop("replay")
    file = read_private_file(said["file"])
    model, url, key = (find_setting(name, said[name], file) for name in ("model", "url", "key"))
    if not model:
        return None
    sampling = Sampling(temperature=said["temperature"], seed=said["seed"], max_tokens=said["answer_tokens"])
    prompt_price, answer_price = said["prices"]
    folder = Path(model) if said["backend"] == "local" else None
    return JudgeSettings(
        model=JudgeModel(
            backend=said["backend"],
            model=folder.resolve().name if folder else model,
            media=said["media"],
            sampling=sampling,
            repeats=said["repeats"],
            extra=_checked_extra(said["extra"]),
        ),
        wording=said["wording"],
        connection=Connection(url=url or DEFAULT_URL, key=Secret(key), timeout_seconds=said["timeout"]),
        folder=folder,
        compute=Compute(**{name: value for name in ("device", "precision") if (value := options.get(name))}),
        policy=RetryPolicy(concurrent=said["concurrent"], per_second=said["rate"]),
        budget=Budget(
            calls=said["calls"],
            tokens=said["tokens"],
            money=said["money"],
            price_per_million_prompt_tokens=prompt_price,
            price_per_million_answer_tokens=answer_price,
        ),
        replies=replies,
        is_replay=is_replay,
    )


def _checked_extra(text: str) -> str:
    """The fields in one spelling, since the lock holds them."""
    import json

    from lookaway.core import UserError, canonical_json

    try:
        fields = json.loads(text)
    except ValueError as error:
        raise UserError(f"--judge-extra is no JSON: {error}.") from error
    if not isinstance(fields, dict):
        raise UserError(f"--judge-extra is {text!r:.80}, expected a JSON object.")
    return canonical_json(fields)
