"""Unchanged objects from other tools' files. Exports need them for fields without a column of their own."""

from __future__ import annotations

import json
from collections.abc import Iterable

from ..store import Cursor, stage
from ..types import KeptObject

_KEY = ("form", "query_id", "name")


def keep_objects(cursor: Cursor, objects: Iterable[KeptObject]) -> None:
    """Keep objects of known queries; each replaces the object of the same form, query and name."""
    found = {(one.form, one.query_id, one.name): json.dumps(one.content) for one in objects}
    columns = {name: [key[at] for key in found] for at, name in enumerate(_KEY)} | {"content": list(found.values())}
    stage(cursor, "new_objects", columns, dict.fromkeys(columns, "VARCHAR"))
    cursor.execute(
        "DELETE FROM kept_objects WHERE (form, query_key, name) IN"
        " (SELECT (form, query_key, name) FROM new_objects JOIN queries USING (query_id))"
    )
    cursor.execute(
        "INSERT INTO kept_objects SELECT form, query_key, name, content FROM new_objects JOIN queries USING (query_id)"
    )


def kept_objects(cursor: Cursor, form: str) -> list[KeptObject]:
    """Return the objects of a form, by query."""
    return [
        KeptObject(form, query_id, name, json.loads(content))
        for query_id, name, content in cursor.execute(
            "SELECT query_id, name, content FROM kept_objects JOIN queries USING (query_key)"
            " WHERE form = $form ORDER BY query_key, kept_objects.rowid",
            {"form": form},
        ).fetchall()
    ]
