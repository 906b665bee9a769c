"""Reads tables in Parquet."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq


def read_parquet(content: bytes, columns: Sequence[str] | None = None) -> pa.Table:
    """The table in a file with this content, or some of its columns."""
    file = pq.ParquetFile(pa.BufferReader(content), pre_buffer=False)
    if missing := sorted(set(columns or ()) - set(file.schema_arrow.names)):
        raise pa.ArrowInvalid(f"lacks the columns {', '.join(missing)}")
    # Not in threads: one that lets go of the content while the process ends asks a Python that is gone, and aborts it.
    return file.read(columns=None if columns is None else list(columns), use_threads=False)
