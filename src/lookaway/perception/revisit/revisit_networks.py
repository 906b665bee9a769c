"""How different first visit and return look to a network, laid over each other where the view was left."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, ClassVar, TypeAlias

import numpy as np

from lookaway.core import (
    Abstention,
    Compute,
    Extractor,
    ExtractorBase,
    Feature,
    Features,
    Floats,
    Frame,
    FrameRequest,
    Mask,
    Pixels,
    Reason,
    Rollout,
    Timeline,
    Trajectory,
    Unmeasurable,
)
from lookaway.perception.networks.fits import Colours, Fitted, SeenColours, to_input, unscaled
from lookaway.perception.networks.lpips_network import LpipsNetwork, MinLength, Trunk, load_lpips
from lookaway.perception.networks.vit_tokens import TokenRecipe, VitTokens
from lookaway.perception.opencv import load_opencv
from lookaway.perception.revisit.aligned_views import AlignedViews, ComparedPart, ViewAligner
from lookaway.perception.revisit.revisit_changes import RevisitChanges
from lookaway.perception.similarity.dinov2_embeddings import Dinov2Embeddings
from lookaway.perception.similarity.pair_networks import patch_means
from lookaway.perception.weights import Weights, published

Compare: TypeAlias = Callable[[AlignedViews], float]
"""From two pictures to their distance, over the part that is compared."""
ARRAYS = {
    "pairs": "int64 [pairs, 2]: first visit and return",
    "compared": "float64 [pairs]: per cent of the picture that was seen, left, seen again and compared",
    "distances": "float64 [pairs]: of first visit and return",
    "controls": "int64 [controls, 3]: row of a pair, frame of another view, and neighbour of the first visit",
    "control_distances": "float64 [controls, 2]: of the first visit to the other view and to the neighbour",
}


class RevisitNetwork(ExtractorBase):
    """An extractor that compares the pairs of `revisit_changes`, aligned as there, and their controls."""

    __slots__ = ()

    of_video: ClassVar[bool] = True
    arrays: ClassVar[Mapping[str, str]] = ARRAYS
    bytes_per_frame: ClassVar[float] = 60.0

    changes: RevisitChanges

    @property
    def needs(self) -> Mapping[str, Extractor]:
        """The pairs with their alignment, and the poses that these come from."""
        return {"changes": self.changes, "poses": self.changes.poses}


@dataclass(frozen=True, slots=True)
class RevisitLpips(RevisitNetwork):
    """LPIPS distance of first visit and return over what was seen, left and seen again.

    The features of the trunk are compared at every place of the aligned pictures; the mean of each layer is over the
    part that is compared.
    """

    name: ClassVar[str] = "revisit_lpips"
    software: ClassVar[tuple[str, ...]] = ("torch", "opencv-python-headless", "numpy")
    seconds_per_frame: ClassVar[float] = 0.1
    usual_frames: ClassVar[int] = 12

    changes: Annotated[RevisitChanges, "which views are compared, and how they are aligned"]
    trunk: Annotated[Trunk, "the network below: `alex` or `vgg`"] = "alex"
    weights: Annotated[Weights, "the trunk"] = field(default_factory=partial(published, "alexnet"))
    heads: Annotated[Weights, "trained on human judgements"] = field(default_factory=partial(published, "lpips-alex"))
    colours: SeenColours = Colours()
    min_length: MinLength = 1e-10
    compute: Annotated[Compute, "where it runs, and how precisely"] = Compute()

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Any video will do, once the weights are there."""
        return self.weights.declines() or self.heads.declines()

    def load(self) -> _Loaded:
        """Load the network."""
        network = load_lpips(self.trunk, self.weights, self.heads, self.min_length, self.compute)
        return _Loaded(self, partial(_lpips, network, self))


@dataclass(frozen=True, slots=True)
class RevisitTokens(RevisitNetwork):
    """1 - cosine of the mean patch tokens of first visit and return, over what was seen, left and seen again.

    Patch tokens have unit length before the mean, and count by how much of a patch is compared.
    """

    name: ClassVar[str] = "revisit_tokens"
    seconds_per_frame: ClassVar[float] = 0.35
    usual_frames: ClassVar[int] = 12

    changes: Annotated[RevisitChanges, "which views are compared, and how they are aligned"]
    embedding: Annotated[TokenRecipe, "the network and its input: DINOv2 or DINOv3"] = field(
        default_factory=Dinov2Embeddings
    )

    @property
    def software(self) -> tuple[str, ...]:
        """That of the embedding: its network is used, not its feature."""
        return ("opencv-python-headless", "numpy", *self.embedding.software)

    def declines(self, rollout: Rollout) -> Abstention | None:
        """Any video will do, once the weights are there."""
        return self.embedding.lacks()

    def load(self) -> _Loaded:
        """Load the network."""
        return _Loaded(self, partial(_token_distance, self.embedding.network(), self.embedding))


def _lpips(network: LpipsNetwork, recipe: RevisitLpips, views: AlignedViews) -> float:
    torch = network.torch
    with torch.inference_mode():
        pictures = [views.first, views.second]
        layers = network.features(to_input(torch, pictures, unscaled(views.first), recipe.colours, recipe.compute))
        mask = torch.from_numpy(views.mask.astype(np.float32))[None].to(recipe.compute.device)
        return float(network.distances([layer[:1] for layer in layers], [layer[1:] for layer in layers], mask))


def _token_distance(network: VitTokens, recipe: TokenRecipe, views: AlignedViews) -> float:
    height, width = views.mask.shape
    fitted = recipe.fit.fitted(width, height, network.patch)
    weights = patch_shares(views.mask, fitted, network.patch)
    if not weights.any():
        raise Unmeasurable(Reason.NOT_APPLICABLE, "what is compared is outside of the patches that the network sees.")
    first, second = patch_means(network([views.first, views.second], fitted)[1], weights)
    return float(1 - first @ second)


def patch_shares(mask: Mask, fitted: Fitted, patch: int) -> Floats:
    """[patches] share of each whole patch that a mask covers, row by row."""
    cv2 = load_opencv()
    columns, rows = fitted.kept_patches(patch)
    left, top = fitted.corner
    scaled = cv2.resize(mask.astype(np.float32), fitted.scaled, interpolation=cv2.INTER_AREA)
    shown = scaled[top : top + rows * patch, left : left + columns * patch]
    return np.asarray(shown.reshape(rows, patch, columns, patch).mean((1, 3)).ravel())


@dataclass(frozen=True, slots=True)
class _Loaded:
    recipe: RevisitNetwork
    compare: Compare

    def start(self, rollout: Rollout, timeline: Timeline, features: Features) -> _Extraction:
        changes = features["changes"]
        wanted = {*changes["pairs"].ravel().tolist(), *changes["controls"][:, 1:].ravel().tolist()}
        request = FrameRequest(frozenset(wanted), min(self.recipe.changes.height, timeline.height))
        part = self.recipe.changes.limits.part
        return _Extraction(self.compare, Trajectory.from_feature(features["poses"]), changes, request, part)


@dataclass(frozen=True, slots=True, eq=False)
class _Extraction:
    compare: Compare
    trajectory: Trajectory
    changes: Feature
    request: FrameRequest
    part: ComparedPart
    frames: dict[int, Pixels] = field(default_factory=dict)

    def add_frame(self, frame: Frame) -> None:
        self.frames[self._place(frame.index)] = frame.pixels

    def finish(self) -> Feature:
        changes, aligner = self.changes, ViewAligner(load_opencv(), self.trajectory, self.frames, self.part)
        places = [(self._place(first), self._place(second)) for first, second in changes["pairs"].tolist()]
        pairs = [
            aligner.lay_over(*pair, homography)
            for pair, homography in zip(places, changes["homographies"], strict=True)
        ]
        controls: list[tuple[float, float]] = []
        for (row, floor, neighbour), homography in zip(
            changes["controls"].tolist(), changes["control_homographies"], strict=True
        ):
            homographies = (changes["homographies"][row], homography)
            ceiling = aligner.ceiling(pairs[row], places[row][0], self._place(neighbour), homographies)
            controls.append((self.compare(aligner.floor(pairs[row], self._place(floor))), self.compare(ceiling)))
        arrays = {
            "pairs": changes["pairs"],
            "compared": changes["compared"],
            "distances": np.array([self.compare(pair) for pair in pairs]),
            "controls": changes["controls"],
            "control_distances": np.array(controls, np.float64).reshape(-1, 2),
        }
        return Feature(arrays, {name: changes.detail[name] for name in ("rule", "aligned_by", "skipped_pairs")})

    def _place(self, frame: int) -> int:
        return int(np.searchsorted(self.trajectory.frame_indices, frame))
