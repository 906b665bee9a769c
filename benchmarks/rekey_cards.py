"""Gives shipped cards and their scores the hashes that their metrics have now, where descriptions changed, no number.

    python -m benchmarks.rekey_cards describe -o ways.json                       in the checkout before, with its source
    python -m benchmarks.rekey_cards rekey ways.json [--names NAMES.json] [--cards FILE] [--scores FILE]

`describe` binds every metric of every suite in all ways in which cards are made: with its own extractors, with tracked
poses, with the ground truth, with random networks, and with the oracle as judge; the table has the hashes of each.
`rekey` does the same in this checkout and compares by suite, public name and way. NAMES is a JSON mapping from old to
new public names. It is an error, and nothing is written, where a card has a hash that no way gives, or one that is
known under no name any more.

Only for changes that move no number: what `benchmarks.same_numbers` finds equal.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.random_networks import random_weights
from lookaway.calibration.card import TRUE_EXTRACTORS, MetricCard, bound_chain, bound_protocol
from lookaway.core import BoundMetric, JudgeModel, UserError, canonical_json, plugins
from lookaway.engine.binding import Overrides, feature_names

REPOSITORY = Path(__file__).parents[1]
CARDS = REPOSITORY / "src" / "lookaway" / "calibration" / "shipped" / "cards.json.gz"
SCORES = REPOSITORY / "benchmarks" / "cards" / "scores.parquet"
SUITES = ("folder", "mbench-a", "mbench-t", "memobench", "mind", "revisit", "wrbench")
SETTINGS: tuple[Mapping[str, Any], ...] = ({}, {"has_question_banks": True})
GIVEN = {name: TRUE_EXTRACTORS[name] for name in ("reference_poses", "requested_poses")}
TRUTH = {name: kind for name, kind in TRUE_EXTRACTORS.items() if name not in GIVEN}
USED: tuple[Mapping[str, str], ...] = ({}, {"poses": "tracked_poses"}, TRUTH)
JUDGES = (None, "oracle")

Hashes = dict[str, tuple[str, str]]
"""Of the chain and of the protocol, by way: suite, settings, extractors, judge, own name and public name."""


def hashes() -> Hashes:
    """Those of all metrics, in all ways; with random networks, too, which metrics are tried with on a frozen video."""
    with tempfile.TemporaryDirectory() as folder, random_weights(Path(folder)):
        found = {f"random {way}": each for way, each in _hashes().items()}
    return {**_hashes(), **found}


def _hashes() -> Hashes:
    found: Hashes = {}
    for suite, (number, settings) in itertools.product(SUITES, enumerate(SETTINGS)):
        for bound in plugins.load("suites", suite)().metrics(settings):
            for way, made in _ways(bound):
                place = "|".join([suite, str(number), way, bound.metric.name, bound.name])
                found[place] = (bound_chain(made)[1], bound_protocol(made))
    return found


def _ways(bound: BoundMetric) -> Iterator[tuple[str, BoundMetric]]:
    known = set(feature_names(bound.recipes))
    for used, given, judge in itertools.product(USED, ({}, GIVEN), JUDGES):
        using = {name: plugins.load("extractors", kind) for name, kind in {**used, **given}.items() if name in known}
        overrides = Overrides(using=using, judge=None if judge is None else JudgeModel(model=judge, reported=judge))
        try:
            (made,) = overrides.apply((bound,))
        except (UserError, TypeError):  # an extractor that cannot stand in for this one
            continue
        yield f"{USED.index(used)}{len(given)}{judge or ''}", made


@dataclass(frozen=True, slots=True)
class Renewed:
    """What a metric is called and hashed now."""

    metric: str
    chain: str
    protocol: str


def renewals(
    before: Mapping[str, list[str]], after: Hashes, names: Mapping[str, str]
) -> dict[tuple[str, str], Renewed]:
    """By old public name and old hash of the chain; an error where two ways disagree."""
    found: dict[tuple[str, str], Renewed] = {}
    for place, (chain, _) in before.items():
        way, _, name = place.rpartition("|")
        if f"{way}|{(new_name := names.get(name, name))}" not in after:
            continue
        now = after[f"{way}|{new_name}"]
        renewed = Renewed(new_name, *now)
        if found.setdefault((name, chain), renewed) != renewed:
            raise SystemExit(f"{name} with the chain {chain} is now two metrics: {found[name, chain]} and {renewed}.")
        own = way.rpartition("|")[2]  # a metric that was asked for by its own name has a card under that
        found.setdefault((own, chain), Renewed(own, *now))
    return found


def rekey(cards: Path, scores: Path, table: Mapping[tuple[str, str], Renewed]) -> str:
    """Write both files anew, or neither; says how much of them changed."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    content = json.loads(gzip.decompress(cards.read_bytes()))
    entries: list[dict[str, Any]] = []
    unknown, changed = set[tuple[str, str]](), 0
    for entry in content["cards"]:
        card = entry["card"]
        key = (card["metric"], card["chain_sha256"])
        if (now := table.get(key)) is None:
            unknown.add(key)
            continue
        hashed = {"metric": now.metric, "chain_sha256": now.chain, "protocol_sha256": now.protocol}
        changed += any(card[name] != value for name, value in hashed.items())
        renewed = MetricCard.model_validate({**card, **hashed})
        entries.append({"sha256": renewed.sha256, "card": renewed.model_dump(mode="json")})
    if unknown:
        raise SystemExit("No way to bind these gives the hash of their card:\n" + "\n".join(map(str, sorted(unknown))))
    entries.sort(key=lambda entry: _order(entry["card"]))
    rows = pq.read_table(scores)
    keys = list(zip(rows["metric"].to_pylist(), rows["chain_sha256"].to_pylist(), strict=True))
    new = [table.get(key, Renewed(key[0], key[1], "")) for key in keys]  # scores without a card stay as they are
    left = {key for key in keys if key not in table}
    for name, values in (("metric", [n.metric for n in new]), ("chain_sha256", [n.chain for n in new])):
        place = rows.schema.get_field_index(name)
        field = rows.schema.field(name)
        rows = rows.set_column(place, field, pa.array(values, pa.string()).cast(field.type))
    cards.write_bytes(gzip.compress(canonical_json({**content, "cards": entries}).encode(), mtime=0))
    pq.write_table(rows, scores, compression="zstd")
    return (
        f"{changed} of {len(entries)} cards have another hash or name; {rows.num_rows} scores, of which those of "
        f"{len(left)} metrics that no way gives stay as they are"
    )


def _order(card: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(card[name] for name in ("metric", "height", "width", "fps", "features", "look"))


def main() -> None:
    """Describe this checkout, or rekey its cards."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    describe = commands.add_parser("describe")
    describe.add_argument("-o", "--output", type=Path, required=True)
    renew = commands.add_parser("rekey")
    renew.add_argument("before", type=Path)
    renew.add_argument("--names", type=Path)
    renew.add_argument("--cards", type=Path, default=CARDS)
    renew.add_argument("--scores", type=Path, default=SCORES)
    arguments = parser.parse_args()
    if arguments.command == "describe":
        arguments.output.write_text(json.dumps(hashes(), indent=1))
        return
    names = json.loads(arguments.names.read_text()) if arguments.names else {}
    table = renewals(json.loads(arguments.before.read_text()), hashes(), names)
    sys.stdout.write(rekey(arguments.cards, arguments.scores, table) + "\n")


if __name__ == "__main__":
    main()
