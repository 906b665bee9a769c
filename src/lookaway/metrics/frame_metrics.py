"""Metrics with one value per frame: MSE, PSNR, SSIM, LPIPS, feature error, similarity, quality and reward."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from lookaway.core import Abstention, Feature, Features, Floats, Json, MetricBase, Outcome, Reason, Rollout, Score, Unit


def score_of_frames(
    feature: Feature, series: Floats, *, full_scale: float | None = None, detail: Mapping[str, Json] | None = None
) -> Outcome:
    """The plain mean of a series over the frames of a feature, with every frame as a unit `f{index}`.

    A feature of chosen pairs has a unit `f{index}_f{index}` for each of them. With `full_scale`, values are divided by
    it, and raw values are those of the series. The details of the feature go into those of the score.
    """
    kind, names = unit_names(feature)
    if not names:
        return Abstention(Reason.TOO_SHORT, "there is no frame to measure.")
    numbers: list[float] = np.asarray(series, np.float64).tolist()
    units = tuple(Unit(name, _score(number, full_scale)) for name, number in zip(names, numbers, strict=True))
    mean = _score(math.fsum(numbers) / len(numbers), full_scale)
    facts = {kind: len(names), **feature.detail, **(detail or {})}
    return Score(mean.value, raw=mean.raw, units=units, detail=facts)


def unit_names(feature: Feature) -> tuple[str, list[str]]:
    """Whether a feature has a row for each of some `frames` or `pairs`, and the names of the rows."""
    if "frames" in feature.arrays:
        return "pairs", [f"f{first}_f{second}" for first, second in feature["frames"].tolist()]
    return "frames", [f"f{frame}" for frame in feature["frame_indices"].tolist()]


def _score(number: float, full_scale: float | None) -> Score:
    return Score(number) if full_scale is None else Score(number / full_scale, raw=number)


@dataclass(frozen=True, slots=True)
class Mse(MetricBase):
    """Mean over compared frames of the mean squared difference of their pixels.

    Channels go from 0 to 1, and the mean of a frame is over all pixels and the channels red, green and blue: 0 where
    frames are equal, 1 between black and white. There is no raw value. A shift by a few pixels
    costs about as much as another image.

    Abstains: `missing_input` without a reference video; `too_short` where no two frames correspond;
    `invalid_input` where sizes differ and no canvas is named; a reason of the video where one cannot be read.
    """

    name = "mse"
    unit = "squared difference"
    higher_is_better = False
    needs = ("fidelity",)

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        return score_of_frames(features["fidelity"], features["fidelity"]["mse"])


@dataclass(frozen=True, slots=True)
class Psnr(MetricBase):
    """Mean over compared frames of PSNR, 10 log10(1 / MSE), in decibels.

    MSE is the mean squared difference of a frame's pixels, with channels from 0 to 1. Equal frames have no finite PSNR:
    every frame above `ceiling_db` counts as `ceiling_db`, and `detail.frames_cut` counts them. Without a ceiling they
    count `equal_db`; without that either, the mean of a clip with equal frames is infinite, and there is no score.
    There is no raw value.

    Abstains: `missing_input` without a reference video; `too_short` where no two frames correspond;
    `invalid_input` where sizes differ and no canvas is named; `not_applicable` where frames are equal and neither
    number says what they count; a reason of the video where one cannot be read.
    """

    name = "psnr"
    unit = "dB"
    needs = ("fidelity",)

    ceiling_db: Annotated[float | None, "the most that a frame counts, in decibels; `None` is no limit"] = 100.0
    equal_db: Annotated[float | None, "what equal frames count where there is no ceiling; `None` is infinite"] = None

    def __post_init__(self) -> None:
        for number in (self.ceiling_db, self.equal_db):
            if number is not None and number <= 0:
                raise ValueError(f"expected a number above 0 decibels, found {number}.")
        if self.ceiling_db is not None and self.equal_db is not None:
            raise ValueError("equal frames count as the ceiling; leave out `equal_db`, or set `ceiling_db` to None.")

    @property
    def range(self) -> tuple[float | None, float | None]:  # type: ignore[override]  # depends on a constant
        """From black against white to the ceiling."""
        return 0.0, self.ceiling_db

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        feature = features["fidelity"]
        mse = np.asarray(feature["mse"], np.float64)
        least = 0.0 if self.ceiling_db is None else 10 ** (-self.ceiling_db / 10)
        is_cut = mse < least if self.ceiling_db is not None else mse == 0
        most = self.equal_db if self.ceiling_db is None else self.ceiling_db
        decibels = -10 * np.log10(np.where(is_cut, 1.0, mse))
        if most is None and is_cut.any():
            return self._infinite(feature, decibels, is_cut)
        decibels[is_cut] = most
        return score_of_frames(feature, decibels, detail={"frames_cut": int(is_cut.sum())})

    def _infinite(self, feature: Feature, decibels: Floats, is_equal: NDArray[np.bool_]) -> Abstention:
        equal = Abstention(Reason.NOT_APPLICABLE, "both frames are equal, and PSNR is infinite.")
        units = tuple(
            Unit(name, equal if infinite else Score(value))
            for name, value, infinite in zip(unit_names(feature)[1], decibels.tolist(), is_equal, strict=True)
        )
        return Abstention(
            Reason.NOT_APPLICABLE,
            f"{int(is_equal.sum())} of {len(units)} compared frames equal their partners, so that PSNR is infinite for "
            "them and for the clip. MSE has a value, and so has a PSNR with a ceiling.",
            units,
        )


@dataclass(frozen=True, slots=True)
class Ssim(MetricBase):
    """Mean over compared frames of SSIM, the structural similarity of Wang et al. (2004).

    Around every pixel and in every channel, means, variances and covariance under a gaussian window give
    (2 m1 m2 + c1) (2 cov + c2) / ((m1^2 + m2^2 + c1) (v1 + v2 + c2)) with c1 = 0.01^2 and c2 = 0.03^2 for channels from
    0 to 1; the value of a frame is the mean over all of them. 1 where frames are equal, about 0 where they have nothing
    in common, below 0 where one is the negative of the other. There is no raw value.

    Abstains: `missing_input` without a reference video; `too_short` where no two frames correspond;
    `invalid_input` where sizes differ and no canvas is named; a reason of the video where one cannot be read.
    """

    name = "ssim"
    unit = "similarity"
    range = (-1.0, 1.0)
    needs = ("fidelity",)

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        return score_of_frames(features["fidelity"], features["fidelity"]["ssim"])


@dataclass(frozen=True, slots=True)
class Lpips(MetricBase):
    """Mean over compared frames of LPIPS, the learned perceptual distance of Zhang et al. (2018).

    The distance of two frames is the squared difference of unit-length network features at the same position, weighted
    by channel as learned from people's judgements, and summed over layers: 0 where frames are equal, about 0.7 where
    they have nothing in common. There is no raw value.

    Abstains: `missing_input` without a reference video; `too_short` where no two frames correspond;
    `invalid_input` where sizes differ and no canvas is named; a reason of the video or of the weights where there are
    no distances.
    """

    name = "lpips"
    unit = "distance"
    range = (0.0, None)
    higher_is_better = False
    needs = ("lpips",)

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        return score_of_frames(features["lpips"], features["lpips"]["distances"])


@dataclass(frozen=True, slots=True)
class FeatureError(MetricBase):
    """Mean over compared frames of the mean squared difference of patch tokens.

    Tokens have unit length, and the mean of a frame is over patches and channels: 0 where frames are equal,
    2 / channels where tokens have nothing in common, and at most 4 / channels. There is no raw value.

    Abstains: `missing_input` without a reference video; `too_short` where no two frames correspond;
    `invalid_input` where sizes differ and no canvas is named; a reason of the video or of the weights where there are
    no tokens.
    """

    name = "feature_error"
    unit = "squared difference"
    range = (0.0, None)
    higher_is_better = False
    needs = ("feature_error",)

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        return score_of_frames(features["feature_error"], features["feature_error"]["errors"])


@dataclass(frozen=True, slots=True)
class ReferenceRevisitSimilarity(MetricBase):
    """Mean over compared frames of the cosine between a frame and its partner, as a network sees them.

    Cosines are clipped to 0 to 1. The frames are those that similarity is of: with MemoBench, three of the phase in
    which the target is back, beside those of the reference clip. There is no raw value.

    Abstains: `missing_input` without a reference video or without annotated phases; `too_short` where no frame is in
    the phase; a reason of the video or of the weights where there are no cosines.
    """

    name = "reference_revisit_similarity"
    unit = "similarity"
    needs = ("similarity",)

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        return score_of_frames(features["similarity"], np.clip(features["similarity"]["cosines"], 0, 1))


@dataclass(frozen=True, slots=True)
class ImageReward(MetricBase):
    """Mean over frames of 1 / (1 + exp(-r)), where r is the reward of ImageReward for a frame and the prompt.

    0.5 is an average picture of the data that the network was trained on. There is no raw value; `detail.mean_reward`
    has the mean of r.

    Abstains: `missing_input` where the case has no prompt; `too_short` where no frame was sampled; a reason of the
    video or of the weights where there are no rewards.
    """

    name = "image_reward"
    needs = ("rewards",)

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        rewards = np.asarray(features["rewards"]["rewards"], np.float64)
        detail = {"mean_reward": float(rewards.mean())} if len(rewards) else {}
        return score_of_frames(features["rewards"], (1 + np.tanh(rewards / 2)) / 2, detail=detail)


@dataclass(frozen=True, slots=True)
class ImagingQuality(MetricBase):
    """Mean over frames of the image quality that a network gives each, divided by 100.

    Noise, blur and blocking lower it, whatever the content. The raw value is the mean on the scale of the weights, on
    which people rated from 0 to 100; values outside are not clipped.

    Abstains: `too_short` where no frame was sampled; a reason of the video or of the weights where there is no
    quality.
    """

    name = "imaging_quality"
    raw_unit = "quality, 0 to 100"
    range = (None, None)
    needs = ("quality",)

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        return score_of_frames(features["quality"], features["quality"]["quality"], full_scale=100.0)


@dataclass(frozen=True, slots=True)
class ImageQuality(MetricBase):
    """Mean over frames of the probability that each is a good photo and not a bad one, as a network sees it.

    Blur, noise and dull colours lower it, and what a frame shows may change it too. There is no raw value.

    Abstains: `too_short` where no frame was sampled; a reason of the video or of the weights where there is no
    probability.
    """

    name = "image_quality"
    needs = ("image_quality",)

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        return score_of_frames(features["image_quality"], features["image_quality"]["quality"])


@dataclass(frozen=True, slots=True)
class AestheticQuality(MetricBase):
    """Mean over frames of the aesthetic score that a network gives each, divided by 10.

    The raw value is the mean on the scale of the head, on which people rated from 0 to 10; values outside are not
    clipped.

    Abstains: `too_short` where no frame was sampled; a reason of the video or of the weights where there is no score.
    """

    name = "aesthetic_quality"
    raw_unit = "aesthetic score, 0 to 10"
    range = (None, None)
    needs = ("aesthetic",)

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        return score_of_frames(features["aesthetic"], features["aesthetic"]["aesthetic"], full_scale=10.0)


@dataclass(frozen=True, slots=True)
class VisualQuality(MetricBase):
    """Mean of the aesthetic score of frames, on a scale of 0 to 1, and of the probability that they are good photos.

    (clip((a - low) / (high - low)) + clip(q)) / 2, where a and q are means over frames, and clip keeps 0 to 1. This is
    equation 2 of MemoBench, whose paper has a range of 1 to 10, and its code one of 0 to 10. `detail` has a and q.

    Abstains: `too_short` where no frame was sampled; a reason of the video or of the weights where one of both is not
    there.
    """

    name = "visual_quality"
    needs = ("aesthetic", "image_quality")

    aesthetic_range: Annotated[tuple[float, float], "aesthetic scores that become 0 and 1"] = (0.0, 10.0)

    def __post_init__(self) -> None:
        if not self.aesthetic_range[0] < self.aesthetic_range[1]:
            raise ValueError(f"a range has its lower end first, found {self.aesthetic_range}.")

    def measure(self, rollout: Rollout, features: Features) -> Outcome:
        """Measure one rollout."""
        frames = features["aesthetic"]["aesthetic"], features["image_quality"]["quality"]
        if not all(map(len, frames)):
            return Abstention(Reason.TOO_SHORT, "no frame was sampled.")
        aesthetic, quality = (float(np.mean(own, dtype=np.float64)) for own in frames)
        low, high = self.aesthetic_range
        parts = (aesthetic - low) / (high - low), quality
        value = float(np.clip(parts, 0, 1).mean())
        return Score(value, detail={"aesthetic": aesthetic, "image_quality": quality})
