"""The whole way of a question bank against the oracle over real HTTP: write, judge, analyse, filter, review, apply."""

from __future__ import annotations

import csv
import hashlib
import json
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from lookaway.core import JudgeModel
from lookaway.engine.evaluate import evaluate
from lookaway.engine.question_banks import analyse_questions, read_answers
from lookaway.engine.reading import read
from lookaway.io.encoding import write_video
from lookaway.io.files import write_json
from lookaway.io.world_clips import CARD, VIDEO, WorldClip
from lookaway.judges.client import RetryPolicy
from lookaway.judges.oracle import KnownClip, Noise, OracleServer
from lookaway.judges.oracle.noise import Chance
from lookaway.judges.question_bank import BankQuestion, QuestionBank, read_question_bank, write_question_bank
from lookaway.judges.question_verdicts import BankAnswer, QuestionAnswer
from lookaway.judges.question_writing import DIMENSIONS, WrittenQuestion, WrittenQuestions
from lookaway.judges.server import Connection
from lookaway.judges.settings import JudgeSettings
from tests.judges.requests import QUICK
from tests.support.command import lookaway
from tests.support.memobench import MemoBenchWriter
from tests.support.world_clip import FRAMES, HEIGHT, WIDTH, card_fields

FPS = 8
TRUTH, FAILURES = "truth", ("vanish", "teleport")
METRICS = [f"memobench.vqa.{name.lower().replace(' ', '_')}" for name in DIMENSIONS]
BAD_KINDS = ("wrong_polarity", "constant", "coin")


def pictures(name: str) -> list[np.ndarray]:
    """Frames that no other clip has."""
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")
    blocks = np.random.default_rng(seed).integers(64, 192, (FRAMES, HEIGHT // 8, WIDTH // 8, 3), np.uint8)
    return list(blocks.repeat(8, axis=1).repeat(8, axis=2))


@dataclass
class Planted:
    """A dataset whose questions are good or bad in known ways, and an oracle's answers to them."""

    root: Path
    cases: int
    good: int
    """Good and bad questions of each case."""
    bad: int
    kinds: dict[tuple[str, str], str] = field(default_factory=dict)
    """By case and text: `good`, or how it is bad."""
    polarities: dict[tuple[str, str], bool] = field(default_factory=dict)
    clips: list[WorldClip] = field(default_factory=list)
    error_rate: float = 0.0
    """Share of single answers that are wrong, beside the replies that the oracle's own noise turns round."""
    seed: int = 0
    asked: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def write(self) -> None:
        writer = MemoBenchWriter(self.root / "memobench")
        for number in range(1, self.cases + 1):
            case = f"Nordic_{number:03d}"
            writer.synthetic("Nordic", number, (2, 5), pictures=pictures(f"{case}/{TRUTH}"))
            for model in (TRUTH, *FAILURES):
                self._write_clip(writer.root, case, model)
            if self.good + self.bad:
                self._write_bank(writer.data / "vqa_questions" / f"Nordic-{number}.json", case)

    def _write_clip(self, root: Path, case: str, model: str) -> None:
        folder = self.root / "world" / case / model
        write_video(folder / VIDEO, pictures(f"{case}/{model}"), FPS)
        faults = [{"fault": model, "severity": 1.0, "dose": 1.0, "dose_unit": "opacity"}] if model != TRUTH else []
        write_json(folder / CARD, {**card_fields(), "case": case, "model": model, "injections": faults})
        self.clips.append(WorldClip.open(folder))
        target = root / "output" / model / "Synthetic" / f"{case}.mp4"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((folder / VIDEO).read_bytes())

    def _write_bank(self, path: Path, case: str) -> None:
        questions = []
        for number in range(self.good + self.bad):
            is_bad = number % (self.good + self.bad) >= self.good
            kind = BAD_KINDS[(number + len(self.kinds)) % 3] if is_bad else "good"
            text = f"Is fact {number} as it was?"
            is_positive = number % 2 == 0
            self.kinds[case, text], self.polarities[case, text] = kind, is_positive
            questions.append(
                BankQuestion(
                    id=number + 1,
                    dimension=DIMENSIONS[number % 4],
                    polarity="positive" if is_positive else "negative",
                    question=text,
                )
            )
        path.parent.mkdir(exist_ok=True)
        write_question_bank(QuestionBank(bank=path.stem, questions=questions), path)

    def writing(self, clip: KnownClip | None, material, frames) -> WrittenQuestions:
        """24 questions, of which the last of each dimension is bad."""
        assert clip is not None
        questions = []
        for number in range(24):
            text, is_positive = f"Is fact {number} as it was?", number % 2 == 0
            self.kinds[clip.card.case, text] = "constant" if number % 6 == 5 else "good"
            self.polarities[clip.card.case, text] = is_positive
            polarity = "positive" if is_positive else "negative"
            questions.append(WrittenQuestion(dimension=DIMENSIONS[number // 6], polarity=polarity, question=text))
        return WrittenQuestions(questions=questions)

    def __call__(self, clip: KnownClip | None, material, frames) -> BankAnswer:
        assert clip is not None
        case, model, is_right = clip.card.case, clip.card.model, not clip.card.injections
        answers = []
        for entry in material["questions"]:
            text = entry["question"]
            passes = self._passes(case, model, text, is_right)
            says_yes = passes == self.polarities[case, text]
            answers.append(QuestionAnswer(id=entry["id"], reasoning="seen", answer="yes" if says_yes else "no"))
        return BankAnswer(answers=answers)

    def _passes(self, case: str, model: str, text: str, is_right: bool) -> bool:
        kind = self.kinds[case, text]
        with self.lock:
            self.asked[case, model, text] += 1
            turn = self.asked[case, model, text]
        chance = Chance(self.seed, f"{case}/{model}/{text}", turn)
        if kind == "coin":
            return chance.draw("coin") < 0.5
        if kind == "constant":
            passes = Chance(self.seed, f"{case}/{text}").draw("constant") < 0.5
        else:
            passes = is_right == (kind == "good")
        return passes != (chance.draw("error") < self.error_rate)


def settings(server: OracleServer, repeats: int) -> JudgeSettings:
    return JudgeSettings(
        model=JudgeModel(model="oracle", repeats=repeats),
        connection=Connection(url=server.base_url, timeout_seconds=60),
        policy=RetryPolicy(concurrent=4, tries=4, **QUICK),
    )


def judged(planted: Planted, run: Path, noise: Noise, repeats: int):
    with OracleServer(planted.clips, answers={"question_verdicts": planted}, noise=noise) as server:
        dataset = read(planted.root / "memobench", suite="memobench")
        assert dataset.problems == ()
        found = evaluate(dataset, run, metrics=METRICS, judge=settings(server, repeats))
        return found, server.request_log.answered.total()


def precision_and_recall(planted: Planted, analysed) -> tuple[float, float]:
    is_bad = np.array([planted.kinds[one.case.partition("/")[2], one.question.question] != "good" for one in analysed])
    is_flagged = np.array([bool(one.item.flags) for one in analysed])
    both = (is_bad & is_flagged).sum()
    return both / is_flagged.sum(), both / is_bad.sum()


@pytest.mark.merge
def test_planted_questions_are_found_over_http_in_one_request_for_each_clip_and_repeat(tmp_path):
    planted = Planted(tmp_path, cases=1, good=8, bad=6)
    planted.write()
    run, requests = judged(planted, tmp_path / "run", Noise(), repeats=3)
    clips = len(planted.clips)
    assert clips * 3 <= requests <= clips * 3 + 2
    answers = read_answers([run])
    assert len(answers.questions) == 14
    assert answers.unanswered == {}
    analysed = analyse_questions(answers, TRUTH)
    flags = {
        planted.kinds[one.case.partition("/")[2], one.question.question]: {flag.kind for flag in one.item.flags}
        for one in analysed
    }
    assert flags["good"] == set()
    assert flags["wrong_polarity"] == {"wrong_polarity"}
    assert flags["constant"] == {"no_discrimination"}


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.merge
def test_a_bank_goes_from_a_judge_to_its_third_version_by_commands_alone(tmp_path):
    planted = Planted(tmp_path, cases=1, good=0, bad=0)
    planted.write()
    root, run, banks = tmp_path / "memobench", tmp_path / "run", tmp_path / "memobench/data/vqa_questions"
    answers = {"question_verdicts": planted, "question_writing": planted.writing}
    with OracleServer(planted.clips, answers=answers) as server:
        judge = ("--judge-url", server.base_url, "--judge-model", "oracle")
        written = lookaway("questions", "generate", root, "-o", banks, *judge)
        assert written.code == 0, written.out
        options = ("--metrics", ",".join(METRICS), "--judge-repeats", 2)
        assert lookaway("eval", root, "-o", run, *options, *judge).code == 0
    bank = read_question_bank(banks / "Nordic-1.json")
    assert (bank.bank, bank.version, len(bank.ids)) == ("Nordic-1", 1, 24)
    assert {question.provenance.origin for question in bank.questions} == {"generated"}

    models = ("--reference", TRUTH, "--failures", ",".join(FAILURES))
    shown = lookaway("questions", "analyse", run, *models, "-o", tmp_path / "analysis.csv")
    assert shown.code == 0
    assert "4 of 24 questions flagged; 0 rollouts have no answers" in shown.out
    assert [row["id"] for row in table(tmp_path / "analysis.csv") if row["flags"]] == ["6", "12", "18", "24"]

    second = tmp_path / "Nordic-1.v2.json"
    filtered = lookaway("questions", "filter", banks / "Nordic-1.json", "-o", second, "--run", run, *models)
    assert filtered.code == 0
    assert "20 of 24 questions kept" in filtered.out

    review, third = tmp_path / "review.csv", tmp_path / "Nordic-1.v3.json"
    assert lookaway("questions", "review", second, "-o", review).code == 0
    rows = [{**row, "decision": "accept"} for row in table(review)]
    rows[0] |= {"decision": "reject", "reason": "nobody can see it"}
    with review.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    applied = lookaway("questions", "apply", second, review, "-o", third)
    assert "19 of 20 questions kept, version 3" in applied.out
    assert read_question_bank(third).ids == read_question_bank(second).ids[1:]

    assert lookaway("export", "memobench", run, "-o", tmp_path / "out").code == 0
    (clip,) = table(tmp_path / "out/vqa_results/truth/Nordic-1.csv")
    assert (clip["scene"], clip["video_id"], clip["folder"]) == ("Nordic", "1", "Nordic_001")
    evaluation = json.loads(clip["Evaluation"])
    assert [entry["ID"] for entry in evaluation] == list(range(1, 25))
    (overall,) = table(tmp_path / "out/vqa_results/vanish/overall.csv")
    assert tuple(overall) == ("scene", "video_id", *DIMENSIONS)


@pytest.mark.nightly
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("reply_rate", "answer_rate", "seed"),
    [(0.0, 0.0, 0), (0.05, 0.05, 0), (0.1, 0.0, 0), (0.0, 0.1, 0), (0.1, 0.1, 0), (0.1, 0.1, 1), (0.1, 0.1, 2)],
)
def test_item_analysis_finds_200_planted_bad_questions_of_600_through_a_noisy_judge(
    tmp_path, reply_rate, answer_rate, seed
):
    planted = Planted(tmp_path, cases=20, good=20, bad=10, error_rate=answer_rate, seed=seed)
    planted.write()
    assert Counter(kind != "good" for kind in planted.kinds.values()) == {False: 400, True: 200}
    run, _ = judged(planted, tmp_path / "run", Noise(wrong_answer_rate=reply_rate, seed=seed), repeats=8)
    answers = read_answers([run])
    assert len(answers.questions) == 600
    precision, recall = precision_and_recall(planted, analyse_questions(answers, TRUTH))
    print(f"replies {reply_rate}, answers {answer_rate}, seed {seed}: precision {precision:.3f}, recall {recall:.3f}")
    assert precision >= 0.9
    assert recall >= 0.9
