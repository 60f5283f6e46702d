"""A check of every cached result in the tests: it reads no table that it does not declare."""

import re
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, cast
from weakref import WeakKeyDictionary

from exam_workbench.store import Cursor, Project, cache
from exam_workbench.store._database import Database
from exam_workbench.store._roles import MEMBERS, READERS, TAKING_PART

SQL = Path(cache.__file__).parent / "sql"

_READ: ContextVar[set[str] | None] = ContextVar("read", default=None)
_READ_FOR: WeakKeyDictionary[object, dict[Hashable, set[str]]] = WeakKeyDictionary()


def check_cached_reads() -> None:
    """Check from now on that each cached result declares the tables that its statements name."""
    migrations = "".join(path.read_text(encoding="utf-8") for path in SQL.glob("*.sql"))
    # Vectors are the same whenever they are computed, and `tokens` is a column of other tables.
    tables = frozenset(re.findall(r"CREATE TABLE (\w+)", migrations)) - {"text_vectors", "tokens"}
    cached, cursor, known = Project.cached, Database.cursor, Project._unchecked_rows

    def noted(sql: str) -> None:
        if (read := _READ.get()) is not None:
            read |= cache.tables_read(sql) & tables

    def checked(self: Project, key: Hashable, compute: Callable[[], Any], reads: frozenset[str] = cache.SCORES) -> Any:
        of_cache = _READ_FOR.setdefault(self._results, {})

        def computed() -> Any:
            mine: set[str] = set()
            token = _READ.set(mine)
            try:
                result = compute()
            finally:
                _READ.reset(token)
            missing = mine - cache.with_views(reads)
            # Adjudicated judgments have no overrides, which only the view of adjudications names.
            if "adjudications" in reads:
                missing -= {"overrides"}
            assert not missing, f"{key} reads {sorted(missing)} without declaring it"
            of_cache[key] = mine
            return result

        result = cached(self, key, computed, reads)
        if (outer := _READ.get()) is not None:
            outer |= of_cache.get(key, set())
        return result

    # The statements about people check permissions only.
    def known_noted(self: Project, sql: str, parameters: Any = None) -> Any:
        if sql not in (MEMBERS, READERS, TAKING_PART):
            noted(sql)
        return known(self, sql, parameters)

    @contextmanager
    def noting(self: Database) -> Iterator[Cursor]:
        with cursor(self) as own:
            yield own if _READ.get() is None else cast(Cursor, cache.NotedCursor(own, noted))

    Project.cached, Project._unchecked_rows, Database.cursor = checked, known_noted, noting  # type: ignore
