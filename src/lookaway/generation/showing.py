"""Requests and plans as rows of a table."""

from __future__ import annotations

from lookaway.core import Json, Problem
from lookaway.generation.adapter import Adapter, ControlPlan
from lookaway.generation.models.text_prompt import camera_sentence
from lookaway.generation.request import GenerationRequest


def request_row(request: GenerationRequest | Problem) -> dict[str, Json]:
    """A case and its camera path in words."""
    if isinstance(request, Problem):
        return {"case": request.where, "frames": None, "camera": f"cannot be asked: {request.message}"}
    camera = request.camera
    return {
        "case": request.case.id,
        "frames": camera.frames if camera else None,
        "camera": camera_sentence(camera) if camera else "no camera path",
    }


def plan_row(request: GenerationRequest | Problem, adapter: Adapter) -> dict[str, Json]:
    """What a model is given, and the errors of what it will execute."""
    if isinstance(request, Problem):
        return {**_row(request.where, None), "note": f"cannot be asked: {request.message}"}
    planned = adapter.plan(request, 0)
    if isinstance(planned, ControlPlan):
        return {**_row(request.case.id, planned), "note": ""}
    refused = "refused, this is the nearest" if planned.nearest else "refused"
    return {**_row(request.case.id, planned.nearest), "note": f"{refused}: {planned.message}"}


def _row(case: str, plan: ControlPlan | None) -> dict[str, Json]:
    loss = plan.loss if plan else None
    return {
        "case": case,
        "native": plan.native if plan else None,
        "frames": plan.frames if plan else None,
        "peak_error_deg": _rounded(loss and loss.peak_angle_error_deg),
        "return_error_deg": _rounded(loss and loss.return_error_deg),
        "path_rmse_deg": _rounded(loss and loss.path_rmse_deg),
    }


def _rounded(value: object) -> float | None:
    return round(value, 3) if isinstance(value, float) else None
