"""Options of a run: what does the work, which shard of it, and which judge answers, how fast and for how much."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from lookaway.cli.options import COUNT, FOLDER_OR_URL, PATH

if TYPE_CHECKING:
    from lookaway.engine.shard import Shard
    from lookaway.judges.settings import JudgeSettings

Command = TypeVar("Command", bound=Callable[..., Any])
PREFIX = "judge_"
AMOUNT, POSITIVE = click.FloatRange(min=0), click.FloatRange(min=0, min_open=True)

MODEL = (
    click.option("--judge-model", help="Model of the judge; also LOOKAWAY_JUDGE_MODEL."),
    click.option("--judge-url", help="URL of its server; also LOOKAWAY_JUDGE_URL, OPENAI_BASE_URL."),
    click.option(
        "--judge-key", help="API key. Other users can see it in the process list: prefer LOOKAWAY_JUDGE_KEY or a file."
    ),
    click.option(
        "--judge-file", type=PATH, help="Private TOML file with url, key and model; also LOOKAWAY_JUDGE_FILE."
    ),
    click.option("--judge-backend", default="server", show_default=True, help="Kind of judge: server or local."),
    click.option("--gate-judge-model", help="Another model for the questions of gates, with the same options."),
    click.option("--gate-judge-url", help="URL of its server; by default that of the judge."),
)


def _with_default(flag: str, kind: Any, default: Any, text: str) -> Callable[[Command], Command]:
    return click.option(flag, type=kind, default=default, show_default=True, help=text)


SAMPLING = (
    _with_default(
        "--judge-wording",
        click.Choice(["auto", "schema", "text"]),
        "auto",
        "Constrain answers by a JSON schema on the server, or ask for the format in the prompt.",
    ),
    _with_default("--judge-media", click.Choice(["png", "jpeg", "video"]), "png", "How frames are sent."),
    _with_default("--judge-temperature", AMOUNT, 0.0, "Sampling temperature; 0 is greedy decoding."),
    _with_default("--judge-seed", int, 0, "Sampling seed of the first repeat."),
    _with_default("--judge-answer-tokens", COUNT, 1024, "Maximum length of an answer."),
    _with_default("--judge-repeats", COUNT, 1, "Number of times each question is asked."),
    click.option(
        "--judge-extra", default="{}", metavar="JSON", help="Extra fields of every request; null removes a field."
    ),
)
LIMITS = (
    _with_default("--judge-concurrent", COUNT, 8, "Maximum number of concurrent requests."),
    click.option("--judge-rate", type=POSITIVE, help="Maximum number of requests per second."),
    _with_default("--judge-timeout", POSITIVE, 120.0, "Timeout of a request in seconds."),
)
BUDGET = (
    click.option("--judge-calls", type=click.IntRange(min=0), help="Budget: maximum number of calls."),
    click.option("--judge-tokens", type=click.IntRange(min=0), help="Budget: maximum number of tokens."),
    click.option("--judge-money", type=AMOUNT, help="Budget: maximum cost, at the given prices."),
    click.option(
        "--judge-prices",
        nargs=2,
        type=AMOUNT,
        default=(0.0, 0.0),
        metavar="PROMPT ANSWER",
        help="Prices per million tokens of prompt and of answer.",
    ),
)
REPLIES = (
    click.option("--replies", type=FOLDER_OR_URL, help="Folder of judge replies shared between runs."),
    click.option("--replay", is_flag=True, help="Make no judge calls: use only stored replies."),
)


def split_counts(context: click.Context, parameter: click.Parameter, value: str | None) -> dict[str, int]:
    """Parse counts such as `region_embeddings=2,judge=1`."""
    counts = {}
    for text in (value or "").split(","):
        if not text.strip():
            continue
        name, _, count = (part.strip() for part in text.partition("="))
        if not name or not count.isdecimal():
            raise click.BadParameter(f"{text!r} is not NAME=COUNT, such as region_embeddings=2.")
        counts[name] = int(count)
    return counts


SIZES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def parse_size(context: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    """Parse a number of bytes such as 8GB; `None` where the option was not given."""
    if value is None:
        return None
    found = re.fullmatch(r"([0-9]{1,12}(?:\.[0-9]{1,3})?) ?([kMGT]?B)", value.strip())
    if found is None or not (count := int(float(found[1]) * SIZES[found[2]])):
        raise click.BadParameter(f"{value!r} is not a size in B, kB, MB, GB or TB, such as 8GB.")
    return count


def executor_options(command: Command) -> Command:
    """Options about workers."""
    decorators = [
        click.option(
            "--executor", default="inline", show_default=True, help="Executor: inline, or ray for many workers."
        ),
        click.option("--workers", type=COUNT, help="Rollouts measured at once; by default one per core."),
        click.option(
            "--address", help="Ray cluster to join, such as auto or HOST:6379; by default a new one on this machine."
        ),
        click.option(
            "--gpus-per-worker",
            type=AMOUNT,
            help="GPUs for each process that runs networks, such as 0.5; by default an equal share.",
        ),
        click.option(
            "--replicas",
            callback=split_counts,
            metavar="NAME=COUNT,...",
            help="Processes that run an extractor for all workers, such as region_embeddings=2,judge=1.",
        ),
        click.option(
            "--rollout-seconds",
            type=POSITIVE,
            help="Time limit of one rollout; one that takes longer abstains with too_slow.",
        ),
        click.option(
            "--rollout-memory",
            callback=parse_size,
            metavar="SIZE",
            help="Memory limit of the process that measures a rollout, such as 8GB; one that takes more abstains with "
            "too_large. Without Ray, either limit starts a child process.",
        ),
    ]
    for decorate in reversed(decorators):
        command = decorate(command)
    return command


def chosen_resources(options: dict[str, Any]) -> dict[str, Any]:
    """Executor and resources; removed from `options`."""
    from lookaway.core import Resources

    names = ("workers", "address", "gpus_per_worker", "replicas", "rollout_seconds", "rollout_memory")
    given = {name: options.pop(name) for name in names}
    return {"executor": options.pop("executor"), "resources": Resources(**given)}


def parse_shard(context: click.Context, parameter: click.Parameter, value: str | None) -> Shard | None:
    """Parse a shard such as 2/5; `None` where the option was not given."""
    if value is None:
        return None
    from lookaway.engine.shard import Shard

    return Shard.parse(value)


shard_option = click.option(
    "--shard",
    callback=parse_shard,
    metavar="I/N",
    help="Only part I of N of the rollouts, for machines without a cluster; lookaway merge combines the runs.",
)


def judge_options(command: Command) -> Command:
    """Options about the judge."""
    for decorate in reversed((*MODEL, *SAMPLING, *LIMITS, *BUDGET, *REPLIES)):
        command = decorate(command)
    return command


prompts_option = click.option(
    "--prompts",
    type=PATH,
    metavar="FOLDER",
    help="Ask with the prompts in this folder, such as trigger.md, in place of ours; their hashes are in the lock.",
)


def chosen_judge(options: dict[str, Any]) -> JudgeSettings | None:
    """The judge that options, file or environment name; its options are removed from `options`."""
    from lookaway.core import Compute, JudgeModel, Sampling
    from lookaway.judges.budget import Budget
    from lookaway.judges.client import RetryPolicy
    from lookaway.judges.prompt_folder import PromptFolder
    from lookaway.judges.server import DEFAULT_URL, Connection, Secret, find_setting, read_private_file
    from lookaway.judges.settings import JudgeSettings

    given = {name.removeprefix(PREFIX): options.pop(name) for name in list(options) if name.startswith(PREFIX)}
    replies, is_replay = options.pop("replies"), options.pop("replay")
    prompts = options.pop("prompts", None)
    gate_model, gate_url = options.pop("gate_judge_model"), options.pop("gate_judge_url")
    file = read_private_file(given["file"])
    model, url, key = (find_setting(name, given[name], file) for name in ("model", "url", "key"))
    if not model:
        _refuse_options_of_no_judge()
        return None
    sampling = Sampling(temperature=given["temperature"], seed=given["seed"], max_tokens=given["answer_tokens"])
    prompt_price, answer_price = given["prices"]
    folder = Path(model) if given["backend"] == "local" else None
    settings = JudgeSettings(
        model=JudgeModel(
            backend=given["backend"],
            model=folder.resolve().name if folder else model,
            media=given["media"],
            sampling=sampling,
            repeats=given["repeats"],
            extra=_checked_extra(given["extra"]),
        ),
        wording=given["wording"],
        connection=Connection(url=url or DEFAULT_URL, key=Secret(key), timeout_seconds=given["timeout"]),
        folder=folder,
        compute=Compute(**{name: value for name in ("device", "precision") if (value := options.get(name))}),
        policy=RetryPolicy(concurrent=given["concurrent"], per_second=given["rate"]),
        budget=Budget(
            calls=given["calls"],
            tokens=given["tokens"],
            money=given["money"],
            price_per_million_prompt_tokens=prompt_price,
            price_per_million_answer_tokens=answer_price,
        ),
        prompts=None if prompts is None else PromptFolder.read(prompts),
        replies=replies,
        is_replay=is_replay,
    )
    return settings if gate_model is None else replace(settings, gate=_gate_judge(settings, gate_model, gate_url))


def _refuse_options_of_no_judge() -> None:
    """Options of a judge change nothing where no model is named, which would go unnoticed until the table is read."""
    from click.core import ParameterSource

    from lookaway.core import UserError

    context = click.get_current_context()
    given = [
        f"--{name.replace('_', '-')}"
        for name in context.params
        if name.startswith((PREFIX, f"gate_{PREFIX}", "prompts"))
        and context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    ]
    if given:
        raise UserError(
            f"No judge is configured: {', '.join(given)} is given, but no model. Set it with --judge-model, "
            "LOOKAWAY_JUDGE_MODEL or model in the file of --judge-file."
        )


def _gate_judge(judge: JudgeSettings, model: str, url: str | None) -> JudgeSettings:
    """The judge with another model, and perhaps another server."""
    folder = Path(model) if judge.folder else None
    return replace(
        judge,
        model=replace(judge.model, model=folder.resolve().name if folder else model),
        connection=replace(judge.connection, url=url or judge.connection.url),
        folder=folder,
    )


def _checked_extra(text: str) -> str:
    """The fields as canonical JSON, since they are part of the lock."""
    import json

    from lookaway.core import UserError, canonical_json

    try:
        fields = json.loads(text)
    except ValueError as error:
        raise UserError(f"--judge-extra is not valid JSON: {error}.") from error
    if not isinstance(fields, dict):
        raise UserError(f"--judge-extra is {text!r:.80}, expected a JSON object.")
    return canonical_json(fields)
