"""Graders and their grades: which pairs a bank version needs, which are known, and writing new ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from core.bank import AT_VERSION
from core.errors import InputError
from core.graders.base import Outcome
from core.project import Cursor, Project, stage
from core.types import GraderSpec

METHOD_ORDER = ("self-rating", "embedding", "answer", "extractive", "choice", "direct", "human")
"""Where nobody says which grader is meant, the first method here that has grades is taken."""


@dataclass(frozen=True)
class StoredGrader:
    """A grader as the project knows it, with how much it has done."""

    key: int
    spec: GraderSpec
    grades: int
    failures: int

    @property
    def question_pairs(self) -> bool:
        """Whether it grades questions; a direct grader judges the query itself."""
        return self.spec.method != "direct"


def put_grader(cursor: Cursor, spec: GraderSpec) -> int:
    """The key of a grader, which is added where its fingerprint is new.

    A name that another grader has already gets a number.
    """
    known = cursor.execute("SELECT grader_key FROM graders WHERE fingerprint = ?", [spec.fingerprint]).fetchall()
    if known:
        return int(known[0][0])
    taken = {name for (name,) in cursor.execute("SELECT name FROM graders").fetchall()}
    name, number = spec.name, 2
    while name in taken:
        name, number = f"{spec.name} ({number})", number + 1
    rows = cursor.execute(
        "INSERT INTO graders VALUES (nextval('keys'), ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING grader_key",
        [
            spec.fingerprint,
            name,
            spec.method,
            spec.model,
            spec.prompt,
            spec.prompt_hash,
            json.dumps(spec.parameters, ensure_ascii=False),
            json.dumps(spec.kinds),
            spec.max_rating,
        ],
    ).fetchall()
    return int(rows[0][0])


def graders(project: Project) -> list[StoredGrader]:
    """Every grader of the project with its counts, the default one first."""
    return project.remember("graders", lambda: _count_graders(project))


def _count_graders(project: Project) -> list[StoredGrader]:
    stored = [
        StoredGrader(row[0], _spec(row[1:9]), row[9], row[10])
        for row in project.rows(
            "SELECT grader_key, name, method, model, prompt, prompt_hash, parameters, kinds, max_rating,"
            " coalesce(g.n, 0), coalesce(f.n, 0) FROM graders"
            " LEFT JOIN (SELECT grader_key, count(*) AS n FROM grades GROUP BY 1) g USING (grader_key)"
            " LEFT JOIN (SELECT grader_key, count(*) AS n FROM failures GROUP BY 1) f USING (grader_key)"
            " ORDER BY grader_key"
        )
    ]
    return sorted(stored, key=lambda g: (g.grades == 0, _preference(g.spec.method), -g.grades, g.key))


def _preference(method: str) -> int:
    # A graded file may come from a version that knows more methods.
    return METHOD_ORDER.index(method) if method in METHOD_ORDER else len(METHOD_ORDER)


def _spec(row: tuple[Any, ...]) -> GraderSpec:
    return GraderSpec(
        name=row[0],
        method=row[1],
        model=row[2],
        prompt=row[3],
        prompt_hash=row[4],
        parameters=json.loads(row[5]),
        kinds=tuple(json.loads(row[6])),
        max_rating=row[7],
    )


def find_grader(project: Project, name: str | None) -> StoredGrader:
    """The grader of a name or fingerprint; the default one for None.

    Raises:
        InputError: there is none.
    """
    known = graders(project)
    if not known:
        raise InputError("Nothing has been graded yet.", "Run exam grade, or import a graded file.")
    if name is None:
        return known[0]
    for grader in known:
        if name in (grader.spec.name, grader.spec.fingerprint):
            return grader
    names = ", ".join(f"'{grader.spec.name}'" for grader in known)
    raise InputError(f"There is no grader '{name}' in this project.", f"It has {names}.")


def bank_for(spec: GraderSpec) -> str:
    """The active questions that a grader can grade, as a subquery over `$version`.

    Its columns are query_key, question_key, text_key, weight. For a direct grader the query itself
    is the one question.
    """
    if spec.method == "direct":
        return (
            "(SELECT query_key, query_key AS question_key, t.text_key, 1.0 AS weight"
            " FROM queries q JOIN question_texts t ON t.text = q.text WHERE $version >= 0)"
        )
    kinds = ", ".join(f"'{kind}'" for kind in spec.kinds)
    return (
        "(SELECT query_key, question_key, text_key, weight"
        f" FROM {AT_VERSION} JOIN questions USING (question_key) WHERE active AND kind IN ({kinds}))"
    )


def question_text_key(cursor: Cursor, text: str) -> int:
    """The key of a question text, which is added where it is new."""
    known = cursor.execute("SELECT text_key FROM question_texts WHERE text = ?", [text]).fetchall()
    if not known:
        known = cursor.execute(
            "INSERT INTO question_texts VALUES (nextval('keys'), ?, NULL) RETURNING text_key", [text]
        ).fetchall()
    return int(known[0][0])


@dataclass(frozen=True)
class Plan:
    """What a grading job would do, in pairs of (question text, passage text).

    Args:
        needed: pairs that the bank and the pool ask for.
        known: those that have a grade.
        failed: those that were asked and gave nothing usable.
        to_grade: those that the job would ask.
        without_text: pooled (query, passage) whose passage text is missing.
    """

    needed: int
    known: int
    failed: int
    to_grade: int
    without_text: int


def missing_pairs(spec: GraderSpec) -> str:
    """The pairs that a grader is asked for and whether it has them, as a query.

    Its parameters are $version, $grader (key, or -1), $queries (a list of query ids, or NULL).
    Its columns are query_key, question_text_key, passage_text_key and state: known, failed or ungraded.
    """
    return (
        "SELECT n.*, CASE WHEN EXISTS (SELECT * FROM grades g WHERE g.grader_key = $grader"
        "  AND g.question_text_key = n.question_text_key AND g.passage_text_key = n.passage_text_key)"
        "  THEN 'known'"
        " WHEN EXISTS (SELECT * FROM failures f WHERE f.grader_key = $grader"
        "  AND f.question_text_key = n.question_text_key AND f.passage_text_key = n.passage_text_key)"
        "  THEN 'failed' ELSE 'ungraded' END AS state"
        " FROM (SELECT min(query_key) AS query_key, b.text_key AS question_text_key,"
        "  p.text_key AS passage_text_key"
        f"  FROM pool p JOIN {bank_for(spec)} b USING (query_key) JOIN queries q USING (query_key)"
        "  JOIN question_texts t ON t.text_key = b.text_key AND t.text IS NOT NULL"
        "  WHERE p.text_key IS NOT NULL AND ($queries IS NULL OR list_contains($queries, q.query_id))"
        "  GROUP BY ALL) n"
    )


def make_plan(
    project: Project,
    spec: GraderSpec,
    version: int,
    queries: Sequence[str] | None = None,
    retry_failed: bool = False,
    limit: int | None = None,
) -> Plan:
    """Count what a grading job would do.

    Args:
        version: bank version whose active questions are asked.
        queries: ids of the queries to grade; all for None.
        retry_failed: whether failed pairs are asked again.
        limit: at most this many pairs are asked.
    """
    states = dict(
        project.rows(
            f"SELECT state, count(*) FROM ({missing_pairs(spec)}) GROUP BY state",
            _plan_parameters(project, spec, version, queries),
        )
    )
    open_pairs = states.get("ungraded", 0) + (states.get("failed", 0) if retry_failed else 0)
    return Plan(
        needed=sum(states.values()),
        known=states.get("known", 0),
        failed=states.get("failed", 0),
        to_grade=open_pairs if limit is None else min(open_pairs, limit),
        without_text=int(
            project.value(
                "SELECT count(*) FROM pool JOIN queries USING (query_key) WHERE text_key IS NULL"
                " AND ($queries IS NULL OR list_contains($queries, query_id))",
                {"queries": None if queries is None else list(queries)},
            )
        ),
    )


def _plan_parameters(
    project: Project, spec: GraderSpec, version: int, queries: Sequence[str] | None
) -> dict[str, Any]:
    key = project.value("SELECT grader_key FROM graders WHERE fingerprint = ?", [spec.fingerprint])
    return {
        "version": version,
        "grader": -1 if key is None else key,
        "queries": None if queries is None else list(queries),
    }


@dataclass(frozen=True)
class PairsToGrade:
    """The pairs of one query that a job still has to ask, with their texts by text key."""

    pairs: list[tuple[int, int]]
    questions: dict[int, str]
    passages: dict[int, str]


def pairs_to_grade(
    project: Project,
    spec: GraderSpec,
    version: int,
    queries: Sequence[str] | None = None,
    retry_failed: bool = False,
    limit: int | None = None,
) -> list[list[tuple[int, int]]]:
    """The pairs that a job has to ask, one list a query, passages in order so that prompts share a prefix.

    Args: as for `make_plan`.
    """
    states = "('ungraded', 'failed')" if retry_failed else "('ungraded')"
    groups: dict[int, list[tuple[int, int]]] = {}
    for query_key, question, passage in project.rows(
        f"SELECT query_key, question_text_key, passage_text_key FROM ({missing_pairs(spec)})"
        f" WHERE state IN {states} ORDER BY ALL" + ("" if limit is None else f" LIMIT {limit:d}"),
        _plan_parameters(project, spec, version, queries),
    ):
        groups.setdefault(query_key, []).append((question, passage))
    return [sorted(pairs, key=lambda pair: (pair[1], pair[0])) for pairs in groups.values()]


def with_texts(project: Project, pairs: list[tuple[int, int]]) -> PairsToGrade:
    """The texts that pairs are about."""
    question_keys = sorted({question for question, _ in pairs})
    passage_keys = sorted({passage for _, passage in pairs})
    texts = "SELECT text_key, text FROM {} WHERE list_contains(?, text_key)"
    return PairsToGrade(
        pairs=pairs,
        questions=dict(project.rows(texts.format("question_texts"), [question_keys])),
        passages=dict(project.rows(texts.format("passage_texts"), [passage_keys])),
    )


_GRADE_COLUMNS = {
    "grader_key": "INTEGER",
    "question_text_key": "INTEGER",
    "passage_text_key": "INTEGER",
    "rating": "TINYINT",
    "defaulted": "BOOLEAN",
    "confidence": "FLOAT",
    "answer": "VARCHAR",
    "raw": "VARCHAR",
    "job_key": "INTEGER",
    "reason": "VARCHAR",
}


def add_outcomes(cursor: Cursor, grader_key: int, outcomes: Sequence[Outcome], job_key: int) -> None:
    """Write what a grader said. A pair that has a grade keeps it: a grade is a permanent fact."""
    columns: dict[str, list[Any]] = {name: [] for name in _GRADE_COLUMNS}
    for question, passage, grade in outcomes:
        values = (
            grader_key,
            question,
            passage,
            grade.rating,
            grade.status == "defaulted",
            grade.confidence,
            grade.answer,
            grade.raw,
            job_key,
            grade.reason,
        )
        for name, value in zip(_GRADE_COLUMNS, values, strict=True):
            columns[name].append(value)
    stage(cursor, "new_grades", columns, _GRADE_COLUMNS)
    write_staged_grades(cursor)


def write_staged_grades(cursor: Cursor) -> tuple[int, int]:
    """Write the temporary table `new_grades`: usable ratings as grades, those without as failures.

    Returns:
        The numbers of grades and of failures that are new.
    """
    graded = cursor.execute(
        "INSERT INTO grades SELECT * EXCLUDE (first, reason) FROM ("
        " SELECT DISTINCT ON (grader_key, question_text_key, passage_text_key) *, rowid AS first"
        " FROM new_grades WHERE rating IS NOT NULL"
        " ORDER BY grader_key, question_text_key, passage_text_key, first)"
        " ANTI JOIN grades USING (grader_key, question_text_key, passage_text_key) ORDER BY first"
    ).fetchall()[0][0]
    failed = cursor.execute(
        "INSERT INTO failures SELECT grader_key, question_text_key, passage_text_key,"
        " coalesce(reason, 'no usable rating'), raw, job_key FROM new_grades WHERE rating IS NULL"
    ).fetchall()[0][0]
    return int(graded), int(failed)
