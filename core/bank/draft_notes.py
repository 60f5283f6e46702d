"""What drafts do to the bank, in a few words: for the marks of a question, and for a note that nobody wrote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from ..project import Project
from ..types import Question

SHOWN_QUERY = 60
"""Characters of a query's text that a note quotes."""

DONE: dict[str, Callable[[Question, Question], bool]] = {
    "reworded": lambda before, after: after.text != before.text,
    "reweighted": lambda before, after: after.weight != before.weight,
    "retired": lambda before, after: before.active and not after.active,
    "restored": lambda before, after: after.active and not before.active,
    "moved": lambda before, after: after.position not in (None, before.position),
}
"""What can be done to a question, and how that is seen; what weighs most for its readers comes first."""

ADDED, OTHERWISE = "added", "changed in detail"


def done(before: Question | None, after: Question) -> list[str]:
    """What was done to a question, such as "reworded" and "retired".

    Args:
        before: the question as it is saved; None where it is new.
        after: the question as a draft has it.
    """
    if before is None:
        return [ADDED]
    return [name for name, is_done in DONE.items() if is_done(before, after)] or [OTHERWISE]


def note(project: Project, changes: Sequence[tuple[Question | None, Question]]) -> str:
    """One line that says what changed and where, such as "2 reworded, 1 added in effects of green tea".

    Args:
        changes: every question that changed, as it was (None where it is new) and as it is. Each counts once, for
            what weighs most.
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
