"""Graders and their grades: which pairs a bank version needs, which are known, and writing new ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from core.bank import AT_VERSION
from core.errors import InputError
from core.graders import GRADERS
from core.graders.base import Outcome
from core.named_graders import SPEC_COLUMNS, fingerprints_of, grade_command, stored_spec
from core.project import Cursor, Project, stage
from core.text import clean_or_none
from core.topics import PLACES, TITLES, asks
from core.types import SEPARATOR, GraderSpec

METHOD_ORDER = ("self-rating", "embedding", "answer", "extractive", "choice", "direct", "human")
"""Where nobody says which grader is meant, the first method here that has grades is taken."""

ROUNDING = 1e-4
"""How far off the ends of its scale a confidence may be by rounding."""
NO_USABLE_RATING = "no usable rating"
"""Why a pair failed where nobody said."""


@dataclass(frozen=True)
class StoredGrader:
    """A grader as the project knows it, with how much it has done."""

    key: int
    spec: GraderSpec
    grades: int
    failures: int


def put_grader(cursor: Cursor, spec: GraderSpec) -> int:
    """The key of a grader, which is added where its fingerprint is new.

    A name that another grader has already gets a number.
    """
    known = grader_key(cursor, spec)
    if known is not None:
        return known
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


def grader_key(cursor: Cursor, spec: GraderSpec) -> int | None:
    """The key of a grader that the project has, under its fingerprint or an earlier version's; None without it."""
    known = cursor.execute(
        "SELECT grader_key FROM graders WHERE list_contains($all, fingerprint) ORDER BY fingerprint <> $own LIMIT 1",
        {"all": list(spec.fingerprints), "own": spec.fingerprint},
    ).fetchall()
    return int(known[0][0]) if known else None


def graders(project: Project) -> list[StoredGrader]:
    """Every grader of the project with its counts, the default one first."""
    return project.remember("graders", lambda: _count_graders(project))


def _count_graders(project: Project) -> list[StoredGrader]:
    stored = [
        StoredGrader(row[0], stored_spec(row[1:9]), row[9], row[10])
        for row in project.rows(
            f"SELECT grader_key, {SPEC_COLUMNS},"
            " coalesce(g.n, 0), coalesce(f.n, 0) FROM graders"
            " LEFT JOIN (SELECT grader_key, count(*) AS n FROM grades GROUP BY 1) g USING (grader_key)"
            " LEFT JOIN (SELECT grader_key, count(*) AS n FROM failures GROUP BY 1) f USING (grader_key)"
            " ORDER BY grader_key"
        )
    ]
    most = max((grader.grades for grader in stored), default=0)
    # A grader that was only tried on a part of the pool does not become what every screen shows.
    return sorted(
        stored, key=lambda g: (g.grades == 0, 2 * g.grades < most, _preference(g.spec.method), -g.grades, g.key)
    )


def _preference(method: str) -> int:
    # A graded file may come from a version that knows more methods.
    return METHOD_ORDER.index(method) if method in METHOD_ORDER else len(METHOD_ORDER)


def find_grader(project: Project, name: str | None) -> StoredGrader:
    """The grader with grades that a person means; the default one for None.

    Args:
        name: what a grader is printed as, its fingerprint, the name under which it is set up, or its method where
            that says which one is meant (see `core.named_graders.named`).

    Raises:
        InputError: there is none, or several are meant.
    """
    known = graders(project)
    if not known:
        raise InputError("Nothing has been graded yet.", "Run exam grade, or import a graded file.")
    if name is None:
        return known[0]
    exact = [grader for grader in known if name in (grader.spec.name, grader.spec.fingerprint)]
    if found := exact or [grader for grader in known if name in grader.spec.fingerprints]:
        return found[0]
    aliases = fingerprints_of(project, name)
    of_method = [grader for grader in known if grader.spec.method == name]
    if meant := [grader for grader in known if grader.spec.fingerprint in aliases] or of_method:
        if len(meant) == 1:
            return meant[0]
        names = ", ".join(f"'{grader.spec.name}'" for grader in meant)
        raise InputError(f"Several graders are of the method {name}.", f"Name one of them: {names}.")
    if aliases or name in GRADERS:
        raise InputError(f"The grader '{name}' has not graded anything yet.", f"Run: {grade_command(name)}")
    names = ", ".join(f"'{grader.spec.name}'" for grader in known)
    raise InputError(f"There is no grader '{name}' in this project.", f"It has {names}: see exam graders list.")


_PLACED = (
    f"(SELECT r.*, t.asking_key AS query_key FROM {AT_VERSION} r JOIN questions o USING (question_key)"
    f" JOIN {PLACES} t ON t.query_key = o.query_key AND {asks('t', 'r')})"
)
"""The revisions of the bank, one row a query or topic that asks the question."""


def bank_for(spec: GraderSpec) -> str:
    """The active questions that a grader can grade, as a subquery over `$version`.

    Its columns are query_key, question_key, text_key (of what the grader is asked; NULL where it never was),
    weight. For a direct grader the query itself is the one question. A question is asked for its query, and
    for the topic `query/subtopic` where the project has one; without a subtopic for every topic of its query.
    """
    if spec.method == "direct" or spec.reads:
        return f"(SELECT * EXCLUDE (asked) FROM {asked_bank(spec)})"
    kinds = ", ".join(f"'{kind}'" for kind in spec.takes)
    return f"(SELECT query_key, question_key, text_key, weight FROM {_PLACED} WHERE active AND kind IN ({kinds}))"


def asked_bank(spec: GraderSpec) -> str:
    """The same as `bank_for`, with the text that is asked in a column `asked`."""
    if spec.method == "direct":
        source = (
            "SELECT query_key, query_key AS question_key, 1.0 AS weight, text, answer AS answer_key, '[]' AS choices"
            f" FROM {TITLES} WHERE $version >= 0"
        )
    else:
        kinds = ", ".join(f"'{kind}'" for kind in spec.takes)
        source = (
            "SELECT query_key, question_key, weight, text, answer_key, choices"
            f" FROM {_PLACED} JOIN question_texts USING (text_key)"
            f" WHERE active AND kind IN ({kinds})"
        )
    return (
        "(SELECT query_key, question_key, a.text_key, weight, asked"
        f" FROM (SELECT *, {_asked_sql(spec)} AS asked FROM ({source}))"
        " LEFT JOIN question_texts a ON a.text = asked WHERE asked IS NOT NULL)"
    )


def _asked_sql(spec: GraderSpec) -> str:
    """`GraderSpec.asked_text` over the columns text, answer_key and choices."""
    if not spec.reads:
        return "text"
    separator = f"chr({ord(SEPARATOR)})"
    if "choices" in spec.reads:
        parts, given = (
            f"text || {separator} || answer_key || {separator} || choices",
            "answer_key <> '' AND choices <> '[]'",
        )
    else:
        parts, given = f"text || {separator} || answer_key", "answer_key <> ''"
    return f"CASE WHEN {given} THEN {parts} END"


def name_asked_texts(cursor: Cursor, spec: GraderSpec, version: int) -> None:
    """Give a key to everything that a grader is asked at a bank version and was never asked before."""
    cursor.execute(
        "INSERT INTO question_texts SELECT nextval('keys'), asked, NULL FROM (SELECT asked, min(question_key) AS first"
        f" FROM {asked_bank(spec)} WHERE text_key IS NULL GROUP BY asked ORDER BY first)",
        {"version": version},
    )


def question_text_key(cursor: Cursor, text: str) -> int:
    """The key of a question text, which is added where it is new."""
    known = cursor.execute("SELECT text_key FROM question_texts WHERE text = ?", [text]).fetchall()
    if not known:
        known = cursor.execute(
            "INSERT INTO question_texts VALUES (nextval('keys'), ?, NULL) RETURNING text_key", [text]
        ).fetchall()
    return int(known[0][0])


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
    "note": "VARCHAR",
    "distribution": "FLOAT[]",
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
            _share(grade.confidence),
            clean_or_none(grade.answer),
            clean_or_none(grade.raw),
            job_key,
            clean_or_none(grade.note),
            _shares(grade.distribution),
            clean_or_none(grade.reason),
        )
        for name, value in zip(_GRADE_COLUMNS, values, strict=True):
            columns[name].append(value)
    stage(cursor, "new_grades", columns, _GRADE_COLUMNS)
    write_staged_grades(cursor)


def _share(number: float | None) -> float | None:
    """A confidence as it is stored: a number from 0 to 1; anything else says nothing of how sure a model was."""
    if number is None or not -ROUNDING <= number <= 1 + ROUNDING:
        return None
    return min(max(number, 0.0), 1.0)


def _shares(numbers: Sequence[float] | None) -> Sequence[float] | None:
    """A distribution as it is stored: None where any of it is no share."""
    shares = [_share(number) for number in numbers or ()]
    return None if numbers is None or None in shares else [share for share in shares if share is not None]


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
        f" coalesce(reason, '{NO_USABLE_RATING}'), raw, job_key FROM new_grades WHERE rating IS NULL"
    ).fetchall()[0][0]
    return int(graded), int(failed)
