"""Whether a change of the source moves a number: two checkouts measure the same clips, and everything must be equal.

    python -m benchmarks.same_numbers collect CHECKOUT --python PYTHON -o FOLDER [--datasets FOLDER] [--renamed OLD=NEW]
    python -m benchmarks.same_numbers compare BEFORE AFTER [--renamed OLD=NEW]

`collect` runs the demo and evaluates small exports of the simulated world in the layouts of MBench-A, MBench-T and
MIND, with the code of CHECKOUT and the interpreter that has it installed: with features from the ground truth, without
networks, and with the networks that packages carry; the oracle is the judge. The first checkout writes the datasets,
and the next one is given the same folder. Each renders and exports its own as well, of which hashes are compared.

`compare` exits with 0 where every outcome (value, raw value, detail, or reason), every unit, every cell of a table and
every rendered clip is equal, bit by bit, and with 1 where any is not. Texts of messages, locks and keys of replies
may differ. A name that was changed on purpose is given with --renamed: of a metric, a unit, a reason, or a key or text
of a detail; in `collect`, of an extractor or an option of the commands.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = "numbers.json"
MIN_SCORES = 400
"""Fewer, and most metrics were not measured, so that equality says little."""
SHOWN = 20
ABSENT = "absent"

Key = tuple[str, ...]
Values = dict[Key, object]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is compared, and where the two sides differ."""

    counts: Counter[str]
    differences: tuple[str, ...]
    unscored: tuple[str, ...]
    """Metrics that have outcomes, but no score at all."""

    def text(self) -> str:
        """One line about what was compared."""
        count = self.counts
        verdict = f"{len(self.differences)} differences" if self.differences else "equal"
        return (
            f"{count['rows']} rows ({count['score']} scores, {count['abstention']} abstentions, "
            f"{count['failure']} failures), {count['units']} units, {count['estimates']} estimates in "
            f"{count['cells']} cells, {count['further']} further numbers, {count['files']} files: {verdict}"
        )


def compare(before: Mapping[str, Any], after: Mapping[str, Any], renamed: Mapping[str, str]) -> Comparison:
    """Compare all of it; names of `before` are changed first."""
    old, new = _values(_rename(before, renamed)), _values(after)
    keys = [*old, *(key for key in new if key not in old)]
    differences = [
        f"{' '.join(key)}: {_shown(old, key)} before, {_shown(new, key)} after"
        for key in keys
        if key not in old or key not in new or not _is_same(old[key], new[key])
    ]
    return Comparison(_counts(after), tuple(differences), tuple(sorted(_unscored(after))))


def _rename(value: Any, names: Mapping[str, str]) -> Any:
    """Names as keys and as whole texts; what is part of a longer text stays."""
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, list):
        return [_rename(entry, names) for entry in value]
    if isinstance(value, dict):
        return {names.get(key, key): _rename(entry, names) for key, entry in value.items()}
    return value


def _values(numbers: Mapping[str, Any]) -> Values:
    """Everything that must be equal, each with the name of what it is."""
    found: Values = {("file", path): digest for path, digest in numbers["files"].items()}
    for name, run in numbers["runs"].items():
        for row in run["rows"]:
            key = (name, row["rollout"], row["metric"], row["unit"] or "")
            if key in found:
                raise ValueError(f"{' '.join(key)} is there twice: collect into an empty folder.")
            figures = {column: row[column] for column in ("status", "reason", "value", "raw")}
            found[key] = {**figures, "detail": _without_keys_of_replies(row["detail"])}
        for cell in run["cells"]:
            found[name, "table", cell["model"], cell["metric"], cell["subset"]] = cell
        for title, document in run["further"].items():
            found |= {(name, title, *path): figure for path, figure in _figures(document)}
    return found


def _without_keys_of_replies(value: Any) -> Any:
    """They hash a request with the names of its fields, as a lock does, and are not compared either."""
    if isinstance(value, dict):
        return {key: _without_keys_of_replies(entry) for key, entry in value.items() if key != "replies"}
    return [_without_keys_of_replies(entry) for entry in value] if isinstance(value, list) else value


def _figures(value: object, path: Key = ()) -> Iterator[tuple[Key, object]]:
    """All numbers and hashes of a document, each with its path; other texts are wording."""
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, entry in pairs:
            if key != "lock_sha256":
                yield from _figures(entry, (*path, str(key)))
    elif not isinstance(value, str) or _is_hash(value):
        yield path, value


def _is_hash(text: str) -> bool:
    return len(text) == 64 and set(text) <= set("0123456789abcdef")


def _is_same(before: object, after: object) -> bool:
    """Whether both are written alike, which tells 1 from True, and 0.0 from -0.0."""
    return _text(before) == _text(after)


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def _shown(values: Values, key: Key) -> str:
    return _text(values[key]) if key in values else ABSENT


def _counts(numbers: Mapping[str, Any]) -> Counter[str]:
    counts = Counter(files=len(numbers["files"]))
    for run in numbers["runs"].values():
        whole = [row for row in run["rows"] if row["unit"] is None]
        counts += Counter(row["status"] for row in whole)
        estimates = [found for cell in run["cells"] for found in _estimates(cell)]
        further = sum(1 for document in run["further"].values() for _ in _figures(document))
        counts += Counter(
            rows=len(whole), units=len(run["rows"]) - len(whole), cells=len(run["cells"]),
            estimates=len(estimates), further=further,
        )  # fmt: skip
    return counts


def _estimates(value: object) -> Iterator[object]:
    """What has a mean and the ends of its interval, wherever it is in a cell."""
    if isinstance(value, dict):
        if {"mean", "low", "high"} <= value.keys():
            yield value
        for entry in value.values():
            yield from _estimates(entry)


def _unscored(numbers: Mapping[str, Any]) -> set[str]:
    rows = [row for run in numbers["runs"].values() for row in run["rows"] if row["unit"] is None]
    return {row["metric"] for row in rows} - {row["metric"] for row in rows if row["status"] == "score"}


def _report(found: Comparison, min_scores: int) -> int:
    """Print what was found; returns the exit code."""
    for difference in found.differences[:SHOWN]:
        print(difference)
    if len(found.differences) > SHOWN:
        print(f"... and {len(found.differences) - SHOWN} more")
    if found.unscored:
        print(f"without any score: {', '.join(found.unscored)}")
    print(found.text())
    if found.counts["score"] < min_scores:
        print(f"Refused: {found.counts['score']} scores are too few to say anything; expected at least {min_scores}.")
        return 1
    return 1 if found.differences else 0


def _collect(options: argparse.Namespace, renamed: Mapping[str, str]) -> int:
    from benchmarks.number_collection import Checkout, collect

    output: Path = options.output.absolute()
    if output.exists() and any(output.iterdir()):
        sys.exit(f"{output} is not empty, and what is there would not be measured again: name another folder.")
    output.mkdir(parents=True, exist_ok=True)
    datasets = options.datasets.absolute() if options.datasets else output / "datasets"
    # A link that is followed would lead out of the environment, to an interpreter that knows nothing of it.
    checkout = Checkout(options.checkout.absolute(), options.python.absolute(), renamed)
    numbers = collect(checkout, output, datasets)
    (output / FILE).write_text(json.dumps(numbers))
    print(Comparison(_counts(numbers), (), ()).text().removesuffix(": equal"))
    return 0


def _compare(options: argparse.Namespace, renamed: Mapping[str, str]) -> int:
    before, after = (json.loads((folder / FILE).read_text()) for folder in (options.before, options.after))
    return _report(compare(before, after, renamed), options.min_scores)


def _renaming(text: str) -> tuple[str, str]:
    old, sign, new = text.partition("=")
    if not (old and sign and new):
        raise argparse.ArgumentTypeError(f"expected OLD=NEW, found {text!r}")
    return old, new


def main(arguments: Sequence[str] | None = None) -> int:
    """Collect or compare; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    collecting = commands.add_parser("collect", help="measure with the code of one checkout")
    collecting.set_defaults(run=_collect)
    collecting.add_argument("checkout", type=Path)
    collecting.add_argument("--python", type=Path, default=Path(sys.executable), help="that has the checkout installed")
    collecting.add_argument("-o", "--output", type=Path, required=True, help="an empty folder")
    collecting.add_argument("--datasets", type=Path, help="made by the first checkout, used by the next")
    comparing = commands.add_parser("compare", help="compare two folders of `collect`")
    comparing.set_defaults(run=_compare)
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.add_argument("--min-scores", type=int, default=MIN_SCORES, help="refuse to compare fewer than these")
    for command in (collecting, comparing):
        command.add_argument("--renamed", type=_renaming, action="append", default=[], metavar="OLD=NEW")
    options = parser.parse_args(arguments)
    code: int = options.run(options, dict(options.renamed))
    return code


if __name__ == "__main__":
    sys.exit(main())
