"""Writes a table as `.xlsx`: one sheet, text and numbers, nothing else."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO
from xml.sax.saxutils import escape

from lookaway.io.files import write_whole

_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_DOCUMENT = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_KIND}.sheet.main+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_KIND}.worksheet+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{_DOCUMENT}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_DOCUMENT}">'
    '<sheets><sheet name="Sheet1" sheetId="1" r:id="rId1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{_DOCUMENT}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
}


def write_spreadsheet(path: Path, rows: Sequence[Sequence[str | int]]) -> None:
    """The first row is the head."""

    def write(file: BinaryIO) -> None:
        with zipfile.ZipFile(file, "w") as book:
            for name, text in {**_PARTS, "xl/worksheets/sheet1.xml": _sheet(rows)}.items():
                book.writestr(zipfile.ZipInfo(name), _HEAD + text)

    write_whole(path, write)


def _sheet(rows: Sequence[Sequence[str | int]]) -> str:
    lines = "".join(
        f'<row r="{number}">{"".join(_cell(chr(65 + column), number, value) for column, value in enumerate(row))}</row>'
        for number, row in enumerate(rows, start=1)
    )
    return f'<worksheet xmlns="{_MAIN}"><sheetData>{lines}</sheetData></worksheet>'


def _cell(column: str, row: int, value: str | int) -> str:
    if isinstance(value, str):
        return f'<c r="{column}{row}" t="inlineStr"><is><t xml:space="preserve">{escape(value)}</t></is></c>'
    return f'<c r="{column}{row}"><v>{value}</v></c>'
