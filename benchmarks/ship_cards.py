"""Puts the cards of a calibration into the package, keeps its scores, and writes the guide of the documentation.

python -m benchmarks.ship_cards FOLDER      the folder of `lookaway calibrate`, or of `make cards`
python -m benchmarks.ship_cards             the guide alone, from the cards that are in the package
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from lookaway.calibration.card import CARDS, MetricCard, read_cards
from lookaway.calibration.measured_card import CalibratedMetric, CalibrationSetting, make_card
from lookaway.calibration.scores import SCORES, metric_key, read_rows, scores_by_metric
from lookaway.core import canonical_json
from lookaway.io.files import read_json, write_text, write_whole
from lookaway.reports.metric_guide import MATRIX, guide_cards, write_guide

REPOSITORY = Path(__file__).parents[1]
SHIPPED = REPOSITORY / "src" / "lookaway" / "calibration" / "shipped"
GUIDE_FOLDER = REPOSITORY / "docs" / "how-to"
KNOWN_SCORES = REPOSITORY / "benchmarks" / "cards" / SCORES
"""Every score behind the cards, so that a later calibration adds to them."""
HELD_OUT_FAMILIES = ("lobby", "office", "park", "playroom", "plaza", "street")
"""Constants were chosen on real clips, on other families, and those of what moves by itself on pond and fireside."""
PICTURES = REPOSITORY / "docs" / "images" / "cards"


def ship(folder: Path) -> None:
    """Write the cards into the package, one on a line, so that the package stays small and a change is seen."""
    read_cards(folder)  # a damaged card is not shipped
    content = read_json(folder / CARDS)
    known = (entry for entry in content["cards"] if entry["card"]["floor"])  # no weights, or nothing that it looks for
    lines = ",\n".join(canonical_json(entry) for entry in known)
    write_text(SHIPPED / CARDS, f'{{"cards":[\n{lines}\n],"format":{content["format"]}}}\n')
    scores = (folder / SCORES).read_bytes()
    write_whole(KNOWN_SCORES, lambda file: file.write(scores))


def write_page(guide: Path = GUIDE_FOLDER, pictures: Path = PICTURES) -> None:
    """Write the page of the documentation and its picture."""
    cards = read_cards(SHIPPED).cards
    write_guide(guide, cards, pictures, f"../images/cards/{MATRIX}", held_out_cards(cards))


def held_out_cards(cards: Sequence[MetricCard]) -> list[MetricCard]:
    """The cards of the guide, made again from the families on which no constant was chosen."""
    chosen = guide_cards(cards)
    rows = [row for row in read_rows(KNOWN_SCORES) if row["family"] in HELD_OUT_FAMILIES]
    known = scores_by_metric(rows)
    made = []
    for card in chosen:
        metric = CalibratedMetric(
            name=card.metric, chain=card.chain, chain_sha256=card.chain_sha256,
            higher_is_better=card.higher_is_better, unit=card.unit, range=card.range,
        )  # fmt: skip
        setting = CalibrationSetting(world_version=card.world_version, look=card.look)
        form = (card.height, card.width, card.fps)
        own = known.get(metric_key(metric, setting), [])
        fitting = [score for score in own if (*score.label.size, score.label.fps) == form]
        made += [make_card(metric, fitting, setting)] if fitting else []
    return made


def main() -> None:
    """Ship, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    folder = parser.parse_args().folder
    if folder is not None:
        ship(folder)
    write_page()


if __name__ == "__main__":
    main()
