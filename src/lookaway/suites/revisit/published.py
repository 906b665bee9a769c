"""Published revisit protocols: their names, bound to measurements with their constants. The protocols are this data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

from lookaway.core import BoundMetric, Extractor, Metric, RevisitSelector, Score, UnknownName
from lookaway.io.sampling import AtFps, EveryFrame, UniformFrames
from lookaway.judges.return_rating import ReturnRating
from lookaway.metrics.arc_pairs import ArcPairs
from lookaway.metrics.camera_error import CAMERA_ERRORS
from lookaway.metrics.frame_metrics import Lpips, Mse, Psnr, Ssim
from lookaway.metrics.given_pairs import GivenPairs
from lookaway.metrics.known_returns import AnchorPairs, ReturnPairs
from lookaway.metrics.near_pose_pairs import NearPosePairs
from lookaway.metrics.quality_drop import QualityDrop
from lookaway.metrics.return_rating import ReturnRatingScore, ReturnRatingWeighted
from lookaway.metrics.revisit_scores import LoopSimilarity, MirrorSymmetry, RevisitMemory
from lookaway.metrics.vbench_overall import RANGES, VbenchOverall
from lookaway.perception.motion.dis_flow import DisFlow
from lookaway.perception.networks.fits import CentreCrop, WholeFrame
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
from lookaway.suites.mind.protocol import mirrored_metrics
from lookaway.suites.two_protocols import two_protocols

Settings: TypeAlias = Mapping[str, Any]
ViewSource: TypeAlias = Literal["given", "action", "commanded", "realised", "truth"]
"""Why two frames should show one view: the dataset says so, the action leads back, the requested or the estimated
camera path does, or there is a reference video."""

EQUAL_DB: Final = {True: 100.0, False: 50.0}
"""PSNR of equal frames, as published and corrected: one still clip must not decide a mean."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A protocol: where its pairs come from, what is averaged, and its metrics."""

    title: str
    view_from: ViewSource
    needs: str
    """What a dataset must have."""
    published_mean: Literal["pairs", "rollouts"] = "rollouts"
    """What the published mean is over; ours is over rollouts."""
    is_published: bool = True
    """Whether there is a publication to follow."""
    bind: Callable[[bool, Settings], Mapping[str, tuple[Metric, Mapping[str, Extractor]]]]
    """Metrics with their recipes by the last part of their public name, as published or corrected."""


Bindings: TypeAlias = dict[str, tuple[Metric, Mapping[str, Extractor]]]


def published_metrics(variant: str, settings: Settings) -> tuple[BoundMetric, ...]:
    """The metrics of a variant: exactly as its code has them, and without the defects that are known."""
    if variant not in VARIANTS:
        raise UnknownName("revisit scores", variant, VARIANTS)
    corrected = _bound(variant, False, settings)
    return two_protocols(_bound(variant, True, settings), corrected) if VARIANTS[variant].is_published else corrected


def published_gate(variant: str) -> BoundMetric:
    """The gate of a variant that is measured alone."""
    return revisited_gate(f"{variant}.revisited", POSES)


def _bound(variant: str, as_published: bool, settings: Settings) -> tuple[BoundMetric, ...]:
    found = VARIANTS[variant]
    return tuple(
        BoundMetric(
            name=f"{variant}.{name}",
            metric=metric,
            recipes=recipes,
            is_consistency=found.view_from != "truth" and name not in NO_CONSISTENCY,
        )
        for name, (metric, recipes) in found.bind(as_published, settings).items()
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
    pairs: RevisitSelector, window: SsimWindow, as_published: bool, *, prefix: str = "", poses: Extractor | None = None
) -> Bindings:
    """PSNR, SSIM and LPIPS of chosen pairs at the size of the video."""
    fidelity: dict[str, Extractor] = {"fidelity": PairFidelity(pairs=pairs, poses=poses, window=window)}
    return {
        f"{prefix}psnr": (Psnr(ceiling_db=EQUAL_DB[as_published]), fidelity),
        f"{prefix}ssim": (Ssim(), fidelity),
        f"{prefix}lpips": (Lpips(), {"lpips": PairLpips(pairs=pairs, poses=poses, trunk="alex")}),
    }


def _sana(as_published: bool, settings: Settings) -> Bindings:
    """The setting `skip_first_frame` leaves out the first pose, as the code does for methods with a refiner."""
    path: dict[str, Extractor] = {
        "poses": TrackedPoses(frames=EveryFrame(SANA_STRIDE)),
        "commanded_poses": CommandedPoses(frame_map="index" if as_published else "time", fps=SANA_FPS),
    }
    camera: dict[str, Any] = {
        "alignment": "signed" if as_published else "orientations",
        "stride": SANA_STRIDE if as_published else 1,
        "skips_first": bool(settings.get("skip_first_frame")),
    }
    # As published, windows are 160 frames, whatever the rate; else 10 seconds.
    frames, drop = (
        (EveryFrame(1), QualityDrop(window_rows=160, min_rows=16, min_windows=1, text_order=True))
        if as_published
        else (AtFps(2), QualityDrop(window_rows=20, min_rows=2, min_windows=2, text_order=False))
    )
    overall = VbenchOverall(max_missing=len(RANGES) - 1 if as_published else 0)
    return {
        **_frame_scores(
            GivenPairs(most=5, fps=SANA_FPS, clamps=as_published), UNIFORM_11, as_published, prefix="revisit_"
        ),
        **{name: (kind(**camera), path) for name, kind in CAMERA_ERRORS.items()},
        "delta_iq": (drop, {"quality": MusiqQuality(frames=frames, height=QUALITY_HEIGHT)}),
        "vbench_overall": (overall, {"vbench": VbenchResults()}),
    }


def _sana_like(as_published: bool, settings: Settings) -> Bindings:
    """Pairs by the tracked camera or, where the setting `pairs_from` is `commanded`, by the requested one."""
    is_commanded = settings.get("pairs_from") == "commanded"
    poses: Extractor = CommandedPoses(fps=SANA_FPS) if is_commanded else TrackedPoses()
    return _frame_scores(NearPosePairs(most=5), UNIFORM_11, as_published, prefix="revisit_", poses=poses)


def _echo_loop(as_published: bool, settings: Settings) -> Bindings:
    scores = _frame_scores(AnchorPairs(needs_loop=not as_published), UNIFORM_7, as_published)
    return {"mse": (Mse(), scores["psnr"][1]), **scores}


def _echo_ov(as_published: bool, settings: Settings) -> Bindings:
    """The number that the judge writes, which is published, and the one that its ratings of parts make."""
    rating: dict[str, Extractor] = {"return_rating": ReturnRating()}
    needs_loop = not as_published
    return {
        "overall": (ReturnRatingScore(needs_loop=needs_loop), rating),
        "weighted": (ReturnRatingWeighted(needs_loop=needs_loop), rating),
    }


def _folded(return_frame: int, as_published: bool) -> Bindings:
    anchor = AnchorPairs(return_frame=return_frame, clip_frames=FOLDED_FRAMES, is_exact=as_published)
    return _frame_scores(anchor, UNIFORM_7_GREY, as_published)


def _worldmem(as_published: bool, settings: Settings) -> Bindings:
    reference = ReferenceFrames(most=100 if as_published else None)
    return {
        "psnr": (Psnr(ceiling_db=EQUAL_DB[as_published]), {"fidelity": FrameFidelity(compared=reference)}),
        "lpips": (Lpips(), {"lpips": LpipsPairs(compared=reference, trunk="alex")}),
    }


def _worldmark(as_published: bool, settings: Settings) -> Bindings:
    pairs = ArcPairs(most=10, min_span_seconds=2.0, field_of_view=70.0, published_units=as_published)
    flow = DisFlow(frames=EveryFrame(1)) if as_published else DisFlow()
    tokens = PairTokens(pairs=pairs, flow=flow, fit=CentreCrop() if as_published else WholeFrame())
    return {"revisit_memory": (RevisitMemory(tau=1.0), {"distances": tokens})}


def _wbench(as_published: bool, settings: Settings) -> Bindings:
    """WBench's distance is DreamSim; this one is LPIPS, and the names say so."""
    pairs = ReturnPairs(samples=10, by_rotation=as_published, published_loops=as_published)
    recipes: dict[str, Extractor] = {"distances": PairLpips(pairs=pairs, poses=TrackedPoses(), trunk="alex")}
    return {
        "plain_lpips": (LoopSimilarity(min_change=None), recipes),
        "gated_lpips": (LoopSimilarity(min_change=0.15), recipes),
    }


def _iworld(as_published: bool, settings: Settings) -> Bindings:
    recipes: dict[str, Extractor] = {"fidelity": FrameFidelity(compared=MirroredFrames())}
    return {"symmetry": (MirrorSymmetry(rate=0.2 if as_published else 0.1, as_written=as_published), recipes)}


def _mind_mirror(as_published: bool, settings: Settings) -> Bindings:
    mirrored = mirrored_metrics(even_only=as_published)
    return {bound.name.removeprefix("mind.gsc."): (bound.metric, bound.recipes) for bound in mirrored}


VARIANTS: Final[Mapping[str, Variant]] = {
    "sana": Variant(
        title="SANA-WM-Bench: given pairs, camera, Delta-IQ",
        view_from="given",
        needs="a list of pairs and the requested paths",
        published_mean="pairs",
        bind=_sana,
    ),
    "sana_like": Variant(
        title="The revisit scores of SANA-WM-Bench on pairs found by camera paths",
        view_from="realised",
        needs="a camera path that comes back",
        is_published=False,
        bind=_sana_like,
    ),
    "worldmark": Variant(
        title="WorldMark Revisit Memory: equal arcs of a reversal",
        view_from="action",
        needs="an action with a reversal",
        bind=_worldmark,
    ),
    "wbench": Variant(
        title="WBench spatial consistency, plain and gated, by LPIPS",
        view_from="action",
        needs="an action that leads back",
        bind=_wbench,
    ),
    "echo_loop": Variant(
        title="Echo-Memory loop closure: first and last frame",
        view_from="action",
        needs="a path that ends where it began",
        bind=_echo_loop,
    ),
    "echo_ov": Variant(
        title="Echo-Memory open domain: a judge compares the first frame with the last four",
        view_from="action",
        needs="a path that ends where it began, and a judge",
        bind=_echo_ov,
    ),
    "l2r_far": Variant(
        title="Learning to Retrieve, far: back at the last of 81 frames",
        view_from="commanded",
        needs="a path that is folded once",
        bind=lambda as_published, settings: _folded(FAR_RETURN, as_published),
    ),
    "l2r_near": Variant(
        title="Learning to Retrieve, near: back at frame 48 of 81, then onwards",
        view_from="commanded",
        needs="a path that is folded at frame 24",
        bind=lambda as_published, settings: _folded(NEAR_RETURN, as_published),
    ),
    "worldmem": Variant(
        title="WorldMem: generated frames against those of a reference video",
        view_from="truth",
        needs="a reference video",
        bind=_worldmem,
    ),
    "iworld": Variant(
        title="iWorld-Bench memory symmetry: mirrored frames",
        view_from="action",
        needs="a path that is retraced frame by frame",
        bind=_iworld,
    ),
    "mind_mirror": Variant(
        title="MIND mirrored paths",
        view_from="action",
        needs="a path that is retraced frame by frame",
        bind=_mind_mirror,
    ),
}
"""By name."""
