"""Published revisit protocols: their names, bound to measurements with their constants. The protocols are this data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

from lookaway.core import BoundMetric, Extractor, Metric, RevisitSelector, Sampler, Score, UnknownName
from lookaway.io.sampling import AtFps, EveryFrame, UniformFrames
from lookaway.judges.return_rating import ReturnRating
from lookaway.metrics.arc_pairs import ArcPairs
from lookaway.metrics.camera_error import CAMERA_ERRORS, PathAlignment
from lookaway.metrics.frame_metrics import Lpips, Mse, Psnr, Ssim
from lookaway.metrics.given_pairs import GivenPairs
from lookaway.metrics.known_returns import AnchorPairs, ReturnPairs
from lookaway.metrics.near_pose_pairs import NearPosePairs
from lookaway.metrics.quality_drop import QualityDrop
from lookaway.metrics.return_rating import ReturnRatingScore, ReturnRatingWeighted
from lookaway.metrics.revisit_scores import LoopSimilarity, MirrorSymmetry, RevisitMemory
from lookaway.metrics.vbench_overall import RANGES, VbenchOverall
from lookaway.perception.motion.dis_flow import DisFlow
from lookaway.perception.networks.fits import CentreCrop, Fit, WholeFrame
from lookaway.perception.poses.commanded_poses import CommandedPoses
from lookaway.perception.poses.tracked_poses import TrackedPoses
from lookaway.perception.quality.musiq_quality import MusiqQuality
from lookaway.perception.quality.vbench_results import VbenchResults
from lookaway.perception.similarity.compared_frames import MirroredFrames, ReferenceFrames
from lookaway.perception.similarity.frame_fidelity import FrameFidelity
from lookaway.perception.similarity.lpips_pairs import LpipsPairs
from lookaway.perception.similarity.pair_fidelity import PairFidelity, SsimWindow
from lookaway.perception.similarity.pair_networks import PairLpips, PairTokens
from lookaway.suites.gate import revisited_gate
from lookaway.suites.mind.protocol import corrected_mirror, published_mirror
from lookaway.suites.two_protocols import CORRECTED, two_protocols

Settings: TypeAlias = Mapping[str, Any]
ViewSource: TypeAlias = Literal["given", "action", "commanded", "realised", "truth"]
"""Why two frames should show one view: the dataset says so, the action leads back, the requested or the estimated
camera path does, or there is a reference video."""

PSNR_OF_EQUALS: Final = Psnr(ceiling_db=None, equal_db=100.0)
"""Equal frames count 100 dB, and other frames what they have, as in the code of SANA-WM-Bench and Echo-Memory."""
CUT_PSNR: Final = Psnr(ceiling_db=50.0)
"""Corrected: one still clip must not decide a mean."""
UNIFORM_11: Final = SsimWindow(11)
UNIFORM_7: Final = SsimWindow(7, is_cropped=True, is_sample=True)
UNIFORM_7_GREY: Final = replace(UNIFORM_7, is_grey=True)
SANA_FPS: Final = 16.0
SANA_STRIDE: Final = 4
QUALITY_HEIGHT: Final = 288
"""Rows of a frame of 16:9 whose longer side is 512, at which VBench judges image quality."""
FOLDED_FRAMES: Final = 81
FAR_RETURN, NEAR_RETURN = 80, 48
POSES: Final = TrackedPoses(frames=UniformFrames(48), height=256, keypoints=400)
"""The camera of the gate and of the suite's own numbers."""
NO_CONSISTENCY: Final = frozenset({*CAMERA_ERRORS, "delta_iq", "vbench_overall"})
"""Metrics that count whether the camera came back or not."""


Bindings: TypeAlias = Mapping[str, tuple[Metric, Mapping[str, Extractor]]]
"""Metrics with their recipes, by the last part of their public name."""
Bind: TypeAlias = Callable[[Settings], Bindings]


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A protocol: where its pairs come from, what is averaged, and its metrics."""

    title: str
    view_from: ViewSource
    needs: str
    """What a dataset must have."""
    published_mean: Literal["pairs", "rollouts"] = "rollouts"
    """What the published mean is over; ours is over rollouts."""
    published: Bind | None
    """As in the publication; `None` where there is none to follow."""
    corrected: Bind
    """Without the defects that are known."""


def published_metrics(variant: str, settings: Settings) -> tuple[BoundMetric, ...]:
    """The metrics of a variant: as its publication has them, and without the defects that are known."""
    if variant not in VARIANTS:
        raise UnknownName("revisit score", variant, VARIANTS)
    found = VARIANTS[variant]
    corrected = _bound(variant, found.corrected(settings))
    return (
        corrected if found.published is None else two_protocols(_bound(variant, found.published(settings)), corrected)
    )


def published_gate(variant: str) -> BoundMetric:
    """The gate of a variant that is measured alone."""
    return revisited_gate(f"{variant}.revisited", POSES)


def _bound(variant: str, bindings: Bindings) -> tuple[BoundMetric, ...]:
    return tuple(
        BoundMetric(
            name=f"{variant}.{name}",
            metric=metric,
            recipes=recipes,
            is_consistency=VARIANTS[variant].view_from != "truth" and name not in NO_CONSISTENCY,
        )
        for name, (metric, recipes) in bindings.items()
    )


def pooled_mean(scores: Sequence[Score]) -> float | None:
    """Mean over all pairs of all rollouts, as SANA-WM-Bench has it: rollouts with fewer pairs weigh less."""
    values = [unit.outcome.value for score in scores for unit in score.units if isinstance(unit.outcome, Score)]
    return sum(values) / len(values) if values else None


def pooled_drop(scores: Sequence[Score]) -> float | None:
    """Delta-IQ as SANA-WM-Bench has it: windows are averaged over videos first, then sorted by their names as text.

    Clips of unequal length leave other videos in the last window than in the first.
    """
    windows: dict[str, list[float]] = {}
    for score in scores:
        for unit in score.units:
            if isinstance(unit.outcome, Score):
                windows.setdefault(unit.name, []).append(unit.outcome.value)
    means = [sum(values) / len(values) for _, values in sorted(windows.items())]
    return means[0] - means[-1] if means else None


def _frame_scores(
    pairs: RevisitSelector, window: SsimWindow, psnr: Psnr, *, prefix: str = "", poses: Extractor | None = None
) -> Bindings:
    """PSNR, SSIM and LPIPS of chosen pairs at the size of the video."""
    fidelity: dict[str, Extractor] = {"fidelity": PairFidelity(pairs=pairs, poses=poses, window=window)}
    return {
        f"{prefix}psnr": (psnr, fidelity),
        f"{prefix}ssim": (Ssim(), fidelity),
        f"{prefix}lpips": (Lpips(), {"lpips": PairLpips(pairs=pairs, poses=poses, trunk="alex")}),
    }


def _sana(settings: Settings) -> Bindings:
    pairs = GivenPairs(most=5, fps=SANA_FPS, clamps=True)
    return {
        **_frame_scores(pairs, UNIFORM_11, PSNR_OF_EQUALS, prefix="revisit_"),
        **_sana_camera(settings, CommandedPoses(frame_map="index", fps=SANA_FPS), "signed", SANA_STRIDE),
        **_sana_quality(
            # Windows are 160 frames, whatever the rate.
            QualityDrop(window_rows=160, min_rows=16, min_windows=1, text_order=True),
            EveryFrame(1),
            max_missing=len(RANGES) - 1,
        ),
    }


def _sana_corrected(settings: Settings) -> Bindings:
    pairs = GivenPairs(most=5, fps=SANA_FPS)
    return {
        **_frame_scores(pairs, UNIFORM_11, CUT_PSNR, prefix="revisit_"),
        **_sana_camera(settings, CommandedPoses(frame_map="time", fps=SANA_FPS), "orientations", 1),
        **_sana_quality(  # windows of 10 seconds
            QualityDrop(window_rows=20, min_rows=2, min_windows=2, text_order=False), AtFps(2), max_missing=0
        ),
    }


def _sana_camera(settings: Settings, requested: CommandedPoses, alignment: PathAlignment, stride: int) -> Bindings:
    """The setting `skip_first_frame` leaves out the first pose, as the code does for methods with a refiner."""
    path: dict[str, Extractor] = {
        "poses": TrackedPoses(frames=EveryFrame(SANA_STRIDE)),
        "commanded_poses": requested,
    }
    skips_first = bool(settings.get("skip_first_frame"))
    return {
        name: (kind(alignment=alignment, stride=stride, skips_first=skips_first), path)
        for name, kind in CAMERA_ERRORS.items()
    }


def _sana_quality(drop: QualityDrop, frames: Sampler, *, max_missing: int) -> Bindings:
    return {
        "delta_iq": (drop, {"quality": MusiqQuality(frames=frames, height=QUALITY_HEIGHT)}),
        "vbench_overall": (VbenchOverall(max_missing=max_missing), {"vbench": VbenchResults()}),
    }


def _sana_like(settings: Settings) -> Bindings:
    """Pairs by the tracked camera or, where the setting `pairs_from` is `commanded`, by the requested one."""
    is_commanded = settings.get("pairs_from") == "commanded"
    poses: Extractor = CommandedPoses(fps=SANA_FPS) if is_commanded else TrackedPoses()
    return _frame_scores(NearPosePairs(most=5), UNIFORM_11, CUT_PSNR, prefix="revisit_", poses=poses)


def _echo_loop(psnr: Psnr, *, needs_loop: bool) -> Bindings:
    scores = _frame_scores(AnchorPairs(needs_loop=needs_loop), UNIFORM_7, psnr)
    return {"mse": (Mse(), scores["psnr"][1]), **scores}


def _echo_ov(settings: Settings) -> Bindings:
    """The number that the judge writes."""
    return {"overall": (ReturnRatingScore(needs_loop=False), {"return_rating": ReturnRating()})}


def _echo_ov_corrected(settings: Settings) -> Bindings:
    """The same, and the number that its ratings of parts make, which no publication has."""
    rating: dict[str, Extractor] = {"return_rating": ReturnRating()}
    return {
        "overall": (ReturnRatingScore(needs_loop=True), rating),
        f"{CORRECTED}.weighted": (ReturnRatingWeighted(needs_loop=True), rating),
    }


def _folded(return_frame: int, psnr: Psnr, *, is_exact: bool) -> Bindings:
    anchor = AnchorPairs(return_frame=return_frame, clip_frames=FOLDED_FRAMES, is_exact=is_exact)
    return _frame_scores(anchor, UNIFORM_7_GREY, psnr)


def _worldmem(psnr: Psnr, *, most: int | None) -> Bindings:
    reference = ReferenceFrames(most=most)
    return {
        "psnr": (psnr, {"fidelity": FrameFidelity(compared=reference)}),
        "lpips": (Lpips(), {"lpips": LpipsPairs(compared=reference, trunk="alex")}),
    }


def _worldmark(flow: DisFlow, fit: Fit, *, published_units: bool) -> Bindings:
    pairs = ArcPairs(most=10, min_span_seconds=2.0, field_of_view=70.0, published_units=published_units)
    return {"revisit_memory": (RevisitMemory(tau=1.0), {"distances": PairTokens(pairs=pairs, flow=flow, fit=fit)})}


def _wbench(*, by_rotation: bool, published_loops: bool) -> Bindings:
    """WBench's distance is DreamSim; this one is LPIPS, and the names say so."""
    pairs = ReturnPairs(samples=10, by_rotation=by_rotation, published_loops=published_loops)
    recipes: dict[str, Extractor] = {"distances": PairLpips(pairs=pairs, poses=TrackedPoses(), trunk="alex")}
    return {
        "plain_lpips": (LoopSimilarity(min_change=None), recipes),
        "gated_lpips": (LoopSimilarity(min_change=0.15), recipes),
    }


def _iworld(*, rate: float, as_written: bool) -> Bindings:
    recipes: dict[str, Extractor] = {"fidelity": FrameFidelity(compared=MirroredFrames())}
    return {"symmetry": (MirrorSymmetry(rate=rate, as_written=as_written), recipes)}


def _mind_mirror(mirrored: Sequence[BoundMetric]) -> Bindings:
    return {bound.name.removeprefix("mind.gsc."): (bound.metric, bound.recipes) for bound in mirrored}


VARIANTS: Final[Mapping[str, Variant]] = {
    "sana": Variant(
        title="SANA-WM-Bench: given pairs, camera, Delta-IQ",
        view_from="given",
        needs="a list of pairs and the requested paths",
        published_mean="pairs",
        published=_sana,
        corrected=_sana_corrected,
    ),
    "sana_like": Variant(
        title="The revisit scores of SANA-WM-Bench on pairs found by camera paths",
        view_from="realised",
        needs="a camera path that comes back",
        published=None,
        corrected=_sana_like,
    ),
    "worldmark": Variant(
        title="WorldMark Revisit Memory: equal arcs of a reversal",
        view_from="action",
        needs="an action with a reversal",
        published=lambda settings: _worldmark(DisFlow(frames=EveryFrame(1)), CentreCrop(), published_units=True),
        corrected=lambda settings: _worldmark(DisFlow(), WholeFrame(), published_units=False),
    ),
    "wbench": Variant(
        title="WBench spatial consistency, plain and gated, by LPIPS",
        view_from="action",
        needs="an action that leads back",
        published=lambda settings: _wbench(by_rotation=True, published_loops=True),
        corrected=lambda settings: _wbench(by_rotation=False, published_loops=False),
    ),
    "echo_loop": Variant(
        title="Echo-Memory loop closure: first and last frame",
        view_from="action",
        needs="a path that ends where it began",
        published=lambda settings: _echo_loop(PSNR_OF_EQUALS, needs_loop=False),
        corrected=lambda settings: _echo_loop(CUT_PSNR, needs_loop=True),
    ),
    "echo_ov": Variant(
        title="Echo-Memory open domain: a judge compares the first frame with the last four",
        view_from="action",
        needs="a path that ends where it began, and a judge",
        published=_echo_ov,
        corrected=_echo_ov_corrected,
    ),
    "l2r_far": Variant(
        title="Learning to Retrieve, far: back at the last of 81 frames",
        view_from="commanded",
        needs="a path that is folded once",
        published=lambda settings: _folded(FAR_RETURN, PSNR_OF_EQUALS, is_exact=True),
        corrected=lambda settings: _folded(FAR_RETURN, CUT_PSNR, is_exact=False),
    ),
    "l2r_near": Variant(
        title="Learning to Retrieve, near: back at frame 48 of 81, then onwards",
        view_from="commanded",
        needs="a path that is folded at frame 24",
        published=lambda settings: _folded(NEAR_RETURN, PSNR_OF_EQUALS, is_exact=True),
        corrected=lambda settings: _folded(NEAR_RETURN, CUT_PSNR, is_exact=False),
    ),
    "worldmem": Variant(
        title="WorldMem: generated frames against those of a reference video",
        view_from="truth",
        needs="a reference video",
        published=lambda settings: _worldmem(Psnr(ceiling_db=None), most=100),
        corrected=lambda settings: _worldmem(CUT_PSNR, most=None),
    ),
    "iworld": Variant(
        title="iWorld-Bench memory symmetry: mirrored frames",
        view_from="action",
        needs="a path that is retraced frame by frame",
        published=lambda settings: _iworld(rate=0.2, as_written=True),
        corrected=lambda settings: _iworld(rate=0.1, as_written=False),
    ),
    "mind_mirror": Variant(
        title="MIND mirrored paths",
        view_from="action",
        needs="a path that is retraced frame by frame",
        published=lambda settings: _mind_mirror(published_mirror()),
        corrected=lambda settings: _mind_mirror(corrected_mirror()),
    ),
}
"""By name."""
