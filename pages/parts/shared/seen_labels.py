"""Passages whose labels a person was shown. Later judgments of them are not blind."""

from collections.abc import Iterable

from exam_workbench.store import Project
from pages.parts.shared import ui

Place = tuple[str, str]
"""Query id and passage id."""

SEEN: dict[tuple[str, str], set[Place]] = {}
"""By project and person: passages whose labels any window has shown since the app started."""


def record_shown(project: Project, places: Iterable[Place]) -> None:
    """Record that the person at this browser was shown the labels of passages."""
    seen_passages(project, ui.person()).update(places)


def seen_passages(project: Project, person: str) -> set[Place]:
    """Return the passages whose labels a person was shown."""
    return SEEN.setdefault((str(project.path), person), set())
