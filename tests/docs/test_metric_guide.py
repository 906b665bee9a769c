from __future__ import annotations

from benchmarks.ship_cards import GUIDE_FOLDER, PICTURES, write_page
from lookaway.reports.metric_guide import GUIDE, MATRIX


def test_the_guide_and_its_picture_are_made_from_the_cards_in_the_package(tmp_path):
    write_page(tmp_path, tmp_path)
    assert (tmp_path / GUIDE).read_text() == (GUIDE_FOLDER / GUIDE).read_text(), "run `make guide`"
    assert (tmp_path / MATRIX).read_text() == (PICTURES / MATRIX).read_text(), "run `make guide`"
