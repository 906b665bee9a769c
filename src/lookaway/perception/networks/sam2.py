"""How SAM 2 sees a frame, and where its masks lie in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from lookaway.core import Compute, Floats, Mask, Pixels, Timeline
from lookaway.perception.networks.fits import Colours, Squeezed, to_input
from lookaway.perception.networks.pretrained import dtype_of, load_pretrained, load_torch
from lookaway.perception.weights import Weights


@dataclass(frozen=True, slots=True)
class Sam2Frames:
    """A loaded network of SAM 2: it sees frames squeezed into a square, and draws masks of a fourth of its side."""

    torch: ModuleType
    model: Any
    colours: Colours
    compute: Compute

    @classmethod
    def load(cls, kind: str, weights: Weights, colours: Colours, compute: Compute) -> Sam2Frames:
        """The network as one of its classes in transformers: for pictures, or for videos."""
        return cls(load_torch(compute), load_pretrained(kind, weights, compute), colours, compute)

    @property
    def side(self) -> int:
        """Side of the square."""
        return int(self.model.config.prompt_encoder_config.image_size)

    def to_input(self, pixels: Pixels) -> Any:
        """A frame as a tensor [1, 3, side, side]."""
        height, width = pixels.shape[:2]
        fitted = Squeezed(self.side, self.side, "bilinear").fitted(width, height, 1)
        return to_input(self.torch, [pixels], fitted, self.colours, self.compute)

    def to_prompt(self, coordinates: Floats) -> Any:
        """Fractions of a frame's width and height as coordinates in the square, [1, prompts, ...]."""
        # Not in the network's own type: half precision would move corners by whole pixels.
        return self.torch.from_numpy(coordinates).float().to(self.compute.device)[None] * self.side

    def to_mask(self, logits: Any, size: tuple[int, int]) -> Mask:
        """A mask [height, width] from what the network drew; `size` is width and height."""
        drawn = logits.float().reshape(1, 1, *logits.shape[-2:])
        scaled = self.torch.nn.functional.interpolate(drawn, size=size[::-1], mode="bilinear", align_corners=False)
        mask: Mask = (scaled[0, 0] > 0).cpu().numpy()
        return mask


def size_at(height: int, timeline: Timeline) -> tuple[int, int]:
    """Width and height of masks that are so tall and have the frame's aspect ratio."""
    return max(1, round(timeline.width * height / timeline.height)), height


MEMORIES = ("maskmem_features", "maskmem_pos_enc")
POINTER = "object_pointer"
"""What the network keeps of a frame, by its own names: memories are large, pointers small."""


@dataclass(slots=True)
class Sam2Memory:
    """Follows one thing, frame after frame, and holds no more of earlier frames than the network attends to."""

    network: Sam2Frames
    session: Any
    frames: int
    """Seen so far."""

    @classmethod
    def of_prompt(cls, network: Sam2Frames, points: Floats, labels: tuple[int, ...]) -> Sam2Memory:
        """Before the first frame: points in it [points, 2], as fractions of its size, and what they are.

        The network's labels are 1 for a point of the thing, 2 and 3 for the corners of a box around it.
        """
        import transformers

        torch, device = network.torch, network.compute.device
        session: Any = transformers.Sam2VideoInferenceSession(
            inference_device=device,
            inference_state_device=device,
            video_storage_device=device,
            dtype=dtype_of(torch, network.compute),
        )
        number = session.obj_id_to_idx(0)
        inputs = {
            "point_coords": network.to_prompt(points[None]),
            "point_labels": torch.tensor([[labels]], dtype=torch.int32, device=device),
        }
        session.add_point_inputs(number, 0, inputs)
        session.obj_with_new_inputs = [0]
        return cls(network, session, 0)

    def follow(self, frame: Any) -> tuple[Any, float]:
        """The mask in the next frame as the network draws it, and the probability that the thing is seen."""
        drawn = self.network.model(inference_session=self.session, frame_idx=self.frames, frame=frame)
        self.frames += 1
        self._forget()
        return drawn.pred_masks, float(drawn.object_score_logits.float().sigmoid())

    def _forget(self) -> None:
        """Drop what the next frame will not ask for: the session itself would keep all of every frame."""
        config, kept = self.network.model.config, self.session.output_dict_per_obj[0]
        self.session.processed_frames.clear()
        self.session.cache.clear_all()
        self.session.frames_tracked_per_obj[0].clear()
        for index, prompted in kept["cond_frame_outputs"].items():
            kept["cond_frame_outputs"][index] = _only(prompted, [*MEMORIES, POINTER])
        ages = {index: self.frames - index for index in kept["non_cond_frame_outputs"]}
        for index, age in ages.items():
            wanted = [*MEMORIES] if age < config.num_maskmem else []
            wanted += [POINTER] if age < config.max_object_pointers_in_encoder else []
            output = kept["non_cond_frame_outputs"].pop(index)
            if wanted:
                kept["non_cond_frame_outputs"][index] = _only(output, wanted)


def _only(output: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: output[name] for name in names}
