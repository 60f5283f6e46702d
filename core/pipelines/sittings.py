"""The record of sittings: which student was asked what, how far each came, how it ended."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from core.grading import Ledger, state_now
from core.project import Project


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


SITTINGS = Ledger("sittings", "sitting_key", "answered")


def sittings(project: Project) -> list[Sitting]:
    """Every sitting, newest first."""
    return [
        Sitting(row[0], row[1], json.loads(row[2]), state_now(project, row[0], row[3]), *row[4:])
        for row in project.rows(
            "SELECT sitting_key, name, asked, state, total, answered, failed, message, s.author, started_at, ended_at,"
            " calls, cost FROM sittings s JOIN students USING (student_key) ORDER BY sitting_key DESC"
        )
    ]
