import numpy as np
import pytest

from lookaway.io.decoding import FrameIndex, PacketTime


def packets(*ticks, keyframes=(0,)):
    return [PacketTime(tick, 1, number in keyframes) for number, tick in enumerate(ticks)]


def index_of(stored, **settings):
    return FrameIndex.of(stored, seconds_per_tick=0.5, fps=10, **settings)


def test_frames_are_listed_in_the_order_of_showing():
    index = index_of(packets(10, 18, 12, 14, 16, 26, 20, 22, 24, keyframes=(0, 5)))
    assert index.ticks == (10, 12, 14, 16, 18, 20, 22, 24, 26)
    assert index.times_seconds.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8]
    assert index.keyframes == (0, 8)


def test_a_frame_is_trusted_when_all_that_were_stored_before_it_were_shown():
    index = index_of(packets(10, 18, 12, 14, 16, 26, 20, 22, 24))
    assert index.trusted_after.tolist() == [0, 4, 4, 4, 4, 8, 8, 8, 8]


@pytest.mark.parametrize("ticks", [(0, 1, 1, 3), (0, None, 2, 3), (None, None, None, None)])
def test_times_that_repeat_or_are_missing_are_counted(ticks):
    index = index_of(packets(*ticks))
    assert index.ticks == ()
    assert index.keyframes == (0,)
    assert index.times_seconds == pytest.approx([0, 0.1, 0.2, 0.3])


def test_times_of_storing_give_seconds_but_no_order():
    index = index_of(packets(*range(5, 45), keyframes=(0, 10)), has_order=False)
    assert index.ticks == ()
    assert index.times_seconds.tolist() == (np.arange(40) * 0.5).tolist()
    assert index.trusted_after[:3].tolist() == [16, 17, 18]
    assert index.trusted_after[-1] == 39


@pytest.mark.parametrize(("index", "keyframe"), [(0, 0), (2, 0), (3, 3), (5, 3), (6, 6), (8, 6)])
def test_decoding_starts_from_the_last_keyframe_before(index, keyframe):
    assert index_of(packets(*range(9), keyframes=(3, 6))).keyframe_before(index) == keyframe


def test_times_at_the_limits_of_a_clock_do_not_wrap():
    index = index_of(packets(-(2**62), 0, 2**62))
    assert index.times_seconds.tolist() == [0, 2.0**61, 2.0**62]
