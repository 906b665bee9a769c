from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from lookaway.world.clip import Clip, build_clip
from lookaway.world.drawing import Drawer, DrawnFrame, intrinsics
from lookaway.world.graphics import restyled
from lookaway.world.states import StateTable
from lookaway.world.turns import look, project
from tests.support.scenes import BACK_WALL_Y, PEDESTAL, RADIUS, small_recipe

pytestmark = pytest.mark.render

WIDTH, HEIGHT = 224, 128
POSES = {
    "straight": look((0.1, -2.2, 0.7), 0, 0),
    "from above": look((0.5, -1.8, 1.6), 15, -25),
    "from the side": look((-1.2, -1.0, 0.5), -30, 5),
}


@pytest.fixture(scope="module")
def clip() -> Clip:
    return build_clip(small_recipe(event="none"))


@pytest.fixture(scope="module")
def drawer(clip: Clip) -> Iterator[Drawer]:
    with Drawer(clip.scene, WIDTH, HEIGHT) as drawer:
        yield drawer


@pytest.fixture(scope="module")
def row(clip: Clip) -> StateTable:
    return clip.table.take(np.array([0])).edited(camera=POSES["straight"][None])


def number(clip: Clip, name: str) -> int:
    return clip.scene.names.index(name) + 1


def rays(pose: np.ndarray) -> np.ndarray:
    """[height, width, 3] in the world, of depth 1."""
    columns, rows = np.meshgrid(np.arange(WIDTH) + 0.5, np.arange(HEIGHT) + 0.5)
    pixels = np.stack([columns, rows, np.ones_like(rows)], axis=-1)
    return pixels @ np.linalg.inv(intrinsics(WIDTH, HEIGHT)).T @ pose[:3, :3].T


def inside(mask: np.ndarray) -> np.ndarray:
    """Pixels whose eight neighbours are in the mask too."""
    padded = np.pad(mask, 1)
    shifted = [padded[y : y + HEIGHT, x : x + WIDTH] for y in range(3) for x in range(3)]
    return np.logical_and.reduce(shifted)


def same(first: DrawnFrame, second: DrawnFrame) -> bool:
    return all(
        np.array_equal(getattr(first, name), getattr(second, name)) for name in ("picture", "depth", "instances")
    )


@pytest.mark.parametrize("name", POSES)
@pytest.mark.parametrize(("plane", "axis", "at"), [("back wall", 1, BACK_WALL_Y), ("floor", 2, 0.0)])
def test_depth_is_the_distance_to_a_plane_along_the_axis_of_the_camera(clip, drawer, row, name, plane, axis, at):
    pose = POSES[name]
    view = drawer.draw(row.edited(camera=pose[None]))
    mask = inside(view.instances == number(clip, plane))
    assert mask.sum() > 300
    expected = (at - pose[axis, 3]) / rays(pose)[..., axis]
    np.testing.assert_allclose(view.depth[mask], expected[mask], atol=1e-3)


@pytest.mark.parametrize("name", POSES)
def test_depth_is_the_distance_to_a_box(clip, drawer, row, name):
    pose = POSES[name]
    view = drawer.draw(row.edited(camera=pose[None]))
    mask = inside(view.instances == number(clip, "pedestal"))
    assert mask.sum() > 100
    slabs = np.sort([(np.array(corner) - pose[:3, 3]) / rays(pose) for corner in PEDESTAL], axis=0)
    np.testing.assert_allclose(view.depth[mask], slabs[0].max(axis=-1)[mask], atol=1e-3)


@pytest.mark.parametrize("name", POSES)
def test_depth_is_the_distance_to_a_ball(drawer, row, name):
    pose = POSES[name]
    view = drawer.draw(row.edited(camera=pose[None]))
    mask = inside(inside(view.instances == 1))
    assert mask.sum() > 100
    ways, back = rays(pose), pose[:3, 3] - (0, 0, RADIUS)
    a, b, c = (ways**2).sum(-1), 2 * ways @ back, back @ back - RADIUS**2
    expected = (-b - np.sqrt(np.maximum(b**2 - 4 * a * c, 0))) / (2 * a)
    # A drawn ball is made of flat faces.
    np.testing.assert_allclose(view.depth[mask], expected[mask], atol=6e-3)


@pytest.mark.parametrize("name", POSES)
def test_a_box_is_drawn_where_the_intrinsics_project_it(clip, drawer, row, name):
    view = drawer.draw(row.edited(camera=POSES[name][None]))
    low, high = PEDESTAL
    corners = np.array([[x, y, z] for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])])
    pixels, depth = project(corners, POSES[name], intrinsics(WIDTH, HEIGHT))
    assert (depth > 0).all()
    rows, columns = np.nonzero(view.instances == number(clip, "pedestal"))
    expected = [*np.clip(pixels.min(axis=0), 0, None), *np.minimum(pixels.max(axis=0), (WIDTH, HEIGHT))]
    np.testing.assert_allclose([columns.min(), rows.min(), columns.max() + 1, rows.max() + 1], expected, atol=1.0)


def test_an_instance_is_found_where_its_thing_is(clip, drawer, row):
    view = drawer.draw(row)
    middles = row.position[0] + [0, 0, 0.1]
    for name in ("block 1", "block 3", "block 4", "poster 1", "poster 2"):
        place = middles[clip.scene.names.index(name)]
        (column, line), _ = (part[0] for part in project(place[None], row.camera[0], intrinsics(WIDTH, HEIGHT)))
        assert view.instances[int(line), int(column)] == number(clip, name), name


def test_sky_has_no_depth_and_no_instance(drawer, row):
    view = drawer.draw(row.edited(camera=look((0, -2, 0.8), 0, 80)[None]))
    assert (view.instances == 0).all()
    assert (view.depth == 0).all()


def test_a_ghost_is_the_mean_of_with_and_without(drawer, row):
    def shown(opacity: float) -> DrawnFrame:
        column = row.opacity.copy()
        column[0, 0] = opacity
        return drawer.draw(row.edited(opacity=column))

    there, gone = shown(1.0), shown(0.0)
    for opacity in (0.25, 0.5, 0.8):
        expected = np.rint(opacity * there.picture.astype(float) + (1 - opacity) * gone.picture.astype(float))
        np.testing.assert_array_equal(shown(opacity).picture, expected)
    assert np.array_equal(shown(0.5).instances, there.instances)
    assert np.array_equal(shown(0.49).instances, gone.instances)
    assert not (gone.instances == 1).any()


def test_ghosts_of_two_weights_are_mixed_from_all_levels(clip, drawer, row):
    column = row.opacity.copy()
    column[0, 0], column[0, number(clip, "pedestal") - 1] = 0.3, 0.6
    ghosts = drawer.draw(row.edited(opacity=column)).picture.astype(float)
    kept = [(column > level).astype(float) for level in (0.0, 0.3, 0.6)]
    pictures = [drawer.draw(row.edited(opacity=opacity)).picture.astype(float) for opacity in kept]
    np.testing.assert_array_equal(ghosts, np.rint(0.3 * pictures[0] + 0.3 * pictures[1] + 0.4 * pictures[2]))


def test_copies_that_wait_are_not_drawn(clip, drawer, row):
    copies = [index for index, thing in enumerate(clip.scene.things) if thing.role == "copy"]
    position = row.position.copy()
    position[0, copies] = (0.6, -0.4, 0.3)
    assert same(drawer.draw(row.edited(position=position)), drawer.draw(row))
    opacity = row.opacity.copy()
    opacity[0, copies[0]] = 1.0
    assert (drawer.draw(row.edited(position=position, opacity=opacity)).instances == copies[0] + 1).any()


def edits(row: StateTable) -> dict[str, StateTable]:
    """One row for everything that can be edited."""
    return {
        "place": row.edited(position=row.position + 0.1),
        "turn": row.edited(quaternion=np.roll(row.quaternion, 1, axis=2)),
        "opacity": row.edited(opacity=row.opacity * 0.5),
        "part place": row.edited(part_position=row.part_position + 0.1),
        "part turn": row.edited(part_quaternion=np.roll(row.part_quaternion, 1, axis=2)),
        "part size": row.edited(part_size=row.part_size * 0.8),
        "tint": row.edited(part_tint=row.part_tint * (0.5, 1, 0.7)),
        "repaint": row.edited(part_repaint=np.full_like(row.part_repaint, 0.6)),
        "light": row.edited(light=row.light * (0.5, 0.6, 0.7)),
        "style": row.edited(style=np.full_like(row.style, 0.5)),
        "camera": row.edited(camera=POSES["from above"][None]),
    }


def test_every_column_shows_and_none_leaves_a_trace(drawer, row):
    clean = drawer.draw(row)
    for name, edited in edits(row).items():
        assert not same(drawer.draw(edited), clean), name
        assert same(drawer.draw(row), clean), name


def test_pictures_do_not_depend_on_the_order_of_drawing_nor_on_the_drawer(clip, drawer, row):
    rows = [row, *edits(row).values()]
    forwards = [drawer.draw(each) for each in rows]
    with Drawer(clip.scene, WIDTH, HEIGHT) as other:
        backwards = [other.draw(each) for each in reversed(rows)][::-1]
        assert same(drawer.draw(row), forwards[0])  # both are open, and neither disturbs the other
    assert all(same(first, second) for first, second in zip(forwards, backwards, strict=True))


def test_instances_alone_are_those_of_the_whole_view(drawer, row):
    for edited in edits(row).values():
        np.testing.assert_array_equal(drawer.instances(edited), drawer.draw(edited).instances)


def test_no_style_is_the_picture_itself_and_more_of_it_differs_more(drawer, row):
    picture = drawer.draw(row).picture
    assert restyled(picture, 0.0) is picture
    differences = [np.abs(restyled(picture, weight).astype(int) - picture).mean() for weight in (0.01, 0.3, 0.6, 1.0)]
    assert differences[0] < 1
    assert (np.diff(differences) > 0).all()
