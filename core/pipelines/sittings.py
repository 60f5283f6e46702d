"""The record of sittings: which student was asked what, how far each came, how it ended."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from core.graders import Usage
from core.project import Cursor, Project

LARGEST = 2**63 - 1
"""The largest number that a column of whole numbers holds; no count of tokens may keep answers from being written."""


@dataclass(frozen=True)
class Sitting:
    """One sitting of one student. `state` is running, done, cancelled, stopped, failed or interrupted."""

    key: int
    student: str
    asked: dict[str, Any]
    state: str
    total: int
    answered: int
    failed: int
    message: str
    author: str
    started_at: datetime
    ended_at: datetime | None
    calls: int | None
    cost: float | None


def start(cursor: Cursor, student_key: int, asked: dict[str, Any], total: int, author: str) -> int:
    """Record a new sitting as running and return its key."""
    rows = cursor.execute(
        "INSERT INTO sittings (sitting_key, student_key, asked, state, total, answered, failed, message, author,"
        " started_at) VALUES (nextval('keys'), ?, ?, 'running', ?, 0, 0, '', ?, now()::TIMESTAMP)"
        " RETURNING sitting_key",
        [student_key, json.dumps(asked), total, author],
    ).fetchall()
    return int(rows[0][0])


def advance(cursor: Cursor, sitting_key: int, answered: int, failed: int, usage: Usage) -> None:
    """Add to the counts of a sitting, in the transaction that writes the answers, and write what it used so far."""
    tokens = (min(number, LARGEST) for number in (usage.input_tokens, usage.output_tokens))
    cursor.execute(
        "UPDATE sittings SET answered = answered + ?, failed = failed + ?, calls = ?, input_tokens = ?,"
        " output_tokens = ?, cost = ? WHERE sitting_key = ?",
        [answered, failed, usage.calls, *tokens, usage.cost, sitting_key],
    )


def committed(cursor: Cursor, sitting_key: int) -> int:
    """How many answers of a sitting are written, failures too."""
    rows = cursor.execute("SELECT answered + failed FROM sittings WHERE sitting_key = ?", [sitting_key]).fetchall()
    return int(rows[0][0])


def end(cursor: Cursor, sitting_key: int, state: str, message: str) -> bool:
    """Record how a sitting ended; whether that was not on record yet."""
    ended = cursor.execute(
        "UPDATE sittings SET state = ?, message = ?, ended_at = now()::TIMESTAMP"
        " WHERE sitting_key = ? AND state = 'running'",
        [state, message, sitting_key],
    ).fetchall()
    return bool(ended[0][0])


def sittings(project: Project) -> list[Sitting]:
    """Every sitting, newest first."""
    return [
        Sitting(row[0], row[1], json.loads(row[2]), *row[3:])
        for row in project.rows(
            "SELECT sitting_key, name, asked, state, total, answered, failed, message, s.author, started_at, ended_at,"
            " calls, cost FROM sittings s JOIN students USING (student_key) ORDER BY sitting_key DESC"
        )
    ]
