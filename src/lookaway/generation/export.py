"""Writes a work folder: native controls, commands, delivered paths, losses and a plan with hashes."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from lookaway.core import Json, Problem, UserError, digest
from lookaway.generation.adapter import Adapter, ControlPlan, ControlRefusal, command_line
from lookaway.generation.array_files import npz_bytes
from lookaway.generation.camera_motion import legs_of, moved_axes
from lookaway.generation.request import CameraRequest, GenerationRequest
from lookaway.generation.run_scripts import DRAFT, RUN_ALL, case_script
from lookaway.generation.work_plan import CASES, PLAN, PlanItem, item_folder, read_plan
from lookaway.io.files import remove_abandoned, write_text, write_whole

REQUEST: Final = "request.npz"
DELIVERED: Final = "delivered.npz"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkReport:
    """Result of an export."""

    items: tuple[PlanItem, ...]
    problems: tuple[Problem, ...]

    @property
    def refused(self) -> tuple[PlanItem, ...]:
        """Items that the model cannot express."""
        return tuple(item for item in self.items if item.refusal is not None)


def export_cases(
    requests: Iterable[GenerationRequest | Problem],
    adapter: Adapter,
    seeds: Iterable[int],
    work: Path,
    *,
    take_nearest: bool = False,
) -> WorkReport:
    """Write every case for a model; with `take_nearest`, what it cannot express as the nearest that it can."""
    before = {item.folder: item for item in read_plan(work)} if os.path.isfile(work / PLAN) else {}
    if any(item.model != adapter.name for item in before.values()):
        raise UserError(f"{work}: holds the cases of another model; choose another folder for {adapter.name}.")
    items: list[PlanItem] = []
    problems: list[Problem] = []
    seeds = tuple(seeds)
    for request in requests:
        if isinstance(request, Problem):
            problems.append(request)
            continue
        for seed in seeds:
            items.append(_export(request, adapter, seed, work, before, take_nearest=take_nearest))
    asked = {item.folder for item in items if item.refusal is None}
    for script in sorted((work / CASES).glob("*/run.sh")):
        if script.parent.name not in asked:  # of an earlier export, which run.sh would run as well
            script.unlink()
    remove_abandoned(work)
    write_text(work / "run.sh", RUN_ALL)
    write_text(work / "README.md", _readme(adapter))
    write_text(work / PLAN, "".join(f"{item.model_dump_json()}\n" for item in items))
    return WorkReport(items=tuple(items), problems=tuple(problems))


def _export(
    request: GenerationRequest,
    adapter: Adapter,
    seed: int,
    work: Path,
    before: Mapping[str, PlanItem],
    *,
    take_nearest: bool,
) -> PlanItem:
    folder = item_folder(request.case.id, seed)
    planned = adapter.plan(request, seed)
    refusal = planned if isinstance(planned, ControlRefusal) else None
    plan = planned if isinstance(planned, ControlPlan) else planned.nearest if take_nearest else None
    files: dict[str, bytes] = {}
    words = ""
    if plan is not None:
        words = command_line(plan.command)
        files = _files(request, plan)
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in sorted(files.items())}
    sha256 = digest({"files": dict(hashes), "command": words, "seed": seed})
    known = before.get(folder)
    case, card = request.case, adapter.card
    item = PlanItem(
        model=adapter.name,
        commit=card.commit,
        licence=card.licence,
        case=case.id,
        subset=case.subset,
        scene=case.scene,
        action=case.action,
        prompt=list(case.prompt),
        seed=seed,
        folder=folder,
        files=hashes,
        native=plan.native if plan else "",
        output=plan.output if plan else "",
        frames=plan.frames if plan else 0,
        fps=plan.fps if plan else card.fps,
        width=plan.width if plan else 0,
        height=plan.height if plan else 0,
        loss=plan.loss.to_json() if plan else None,
        refusal=refusal.to_json() if refusal and plan is None else None,
        camera_source=request.camera_source,
        moves=bool(request.camera and moved_axes(legs_of(request.camera.camera_to_world))),
        exported=known.exported if known and known.sha256 == sha256 else time.time(),
        sha256=sha256,
    )
    for below in {(work / CASES / folder / name).parent for name in (*files, "run.sh")}:
        remove_abandoned(below)
    for name, content in files.items():
        _write(work / CASES / folder / name, content)
    if plan is not None:
        write_text(work / CASES / folder / "run.sh", case_script(plan, item, is_draft=not card.is_command_read))
    return item


def _files(request: GenerationRequest, plan: ControlPlan) -> dict[str, bytes]:
    """Everything in the folder of a case but its command."""
    files = {**plan.files, "prompt.txt": f"{request.prompt}\n".encode(), "loss.json": _json(plan.loss.to_json())}
    if request.first_frame is not None:
        files[f"first_frame{request.first_frame.suffix}"] = request.first_frame.content
    if request.camera is not None:
        files[REQUEST] = _path_bytes(request.camera)
    if plan.delivered is not None:
        files[DELIVERED] = plan.delivered.archive()
    return files


def _path_bytes(camera: CameraRequest) -> bytes:
    lens = np.tile(camera.intrinsics, (camera.frames, 1, 1))
    return npz_bytes(c2w=camera.camera_to_world, intrinsics=lens, fps=np.array(camera.fps))


def _json(value: dict[str, Json]) -> bytes:
    return (json.dumps(value, indent=2, sort_keys=True, allow_nan=False) + "\n").encode()


def _write(path: Path, content: bytes) -> None:
    """Files that are there already are kept, so that an interrupted export goes on."""
    if not path.is_file() or path.read_bytes() != content:
        write_whole(path, lambda file: file.write(content), is_durable=False)


def _readme(adapter: Adapter) -> str:
    card = adapter.card
    lines = [f"# {card.title}", "", f"Code: {card.repository or 'yours'} {card.commit}".rstrip()]
    lines += [f"Licence: {card.licence or 'see the terms of the service'}"]
    lines += [f"Patch: {card.needs_patch}"] if card.needs_patch else []
    lines += [] if card.is_command_read else [f"Command: {DRAFT}"]
    lines += ["", *(f"- {note}" for note in card.notes), ""]
    lines += ["Run `sh run.sh` in the folder of the model's code, with OUTPUTS set to a folder for its results."]
    return "\n".join(lines) + "\n"
