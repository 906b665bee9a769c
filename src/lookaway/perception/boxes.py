"""What the features of all that draws boxes hold."""

from __future__ import annotations

BOX_ARRAYS = {
    "boxes": "float32 [boxes, 4]: left, top, right and bottom, as parts of the frame",
    "scores": "float32 [boxes]: how sure the source is",
    "frame_indices": "int64 [boxes]: the frame of each box",
    "looked_at": "int64 [frames]: the frames looked at, whether or not anything was found",
}
