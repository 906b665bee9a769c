"""Small datasets of the benchmark suites, measured from files as users measure them.

Networks are of the real classes, in the place of the published files; they are tiny, or random.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.constant_clips import REFUSED
from lookaway.core import BoundMetric, Dataset, JudgeModel, ProtocolName
from lookaway.engine.binding import bind_metrics
from lookaway.engine.evaluate import evaluate
from lookaway.engine.locking import run_lock
from lookaway.engine.reading import read
from lookaway.engine.run import Run
from lookaway.judges.client import RetryPolicy
from lookaway.judges.oracle import OracleServer
from lookaway.judges.server import Connection, Secret
from lookaway.judges.settings import JudgeSettings
from lookaway.perception.quality import image_reward
from lookaway.perception.weights.places import hub_home
from lookaway.world.exports import export_world
from lookaway.world.grid import Grid
from tests.perception.test_image_reward import TEXT, VISION, shapes
from tests.support import picture_networks as networks
from tests.support.hub import empty_hub, publish, put_into_hub
from tests.support.made_once import CACHE
from tests.support.mask_networks import save_tokenizer, tiny_grounding_dino, tiny_sam2, tiny_sam3
from tests.support.networks import tiny_dinov2
from tests.support.onnx_networks import tiny_buffalo
from tests.support.rendered import copy_clips
from tests.support.world import FORM

KEY = "sk-of-the-oracle-0123456789"
LAYOUTS = ("mbench-a", "mbench-t", "memobench", "mind", "wrbench")
MODEL = "identity_colour-1.00"


@dataclass(frozen=True, slots=True)
class Stage:
    """Where the datasets are, and who answers questions about them."""

    root: Path
    judge: JudgeSettings

    def dataset(self, suite: str, options: Mapping[str, Any]) -> Dataset:
        """One of a suite, with one model; clips as they are for a suite that reads any video."""
        folder = self.root / (suite if suite in LAYOUTS else "world")
        return read(folder, suite=suite, models=[MODEL], **options)


@contextmanager
def staged() -> Iterator[list[SetClip]]:
    """The sets with their files and networks, which are there for as long as they are needed."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        os.environ.setdefault(CACHE, str(root))
        grid = Grid(
            families=("playroom",),
            events=("none", "in_place"),
            cameras=("yaw_right_60",),
            seeds=(0,),
            faults=("identity_colour",),
            severities=(1.0,),
        )
        copy_clips(grid.recipes(FORM), root / "world")
        for layout in LAYOUTS:
            export_world(root / "world", layout, root / layout)
        for layout in LAYOUTS[:2]:
            _people(root / layout)
        with _networks(root), OracleServer(root / "world", key=KEY) as oracle:
            connection = Connection(url=oracle.base_url, key=Secret(KEY), timeout_seconds=10)
            policy = RetryPolicy(concurrent=1, tries=1)
            judge = JudgeSettings(model=JudgeModel(model="oracle"), connection=connection, policy=policy)
            stage = Stage(root, judge)
            yield [replace(each, stage=stage) for each in SETS]


def _people(root: Path) -> None:
    """The clips of things count as clips of people, too: random networks find faces anywhere."""
    path = root / "models" / MODEL / "samples.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    things = [line for line in lines if line["subset"] == "object"]
    people = [{**line, "subset": "human", "item_id": line["item_id"].replace("object:", "human:")} for line in things]
    (root / "samples" / "human").symlink_to("object")
    path.write_text("".join(json.dumps(line) + "\n" for line in [*lines, *people]))


@contextmanager
def _networks(root: Path) -> Iterator[None]:
    carried = hub_home() / "lookaway"
    with pytest.MonkeyPatch.context() as patch:
        empty_hub(root / "home", patch)
        (hub_home() / "lookaway").mkdir(parents=True)
        for folder in carried.glob("*/"):  # those that packages carry
            (hub_home() / "lookaway" / folder.name).symlink_to(folder)
        patch.setattr(image_reward, "VISION", {**VISION, "image_size": 224, "patch_size": 56})
        patch.setattr(image_reward, "TEXT", TEXT)
        iqa = networks.tiny_clip_iqa(patch)
        for weights in (
            tiny_buffalo(),
            tiny_sam2(seen=5.0),
            tiny_sam3(),
            tiny_dinov2(),
            tiny_grounding_dino(),
            networks.tiny_dinov3(),
            *(networks.tiny_clip(name) for name in ("clip-vit-b-32-laion2b", "clip-vit-b-32", "clip-vit-l-14")),
            networks.tiny_depth_anything(),
            networks.random_vgg19(),
            *networks.random_lpips("alex"),
            *networks.random_lpips("vgg"),
            networks.random_musiq(),
            networks.random_raft(),
            networks.random_aesthetic_head(),
            networks.random_mlp_head(),
            networks.save_tensors("image-reward", networks.random_tensors(shapes(224, 56))),
            put_into_hub("bert-base-uncased", save_tokenizer),
            *(iqa.weights, iqa.prompts, iqa.tokenizer),
        ):
            publish(weights, patch)
        yield


@dataclass(frozen=True, slots=True, kw_only=True)
class SetClip:
    """Metrics on the rollouts of one model."""

    name: str
    suite: str
    ends: tuple[str, ...]
    """How the names of the metrics end."""
    options: Mapping[str, Any] = field(default_factory=dict)
    using: Mapping[str, str] = field(default_factory=dict)
    seconds: int = 10
    """More than it takes."""
    protocol: ProtocolName | None = "both"
    stage: Stage | None = None

    def bounds(self) -> list[BoundMetric]:
        """The metrics of both protocols, and gates that decide about any."""
        dataset = self._staged.dataset(self.suite, self.options)
        bounds = bind_metrics(dataset, None, protocol=self.protocol, using=self.using)
        return [bound for bound in bounds if bound.is_gate or bound.name.endswith(self.ends)]

    def lock(self, bounds: Sequence[BoundMetric]) -> str:
        """What the lock of a run holds, with the cases of the dataset."""
        return run_lock(self._staged.dataset(self.suite, self.options), bounds).sha256

    def measure(self, bounds: Sequence[BoundMetric]) -> str:
        """One hash of all scores, and of those of frames and pairs, to four digits; messages do not count.

        Further digits depend on how many frames go through a network together. Raises where a rollout was refused.
        """
        stage, names = self._staged, [bound.name for bound in bounds if not bound.is_gate]
        asked = any("judge" in str(bound.recipes) for bound in bounds)
        with tempfile.TemporaryDirectory() as folder:
            run = evaluate(
                stage.dataset(self.suite, self.options),
                Path(folder) / "run",
                metrics=names,
                protocol=self.protocol,
                using=self.using,
                judge=stage.judge if asked else None,
            )
            return _hash(run)

    @property
    def _staged(self) -> Stage:
        if self.stage is None:
            raise ValueError(f"{self.name}: its files are there within `staged` alone.")
        return self.stage


def _hash(run: Run) -> str:
    found = hashlib.sha256()
    rows = [*run.items(), *(unit for bound in run.metrics for unit in run.units(bound.name))]
    if all(row["status"] != "score" for row in rows):
        raise RuntimeError("nothing is measured any more")
    for row in rows:
        if row["status"] == "failure" or row["reason"] in REFUSED:
            raise RuntimeError(row["message"])
        numbers = [None if row[key] is None else float(f"{row[key]:.4g}") for key in ("value", "raw")]
        found.update(repr([*(row.get(key) for key in KEPT), *numbers]).encode())
    return found.hexdigest()


KEPT = ("case", "model", "metric", "unit", "status", "reason")
FRAMES = ("psnr", "ssim", "mse")
MEMORY = {"scores": "worldmark,iworld"}
SPATIAL = ("epipolar", "reprojection", "matched", "2px", "moving", "capped")
SETS = (
    SetClip(name="mbench_people", suite="mbench-a", ends=("human_identity_consistency", "appearance_consistency")),
    SetClip(name="mbench_things", suite="mbench-a", ends=("object_texture_consistency", "geometry_consistency")),
    SetClip(name="mbench_style", suite="mbench-a", ends=("style",), seconds=30),
    SetClip(name="mbench_text", suite="mbench-a", ends=("prompt_interaction",)),
    SetClip(name="mbench_places", suite="mbench-a", ends=SPATIAL),
    SetClip(name="mbench_light", suite="mbench-a", ends=("lighting", "lighting_seconds")),
    SetClip(name="mbench_camera", suite="mbench-a", ends=("camera_interaction", "camera_following", "camera_leakage")),
    SetClip(name="mbench_judged", suite="mbench-a", ends=("progress", "correctness")),
    SetClip(name="mbench_found", suite="mbench-t", ends=("object_texture_consistency", "trigger")),
    SetClip(name="memobench_frames", suite="memobench", ends=FRAMES),
    SetClip(name="memobench_pairs", suite="memobench", ends=("lpips", "similarity", "object_identity", "ors")),
    SetClip(name="memobench_depth", suite="memobench", ends=("geo3d", "object_texture")),
    SetClip(name="memobench_flow", suite="memobench", ends=("smoothness",), seconds=20),
    SetClip(name="memobench_quality", suite="memobench", ends=("quality", "aesthetic", "reward")),
    SetClip(name="mind_frames", suite="mind", ends=FRAMES),
    SetClip(name="mind_networks", suite="mind", ends=("aesthetic", "dino_mse")),
    SetClip(name="wrbench", suite="wrbench", ends=("integrity", "spatial", "state", "reobserved")),
    SetClip(name="revisit_networks", suite="revisit", ends=("lpips", "dino", "lift"), protocol=None),
    SetClip(name="truth", suite="revisit", ends=("light",), using={"poses": "true_poses"}, protocol=None),
    SetClip(name="revisit_pairs", suite="revisit", ends=FRAMES, options={"scores": "sana_like,echo_loop,l2r_far"}),
    SetClip(name="revisit_memory", suite="revisit", ends=("memory", "symmetry"), options=MEMORY),
    SetClip(name="revisit_loops", suite="revisit", ends=("lpips",), options={"scores": "wbench"}, seconds=20),
)
