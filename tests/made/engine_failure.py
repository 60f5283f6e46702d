"""Making the database engine give up for real: a checkpoint that is told to fail invalidates the database."""

from __future__ import annotations

import duckdb
import pytest

from exam_workbench.project import Project
from exam_workbench.project.database import Connection


def give_up(cursor: Connection) -> None:
    """Let the engine refuse all further work; the statement that does it raises as the engine does."""
    # Without a change there is nothing to write, and a checkpoint does nothing.
    cursor.execute("INSERT OR REPLACE INTO settings VALUES ('trouble', uuid()::VARCHAR)")
    cursor.execute("SET debug_checkpoint_abort = 'before_header'")
    cursor.execute("FORCE CHECKPOINT")


def give_up_at_commit(cursor: Connection) -> None:
    """Let the engine give up at the next commit, right after it has written what was committed."""
    cursor.execute("SET debug_checkpoint_abort = 'before_truncate'")
    cursor.execute("SET checkpoint_threshold = '1B'")


def break_database(project: Project) -> None:
    """Leave a project as somebody else's failed work leaves it: every statement is refused."""
    with pytest.raises(duckdb.FatalException), project.cursor() as cursor:
        give_up(cursor)
