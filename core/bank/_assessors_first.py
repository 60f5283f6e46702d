"""Assessors first: a person sees the suggestions for a query only after writing a question of their own."""

from __future__ import annotations

from ..store import Project, log, put_setting, setting
from ._proposals import proposals

SETTING = "assessors_first"


def assessors_first(project: Project) -> bool:
    """Return whether suggestions wait for a person's own question."""
    return setting(project, SETTING) is not None


def set_assessors_first(project: Project, on: bool, author: str) -> None:
    """Turn the switch on or off."""
    with project.transaction(act="organize", author=author) as cursor:
        put_setting(cursor, SETTING, "on" if on else None)
        log(cursor, author, "set assessors first", on=on)


def queries_awaiting_own(project: Project, author: str) -> frozenset[str]:
    """Return the queries whose suggestions are hidden from a person; empty if the switch is off.

    A question is a person's own if they saved its first version, or have drafted it with a text.
    """
    if not assessors_first(project):
        return frozenset()
    return frozenset(
        query
        for (query,) in project.rows(
            "SELECT query_id FROM queries WHERE query_key NOT IN (SELECT query_key FROM question_revisions"
            "  JOIN questions USING (question_key) JOIN bank_versions USING (version) GROUP BY query_key, question_key"
            "  HAVING arg_min(author, version) = $author UNION ALL SELECT query_key FROM drafts WHERE author = $author"
            "  AND question_id NOT IN (SELECT question_id FROM questions)"
            "  AND trim(coalesce(content->>'$.text', '')) <> '')",
            {"author": author},
        )
    )


def proposed_wordings(project: Project, question_id: str, author: str) -> list[str]:
    """Return the open proposals of new wordings of a question that a person may see, in the order of their creation."""
    hidden = queries_awaiting_own(project, author)
    found = [one for one in proposals(project) if (one.kind, one.question_id) == ("rewording", question_id)]
    return [one.text for one in found if one.query_id not in hidden]
