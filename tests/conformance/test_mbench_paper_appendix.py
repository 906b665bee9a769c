"""Constants, sampling, detection and gates of MBench's paper (section 4, appendix B), as its names bind them."""

from __future__ import annotations

import numpy as np
import pytest

from lookaway.core import Feature, Timeline
from lookaway.engine.reading import load_suite
from tests.metrics.two_view_scenes import rollout

A = {bound.name: bound for bound in load_suite("mbench-a").metrics({})}
T = {bound.name: bound for bound in load_suite("mbench-t").metrics({})}
BOTH = [("mbencha", A), ("mbencht", T)]


@pytest.mark.parametrize(("similarity", "tracks"), [(0.16, 1), (0.14, 2)])
def test_a_face_joins_a_track_from_a_cosine_of_0_15_on(similarity, tracks):
    faces = np.array([[1, 0], [similarity, np.sqrt(1 - similarity**2)]], np.float32)
    given = {"faces": Feature({"embeddings": faces, "frame_indices": np.array([0, 1])})}
    assert len(A["mbencha.entity.human_identity_consistency"].metric.measure(rollout(), given).units) == tracks


def test_object_geometry_of_setting_a_chooses_among_all_frames():
    recipe = A["mbencha.entity.object_geometry_consistency"].recipes["warped_similarity"]
    timeline = Timeline(np.arange(401) / 16, 64, 48)
    assert recipe.masks.frames.indices(timeline, rollout()) == tuple(range(401))
    assert recipe.depth.frames == recipe.masks.frames


def test_numbers_of_the_text_are_those_that_are_bound():
    fold = A["mbencha.environment.spatial_epipolar"].recipes["matches"].pairs
    segment = T["mbencht.environment.spatial_epipolar"].recipes["matches"].pairs
    assert (fold.most, fold.degrees_per_extent) == (20, 180)
    assert (segment.most, segment.edge_segments) == (5, 2)
    assert (segment.distance_scale, segment.angle_scale_degrees) == (0.1, 10)
    for prefix, bound in BOTH:
        assert bound[f"{prefix}.entity.human_identity_consistency"].metric.min_cosine == 0.15
        assert bound[f"{prefix}.environment.spatial_epipolar"].metric.scale_pixels == 1
        assert bound[f"{prefix}.environment.spatial_reprojection"].metric.scale_pixels == 1
    assert A["mbencha.entity.human_identity_consistency"].recipes["faces"].frames.count == 32
    for subset in ("human", "object", "environment", "causal"):
        assert T[f"mbencht.{subset}.trigger"].recipes["trigger_verdict"].frames.count == 8


def test_the_target_of_setting_t_is_a_point_of_the_box_that_was_found_and_of_setting_a_the_anchor():
    for name in ("object_texture_consistency", "object_geometry_consistency"):
        text, action = (
            next(recipe.masks for recipe in bound.recipes.values())
            for bound in (T[f"mbencht.entity.{name}"], A[f"mbencha.entity.{name}"])
        )
        assert (text.prompt.name, text.point) == ("grounding_dino_boxes", True)
        assert (action.prompt, action.point) == (None, False)


def test_all_of_setting_t_is_gated_by_the_trigger_of_its_subset_and_nothing_of_setting_a_by_a_judge():
    assert not [name for name, bound in A.items() if "trigger_verdict" in bound.recipes]
    scored = [bound for bound in T.values() if bound.is_of("published") and not bound.is_gate]
    assert len(scored) == 11
    assert all(bound.is_consistency and f"mbencht.{bound.subsets[0]}.trigger" in T for bound in scored)
