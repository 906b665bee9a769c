from __future__ import annotations

import json

import pytest

from lookaway.reports.numbers import print_json, print_lines, print_rows, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 世界 🙂", "plain é 世界 🙂"),
        ("\x1b[31m", r"\x1b[31m"),
        ("a\nb\tc\r", r"a\nb\tc\r"),
        ("\x00\x07\x7f\x9b", r"\x00\x07\x7f\x9b"),
        ("\u202e\u2066", r"\u202e\u2066"),
        ("\udce9", r"\udce9"),
    ],
)
def test_what_a_terminal_would_act_upon_is_spelled_out(text, shown):
    assert visible(text) == shown


def test_rows_are_printed_under_their_names(capsys):
    print_rows([{"model": "a", "score": "0.5"}, {"model": "longer", "score": "10"}], as_json=False, right=("score",))
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == [
        "model   score",
        "a         0.5",
        "longer     10",
    ]


def test_no_rows_are_nothing(capsys):
    print_rows([], as_json=False)
    assert capsys.readouterr().out == "nothing\n"
    print_rows([], as_json=True)
    assert json.loads(capsys.readouterr().out) == []


def test_a_cell_with_a_newline_stays_in_its_row(capsys):
    print_rows([{"model": "two\nlines"}], as_json=False)
    assert capsys.readouterr().out.splitlines()[1].rstrip() == r"two\nlines"


def test_lines_are_neither_markup_nor_emoji_nor_wrapped(capsys):
    print_lines(["[bold]x[/bold] :smile: [/unbalanced]", "long " * 500])
    assert capsys.readouterr().out == f"[bold]x[/bold] :smile: [/unbalanced]\n{'long ' * 500}\n"


def test_json_round_trips_whatever_the_text(capsys):
    value = {"text": "é\x1b\x9b\u202e\U000e0041\udce9\n", "number": 0.1 + 0.2, "none": None}
    print_json(value)
    printed = capsys.readouterr().out
    assert json.loads(printed) == value
    assert "é" in printed
    assert printed.replace("\n", "").isprintable()


def test_json_refuses_what_is_not_a_number():
    with pytest.raises(ValueError, match="Out of range float"):
        print_json({"score": float("nan")})
