"""Memory limit and spill folder of DuckDB, for a process or for one task."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from ..atomic_files import WorkingFolder
from ..errors import InputError
from ._engine_errors import first_line

Config = dict[str, str | bool | int | float | list[str]]

CONFIG: Config = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "storage_compatibility_version": "v1.3.0",
    "write_buffer_row_group_count": 1,
}
"""DuckDB never loads an extension, not even to inspect a file of another kind: the file alone is the project.

New files have the storage format of DuckDB 1.3. They open in three quarters of the time of the
default format (1.0), which converts the statistics of every column at each opening and writing.
Compression of texts needs half the memory of earlier formats, about 50 MB for a row group of
passages. A file keeps the format in which it was created.

A transaction writes each row group (122,880 rows) to the disk, instead of five at once. Five row
groups of passages with their texts take some hundred megabytes.
"""

MEMORY, SPILL = "EXAM_MEMORY", "EXAM_SPILL"
"""Environment variables: the memory limit, such as 4GB, and the spill folder."""

_AMOUNT = re.compile(r"\d+(\.\d+)? ?(KB|MB|GB|TB|KiB|MiB|GiB|TiB)", re.IGNORECASE)


def engine_config(memory: str | None = None) -> Config:
    """Return the settings of DuckDB.

    Args:
        memory: limit such as `4GB`. None means the limit of the environment, or else four fifths of the computer's
            memory.

    Raises:
        InputError: invalid amount of memory.
    """
    memory = memory or os.environ.get(MEMORY)
    found = dict(CONFIG)
    if memory:
        if not _AMOUNT.fullmatch(memory.strip()):
            raise InputError(
                "invalid-memory", f"Invalid amount of memory '{memory}'.", f"Write it as 4GB or 500MB ({MEMORY})."
            )
        found["memory_limit"] = memory.strip()
    return found


def spill_folder(chosen: Path | None = None) -> Path | None:
    """Return the spill folder: the chosen folder, or else the folder of the environment; None without both.

    Raises:
        InputError: the folder does not exist.
    """
    folder = chosen or (Path(given) if (given := os.environ.get(SPILL)) else None)
    if folder is not None and not folder.is_dir():
        raise InputError(
            "unknown-folder", f"Unknown folder '{folder}'.", f"Create it, or name another folder ({SPILL}, --spill)."
        )
    return folder


HELD = 24 << 20
"""Bytes of evictable memory that DuckDB may hold before `let_go` evicts them."""


def let_go(cursor: duckdb.DuckDBPyConnection) -> None:
    """Evict DuckDB's cached memory if it is more than `HELD`, and release Arrow's reserve.

    Evicted data is in the file or in the spill folder, and is read again on demand. Otherwise a
    large transaction would hold its data in memory to its end: blocks already in the file, and
    incomplete row groups.

    The memory limit is lowered for a moment: DuckDB evicts as much as it can before it accepts a
    lower limit, and refuses a limit below the memory in use. Other work keeps its memory limit.

    Args:
        cursor: in a transaction that has written something, so that some memory is always in use.
    """
    import pyarrow as pa

    # Arrow's allocator keeps freed memory for reuse: dozens of megabytes after it held columns of texts.
    pa.default_memory_pool().release_unused()
    # A separate cursor, because the refusal would end the transaction.
    with cursor.cursor() as other:
        held, before = other.execute(
            "SELECT sum(memory_usage_bytes), current_setting('memory_limit')"
            " FROM duckdb_memory() WHERE tag IN ('BASE_TABLE', 'IN_MEMORY_TABLE')"
        ).fetchall()[0]
        if held > HELD:
            _evict(other, before)


def _evict(cursor: duckdb.DuckDBPyConnection, before: str) -> None:
    """Make DuckDB evict all memory that is not in use; `before` is its memory limit."""
    back = f"SET memory_limit = '{before}'"
    given = engine_config().get("memory_limit")
    try:
        cursor.execute("SET memory_limit = '1B'")
    except (duckdb.OutOfMemoryException, duckdb.IOException):
        # After a refusal the setting shows the refused value, and the earlier value was rounded
        # down. On a full disk the data stays in memory.
        back = f"SET memory_limit = '{given}'" if given else "RESET memory_limit"
    finally:
        cursor.execute(back)


@contextmanager
def scratch(memory: str | None = None, spill: Path | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a database on disk that is deleted after the block; its tables may be larger than memory.

    Args:
        memory: as in `engine_config`.
        spill: as in `spill_folder`; without a folder, the system's temporary folder.

    Raises:
        InputError: as in `engine_config` and `spill_folder`, or not enough memory or disk space.
    """
    config = engine_config(memory)
    with WorkingFolder(spill_folder(spill)) as made:
        config["temp_directory"] = str(made)
        # Queries that need an order ask for it.
        config["preserve_insertion_order"] = False
        with duckdb.connect(str(made / "scratch.duckdb"), config=config) as connection:
            try:
                yield connection
            except (duckdb.OutOfMemoryException, duckdb.IOException) as error:
                raise InputError(
                    "no-scratch-room",
                    f"Not enough memory or disk space: {first_line(error)}.",
                    f"Allow more memory ({MEMORY}, --memory), or name a folder on a larger disk ({SPILL}, --spill).",
                ) from error
