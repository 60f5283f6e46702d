"""Visibility of other people's judgments, overrides, values of citation support, actions and resolutions.

While a double assignment is open, its assessors must not see each other's judgments until
adjudication. Every statement that shows one of these tables names it through `visible`. Statements
inside a transaction read all of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ..store import quoted_text

if TYPE_CHECKING:
    from ..store import Project

Table = Literal["judgments", "overrides", "support_values", "activity", "settlings"]

JUDGED = "'judge', 'withdraw judgment'"
GIVEN = "'override', 'withdraw override', 'settle disagreement', 'reopen disagreement'"
SUPPORTED = "'set support', 'remove support'"
"""Actions of the log that reveal judgments, ratings or values of citation support."""


def visible(project: Project, table: Table) -> str:
    """Return SQL for the rows of a table that the person of this handle may see, and of the part that it reads.

    The views `current_overrides` and `current_support` have no hidden rows: every person may see values in effect.
    """
    reader = project.limited_to()
    seen = table if reader is None else f"({_seen_by(quoted_text(reader))[table]})"
    return _part_of(seen, *project.part) if project.part is not None and table == "judgments" else seen


def _part_of(seen: str, share: float, seed: int, held_out: bool) -> str:
    """Return SQL for the judgments that are held out, or for all others.

    A passage of a query is held out if the beginning of a digest, as a fraction, is below the share. The digest is of
    ids and not of keys, so that it is the same in a copy of the project.
    """
    digest = f"md5('{seed}' || chr(10) || query_id || chr(10) || passage_id)"
    below = f"substr({digest}, 1, 8) < '{int(share * 16**8):08x}'"
    return (
        f"(SELECT j.* FROM {seen} j JOIN queries q USING (query_key) JOIN passages p USING (passage_key)"
        f" WHERE {below if held_out else f'NOT ({below})'})"
    )


def _seen_by(reader: str) -> dict[Table, str]:
    others = (
        "(SELECT d.double_key, d.query_key, d.passage_keys, t.name, 'assessor: ' || t.name AS source"
        " FROM doubles d JOIN (SELECT DISTINCT double_key, name FROM double_turns"
        "  WHERE act IN ('asked', 'claimed')) t USING (double_key)"
        f" WHERE d.ended_at IS NULL AND t.name <> {reader} AND d.adjudicator IS DISTINCT FROM {reader})"
    )
    within = "(h.passage_keys IS NULL OR list_contains(h.passage_keys, {}))"
    open_ = (
        "NOT EXISTS (SELECT * FROM standing_adjudications e WHERE e.double_key = h.double_key AND e.passage_key = {}"
        " AND e.question_key IS NOT DISTINCT FROM {})"
    )
    hidden_overrides = (
        "(SELECT o.override_key FROM overrides o JOIN questions q USING (question_key)"
        f" JOIN {others} h ON h.query_key = q.query_key AND h.name = o.author AND o.override_key > h.double_key"
        f" WHERE {within.format('o.passage_key')} AND {open_.format('o.passage_key', 'o.question_key')})"
    )
    # Another person, such as an organizer, may have resolved a disagreement that shows both values.
    names_one = "(h.name = {0}.author OR {1} IN (h.said, h.judged) OR {2} IN (h.said, h.judged))"
    named = f"(SELECT *, 'ratings of ' || name AS said, 'judgments of ' || source AS judged FROM {others})"
    hidden_acts = (
        "(SELECT a.activity_key FROM (SELECT *, detail->>'$.question' AS question, detail->>'$.passage' AS passage,"
        "  detail->>'$.query' AS query, try_cast(detail->>'$.override' AS INTEGER) AS override_key,"
        "  detail->>'$.left' AS left_side, detail->>'$.right' AS right_side"
        f"  FROM activity WHERE act IN ({JUDGED}, {GIVEN}, {SUPPORTED})) a"
        " LEFT JOIN overrides o USING (override_key) LEFT JOIN questions q ON q.question_id = a.question"
        " LEFT JOIN questions oq ON oq.question_key = o.question_key"
        " LEFT JOIN passages p ON p.passage_id = a.passage LEFT JOIN queries y ON y.query_id = a.query"
        f" JOIN {named} h ON h.query_key = coalesce(y.query_key, q.query_key, oq.query_key)"
        f"  AND {names_one.format('a', 'a.left_side', 'a.right_side')}"
        f" WHERE {within.format('coalesce(p.passage_key, o.passage_key)')} AND (a.act IN ({SUPPORTED}) OR "
        + open_.format(
            "coalesce(p.passage_key, o.passage_key)",
            f"CASE WHEN a.act NOT IN ({JUDGED}) THEN coalesce(q.question_key, oq.question_key) END",
        )
        + "))"
    )
    return {
        "judgments": f"SELECT j.* FROM judgments j WHERE NOT EXISTS (SELECT * FROM {others} h"
        " JOIN sources s ON s.name = h.source WHERE s.source_key = j.source_key"
        f" AND h.query_key = j.query_key AND {within.format('j.passage_key')}"
        f" AND {open_.format('j.passage_key', 'NULL')})",
        "overrides": f"SELECT * FROM overrides WHERE override_key NOT IN {hidden_overrides}",
        # Adjudication is about judgments and ratings, so these values are hidden until the double assignment ends.
        "support_values": "SELECT * FROM support_values WHERE support_value_key NOT IN (SELECT s.support_value_key"
        f" FROM held_support s JOIN {others} h ON h.double_key = s.double_key AND h.name = s.author)",
        "activity": f"SELECT * FROM activity WHERE activity_key NOT IN {hidden_acts}",
        "settlings": f"SELECT s.* FROM settlings s WHERE NOT EXISTS (SELECT * FROM {named} h"
        f" WHERE h.query_key = s.query_key AND {names_one.format('s', 's.left_side', 's.right_side')}"
        f" AND {within.format('s.passage_key')}"
        f" AND {open_.format('s.passage_key', 'coalesce(s.touched_question_key, s.question_key)')})",
    }
