"""Metrics that ask whether people and things stay like themselves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lookaway.core import Abstention, Case, Feature, Reason, Rollout, Score
from lookaway.metrics.human_appearance import HumanAppearance
from lookaway.metrics.human_identity import HumanIdentity
from lookaway.metrics.object_texture import ObjectTexture

ROLLOUT = Rollout(case=Case(id="c", subset="human", scene="s"), model="m", video=Path("v.mp4"))
ANNA, BERT, CARL = np.eye(3)


def faces(vectors, frames):
    rows = np.array(vectors, np.float32).reshape(-1, 3)
    return Feature({"embeddings": rows, "frame_indices": np.array(frames, np.int64)})


def regions(vectors, frames, things=None):
    rows = np.array(vectors, np.float32).reshape(-1, 3)
    found = [0] * len(rows) if things is None else things
    return Feature({"vectors": rows, "frame_indices": np.array(frames, np.int64), "things": np.array(found, np.int64)})


def identity(vectors, frames):
    return HumanIdentity().measure(ROLLOUT, {"faces": faces(vectors, frames)})


def test_people_who_stay_themselves_have_the_best_score():
    outcome = identity([ANNA, BERT, ANNA, BERT], [0, 0, 9, 9])
    assert isinstance(outcome, Score)
    assert outcome.value == pytest.approx(1.0)
    assert [unit.name for unit in outcome.units] == ["track0", "track1"]
    assert outcome.detail == {"tracks": 2, "single_sights": 0}


def test_a_face_that_drifts_scores_less_the_further_it_drifts():
    scores = []
    for angle in (0.0, 0.4, 0.8, 1.2):
        drifted = np.array([np.cos(angle), np.sin(angle), 0.0])
        scores.append(identity([ANNA, drifted], [0, 9]).value)
    assert scores == sorted(scores, reverse=True)
    assert scores[2] == pytest.approx(np.cos(0.4))


def test_tracks_weigh_the_same_whatever_their_length():
    turned = np.array([0.0, np.cos(1.0), np.sin(1.0)])
    outcome = identity([ANNA, ANNA, ANNA, ANNA, BERT, turned], [0, 1, 2, 3, 0, 1])
    assert outcome.value == pytest.approx((1 + np.cos(0.5)) / 2)


def test_somebody_seen_once_is_listed_and_left_out():
    outcome = identity([ANNA, ANNA, BERT], [0, 9, 9])
    assert outcome.value == pytest.approx(1.0)
    assert outcome.detail == {"tracks": 1, "single_sights": 1}
    assert isinstance(outcome.units[1].outcome, Abstention)


def test_a_new_person_in_every_frame_is_no_proof_of_memory():
    outcome = identity([ANNA, BERT, CARL], [0, 1, 2])
    assert isinstance(outcome, Abstention)
    assert outcome.reason is Reason.TOO_SHORT
    assert len(outcome.units) == 3


def test_without_a_face_there_is_nobody_to_know_again():
    outcome = identity([], [])
    assert isinstance(outcome, Abstention)
    assert outcome.reason is Reason.NO_TARGET


def appearance(bodies):
    people = faces([ANNA, BERT, ANNA, BERT], [0, 0, 9, 9])
    return HumanAppearance().measure(ROLLOUT, {"faces": people, "bodies": bodies})


def test_a_body_belongs_to_the_face_of_its_number_in_its_frame():
    red, blue = ANNA, BERT
    kept = appearance(regions([red, blue, red, blue], [0, 0, 9, 9], [0, 1, 0, 1]))
    swapped = appearance(regions([red, blue, blue, red], [0, 0, 9, 9], [0, 1, 0, 1]))
    assert kept.value == pytest.approx(1.0)
    assert swapped.value == pytest.approx(np.sqrt(0.5))


def test_the_order_of_masks_does_not_matter():
    rows = regions([BERT, ANNA, BERT, ANNA], [9, 0, 0, 9], [1, 0, 1, 0])
    assert appearance(rows).value == pytest.approx(1.0)


def test_a_face_without_a_usable_body_is_left_out():
    outcome = appearance(regions([ANNA, ANNA, BERT], [0, 9, 9], [0, 0, 1]))
    assert outcome.value == pytest.approx(1.0)
    assert outcome.detail == {"tracks": 1, "single_sights": 1}
    nobody = appearance(regions([], []))
    assert isinstance(nobody, Abstention)
    assert nobody.reason is Reason.NO_TARGET


def test_a_thing_that_keeps_its_surface_has_the_best_score_and_one_that_does_not_less():
    kept = ObjectTexture().measure(ROLLOUT, {"regions": regions([ANNA, ANNA * 2, ANNA], [0, 5, 9])})
    changed = ObjectTexture().measure(ROLLOUT, {"regions": regions([ANNA, ANNA, BERT], [0, 5, 9])})
    assert kept.value == pytest.approx(1.0)
    assert changed.value < 0.9
    assert changed.raw == changed.value


def test_a_thing_seen_once_or_never_says_nothing():
    once = ObjectTexture().measure(ROLLOUT, {"regions": regions([ANNA], [0])})
    never = ObjectTexture().measure(ROLLOUT, {"regions": regions([], [])})
    assert (once.reason, never.reason) == (Reason.TOO_SHORT, Reason.NO_TARGET)
