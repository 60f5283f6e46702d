"""What a person may see, and which judgments an analysis may read."""

from __future__ import annotations

import json
import random
from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Literal

from ..errors import InputError
from ..store import Cursor, Project, as_act, log_action, put_setting, quoted_text, read_setting

Table = Literal["judgments", "overrides", "support_values", "activity", "settlings"]

JUDGED = "'judge', 'withdraw judgment'"
GIVEN = "'override', 'withdraw override', 'settle disagreement', 'reopen disagreement'"
SUPPORTED = "'set support', 'remove support'"
"""Actions of the log that reveal judgments, ratings or values of citation support."""


def visible_rows(project: Project, table: Table) -> str:
    """Return SQL for the rows of a table that the person of this handle may see, and of the part
    that it reads.

    The views `current_overrides` and `current_support` have no hidden rows: every person may see
    values in effect.
    """
    reader = project.limited_to()
    seen = table if reader is None else f"({_seen_by(quoted_text(reader))[table]})"
    return (
        _part_of(seen, *project.part) if project.part is not None and table == "judgments" else seen
    )


def _part_of(judgments_sql: str, share: float, seed: int, held_out: bool) -> str:
    """Return SQL for the judgments that are held out, or for all others.

    A passage of a query is held out if the beginning of a digest, as a fraction, is below the
    share. The digest is of ids and not of keys, so that it is the same in a copy of the project.
    """
    digest = f"md5('{seed}' || chr(10) || query_id || chr(10) || passage_id)"
    below = f"substr({digest}, 1, 8) < '{int(share * 16**8):08x}'"
    return (
        f"(SELECT j.* FROM {judgments_sql} j JOIN queries q USING (query_key)"
        f" JOIN passages p USING (passage_key) WHERE {below if held_out else f'NOT ({below})'})"
    )


def _seen_by(reader: str) -> dict[Table, str]:
    others = (
        "(SELECT d.double_key, d.query_key, d.passage_keys, t.name, 'assessor: ' ||"
        " t.name AS source FROM doubles d JOIN (SELECT DISTINCT double_key, name FROM double_turns"
        "  WHERE act IN ('asked', 'claimed')) t USING (double_key) WHERE d.ended_at IS NULL"
        f" AND t.name <> {reader} AND d.adjudicator IS DISTINCT FROM {reader})"
    )
    within = "(h.passage_keys IS NULL OR list_contains(h.passage_keys, {}))"
    open_ = (
        "NOT EXISTS (SELECT * FROM standing_adjudications e WHERE e.double_key = h.double_key"
        " AND e.passage_key = {} AND e.question_key IS NOT DISTINCT FROM {})"
    )
    hidden_overrides = (
        "(SELECT o.override_key FROM overrides o JOIN questions q USING (question_key)"
        f" JOIN {others} h ON h.query_key = q.query_key AND h.name = o.author"
        f" AND o.override_key > h.double_key WHERE {within.format('o.passage_key')}"
        f" AND {open_.format('o.passage_key', 'o.question_key')})"
    )
    # Another person, such as an organizer, may have resolved a disagreement that shows both values.
    names_one = "(h.name = {0}.author OR {1} IN (h.said, h.judged) OR {2} IN (h.said, h.judged))"
    named = (
        "(SELECT *, 'ratings of ' || name AS said, 'judgments of ' || source AS judged"
        f" FROM {others})"
    )
    hidden_acts = (
        "(SELECT a.activity_key"
        " FROM (SELECT *, detail->>'$.question' AS question, detail->>'$.passage' AS passage,"
        "  detail->>'$.query' AS query, try_cast(detail->>'$.override' AS INTEGER) AS override_key,"
        "  detail->>'$.left' AS left_side, detail->>'$.right' AS right_side"
        f"  FROM activity WHERE act IN ({JUDGED}, {GIVEN}, {SUPPORTED})) a LEFT JOIN overrides o"
        " USING (override_key) LEFT JOIN questions q ON q.question_id = a.question"
        " LEFT JOIN questions oq ON oq.question_key = o.question_key LEFT JOIN passages p"
        " ON p.passage_id = a.passage LEFT JOIN queries y ON y.query_id = a.query"
        f" JOIN {named} h ON h.query_key = coalesce(y.query_key, q.query_key, oq.query_key)"
        f"  AND {names_one.format('a', 'a.left_side', 'a.right_side')}"
        f" WHERE {within.format('coalesce(p.passage_key, o.passage_key)')}"
        f" AND (a.act IN ({SUPPORTED}) OR "
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
        # Adjudication is about judgments and ratings, so these values are hidden until the double
        # assignment ends.
        "support_values": "SELECT * FROM support_values"
        " WHERE support_value_key NOT IN (SELECT s.support_value_key FROM held_support s"
        f" JOIN {others} h ON h.double_key = s.double_key AND h.name = s.author)",
        "activity": f"SELECT * FROM activity WHERE activity_key NOT IN {hidden_acts}",
        "settlings": f"SELECT s.* FROM settlings s WHERE NOT EXISTS (SELECT * FROM {named} h"
        " WHERE h.query_key = s.query_key"
        f" AND {names_one.format('s', 's.left_side', 's.right_side')}"
        f" AND {within.format('s.passage_key')} AND"
        f" {open_.format('s.passage_key', 'coalesce(s.touched_question_key, s.question_key)')})",
    }


SEALED = "SELECT question_key FROM seals WHERE opened_at IS NULL"
"""SQL for the keys of the sealed questions."""


@as_act("see boards")
def sealed_questions(project: Project) -> frozenset[str]:
    """Return the ids of the sealed questions."""
    return frozenset(
        name
        for (name,) in project.rows(
            "SELECT question_id FROM seals JOIN questions USING (question_key)"
            " WHERE opened_at IS NULL"
        )
    )


def hidden_questions(project: Project) -> frozenset[str]:
    """Return the ids of the sealed questions that the person of this handle did not write."""
    if not sealed_questions(project):
        return frozenset()
    return frozenset(
        name
        for (name,) in project.rows(
            "SELECT question_id FROM questions"
            f" WHERE question_key IN ({_hidden_condition(project)}) ORDER BY question_id"
        )
    )


def readable_texts(project: Project) -> str:
    """Return SQL for `question_texts` without the texts that are hidden from the person of this
    handle (NULL).
    """
    if not sealed_questions(project):
        return "question_texts"
    return (
        "(SELECT * REPLACE (CASE WHEN text_key NOT IN (SELECT text_key FROM question_revisions"
        " WHERE question_key IN"
        f" ({_hidden_condition(project)})) THEN text END AS text) FROM question_texts)"
    )


def readable_versions(project: Project) -> str:
    """Return SQL for `bank_versions` without notes that are about hidden questions, or quote them
    (empty).
    """
    if not sealed_questions(project):
        return "bank_versions"
    hidden = (
        f"SELECT * FROM question_revisions WHERE question_key IN ({_hidden_condition(project)})"
    )
    return (
        f"(WITH hidden AS ({hidden}) SELECT * REPLACE (CASE WHEN version IN (SELECT version"
        " FROM hidden) OR EXISTS (SELECT 1 FROM hidden JOIN question_texts USING (text_key)"
        " WHERE contains(bank_versions.note, text))"
        " THEN '' ELSE note END AS note) FROM bank_versions)"
    )


def readable_activity(project: Project) -> str:
    """Return SQL for `activity`, with the notes of versions as `readable_versions` has them."""
    visible = visible_rows(project, "activity")
    if not sealed_questions(project):
        return visible
    return (
        "(SELECT a.* REPLACE (CASE WHEN v.note = ''"
        ' THEN json_merge_patch(a.detail, \'{"note": ""}\') ELSE a.detail'
        f" END AS detail) FROM {visible} a LEFT JOIN {readable_versions(project)} v"
        " ON act = 'save bank' AND v.version = try_cast(a.detail->>'$.version' AS INTEGER))"
    )


def _hidden_condition(project: Project) -> str:
    member = project.member()
    reader = member.name if member is not None else project.reader or ""
    return (
        f"{SEALED} AND question_key NOT IN (SELECT question_key FROM question_revisions"
        f" JOIN bank_versions USING (version) WHERE author = {quoted_text(reader)})"
    )


def refuse_hidden(project: Project, question_ids: list[str]) -> None:
    """Refuse an act on sealed questions of other people.

    Raises:
        InputError: a question is sealed.
    """
    if hidden := sorted(hidden_questions(project).intersection(question_ids)):
        raise InputError(
            "question-sealed",
            f"Question '{hidden[0]}' is sealed.",
            "Ask an organizer to open it: exam bank open",
        )


def refuse_sealed(
    project: Project, left_out: Collection[str] = (), files: str = "this export"
) -> None:
    """Refuse files that contain questions which are sealed now.

    Args:
        left_out: ids of the questions that the files do not contain.
        files: their names, for the message.

    Raises:
        InputError: another question is sealed.
    """
    if sealed := sealed_questions(project).difference(left_out):
        raise InputError(
            "questions-sealed",
            f"{len(sealed)} questions are sealed, and {files} would contain them.",
            "Open them first: exam bank open",
        )


def add_seals(cursor: Cursor, question_ids: list[str], seed: int, author: str) -> None:
    """Seal questions."""
    cursor.execute(
        "INSERT INTO seals SELECT nextval('keys'), question_key, $seed, $author, now()::TIMESTAMP,"
        " NULL, NULL FROM questions WHERE list_contains($ids, question_id) ORDER BY question_key",
        {"ids": question_ids, "seed": seed, "author": author},
    )


def open_seals(cursor: Cursor, author: str) -> int:
    """Open all sealed questions; return their number."""
    return len(
        cursor.execute(
            "UPDATE seals SET opened_by = ?, opened_at = now()::TIMESTAMP"
            " WHERE opened_at IS NULL RETURNING seal_key",
            [author],
        ).fetchall()
    )


HOLD_OUT = "hold_out"
HOLD_OUT_FORM = r'\{"share": [0-9.e-]+, "seed": -?[0-9]+, "version": [0-9]+\}'
"""The name of the setting, and a regular expression for its values."""


@dataclass(frozen=True)
class HoldOut:
    """The judgments that are held out.

    Args:
        share: probability that a judged passage of a query is held out, decided once for each
            passage by the seed. So later judgments do not move a passage.
        seed: of the choice.
        version: the newest bank version when it was set; earlier edits may rest on these judgments.
    """

    share: float
    seed: int
    version: int


def hold_out(project: Project) -> HoldOut | None:
    """Return which judgments are held out; None for no judgments."""
    found = read_setting(project, HOLD_OUT)
    return None if found is None else HoldOut(**json.loads(found))


def set_hold_out(
    project: Project, share: float, author: str, seed: int | None = None
) -> HoldOut | None:
    """Hold out a random share of the judgments of each query, and return it.

    Args:
        share: below 1; 0 holds out no judgments.
        seed: of the choice; None for a random one.

    Raises:
        InputError: the share or the seed is out of range.
    """
    if not 0 <= share < 1:
        raise InputError(
            "share-out-of-range", f"Invalid share {share:g}.", "Use a number from 0 to below 1."
        )
    number = random.SystemRandom().randrange(10**6) if seed is None else seed
    with project.transaction(author=author) as cursor:
        versions = cursor.execute("SELECT coalesce(max(version), 0) FROM bank_versions").fetchall()
        drawn = HoldOut(share, number, versions[0][0]) if share else None
        put_setting(cursor, HOLD_OUT, json.dumps(asdict(drawn)) if drawn else None)
        log_action(
            cursor, author, "hold out judgments", share=share, **({"seed": number} if share else {})
        )
    return drawn


def for_tuning(project: Project) -> Project:
    """Return a handle of the project that reads no judgments that are held out."""
    found = hold_out(project)
    return project if found is None else project.judged_by_part((found.share, found.seed, False))


def for_confirming(project: Project) -> Project | None:
    """Return a handle of the project that reads only judgments that are held out; None if no
    judgments are.
    """
    found = hold_out(project)
    return None if found is None else project.judged_by_part((found.share, found.seed, True))
