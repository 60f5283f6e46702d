"""Keeping and reporting the data that imports replace, so that `project.bringing_back` can restore
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..errors import InputError
from ..store import Cursor
from ..text import first_few, how_many


@dataclass(frozen=True)
class ReplacedObject:
    """An object that was replaced by another object of the same name.

    Args:
        kind: a key of `KINDS`.
        name: name of the source, run or leaderboard; the first ids of queries or passages.
        before: number of its earlier rows (judgments, ranked passages, scores, gold passages or
            texts).
        gone: number of these rows that were removed or changed.
        after: number of its new rows.
    """

    kind: str
    name: str
    before: int
    gone: int
    after: int

    def __str__(self) -> str:
        """Return the removed rows and the number of new rows as a phrase."""
        if KINDS[self.kind].key is None:
            return self._described(f"{self.gone:,}")
        all_of_it = f"all {self.gone:,}" if self.before > 1 else "1"
        count = all_of_it if self.gone == self.before else f"{self.gone:,} of the {self.before:,}"
        return self._described(count) + f" ({self.after:,} afterwards)"

    @property
    def whole(self) -> str:
        """The number of all earlier rows as a phrase."""
        return self._described(f"{self.before:,}")

    def _described(self, count: str) -> str:
        sentence = KINDS[self.kind].said
        if self.before == 1:
            for many, one in _SINGULAR:
                sentence = sentence.replace(many, one)
        return sentence.format(name=self.name, count=count)


@dataclass(frozen=True)
class _Kind:
    """How a kind of object is kept.

    Args:
        said: phrase for the removed rows, with `{count}` and `{name}`.
        tables: tables that hold it; rows of the first one are counted.
        key: column with its key in these tables; None if rows are kept individually.
        named_in: table with its name, of which the columns `further` are restored; empty if no
            column can change.
    """

    said: str
    tables: tuple[str, ...]
    key: str | None = None
    named_in: str = ""
    further: tuple[str, ...] = ()


KINDS: dict[str, _Kind] = {
    "judgments": _Kind("{count} judgments of {name}", ("judgments",), "source_key"),
    "run": _Kind(
        "{count} ranked passages of the run {name}",
        ("rankings", "ranked_runs", "responses"),
        "run_key",
        "runs",
        ("tag", "file"),
    ),
    "leaderboard": _Kind(
        "{count} scores of the leaderboard {name}",
        ("board_scores", "board_query_scores"),
        "board_key",
        "boards",
        ("measure",),
    ),
    "gold": _Kind("the previous gold passages: {name}", ("gold_passages", "gold_runs")),
    "citations": _Kind("{count} response sentences with their citations", ("response_sentences",)),
    "queries": _Kind("the texts of {count} queries: {name}", ("queries",)),
    "passages": _Kind("the texts of {count} passages: {name}", ("passages",)),
    "components": _Kind("the components of {count} examinees: {name}", ()),
}
"""Every kind of object that can be replaced. All but components can be restored."""

_SINGULAR = (
    ("queries", "query"),
    ("passages", "passage"),
    ("judgments", "judgment"),
    ("scores", "score"),
    ("sentences", "sentence"),
    ("their citations", "its citations"),
    ("the texts", "the text"),
    ("examinees", "examinee"),
)

_RESTS = (
    ("grades", "SELECT count(*) FROM grades g WHERE g.passage_text_key = c.text_key"),
    (
        "overrides",
        "SELECT count(*) FROM overrides o WHERE o.passage_key = c.passage_key"
        " AND o.withdrawn_at IS NULL",
    ),
    (
        "assessor judgments",
        "SELECT count(*) FROM judgments j JOIN sources s USING (source_key)"
        " WHERE j.passage_key = c.passage_key AND starts_with(s.name, 'assessor: ')",
    ),
    (
        "audit judgments",
        "SELECT count(*) FROM audit_verdicts v WHERE v.passage_key = c.passage_key",
    ),
    (
        "resolved disagreements",
        "SELECT count(*) FROM settlings s WHERE s.passage_key = c.passage_key",
    ),
    (
        "response sentences",
        "SELECT count(*) FROM response_sentences r WHERE r.passage_key = c.passage_key",
    ),
)
"""Data from people or graders who read the text of a passage. It prevents a change of the text."""


_LOST = " OR ".join(
    f"(o.{column} IS NOT NULL AND o.{column} IS DISTINCT FROM q.{column})"
    for column in ("text", "narrative", "answer", "further_answers")
)
_CHANGED = {
    "queries": (
        "SELECT query_id FROM replaced_queries o JOIN queries q USING (query_key)"
        f" WHERE replacement_key = $key AND NOT follows AND ({_LOST})"
        " UNION SELECT query_id FROM replaced_subtopics o JOIN subtopics s"
        " USING (query_key, subtopic_id)"
        " JOIN queries USING (query_key) WHERE replacement_key = $key AND o.text <> s.text"
        " ORDER BY query_id"
    ),
    "passages": (
        "SELECT passage_id FROM replaced_passages o JOIN passages p USING (passage_key)"
        " WHERE replacement_key = $key AND o.text_key IS DISTINCT FROM p.text_key"
        " ORDER BY passage_key"
    ),
}
"""SQL for the ids of the replaced objects that differ now, by kind of object that is kept row by
row.
"""


class PassageWithTwoTexts(InputError):
    """A passage has two texts in one import.

    Attributes:
        passage_id: id of the passage.
    """

    def __init__(self, passage_id: str) -> None:
        super().__init__(
            "passage-with-two-texts",
            f"Passage {passage_id} has two different texts.",
            "Give each text its own passage id.",
        )
        self.passage_id = passage_id


@dataclass(eq=False)
class ReplacedDataKeeper:
    """Keeps the data that a transaction is going to replace, and reports the differences at the
    end.

    Args:
        cursor: the cursor of the transaction.
    """

    cursor: Cursor
    _kept: dict[tuple[str, int | None], tuple[int, str]] = field(default_factory=dict, init=False)
    not_kept: list[ReplacedObject] = field(default_factory=list, init=False)
    """Replaced objects that cannot be restored."""

    def __post_init__(self) -> None:
        self.first_key = self._next_key()
        """Passages with a greater key were added by this transaction."""
        self.cursor.execute("CREATE OR REPLACE TEMP TABLE given_texts (passage_key INTEGER)")

    def keep(self, kind: str, name: str, key: int | None = None) -> None:
        """Keep a source's judgments, a run, a leaderboard or the gold texts before they are
        cleared; repeated calls do nothing.
        """
        if (kind, key) in self._kept:
            return
        replacement = self._begin(kind, name, key)
        for table in _tables_of(kind):
            self.cursor.execute(
                f"INSERT INTO replaced_{table} SELECT {replacement:d}, * FROM {table}"
                f" WHERE {present_rows_sql(kind, key, replacement)} ORDER BY rowid"
            )

    def keep_sentences(self, keys_sql: str) -> None:
        """Keep the sentences of passages before they are replaced.

        Args:
            keys_sql: SQL for the keys of the passages.
        """
        self.cursor.execute(
            f"INSERT INTO replaced_response_sentences SELECT {self._begin('citations', ''):d}, *"
            f" FROM response_sentences WHERE passage_key IN ({keys_sql}) ORDER BY rowid"
        )

    def keep_queries(self, keys_sql: str, follows: bool = False) -> None:
        """Keep the texts of queries before they change; queries without a text of their own are
        skipped.

        Args:
            keys_sql: SQL for the keys of the queries.
            follows: whether the queries are topics, which are named after their parent query.
        """
        self.cursor.execute(
            "INSERT INTO replaced_queries"
            f" SELECT {self._begin('queries', ''):d}, query_key, text, narrative, answer,"
            f" {follows}, further_answers FROM queries WHERE text <> query_id"
            f" AND query_key IN ({keys_sql})"
            " AND query_key NOT IN (SELECT query_key FROM replaced_queries"
            f" WHERE replacement_key = {self._begin('queries', ''):d})"
        )

    def keep_subtopics(self, keys_sql: str) -> None:
        """Keep the texts of subtopics before they change.

        Args:
            keys_sql: SQL for (key of the query, id of the subtopic).
        """
        self.cursor.execute(
            f"INSERT INTO replaced_subtopics SELECT {self._begin('queries', ''):d}, query_key,"
            " subtopic_id, text"
            " FROM subtopics WHERE text <> subtopic_id"
            f" AND (query_key, subtopic_id) IN ({keys_sql})"
        )

    def keep_passages(self, clashing: str) -> None:
        """Keep the text keys of passages before they change.

        Args:
            clashing: a nonempty table of the passages: `passage_key`, `passage_id` and the old
                `text_key`.

        Raises:
            InputError: other data depends on one of these texts.
        """
        check_nothing_rests(self.cursor, clashing)
        self.cursor.execute(
            "INSERT INTO replaced_passages"
            f" SELECT {self._begin('passages', ''):d}, passage_key, text_key FROM {clashing}"
        )

    def among_replaced(self) -> str:
        """Return SQL for the passages whose text this transaction has added or replaced already."""
        key = self._kept.get(("passages", None), (0, ""))[0]
        return (
            f"SELECT passage_key FROM replaced_passages WHERE replacement_key = {key:d}"
            " UNION ALL SELECT passage_key FROM given_texts"
        )

    def discard_unchanged(self) -> list[tuple[int, int | None, ReplacedObject]]:
        """Return the kept objects that changed, and discard the copies of unchanged objects.

        Returns:
            For each changed object: its replacement_key, its key, and its description.
        """
        changed = []
        for (kind, key), (replacement, name) in self._kept.items():
            replaced = self._compare(kind, key, replacement, name)
            if replaced.gone:
                changed.append((replacement, key, replaced))
                continue
            for table in _tables_of(kind):
                self.cursor.execute(
                    f"DELETE FROM replaced_{table} WHERE replacement_key = {replacement:d}"
                )
        return changed

    def record(
        self, replacements: Sequence[tuple[int, int | None, ReplacedObject]], activity_key: int
    ) -> None:
        """Record the result of `discard_unchanged` under the action that replaced the objects."""
        for replacement, key, replaced in replacements:
            self.cursor.execute(
                "INSERT INTO replacements VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    replacement,
                    activity_key,
                    replaced.kind,
                    key,
                    replaced.name,
                    replaced.before,
                    replaced.gone,
                    replaced.after,
                ],
            )

    def _begin(self, kind: str, name: str, key: int | None = None) -> int:
        if (kind, key) not in self._kept:
            self._kept[kind, key] = (self._next_key(), name)
        return self._kept[kind, key][0]

    def _next_key(self) -> int:
        return int(self.cursor.execute("SELECT nextval('keys')").fetchall()[0][0])

    def _compare(self, kind: str, key: int | None, replacement: int, name: str) -> ReplacedObject:
        if kind in _CHANGED:
            rows = self.cursor.execute(_CHANGED[kind], {"key": replacement}).fetchall()
            return ReplacedObject(
                kind, first_few([name for (name,) in rows]), len(rows), len(rows), len(rows)
            )
        of = KINDS[kind]
        before = gone = after = 0
        # The other tables of a run (stated ranks, response lengths) add nothing to its ranking.
        for table in of.tables if of.key is None or kind == "leaderboard" else of.tables[:1]:
            was = (
                f"SELECT * EXCLUDE (replacement_key) FROM replaced_{table}"
                f" WHERE replacement_key = {replacement:d}"
            )
            now = f"SELECT * FROM {table} WHERE {present_rows_sql(kind, key, replacement)}"
            before += self._count(was)
            gone += self._count(f"{was} EXCEPT {now}")
            after += self._count(now)
        if kind == "leaderboard" and self._count(
            "SELECT 1 FROM replaced_boards r JOIN boards b USING (board_key)"
            f" WHERE replacement_key = {replacement:d} AND r.measure <> b.measure"
        ):
            gone = before
        return ReplacedObject(kind, name, before, gone, after)

    def _count(self, sql: str) -> int:
        return int(self.cursor.execute(f"SELECT count(*) FROM ({sql})").fetchall()[0][0])


def present_rows_sql(kind: str, key: int | None, replacement: int) -> str:
    """Return the SQL condition for the rows of an object in its tables.

    Args:
        key: its key.
        replacement: key of the kept rows, which name the passages of citations.
    """
    if kind == "citations":
        return (
            "passage_key IN (SELECT passage_key FROM replaced_response_sentences"
            f" WHERE replacement_key = {replacement:d})"
        )
    return "true" if KINDS[kind].key is None else f"{KINDS[kind].key} = {key:d}"


def check_nothing_rests(cursor: Cursor, passages: str) -> None:
    """Refuse to change texts of passages that other data depends on.

    Args:
        passages: a table with `passage_key`, `passage_id`, and the old `text_key`.

    Raises:
        InputError: other data depends on a text; the message names the first such passage and the
            data.
    """
    counts = ", ".join(f"({sql})" for _, sql in _RESTS)
    for passage_id, *numbers in cursor.execute(
        f"SELECT passage_id, {counts} FROM {passages} c ORDER BY passage_key"
    ).fetchall():
        resting = [how_many(n, what) for n, (what, _) in zip(numbers, _RESTS, strict=True) if n]
        if resting:
            raise InputError(
                "passage-text-in-use",
                f"The text of passage {passage_id} cannot change, because it is in use:"
                f" {', '.join(resting)}.",
                "Give the new text a new passage id.",
            )


def _tables_of(kind: str) -> tuple[str, ...]:
    if kind == "queries":
        return ("queries", "subtopics")
    return KINDS[kind].tables + ((KINDS[kind].named_in,) if KINDS[kind].named_in else ())
