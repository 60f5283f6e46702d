"""Short descriptions of draft changes, for the marks of a question and for automatic notes of versions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from ..store import Project
from ..types import Question

SHOWN_QUERY = 60
"""Maximum number of characters of a query's text in a note."""

DONE: dict[str, Callable[[Question, Question], bool]] = {
    "reworded": lambda before, after: after.text != before.text,
    "reweighted": lambda before, after: after.weight != before.weight,
    "retired": lambda before, after: before.active and not after.active,
    "restored": lambda before, after: after.active and not before.active,
    "moved": lambda before, after: after.position not in (None, before.position),
}
"""By kind of change to a question, a test for it; the most important kind is first."""

ADDED, OTHERWISE = "added", "changed in detail"


def done(before: Question | None, after: Question) -> list[str]:
    """Return the kinds of change to a question, such as "reworded" and "retired".

    Args:
        before: the saved question; None if it is new.
        after: the question in the draft.
    """
    if before is None:
        return [ADDED]
    return [name for name, is_done in DONE.items() if is_done(before, after)] or [OTHERWISE]


def note(project: Project, changes: Sequence[tuple[Question | None, Question]]) -> str:
    """Return a line that summarizes changes, such as "2 reworded, 1 added in effects of green tea".

    Args:
        changes: the saved question (None if new) and the drafted question, for every changed question. Each question
            counts once, under its most important kind of change.
    """
    counted = Counter(done(before, after)[0] for before, after in changes)
    said = ", ".join(f"{counted[name]} {name}" for name in (*DONE, OTHERWISE, ADDED) if counted[name])
    queries = list(dict.fromkeys(after.query_id for _, after in changes))
    return f"{said} in {_where(project, queries)}" if said else ""


def _where(project: Project, queries: list[str]) -> str:
    if len(queries) > 1:
        return f"{len(queries)} queries"
    text = str(project.value("SELECT text FROM queries WHERE query_id = ?", queries))
    return text if len(text) <= SHOWN_QUERY else text[: SHOWN_QUERY - 1].rsplit(" ", 1)[0] + "…"
