from __future__ import annotations

import numpy as np
import pytest

from lookaway.metrics.track_similarity import centroid_cosines, greedy_tracks, unit_vectors

ANNA, BERT = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])


def tracks(vectors, frames, min_cosine=0.15):
    return greedy_tracks(np.array(vectors), np.array(frames), min_cosine=min_cosine)


def test_two_people_are_two_tracks_whoever_is_found_first():
    assert tracks([ANNA, BERT, BERT, ANNA], [0, 0, 5, 5]) == [[0, 3], [1, 2]]


def test_somebody_who_comes_back_continues_the_track():
    assert tracks([ANNA, BERT, ANNA], [0, 10, 20]) == [[0, 2], [1]]


def test_a_stranger_opens_a_track_and_two_faces_of_one_frame_never_share_one():
    assert tracks([ANNA, ANNA], [0, 0]) == [[0], [1]]
    assert tracks([ANNA, BERT], [0, 1]) == [[0], [1]]


def test_the_likest_pair_is_joined_first():
    likest, less = np.array([0.9, 0.1, 0.0]), np.array([0.6, 0.6, 0.0])
    assert tracks([ANNA, less, likest], [0, 1, 1]) == [[0, 2], [1]]


@pytest.mark.parametrize(("cosine", "joins"), [(0.16, True), (0.14, False)])
def test_the_threshold_is_on_the_cosine(cosine, joins):
    other = np.array([cosine, np.sqrt(1 - cosine**2), 0.0])
    assert (len(tracks([ANNA, other], [0, 1])) == 1) is joins


def test_the_mean_of_a_track_counts_where_it_is_likelier_than_its_last_sight():
    turned = np.array([0.5, 0.0, np.sqrt(0.75)])
    back = np.array([0.98, 0.0, -np.sqrt(1 - 0.98**2)])
    assert tracks([ANNA, ANNA, turned, back], [0, 1, 2, 3], min_cosine=0.4) == [[0, 1, 2, 3]]
    assert tracks([turned, back], [2, 3], min_cosine=0.4) == [[0], [1]]


def test_the_length_of_vectors_does_not_matter():
    assert tracks([ANNA * 100, ANNA * 0.01], [0, 1]) == [[0, 1]]


def test_no_face_is_no_track():
    assert greedy_tracks(np.zeros((0, 3)), np.zeros(0, np.int64), min_cosine=0.15) == []


def test_the_cosine_with_the_mean_is_1_for_equal_vectors_and_falls_with_the_angle():
    assert centroid_cosines(np.array([ANNA, ANNA * 3])) == pytest.approx([1.0, 1.0])
    assert centroid_cosines(np.array([ANNA, BERT])) == pytest.approx([np.sqrt(0.5)] * 2)
    assert centroid_cosines(np.array([ANNA, -ANNA])) == pytest.approx([0.0, 0.0])


def test_a_vector_of_nothing_stays_one():
    assert unit_vectors(np.zeros((1, 3))).tolist() == [[0.0, 0.0, 0.0]]
