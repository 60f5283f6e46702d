"""Settings of a project by name, such as the pool depth."""

from __future__ import annotations

from ._project import Cursor, Project


def setting(project: Project, name: str) -> str | None:
    """Return the value of a setting; None if it was never set."""
    value: str | None = project.value("SELECT value FROM settings WHERE name = ?", [name])
    return value


def put_setting(cursor: Cursor, name: str, value: str | None) -> None:
    """Set a value; None removes the setting."""
    if value is None:
        cursor.execute("DELETE FROM settings WHERE name = ?", [name])
    else:
        cursor.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", [name, value])
