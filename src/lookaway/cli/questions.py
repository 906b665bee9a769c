"""`lookaway questions`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from lookaway.cli.eval import EXIT_WITH_FAILURES
from lookaway.cli.options import FOLDER_OR_URL, PATH, SHARE, Command, chosen_reading, json_option, split_names
from lookaway.cli.run_options import chosen_judge, judge_options
from lookaway.cli.suite_options import DatasetCommand

if TYPE_CHECKING:
    from lookaway.judges.question_bank import QuestionBank

Read = TypeVar("Read")


@click.group("questions")
def questions_command() -> None:
    """Make banks of questions for a judge: write, filter, review and analyse them.

    A BANK is a versioned .json file, or a published {scene}-{video_id}-questions.csv.
    """


def _model_options(*, required: bool) -> Callable[[Command], Command]:
    """Options that say which videos are right, and which are known failures."""

    def decorate(command: Command) -> Command:
        failures = click.option(
            "--failures",
            callback=split_names,
            default="",
            metavar="A,B",
            help="Models whose videos are known failures; by default all others.",
        )
        reference = click.option("--reference", required=required, help="Model whose videos are the ground truth.")
        return reference(failures(command))

    return decorate


@questions_command.command("generate", cls=DatasetCommand)
@click.argument("dataset", type=PATH)
@click.option("-o", "--output", type=PATH, required=True, help="Folder to write: a bank for each case.")
@click.option("--suite", help="Suite that reads it; by default the one that recognises the folder.")
@click.option("--models", callback=split_names, default="", metavar="A,B", help="Only cases of these models.")
@click.option("--subsets", callback=split_names, default="", metavar="A,B", help="Only these subsets.")
@click.option("--case", "cases", multiple=True, metavar="ID", help="Only this case; can be repeated.")
@click.option("--limit", type=click.IntRange(min=1), help="Only the first N cases of each model and subset.")
@judge_options
def generate_command(dataset: Path, output: Path, **options: Any) -> int:
    """Have a judge write 24 questions about each case of DATASET, from its first frame and its text."""
    from lookaway.core import Unmeasurable, UserError
    from lookaway.engine.question_banks import generate_banks
    from lookaway.engine.reading import read
    from lookaway.reports.numbers import print_lines

    settings = chosen_judge(options)
    if settings is None:
        raise UserError("No judge is configured. Set its model with --judge-model and its server with --judge-url.")
    code = 0
    for case, found in generate_banks(read(dataset, **chosen_reading(options)), settings, output):
        if isinstance(found, Unmeasurable):
            code = EXIT_WITH_FAILURES
            print_lines([f"{case.id}: {found.reason.value}: {found}"])
        else:
            print_lines([f"Wrote {found}"])
    return code


@questions_command.command("filter")
@click.argument("bank", type=PATH)
@click.option("-o", "--output", type=PATH, required=True, help="Bank to write: the next version, as .json.")
@click.option("--run", "runs", type=FOLDER_OR_URL, multiple=True, help="Run with answers; can be repeated.")
@_model_options(required=False)
@click.option(
    "--by-hint",
    is_flag=True,
    help="Filter as MemoBench's own files were made: keep the questions that the ground truth passes and whose verdict "
    "on the failure is the same with and without a hint. BANK must be a published file.",
)
def filter_command(bank: Path, output: Path, by_hint: bool, **options: Any) -> None:
    """Keep the questions of BANK that the ground truth passes and the known failure does not.

    Answers are those of a published file, or of the runs given with --run.
    """
    from lookaway.judges.question_bank import write_question_bank
    from lookaway.reports.numbers import print_lines

    before, result = _filtered(bank, by_hint, **options)
    for number, reason in result.dropped.items():
        print_lines([f"dropped {number}: {reason}"])
    write_question_bank(result.apply(before), output)
    print_lines([f"{len(result.kept)} of {len(before.ids)} questions kept", f"Wrote {output}"])


def _filtered(
    path: Path, by_hint: bool, runs: tuple[Path, ...], reference: str | None, failures: tuple[str, ...]
) -> Any:
    """The bank before the filter, and what the filter finds."""
    from lookaway.core import UserError
    from lookaway.engine.question_banks import read_answers, verdicts
    from lookaway.engine.run import Run
    from lookaway.judges.question_bank import read_published_bank
    from lookaway.judges.question_filter import filter_published_bank, filter_questions

    if runs:
        if by_hint or reference is None:
            raise UserError(
                "Answers of runs are filtered by --reference and --failures; --by-hint is for published files, "
                "which have answers with a hint."
            )
        bank = _bank(path)
        return bank, filter_questions(
            bank, *verdicts(read_answers([Run(run) for run in runs]), bank, reference, failures)
        )
    if path.suffix != ".csv":
        raise UserError(f"{path}: only published .csv files have answers of their own; name runs with --run.")
    published = _readable(read_published_bank, path)
    return published.written, filter_published_bank(published, by_hint=by_hint)


@questions_command.command("review")
@click.argument("bank", type=PATH)
@click.option("-o", "--output", type=PATH, required=True, help="File to write: .csv or .json.")
@click.option("--run", "runs", type=FOLDER_OR_URL, multiple=True, help="Run whose answers add notes; can be repeated.")
@_model_options(required=False)
def review_command(
    bank: Path, output: Path, runs: tuple[Path, ...], reference: str | None, failures: tuple[str, ...]
) -> None:
    """Write a file in which people decide about each question of BANK: accept, reject or edit, and why.

    With --run and --reference, notes say what item analysis finds.
    """
    from lookaway.core import UserError
    from lookaway.engine.question_banks import analyse_questions, bank_name, read_answers
    from lookaway.engine.run import Run
    from lookaway.reports.question_review import flag_notes, write_review

    if bool(runs) != (reference is not None):
        raise UserError("Notes need both --run and --reference.")
    read, notes = _bank(bank), {}
    if runs and reference is not None:
        analysed = analyse_questions(read_answers([Run(run) for run in runs]), reference, failures)
        notes = {one.question.id: flag_notes(one) for one in analysed if bank_name(one.case) == read.bank}
    write_review(read, output, notes)
    click.echo(f"Wrote {output}")


@questions_command.command("apply")
@click.argument("bank", type=PATH)
@click.argument("review", type=PATH)
@click.option("-o", "--output", type=PATH, required=True, help="Bank to write: the next version, as .json.")
def apply_command(bank: Path, review: Path, output: Path) -> None:
    """Write the next version of BANK, with the decisions of a filled REVIEW."""
    from lookaway.judges.question_bank import write_question_bank
    from lookaway.reports.numbers import print_lines
    from lookaway.reports.question_review import apply_review

    before = _bank(bank)
    after = apply_review(before, review)
    write_question_bank(after, output)
    kept = f"{len(after.ids)} of {len(before.ids)} questions kept, version {after.version}"
    print_lines([kept, f"Wrote {output}"])


@questions_command.command("analyse")
@click.argument("runs", type=FOLDER_OR_URL, nargs=-1, required=True)
@_model_options(required=True)
@click.option("-o", "--output", type=PATH, help="File to write with every question: .csv or .json.")
@click.option(
    "--min-discrimination", type=SHARE, default=0.4, show_default=True, help="Flag questions that discriminate less."
)
@click.option(
    "--min-agreement", type=SHARE, default=0.6, show_default=True, help="Flag questions that agree less under retest."
)
@json_option
def analyse_command(
    runs: tuple[Path, ...], reference: str, failures: tuple[str, ...], output: Path | None, as_json: bool, **limits: Any
) -> None:
    """Find questions in RUNS that do not discriminate, have the wrong polarity, or are unstable under retest.

    Retests need a run with --judge-repeats.
    """
    from lookaway.engine.question_banks import analyse_questions, read_answers
    from lookaway.engine.run import Run
    from lookaway.reports.numbers import print_lines, print_rows
    from lookaway.reports.question_review import ANALYSIS, analysis_rows, write_records

    answers = read_answers([Run(run) for run in runs])
    rows = analysis_rows(analyse_questions(answers, reference, failures, **limits))
    if output is not None:
        write_records(output, ANALYSIS, rows)
    if as_json:
        print_rows(rows, as_json=True)
        return
    flagged = [{name: row[name] for name in ("case", "id", "question", "reasons")} for row in rows if row["flags"]]
    if flagged:
        print_rows(flagged, as_json=False)
    print_lines(
        [f"{len(flagged)} of {len(rows)} questions flagged; {len(answers.unanswered)} rollouts have no answers"]
    )


def _bank(path: Path) -> QuestionBank:
    from lookaway.judges.question_bank import read_question_bank

    return _readable(read_question_bank, path)


def _readable(read: Callable[[Path], Read], path: Path) -> Read:
    """What a file holds; a bank that cannot be read is an error of the user here."""
    from lookaway.core import ArtifactError, UserError

    try:
        return read(path)
    except ArtifactError as error:
        raise UserError(str(error)) from error
