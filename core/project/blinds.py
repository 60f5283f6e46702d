"""What is hidden from somebody until it is adjudicated: under the names of the tables stands what they may see.

Where several assessors judge the same passages without seeing what the others give, every reading of the project is
made on these views, so that no screen, command, route or download can show it.
"""

from __future__ import annotations

import re

READERS = (
    "SELECT name, bool_or(part) FROM (SELECT double_key, name, true AS part FROM double_people"
    " UNION ALL SELECT double_key, adjudicator, false FROM doubles WHERE adjudicator IS NOT NULL)"
    " JOIN doubles USING (double_key) WHERE ended_at IS NULL GROUP BY name ORDER BY name"
)
"""Everybody who takes part in an open double assignment, or adjudicates one, and whether they take part."""

JUDGED = "'judge', 'withdraw judgment'"
GIVEN = "'override', 'withdraw override', 'settle disagreement', 'reopen disagreement'"
"""Acts of the log that say what somebody judged or rated."""

_NAMES = ("judgments", "overrides", "activity", "settlings", "replaced_judgments")
_LOOKED_AT = {
    # A view of the project shows what the tables below it hold.
    "held_overrides": ("overrides",),
    "settled_cases": ("overrides", "settlings"),
    "standing_adjudications": ("overrides",),
    **{name: (name,) for name in _NAMES},
}
_ANY = re.compile(rf"\b({'|'.join(_LOOKED_AT)})\b")


def hidden_in(sql: str | None) -> tuple[str, ...]:
    """The tables of which a statement may show something that is hidden from somebody.

    What counts of overrides (`current_overrides`) is the same for everybody: none that is hidden is among it.

    Args:
        sql: None for any statement.
    """
    if sql is None:
        return _NAMES
    return tuple(dict.fromkeys(name for word in _ANY.findall(sql) for name in _LOOKED_AT[word]))


def views(main: str, reader: str, names: tuple[str, ...]) -> list[str]:
    """Statements that put what somebody may see in the place of tables, for one cursor.

    Args:
        main: the schema with the tables, quoted; nothing in the views may read a view of it, which would read these.
        reader: under whose name they act; empty for somebody who takes part in nothing.
        names: of the tables.
    """
    found = _views(main, "'" + reader.replace("'", "''") + "'")
    return [f"CREATE OR REPLACE TEMP VIEW {name} AS {found[name]}" for name in names]


def _views(main: str, reader: str) -> dict[str, str]:
    others = (
        "(SELECT d.double_key, d.query_key, d.passage_keys, t.name, 'assessor: ' || t.name AS source"
        f" FROM {main}.doubles d JOIN (SELECT DISTINCT double_key, name FROM {main}.double_turns"
        "  WHERE act IN ('asked', 'claimed')) t USING (double_key)"
        f" WHERE d.ended_at IS NULL AND t.name <> {reader} AND d.adjudicator IS DISTINCT FROM {reader})"
    )
    # As `standing_adjudications`, from the tables alone.
    decided = (
        f"(SELECT a.double_key, a.passage_key, a.question_key FROM (FROM {main}.adjudications QUALIFY row_number() OVER"
        "  (PARTITION BY double_key, passage_key, question_key ORDER BY adjudication_key DESC) = 1) a"
        f" LEFT JOIN {main}.overrides o USING (override_key)"
        " WHERE a.value IS NOT NULL AND (a.override_key IS NULL OR o.withdrawn_at IS NULL))"
    )
    within = "(h.passage_keys IS NULL OR list_contains(h.passage_keys, {}))"
    open_ = (
        f"NOT EXISTS (SELECT * FROM {decided} e WHERE e.double_key = h.double_key AND e.passage_key = {{}}"
        " AND e.question_key IS NOT DISTINCT FROM {})"
    )

    def judged(table: str) -> str:
        return (
            f"SELECT j.* FROM {main}.{table} j WHERE NOT EXISTS (SELECT * FROM {others} h"
            f" JOIN {main}.sources s ON s.name = h.source WHERE s.source_key = j.source_key"
            f" AND h.query_key = j.query_key AND {within.format('j.passage_key')}"
            f" AND {open_.format('j.passage_key', 'NULL')})"
        )

    hidden_overrides = (
        f"(SELECT o.override_key FROM {main}.overrides o JOIN {main}.questions q USING (question_key)"
        f" JOIN {others} h ON h.query_key = q.query_key AND h.name = o.author AND o.override_key > h.double_key"
        f" WHERE {within.format('o.passage_key')} AND {open_.format('o.passage_key', 'o.question_key')})"
    )
    # Somebody else, as an organizer, may have settled a case in which what both gave stands.
    names_one = "(h.name = {0}.author OR {1} IN (h.said, h.judged) OR {2} IN (h.said, h.judged))"
    named = f"(SELECT *, 'ratings of ' || name AS said, 'judgments of ' || source AS judged FROM {others})"
    hidden_acts = (
        "(SELECT a.activity_key FROM (SELECT *, detail->>'$.question' AS question, detail->>'$.passage' AS passage,"
        "  detail->>'$.query' AS query, try_cast(detail->>'$.override' AS INTEGER) AS override_key,"
        "  detail->>'$.left' AS left_side, detail->>'$.right' AS right_side"
        f"  FROM {main}.activity WHERE act IN ({JUDGED}, {GIVEN})) a"
        f" LEFT JOIN {main}.overrides o USING (override_key) LEFT JOIN {main}.questions q ON q.question_id = a.question"
        f" LEFT JOIN {main}.questions oq ON oq.question_key = o.question_key"
        f" LEFT JOIN {main}.passages p ON p.passage_id = a.passage LEFT JOIN {main}.queries y ON y.query_id = a.query"
        f" JOIN {named} h ON h.query_key = coalesce(y.query_key, q.query_key, oq.query_key)"
        f"  AND {names_one.format('a', 'a.left_side', 'a.right_side')}"
        f" WHERE {within.format('coalesce(p.passage_key, o.passage_key)')} AND "
        + open_.format(
            "coalesce(p.passage_key, o.passage_key)",
            f"CASE WHEN a.act NOT IN ({JUDGED}) THEN coalesce(q.question_key, oq.question_key) END",
        )
        + ")"
    )
    return {
        "judgments": judged("judgments"),
        "replaced_judgments": judged("replaced_judgments"),
        "overrides": f"SELECT * FROM {main}.overrides WHERE override_key NOT IN {hidden_overrides}",
        "activity": f"SELECT * FROM {main}.activity WHERE activity_key NOT IN {hidden_acts}",
        "settlings": f"SELECT s.* FROM {main}.settlings s WHERE NOT EXISTS (SELECT * FROM {named} h"
        f" WHERE h.query_key = s.query_key AND {names_one.format('s', 's.left_side', 's.right_side')}"
        f" AND {within.format('s.passage_key')}"
        f" AND {open_.format('s.passage_key', 'coalesce(s.touched_question_key, s.question_key)')})",
    }
