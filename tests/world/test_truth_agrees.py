from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import cv2
import numpy as np
import pytest

from lookaway.world.clip import build_clip
from lookaway.world.drawing import Drawer, DrawnFrame, intrinsics
from lookaway.world.families import FAMILIES
from lookaway.world.recipe import ClipRecipe
from lookaway.world.states import StateTable
from lookaway.world.turns import project, rotation

pytestmark = pytest.mark.render

FIRST, *OTHERS = sorted(FAMILIES)[::3]

WIDTH, HEIGHT = 448, 256
CAMERAS = ("yaw_left_30", "pan_right", "forward_backward", "orbit_left")
LARGEST_ERROR = 0.015
"""Of the range of a pixel."""


@dataclass(frozen=True)
class Place:
    """A family with a drawer; the scene is the same for every camera."""

    family: str
    drawer: Drawer

    def table(self, camera: str, event: str = "none") -> StateTable:
        recipe = ClipRecipe(
            family=self.family,
            event=event,
            camera=camera,
            seed=0,
            width=WIDTH,
            height=HEIGHT,
            fps=8,  # type: ignore[arg-type]
        )
        return build_clip(recipe).table


@pytest.fixture(scope="module", params=[FIRST, *(pytest.param(name, marks=pytest.mark.merge) for name in OTHERS)])
def place(request) -> Iterator[Place]:
    scene = build_clip(ClipRecipe(family=request.param, event="none", camera="static", seed=0)).scene
    with Drawer(scene, WIDTH, HEIGHT) as drawer:
        yield Place(request.param, drawer)


def warp_errors(views: list[DrawnFrame], cameras: np.ndarray) -> np.ndarray:
    """By how much pixels of the first view differ from where depth and poses lead to in the second; unoccluded ones."""
    first, second = views
    columns, rows = np.meshgrid(np.arange(WIDTH) + 0.5, np.arange(HEIGHT) + 0.5)
    pixels = np.stack([columns, rows, np.ones_like(rows)], axis=-1).reshape(-1, 3)
    seen = pixels @ np.linalg.inv(intrinsics(WIDTH, HEIGHT)).T * first.depth.reshape(-1, 1)
    points = seen @ cameras[0, :3, :3].T + cameras[0, :3, 3]
    there, depth = project(points, cameras[1], intrinsics(WIDTH, HEIGHT))
    is_in = (depth > 0.1) & (there >= 1).all(axis=1) & (there < (WIDTH - 1, HEIGHT - 1)).all(axis=1)
    x, y = (there[:, axis].reshape(HEIGHT, WIDTH).astype(np.float32) - np.float32(0.5) for axis in (0, 1))
    # Forwards and backwards: what is seen there is as far away as the point that should be there.
    found_depth = cv2.remap(second.depth, x, y, cv2.INTER_NEAREST).ravel()
    is_same = is_in & (first.depth.ravel() > 0) & (np.abs(found_depth - depth) < 0.01 * depth)
    found = cv2.remap(second.picture, x, y, cv2.INTER_LINEAR).astype(float)
    errors = np.abs(found - first.picture.astype(float)).mean(axis=2) / 255
    return np.asarray(errors.ravel()[is_same])


@pytest.mark.parametrize("camera", CAMERAS)
def test_depth_and_poses_lead_from_one_picture_to_another(place, camera):
    table = place.table(camera)
    rows = [table.take(np.array([frame])) for frame in (0, 6, 8)]
    views = [place.drawer.draw(row) for row in rows]
    for pair in ((0, 1), (1, 2)):
        cameras = np.concatenate([rows[number].camera for number in pair])
        assert not np.allclose(*cameras)
        errors = warp_errors([views[number] for number in pair], cameras)
        assert len(errors) > 0.1 * WIDTH * HEIGHT
        print(f"{place.family} {camera} {pair}: median {np.median(errors):.2%} of {len(errors)} pixels")
        assert np.median(errors) < LARGEST_ERROR, pair


def test_a_pose_that_is_wrong_by_a_pixel_would_be_noticed(place):
    table = place.table("orbit_left")
    rows = [table.take(np.array([frame])) for frame in (0, 6)]
    views = [place.drawer.draw(row) for row in rows]
    right = np.concatenate([row.camera for row in rows])
    wrong = right.copy()
    pixel = 1 / intrinsics(WIDTH, HEIGHT)[0, 0]
    wrong[1, :3, :3] = rotation(np.array([1, 0, 0, pixel / 2])).as_matrix() @ right[1, :3, :3]
    assert np.median(warp_errors(views, wrong)) > 1.3 * np.median(warp_errors(views, right))


def corners(table: StateTable, row: int, part: int, thing: int) -> np.ndarray:
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    own = rotation(table.part_quaternion[row, part]).apply(signs * table.part_size[row, part] / 2)
    inside = own + table.part_position[row, part]
    return rotation(table.quaternion[row, thing]).apply(inside) + table.position[row, thing]


def test_every_mask_lies_within_the_boxes_of_its_parts_and_what_is_out_of_view_has_none(place):
    table = place.table("pan_right", "both")
    scene = build_clip(ClipRecipe(family=place.family, event="none", camera="static", seed=0)).scene
    owners = np.array(scene.owners)
    checked = 0
    for frame in (0, 12, 23):
        instances = place.drawer.instances(table.take(np.array([frame])))
        assert instances.max() <= len(scene.things)
        for thing, noun in enumerate(scene.things):
            rows, columns = np.nonzero(instances == thing + 1)
            if noun.role == "copy":
                assert len(rows) == 0, noun.name
                continue
            points = np.concatenate([corners(table, frame, part, thing) for part in np.flatnonzero(owners == thing)])
            pixels, depth = project(points, table.camera[frame], intrinsics(WIDTH, HEIGHT))
            if (depth < 0.06).all():
                assert len(rows) == 0, noun.name
            if (depth < 0.06).any():
                continue
            low, high = pixels.min(axis=0) - 1, pixels.max(axis=0) + 1
            if len(rows):
                assert (np.array([columns.min(), rows.min()]) >= low).all(), noun.name
                assert (np.array([columns.max(), rows.max()]) <= high).all(), noun.name
                checked += 1
            if (high < 0).any() or (low > (WIDTH, HEIGHT)).any():
                assert len(rows) == 0, noun.name
    assert checked >= 5
