from __future__ import annotations

import pytest

from release.commit_subject import main, problems


@pytest.mark.parametrize(
    "subject",
    [
        "Name the file that cannot be read",
        "Pass the lock to every worker",
        "Focus the first field",
        "Embed the filmstrip",
        "Merge branch 'habits'",
        'Revert "Fixed things."',
        "x".upper() * 72,
    ],
)
def test_a_short_imperative_subject_is_accepted(subject):
    assert problems(subject) == []


@pytest.mark.parametrize(
    ("subject", "message"),
    [
        ("A" * 73, "73 characters"),
        ("Fixed the reader", "imperative"),
        ("Adds a reader", "imperative"),
        ("Adding a reader", "imperative"),
        ("fix the reader", "capital letter"),
        ("feat(io): add a reader", "prefix"),
        ("Fix: the reader", "prefix"),
        ("Fix the reader.", "full stop"),
        ("", "capital letter"),
    ],
)
def test_what_is_wrong_with_a_subject_is_said(subject, message):
    assert any(message in problem for problem in problems(subject))


def test_the_hook_reads_the_first_line_and_not_the_comments_of_git(tmp_path):
    path = tmp_path / "COMMIT_EDITMSG"
    path.write_text("# Please enter the message.\nAdd a reader\n\nIt was missing.\n")
    main([str(path)])
    path.write_text("Added a reader\n")
    with pytest.raises(SystemExit, match="imperative"):
        main([str(path)])
