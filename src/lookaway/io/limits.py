"""Limits on the files of a dataset: whatever exceeds one is refused, with a typed error, before memory is taken."""

from __future__ import annotations

from typing import Final

MIB: Final = 1024 * 1024

MAX_LINES_BYTES: Final = 256 * MIB
"""Size of `manifest.jsonl`, `manifest.csv`, `samples.jsonl`, `run_manifest.jsonl`."""
MAX_LINE_BYTES: Final = 1 * MIB
"""One record in such a file."""
MAX_LINES: Final = 1_000_000
"""Lines of such a file. Larger datasets are divided between several, one for each model or shard."""
MAX_INVALID_RECORDS: Final = 10_000
"""Records of such a file that are invalid, each of which is listed: after so many the rest is not read."""
MAX_JSON_BYTES: Final = 64 * MIB
"""Any other JSON file: `sample.json`, `action.json`, `clip.json`, pairs of frames, results of VBench."""
MAX_YAML_BYTES: Final = 64 * 1024
"""`dataset.yaml`, which has a few lines. YAML takes seconds to read where JSON takes milliseconds."""
MAX_YAML_DEPTH: Final = 32
"""Collections inside each other in YAML."""
MAX_DIGITS: Final = 300
"""An integer of more digits does not fit into a floating-point number."""
MAX_PROMPT_BYTES: Final = 64 * 1024
"""A prompt of a judge; the longest of the four benchmarks has some thousand characters."""
MAX_POSES_TEXT_BYTES: Final = 256 * MIB
"""COLMAP's text files: poses are a hundred bytes an image; the points seen in it can be a hundred thousand."""
MAX_ARCHIVE_BYTES: Final = 64 * 1024 * MIB
"""An `.npz` or `.npy` file: depth of a long video takes gigabytes, and is read picture by picture."""
MAX_ARCHIVE_INDEX_BYTES: Final = 1 * MIB
"""The list of arrays at the end of an `.npz` file."""
MAX_ARRAY_HEADER_BYTES: Final = 10_000
"""Shape and type of an array, as text; NumPy writes some hundred bytes."""
MAX_ARRAY_DIMENSIONS: Final = 8
"""Dimensions of an array."""
MAX_ARRAY_BYTES: Final = 256 * MIB
"""An array, or a row of one, that is read whole: poses and intrinsics are kilobytes."""
MAX_PIXELS: Final = 8192 * 8192
"""Pixels of a picture."""
MAX_SIDE_PIXELS: Final = 16_384
"""Width or height of a picture."""
MAX_ASPECT: Final = 64
"""Longer side of a picture by its shorter one: scaled to a usual height, a strip would take gigabytes."""
MAX_FOLDER_DEPTH: Final = 32
"""Folders inside each other below the root."""
