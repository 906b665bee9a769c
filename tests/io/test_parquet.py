from __future__ import annotations

import io
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lookaway.io.parquet import read_parquet

TABLE = pa.table({name: [f"{name}{number}" for number in range(500)] for name in "abcdefgh"})


def content() -> bytes:
    file = io.BytesIO()
    pq.write_table(TABLE, file, row_group_size=50)
    return file.getvalue()


def test_a_table_comes_back_as_it_was_written_or_some_columns_of_it():
    assert read_parquet(content()) == TABLE
    assert read_parquet(content(), ["h", "b"]).column_names == ["h", "b"]


@pytest.mark.parametrize("damaged", [b"", b"PAR1", content()[:-9], content()[9:]])
def test_what_is_no_table_is_an_error_of_arrow(damaged):
    with pytest.raises((pa.ArrowException, OSError)):
        read_parquet(damaged)


def test_a_column_that_is_not_there_is_an_error_of_arrow_and_not_left_out():
    with pytest.raises(pa.ArrowInvalid, match="lacks the columns y, z"):
        read_parquet(content(), ["a", "z", "y"])


READ = """
import sys
from pathlib import Path
from lookaway.io.parquet import read_parquet
threads = lambda: len(list(Path("/proc/self/task").iterdir()))
before = threads()
read_parquet(Path(sys.argv[1]).read_bytes())
print(threads() - before)
"""


def test_reading_leaves_no_thread_that_could_outlive_the_process(tmp_path):
    path = tmp_path / "table.parquet"
    path.write_bytes(content())
    run = subprocess.run([sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["0"]
