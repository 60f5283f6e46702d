"""How much memory the engine takes, and where it puts what does not fit: for a process or one piece of work."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from ..atomic_files import WorkingFolder
from ..errors import InputError
from .engine_errors import first_line

Config = dict[str, str | bool | int | float | list[str]]

CONFIG: Config = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "storage_compatibility_version": "v1.3.0",
    "write_buffer_row_group_count": 1,
}
"""Nothing is ever loaded from outside, not even to look at a file of another kind: the file alone is the project.

A new file is of the storage format of DuckDB 1.3. It opens in three quarters of the time that the engine's default
takes, the format of 1.0, in which the statistics of every column are converted whenever a file is opened or written.
And texts are compressed with half the memory that the formats before it take, some 50 megabytes for a row group of
passages. A file keeps the format in which it was made.

What a transaction writes goes to the disk row group by row group (122,880 rows), not when five of them are there: five
of passages with their texts are some hundred megabytes.
"""

MEMORY, SPILL = "EXAM_MEMORY", "EXAM_SPILL"
"""Variables of the environment: memory at most, as 4GB, and the folder for what does not fit."""

_AMOUNT = re.compile(r"\d+(\.\d+)? ?(KB|MB|GB|TB|KiB|MiB|GiB|TiB)", re.IGNORECASE)


def engine_config(memory: str | None = None) -> Config:
    """The settings of the engine.

    Args:
        memory: at most, as `4GB`; for None that of the environment, else four fifths of the computer's memory.

    Raises:
        InputError: the memory is not an amount.
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
    """The folder for what does not fit into memory: the chosen one, else that of the environment; None without both.

    Raises:
        InputError: it does not exist.
    """
    folder = chosen or (Path(given) if (given := os.environ.get(SPILL)) else None)
    if folder is not None and not folder.is_dir():
        raise InputError(
            "unknown-folder", f"Unknown folder '{folder}'.", f"Create it, or name another folder ({SPILL}, --spill)."
        )
    return folder


HELD = 24 << 20
"""Bytes that the engine may hold, though it could do without them, before `let_go` lets it give them up."""


def let_go(cursor: duckdb.DuckDBPyConnection) -> None:
    """Let the engine give up memory that it could do without if that is more than `HELD`, and Arrow its reserve.

    What it read or wrote is in the file, or goes to the folder for what does not fit, and is read again when it is
    asked for. A transaction that writes much would else hold all of it in memory to its end: blocks that are in the
    file already, and the rows that do not fill a row group yet.

    Whoever else works with the file goes on with all the memory that they may have: before the engine takes a lower
    limit it gives up what it can, and it refuses one that is lower than what is in use all the same.

    Args:
        cursor: in a transaction that has written something: of that some memory is always in use.
    """
    import pyarrow as pa

    # Its allocator keeps what was freed, in case that it is needed again: of columns of texts some dozens of megabytes.
    pa.default_memory_pool().release_unused()
    # With one of its own, since the refusal would end the transaction.
    with cursor.cursor() as other:
        held, before = other.execute(
            "SELECT sum(memory_usage_bytes), current_setting('memory_limit')"
            " FROM duckdb_memory() WHERE tag IN ('BASE_TABLE', 'IN_MEMORY_TABLE')"
        ).fetchall()[0]
        if held > HELD:
            _evict(other, before)


def _evict(cursor: duckdb.DuckDBPyConnection, before: str) -> None:
    """Let the engine write to the disk, or forget, what is not in use; `before` is the limit of its memory."""
    back = f"SET memory_limit = '{before}'"
    given = engine_config().get("memory_limit")
    try:
        cursor.execute("SET memory_limit = '1B'")
    except (duckdb.OutOfMemoryException, duckdb.IOException):
        # The setting says what was asked for, though it was refused; what it said before is rounded down. Where the
        # disk has no room for what would be given up, it stays in memory.
        back = f"SET memory_limit = '{given}'" if given else "RESET memory_limit"
    finally:
        cursor.execute(back)


@contextmanager
def scratch(memory: str | None = None, spill: Path | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database of its own that goes away with the block: its tables lie on the disk, so that they may be larger than
    memory.

    Args:
        memory: as for `engine_config`.
        spill: as for `spill_folder`; the system's folder for temporary files without one.

    Raises:
        InputError: as both say, or there was no room.
    """
    config = engine_config(memory)
    with WorkingFolder(spill_folder(spill)) as made:
        config["temp_directory"] = str(made)
        # Rows come back in an order that is asked for, or in any.
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
