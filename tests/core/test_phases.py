from __future__ import annotations

import pytest

from lookaway.core import Reason, Unmeasurable
from lookaway.core.phases import Phase, map_phases, map_phases_sharing_ends
from tests.support.golden import golden_numbers


def starts(left, back):
    return {"visible": 0, "disappeared": left, "reappeared": back}


def bounds(phases):
    return [(phase.start, phase.stop) for phase in phases]


def test_published_keyframes_are_those_of_the_official_code():
    cases = golden_numbers("memobench")["map_keyframes(d_start,r_start,gt_frames,gen_frames)"]
    assert len(cases) == 7
    for case in cases:
        left, back, reference, frames = case["in"]
        phases = map_phases_sharing_ends(starts(left, back), reference, frames)
        assert [phase.start for phase in phases[1:]] == case["out"]


def test_published_phases_share_their_ends():
    assert bounds(map_phases_sharing_ends(starts(40, 80), 120, 81)) == [(0, 28), (27, 55), (54, 81)]


def test_published_ends_correspond_to_ends():
    for phase in map_phases_sharing_ends(starts(40, 80), 120, 81):
        assert phase.partner_between_ends(phase.start) == phase.reference_start
        assert phase.partner_between_ends(phase.stop - 1) == phase.reference_stop - 1


def test_published_halves_are_rounded_to_even_numbers():
    assert [Phase("all", 0, 5, 0, 3).partner_between_ends(frame) for frame in range(5)] == [0, 0, 1, 2, 2]


def test_a_published_phase_of_one_frame_has_its_first_partner():
    assert Phase("reappeared", 80, 81, 299, 300).partner_between_ends(80) == 299


def test_the_last_published_phase_of_a_very_short_video_is_empty():
    last = map_phases_sharing_ends(starts(2, 3), 4, 4)[-1]
    assert last.stop <= last.start


@pytest.mark.parametrize(
    ("left", "back", "reference", "frames"),
    [(40, 80, 120, 81), (150, 150, 300, 81), (1, 299, 300, 81), (2, 3, 4, 4), (1, 2, 300, 81), (5, 7, 9, 300)],
)
def test_phases_cover_the_video_without_overlap_and_stay_in_their_own_phase_of_the_reference(
    left, back, reference, frames
):
    phases = map_phases(starts(left, back), reference, frames)
    covered = [frame for phase in phases for frame in range(phase.start, phase.stop)]
    assert covered == list(range(frames))
    for phase in phases:
        partners = [phase.partner(frame) for frame in range(phase.start, phase.stop)]
        assert partners == sorted(partners)
        assert all(phase.reference_start <= partner < phase.reference_stop for partner in partners)


def test_a_video_of_the_same_length_has_the_same_phases_and_each_frame_itself_as_partner():
    phases = map_phases(starts(40, 80), 120, 120)
    assert bounds(phases) == [(0, 40), (40, 80), (80, 120)]
    assert [phase.partner(frame) for phase in phases for frame in range(phase.start, phase.stop)] == list(range(120))


def test_a_phase_that_the_reference_does_not_have_is_empty_and_not_made_up():
    visible, disappeared, reappeared = map_phases(starts(150, 150), 300, 81)
    assert (visible.stop, disappeared.stop - disappeared.start, reappeared.start) == (41, 0, 41)
    assert 40 in visible
    assert 41 not in visible


@pytest.mark.parametrize("wrong", [{}, {"visible": 1}, starts(80, 40), starts(40, 120)])
@pytest.mark.parametrize("mapping", [map_phases, map_phases_sharing_ends])
def test_keyframes_that_make_no_phases_are_refused(mapping, wrong):
    with pytest.raises(Unmeasurable, match="Correct the keyframes") as raised:
        mapping(wrong, 120, 81)
    assert raised.value.reason is Reason.INVALID_RECORD


def test_the_published_mapping_is_of_three_phases():
    with pytest.raises(ValueError, match="three phases"):
        map_phases_sharing_ends({"seen": 0, "gone": 4}, 120, 81)
