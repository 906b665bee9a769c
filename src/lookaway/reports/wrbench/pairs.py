"""People's verdicts on pairs of videos: how far people agree, and how well a metric predicts them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Estimate, Floats, Indices, UserError
from lookaway.reports.lint.printed_table import PrintedCell, read_printed
from lookaway.reports.numbers import estimate_interval, fixed, print_json, print_lines, print_rows, probability
from lookaway.statistics.agreement import Agreement, Coefficient, agreement, encode_ratings
from lookaway.statistics.intervals import clustered_share
from lookaway.statistics.pair_accuracy import PairAccuracy, choose_tie_threshold, pair_accuracy, predicted_verdicts
from lookaway.statistics.paired_difference import SignFlip, sign_flip
from lookaway.statistics.rank_correlation import RankCorrelation, rank_correlation
from lookaway.statistics.scene_bootstrap import DRAWS, SEED, scene_weights

REQUIRED: Final = ("pair", "dimension", "rater", "verdict", "left", "right", "scene")
OPTIONAL: Final = ("judgeable", "left_score", "right_score")
VERDICTS: Final[Mapping[str, int]] = {"1": 1, "0": 0, "-1": -1, "left": 1, "tie": 0, "right": -1}
"""Words for verdicts, unless others are declared: 1 is left, -1 is right."""
YES_NO: Final[Mapping[str, int]] = {"yes": 1, "true": 1, "1": 1, "no": 0, "false": 0, "0": 0}
HELD_OUT_SHARE: Final = 0.5
SHUFFLES: Final = 200
"""Shuffles of the raters' answers, for what agreement would be by chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedPair:
    """Two videos and what people say about them, in one dimension."""

    id: str
    left: str
    right: str
    scene: str
    verdicts: Mapping[str, int | None]
    """By rater: 1 for left, 0 for a tie, -1 for right; `None` where a rater says that it cannot be judged."""
    scores: tuple[float, float] | None
    """Scores of a metric for left and right, where the table has them."""

    @property
    def verdict(self) -> int | None:
        """What most raters say who could judge it, a tie if there is no majority; `None` where most could not."""
        judged = [verdict for verdict in self.verdicts.values() if verdict is not None]
        return None if 2 * len(judged) <= len(self.verdicts) else majority(judged)


def majority(verdicts: Sequence[int]) -> int:
    """The verdict of more than half, else a tie.

    >>> majority([1, 1, -1]), majority([1, -1]), majority([1, 0, -1])
    (1, 0, 0)
    """
    verdict, count = Counter(verdicts).most_common(1)[0]
    return verdict if 2 * count > len(verdicts) else 0


def read_pairs(
    path: Path, columns: Mapping[str, str] | None = None, words: Mapping[str, int] | None = None
) -> dict[str, list[JudgedPair]]:
    """Pairs by dimension, from a table with one verdict in each row (`.csv`, `.json` or `.parquet`).

    `columns` are the names of the fields pair, dimension, rater, verdict, left, right and scene, and where the table
    has them of judgeable, left_score and right_score; a field that is not declared has its own name. `words` are those
    for verdicts. Whatever is missing, unknown or there twice is refused.
    """
    found: dict[str, dict[str, JudgedPair]] = {}
    for row in _verdict_rows(path, columns or {}):
        pairs = found.setdefault(row.text("dimension"), {})
        name, rater = row.text("pair"), row.text("rater")
        pair = JudgedPair(
            id=name,
            left=row.text("left"),
            right=row.text("right"),
            scene=row.text("scene"),
            verdicts={rater: row.verdict(VERDICTS if words is None else words)},
            scores=row.scores(),
        )
        first = pairs.setdefault(name, pair)
        if first is pair:
            continue
        if rater in first.verdicts:
            raise UserError(f"{row.where}: the rater {rater!r} has judged the pair {name!r} already.")
        if (pair.left, pair.right, pair.scene, pair.scores) != (first.left, first.right, first.scene, first.scores):
            raise UserError(f"{row.where}: the pair {name!r} has other videos, scores or another scene than before.")
        pairs[name] = replace(first, verdicts={**first.verdicts, **pair.verdicts})
    return {dimension: list(pairs.values()) for dimension, pairs in found.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class _VerdictRow:
    where: str
    cells: Mapping[str, PrintedCell]
    """By field."""

    def text(self, field: str) -> str:
        if self.cells[field].is_empty:
            raise UserError(f"{self.where}: {field} is empty, expected a name.")
        return self.cells[field].text

    def verdict(self, words: Mapping[str, int]) -> int | None:
        if "judgeable" in self.cells and not self._choice("judgeable", YES_NO):
            return None
        return self._choice("verdict", words)

    def scores(self) -> tuple[float, float] | None:
        names = [name for name in ("left_score", "right_score") if name in self.cells]
        cells = [self.cells[name] for name in names]
        if not cells or any(cell.is_empty for cell in cells):
            return None
        for name, cell in zip(names, cells, strict=True):
            if cell.value is None:
                raise UserError(f"{self.where}: {name} is {cell.text!r:.80}, expected a number or nothing.")
        left, right = (float(cell.value) for cell in cells if cell.value is not None)
        return left, right

    def _choice(self, field: str, words: Mapping[str, int]) -> int:
        text = self.cells[field].text
        if text.lower() not in {word.lower() for word in words}:
            raise UserError(f"{self.where}: {field} is {text!r:.80}, expected one of {', '.join(words)}.")
        return next(value for word, value in words.items() if word.lower() == text.lower())


def _verdict_rows(path: Path, columns: Mapping[str, str]) -> list[_VerdictRow]:
    if unknown := sorted(set(columns) - {*REQUIRED, *OPTIONAL}):
        raise UserError(f"There is no field {unknown[0]!r}; expected some of {', '.join((*REQUIRED, *OPTIONAL))}.")
    table = read_printed(path)[0]
    names = {field: columns.get(field, field) for field in (*REQUIRED, *OPTIONAL)}
    needed = {*REQUIRED, *columns}
    if missing := [
        f"{names[field]} ({field})" for field in names if field in needed and names[field] not in table.columns
    ]:
        raise UserError(
            f"{path}: the columns {', '.join(missing)} are missing; found {', '.join(table.columns)!r:.300}. Declare "
            "what they are called, such as --column pair=pair_id."
        )
    if (names["left_score"] in table.columns) != (names["right_score"] in table.columns):
        raise UserError(f"{path}: scores of one side alone; expected both left_score and right_score, or none.")
    places = {field: table.columns.index(name) for field, name in names.items() if name in table.columns}
    return [
        _VerdictRow(where=f"{path}, row {line}", cells={field: cells[place] for field, place in places.items()})
        for cells, line in zip(table.rows, table.lines, strict=True)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricAgainstPeople:
    """How well the differences of a metric predict what people say."""

    accuracy: PairAccuracy
    """Over pairs that did not choose the tie region; with the number of reversals, and Spearman's correlation."""
    held_out: int
    """Pairs of other scenes on which the tie region was chosen; 0 where it was given."""
    strict_accuracy: Estimate | None
    """Share of right verdicts where people decide."""
    tie_accuracy: Estimate | None
    """Share of right verdicts where people see a tie."""
    kappa: Coefficient | None
    weighted_kappa: Coefficient | None
    """Cohen's kappa of the metric's and people's verdicts, the second with linear weights."""
    test: SignFlip
    """Whether the metric says anything: people's verdicts with all signs of a scene flipped; exact up to 20 scenes."""
    ceiling: float | None
    """Spearman's correlation of one rater with the majority of the others; `None` where nobody shares a pair."""
    max_spearman: float | None
    """The highest that a metric without ties can reach, since people have three verdicts only."""
    models: RankCorrelation | None
    """Over models: mean difference of the metric with mean verdict; `None` for fewer than 3 models."""
    judgeable: Estimate | None
    not_judgeable: Estimate | None
    """Share with both scores of the pairs that people can judge; share that lacks one of those that they cannot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairReport:
    """One dimension of a table of people's verdicts."""

    dimension: str
    pairs: int
    verdicts: int
    nominal: Agreement
    """AC1, alpha and kappa of verdicts that are equal or not; weighted kappa with linear weights."""
    ordinal: Agreement
    """Alpha of ordered verdicts; weighted kappa with quadratic weights."""
    judgeability: Agreement | None
    """Whether people agree on what can be judged; `None` where everything can."""
    metric: MetricAgainstPeople | None
    """`None` where no pair has two scores and a verdict."""


Scores: TypeAlias = Callable[[str, str], float | None]
"""The score of a metric for a dimension and a video, or `None`."""


def pair_report(
    dimension: str,
    pairs: Sequence[JudgedPair],
    scores: Scores | None = None,
    *,
    tie_threshold: float | None = None,
    draws: int = DRAWS,
    shuffles: int = SHUFFLES,
) -> PairReport:
    """Agreement of people, and of a metric with people.

    Without a threshold of ties it is chosen on half of the scenes, and the figures are of the others.
    """
    raters = sorted({rater for pair in pairs for rater in pair.verdicts})
    scenes = [pair.scene for pair in pairs]
    weights = scene_weights(len(set(scenes)), draws=draws, seed=SEED)
    said = [[None if (found := pair.verdicts.get(rater)) is None else f"{found}" for rater in raters] for pair in pairs]
    ratings = encode_ratings(said, ("-1", "0", "1"), scenes)
    can = [[_yes_no(pair, rater) for rater in raters] for pair in pairs]
    differences = {
        pair.id: both[0] - both[1] for pair in pairs if (both := _scores(dimension, pair, scores)) is not None
    }
    return PairReport(
        dimension=dimension,
        pairs=len(pairs),
        verdicts=sum(len(pair.verdicts) for pair in pairs),
        nominal=agreement(ratings, seed=SEED, credit="linear", weights=weights, shuffles=shuffles),
        ordinal=agreement(ratings, seed=SEED, scale="ordinal", credit="quadratic", weights=weights, shuffles=shuffles),
        judgeability=agreement(
            encode_ratings(can, ("no", "yes"), scenes), seed=SEED, weights=weights, shuffles=shuffles
        )
        if any("no" in row for row in can)
        else None,
        metric=_against_people(pairs, differences, tie_threshold, draws),
    )


def _yes_no(pair: JudgedPair, rater: str) -> str | None:
    if rater not in pair.verdicts:
        return None
    return "no" if pair.verdicts[rater] is None else "yes"


def _scores(dimension: str, pair: JudgedPair, scores: Scores | None) -> tuple[float, float] | None:
    if scores is None:
        return pair.scores
    left, right = scores(dimension, pair.left), scores(dimension, pair.right)
    return None if left is None or right is None else (left, right)


Decided: TypeAlias = Sequence[tuple[JudgedPair, int]]
"""Pairs with what most raters say."""


def _against_people(
    pairs: Sequence[JudgedPair], differences: Mapping[str, float], tie_threshold: float | None, draws: int
) -> MetricAgainstPeople | None:
    decided = [(pair, verdict) for pair in pairs if (verdict := pair.verdict) is not None and pair.id in differences]
    if not decided:
        return None
    held_out = _held_out_scenes(decided) if tie_threshold is None else set()
    known = [(pair, verdict) for pair, verdict in decided if pair.scene not in held_out]
    if tie_threshold is None:
        chosen = [(differences[pair.id], verdict) for pair, verdict in decided if pair.scene in held_out]
        tie_threshold = choose_tie_threshold(*(np.array(column) for column in zip(*chosen, strict=True)))
    scenes = [pair.scene for pair, _ in known]
    values, verdicts = np.array([differences[pair.id] for pair, _ in known]), np.array([found for _, found in known])
    predicted = predicted_verdicts(values, tie_threshold)
    weights = scene_weights(len(set(scenes)), draws=draws, seed=SEED)
    both = encode_ratings(
        [[f"{y}", f"{p}"] for y, p in zip(verdicts, predicted, strict=True)], ("-1", "0", "1"), scenes
    )
    decisions = agreement(both, seed=SEED, credit="linear", weights=weights, shuffles=0)
    has_scores = np.array([pair.id in differences for pair in pairs])
    can = np.array([pair.verdict is not None for pair in pairs])
    return MetricAgainstPeople(
        accuracy=pair_accuracy(values, verdicts, scenes, tie_threshold=tie_threshold, weights=weights),
        held_out=len(decided) - len(known),
        strict_accuracy=_share(predicted == verdicts, verdicts != 0, scenes),
        tie_accuracy=_share(predicted == verdicts, verdicts == 0, scenes),
        kappa=decisions.kappa,
        weighted_kappa=decisions.weighted_kappa,
        test=sign_flip(_scene_sums(values * verdicts, scenes), seed=SEED),
        ceiling=_ceiling([pair for pair, _ in known]),
        max_spearman=_max_spearman(verdicts),
        models=_over_models(known, differences),
        judgeable=_share(has_scores, can, [pair.scene for pair in pairs]),
        not_judgeable=_share(~has_scores, ~can, [pair.scene for pair in pairs]),
    )


def _held_out_scenes(decided: Decided) -> set[str]:
    """Half of the scenes, in an order that no result can have influenced."""
    scenes = {pair.scene for pair, _ in decided}
    if len(scenes) < 2:
        raise UserError(
            f"All pairs are of the scene {min(scenes)!r}, so no tie region can be chosen on others. Give one with "
            "--tie-threshold."
        )
    ordered = sorted(scenes, key=lambda scene: hashlib.sha256(scene.encode()).hexdigest())
    return set(ordered[: int(len(ordered) * HELD_OUT_SHARE)])


def _share(hits: NDArray[np.bool_], counted: NDArray[np.bool_], scenes: Sequence[str]) -> Estimate | None:
    return clustered_share(hits[counted], np.asarray(scenes, np.str_)[counted].tolist())


def _scene_sums(values: Floats, scenes: Sequence[str]) -> Floats:
    _, place = np.unique(np.asarray(scenes, np.str_), return_inverse=True)
    return np.bincount(place, weights=values).astype(np.float64, copy=False)


def _ceiling(pairs: Sequence[JudgedPair]) -> float | None:
    own, others, scenes = [], [], []
    for pair in pairs:
        judged = {rater: verdict for rater, verdict in pair.verdicts.items() if verdict is not None}
        for rater, verdict in judged.items():
            if rest := [found for other, found in judged.items() if other != rater]:
                own.append(float(verdict))
                others.append(majority(rest))
                scenes.append(pair.scene)
    return _spearman(np.array(own), np.array(others, np.int64), scenes)


def _max_spearman(verdicts: Indices) -> float | None:
    places = np.empty(len(verdicts))
    places[np.argsort(verdicts, kind="stable")] = np.arange(len(verdicts))
    return _spearman(places, verdicts, [""] * len(verdicts))


def _spearman(values: Floats, verdicts: Indices, scenes: Sequence[str]) -> float | None:
    found = pair_accuracy(values, verdicts, scenes, tie_threshold=0.0).spearman
    return None if found is None else found.mean


def _over_models(known: Decided, differences: Mapping[str, float]) -> RankCorrelation | None:
    """Ids of videos begin with their model, as those of rollouts do."""
    sums: dict[str, list[tuple[float, int]]] = {}
    for pair, verdict in known:
        for side, video in ((1, pair.left), (-1, pair.right)):
            sums.setdefault(video.partition("/")[0], []).append((side * differences[pair.id], side * verdict))
    if len(sums) < 3 or any("/" not in video for pair, _ in known for video in (pair.left, pair.right)):
        return None
    metric, people = np.array([np.mean(found, axis=0) for found in sums.values()]).T
    return rank_correlation(metric, people, seed=SEED)


def print_pair_reports(reports: Sequence[PairReport], *, as_json: bool) -> None:
    """Agreement of people, then metrics against people; one line for each dimension."""
    if as_json:
        print_json([asdict(report) for report in reports])
        return
    coefficients = [
        {
            "dimension": report.dimension,
            "pairs": f"{report.pairs}",
            "verdicts": f"{report.verdicts}",
            "AC1": _coefficient(report.nominal.ac1),
            "95 %": estimate_interval(report.nominal.ac1.estimate if report.nominal.ac1 else None),
            "kappa": _coefficient(report.nominal.kappa),
            "linear": _coefficient(report.nominal.weighted_kappa),
            "quadratic": _coefficient(report.ordinal.weighted_kappa),
            "alpha": _coefficient(report.nominal.alpha),
            "ordinal alpha": _coefficient(report.ordinal.alpha),
        }
        for report in reports
    ]
    right = ("pairs", "verdicts", "AC1", "kappa", "linear", "quadratic", "alpha", "ordinal alpha")
    print_rows(coefficients, as_json=False, right=right)
    metrics = [(report.dimension, report.metric) for report in reports if report.metric is not None]
    if not metrics:
        print_lines(["No pair has scores of a metric: name a run with --run, or columns of scores."])
        return
    print_lines([""])
    print_rows([_metric_line(dimension, metric) for dimension, metric in metrics], as_json=False, right=METRIC_COLUMNS)
    print_lines(["Kappas need exactly two raters. A tie region that is not given is chosen on scenes held out."])


METRIC_COLUMNS: Final = (
    *("pairs", "held out", "tie region", "reversals", "exact", "strict", "tie", "kappa", "weighted", "Spearman", "p"),
    *("ceiling", "highest", "over models", "p over models"),
)


def _coefficient(found: Coefficient | None) -> str:
    return fixed(found.estimate.mean if found else None)


def _metric_line(dimension: str, metric: MetricAgainstPeople) -> dict[str, str]:
    accuracy, models = metric.accuracy, metric.models.spearman if metric.models else None
    mean = {
        name: fixed(found.mean if found else None)
        for name, found in (
            ("exact", accuracy.accuracy),
            ("strict", metric.strict_accuracy),
            ("tie", metric.tie_accuracy),
            ("Spearman", accuracy.spearman),
        )
    }
    return {
        "dimension": dimension,
        "pairs": f"{accuracy.pairs}",
        "held out": f"{metric.held_out}",
        "tie region": fixed(accuracy.tie_threshold),
        "reversals": f"{accuracy.reversals}",
        **{name: mean[name] for name in ("exact", "strict", "tie")},
        "kappa": _coefficient(metric.kappa),
        "weighted": _coefficient(metric.weighted_kappa),
        "Spearman": mean["Spearman"],
        "95 %": estimate_interval(accuracy.spearman),
        "p": probability(metric.test.p),
        "ceiling": fixed(metric.ceiling),
        "highest": fixed(metric.max_spearman),
        "over models": fixed(models.value if models else None),
        "p over models": probability(models.p if models else None),
    }
