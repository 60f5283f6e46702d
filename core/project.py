"""A project: one DuckDB file, opened by one process, read by many threads and written by one at a time."""

from __future__ import annotations

import getpass
import json
import os
import re
import shutil
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

import duckdb
import pyarrow as pa

from core import migrations
from core.errors import InputError, ProjectError

Cursor = duckdb.DuckDBPyConnection
T = TypeVar("T")

SCORELESS = ("publish qrels", "reproduce qrels")
"""Acts that leave everything as it is that results derive from, as exports do."""

REMEMBERED = 200
"""Derived results that are kept at most; the oldest goes when one more comes."""


class Project:
    """An open project. Make one with `create` or `open_project`; close it when done.

    Attributes:
        path: the DuckDB file.
    """

    def __init__(self, path: Path, connection: Cursor) -> None:
        self.path = path
        self._connection = connection
        self._writing = threading.RLock()
        self._remembering = threading.Lock()
        self._remembered: dict[Hashable, tuple[tuple[int, int, int], Any]] = {}

    @property
    def name(self) -> str:
        """The file's name without its ending, as people call the project."""
        return self.path.stem

    def cursor(self) -> Cursor:
        """A cursor for reading, to be used by one thread."""
        return self._connection.cursor()

    def rows(self, sql: str, parameters: list[Any] | dict[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """Every row of a query as tuples."""
        with self.cursor() as cursor:
            return cursor.execute(sql, parameters).fetchall()

    def table(self, sql: str, parameters: list[Any] | dict[str, Any] | None = None) -> pa.Table:
        """The result of a query as an Arrow table."""
        with self.cursor() as cursor:
            return cursor.sql(sql, params=parameters).to_arrow_table()

    def value(self, sql: str, parameters: list[Any] | dict[str, Any] | None = None) -> Any:
        """The first column of the first row of a query, or None where there is no row."""
        rows = self.rows(sql, parameters)
        return rows[0][0] if rows else None

    @contextmanager
    def transaction(self) -> Iterator[Cursor]:
        """A cursor whose writes all take effect, or, where the block raises, none of them."""
        with self._writing, self.cursor() as cursor:
            cursor.execute("BEGIN")
            try:
                yield cursor
            except BaseException:
                cursor.execute("ROLLBACK")
                raise
            cursor.execute("COMMIT")

    def state(self) -> tuple[int, int, int]:
        """A value that differs whenever anything that scores derive from may differ: a key for caches."""
        row = self.rows(
            "SELECT (SELECT coalesce(max(activity_key), 0) FROM activity"
            f" WHERE NOT starts_with(act, 'export ') AND act NOT IN {SCORELESS}),"
            " (SELECT count(*) FROM grades), (SELECT count(*) FROM failures)"
        )[0]
        return (row[0], row[1], row[2])

    def remember(self, key: Hashable, compute: Callable[[], T]) -> T:
        """What `compute` gives, computed again only when something that scores derive from changed.

        Args:
            key: names the result together with everything but the project's content that it depends on.
        """
        state = self.state()
        known = self._remembered.get(key)
        if known is not None and known[0] == state:
            return cast(T, known[1])
        result = compute()
        with self._remembering:
            self._remembered.pop(key, None)
            self._remembered[key] = (state, result)
            while len(self._remembered) > REMEMBERED:
                self._remembered.pop(next(iter(self._remembered)))
        return result

    def close(self) -> None:
        """Write everything out and let go of the file."""
        self._connection.close()


def stage(cursor: Cursor, name: str, columns: Mapping[str, Sequence[Any]], types: Mapping[str, str]) -> None:
    """Make a temporary table of columns, so that SQL can work on them as a set.

    Args:
        cursor: where the table is to be seen; an older one of that name is replaced.
        name: name of the temporary table.
        columns: values by column name, all of one length.
        types: SQL type by column name, in the order of the columns.
    """
    arrays = {column: pa.array(columns[column], type=_ARROW[types[column]]) for column in types}
    cursor.register("incoming", pa.table(arrays))
    cursor.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT * FROM incoming")
    cursor.unregister("incoming")


_ARROW = {
    "VARCHAR": pa.string(),
    "INTEGER": pa.int32(),
    "TINYINT": pa.int8(),
    "DOUBLE": pa.float64(),
    "FLOAT": pa.float32(),
    "FLOAT[]": pa.list_(pa.float32()),
    "BOOLEAN": pa.bool_(),
    "BLOB": pa.binary(),
}


def log(cursor: Cursor, author: str, act: str, **detail: Any) -> None:
    """Record who did what, in the transaction that does it.

    Args:
        act: a verb and its object, such as "import run".
        detail: what it was about; JSON values.
    """
    cursor.execute(
        "INSERT INTO activity VALUES (nextval('keys'), now()::TIMESTAMP, ?, ?, ?)",
        [author, act, json.dumps(detail, ensure_ascii=False)],
    )


def projects_folder() -> Path:
    """Where projects are kept: EXAM_PROJECTS_DIR, or data/projects beside the code."""
    chosen = os.environ.get("EXAM_PROJECTS_DIR")
    return Path(chosen) if chosen else Path(__file__).resolve().parents[1] / "data" / "projects"


def current_author() -> str:
    """The name under which the person at this machine is recorded."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def create(path: Path) -> Project:
    """Make a new, empty project.

    Raises:
        InputError: there is a file already, or the folder cannot be written.
    """
    if path.exists():
        raise InputError(f"{path}: there is a file of this name already.", "Choose another name, or open it.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path.parent}: the folder cannot be made ({error.strerror}).") from error
    connection = _connect(path)
    migrations.upgrade(connection)
    return Project(path, connection)


def open_project(path: Path) -> Project:
    """Open a project; one from an older version is copied aside and upgraded.

    Raises:
        InputError: there is no such file.
        ProjectError: it is no project, comes from a newer version, or another process holds it.
    """
    if not path.exists():
        raise InputError(f"{path}: there is no such project.", f"Make it with: exam init --project {path}")
    connection = _connect(path)
    try:
        seen = migrations.applied(connection)
        known = [name for name, _ in migrations.MIGRATIONS]
        if not seen:
            raise ProjectError(f"{path} is a database, but not a project of this program.")
        if newer := [name for name in seen if name not in known]:
            raise ProjectError(
                f"{path} was written by a newer version (it has the schema step {newer[-1]}).",
                "Upgrade Exam Workbench to open it.",
            )
        if len(seen) < len(known):
            connection.close()
            backup = path.with_name(f"{path.name}.before-{known[len(seen)]}")
            shutil.copy2(path, backup)
            connection = _connect(path)
            _upgrade(connection, path, backup)
    except BaseException as error:
        connection.close()
        if isinstance(error, duckdb.Error):
            raise _explained(path, str(error)) from error
        raise
    return Project(path, connection)


def _upgrade(connection: Cursor, path: Path, backup: Path) -> None:
    try:
        migrations.upgrade(connection)
    except duckdb.Error as error:
        raise ProjectError(
            f"{path} cannot be upgraded: {str(error).splitlines()[0]}.",
            f"Nothing of it was lost: {backup.name} is as it was before.",
        ) from error


def _connect(path: Path) -> Cursor:
    # Nothing is ever loaded from outside, not even to look at a file of another kind: the file alone
    # is the project.
    config: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    try:
        return duckdb.connect(str(path), config=config)
    except duckdb.Error as error:
        raise _explained(path, str(error)) from error


def _explained(path: Path, reason: str) -> ProjectError:
    if "set lock" in reason:
        holder = re.search(r"held in (.+?) \(PID (\d+)\)", reason)
        who = f"process {holder[2]} ({holder[1]})" if holder else "another process"
        return ProjectError(
            f"{path} is open in {who}.",
            "Close the app or the command that uses it, then try again.",
        )
    return ProjectError(f"{path} cannot be opened as a project: {reason.splitlines()[0]}")
