"""The files of an MBench dataset: `dataset.yaml`, `samples/`, `models/*/samples.jsonl`."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import ValidationError

from lookaway.core import Case, Dataset, DatasetError, Problem, Rollout, Unmeasurable
from lookaway.io.files import inside, parse_json, read_json
from lookaway.suites.mbench.metadata import malformed, prompt_of, scene_of, target_of
from lookaway.suites.mbench.records import DatasetCard, SampleCard, SampleLine, first_error

SUBSETS: Final = ("environment", "human", "object", "causal")
POSE_ARTIFACT: Final = "da3"


def read_card(root: Path) -> DatasetCard:
    """`dataset.yaml`, checked."""
    path = root / "dataset.yaml"
    if not path.is_file():
        raise DatasetError(f"{root}: there is no dataset.yaml; an MBench dataset has one at its root.")
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, ValueError, OSError, RecursionError) as error:
        raise DatasetError(f"{path}: not readable as YAML: {error}") from error
    if not isinstance(content, dict):
        raise DatasetError(f"{path}: expected keys such as dataset_id, found {type(content).__name__}.")
    try:
        card = DatasetCard.model_validate(content)
        f"{card.version}{card.dataset_name}".encode()  # an escape can stand for half a character
    except ValidationError as error:
        raise DatasetError(f"{path}: {first_error(error)}.") from error
    except UnicodeEncodeError as error:
        raise DatasetError(f"{path}: contains invalid Unicode: {error}.") from error
    return card


@dataclass(frozen=True, slots=True)
class LayoutReader:
    """Reads one dataset; records that cannot become a rollout are listed as problems."""

    root: Path
    card: DatasetCard
    allow_outside: bool = False
    problems: list[Problem] = field(default_factory=list)
    missing_fields: Counter[tuple[str, str]] = field(default_factory=Counter)
    cards: dict[tuple[str, str], SampleCard] = field(default_factory=dict)

    def read(self, suite: str) -> Dataset:
        """All rollouts of all models."""
        models = self.root / "models"
        folders = sorted(folder for folder in models.iterdir() if folder.is_dir()) if models.is_dir() else []
        if not folders:
            raise DatasetError(f"{self.root}: no models found; expected folders like models/<model>/samples.jsonl.")
        rollouts = tuple(rollout for folder in folders for rollout in self._model(folder))
        for (subset, name), count in sorted(self.missing_fields.items()):
            total = sum(rollout.case.subset == subset for rollout in rollouts)
            message = f"{name} is missing in {count} of {total} records"
            self.problems.append(Problem(where=f"subset {subset}", message=message))
        version = None if self.card.version is None else str(self.card.version)
        convention = self.card.extrinsics_convention
        return Dataset(
            suite=suite,
            root=self.root,
            rollouts=rollouts,
            identity={"dataset_id": self.card.dataset_id, "name": self.card.dataset_name, "version": version},
            settings={} if convention is None else {"extrinsics_convention": convention},
            problems=tuple(self.problems),
        )

    def _model(self, folder: Path) -> Iterator[Rollout]:
        path = folder / "samples.jsonl"
        if not path.is_file():
            self._problem(f"models/{folder.name}", "there is no samples.jsonl")
            return
        seen: set[tuple[str, str]] = set()
        for number, text in enumerate(path.read_bytes().splitlines(), start=1):
            if not text.strip():
                continue
            where = f"{path.relative_to(self.root)}:{number}"
            line = self._line(text, where, folder.name)
            if line is None:
                continue
            metadata, annotations = self._known(line)
            rollout = self._rollout(line, folder, metadata, annotations)
            if (rollout.case.id, rollout.seed) in seen:
                self._problem(where, f"{rollout.case.id} with seed {rollout.seed} is listed twice; left out")
                continue
            seen.add((rollout.case.id, rollout.seed))
            self._check_form(where, line.metadata)
            self._check_required(rollout.case, metadata, annotations)
            yield rollout

    def _line(self, text: bytes, where: str, model: str) -> SampleLine | None:
        try:
            line = SampleLine.model_validate(parse_json(text, where))
        except DatasetError as error:
            self.problems.append(Problem(where=where, message=str(error).removeprefix(f"{where}: ")))
            return None
        except ValidationError as error:
            self._problem(where, first_error(error))
            return None
        contradiction = self._contradiction(line, model)
        if contradiction:
            self._problem(where, contradiction)
            return None
        return line

    def _contradiction(self, line: SampleLine, model: str) -> str | None:
        item_id = f"{line.subset}:{line.sample_id}:{line.condition_id}"
        subsets = [*SUBSETS, *(name for name in self.card.subsets if name not in SUBSETS)]
        expected = (
            ("item_id", line.item_id, item_id),
            ("model_id", line.model_id, model),
            ("dataset_id", line.dataset_id, self.card.dataset_id),
        )
        for name, found, wanted in expected:
            if found is not None and found != wanted:
                return f"{name} is {found!r}, expected {wanted!r}"
        if line.subset not in subsets:
            close = difflib.get_close_matches(line.subset, subsets, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(subsets)}"
            return f"there is no subset {line.subset!r}; {hint}"
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
        path = inside(self.root, named, base=folder, allow_outside=self.allow_outside)
        if path.exists() or not (self.root / named).exists():
            return path
        return inside(self.root, named, allow_outside=self.allow_outside)

    def _read_sample_card(self, subset: str, sample_id: str) -> SampleCard:
        where = f"samples/{subset}/{sample_id}/sample.json"
        try:
            path = inside(self.root, where, allow_outside=self.allow_outside)
        except Unmeasurable as error:
            self._problem(where, str(error))
            return SampleCard()
        try:
            card = SampleCard.model_validate(read_json(path)) if path.exists() else SampleCard()
            self._check_form(where, card.metadata)
            return card
        except ValidationError as error:
            self._problem(where, first_error(error))
        except DatasetError as error:
            self._problem(where, str(error).removeprefix(f"{path}: "))
        return SampleCard()

    def _check_form(self, where: str, metadata: dict[str, Any]) -> None:
        for message in malformed(metadata).values():
            self._problem(where, message)

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

    def _problem(self, where: str, message: str) -> None:
        self.problems.append(Problem(where=where, message=message))


def _action(annotations: dict[str, Any], condition_id: str, dataset_id: str) -> str | None:
    action = annotations.get("action")
    if isinstance(action, str):
        return action
    if dataset_id == "mbencht":
        return None
    return re.sub(r"_\d+s$", "", condition_id)
