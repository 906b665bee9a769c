"""Puts the cards of a calibration into the package, keeps its scores, and writes the guide of the documentation.

python -m benchmarks.ship_cards FOLDER      the folder of `lookaway calibrate`, or of `make cards`
python -m benchmarks.ship_cards             the guide alone, from the cards that are in the package
"""

from __future__ import annotations

import argparse
from pathlib import Path

from lookaway.calibration.card import CARDS, read_cards
from lookaway.calibration.scores import SCORES
from lookaway.core import canonical_json
from lookaway.io.files import read_json, write_text, write_whole
from lookaway.reports.metric_guide import MATRIX, write_guide

REPOSITORY = Path(__file__).parents[1]
SHIPPED = REPOSITORY / "src" / "lookaway" / "calibration" / "shipped"
GUIDE_FOLDER = REPOSITORY / "docs" / "how-to"
KNOWN_SCORES = REPOSITORY / "benchmarks" / "cards" / SCORES
"""Every score behind the cards, so that a later calibration adds to them."""
PICTURES = REPOSITORY / "docs" / "images" / "cards"


def ship(folder: Path) -> None:
    """Write the cards into the package, one on a line, so that the package stays small and a change is seen."""
    read_cards(folder)  # a damaged card is not shipped
    content = read_json(folder / CARDS)
    lines = ",\n".join(canonical_json(entry) for entry in content["cards"])
    write_text(SHIPPED / CARDS, f'{{"cards":[\n{lines}\n],"format":{content["format"]}}}\n')
    scores = (folder / SCORES).read_bytes()
    write_whole(KNOWN_SCORES, lambda file: file.write(scores))


def write_page(guide: Path = GUIDE_FOLDER, pictures: Path = PICTURES) -> None:
    """Write the page of the documentation and its picture."""
    write_guide(guide, read_cards(SHIPPED).cards, pictures, f"../images/cards/{MATRIX}")


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
