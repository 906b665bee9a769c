"""Audits a judge: asks it questions about clips of the simulated world, whose true answers are known."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from lookaway.core import (
    Estimate,
    FrameRequest,
    Json,
    JudgeHandle,
    JudgeModel,
    JudgeRequest,
    Picture,
    Reason,
    Rollout,
    Unmeasurable,
    UserError,
    digest,
)
from lookaway.engine.reading import read
from lookaway.engine.run import Run
from lookaway.io.dataset_files import read_record
from lookaway.io.files import write_json
from lookaway.io.video import Video
from lookaway.io.world_clips import WorldClip
from lookaway.judges.errors import NotAnswered
from lookaway.judges.judge_feature import SYSTEM, JudgeFeature, wait_for_answer
from lookaway.judges.oracle.clip_index import KnownClip, index_clips
from lookaway.judges.oracle.parsed_question import CannotAnswer
from lookaway.judges.oracle.true_answers import TRUE_ANSWERS
from lookaway.judges.probe_probabilities import ProbeProbabilities
from lookaway.judges.question import Question, YesNo, YesNoQuestion
from lookaway.judges.reply import read_reply
from lookaway.judges.settings import JudgeSettings, probe_capabilities
from lookaway.judges.trigger_verdict import TriggerAnswer, TriggerVerdict
from lookaway.perception.truth import TRUTH
from lookaway.statistics.intervals import clustered_share
from lookaway.statistics.judge_audit import (
    AuditedAnswer,
    BridgedQuestion,
    Form,
    JudgeAudit,
    Outcome,
    audit_answers,
    bridge_answers,
    corrected_share,
)

ANSWERS: Final = "answers.json"
MIN_REPEATS: Final = 2
RECIPES: Final[tuple[JudgeFeature, ...]] = (
    TriggerVerdict.about("object"),
    TriggerVerdict.about("environment"),
    ProbeProbabilities(),
)
"""What is asked: questions with an object for an answer, and questions whose answer is yes or no."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditQuestion:
    """A question about a clip, with its true answer."""

    name: str
    form: Form
    is_positive: bool | None
    question: Question[Any]
    pictures: tuple[Picture, ...]
    truth: bool
    clean_truth: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditClip:
    """A clip and what is asked about it."""

    name: str
    scene: str
    fault: str
    video_sha256: str
    """Hash of its frames before encoding, so that another decoder does not make it another clip."""
    questions: tuple[AuditQuestion, ...]


class AnswersFile(BaseModel):
    """`answers.json`: everything that a judge was asked in an audit, to compute again or to bridge from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    judge: str
    """The model, as its server reports it."""
    repeats: int
    answers: tuple[AuditedAnswer, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRate:
    """How often a judge says yes to one question about the clips of one model of a run, and what that is worth."""

    model: str
    question: str
    observed: Estimate
    corrected: Estimate | None
    """Corrected for the errors that the audit found; for a run of a retired judge, the rate of the new one."""
    how: Literal["corrected", "carried", "not corrected"]
    why_not: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """The audit of a judge, and what it says about runs."""

    judge: str
    gives_log_probabilities: bool
    audit: JudgeAudit
    money_per_question: float
    retired: str | None = None
    bridge: tuple[BridgedQuestion, ...] = ()
    rates: tuple[RunRate, ...] = ()


def audit_judge(
    settings: JudgeSettings,
    world: Path,
    output: Path,
    *,
    limit: int | None = None,
    on_clip: Callable[[str], object] | None = None,
) -> AuditReport:
    """Ask everything that is not answered yet, write `answers.json`, and compute the audit."""
    client = settings.open_client(output)
    try:
        capabilities = probe_capabilities(client, settings.model, settings.wording)
        judge = replace(capabilities.judge, repeats=max(MIN_REPEATS, settings.model.repeats))
        has_words = capabilities.gives_log_probabilities
        recipes = RECIPES if has_words else tuple(r for r in RECIPES if isinstance(r, TriggerVerdict))
        answers: list[AuditedAnswer] = []
        for clip in audit_clips(world, recipes, limit=limit):
            answers += ask_about(clip, client, judge)
            if on_clip is not None:
                on_clip(clip.name)
    finally:
        client.close()
    if not answers:
        raise UserError(f"{world}: there is no clip to ask about. Render some with `lookaway world render`.")
    file = AnswersFile(judge=judge.reported or judge.model, repeats=judge.repeats, answers=tuple(answers))
    write_json(output / ANSWERS, file.model_dump(mode="json"))
    audit, prices = audit_answers(answers), settings.budget
    money = audit.prompt_tokens * prices.price_per_million_prompt_tokens
    money += audit.answer_tokens * prices.price_per_million_answer_tokens
    return AuditReport(judge=file.judge, gives_log_probabilities=has_words, audit=audit, money_per_question=money / 1e6)


def with_bridge(report: AuditReport, output: Path, retired: Path) -> AuditReport:
    """The audit in `output`, with a bridge from that of another judge, of the same world, in `retired`."""
    now, before = (read_record(folder / ANSWERS, AnswersFile) for folder in (output, retired))
    bridge = bridge_answers(now.answers, before.answers)
    if not bridge:
        raise UserError(
            f"{retired}: none of its questions is one of this audit. Audit the same world with both judges."
        )
    return replace(report, retired=before.judge, bridge=bridge)


def with_rates(report: AuditReport, runs: Sequence[Path]) -> AuditReport:
    """With the rates of yes of runs, corrected or carried."""
    return replace(report, rates=tuple(rate for run in runs for rate in run_rates(Run(run), report)))


def audit_clips(world: Path, recipes: Sequence[JudgeFeature], *, limit: int | None = None) -> Iterator[AuditClip]:
    """Clips of a rendered world, with the questions of recipes whose true answers are known."""
    rollouts = [rollout for rollout in read(world, limit=limit).rollouts if TRUTH in rollout.artifacts]
    clips = index_clips([WorldClip.open(rollout.artifacts[TRUTH].parent) for rollout in rollouts])
    for rollout, clip in zip(rollouts, clips, strict=True):
        yield AuditClip(
            name=rollout.id,
            scene=rollout.case.scene,
            fault=" + ".join(sorted({injection.fault for injection in clip.card.injections})),
            video_sha256=clip.card.hashes.frames,
            questions=tuple(_questions(rollout, clip, recipes)),
        )


def ask_about(
    clip: AuditClip, client: JudgeHandle, judge: JudgeModel, *, with_shuffled: bool = True
) -> list[AuditedAnswer]:
    """Every question about a clip, all repeats, and once more with the frames out of order."""
    asked = []
    for question in clip.questions:
        for repeat in range(judge.repeats):
            asked.append(_ask(question, question.pictures, client, judge, repeat))
        if with_shuffled:
            shuffled = _shuffled(question.pictures, clip.name)
            asked.append(_ask(question, shuffled, client, judge, 0, is_shuffled=True))
    return [question.answered(clip) for question in asked]


@dataclass(slots=True)
class _Asked:
    """A question that was sent; counts the tokens of its replies."""

    question: AuditQuestion
    client: JudgeHandle
    request: JudgeRequest
    repeat: int
    is_shuffled: bool
    replies: list[Future[Json]] = field(default_factory=list)

    def ask(self, request: JudgeRequest) -> Future[Json]:
        """Send a request, and remember its reply."""
        self.replies.append(self.client.ask(request))
        return self.replies[-1]

    def answered(self, clip: AuditClip) -> AuditedAnswer:
        """Wait for the answer, and for its correction if one is needed."""
        says_yes, log_odds, outcome = self._read()
        replies = [read_reply(reply.result()) for reply in self.replies if reply.exception() is None]
        request = self.request
        return AuditedAnswer(
            question=self.question.name,
            form=self.question.form,
            is_positive=self.question.is_positive,
            clip=clip.name,
            scene=clip.scene,
            fault=clip.fault,
            truth=self.question.truth,
            clean_truth=self.question.clean_truth,
            is_shuffled=self.is_shuffled,
            repeat=self.repeat,
            shown=digest(
                {
                    "instruction": request.instruction,
                    "system": request.system,
                    "material": request.material,
                    "video": clip.video_sha256,
                    "frames": [picture.index for picture in request.pictures],
                }
            ),
            outcome=outcome,
            says_yes=says_yes,
            log_odds=log_odds,
            is_corrected=len(self.replies) > 1,
            prompt_tokens=sum(reply.prompt_tokens for reply in replies),
            answer_tokens=sum(reply.answer_tokens for reply in replies),
        )

    def _read(self) -> tuple[bool | None, float | None, Outcome]:
        try:
            answer = wait_for_answer(self, self.question.question, self.request, self.replies[0], [])
        except Unmeasurable as error:
            if error.reason == Reason.JUDGE_REFUSED:
                return None, None, "refused"
            return None, None, "failed" if isinstance(error.__cause__, NotAnswered) else "unreadable"
        if isinstance(answer, YesNo):
            return answer.p_yes >= 0.5, _log_odds(answer.p_yes), "answered"
        return _verdict(answer), None, "answered"


def _ask(
    question: AuditQuestion,
    pictures: tuple[Picture, ...],
    client: JudgeHandle,
    judge: JudgeModel,
    repeat: int,
    *,
    is_shuffled: bool = False,
) -> _Asked:
    request = question.question.request(SYSTEM, judge, pictures, repeat)
    asked = _Asked(question, client, request, repeat, is_shuffled)
    asked.ask(request)
    return asked


def _questions(rollout: Rollout, clip: KnownClip, recipes: Sequence[JudgeFeature]) -> Iterator[AuditQuestion]:
    asking = [recipe for recipe in recipes if recipe.lacks(rollout) is None]
    with Video(rollout.video) as video:
        frames = [recipe.frames.indices(video.timeline, rollout) for recipe in asking]
        heights = [min(recipe.height, video.timeline.height) for recipe in asking]
        requests = [FrameRequest(frozenset(own), height) for own, height in zip(frames, heights, strict=True)]
        shown: list[list[Picture]] = [[] for _ in asking]
        for place, frame in video.frames(requests):
            shown[place].append(Picture(frame.index, round(frame.time_seconds, 6), frame.pixels))
    for recipe, pictures in zip(asking, shown, strict=True):
        for question, is_positive in _with_polarity(recipe, rollout):
            prompt = question.prompts[-1].name
            try:
                truth = _true_answer(prompt, clip)
            except CannotAnswer:  # the case has no clip without a fault, from which this one is answered
                continue
            clean = (
                None if clip.remembered is None else _true_answer(prompt, KnownClip(clip.remembered, clip.remembered))
            )
            yield AuditQuestion(
                name=_name(prompt, question.name),
                form="yes_no" if isinstance(question, YesNoQuestion) else "json",
                is_positive=is_positive,
                question=question,
                pictures=tuple(pictures),
                truth=truth,
                clean_truth=clean,
            )


def _with_polarity(recipe: JudgeFeature, rollout: Rollout) -> Iterable[tuple[Any, bool | None]]:
    if isinstance(recipe, ProbeProbabilities):
        return zip(recipe.questions(rollout), (probe.is_positive for probe in recipe.probes), strict=True)
    return ((question, None) for question in recipe.questions(rollout))


def _name(prompt: str, name: str) -> str:
    """Probes have names of their own; a trigger is named after what it asks for, such as `trigger.object`."""
    return prompt.replace("_", ".", 1) if prompt.startswith("trigger_") else name


def _true_answer(prompt: str, clip: KnownClip) -> bool:
    return _verdict(TRUE_ANSWERS[prompt](clip, {}, ()))


def _verdict(answer: object) -> bool:
    if isinstance(answer, TriggerAnswer):
        return answer.triggered
    if isinstance(answer, bool):
        return answer
    raise TypeError(f"expected a verdict, found {type(answer).__name__}.")


def _shuffled(pictures: tuple[Picture, ...], name: str) -> tuple[Picture, ...]:
    """The same frames with their true times, in an order that is the same in every audit."""
    order = np.random.default_rng(int(digest(name)[:8], 16)).permutation(len(pictures))
    is_same = bool((np.diff(order) > 0).all())
    return tuple(pictures[place] for place in (order[::-1] if is_same else order))


def _log_odds(p_yes: float) -> float:
    near = min(max(p_yes, 1e-6), 1 - 1e-6)
    return math.log(near / (1 - near))


def run_rates(run: Run, report: AuditReport) -> Iterator[RunRate]:
    """The rates of yes of a run, for every question that the audit knows, corrected or carried to the new judge."""
    errors = {entry.question: entry for entry in report.audit.questions}
    bridged = {entry.question: entry for entry in report.bridge}
    for (model, question, judge, repeats), rows in _verdicts(run).items():
        yes, scenes = np.array([says for says, _ in rows], np.bool_), [scene for _, scene in rows]
        observed = clustered_share(yes, scenes)
        if observed is None:
            continue
        rate = RunRate(model=model, question=question, observed=observed, corrected=None, how="not corrected")
        if repeats > 1:
            yield replace(rate, why_not="the run asks more than once and takes the majority")
        elif judge == report.judge and question in errors:
            found = corrected_share(errors[question], yes, scenes)
            if found is None:
                yield replace(rate, why_not="the audit has too few answers, or the judge is no better than chance")
                continue
            mean, low, high = found.clipped()
            yield replace(rate, how="corrected", corrected=replace(observed, mean=mean, low=low, high=high))
        elif judge == report.retired and question in bridged:
            carried = bridged[question].carry(observed)
            yield replace(rate, how="carried" if carried else "not corrected", corrected=carried)
        elif judge not in (report.judge, report.retired):
            yield replace(rate, why_not=f"judged by {judge}")
        else:
            yield replace(rate, why_not="not a question of the audit")


def _verdicts(run: Run) -> Mapping[tuple[str, str, str, int], list[tuple[bool, str]]]:
    """Every yes or no of a run, with its scene, by model, question, judge and repeats."""
    found: dict[tuple[str, str, str, int], list[tuple[bool, str]]] = {}
    locks: Mapping[str, Any] = run.lock.entries["metrics"]
    rows = list(run.items())
    scenes = {row["rollout"]: row["scene"] for row in rows}
    for metric, entries in locks.items():
        features = entries["features"]
        if entries["metric"]["kind"] == "triggered":
            recipe = features["trigger_verdict"]
            question = _name(recipe["prompts"][-1]["name"], "trigger")
            for row in rows:
                if row["metric"] == metric and row["status"] == "score":
                    key = (row["model"], question, *_judge(recipe))
                    found.setdefault(key, []).append((row["value"] >= 0.5, row["scene"]))
        elif "probe_probabilities" in features:
            recipe = features["probe_probabilities"]
            positive = {probe["name"]: probe["is_positive"] for probe in recipe["probes"]}
            for unit in run.units(metric):
                if unit["status"] == "score" and unit["unit"] in positive:
                    key = (unit["model"], unit["unit"], *_judge(recipe))
                    says_yes = (unit["value"] >= 0.5) == positive[unit["unit"]]
                    found.setdefault(key, []).append((says_yes, scenes[unit["rollout"]]))
    return found


def _judge(recipe: Mapping[str, Any]) -> tuple[str, int]:
    judge = recipe["judge"]
    return judge["reported"] or judge["model"], judge["repeats"]
