from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import cv2
import numpy as np
import pytest

from lookaway.core import Pairs, Reason, Unmeasurable
from lookaway.io.pictures import picture_pixels
from lookaway.metrics.revisit_pairs import RevisitPairs
from lookaway.perception.poses.tracked_poses import TrackedPoses
from lookaway.perception.revisit.revisit_changes import RevisitChanges
from tests.support import panorama
from tests.support.watching import check_documented, perceive_frames

RECIPE = RevisitChanges(poses=TrackedPoses(), pairs=RevisitPairs())
CENTRE = (panorama.WIDE[0] // 2 + 20, panorama.WIDE[1] // 2)
"""A place of the backdrop that the first frame shows on its right side, which leaves the view."""


def changes(returning=lambda backdrop: backdrop, degrees=panorama.OUT_AND_BACK, after=lambda frame: frame, before=None):
    shown = [after(frame) for frame in panorama.pictures(degrees, before, returning)]
    return perceive_frames(RECIPE, shown, {"poses": panorama.poses(degrees)})


def with_patch(backdrop):
    left, top = CENTRE
    backdrop[top - 12 : top + 12, left : left + 30] = (220, 30, 30)
    return backdrop


def test_a_view_that_comes_back_has_nothing_changed():
    found = changes()
    check_documented(RECIPE, found)
    assert found["changed_area"].max() == 0
    assert np.abs(found["stops"]).max() < 0.02
    assert found["look"].max() < 1
    assert found["ssim"].min() > 0.9
    assert found["moved"].max() == found["copied"].max() == found["carried"][0] == 0


def test_a_thing_that_appeared_is_found_where_it_is():
    found = changes(with_patch)
    assert found["changed_area"].min() > 2
    assert found["look"].max() < 2
    assert found["ssim"].max() < changes()["ssim"].min()
    picture = picture_pixels(found["pictures"][: found["offsets"][1]].tobytes())
    outlined = (np.abs(picture.astype(int) - (255, 0, 96)).max(axis=-1) < 60)[:, -panorama.WIDTH :]
    rows, columns = np.nonzero(outlined)
    assert abs(rows.mean() - panorama.HEIGHT / 2) < 12
    assert 90 < columns.mean() < 170


def test_another_light_is_measured_in_stops_and_is_no_change_of_the_place():
    def brighter(backdrop):
        linear = (backdrop / 255.0) ** 2.2 * 1.4
        return (255 * linear.clip(0, 1) ** (1 / 2.2)).astype(np.uint8)

    found = changes(brighter)
    assert found["stops"].mean() == pytest.approx(np.log2(1.4), abs=0.06)
    assert found["changed_area"].max() < 0.5


def test_another_look_of_everything_is_seen_as_a_look():
    def painted(backdrop):
        return np.ascontiguousarray(backdrop[..., [1, 2, 0]])

    assert changes(painted)["look"].min() > 8


def test_another_place_altogether_is_changed_nearly_everywhere():
    found = changes(lambda _: panorama.backdrop(seed=5))
    assert found["changed_area"].min() > 60


@pytest.mark.parametrize("quality", [60, 30])
def test_compression_is_no_change(quality):
    def compressed(frame):
        return cv2.imdecode(cv2.imencode(".jpg", frame, [cv2.IMWRITE_JPEG_QUALITY, quality])[1], cv2.IMREAD_COLOR)

    found = changes(after=compressed)
    assert found["changed_area"].max() < 0.5
    assert found["look"].max() < 5


def test_noise_is_no_change():
    rng = np.random.default_rng(0)
    found = changes(after=lambda frame: (frame + rng.normal(0, 4, frame.shape)).clip(0, 255).astype(np.uint8))
    assert found["changed_area"].max() < 0.5


def test_a_thing_that_was_pushed_aside_is_found_at_both_places():
    left, top = CENTRE
    thing, before, after = panorama.backdrop(seed=9)[:40, :50], panorama.backdrop(), panorama.backdrop()
    before[top - 20 : top + 20, left - 5 : left + 45] = thing
    after[top : top + 40, left + 10 : left + 60] = thing
    assert changes(lambda _: after, before=before)["changed_area"].min() > 1


def test_a_still_camera_is_declined():
    with pytest.raises(Unmeasurable) as refusal:
        changes(degrees=(0.0,) * 12)
    assert refusal.value.reason is Reason.GATE_CLOSED


@dataclass(frozen=True)
class GivenPairs:
    """Pairs that the test names."""

    version: ClassVar[int] = 1
    frames: tuple[tuple[int, int], ...]

    def select(self, rollout, frame_count, trajectory):
        return Pairs(np.array(self.frames), "given")


LAST = len(panorama.OUT_AND_BACK) - 1
NOTHING_LEFT = (LAST - 1, LAST)
"""Two frames in succession: nothing was out of view between them."""


def changes_of(*pairs):
    recipe = replace(RECIPE, pairs=GivenPairs(pairs))
    return perceive_frames(recipe, panorama.pictures(), {"poses": panorama.poses()})


def test_a_pair_that_cannot_be_compared_is_skipped_and_the_others_are_as_without_it():
    alone, beside = changes_of((0, LAST)), changes_of((0, LAST), NOTHING_LEFT)
    assert beside["pairs"].tolist() == [[0, LAST]]
    for name, array in alone.arrays.items():
        assert array.tobytes() == beside[name].tobytes(), name
    (why,) = beside.detail["skipped_pairs"]
    assert "0.0% of the picture in common" in why
    assert alone.detail["skipped_pairs"] == []


def test_a_clip_of_which_no_pair_can_be_compared_is_declined():
    with pytest.raises(Unmeasurable, match="in common that was left and seen again") as refusal:
        changes_of(NOTHING_LEFT, (LAST - 2, LAST - 1))
    assert refusal.value.reason is Reason.GATE_CLOSED


def test_the_same_pictures_give_the_same_numbers():
    first, again = changes(with_patch), changes(with_patch)
    for name, array in first.arrays.items():
        assert array.tobytes() == again[name].tobytes(), name


@pytest.mark.parametrize(("is_loop", "share"), [(True, 0.0), (False, 1.0)])
def test_what_changed_before_leaving_is_undone_by_a_loop_and_kept_by_a_memory(is_loop, share):
    degrees = (0, 0, 0, 0, *panorama.OUT_AND_BACK[1:-1], 0, 0, 0, 0)
    plain, patched = panorama.pictures(degrees), panorama.pictures(degrees, with_patch(panorama.backdrop()))
    shown = [*plain[:2], *patched[2:-2], *(plain if is_loop else patched)[-2:]]
    before, after = perceive_frames(RECIPE, shown, {"poses": panorama.poses(degrees)})["undone"]
    assert before > 1
    assert after / before == pytest.approx(share, abs=0.1)
