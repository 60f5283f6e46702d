"""Records of what runs long: what was asked of whom, how far it is, what it used, how it ended."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..graders import Control, Usage
from ..project import Cursor, Project

LARGEST = 2**63 - 1
"""The largest number that a column of whole numbers holds; no count of tokens may keep results from being written."""

CARRIED: dict[tuple[str, int], Control] = {}
"""The reins of the jobs of every kind that this process carries, by path of the project and key of the job."""


def state_now(project: Project, job: int, recorded: str) -> str:
    """The state of a job as it is on record; paused if this process carries it and it was paused."""
    control = CARRIED.get((str(project.path), job))
    return "paused" if control is not None and control.paused and recorded == "running" else recorded


@dataclass(frozen=True)
class Ledger:
    """A table with a row for each job of a kind.

    Args:
        table: its name.
        key: its key column.
        done: the column that counts what came and can be used; `failed` counts the rest.
    """

    table: str
    key: str
    done: str

    def start(self, cursor: Cursor, of: Mapping[str, int], asked: Mapping[str, Any], total: int, author: str) -> int:
        """Record a new job as running.

        Args:
            of: key columns that say who is asked, with their values.
            asked: what of the request is kept; a JSON object.
            total: how many results there will be.

        Returns:
            Its key.
        """
        rows = cursor.execute(
            f"INSERT INTO {self.table} ({self.key}, {', '.join(of)}, asked, state, total, {self.done}, failed, message,"
            f" author, started_at) VALUES (nextval('keys'), {', '.join('?' * len(of))}, ?, 'running', ?, 0, 0, '', ?,"
            f" now()::TIMESTAMP) RETURNING {self.key}",
            [*of.values(), json.dumps(asked), total, author],
        ).fetchall()
        return int(rows[0][0])

    def advance(self, cursor: Cursor, job: int, done: int, failed: int, usage: Usage) -> None:
        """Add to the counts of a job, in the transaction that writes the results, and write what it used so far."""
        self.count(cursor, job, done, failed)
        self.use(cursor, job, usage)

    def count(self, cursor: Cursor, job: int, done: int, failed: int) -> None:
        """Add to the counts of a job, in the transaction that writes the results."""
        cursor.execute(
            f"UPDATE {self.table} SET {self.done} = {self.done} + ?, failed = failed + ? WHERE {self.key} = ?",
            [done, failed, job],
        )

    def use(self, cursor: Cursor, job: int, usage: Usage) -> None:
        """Write what a job used so far."""
        tokens = (min(number, LARGEST) for number in usage.tokens)
        cursor.execute(
            f"UPDATE {self.table} SET calls = ?, input_tokens = ?, output_tokens = ?, cached_tokens = ?,"
            f" thinking_tokens = ?, cost = ? WHERE {self.key} = ?",
            [usage.calls, *tokens, usage.cost, job],
        )

    def committed(self, cursor: Cursor, job: int) -> int:
        """How many results of a job are written, failures too."""
        rows = cursor.execute(f"SELECT {self.done} + failed FROM {self.table} WHERE {self.key} = ?", [job]).fetchall()
        return int(rows[0][0])

    def end(self, cursor: Cursor, job: int, state: str, message: str = "") -> bool:
        """Record how a job ended; whether that was not on record yet."""
        ended = cursor.execute(
            f"UPDATE {self.table} SET state = ?, message = ?, ended_at = now()::TIMESTAMP"
            f" WHERE {self.key} = ? AND state IN ('running', 'waiting')",
            [state, message, job],
        ).fetchall()
        return bool(ended[0][0])
