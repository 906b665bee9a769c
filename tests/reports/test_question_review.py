from __future__ import annotations

import csv
import json

import pytest

from lookaway.core import UserError
from lookaway.judges.question_bank import BankQuestion, QuestionBank
from lookaway.reports.question_review import COLUMNS, apply_review, write_review
from tests.judges.question_banks import SMALL

BANK = QuestionBank(bank="Nordic-3", questions=[BankQuestion(**entry) for entry in SMALL])
DECIDED = {
    7: {"decision": "accept"},
    2: {"decision": "reject", "reason": "nobody can see it"},
    5: {"decision": "Edit", "edited_question": "Does the cup lie?", "edited_polarity": "negative", "reason": "clearer"},
}


@pytest.fixture(params=["review.csv", "review.json"])
def path(request, tmp_path):
    return tmp_path / request.param


def rows_of(path):
    if path.suffix == ".json":
        return json.loads(path.read_text())
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def save(path, rows):
    if path.suffix == ".json":
        path.write_text(json.dumps(rows))
        return
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def fill(path, change=None, bank=BANK):
    """A review with all decisions, of which some are changed by id."""
    write_review(bank, path)
    rows = rows_of(path)
    for row in rows:
        row.update({**DECIDED[int(row["id"])], **(change or {}).get(int(row["id"]), {})})
    save(path, rows)
    return rows


def complaint(path, bank=BANK) -> str:
    with pytest.raises(UserError) as caught:
        apply_review(bank, path)
    return str(caught.value)


def test_a_review_shows_every_question_and_what_is_known_of_it(path):
    write_review(BANK, path, {2: "unstable: 50% of repeated answers agree"})
    rows = rows_of(path)
    assert [int(row["id"]) for row in rows] == BANK.ids
    assert rows[1]["notes"].startswith("unstable")
    assert {row["decision"] for row in rows} == {""}
    assert tuple(rows[0]) == COLUMNS or path.suffix == ".json"


def test_accepted_questions_stay_rejected_ones_go_and_edited_ones_say_why(path):
    fill(path)
    after = apply_review(BANK, path)
    assert (after.bank, after.version, after.ids) == ("Nordic-3", 2, [7, 5])
    assert after.questions[0] == BANK.questions[0]
    edited = after.questions[1]
    assert (edited.question, edited.polarity, edited.dimension) == ("Does the cup lie?", "negative", "physics")
    assert edited.provenance.model_dump() == {"origin": "edited", "source": path.name, "note": "clearer"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({7: {"decision": ""}}, "question 7: the decision is missing; expected accept, reject, edit"),
        ({7: {"decision": "maybe"}}, "question 7: the decision is 'maybe'"),
        ({2: {"reason": " "}}, "question 2: the decision is reject, but the reason is missing"),
        ({5: {"reason": ""}}, "question 5: the decision is edit, but the reason is missing"),
        ({5: {"edited_question": "", "edited_polarity": ""}}, "question 5: the decision is edit, but neither"),
        ({5: {"edited_polarity": "no"}}, "question 5: edited_polarity is 'no'; expected positive or negative"),
        (
            {5: {"edited_question": SMALL[2]["question"], "edited_polarity": ""}},
            "question 5: the decision is edit, but",
        ),
        ({7: {"edited_question": "Another?"}}, "question 7: it is edited, but the decision is accept"),
        ({7: {"id": "8"}}, "row 1: the bank has no question '8'; question 7: there is no row for it"),
        ({7: {"id": "x"}}, "row 1: the id is 'x'; expected a whole number"),
        ({7: {"id": "2"}}, "question 2: it has an earlier row"),
        ({7: {"bank_sha256": "0" * 64}}, "question 7: the review is of another version of the bank"),
    ],
)
def test_what_is_not_a_complete_decision_is_an_error_that_names_the_question(path, change, message):
    fill(path, change)
    assert message in complaint(path)


def test_all_problems_are_named_at_once(path):
    fill(path, {7: {"decision": ""}, 2: {"reason": ""}})
    assert "question 7: " in complaint(path)
    assert "question 2: " in complaint(path)


def test_a_question_without_a_row_is_an_error(path):
    save(path, fill(path)[:2])
    assert "question 5: there is no row for it" in complaint(path)


def test_a_review_of_another_version_is_refused(path):
    fill(path)
    assert "another version of the bank" in complaint(path, BANK.next_version(BANK.questions))


def test_a_bank_without_questions_is_not_made(path):
    fill(path, {number: {"decision": "reject", "reason": "no"} for number in (7, 2)})
    rows = rows_of(path)
    rows[2].update(decision="reject", edited_question="", edited_polarity="")
    save(path, rows)
    assert "every question is rejected" in complaint(path)


def test_other_columns_and_files_are_refused(path, tmp_path):
    save(path, [{"id": "7", "decision": "accept"}])
    assert "row 1 has the columns id, decision; expected id, dimension" in complaint(path)
    assert "cannot be read" in complaint(tmp_path / "nowhere.csv")
    with pytest.raises(UserError, match="the suffix selects the format"):
        write_review(BANK, tmp_path / "review.xlsx")


def test_a_question_is_no_formula_of_a_spreadsheet(tmp_path):
    bank = QuestionBank(questions=[BankQuestion(**{**SMALL[0], "question": "=1+1 is it?"})])
    write_review(bank, tmp_path / "review.csv")
    assert rows_of(tmp_path / "review.csv")[0]["question"] == "'=1+1 is it?"
