"""Origins of runs, graders and texts: model families, data sets, objects of other tools, and live
targets.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Literal

from ..errors import check_known, unknown_name
from ..store import Cursor, Project, as_name, log_action, put_setting, read_setting, stage_rows
from ..types import KeptObject
from ._collection import check_new
from ._runs import check_runs

Part = Literal["run", "grader", "questions"]
PARTS: tuple[Part, ...] = ("run", "grader", "questions")
"""Parts of an evaluation that a model can make. A run is identified by its name, and a grader by
its fingerprint. The questions have no name."""

STATE_FAMILIES = "state families"


def state_families(
    project: Project, part: Part, name: str, families: Sequence[str], author: str
) -> None:
    """State the model families that made a part; this replaces the earlier statement.

    Args:
        name: name of the run, or fingerprint of the grader; empty for the questions.
        families: names such as "gpt" or "llama"; an empty list states that people made the part
            without a model.

    Raises:
        InputError: unknown run or grader.
    """
    if part == "run":
        check_runs(project, [name])
    elif part == "grader" and not project.value(
        "SELECT count(*) FROM graders WHERE fingerprint = ?", [name]
    ):
        raise unknown_name(
            "unknown-grader", "grader fingerprint", name, (), "See exam graders list --json."
        )
    named = list(dict.fromkeys(family for one in families if (family := as_name(one).lower())))
    with project.transaction() as cursor:
        cursor.execute(
            "INSERT INTO model_families VALUES (nextval('keys'), ?, ?, ?::VARCHAR[], ?,"
            " now()::TIMESTAMP)",
            [part, name, named, as_name(author)],
        )
        log_action(cursor, author, STATE_FAMILIES, part=part, name=name, families=named)


def stated_families(project: Project, part: Part) -> dict[str, tuple[str, ...]]:
    """Return the latest stated families of all parts of a kind, by name; parts without a statement
    are absent.
    """
    return {
        name: tuple(families)
        for name, families in project.rows(
            "SELECT name, arg_max(families, family_key) FROM model_families WHERE part = ?"
            " GROUP BY name ORDER BY name",
            [part],
        )
    }


def keep_objects(cursor: Cursor, objects: Iterable[KeptObject]) -> None:
    """Keep objects of known queries; each replaces the object of the same form, query and name."""
    rows = {
        (kept.form, kept.query_id, kept.name): (
            kept.form,
            kept.query_id,
            kept.name,
            json.dumps(kept.content),
        )
        for kept in objects
    }
    types = dict.fromkeys(("form", "query_id", "name", "content"), "VARCHAR")
    stage_rows(cursor, "new_objects", list(rows.values()), types)
    cursor.execute(
        "DELETE FROM kept_objects WHERE (form, query_key, name) IN"
        " (SELECT (form, query_key, name) FROM new_objects JOIN queries USING (query_id))"
    )
    cursor.execute(
        "INSERT INTO kept_objects SELECT form, query_key, name, content FROM new_objects"
        " JOIN queries USING (query_id)"
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


SETTING_OF_TERMS = "data sets"


@dataclass(frozen=True)
class DataSetTerms:
    """The terms of a data set.

    Args:
        data_set: its id in ir_datasets.
        terms: as its publisher states them; empty if ir_datasets has no terms for it.
        address: URL of its page.
    """

    data_set: str
    terms: str
    address: str

    def __str__(self) -> str:
        return (
            f"{self.data_set}: {self.terms or 'no terms are known to ir_datasets'} ({self.address})"
        )


def read_terms(written: str) -> list[DataSetTerms]:
    """Read the terms of each data set from the value of the setting."""
    return [DataSetTerms(**one) for one in json.loads(written)]


def terms_of(project: Project) -> list[DataSetTerms]:
    """Return the terms of each data set from which the project has texts."""
    return read_terms(read_setting(project, SETTING_OF_TERMS) or "[]")


def keep_terms(cursor: Cursor, terms: DataSetTerms) -> None:
    """Store the terms of a data set; they replace earlier ones."""
    stored = cursor.execute(
        "SELECT value FROM settings WHERE name = ?", [SETTING_OF_TERMS]
    ).fetchall()
    others = [
        one
        for one in read_terms(stored[0][0] if stored else "[]")
        if one.data_set != terms.data_set
    ]
    written = json.dumps([asdict(one) for one in (*others, terms)], ensure_ascii=False)
    put_setting(cursor, SETTING_OF_TERMS, written)


@dataclass(frozen=True)
class ResponseSnapshot:
    """A snapshot of a live target's responses to many queries.

    Args:
        name: name of the run, or of the responses, made from the snapshot.
        url: the target's address.
        asked: digest of the settings for the request and for reading its answer.
        system: name of the run of responses; None without responses.
        queries, failed: numbers of queries sent and of unusable responses; None for an unfinished
            snapshot.
        came: number of queries answered so far; 0 for a finished snapshot.
        ended_at: None for an unfinished snapshot.
    """

    key: int
    name: str
    url: str
    asked: str
    system: str | None
    queries: int | None
    failed: int | None
    author: str
    started_at: datetime
    ended_at: datetime | None
    came: int = 0

    @property
    def open(self) -> bool:
        """Whether queries remain to be sent."""
        return self.ended_at is None


@dataclass(frozen=True)
class FrozenQuery:
    """The response of a target to a query.

    Args:
        words: text of the query as it was sent.
        given: JSON with the passages and the answer.
        seconds: response time.
    """

    query_id: str
    words: str
    given: str
    seconds: float


def list_snapshots(project: Project) -> list[ResponseSnapshot]:
    """Return every snapshot, newest first, including unfinished ones."""
    return [
        ResponseSnapshot(*row)
        for row in project.rows(
            "SELECT freeze_key, name, url, asked, system, queries, failed, author, started_at,"
            " ended_at, coalesce(n, 0) FROM freezes LEFT JOIN (SELECT freeze_key, count(*) AS n"
            " FROM frozen_queries GROUP BY 1) USING (freeze_key) ORDER BY freeze_key DESC"
        )
    ]


def begin_freeze(project: Project, name: str, url: str, fingerprint: str, author: str) -> int:
    """Start a snapshot.

    Returns:
        Its key.

    Raises:
        InputError: the name is not valid for a run.
    """
    with project.transaction() as cursor:
        check_new(cursor, "run", [name])
        ((key,),) = cursor.execute(
            "INSERT INTO freezes (freeze_key, name, url, asked, author, started_at)"
            " VALUES (nextval('keys'), ?, ?, ?, ?, now()::TIMESTAMP) RETURNING freeze_key",
            [name, url, fingerprint, as_name(author)],
        ).fetchall()
    return int(key)


def add_frozen(cursor: Cursor, key: int, some: Sequence[FrozenQuery]) -> None:
    """Store responses of a target in an unfinished snapshot; they replace its earlier responses to
    these queries.
    """
    for response in some:
        cursor.execute(
            "DELETE FROM frozen_queries WHERE freeze_key = ?"
            " AND query_key = (SELECT query_key FROM queries WHERE query_id = ?)",
            [key, response.query_id],
        )
        cursor.execute(
            "INSERT INTO frozen_queries SELECT ?, query_key, ?, ?, ?"
            " FROM queries WHERE query_id = ?",
            [key, response.words, response.given, response.seconds, response.query_id],
        )


def frozen_so_far(project: Project, key: int) -> dict[str, FrozenQuery]:
    """Return the responses of an unfinished snapshot by query id. Compare `words`: the text of a
    query may have changed.
    """
    return {
        row[0]: FrozenQuery(*row)
        for row in project.rows(
            "SELECT query_id, words, given, seconds FROM frozen_queries"
            " JOIN queries USING (query_key) WHERE freeze_key = ? ORDER BY query_key",
            [key],
        )
    }


def end_freeze(cursor: Cursor, key: int, system: str | None, queries: int, failed: int) -> None:
    """Mark a snapshot as finished; its stored responses are deleted, because the run holds them
    now.
    """
    cursor.execute("DELETE FROM frozen_queries WHERE freeze_key = ?", [key])
    cursor.execute(
        "UPDATE freezes SET system = ?, queries = ?, failed = ?, ended_at = now()::TIMESTAMP"
        " WHERE freeze_key = ?",
        [system, queries, failed, key],
    )


def drop_freeze(project: Project, name: str, author: str) -> int:
    """Discard an unfinished snapshot with its responses.

    Returns:
        The number of queries with responses.

    Raises:
        InputError: no unfinished snapshot has this name.
    """
    unfinished = {one.name: one for one in list_snapshots(project) if one.open}
    hint = "A finished snapshot is a run and cannot be discarded."
    check_known("unknown-freeze", "unfinished snapshot", unfinished, name, hint=hint)
    snapshot = unfinished[name]
    with project.transaction() as cursor:
        cursor.execute("DELETE FROM frozen_queries WHERE freeze_key = ?", [snapshot.key])
        cursor.execute("DELETE FROM freezes WHERE freeze_key = ?", [snapshot.key])
        log_action(cursor, author, "drop freeze", name=name, queries=snapshot.came)
    return snapshot.came
