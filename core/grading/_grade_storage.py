"""Storage of grading results and vectors. A rating is a grade, anything else a failure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from .. import graders
from ..store import Cursor, Project, lend_table, table_of
from ..text import clean_or_none

ROUNDING = 1e-4
"""Tolerance for rounding errors of a confidence outside 0 to 1."""
NO_USABLE_RATING = "no usable rating"
"""Reason of a failure if no other is given."""


_GRADE_COLUMNS = {
    "row": "INTEGER",
    "grader_key": "INTEGER",
    "question_text_key": "INTEGER",
    "passage_text_key": "INTEGER",
    "rating": "TINYINT",
    "defaulted": "BOOLEAN",
    "confidence": "FLOAT",
    "answer": "VARCHAR",
    "raw": "VARCHAR",
    "job_key": "INTEGER",
    "note": "VARCHAR",
    "distribution": "FLOAT[]",
    "reason": "VARCHAR",
}


class StoredCounts(NamedTuple):
    """Counts of stored results.

    Args:
        graded, failed: numbers of new grades and failures.
        differing: number of pairs that the same grader rated differently before; the old rating is
            kept.
    """

    graded: int
    failed: int
    differing: int


def add_outcomes(
    cursor: Cursor, grader_key: int, outcomes: Sequence[graders.Outcome], job_key: int
) -> None:
    """Store a grader's results. A pair that has a grade keeps it: a grade is a permanent fact."""
    grades = [grade for _, _, grade in outcomes]
    columns: dict[str, list[Any]] = {
        "row": list(range(len(grades))),
        "grader_key": [grader_key] * len(grades),
        "question_text_key": [question for question, _, _ in outcomes],
        "passage_text_key": [passage for _, passage, _ in outcomes],
        "rating": [grade.rating for grade in grades],
        "defaulted": [grade.status == "defaulted" for grade in grades],
        "confidence": [_valid_share(grade.confidence) for grade in grades],
        "answer": [clean_or_none(grade.answer) for grade in grades],
        "raw": [clean_or_none(grade.raw) for grade in grades],
        "job_key": [job_key] * len(grades),
        "note": [clean_or_none(grade.note) for grade in grades],
        "distribution": [_valid_shares(grade.distribution) for grade in grades],
        "reason": [clean_or_none(grade.reason) for grade in grades],
    }
    write_grades(cursor, table_of(columns, _GRADE_COLUMNS))


def _valid_share(number: float | None) -> float | None:
    """Return a confidence as stored: a number from 0 to 1; None for anything else, which is not a
    confidence.
    """
    if number is None or not -ROUNDING <= number <= 1 + ROUNDING:
        return None
    return min(max(number, 0.0), 1.0)


def _valid_shares(numbers: Sequence[float] | None) -> Sequence[float] | None:
    """Return a distribution as stored: None if any number is not a share."""
    if numbers is None:
        return None
    shares = [_valid_share(number) for number in numbers]
    return None if None in shares else [share for share in shares if share is not None]


def write_grades(cursor: Cursor, results: pa.Table) -> StoredCounts:
    """Store results for pairs: usable ratings as grades, the rest as failures.

    If a pair has a grade or is repeated, the first rating is kept.

    Args:
        results: one row per result, with columns of `grades` (missing ones are NULL) and the
            `reason` of a failure; `row` numbers the rows in order.
    """
    # Imported here, because it loads slowly, and commands that only read need this module too.
    import pyarrow.compute as pc

    # Keys grow with time, so the database can skip whole row groups that are older than these
    # questions.
    bounds = pc.min_max(results["question_text_key"])
    failing = results["rating"].null_count
    with lend_table(cursor, "new_grades", results):
        before = _graded_before(cursor, bounds["min"].as_py(), bounds["max"].as_py())
        # Most tables have no repeated pairs, and this check costs less than grouping the rows.
        as_they_are = not (len(before) or failing) and _each_once(results)
        failed = 0
        if failing:
            failed = cursor.execute(
                "INSERT INTO failures SELECT grader_key, question_text_key, passage_text_key,"
                f" coalesce(reason, '{NO_USABLE_RATING}'), raw, job_key FROM new_grades"
                " WHERE rating IS NULL ORDER BY row"
            ).fetchall()[0][0]
        rows = results
        if not as_they_are:
            with lend_table(cursor, "graded_before", before):
                rows = cursor.execute(
                    "SELECT * FROM new_grades WHERE row IN (SELECT min(row) FROM new_grades"
                    " WHERE rating IS NOT NULL"
                    "  GROUP BY grader_key, question_text_key, passage_text_key)"
                    " AND row NOT IN (SELECT row FROM graded_before) ORDER BY row"
                ).to_arrow_table()
    if len(rows):
        filled = [name for name in rows.column_names if rows[name].null_count < len(rows)]
        columns = ", ".join(name for name in filled if name not in ("row", "reason"))
        with lend_table(cursor, "graded_now", rows):
            # RETURNING makes the engine append to the row groups of the previous statement, row by
            # row. Any other statement begins new row groups, which are merged in memory at the end
            # of the transaction. Less than a row group is buffered before it is copied, which takes
            # 1.5 times as long.
            cursor.execute(
                f"INSERT INTO grades BY NAME SELECT {columns} FROM graded_now RETURNING 1"
            )
    return StoredCounts(len(rows), failed, pc.sum(before["differs"]).as_py() or 0)


def _graded_before(cursor: Cursor, least: int | None, greatest: int | None) -> pa.Table:
    """Return the rows of `new_grades` whose pair has a grade: `row`, and whether the rating
    `differs`.

    Args:
        least, greatest: bounds of their question keys.
    """
    between = {"least": least, "greatest": greatest}
    older = "SELECT * FROM grades WHERE question_text_key BETWEEN $least AND $greatest"
    if not cursor.execute(f"{older} LIMIT 1", between).fetchall():
        return table_of({"row": [], "differs": []}, {"row": "INTEGER", "differs": "BOOLEAN"})
    return cursor.execute(
        "SELECT n.row, n.rating <> g.rating AS differs"
        f" FROM new_grades n JOIN ({older}) g USING (grader_key, question_text_key,"
        " passage_text_key)",
        between,
    ).to_arrow_table()


def _each_once(results: pa.Table) -> bool:
    """Return whether no pair of a grader is repeated."""
    pairs = results.select(["grader_key", "question_text_key", "passage_text_key"])
    # Arrow's own grouping takes three times as long.
    return not pairs.to_pandas().duplicated().any()


_COLUMNS = {
    "encoder": "VARCHAR",
    "role": "VARCHAR",
    "digest": "BLOB",
    "vector": "BLOB",
    "sentences": "BLOB",
}


@dataclass(eq=False)
class ProjectVectors:
    """The vector store of a project, for one job.

    Args:
        project: the thread that runs the job writes to it.
    """

    project: Project
    _known: dict[tuple[str, str], set[bytes]] = field(default_factory=dict, init=False)

    def get(
        self, encoder: str, role: str, digests: Sequence[bytes]
    ) -> dict[bytes, graders.StoredVectors]:
        """Return the stored vectors by digest; see `VectorStore`."""
        missing = [digest for digest in digests if digest in self._digests(encoder, role)]
        if not missing:
            return {}
        rows = self.project.rows(
            "SELECT digest, vector, sentences FROM text_vectors"
            " JOIN (SELECT unnest($digests) AS digest) USING (digest)"
            " WHERE encoder = $encoder AND role = $role",
            {"encoder": encoder, "role": role, "digests": missing},
        )
        return {
            digest: graders.StoredVectors(vector, sentences) for digest, vector, sentences in rows
        }

    def put(
        self, encoder: str, role: str, by_digest: Mapping[bytes, graders.StoredVectors]
    ) -> None:
        """Store vectors that are not stored yet; see `VectorStore`."""
        stored = self._digests(encoder, role)
        new = [
            (encoder, role, digest, vectors.vector, vectors.sentences)
            for digest, vectors in by_digest.items()
            if digest not in stored
        ]
        if not new:
            return
        columns = dict(zip(_COLUMNS, zip(*new, strict=True), strict=True))

        def write_vectors(cursor: Cursor) -> None:
            with lend_table(cursor, "new_vectors", table_of(columns, _COLUMNS)):
                cursor.execute(
                    "INSERT INTO text_vectors FROM new_vectors ANTI JOIN text_vectors"
                    " USING (encoder, role, digest)"
                )

        self.project.write(write_vectors)
        stored.update(digest for _, _, digest, _, _ in new)

    def _digests(self, encoder: str, role: str) -> set[bytes]:
        """Return the digests of all stored vectors. They are read once, because a first job has
        mostly new texts.
        """
        if (encoder, role) not in self._known:
            rows = self.project.rows(
                "SELECT digest FROM text_vectors WHERE encoder = ? AND role = ?", [encoder, role]
            )
            self._known[encoder, role] = {digest for (digest,) in rows}
        return self._known[encoder, role]


@dataclass(frozen=True)
class VectorCount:
    """Number of texts of a role with vectors of an encoder, and their size in bytes."""

    encoder: str
    role: str
    texts: int
    size: int


def count_vectors(project: Project) -> list[VectorCount]:
    """Return the numbers of stored vectors, by encoder and role."""
    return [
        VectorCount(*row)
        for row in project.rows(
            "SELECT encoder, role, count(*), sum(octet_length(vector) +"
            " octet_length(sentences))::BIGINT FROM text_vectors GROUP BY ALL ORDER BY ALL"
        )
    ]


def drop_vectors(project: Project) -> int:
    """Delete all vectors; grading computes them again. Return the number of deleted vectors."""
    with project.transaction() as cursor:
        return int(cursor.execute("DELETE FROM text_vectors").fetchall()[0][0])
