"""Graders with stored results: their identity, their counts, and lookup by name."""

from __future__ import annotations

import json
from dataclasses import dataclass

from .. import graders as all_graders
from ..errors import InputError, unknown_name
from ..store import Cursor, Project, as_act, quoted_text
from ..types import GraderSpec
from ._saved_graders import SPEC_COLUMNS, fingerprints_of, grade_command, stored_spec

METHOD_ORDER = ("self-rating", "embedding", "answer", "extractive", "choice", "direct", "human")
"""Methods in order of preference. The first one with grades is used if no grader is selected."""


@dataclass(frozen=True)
class StoredGrader:
    """A grader of the project, with its numbers of grades and failures."""

    key: int
    spec: GraderSpec
    grades: int
    failures: int


def put_grader(cursor: Cursor, spec: GraderSpec) -> int:
    """Return the key of a grader; add the grader if its fingerprint is new. A number is appended to a taken name."""
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
    """Return the key of a grader by its fingerprint or a fingerprint of earlier versions; None if it is unknown."""
    # Without parameters, for which DuckDB would import pandas.
    fingerprints = ", ".join(map(quoted_text, spec.fingerprints))
    known = cursor.execute(
        f"SELECT grader_key FROM graders WHERE fingerprint IN ({fingerprints})"
        f" ORDER BY fingerprint <> {quoted_text(spec.fingerprint)} LIMIT 1"
    ).fetchall()
    return int(known[0][0]) if known else None


@as_act("see boards")
def stored_graders(project: Project) -> list[StoredGrader]:
    """Return every grader of the project with its counts, the default grader first, and graders of citations last."""
    return project.cached("graders", lambda: _count_graders(project))


@as_act("see boards")
def graders(project: Project) -> list[StoredGrader]:
    """Return the graders that give labels and leaderboards, with their counts, the default grader first."""
    return [grader for grader in stored_graders(project) if not grader.spec.rates_citations]


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
    most = max(
        (grader.grades for grader in stored if not (grader.spec.imported or grader.spec.rates_citations)), default=0
    )
    return sorted(stored, key=lambda grader: place_among(grader, most))


def place_among(grader: StoredGrader, most: int) -> tuple[bool, bool, bool, int, int, int]:
    """Return the sort key of a grader; the grader with the least key is the default.

    Args:
        most: the largest number of grades of a grader, except imported labels.
    """
    # Imported labels, and graders that were only tried on a part of the pool, must not become the default.
    tried = grader.spec.imported or 2 * grader.grades < most
    return (
        grader.spec.rates_citations,
        grader.grades == 0,
        tried,
        _preference(grader.spec.method),
        -grader.grades,
        grader.key,
    )


def _preference(method: str) -> int:
    # A graded file may come from a version that knows more methods.
    return METHOD_ORDER.index(method) if method in METHOD_ORDER else len(METHOD_ORDER)


@as_act("see boards")
def find_grader(project: Project, name: str | None) -> StoredGrader:
    """Return a grader with grades.

    Args:
        name: printed name, fingerprint, saved name, or a method that only one grader has. None selects the default
            grader of labels.

    Raises:
        InputError: nothing is graded, the grader is unknown or has no grades, or several graders match.
    """
    known = graders(project) if name is None else stored_graders(project)
    if not known:
        raise InputError("nothing-graded", "Nothing has been graded yet.", "Run exam grade, or import a graded file.")
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
        raise InputError(
            "ambiguous-grader", f"Several graders use the method '{name}'.", f"Use one of these names: {names}."
        )
    if aliases or name in all_graders.GRADERS:
        raise InputError(
            "grader-without-grades", f"The grader '{name}' has not graded anything yet.", f"Run: {grade_command(name)}"
        )
    listed = [f"'{grader.spec.name}'" for grader in known]
    raise unknown_name("unknown-grader", "grader", name, listed, "See exam graders list.")
