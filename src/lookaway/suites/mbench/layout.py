"""The files of an MBench dataset: `dataset.yaml`, `samples/`, `models/*/samples.jsonl`."""

from __future__ import annotations

import difflib
import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from lookaway.core import Case, Dataset, DatasetError, Rollout, Unmeasurable
from lookaway.io.dataset_files import DatasetTree, checked, decoded, type_of
from lookaway.io.limits import MAX_YAML_BYTES
from lookaway.io.safe_yaml import parse_yaml
from lookaway.suites.mbench.metadata import malformed, prompt_of, scene_of, target_of
from lookaway.suites.mbench.records import DatasetCard, SampleCard, SampleLine

SUBSETS: Final = ("environment", "human", "object", "causal")
POSE_ARTIFACT: Final = "da3"
CARD: Final = "dataset.yaml"


def has_records(root: Path) -> bool:
    """Whether a dataset.yaml lies beside records of models, as in no other layout."""
    return os.path.lexists(root / CARD) and next(root.glob("models/*/samples.jsonl"), None) is not None


def read_card(tree: DatasetTree) -> DatasetCard:
    """`dataset.yaml`, checked."""
    where = str(tree.root / CARD)
    if not os.path.lexists(where):
        raise DatasetError(f"{tree.root}: there is no {CARD}; an MBench dataset has one at its root.")
    content = parse_yaml(decoded(tree.read(CARD, MAX_YAML_BYTES), where), where)
    if not isinstance(content, dict):
        raise DatasetError(f"{where}: expected keys such as dataset_id, found {type_of(content)}.")
    card = checked(DatasetCard, content, where)
    try:
        f"{card.version}{card.dataset_name}".encode()  # an escape can stand for half a character
    except UnicodeEncodeError as error:
        raise DatasetError(f"{where}: a text is not valid Unicode.") from error
    return card


@dataclass(frozen=True, slots=True)
class LayoutReader:
    """Reads one dataset; records that cannot become a rollout are listed as problems."""

    tree: DatasetTree
    card: DatasetCard
    missing_fields: Counter[tuple[str, str]] = field(default_factory=Counter)
    cards: dict[tuple[str, str], SampleCard] = field(default_factory=dict)

    @property
    def root(self) -> Path:
        """The folder of the dataset."""
        return self.tree.root

    def read(self, suite: str) -> Dataset:
        """All rollouts of all models."""
        models = self.root / "models"
        folders = sorted(folder for folder in models.iterdir() if folder.is_dir()) if models.is_dir() else []
        if not folders:
            raise DatasetError(f"{self.root}: no models found; expected folders like models/<model>/samples.jsonl.")
        rollouts = tuple(rollout for folder in folders for rollout in self._model(folder))
        for (subset, name), count in sorted(self.missing_fields.items()):
            total = sum(rollout.case.subset == subset for rollout in rollouts)
            self.tree.report(f"subset {subset}", f"{name} is missing in {count} of {total} records")
        version = None if self.card.version is None else str(self.card.version)
        convention = self.card.extrinsics_convention
        return Dataset(
            suite=suite,
            root=self.root,
            rollouts=rollouts,
            identity={"dataset_id": self.card.dataset_id, "name": self.card.dataset_name, "version": version},
            settings={} if convention is None else {"extrinsics_convention": convention},
            problems=tuple(self.tree.problems),
        )

    def _model(self, folder: Path) -> Iterator[Rollout]:
        listing = f"models/{folder.name}/samples.jsonl"
        if not os.path.lexists(self.root / listing):
            self.tree.report(f"models/{folder.name}", "there is no samples.jsonl")
            return
        seen: set[tuple[str, str]] = set()
        for where, line in self._lines(listing):
            if contradiction := self._contradiction(line, folder.name):
                self.tree.report(where, contradiction)
                continue
            metadata, annotations = self._known(line)
            rollout = self._rollout(line, folder, metadata, annotations)
            if (rollout.case.id, rollout.seed) in seen:
                self.tree.report(where, f"{rollout.case.id} with seed {rollout.seed} is listed twice; left out")
                continue
            seen.add((rollout.case.id, rollout.seed))
            self._check_form(where, line.metadata)
            self._check_required(rollout.case, metadata, annotations)
            yield rollout

    def _lines(self, listing: str) -> Iterator[tuple[str, SampleLine]]:
        """The valid lines of one model; none if the file cannot be read."""
        try:
            yield from self.tree.records(listing, SampleLine)
        except DatasetError as error:
            self.tree.report(listing, str(error).removeprefix(f"{self.root / listing}: "))

    def _contradiction(self, line: SampleLine, model: str) -> str | None:
        item_id = f"{line.subset}:{line.sample_id}:{line.condition_id}"
        expected = (
            ("item_id", line.item_id, item_id, "subset, sample_id and condition_id joined by colons"),
            ("model_id", line.model_id, model, f"the name of its folder, {model!r}"),
            ("dataset_id", line.dataset_id, self.card.dataset_id, f"{self.card.dataset_id!r}, as in {CARD}"),
        )
        for name, found, wanted, words in expected:
            if found is not None and found != wanted:
                return f"{name} is another text than {words}"
        if line.subset not in SUBSETS and line.subset not in self.card.subsets:
            close = difflib.get_close_matches(line.subset, SUBSETS, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(SUBSETS)}, and those in {CARD}"
            return f"subset is the name of no subset; {hint}"
        return None

    def _known(self, line: SampleLine) -> tuple[dict[str, Any], dict[str, Any]]:
        """Metadata and annotations of the sample, overridden by those of the line."""
        key = (line.subset, line.sample_id)
        if key not in self.cards:
            self.cards[key] = self._read_sample_card(*key)
        card = self.cards[key]
        return {**card.metadata, **line.metadata}, {**card.annotations, **line.annotations}

    def _rollout(
        self, line: SampleLine, folder: Path, metadata: dict[str, Any], annotations: dict[str, Any]
    ) -> Rollout:
        case = Case(
            id=f"{line.subset}:{line.sample_id}:{line.condition_id}",
            subset=line.subset,
            scene=f"{line.subset}:{scene_of(metadata, line.sample_id)}",
            prompt=prompt_of(metadata),
            action=_action(annotations, line.condition_id, self.card.dataset_id),
            target=target_of(metadata),
        )
        generated = next((v for v in line.media.videos if v.role == "generated"), line.media.videos[0])
        try:
            video = self._file(folder, generated.path)
            artifacts = {
                "poses" if name == POSE_ARTIFACT else name: self._file(folder, artifact.path)
                for name, artifact in line.artifacts.items()
            }
            problem = None
        except Unmeasurable as error:
            video, artifacts, problem = self.root / "refused", {}, error
        return Rollout(
            case=case,
            model=folder.name,
            seed=str(metadata.get("seed", "0")),
            video=video,
            artifacts=artifacts,
            problem=problem,
        )

    def _file(self, folder: Path, named: str) -> Path:
        """Paths are relative to the model's folder, in some datasets to the root."""
        path = self.tree.path(named, base=folder)
        if path.exists() or not (self.root / named).exists():
            return path
        return self.tree.path(named)

    def _read_sample_card(self, subset: str, sample_id: str) -> SampleCard:
        where = f"samples/{subset}/{sample_id}/sample.json"
        path = str(self.root / where)
        if not os.path.lexists(path):
            return SampleCard()
        try:
            card = checked(SampleCard, self.tree.json(where), path)
        except DatasetError as error:
            self.tree.report(where, str(error).removeprefix(f"{path}: ").removesuffix("."))
            return SampleCard()
        self._check_form(where, card.metadata)
        return card

    def _check_form(self, where: str, metadata: dict[str, Any]) -> None:
        for message in malformed(metadata).values():
            self.tree.report(where, message)

    def _check_required(self, case: Case, metadata: dict[str, Any], annotations: dict[str, Any]) -> None:
        """Count missing fields; malformed ones are problems of their own."""
        is_text = self.card.dataset_id == "mbencht"
        if case.subset == "object":
            name = "object_card" if is_text else "object_anchor"
            is_missing = case.target is None or (case.target.name if is_text else case.target.box) is None
        elif case.subset == "causal" and is_text:
            name, is_missing = "caption_segments", len(case.prompt) < 2
        elif case.subset == "causal" and not ("action" in annotations or case.prompt):
            self.missing_fields["causal", "annotations.action or metadata.caption"] += 1
            return
        else:
            return
        if is_missing and name not in malformed(metadata):
            self.missing_fields[case.subset, f"metadata.{name}"] += 1


def _action(annotations: dict[str, Any], condition_id: str, dataset_id: str) -> str | None:
    action = annotations.get("action")
    if isinstance(action, str):
        return action
    if dataset_id == "mbencht":
        return None
    return re.sub(r"_\d+s$", "", condition_id)
