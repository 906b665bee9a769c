"""What SAM 2 remembers of one thing while frames pass by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lookaway.core import Floats
from lookaway.perception.networks.sam2_frames import Sam2Frames
from lookaway.perception.networks.torch_setup import dtype_of

MEMORIES = ("maskmem_features", "maskmem_pos_enc")
POINTER = "object_pointer"
"""What the network keeps of a frame, by its own names: memories are large, pointers small."""


@dataclass(slots=True)
class Sam2Memory:
    """Follows one thing, frame after frame, and holds no more of earlier frames than the network attends to."""

    network: Sam2Frames
    session: Any
    frames: int = 0
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
        return cls(network, session)

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
