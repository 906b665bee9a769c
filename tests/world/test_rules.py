from __future__ import annotations

import numpy as np
import pytest

from lookaway.world.clip import build_clip
from lookaway.world.studio import broken_rule
from tests.support.scenes import small_recipe


def mask(*, side: int = 20, at: int = 40) -> np.ndarray:
    drawn = np.zeros((128, 224), bool)
    drawn[at : at + side, at : at + side] = True
    return drawn


SEEN, UNSEEN = mask(), np.zeros((128, 224), bool)


def said(masks: list[np.ndarray], *, event: str = "both", camera: str = "yaw_right_60", progress: float = 1.0) -> str:
    clip = build_clip(small_recipe(event=event, camera=camera))
    table = clip.table.edited(progress=clip.table.progress * progress)
    return broken_rule(type(clip)(recipe=clip.recipe, scene=clip.scene, path=clip.path, table=table), masks)


def test_a_clip_that_loses_a_large_target_while_it_changes_keeps_all_rules():
    assert said([SEEN] * 8 + [UNSEEN] * 8 + [SEEN] * 8) == ""


@pytest.mark.parametrize(("frame", "name"), [(0, "first"), (-1, "last")])
def test_a_target_that_is_too_small_is_refused(frame, name):
    masks = [SEEN] * 8 + [UNSEEN] * 8 + [SEEN] * 8
    masks[frame] = mask(side=10)
    assert said(masks) == f"the target fills 0.3% of the {name} frame, expected at least 1%"


@pytest.mark.parametrize(("frame", "name"), [(0, "first"), (-1, "last")])
def test_a_target_that_is_cut_off_is_refused(frame, name):
    masks = [SEEN] * 8 + [UNSEEN] * 8 + [SEEN] * 8
    masks[frame] = mask(at=0)
    assert said(masks) == f"the edge of the {name} frame cuts off the target"


def test_a_target_that_is_hardly_ever_out_of_sight_is_refused():
    assert (
        said([SEEN] * 10 + [UNSEEN] * 5 + [SEEN] * 9)
        == "the target is out of sight in 5 of 24 frames, expected at least 25%"
    )
    assert said([SEEN] * 10 + [UNSEEN] * 6 + [SEEN] * 8) == ""


def test_a_camera_that_does_not_look_away_need_not_lose_the_target():
    assert said([SEEN] * 24, camera="static") == ""
    assert said([SEEN] * 24, camera="orbit_left") == ""


@pytest.mark.parametrize(("event", "clock"), [("spatial", "motion"), ("in_place", "process")])
def test_an_event_that_happens_in_sight_is_refused(event, clock):
    masks = [SEEN] * 8 + [UNSEEN] * 8 + [SEEN] * 8
    assert said(masks, event=event) == ""
    assert f"of the {clock} happens unseen, expected at least 15%" in said(masks, event=event, progress=0.1)


def test_where_nothing_happens_no_clock_is_asked():
    assert said([SEEN] * 8 + [UNSEEN] * 8 + [SEEN] * 8, event="none") == ""
