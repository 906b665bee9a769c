"""The constants of a tracker: all of them can move a pose, so they are fields of its recipe and stand in the lock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from lookaway.perception.edges import EdgeFilter


@dataclass(frozen=True, slots=True)
class OutlineSettings:
    """When the edges of two frames agree."""

    height: Annotated[float, "pixels of the small picture that is kept of a frame"] = 96
    edges: Annotated[EdgeFilter, "how edges are found in it"] = EdgeFilter(8.0)
    max_shift: Annotated[int, "pixels by which two outlines may be off each other"] = 2
    min_common: Annotated[float, "part of the picture that two outlines must have in common"] = 0.2


@dataclass(frozen=True, slots=True)
class LinkSettings:
    """Which frames are compared with which."""

    min_matches: Annotated[int, "fewer say nothing about two frames"] = 12
    glance: Annotated[int, "strongest points, enough to see whether two frames show the same place"] = 200
    max_keyframes: Annotated[int, "keyframes of a path"] = 40
    partners: Annotated[int, "keyframes that one keyframe is compared with"] = 8


@dataclass(frozen=True, slots=True)
class AdjustmentSettings:
    """How rotations and a focal length are adjusted to all points together."""

    steps: Annotated[int, "steps at most"] = 20
    min_gain: Annotated[float, "a step that gains a smaller part is the last"] = 1e-6
    behind: Annotated[float, "rays carried to a depth below this part of the focal length are behind the camera"] = 0.05


@dataclass(frozen=True, slots=True)
class TurnSettings:
    """How a camera that only turns is fitted."""

    trials: Annotated[int, "fits to two points of a link"] = 200
    refinements: Annotated[int, "fits to all points that agree with the best of these"] = 4
    min_depth: Annotated[float, "unit rays that are carried to a lesser depth are behind the camera"] = 1e-6
    max_points: Annotated[int, "points of one link that take part"] = 120
    min_inliers: Annotated[int, "a link of which fewer points agree on a turn does not carry one"] = 8
    min_share: Annotated[float, "the same, as a share of its points"] = 0.2
    scanned_links: Annotated[int, "longest links by which a rough focal length is found"] = 10
    scanned_focals: Annotated[int, "focal lengths that are tried for it"] = 9
    rounds: Annotated[int, "times that turns are fitted again, with the focal length found before"] = 3
    settled: Annotated[float, "a focal length that changed by a smaller part tells which points agree"] = 0.02
    adjustment: Annotated[AdjustmentSettings, "how all turns are adjusted together"] = AdjustmentSettings()


@dataclass(frozen=True, slots=True)
class GeometrySettings:
    """How the geometry of two views is fitted."""

    trials: Annotated[int, "fits of epipolar geometry to a few points"] = 2000
    confidence: Annotated[float, "that a geometry is found"] = 0.9999
    min_points: Annotated[int, "a link of which fewer points obey one epipolar geometry is wrong"] = 12
    min_share: Annotated[float, "the same, as a share of its points"] = 0.3
    max_points: Annotated[int, "points of one link that a focal length is judged by"] = 200
    scanned_focals: Annotated[int, "focal lengths that are tried"] = 7
    min_better: Annotated[float, "a focal length must explain this share of the points more than the believed one"] = (
        0.05
    )


@dataclass(frozen=True, slots=True)
class BundleSettings:
    """How cameras and points are adjusted together."""

    nearest: Annotated[float, "nearer points are behind the camera; scenes are scaled to a median depth of 1"] = 1e-3
    min_gain: Annotated[float, "a step that gains a smaller part is the last"] = 1e-6


@dataclass(frozen=True, slots=True)
class SceneSettings:
    """How a scene grows that the camera moves past."""

    starts: Annotated[int, "pairs of frames that are tried as the first two cameras"] = 8
    max_tracks: Annotated[int, "points of one keyframe that the scene is made of, at most"] = 400
    min_tracks: Annotated[int, "the same, at least"] = 60
    all_tracks: Annotated[int, "about how many there are of all keyframes together"] = 1500
    first_steps: Annotated[int, "steps of adjustment of the first two cameras"] = 20
    growing_steps: Annotated[int, "steps of adjustment after each further camera"] = 8
    last_steps: Annotated[int, "steps of adjustment of all cameras"] = 30
    min_angle: Annotated[float, "degrees; rays that meet at less tell no depth"] = 1.5
    min_points: Annotated[int, "a camera that sees fewer known points has no place"] = 15
    rough: Annotated[float, "errors of this many tolerances are still noise while the scene is rough"] = 4.0
    trials: Annotated[int, "fits of a camera to a few points"] = 300
    bundle: Annotated[BundleSettings, "how cameras and points are adjusted together"] = BundleSettings()


@dataclass(frozen=True, slots=True)
class JoinSettings:
    """When two pieces of a path are joined where no points can be followed."""

    min_frames: Annotated[int, "fewer frames in succession do not tell how the camera turns"] = 3
    same_lens: Annotated[float, "spread of the logarithm of the focal length where that of another piece is known"] = (
        0.01
    )
    steps: Annotated[
        tuple[int, ...], "on either side of a break that give its velocity; fewer where the camera came to rest there"
    ] = (2, 1)
    max_change: Annotated[float, "part of the larger velocity by which those of both sides may differ"] = 0.5
    still_depths: Annotated[float, "median depths that a camera which rests may seem to move over a break"] = 0.01
    min_edges: Annotated[
        float, "correlation of edges over a break: pictures of one place have 0.26 and more, others at most 0.19"
    ] = 0.22
    nearby: Annotated[float, "part of the width within which points of two frames are compared in depth"] = 0.05
    min_nearby: Annotated[int, "points that are compared in depth"] = 8


@dataclass(frozen=True, slots=True)
class TrackerSettings:
    """How the path of a camera is found."""

    min_points: Annotated[int, "a clip of which half the frames show fewer points has too little texture"] = 30
    min_turned: Annotated[float, "turns that explain a smaller share of the points are not the path"] = 0.5
    still_degrees: Annotated[float, "a camera that turns less stands still: turns are not known better"] = 0.1
    widest: Annotated[float, "a camera has the believed focal length, or up to so many times more or less"] = 3.0
    outline: Annotated[OutlineSettings, "when the edges of two frames agree"] = OutlineSettings()
    links: Annotated[LinkSettings, "which frames are compared"] = LinkSettings()
    turns: Annotated[TurnSettings, "how a camera that only turns is fitted"] = TurnSettings()
    geometry: Annotated[GeometrySettings, "how the geometry of two views is fitted"] = GeometrySettings()
    scene: Annotated[SceneSettings, "how a scene grows that the camera moves past"] = SceneSettings()
    joins: Annotated[JoinSettings, "when two pieces of a path are joined"] = JoinSettings()
