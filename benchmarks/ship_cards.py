"""Puts the cards of a calibration into the package, keeps its scores, and writes the guide of the documentation.

python -m benchmarks.ship_cards FOLDER...   folders of `lookaway calibrate`, or of `make cards`
python -m benchmarks.ship_cards             the guide alone, from the cards that are in the package
"""

from __future__ import annotations

import argparse
import gzip
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from lookaway.calibration.calibrate import joined
from lookaway.calibration.card import CARDS, MetricCard, read_cards, write_cards
from lookaway.calibration.measured_card import CalibratedMetric, CalibrationSetting, make_card
from lookaway.calibration.run_cards import shipped_cards
from lookaway.calibration.scores import SCORES, Row, clip_of, metric_key, read_rows, scores_by_metric, write_rows
from lookaway.core import canonical_json
from lookaway.io.files import read_json
from lookaway.reports.metric_guide import HELD_OUT, MATRIX, SIDEWAYS, guide_cards, write_guide

REPOSITORY = Path(__file__).parents[1]
SHIPPED = REPOSITORY / "src" / "lookaway" / "calibration" / "shipped" / "cards.json.gz"
GUIDE_FOLDER = REPOSITORY / "docs" / "how-to"
KNOWN_SCORES = REPOSITORY / "benchmarks" / "cards" / SCORES
"""Every score behind the cards, so that a later calibration adds to them."""
HELD_OUT_FAMILIES = ("lobby", "office", "park", "playroom", "plaza", "street")
"""Constants were chosen on real clips, on other families, and those of what moves by itself on pond and fireside."""
CAMERA, SIDEWAYS_CAMERA = "yaw_left_60", "pan_left"
"""The path of the clips that cards are about, and another one, on which recommended metrics are tried."""
PICTURES = REPOSITORY / "docs" / "images" / "cards"


def ship(folders: Sequence[Path]) -> None:
    """Write the cards into the package, made anew from all scores."""
    rows: dict[tuple[Any, ...], Row] = {}
    described: list[MetricCard] = []
    for folder in folders:
        described += read_cards(folder).cards
        rows |= {clip_of(row): row for row in read_rows(folder / SCORES)}
    ordered = [rows[clip] for clip in sorted(rows)]
    made = made_from(described, along(CAMERA, ordered))
    known = [card for card in joined((), made).cards if card.floor]  # no weights, or nothing that it looks for
    with tempfile.TemporaryDirectory() as scratch:
        write_cards(Path(scratch), known)
        content = canonical_json(read_json(Path(scratch) / CARDS))
    SHIPPED.write_bytes(gzip.compress(content.encode(), mtime=0))
    write_rows(KNOWN_SCORES, ordered)


def write_page(guide: Path = GUIDE_FOLDER, pictures: Path = PICTURES) -> None:
    """Write the page of the documentation and its picture."""
    cards = shipped_cards().cards
    others = {HELD_OUT: held_out_cards(cards), SIDEWAYS: sideways_cards(cards)}
    write_guide(guide, cards, pictures, f"../images/cards/{MATRIX}", others)


def held_out_cards(cards: Sequence[MetricCard]) -> list[MetricCard]:
    """The cards of the guide, made again from the families on which no constant was chosen."""
    rows = [row for row in along(CAMERA, read_rows(KNOWN_SCORES)) if row["family"] in HELD_OUT_FAMILIES]
    return made_from(guide_cards(cards), rows)


def sideways_cards(cards: Sequence[MetricCard]) -> list[MetricCard]:
    """The cards of the guide, made from clips whose camera moves sideways instead of turning."""
    return made_from(guide_cards(cards), along(SIDEWAYS_CAMERA, read_rows(KNOWN_SCORES)))


def along(camera: str, rows: Iterable[Row]) -> list[Row]:
    """The scores of clips along one path; cases are named by family, event, camera and seed."""
    return [row for row in rows if row["case"].split("-")[2] == camera]


def made_from(cards: Sequence[MetricCard], rows: Sequence[Row]) -> list[MetricCard]:
    """Cards of the same metrics and forms, from these scores."""
    known, made = scores_by_metric(rows), []
    for card in cards:
        metric = CalibratedMetric(
            name=card.metric, chain=card.chain, chain_sha256=card.chain_sha256, protocol_sha256=card.protocol_sha256,
            unit=card.unit, range=card.range, higher_is_better=card.higher_is_better,
            reads_truth=card.features == "truth",
        )  # fmt: skip
        setting = CalibrationSetting(world_version=card.world_version, look=card.look)
        form = (card.height, card.width, card.fps)
        own = known.get(metric_key(metric, setting), [])
        fitting = [score for score in own if (*score.label.size, score.label.fps) == form]
        if fitting:  # that weights were random is known of the card alone
            made.append(make_card(metric, fitting, setting).model_copy(update={"features": card.features}))
    return made


def main() -> None:
    """Ship, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="*")
    folders = parser.parse_args().folders
    if folders:
        ship(folders)
    write_page()


if __name__ == "__main__":
    main()
