"""Real failures of DuckDB: an aborted checkpoint invalidates the database."""

import duckdb
import pytest

from exam_workbench.store import Project
from exam_workbench.store._database import Connection


def give_up(cursor: Connection) -> None:
    """Make DuckDB refuse all further statements; the last statement raises DuckDB's own error."""
    # A checkpoint without a change does nothing.
    cursor.execute("INSERT OR REPLACE INTO settings VALUES ('trouble', uuid()::VARCHAR)")
    cursor.execute("SET debug_checkpoint_abort = 'before_header'")
    cursor.execute("FORCE CHECKPOINT")


def give_up_at_commit(cursor: Connection) -> None:
    """Make DuckDB fail at the next commit, right after it has written the changes."""
    cursor.execute("SET debug_checkpoint_abort = 'before_truncate'")
    cursor.execute("SET checkpoint_threshold = '1B'")


def break_database(project: Project) -> None:
    """Leave a project in the state after a failure of other work: every statement is refused."""
    with pytest.raises(duckdb.FatalException), project.cursor() as cursor:
        give_up(cursor)
