from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from lookaway.core import UserError
from lookaway.world.clip import build_clip
from lookaway.world.drawing import Drawer, DrawnFrame
from lookaway.world.faults import FAULTS, FaultyCase, find_fault
from lookaway.world.faults.camera import angle_degrees
from lookaway.world.faults.contract import doubling
from lookaway.world.faults.target import lowest_points
from lookaway.world.phases import Phases
from lookaway.world.recipe import ClipRecipe, Injection
from lookaway.world.states import StateTable, still_table
from lookaway.world.studio import CannotInject, Shot, Studio, injected
from lookaway.world.turns import rotation
from tests.support.scenes import small_recipe

pytestmark = pytest.mark.render

SEVERITIES = (0.2, 0.4, 0.6, 0.8, 1.0)
CASES = [
    small_recipe(),
    small_recipe(seed=1, event="spatial", family="test_sliding", camera="yaw_left_60"),
    small_recipe(seed=3, event="in_place", family="test_sliding", camera="u_turn"),
]
"""Every fault can be injected into each of them."""
RANDOM = ("identity_colour", "identity_shape", "layout_change", "lighting_shift")


@dataclass(frozen=True)
class Set:
    """A clean shot, with a drawer for single frames of what faults make of it."""

    clean: Shot
    drawer: Drawer

    @property
    def case(self) -> FaultyCase:
        return FaultyCase(clip=self.clean.clip, phases=self.clean.phases)

    @property
    def last(self) -> int:
        return self.clean.recipe.frames - 1

    @property
    def away(self) -> int:
        """The frame in the middle of the absence."""
        return (self.clean.phases.d_start + self.clean.phases.r_start) // 2

    def edited(self, fault: str, severity: float, *, take: int = 0) -> StateTable:
        return FAULTS[fault].edit(replace(self.case, take=take), self.clean.clip.table, severity)

    def dose(self, fault: str, severity: float) -> float:
        return FAULTS[fault].dose(self.case, self.edited(fault, severity))

    def view(self, table: StateTable, frame: int) -> DrawnFrame:
        return self.drawer.draw(table.take(np.array([frame])))


@pytest.fixture(scope="module", params=CASES, ids=lambda recipe: recipe.case)
def a_set(request) -> Iterator[Set]:
    recipe: ClipRecipe = request.param
    studio = Studio()
    clean = studio.shoot(recipe)
    studio.close()
    with Drawer(clean.clip.scene, recipe.width, recipe.height) as drawer:
        yield Set(clean, drawer)


def same_view(first: DrawnFrame, second: DrawnFrame) -> bool:
    return all(
        np.array_equal(getattr(first, name), getattr(second, name)) for name in ("picture", "depth", "instances")
    )


def same_rows(first: StateTable, second: StateTable, rows: slice, *, but: tuple[str, ...] = ()) -> bool:
    columns = [field.name for field in fields(StateTable) if field.name not in but]
    return all(np.array_equal(getattr(first, name)[rows], getattr(second, name)[rows]) for name in columns)


# What holds for all of them


@pytest.mark.parametrize("fault", FAULTS)
def test_severity_0_is_the_clean_clip_to_the_last_bit(shoot, fault):
    clean, faulty = shoot(), shoot(**{fault: 0.0})
    assert all(same_view(a, b) for a, b in zip(clean.views, faulty.views, strict=True))
    assert faulty.doses == (0.0,)


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_seen_before_a_fault_begins_is_the_clean_clip_to_the_last_bit(shoot, fault):
    clean, faulty = shoot(), shoot(**{fault: 1.0})
    same = [same_view(a, b) for a, b in zip(clean.views, faulty.views, strict=True)]
    if FAULTS[fault].begins_unseen:
        assert all(same[: clean.phases.d_start])
    assert same[0]
    assert not all(same)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_little_of_a_fault_changes_little(a_set, fault):
    little, much = a_set.edited(fault, 0.01), a_set.edited(fault, 1.0)
    frames = (a_set.away, a_set.last)

    def difference(table: StateTable) -> float:
        pairs = [(a_set.view(table, frame).picture, a_set.clean.views[frame].picture) for frame in frames]
        return float(np.mean([np.abs(a.astype(int) - b.astype(int)).mean() for a, b in pairs]))

    if fault == "temporal_cut":  # whole frames, and at least one
        assert FAULTS[fault].dose(a_set.case, little) == pytest.approx(1 / a_set.clean.recipe.fps)
    elif fault == "camera_never_moves":  # every pixel of a detailed picture differs when it moves by one
        assert FAULTS[fault].dose(a_set.case, little) == pytest.approx(0.01 * a_set.dose(fault, 1.0))
    else:
        assert difference(little) < max(0.1, 0.2 * difference(much))


def turned_degrees(a_set: Set) -> float:
    """Of the whole path; none of the cases moves the camera otherwise."""
    requested = a_set.clean.clip.table.camera[: a_set.last + 1]
    return sum(angle_degrees(*pair) for pair in pairwise(requested))


def expected_dose(a_set: Set, fault: str, severity: float) -> float | None:
    recipe, phases = a_set.clean.recipe, a_set.clean.phases
    by_fault: dict[str, Callable[[], float]] = {
        "vanish": lambda: severity,
        "teleport": lambda: 2 ** (5 * severity - 4),
        "duplicate": lambda: 5 * severity,
        "frozen_while_unseen": lambda: severity * (phases.r_start - phases.d_start) / recipe.fps,
        "layout_change": lambda: severity,
        "style_shift": lambda: severity,
        "lighting_shift": lambda: severity * -np.log2([0.75, 0.5, 0.32]).mean(),
        "camera_drift": lambda: 14 * 2 ** (5 * severity - 5),
        "camera_never_moves": lambda: severity * turned_degrees(a_set),
        "temporal_cut": lambda: round(severity * recipe.fps) / recipe.fps,
    }
    return by_fault[fault]() if fault in by_fault else None


@pytest.mark.parametrize("fault", FAULTS)
def test_doses_grow_with_severity_and_are_those_of_the_dial(a_set, fault):
    doses = [a_set.dose(fault, severity) for severity in SEVERITIES]
    assert (np.diff([0.0, *doses]) > 0).all(), doses
    for severity, dose in zip(SEVERITIES, doses, strict=True):
        expected = expected_dose(a_set, fault, severity)
        if expected is not None:
            assert dose == pytest.approx(expected, rel=1e-6), severity


def middle(mask: np.ndarray) -> np.ndarray:
    rows, columns = np.nonzero(mask)
    return np.array([columns.mean(), rows.mean()]) if len(rows) else np.full(2, np.nan)


def of_picture(a_set: Set, table: StateTable) -> float:
    """Mean difference of the last picture."""
    clean = a_set.clean.views[a_set.last].picture.astype(int)
    return float(np.abs(a_set.view(table, a_set.last).picture.astype(int) - clean).mean())


def of_masks(a_set: Set, table: StateTable) -> float:
    """Part of the last picture that shows another thing than it should."""
    return float((a_set.view(table, a_set.last).instances != a_set.clean.views[a_set.last].instances).mean())


def of_place(a_set: Set, table: StateTable) -> float:
    """Pixels from where the target should be in the last picture."""
    found, true = (v.instances == 1 for v in (a_set.view(table, a_set.last), a_set.clean.views[a_set.last]))
    return float(np.linalg.norm(middle(found) - middle(true)))


def of_copies(a_set: Set, table: StateTable) -> float:
    """Area of the copies in the last picture."""
    first = len(a_set.clean.clip.scene.things) - 5 + 1
    return float((a_set.view(table, a_set.last).instances >= first).mean())


def of_absence(a_set: Set, table: StateTable) -> float:
    """Frames of the absence in which the target is in sight."""
    frames = range(a_set.clean.phases.d_start, a_set.clean.phases.r_start)
    return sum(bool((a_set.drawer.instances(table.take(np.array([frame]))) == 1).any()) for frame in frames)


def of_time(a_set: Set, table: StateTable) -> float:
    """Frames that show another state or view than they should."""
    rows = zip(table.rows(), a_set.clean.clip.table.rows(), strict=True)
    return sum(a.drawn_key() != b.drawn_key() for a, b in list(rows)[: a_set.last + 1])


EVIDENCE: dict[str, Callable[[Set, StateTable], float]] = {
    "identity_shape": of_masks,
    "teleport": of_place,
    "duplicate": of_copies,
    "layout_change": of_masks,
    "camera_drift": of_place,
    "camera_never_moves": of_absence,
    "dragged_along": of_absence,
    "temporal_cut": of_time,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_more_of_a_fault_shows_more(a_set, fault):
    evidence = EVIDENCE.get(fault, of_picture)
    if fault in ("state_reset", "frozen_while_unseen") and a_set.clean.recipe.event != "in_place":
        evidence = of_place  # pictures differ no more once the two places do not overlap
    seen = [evidence(a_set, a_set.edited(fault, severity)) for severity in SEVERITIES]
    assert seen[-1] > 0
    rises = np.diff([0.0, *seen])
    if fault in ("camera_never_moves", "dragged_along", "temporal_cut"):
        assert (rises >= 0).all(), seen
        assert seen[-1] > seen[0]
    elif fault == "state_reset":  # a lid that is shut differs from an open one no more than one that is ajar
        assert (rises > -0.05 * seen[-1]).all(), seen
    else:
        assert (rises > 0).all(), seen


@pytest.mark.parametrize("fault", RANDOM)
def test_another_take_has_another_fault_and_the_same_take_the_same(a_set, fault):
    tables = [a_set.edited(fault, 1.0, take=take) for take in range(8)]
    assert len({tuple(row.drawn_key() for row in table.rows()) for table in tables}) > 1
    assert same_rows(a_set.edited(fault, 1.0, take=5), tables[5], slice(None))


@pytest.mark.parametrize("fault", sorted(set(FAULTS) - set(RANDOM)))
def test_a_fault_without_chance_is_the_same_in_every_take(a_set, fault):
    assert same_rows(a_set.edited(fault, 1.0, take=0), a_set.edited(fault, 1.0, take=1), slice(None))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_leaves_the_clean_table_alone(a_set, fault):
    before = [row.drawn_key() for row in a_set.clean.clip.table.rows()]
    a_set.edited(fault, 1.0)
    assert [row.drawn_key() for row in a_set.clean.clip.table.rows()] == before


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_says_what_it_does(fault):
    told = find_fault(fault)
    assert told.name == fault
    assert len(told.summary) > 10
    assert told.dose_unit
    assert not set(told.moves) & set(told.spares)


# One by one


def test_a_target_that_vanished_leaves_not_one_pixel(shoot):
    shot = shoot(vanish=1.0)
    assert not any((view.instances == 1).any() for view in shot.views[shot.phases.d_start :])


def test_a_reset_shows_the_target_as_at_the_start(a_set):
    table = a_set.edited("state_reset", 1.0)
    first, back = (table.take(np.array([frame])) for frame in (0, a_set.last))
    parts = a_set.case.target_parts
    np.testing.assert_allclose(back.position[0, 0], first.position[0, 0], atol=1e-12)
    np.testing.assert_allclose(back.quaternion[0, 0], first.quaternion[0, 0], atol=1e-12)
    for column in ("part_position", "part_quaternion", "part_size", "part_tint"):
        np.testing.assert_allclose(getattr(back, column)[0, parts], getattr(first, column)[0, parts], atol=1e-12)
    still = build_clip(replace(a_set.clean.recipe, event="none")).table
    assert np.array_equal(a_set.view(table, a_set.last).instances, a_set.view(still, a_set.last).instances)


def test_a_frozen_target_comes_back_as_it_left(a_set):
    phases = a_set.clean.phases
    table, clean = a_set.edited("frozen_while_unseen", 1.0), a_set.clean.clip.table
    for column in ("position", "quaternion", "part_position", "part_quaternion", "part_size", "part_tint"):
        left, back = getattr(clean, column)[phases.d_start, 0], getattr(table, column)[phases.r_start, 0]
        np.testing.assert_allclose(back, left, atol=1e-9)
    np.testing.assert_allclose(table.progress[phases.r_start], clean.progress[phases.d_start], atol=1e-12)
    # And it goes on from there.
    assert (table.progress[a_set.last] > table.progress[phases.r_start]).any()


def test_a_dragged_target_is_in_sight_all_the_time(a_set):
    table = a_set.edited("dragged_along", 1.0)
    seen = [(a_set.drawer.instances(table.take(np.array([frame]))) == 1).any() for frame in range(a_set.last + 1)]
    assert all(seen)


@pytest.mark.parametrize("fault", ["dragged_along", "camera_never_moves"])
def test_a_fault_that_is_over_at_the_return_has_a_dose_all_the_same(a_set, fault):
    table, clean = a_set.edited(fault, 1.0), a_set.clean.clip.table
    last = np.array([a_set.last])
    np.testing.assert_allclose(table.take(last).position, clean.take(last).position, atol=1e-9)
    np.testing.assert_allclose(table.take(last).camera, clean.take(last).camera, atol=1e-9)
    assert a_set.dose(fault, 1.0) > 1


@pytest.mark.parametrize("fault", ["identity_texture", "identity_colour"])
def test_another_look_is_as_far_from_the_true_one_as_colours_are(a_set, fault):
    half, full = a_set.dose(fault, 0.5), a_set.dose(fault, 1.0)
    assert 5 < half < full < 150


def test_a_target_dragged_half_of_the_way_stays_at_its_distance(a_set):
    camera = a_set.clean.clip.table.camera
    apart = [
        np.linalg.norm(table.position[:, 0] - camera[:, :3, 3], axis=1)
        for table in (a_set.edited("dragged_along", 0.5), a_set.clean.clip.table)
    ]
    np.testing.assert_allclose(apart[0], apart[1], rtol=1e-9)  # all these cameras only turn


def test_a_camera_that_never_moves_has_one_pose(a_set):
    camera = a_set.edited("camera_never_moves", 1.0).camera
    np.testing.assert_array_equal(camera, np.broadcast_to(camera[:1], camera.shape))


def test_a_camera_that_goes_half_of_the_way_turns_by_half_of_the_angle(a_set):
    asked, done = (t.camera[:, :3, :3] for t in (a_set.clean.clip.table, a_set.edited("camera_never_moves", 0.5)))
    angles = [np.degrees(Rotation.from_matrix(turns[0].T @ turns[a_set.away]).magnitude()) for turns in (asked, done)]
    assert angles[1] == pytest.approx(angles[0] / 2, rel=1e-6)
    assert done[a_set.away, 2, 0] == pytest.approx(0, abs=1e-9)  # and it does not roll


@pytest.mark.parametrize("seconds", [0.25, 0.5, 1.0])
def test_a_cut_skips_just_so_many_seconds_and_shows_all_else(a_set, seconds):
    recipe, clean = a_set.clean.recipe, a_set.clean.clip.table
    times = a_set.edited("temporal_cut", seconds).time[: recipe.frames]
    jumps = np.flatnonzero(np.diff(times) > 1.5 / recipe.fps)
    assert len(jumps) == 1
    assert times[-1] == pytest.approx(clean.time[a_set.last] + seconds)
    assert times[jumps[0] + 1] - times[jumps[0]] == pytest.approx(seconds + 1 / recipe.fps)


def test_every_copy_is_seen(a_set):
    things = len(a_set.clean.clip.scene.things)
    for count, severity in enumerate(SEVERITIES, start=1):
        view = a_set.view(a_set.edited("duplicate", severity), a_set.last)
        ids = [things - 5 + number for number in range(1, 6)]
        areas = [int((view.instances == number).sum()) for number in ids]
        assert [area > 0 for area in areas] == [number < count for number in range(5)], areas
        assert min(areas[:count]) > 0.1 * (view.instances == 1).sum()


def test_another_layout_leaves_the_target_alone_and_the_walls_where_they_are(a_set):
    table, clean, scene = a_set.edited("layout_change", 1.0), a_set.clean.clip.table, a_set.clean.clip.scene
    fixed = [index for index, thing in enumerate(scene.things) if not thing.is_movable]
    np.testing.assert_array_equal(table.position[:, fixed], clean.position[:, fixed])
    np.testing.assert_array_equal(table.quaternion[:, fixed], clean.quaternion[:, fixed])
    moved = np.linalg.norm(table.position[-1] - clean.position[-1], axis=1)
    assert (np.count_nonzero(moved)) >= 4
    assert moved.max() <= 0.8 + 1e-9
    reach = np.array([(thing.diameter + scene.target.diameter) / 2 for thing in scene.things])
    apart = np.linalg.norm((table.position[-1] - table.position[-1, 0])[:, :2], axis=1)
    assert (apart > reach)[moved > 0].all()


def test_nothing_is_moved_into_the_target(a_set):
    clip = a_set.clean.clip
    block = clip.scene.names.index("block 1")
    near = clip.table.position.copy()
    near[:, block] = near[:, 0] + (0.45, 0.1, 0)
    table = clip.table.edited(position=near)
    reach = (clip.scene.things[block].diameter + clip.scene.target.diameter) / 2
    for take in range(10):
        case = FaultyCase(clip=replace(clip, table=table), phases=a_set.clean.phases, take=take)
        moved = FAULTS["layout_change"].edit(case, table, 1.0).position[-1]
        assert np.linalg.norm((moved[block] - moved[0])[:2]) > reach


def test_a_camera_drifts_towards_the_target_so_that_it_stays_in_view(a_set):
    table, last = a_set.edited("camera_drift", 1.0), a_set.last
    found, true = (middle(view.instances == 1) for view in (a_set.view(table, last), a_set.clean.views[last]))
    assert np.sign(found[0] - true[0]) == -a_set.clean.clip.path.side


def test_pictures_on_a_wall_stay_on_it(a_set):
    table, scene = a_set.edited("layout_change", 1.0), a_set.clean.clip.scene
    posters = [scene.names.index(f"poster {number}") for number in (1, 2)]
    np.testing.assert_allclose(
        table.position[:, posters, 1], a_set.clean.clip.table.position[:, posters, 1], atol=1e-12
    )


def test_another_shape_still_stands_on_what_it_stood_on(a_set):
    table, scene = a_set.edited("identity_shape", 1.0), a_set.clean.clip.scene
    np.testing.assert_allclose(lowest_points(table, scene), lowest_points(a_set.clean.clip.table, scene), atol=1e-9)


@pytest.mark.parametrize("shape", ["box", "cylinder", "ellipsoid", "capsule"])
def test_the_lowest_point_of_a_turned_shape_is_that_of_its_surface(shape):
    clip = build_clip(small_recipe(family="test_falling", event="spatial"))
    part = replace(clip.scene.target.parts[0], shape=shape, size=(0.2, 0.2, 0.5))
    scene = replace(clip.scene, things=(replace(clip.scene.target, parts=(part,)), *clip.scene.things[1:]))
    table = still_table(scene, clip.table.camera, clip.table.time)
    table = table.edited(position=clip.table.position, quaternion=clip.table.quaternion)
    rng = np.random.default_rng(0)
    ways = rng.normal(size=(40000, 3))
    ways /= np.linalg.norm(ways, axis=1)[:, None]
    points = {
        "box": np.sign(ways) * (0.1, 0.1, 0.25),
        "ellipsoid": ways * (0.1, 0.1, 0.25),
        "capsule": ways * 0.1 + np.sign(ways[:, 2:]) * (0, 0, 0.15),
        "cylinder": np.concatenate(
            [ways[:, :2] / np.linalg.norm(ways[:, :2], axis=1)[:, None] * 0.1, np.sign(ways[:, 2:]) * 0.25], axis=1
        ),
    }[shape]
    for row in (0, 12, 20, 30):
        world = rotation(table.quaternion[row, 0]).apply(points + part.position) + table.position[row, 0]
        assert lowest_points(table, scene)[row] == pytest.approx(world[:, 2].min(), abs=2e-3)


def test_a_colour_is_never_filtered_towards_the_one_that_is_there_already(a_set):
    scene, clean = a_set.clean.clip.scene, a_set.clean.clip.table
    own = np.mean([np.mean(part.surface.colours, axis=0) for part in scene.target.parts], axis=0)
    strongest = np.argmax(own * clean.part_tint[-1, a_set.case.target_parts].mean(axis=0))
    for take in range(6):
        tint = a_set.edited("identity_colour", 1.0, take=take).part_tint[-1, 0] / clean.part_tint[-1, 0]
        assert tint[strongest] == pytest.approx(0.2)
        assert sorted(tint.round(9)) == [0.2, 0.2, 1.0]


def test_light_changes_slowly_and_is_all_changed_at_the_return(a_set):
    phases, light = a_set.clean.phases, a_set.edited("lighting_shift", 1.0).light
    assert (light[: phases.d_start + 1] == 1).all()
    assert (np.diff(light[phases.d_start : phases.r_start + 1], axis=0) < 0).all()
    np.testing.assert_array_equal(light[phases.r_start :], np.broadcast_to(light[-1], light[phases.r_start :].shape))


def test_the_dial_that_doubles_begins_at_nothing():
    assert doubling(0.0, 2.0) == 0
    assert [doubling(severity, 2.0) for severity in SEVERITIES] == pytest.approx([1 / 8, 1 / 4, 1 / 2, 1, 2])
    assert doubling(0.2 - 1e-9, 2.0) == pytest.approx(doubling(0.2 + 1e-9, 2.0))


# Several at once


PAIRS = [
    ("teleport", "state_reset"),
    ("identity_shape", "frozen_while_unseen"),
    ("identity_texture", "style_shift"),
    ("vanish", "duplicate"),
    ("camera_drift", "temporal_cut"),
    ("camera_never_moves", "dragged_along"),
    ("frozen_while_unseen", "state_reset"),
]


@pytest.mark.parametrize("pair", PAIRS, ids="+".join)
def test_two_faults_have_the_doses_that_each_has_alone_in_whatever_order(shoot, pair):
    clean = shoot()

    def made(**faults: float) -> tuple[StateTable, tuple[float, ...]]:
        injections = tuple(Injection(fault=name, severity=severity) for name, severity in faults.items())
        return injected(replace(clean.recipe, injections=injections), clean)

    first, second = pair
    (both, doses), (swapped, reversed_doses) = (
        made(**{first: 0.6, second: 0.4}),
        made(**{second: 0.4, first: 0.6}),
    )
    assert same_rows(both, swapped, slice(None))
    assert doses == reversed_doses[::-1]
    alone = (*made(**{first: 0.6})[1], *made(**{second: 0.4})[1])
    # The way is shorter, or less has happened, before the second one comes.
    if pair not in {("frozen_while_unseen", "state_reset"), ("camera_never_moves", "dragged_along")}:
        assert doses == pytest.approx(alone, rel=1e-6)
    assert all(dose > 0 for dose in doses)


def test_a_vanished_target_may_still_have_copies(shoot):
    shot = shoot(vanish=1.0, duplicate=0.4)
    last, things = shot.views[-1].instances, len(shot.clip.scene.things)
    assert not (last == 1).any()
    assert (last == things - 4).any()


def test_a_camera_that_stands_still_drags_nothing_along(shoot):
    assert shoot(camera_never_moves=1.0, dragged_along=1.0).doses == (pytest.approx(120.0), 0.0)


def test_what_a_process_has_used_up_has_a_dose_all_the_same(a_set):
    table = a_set.clean.clip.table
    gone = table.edited(part_size=table.part_size * (1, 1, 0), part_tint=table.part_tint * (1, 0, 1))
    case = replace(a_set.case, clip=replace(a_set.clean.clip, table=gone))
    for fault in ("identity_shape", "identity_colour"):
        assert 0 < FAULTS[fault].dose(case, FAULTS[fault].edit(case, gone, 1.0)) < 100


# Where a fault makes no sense


@pytest.mark.parametrize(
    ("fault", "fields", "said"),
    [
        ("state_reset", {"event": "none"}, "nothing happens to the target"),
        ("frozen_while_unseen", {"event": "none"}, "nothing happens to the target"),
        ("vanish", {"camera": "static"}, "does not disappear and return with the camera static"),
        ("lighting_shift", {"camera": "orbit_left"}, "does not disappear and return"),
        ("dragged_along", {"camera": "static"}, "asked to stand still"),
        ("camera_never_moves", {"camera": "static"}, "asked to stand still"),
        ("temporal_cut", {"camera": "static", "event": "none"}, "neither the camera nor the target does anything"),
    ],
)
def test_a_fault_that_makes_no_sense_is_declined_with_a_reason(fault, fields, said):
    recipe = small_recipe(**fields)
    frames = recipe.frames
    phases = Phases(d_start=frames, r_start=frames, frames=frames, causes=("visible",) * frames)
    refusal = FAULTS[fault].declines(FaultyCase(clip=build_clip(recipe), phases=phases))
    assert refusal is not None
    assert said in refusal


def test_a_place_without_anything_to_move_has_no_other_layout(a_set):
    scene = a_set.clean.clip.scene
    bare = replace(scene, things=tuple(replace(thing, is_movable=False) for thing in scene.things))
    case = replace(a_set.case, clip=replace(a_set.clean.clip, scene=bare))
    assert FAULTS["layout_change"].declines(case) == "nothing movable is in view at the end"


def test_a_declined_fault_is_an_error_that_names_case_fault_and_reason(shoot):
    with pytest.raises(CannotInject, match=r"test_room-none-.*: state_reset cannot be injected: nothing happens"):
        shoot(small_recipe(event="none"), state_reset=0.5)


def test_an_unknown_fault_is_answered_with_the_nearest_name():
    with pytest.raises(UserError, match="'teleport'"):
        find_fault("teleports")
