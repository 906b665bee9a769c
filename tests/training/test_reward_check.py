"""Rewards that are known to be hacked, and ours, against videos that remember nothing."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from lookaway.core import UserError
from lookaway.engine.inline import Inline
from lookaway.training.attackers import ATTACKERS, AttackClip, clips_of, render_clips
from lookaway.training.reward import MEMORY, Reward, RewardRecipe, RewardTerm
from lookaway.training.reward_check import as_function, check_reward, load_reward
from tests.support.command import lookaway

pytestmark = [pytest.mark.render, pytest.mark.merge]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("attackers")


@pytest.fixture(scope="module")
def clips(folder) -> list[AttackClip]:
    return list(clips_of(render_clips(folder, Inline(), families=("kitchen",))))


def some(clips: Iterable[AttackClip], *names: str) -> list[AttackClip]:
    return [clip for clip in clips if clip.attacker in ("perfect", *names)]


def psnr(first, second) -> float:
    error = np.mean((first.astype(float) - second.astype(float)) ** 2)
    return float(10 * np.log10(255**2 / max(error, 1e-3)))


def first_and_last_psnr(frames, *, fps, paths) -> float:
    return psnr(frames[0], frames[-1])


def first_and_last_colours(frames, *, fps, paths) -> float:
    first, last = (np.stack([np.bincount(c.ravel() // 16, minlength=16) for c in f]) for f in (frames[0], frames[-1]))
    return float(np.minimum(first, last).sum() / first.sum())


def smoothness(frames, *, fps, paths) -> float:
    return -float(np.abs(np.diff(frames.astype(float), axis=0)).mean())


def mirrored_psnr(frames, *, fps, paths) -> float:
    """As SANA-WM-Bench pairs a path with its way back."""
    pairs = [(number, len(frames) - 1 - number) for number in range(len(frames) // 3)]
    return float(np.mean([psnr(frames[there], frames[back]) for there, back in pairs]))


def dino_similarity(frames, *, fps, paths) -> float:
    """DINOv2 of random weights; identical pictures are identical to any weights."""
    import torch
    from transformers import Dinov2Config, Dinov2Model

    torch.manual_seed(0)
    config = Dinov2Config(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, image_size=56, patch_size=14)
    pictures = torch.from_numpy(frames[[0, -1], :, :56, :56]).float() / 255
    with torch.inference_mode():
        first, last = Dinov2Model(config).eval()(pictures).pooler_output
    return float(torch.nn.functional.cosine_similarity(first, last, dim=0))


HACKABLE = {
    "first_and_last_psnr": first_and_last_psnr,
    "first_and_last_colours": first_and_last_colours,
    "smoothness": smoothness,
    "mirrored_psnr": mirrored_psnr,
    "dino_similarity": dino_similarity,
}


@pytest.mark.parametrize("name", HACKABLE)
def test_a_reward_for_looking_alike_is_won_by_a_frozen_video(clips, name):
    found = check_reward(HACKABLE[name], some(clips, "frozen"))
    assert found.winners == ("frozen",)
    assert found.is_refused


def test_a_reward_for_a_camera_that_ends_where_it_began_is_won_by_a_frozen_video(clips):
    recipe = RewardRecipe(gated=False, terms={"return_error": RewardTerm(floor=10.0, ceiling=0.5)})
    assert check_reward(as_function(Reward(recipe)), some(clips, "frozen")).winners == ("frozen",)


def test_without_the_term_for_what_is_carried_along_a_dragged_target_wins(clips):
    terms = {name: term for name, term in MEMORY.terms.items() if name != "carried"}
    reward = Reward(MEMORY.model_copy(update={"terms": terms}))
    assert check_reward(as_function(reward), some(clips, "dragged")).winners == ("dragged",)


def test_without_the_term_for_what_is_undone_a_looped_event_gets_too_far(clips):
    terms = {name: term for name, term in MEMORY.terms.items() if name != "undone"}
    reward = Reward(MEMORY.model_copy(update={"terms": terms}))
    assert check_reward(as_function(reward), some(clips, "loop_back", "fade")).winners == ("loop_back",)


def test_clips_of_other_families_in_the_folder_are_not_paid_for(folder, clips, tmp_path):
    shutil.copytree(folder, tmp_path / "clips")
    found = render_clips(tmp_path / "clips", Inline(), families=("lobby",))
    assert {rollout.case.scene for rollouts in found.values() for rollout in rollouts} == {"lobby-0"}


def test_a_high_constant_for_what_is_unmeasured_is_won_by_a_frozen_video(clips):
    reward = Reward(MEMORY.model_copy(update={"unmeasured": 1.0}))
    assert check_reward(as_function(reward), some(clips, "frozen")).winners == ("frozen",)


def test_no_attacker_wins_the_reward_of_this_package(clips):
    found = check_reward(as_function(Reward()), clips)
    assert {earned.attacker for earned in found.attackers} == set(ATTACKERS)
    assert (found.winners, found.is_refused) == ((), False)
    assert found.perfect.mean > 0.9
    assert all(earned.mean is None or earned.mean < 0.2 for earned in found.attackers)


def test_the_recipe_on_the_page_about_rewards_passes(clips, tmp_path):
    page = (Path(__file__).parents[2] / "docs/how-to/reward.md").read_text(encoding="utf-8")
    (text,) = re.findall(r'^```yaml title="reward.yaml"\n(.*?)^```', page, re.DOTALL | re.MULTILINE)
    (tmp_path / "reward.yaml").write_text(text)
    assert not check_reward(load_reward(str(tmp_path / "reward.yaml")), clips).is_refused


def test_a_reward_that_pays_a_perfect_memory_nothing_is_refused(clips):
    found = check_reward(lambda frames, *, fps, paths: None, some(clips, "frozen"))
    assert found.is_refused
    assert found.verdict.startswith("Refused: it pays nothing")


def test_a_reward_that_is_no_number_is_refused_with_the_clip_that_shows_it(clips):
    with pytest.raises(UserError, match="The reward of perfect on kitchen-0 is nan"):
        check_reward(lambda frames, *, fps, paths: float("nan"), some(clips))


def test_the_command_refuses_a_hackable_function_with_code_3(folder, clips):
    name = "tests.training.test_reward_check:first_and_last_psnr"
    made = lookaway("reward", "check", name, "--clips", folder, "--families", "kitchen")
    assert made.code == 3, made.err
    assert "Refused: frozen" in made.out


@pytest.mark.parametrize("name", ["nothing", "no_such_module:f", "numpy:no_such_function", "numpy:pi"])
def test_a_reward_that_cannot_be_found_is_said_so(name):
    with pytest.raises(UserError, match="Expected"):
        load_reward(name)
