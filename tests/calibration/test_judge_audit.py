"""An audit finds what an oracle was dialled to: noise, bias, refusals, and trouble with the order of frames."""

from __future__ import annotations

import json
import math
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from lookaway.calibration.judge_audit import AuditClip, AuditQuestion, AuditReport, RunRate, ask_about, run_rates
from lookaway.core import Estimate, JudgeModel, JudgeRequest, Lock, Picture
from lookaway.judges.openai_format import completion_fields
from lookaway.judges.oracle import Noise, OracleServer, ServerErrors
from lookaway.judges.oracle.completion import chat_completion
from lookaway.judges.oracle.noise import Chance
from lookaway.judges.oracle.oracle import Oracle
from lookaway.judges.oracle.parsed_question import read_question
from lookaway.judges.prompts import Prompt
from lookaway.judges.question import TypedQuestion, YesNoQuestion
from lookaway.judges.trigger_verdict import TriggerAnswer
from lookaway.statistics.judge_audit import (
    AuditedAnswer,
    JudgeAudit,
    audit_answers,
    bridge_answers,
    corrected_share,
)
from tests.support.command import lookaway
from tests.support.rendered import copy_small

JUDGE = JudgeModel(model="oracle", repeats=2)
DIALS = Noise(wrong_answer_rate=0.15, yes_bias=0.7, order_error_rate=0.3)
REFUSED, CUT_OFF = 0.08, 0.06


def trigger(clip: Any, material: Any, frames: Any) -> TriggerAnswer:
    return TriggerAnswer(triggered=material["truth"], confidence=1.0, reason="known")


@dataclass
class OracleInProcess:
    """The oracle without its server, and without pictures: the true answer is in the material of the question."""

    noise: Noise = Noise()
    errors: ServerErrors = ServerErrors()

    def __post_init__(self) -> None:
        answers = {"trigger_object": trigger, "check_yes_no": lambda clip, material, frames: bool(material["truth"])}
        self.oracle = Oracle(None, answers, self.noise)

    def ask(self, request: JudgeRequest) -> Future[Any]:
        key = request.key()
        question = read_question(completion_fields(replace(request, pictures=())), key)
        times = tuple(picture.time_seconds for picture in request.pictures)
        question, chance = replace(question, times_seconds=times), Chance(self.noise.seed, key)
        message = self.oracle.answer(question, chance, self.errors.next(1, chance)).message
        future: Future[Any] = Future()
        future.set_result(chat_completion(message, question, 0, key, model="oracle", logprobs=True))
        return future


def asked(name: str, number: int, truth: bool, clean: bool) -> AuditQuestion:
    material = {"truth": truth, "number": number}
    pictures = tuple(Picture(index, index / 2, np.zeros((2, 2, 3), np.uint8)) for index in range(4))
    is_json = name == "trigger.object"
    question = (
        TypedQuestion(name=name, prompts=(Prompt.named("trigger_object"),), answer=TriggerAnswer, material=material)
        if is_json
        else YesNoQuestion(name=name, prompts=(Prompt.named("check_yes_no"),), material=material, max_doubt=1e-3)
    )
    return AuditQuestion(
        name=name,
        form="json" if is_json else "yes_no",
        is_positive={"trigger.object": None, "return": True, "vanished": False}[name],
        question=question,
        pictures=pictures,
        truth=truth,
        clean_truth=clean,
    )


def clips(scenes: int) -> list[AuditClip]:
    """Two clips of each scene: a clean one, and one whose fault turns every answer round."""
    found = []
    for number in range(2 * scenes):
        is_faulty = bool(number % 2)
        clean = {"trigger.object": True, "return": True, "vanished": False}
        questions = tuple(asked(name, number, truth != is_faulty, truth) for name, truth in clean.items())
        fault = "vanish" if is_faulty else ""
        scene = f"scene{number // 2}"
        found.append(
            AuditClip(name=f"clip{number}", scene=scene, fault=fault, video_sha256=str(number), questions=questions)
        )
    return found


def answers_of(noise: Noise, errors: ServerErrors | None = None, *, scenes: int) -> list[AuditedAnswer]:
    client = OracleInProcess(noise, errors or ServerErrors())
    return [answer for clip in clips(scenes) for answer in ask_about(clip, client, JUDGE)]


def audited(noise: Noise, *, scenes: int) -> JudgeAudit:
    return audit_answers(answers_of(noise, scenes=scenes))


def holds(estimate: Estimate | None, value: float) -> bool:
    assert estimate is not None
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.low <= value <= estimate.high


def recovered(seed: int, scenes: int) -> dict[str, bool]:
    """Whether the interval of each dial holds what it was set to."""
    errors = ServerErrors(refusal=REFUSED, truncated_answer=CUT_OFF)
    answers = answers_of(replace(DIALS, seed=seed), errors, scenes=scenes)
    found, words = audit_answers(answers), audit_answers([answer for answer in answers if answer.form == "yes_no"])
    by_form = {(entry.form, entry.is_positive): entry for entry in found.errors}
    verdicts, wrong = by_form["json", None], DIALS.wrong_answer_rate
    # One in three questions is for JSON. The first word of a refusal in prose, one in three, is neither yes nor no.
    refused = (REFUSED * (1 + CUT_OFF) + 2 * REFUSED * 2 / 3) / 3
    unreadable = (CUT_OFF + 2 * (CUT_OFF + REFUSED / 3)) / 3
    both = wrong + DIALS.order_error_rate - wrong * DIALS.order_error_rate
    changed = wrong * (1 - both) + (1 - wrong) * both
    return {
        "noise of verdicts": holds(verdicts.error_rate, wrong),
        "bias of verdicts": holds(verdicts.yes_bias, math.tanh(DIALS.yes_bias / 2)),
        "bias of good yes": holds(by_form["yes_no", True].log_odds_bias, DIALS.yes_bias),
        "bias of bad yes": holds(by_form["yes_no", False].log_odds_bias, DIALS.yes_bias),
        "refusals": holds(found.refusals, refused),
        "parse failures": holds(found.parse_failures, unreadable),
        "repeats": holds(words.repeat_agreement, 1 - 2 * wrong * (1 - wrong)),
        "order": holds(words.order_agreement, 1 - changed),
        "planted errors": holds(words.faults[-1].found_share, 1 - wrong),
    }


@pytest.mark.parametrize("seed", range(3))
def test_dials_are_recovered_within_their_intervals(seed):
    found = recovered(seed, 20)
    assert sum(found.values()) >= len(found) - 1, found  # of nine intervals of 95 %, one may miss


@pytest.mark.merge
def test_intervals_hold_the_dials_as_often_as_they_say():
    runs = [recovered(seed, 20) for seed in range(100, 124)]
    shares = {name: sum(run[name] for run in runs) / len(runs) for name in runs[0]}
    assert all(share >= 0.8 for share in shares.values()), shares
    assert sum(shares.values()) / len(shares) >= 0.92, shares


def test_a_perfect_judge_finds_every_planted_error_and_invents_none():
    found = audited(Noise(), scenes=6)
    clean, faulty = found.faults
    assert (clean.found, clean.missed, clean.invented, clean.right) == (0, 0, 0, 36)
    assert (faulty.found, faulty.missed, faulty.invented, faulty.right) == (36, 0, 0, 0)
    assert found.repeat_agreement is not None
    assert found.repeat_agreement.mean == 1.0
    assert {entry.yes_bias.mean for entry in found.errors if entry.yes_bias} == {0.0}


def test_a_judge_that_always_says_yes_has_a_bias_of_one():
    found = audited(Noise(yes_bias=60.0, certainty=0.9), scenes=6)
    assert {entry.yes_bias.mean for entry in found.errors if entry.yes_bias} == {1.0}
    assert all(entry.log_odds_bias is None or entry.log_odds_bias.mean > 10 for entry in found.errors)


def rate(yes: int, of: int) -> tuple[np.ndarray[Any, np.dtype[np.bool_]], list[str]]:
    return np.arange(of) < yes, [f"other{number}" for number in range(of)]


def test_a_rate_is_corrected_for_noise_and_bias():
    found = audited(Noise(wrong_answer_rate=0.2, seed=3), scenes=30)
    errors = {entry.question: entry for entry in found.questions}["trigger.object"]
    # Of 300 clips, 30 % are yes; the judge says so of 0.3 x 0.8 + 0.7 x 0.2 of them.
    corrected = corrected_share(errors, *rate(114, 300))
    assert corrected is not None
    assert corrected.low <= 0.3 <= corrected.high
    assert corrected.high - corrected.low > 0.15  # an exact judge would leave 0.11


def test_a_rate_is_not_corrected_without_both_true_answers():
    found = audited(Noise(), scenes=5)
    errors = replace(found.questions[0], specificity=None)
    assert corrected_share(errors, *rate(1, 2)) is None


def test_a_bridge_carries_a_rate_to_the_new_judge():
    retired = answers_of(Noise(wrong_answer_rate=0.2, seed=1), scenes=20)
    new = answers_of(Noise(wrong_answer_rate=0.05, seed=2), scenes=20)
    bridge = {entry.question: entry for entry in bridge_answers(new, retired)}["trigger.object"]
    assert bridge.compared == 80
    assert holds(bridge.agreement, 0.8 * 0.95 + 0.2 * 0.05)
    # Half of all clips are yes, and so both judges say yes to half of them.
    carried = bridge.carry(Estimate(mean=0.5, low=0.44, high=0.56, scored=300, scenes=300))
    assert holds(carried, 0.5)
    assert carried is not None
    assert carried.high is not None
    assert carried.low is not None
    assert carried.high - carried.low > 0.12 * 0.75  # more than the rate's own interval, as the bridge shrinks it


def test_a_bridge_compares_only_what_both_judges_were_shown():
    retired = answers_of(Noise(), scenes=5)
    assert bridge_answers(retired, [replace(answer, shown="other frames") for answer in retired]) == ()


@dataclass
class KnownRun:
    """A run of which the judge's verdicts on five scenes are known."""

    judge: str
    repeats: int = 1

    @property
    def lock(self) -> Lock:
        judge = {"model": self.judge, "reported": "", "repeats": self.repeats}
        trigger = {"prompts": [{"name": "trigger"}, {"name": "trigger_object"}], "judge": judge}
        probes = {"probes": [{"name": "vanished", "is_positive": False}], "judge": judge}
        return Lock(
            {
                "metrics": {
                    "gate": {"metric": {"kind": "triggered"}, "features": {"trigger_verdict": trigger}},
                    "d5": {"metric": {"kind": "probe_support"}, "features": {"probe_probabilities": probes}},
                }
            }
        )

    def items(self) -> list[dict[str, Any]]:
        return [
            {
                "rollout": f"r{n}",
                "scene": f"s{n}",
                "model": "m",
                "metric": "gate",
                "status": "score",
                "value": float(n < 4),
            }
            for n in range(5)
        ]

    def units(self, metric: str) -> list[dict[str, Any]]:
        return [
            {"rollout": f"r{n}", "unit": "vanished", "model": "m", "status": "score", "value": 0.9 if n < 4 else 0.1}
            for n in range(5)
        ]


def rates_of(run: KnownRun, **changes: Any) -> dict[str, RunRate]:
    found = audited(Noise(wrong_answer_rate=0.1), scenes=10)
    report = AuditReport(judge="oracle", gives_log_probabilities=True, audit=found, money_per_question=0.0)
    return {rate.question: rate for rate in run_rates(run, replace(report, **changes))}  # type: ignore[arg-type]


def test_rates_of_a_run_by_the_same_judge_are_corrected():
    rates = rates_of(KnownRun("oracle"))
    assert {question: rate.observed.mean for question, rate in rates.items()} == {
        "trigger.object": 0.8,
        "vanished": 0.2,
    }
    assert {rate.how for rate in rates.values()} == {"corrected"}
    assert rates["trigger.object"].corrected is not None
    assert rates["trigger.object"].corrected.mean > 0.8


@pytest.mark.parametrize(
    ("run", "said"),
    [(KnownRun("another"), "judged by another"), (KnownRun("oracle", repeats=3), "takes the majority")],
)
def test_rates_of_another_judge_or_of_majorities_are_not_corrected(run, said):
    for rate in rates_of(run).values():
        assert rate.corrected is None
        assert said in rate.why_not


def test_rates_of_a_retired_judge_are_carried():
    retired, new = (answers_of(Noise(wrong_answer_rate=0.1, seed=seed), scenes=10) for seed in (1, 2))
    rates = rates_of(KnownRun("old"), retired="old", bridge=bridge_answers(new, retired))
    assert {rate.how for rate in rates.values()} == {"carried"}
    assert all(rate.corrected is not None and 0 < rate.corrected.mean < 1 for rate in rates.values())


@pytest.mark.merge
@pytest.mark.render
@pytest.mark.server
def test_an_audit_from_the_command_line_asks_nothing_twice(tmp_path):
    world = copy_small(tmp_path / "world", faults=("vanish", "camera_never_moves"), severities=(1.0,))
    arguments = ("audit-judge", world, "-o", tmp_path / "audit", "--judge-model", "oracle", "--json")
    with OracleServer(world) as server:
        first = lookaway(*arguments, "--judge-url", server.base_url)
        asked = server.request_log.received.total()
        again = lookaway(*arguments, "--judge-url", server.base_url, "--bridge", tmp_path / "audit")
        assert server.request_log.received.total() == asked
    assert (first.code, again.code) == (0, 0)
    found, bridged = json.loads(first.out), json.loads(again.out)
    assert found["audit"]["asked"] == 3 * 12 * 3
    assert found["audit"]["order_agreement"]["mean"] == 1.0
    assert {fault["fault"]: fault["missed"] for fault in found["audit"]["faults"]} == {
        "": 0, "camera_never_moves": 0, "vanish": 0,
    }  # fmt: skip
    assert {entry["agreement"]["mean"] for entry in bridged["bridge"]} == {1.0}
