"""Question banks from datasets and runs: has a judge write them, and finds which questions can be trusted."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from lookaway.core import Case, Dataset, FrameRequest, Picture, Reason, UnknownName, Unmeasurable, UserError
from lookaway.engine.run import Run
from lookaway.io.pictures import picture_pixels
from lookaway.io.video import Video
from lookaway.judges.question_bank import BankQuestion, Provenance, QuestionBank, write_question_bank
from lookaway.judges.question_writing import write_questions
from lookaway.judges.settings import JudgeSettings
from lookaway.statistics.item_analysis import QuestionAnswers, QuestionItem, item_analysis

UNIT: Final = "question[0-9]+"
"""Units of pass rates that are one question of a bank."""
HEIGHT: Final = 480
CLIP: Final = re.compile(r"(?P<part>[^/]+)/(?:(?P<scene>.+)_)?(?P<number>\d+)")


def bank_name(case: str) -> str:
    """Name of the bank of a case.

    >>> bank_name("synthetic/Zen_Garden_005"), bank_name("real/007"), bank_name("kitchen/left")
    ('Zen_Garden-5', 'real-7', 'kitchen-left')
    """
    match = CLIP.fullmatch(case)
    if match is None:
        return re.sub(r"[^\w.-]", "-", case)
    return f"{match['scene'] or match['part']}-{int(match['number'])}"


def generate_banks(
    dataset: Dataset, settings: JudgeSettings, output: Path
) -> Iterator[tuple[Case, Path | Unmeasurable]]:
    """Write a bank for each case with a text and a first frame, or say why there is none; replies are kept beside."""
    cases = {rollout.case.id: rollout.case for rollout in dataset.rollouts}
    judge = settings.identify(output)
    client = settings.open_client(output)
    try:
        for case in cases.values():
            try:
                if not case.prompt:
                    raise Unmeasurable(Reason.MISSING_INPUT, "the case has no text to write questions about.")
                written = write_questions(client, judge, _first_frame(case), " ".join(case.prompt))
            except Unmeasurable as error:
                yield case, error
                continue
            name = bank_name(case.id)
            provenance = Provenance(origin="generated", source=judge.reported or judge.model)
            questions = [question.model_copy(update={"provenance": provenance}) for question in written.questions]
            path = output / f"{name}.json"
            write_question_bank(QuestionBank(bank=name, questions=questions), path)
            yield case, path
    finally:
        client.close()


def _first_frame(case: Case) -> Picture:
    if case.reference is not None:
        with Video(case.reference.video) as video:
            request = FrameRequest(frozenset({0}), min(HEIGHT, video.timeline.height))
            frame = next(frame for _, frame in video.frames([request]))
        return Picture(0, 0.0, frame.pixels)
    if case.first_frame is None:
        raise Unmeasurable(Reason.MISSING_INPUT, "the case has neither a reference video nor a first frame.")
    return Picture(0, 0.0, picture_pixels(case.first_frame.read_bytes()))


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedQuestion:
    """A question about a case, with all answers to it in some runs."""

    case: str
    question: BankQuestion
    passed: Mapping[tuple[str, str], tuple[bool, ...]]
    """By model and rollout: whether each answer passed."""

    def majority(self, models: Sequence[str]) -> dict[tuple[str, str], bool]:
        """Whether more than half of the answers about each video of these models passed."""
        return {video: 2 * sum(answers) > len(answers) for video, answers in self.passed.items() if video[0] in models}


@dataclass(frozen=True, slots=True)
class BankAnswers:
    """All answers of some runs, and the rollouts that have none."""

    questions: tuple[JudgedQuestion, ...]
    models: tuple[str, ...]
    unanswered: Mapping[str, str]
    """By rollout: why."""


@dataclass(slots=True)
class _Asked:
    question: BankQuestion
    passed: dict[tuple[str, str], tuple[bool, ...]] = field(default_factory=dict)


def read_answers(runs: Sequence[Run]) -> BankAnswers:
    """Every question that was asked in some runs, as published where a run has both protocols; a `UserError` if there
    is none."""
    asked: dict[tuple[str, int], _Asked] = {}
    models: dict[str, None] = {}
    unanswered: dict[str, str] = {}
    for number, run in enumerate(runs):
        # Both protocols ask the same questions, of other frames: one of them is read.
        repaired = {metric.name for metric in run.metrics if metric.protocol == "corrected"}
        answered = run.metrics_with_units(UNIT)
        metrics = [name for name in answered if name not in repaired] or answered
        for row in run.items():
            if row["metric"] in metrics and row["status"] != "score" and row["reason"] != Reason.NOT_APPLICABLE.value:
                unanswered[row["rollout"]] = f"{row['reason']}: {row['message']}"
        for metric in metrics:
            for row in run.units(metric):
                detail = json.loads(row["detail"])
                question = _question(int(row["unit"].removeprefix("question")), detail)
                entry = asked.setdefault((row["case"], question.id), _Asked(question))
                if entry.question != question:
                    raise UserError(
                        f"{run.path}: question {question.id} of {row['case']} is not the one of the other runs. "
                        "Analyse runs with one version of a bank."
                    )
                models[row["model"]] = None
                video = (row["model"], f"{number}/{row['rollout']}")
                entry.passed[video] = tuple(said == question.is_positive for said in detail["says_yes"])
    if not asked:
        paths = ", ".join(str(run.path) for run in runs)
        raise UserError(f"{paths}: no answers to questions of a bank; measure memobench.vqa.* or question_pass_rate.")
    return BankAnswers(
        tuple(
            JudgedQuestion(case=case, question=entry.question, passed=entry.passed)
            for (case, _), entry in sorted(asked.items(), key=lambda found: found[0])
        ),
        tuple(models),
        unanswered,
    )


def _question(number: int, detail: Mapping[str, object]) -> BankQuestion:
    return BankQuestion(
        id=number,
        dimension=str(detail["dimension"]),
        polarity="positive" if detail["is_positive"] else "negative",
        question=str(detail["question"]),
    )


@dataclass(frozen=True, slots=True)
class AnalysedQuestion:
    """A question and its statistics."""

    case: str
    question: BankQuestion
    item: QuestionItem


def analyse_questions(
    answers: BankAnswers,
    reference: str,
    failures: Sequence[str] = (),
    *,
    min_discrimination: float = 0.4,
    min_agreement: float = 0.6,
) -> list[AnalysedQuestion]:
    """Item analysis with the videos of one model as ground truth, and those of others, or all others, as failures."""
    failures = check_models(answers, reference, failures)
    places: list[int] = []
    truth: list[bool] = []
    passed: list[bool] = []
    videos: list[int] = []
    replies: list[int] = []
    numbers: dict[object, int] = {}
    for place, judged in enumerate(answers.questions):
        for video, said in judged.passed.items():
            if video[0] == reference or video[0] in failures:
                places += [place] * len(said)
                truth += [video[0] == reference] * len(said)
                passed += said
                videos += [numbers.setdefault(video, len(numbers))] * len(said)
                replies += [numbers.setdefault((video, repeat), len(numbers)) for repeat in range(len(said))]
    bank = item_analysis(
        QuestionAnswers(
            questions=np.array(places, np.int64),
            is_truth=np.array(truth, np.bool_),
            passed=np.array(passed, np.bool_),
            videos=np.array(videos, np.int64),
            replies=np.array(replies, np.int64),
            clips=[judged.case for judged in answers.questions],
            asks_for_good=[judged.question.is_positive for judged in answers.questions],
        ),
        min_discrimination=min_discrimination,
        min_agreement=min_agreement,
    )
    return [
        AnalysedQuestion(judged.case, judged.question, item)
        for judged, item in zip(answers.questions, bank.items, strict=True)
    ]


def verdicts(
    answers: BankAnswers, bank: QuestionBank, reference: str, failures: Sequence[str] = ()
) -> tuple[dict[int, bool], dict[int, bool]]:
    """Which questions of a bank the ground truth passes, and which every known failure does, by most repeats."""
    failures = check_models(answers, reference, failures)
    on_truth, on_failure = {}, {}
    for judged in answers.questions:
        if bank_name(judged.case) != bank.bank:
            continue
        if good := judged.majority([reference]):
            on_truth[judged.question.id] = all(good.values())
        if bad := judged.majority(failures):
            on_failure[judged.question.id] = all(bad.values())
    return on_truth, on_failure


def check_models(answers: BankAnswers, reference: str, failures: Sequence[str]) -> tuple[str, ...]:
    """The models whose videos are failures; by default all but the reference."""
    for name in (reference, *failures):
        if name not in answers.models:
            raise UnknownName("model with answers", name, answers.models)
    if reference in failures:
        raise UserError(f"{reference!r} is named as the reference and as a failure.")
    found = tuple(failures) or tuple(name for name in answers.models if name != reference)
    if not found:
        raise UserError(f"All answers are about videos of {reference!r}; known failures are needed, too.")
    return found
