"""`lookaway pairs`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lookaway.cli.options import COUNT, FOLDER_OR_URL, PATH, SHARE, pairs_like, print_note, split_names


@click.command("pairs")
@click.argument("run", type=FOLDER_OR_URL, nargs=-1, required=True)
@click.option("-o", "--output", type=PATH, required=True, help="Folder to write, new or empty.")
@click.option(
    "--metrics",
    callback=split_names,
    metavar="A,B",
    help="Axes to compare on; by default metrics whose card finds a memory fault and that no frozen video wins.",
)
@click.option(
    "--smallest-difference",
    "smallest",
    multiple=True,
    callback=pairs_like("light=0.02"),
    metavar="METRIC=VALUE",
    help="Smallest difference that counts, for a metric without a card; can be repeated.",
)
@click.option(
    "--combined", is_flag=True, help="One axis for all metrics: better on their mean, and worse on none of them."
)
@click.option("--access", is_flag=True, help="Add an axis on which a video that tested memory beats one that did not.")
@click.option(
    "--margin",
    type=click.FloatRange(min=1),
    default=1.0,
    show_default=True,
    help="Minimum margin of the winner, in multiples of the smallest difference that counts; less than one is a tie.",
)
@click.option(
    "--min-confidence",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    help="Minimum probability that the winner is better, from the spread of clean clips on the card.",
)
@click.option("--per-case", type=COUNT, default=4, show_default=True, help="Maximum number of pairs per case and axis.")
@click.option("--models", callback=split_names, default="", metavar="A,B", help="Only these models.")
@click.option("--same-model-only", is_flag=True, help="Only pairs of two videos of one model.")
@click.option(
    "--max-wins",
    type=SHARE,
    default=1.0,
    show_default=True,
    help="Maximum share of the pairs between models that one model may win, in each axis and split.",
)
@click.option(
    "--splits",
    default="train=0.8,val=0.1,test=0.1",
    show_default=True,
    metavar="NAME=SHARE,...",
    help="Splits by scene. The name of a scene alone decides its split, so every export has the same.",
)
@click.option(
    "--held-out",
    multiple=True,
    metavar="SCENE|FILE",
    help="Scene that is never exported, or a file with one scene per line; can be repeated.",
)
@click.option(
    "--format",
    "formats",
    callback=split_names,
    default="videoalign,videodpo,unifiedreward,hpdv3,trl,csv",
    show_default=True,
    metavar="A,B",
    help="Formats to write in addition to preferences.parquet.",
)
@click.option(
    "--licence",
    "licences",
    multiple=True,
    metavar="[MODEL=]TEXT",
    help="Licence of the videos, of one model or of all others; can be repeated.",
)
@click.option("--relative-to", type=PATH, metavar="FOLDER", help="Write paths of videos relative to this folder.")
@click.option(
    "--without-dataset",
    is_flag=True,
    help="Do not read the dataset again: no prompts, no frame rates, and files are not checked.",
)
def pairs_command(  # noqa: PLR0913 - one for each option
    run: tuple[Path, ...],
    output: Path,
    metrics: tuple[str, ...] | None,
    smallest: dict[str, str],
    combined: bool,
    access: bool,
    margin: float,
    min_confidence: float,
    per_case: int,
    models: tuple[str, ...],
    same_model_only: bool,
    max_wins: float,
    splits: str,
    held_out: tuple[str, ...],
    formats: tuple[str, ...],
    licences: tuple[str, ...],
    relative_to: Path | None,
    without_dataset: bool,
) -> None:
    """Write preference pairs for training from the outcomes of one or several RUNs.

    Both videos of a pair are of the same case, have a score, and are known to have tested memory: an untested video
    never wins. Runs whose metrics have different locks are refused, splits share no scene, and card.json counts what
    was left out.
    """
    from lookaway.training.pairs.export import PairOptions, export_pairs
    from lookaway.training.pairs.mining import MiningRules
    from lookaway.training.pairs.scenes import parse_splits

    options = PairOptions(
        metrics=metrics,
        smallest_differences={name: _number(name, text) for name, text in smallest.items()},
        combined=combined,
        access=access,
        models=models,
        rules=MiningRules(
            margin=margin,
            min_confidence=min_confidence,
            per_case=per_case,
            same_model_only=same_model_only,
            max_wins=max_wins,
        ),
        splits=parse_splits(splits),
        held_out=held_out,
        formats=formats,
        licences=licences,
        reads_dataset=not without_dataset,
        relative_to=relative_to,
    )
    _show(export_pairs(run, output, options), output)


def _show(card: dict[str, Any], output: Path) -> None:
    """Print what was written, and what a user should know about it."""
    from lookaway.reports.numbers import print_lines, print_rows
    from lookaway.training.pairs.set_card import NOT_STATED, uneven_wins

    rows = [
        {"axis": axis, "split": split, **{label: str(count) for label, count in counts.items()}}
        for axis, by_split in card["labels"].items()
        for split, counts in by_split.items()
    ]
    print_rows(rows, as_json=False, right=("A", "B", "same"))
    print_lines([f"Wrote {output}: {card['pairs']} pairs, {card['rows']} preferences"])
    for note in uneven_wins(card):
        print_note(note)
    if NOT_STATED in card["licences"].values():
        print_note("the licence of the videos is not stated. Add it with --licence.")


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise click.BadParameter(f"{name}={text}: expected a number.", param_hint="--smallest-difference") from error
