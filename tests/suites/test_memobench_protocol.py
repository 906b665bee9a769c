from __future__ import annotations

import json
from typing import Any

import cv2
import numpy as np
import pytest

from lookaway.core import describe
from lookaway.engine.evaluate import evaluate
from lookaway.engine.locking import content_key
from lookaway.engine.reading import read
from lookaway.engine.run import Run
from lookaway.suites.memobench import MemoBench
from lookaway.suites.two_protocols import corrected_name
from tests.support.command import lookaway
from tests.support.hub import empty_hub, publish
from tests.support.memobench import MemoBenchWriter, write_pictures
from tests.support.picture_networks import (
    random_aesthetic_head,
    random_mlp_head,
    random_raft,
    tiny_clip,
    tiny_clip_iqa,
)

PHASES = ("visible", "disappeared", "reappeared", "all")
FIDELITY = tuple(f"memobench.{phase}.{name}" for phase in PHASES for name in ("psnr", "ssim", "lpips"))
OTHERS = (
    "memobench.object_identity",
    "memobench.geo3d",
    "memobench.ors",
    "memobench.gt_revisit_similarity",
    "memobench.motion_smoothness",
    "memobench.image_quality",
    "memobench.aesthetic",
    "memobench.image_reward",
    "memobench.camera_controllability",
    "memobench.motion_gate",
    "memobench.revisited",
)
FURTHER = ("further.rotation_followed", "further.object_texture")
QUESTIONS = tuple(
    f"memobench.vqa.{name}"
    for name in ("instruction_following", "object_and_background", "continuity_of_memory", "physics_adherence")
)
OF_NETWORKS = ("memobench.motion_smoothness", "memobench.image_quality", "memobench.aesthetic")
SAME = ("memobench.image_quality",)
"""What no repair changes."""
WEIGHT_FREE = tuple(name for name in FIDELITY if "lpips" not in name)
FRAMES, REFERENCE_FRAMES, LEFT, BACK = 21, 33, 10, 23


def protocol(name: str = "published"):
    """By published names."""
    return {
        bound.name.replace(".corrected.", "."): bound
        for bound in MemoBench().metrics({"has_question_banks": True})
        if bound.is_of(name) or bound.protocol is None
    }


# The protocol


def test_the_public_names_are_phases_and_the_names_of_the_publication():
    assert set(protocol()) == {*FIDELITY, *OTHERS, *QUESTIONS, "memobench.visual_quality"}
    assert set(protocol("corrected")) == {*FIDELITY, *OTHERS, *QUESTIONS, *FURTHER}


def test_only_what_follows_the_first_phase_counts_behind_the_gate():
    bound = protocol("corrected")
    assert {name for name, found in bound.items() if found.is_gate} == {"memobench.revisited"}
    assert {name for name, found in bound.items() if found.is_consistency} == {
        *(name for name in FIDELITY if "visible" not in name),
        *(name for name in QUESTIONS if "instruction" not in name),
        "memobench.object_identity",
        "memobench.geo3d",
        "memobench.motion_smoothness",
        "memobench.ors",
        "memobench.gt_revisit_similarity",
        "further.object_texture",
    }


def differences(ours: Any, theirs: Any, path: str = "") -> set[str]:
    if isinstance(ours, dict) and isinstance(theirs, dict) and ours.keys() == theirs.keys():
        return {found for key in ours for found in differences(ours[key], theirs[key], f"{path}.{key}".strip("."))}
    return set() if ours == theirs else {path}


def described(bound) -> dict[str, Any]:
    return {"metric": describe(bound.metric), **{name: describe(recipe) for name, recipe in bound.recipes.items()}}


def test_what_is_repaired_is_what_is_known_to_be_wrong_and_nothing_else():
    ours, theirs = protocol("corrected"), protocol()
    changed = {name: differences(described(ours[name]), described(theirs[name])) for name in theirs if name in ours}
    for name in FIDELITY:
        feature = "lpips" if "lpips" in name else "fidelity"
        linear = {f"{feature}.compared.is_linear"} if ".all." in name else {"phases.shares_ends"}
        assert changed[name] == {f"{feature}.compared.shares_ends", *linear}
    assert changed["memobench.object_identity"] == {
        "metric.repeats_to",
        "tokens.frames.shares_ends",
        "tokens.fit",
        "tokens.reduced",
    }
    assert changed["memobench.geo3d"] == {
        "metric.counts_short_phases",
        "metric.repeats_to",
        "inverse_depth.canvas",
        "inverse_depth.frames.shares_ends",
        "inverse_depth.height",
        "phases.shares_ends",
    }
    assert changed["memobench.ors"] == {"metric.min_score", "detections.frames.shares_ends", "detections.wording"}
    assert changed["memobench.gt_revisit_similarity"] == {
        "similarity.compared.shares_ends",
        "similarity.fit.rounds_corner",
    }
    assert changed["memobench.motion_smoothness"] == {
        "metric.averages_phases",
        "warp_errors.samples_earlier",
        "warp_errors.from_zero",
        "warp_errors.frames.shares_ends",
        "phases.shares_ends",
    }
    assert changed["memobench.image_quality"] == changed["memobench.revisited"] == set()
    head = {f"aesthetic.head.{part}" for part in ("kind", "name", "source", "files")}
    assert changed["memobench.aesthetic"] == {"aesthetic.kind", "aesthetic.fit.rounds_corner", *head}
    assert changed["memobench.image_reward"] == {"rewards.fit.rounds_corner"}
    assert changed["memobench.camera_controllability"] == {"metric.rotation", "poses"}
    assert changed["memobench.motion_gate"] == {"metric.rotation"}
    assert {path for name in QUESTIONS for path in changed[name]} == {
        "question_verdicts.frames.fps",
        "question_verdicts.may_skip",
    }


def test_phases_and_the_whole_video_share_one_recipe_unless_published():
    ours, theirs = protocol("corrected"), protocol()
    assert len({ours[f"memobench.{phase}.psnr"].recipes["fidelity"] for phase in PHASES}) == 1
    assert len({theirs[f"memobench.{phase}.psnr"].recipes["fidelity"] for phase in PHASES}) == 2


def test_both_protocols_share_what_no_repair_changes():
    assert [bound.name for bound in MemoBench().metrics({}) if bound.protocol == "both"] == ["memobench.image_quality"]


# Measured


def pictures(count, height, width, seed):
    """A patch that wanders over a still pattern, which becomes brighter."""
    random = np.random.default_rng(seed)
    still = cv2.GaussianBlur(random.uniform(40, 180, (height, width, 3)), (0, 0), 3)
    shown = []
    for index in range(count):
        part = index / (count - 1)
        picture = still + 30 * part
        left = int(part * width * 0.7)
        picture[height // 4 : height // 2, left : left + width // 6] = (220, 40, 90)
        shown.append(np.clip(np.rint(picture), 0, 255).astype(np.uint8))
    return shown


@pytest.fixture(scope="module")
def clips():
    return pictures(FRAMES, 60, 100, 1), pictures(REFERENCE_FRAMES, 90, 160, 2)


@pytest.fixture(scope="module")
def root(tmp_path_factory, clips):
    generated, reference = clips
    writer = MemoBenchWriter(tmp_path_factory.mktemp("memobench") / "data set")
    writer.synthetic(keys=(LEFT, BACK), pictures=reference)
    write_pictures(writer.root / "output/alpha/Synthetic/Nordic_003/frames", generated)
    return writer.root


def outcomes(run):
    return {row["metric"].replace(".corrected.", "."): row for row in Run(run).items()}


def named(protocol, *names):
    return [name if protocol == "published" or name in SAME else corrected_name(name) for name in names]


def measure(root, folder, protocol="published"):
    dataset = read(root, suite="memobench")
    assert dataset.problems == ()
    return evaluate(dataset, folder, metrics=named(protocol, *WEIGHT_FREE, "memobench.motion_gate"))


def psnr_and_grey_ssim(generated, reference):
    """Spelled out as the publication has them."""
    reference = cv2.resize(reference, generated.shape[1::-1], interpolation=cv2.INTER_AREA)
    mse = np.mean((generated.astype(np.float64) - reference) ** 2)
    a, b = (cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY).astype(np.float64) for picture in (generated, reference))

    def blur(picture):
        return cv2.GaussianBlur(picture, (11, 11), 1.5)

    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    above = (2 * blur(a) * blur(b) + c1) * (2 * (blur(a * b) - blur(a) * blur(b)) + c2)
    below = (blur(a) ** 2 + blur(b) ** 2 + c1) * (blur(a * a) - blur(a) ** 2 + blur(b * b) - blur(b) ** 2 + c2)
    return 10 * np.log10(255**2 / mse), float((above / below).mean())


def published_means(clips):
    """Of each phase with both of its ends, and of the whole video along a line."""
    generated, reference = clips
    left, back = (round(frame / REFERENCE_FRAMES * FRAMES) for frame in (LEFT, BACK))
    bounds = {
        "visible": ((0, left), (0, LEFT)),
        "disappeared": ((left, back), (LEFT, BACK)),
        "reappeared": ((back, FRAMES - 1), (BACK, REFERENCE_FRAMES - 1)),
        "all": ((0, FRAMES - 1), (0, REFERENCE_FRAMES - 1)),
    }
    means = {}
    for phase, ((first, last), (reference_first, reference_last)) in bounds.items():
        count = last - first + 1
        step = (reference_last - reference_first) / (count - 1)
        pairs = [(first + i, round(reference_first + i * step)) for i in range(count)]
        values = [psnr_and_grey_ssim(generated[ours], reference[theirs]) for ours, theirs in pairs]
        means[f"memobench.{phase}.psnr"], means[f"memobench.{phase}.ssim"] = np.mean(values, axis=0)
    return means


def test_published_fidelity_is_that_of_the_formulas_in_every_phase(root, clips, tmp_path):
    measure(root, tmp_path / "run")
    found = outcomes(tmp_path / "run")
    expected = published_means(clips)
    assert expected.keys() == set(WEIGHT_FREE)
    for name, value in expected.items():
        assert found[name]["value"] == pytest.approx(value, abs=1e-4), name


@pytest.fixture(scope="module")
def found(root, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    measure(root, folder, protocol="corrected")
    return outcomes(folder)


def test_repaired_the_whole_video_is_the_mean_of_its_phases(found):
    for name in ("psnr", "ssim"):
        parts = [found[f"memobench.{phase}.{name}"] for phase in PHASES[:3]]
        frames = [json.loads(part["detail"])["frames"] for part in parts]
        assert sum(frames) == FRAMES
        mean = np.average([part["value"] for part in parts], weights=frames)
        assert found[f"memobench.all.{name}"]["value"] == pytest.approx(mean)


@pytest.mark.merge
def test_a_clip_that_equals_its_reference_scores_as_high_as_can_be(tmp_path, clips):
    _, reference = clips
    writer = MemoBenchWriter(tmp_path / "data set")
    writer.synthetic(keys=(LEFT, BACK), pictures=reference[:24])
    write_pictures(writer.root / "output/truth/Synthetic/Nordic_003/frames", reference[:24])
    measure(writer.root, tmp_path / "run")
    found = outcomes(tmp_path / "run")
    assert {found[name]["value"] for name in WEIGHT_FREE if name.endswith("psnr")} == {99.0}
    assert all(found[name]["value"] == pytest.approx(1) for name in WEIGHT_FREE if name.endswith("ssim"))


def test_the_motion_gate_is_about_the_reference_alone(found):
    row = found["memobench.motion_gate"]
    assert (row["status"], row["value"], row["raw"]) == ("score", 0.0, pytest.approx(0, abs=1e-6))


def test_keyframes_are_part_of_what_was_measured(root, tmp_path, clips):
    writer = MemoBenchWriter(tmp_path / "data set")
    writer.synthetic(keys=(LEFT, BACK + 1), pictures=clips[1])
    write_pictures(writer.root / "output/alpha/Synthetic/Nordic_003/frames", clips[0])
    keys = [content_key(read(folder, suite="memobench").rollouts[0]) for folder in (root, writer.root)]
    assert keys[0] != keys[1]


@pytest.mark.merge
def test_what_has_no_network_here_abstains_with_its_reason(root, tmp_path):
    dataset = read(root)
    assert dataset.suite == "memobench"
    evaluate(
        dataset,
        tmp_path / "run",
        metrics=["memobench.reappeared.lpips", "memobench.object_identity", *OF_NETWORKS],
    )
    found = outcomes(tmp_path / "run")
    assert {row["status"] for row in found.values()} <= {"score", "abstention"}
    del found["memobench.revisited"]
    assert {row["reason"] for row in found.values()} <= {None, "missing_weights"}


@pytest.mark.merge
@pytest.mark.parametrize("protocol", ["corrected", "published"])
def test_motion_and_quality_are_scored_where_their_weights_are(tmp_path, monkeypatch, protocol):
    empty_hub(tmp_path / "home", monkeypatch)
    quality = tiny_clip_iqa(monkeypatch)
    heads = random_aesthetic_head(), random_mlp_head()
    weights = (quality.weights, quality.prompts, quality.tokenizer, tiny_clip("clip-vit-l-14"), *heads, random_raft())
    for each in weights:
        publish(each, monkeypatch)
    writer = MemoBenchWriter(tmp_path / "data set")
    writer.synthetic(keys=(9, 11), pictures=pictures(14, 90, 160, 2))
    write_pictures(writer.root / "output/alpha/Synthetic/Nordic_003/frames", pictures(14, 128, 136, 1))
    evaluate(read(writer.root, suite="memobench"), tmp_path / "run", metrics=named(protocol, *OF_NETWORKS))
    found = outcomes(tmp_path / "run")
    assert {found[name]["status"] for name in OF_NETWORKS} == {"score"}
    assert 0 < found["memobench.motion_smoothness"]["value"] < 1
    assert 0 < found["memobench.image_quality"]["value"] < 1
    assert json.loads(found["memobench.image_quality"]["detail"])["frames"] == 4


@pytest.mark.merge
def test_the_command_line_measures_and_validates(root, tmp_path):
    validated = lookaway("validate", str(root), "--metrics", "memobench.reappeared.ssim,memobench.motion_gate")
    assert validated.code == 0
    assert "suite memobench: 1 rollout of 1 model" in validated.out
    shown = lookaway("eval", str(root), "-o", str(tmp_path / "run"), "--metrics", "memobench.visible.ssim")
    assert shown.code == 0
    assert "memobench.visible.ssim" in shown.out
