"""`lookaway reward`."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path

import click

from lookaway.cli.options import PATH, json_option, split_names

EXIT_REFUSED = 3


@click.group("reward")
def reward_command() -> None:
    """Check rewards before a model is trained on them."""


@reward_command.command("check")
@click.argument("reward")
@click.option("--clips", type=PATH, help="Folder that keeps the rendered clips; by default they are deleted.")
@click.option(
    "--families", callback=split_names, default="kitchen,lobby,office,street", show_default=True, metavar="A,B",
    help="Families of scenes to render.",
)  # fmt: skip
@json_option
def check_command(reward: str, clips: Path | None, families: tuple[str, ...], as_json: bool) -> int:
    """Try to win REWARD with videos that remember nothing; exit with 3 if one does.

    REWARD is `memory`, the reward of this package, a YAML file, or a function as module:name, which is called with
    uint8 frames [frames, 3, height, width], fps and paths, and returns a number, or None where it measured nothing.
    """
    from lookaway.engine.inline import Inline
    from lookaway.reports.numbers import fixed, print_lines, print_rows
    from lookaway.reports.progress import counting_bar
    from lookaway.training.attackers import ATTACKERS, clips_of, render_clips
    from lookaway.training.reward_check import check_reward, load_reward

    function = load_reward(reward)
    with ExitStack() as stack:
        folder = clips if clips is not None else Path(stack.enter_context(tempfile.TemporaryDirectory()))
        with counting_bar("rendering", None, enabled=not as_json) as advance:
            rollouts = render_clips(folder, Inline(), on_case=lambda report: advance(report.clips), families=families)
        with counting_bar("paying", None, enabled=not as_json) as advance:
            found = check_reward(function, clips_of(rollouts), on_clip=lambda: advance(1))
    rows = [
        {
            "video": earned.attacker,
            "reward": earned.mean if as_json else fixed(earned.mean),
            "paid": f"{earned.measured} of {earned.clips}",
            "wins": earned.wins if as_json else "WINS" if earned.wins else "",
            "what it is": ATTACKERS[earned.attacker].summary if earned.attacker in ATTACKERS else "the truth",
        }
        for earned in (found.perfect, *found.attackers)
    ]
    print_rows(rows, as_json=as_json, right=("reward", "paid"))
    if not as_json:
        print_lines([found.verdict])
    return EXIT_REFUSED if found.is_refused else 0
