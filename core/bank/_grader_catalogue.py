"""Graders with stored results: their identity, their counts, lookup by name, and the default
grader.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from .. import graders
from ..choices import GRADER_KINDS
from ..errors import GradingError, InputError, unknown_name
from ..store import Cursor, Project, as_act, cached, quoted_text
from ..text import free_name
from ..types import GraderSpec
from ._saved_graders import (
    SPEC_COLUMNS,
    fingerprints_of,
    grade_command,
    list_prompts,
    named_graders,
    settings_again,
    stored_spec,
)

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
    """Return the key of a grader; add the grader if its fingerprint is new. A number is appended to
    a taken name.
    """
    known = grader_key(cursor, spec)
    if known is not None:
        return known
    taken = {name for (name,) in cursor.execute("SELECT name FROM graders").fetchall()}
    name = free_name(spec.name, taken, "{} ({})")
    rows = cursor.execute(
        "INSERT INTO graders VALUES (nextval('keys'), ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " RETURNING grader_key",
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
    """Return the key of a grader by its fingerprint or a fingerprint of earlier versions; None if
    it is unknown.
    """
    # Without parameters, for which DuckDB would import pandas.
    fingerprints = ", ".join(map(quoted_text, spec.fingerprints))
    rows = cursor.execute(
        f"SELECT grader_key FROM graders WHERE fingerprint IN ({fingerprints})"
        f" ORDER BY fingerprint <> {quoted_text(spec.fingerprint)} LIMIT 1"
    ).fetchall()
    return int(rows[0][0]) if rows else None


@as_act("see boards")
@cached()
def stored_graders(project: Project) -> list[StoredGrader]:
    """Return every grader of the project with its counts, the default grader first, and graders of
    citations last.
    """
    stored = [
        StoredGrader(row[0], stored_spec(row[1:9]), row[9], row[10])
        for row in project.rows(
            f"SELECT grader_key, {SPEC_COLUMNS}, coalesce(g.n, 0), coalesce(f.n, 0) FROM graders"
            " LEFT JOIN (SELECT grader_key, count(*) AS n FROM grades"
            " GROUP BY 1) g USING (grader_key) LEFT JOIN (SELECT grader_key, count(*) AS n"
            " FROM failures GROUP BY 1) f USING (grader_key) ORDER BY grader_key"
        )
    ]
    most = max(
        (
            grader.grades
            for grader in stored
            if not (grader.spec.imported or grader.spec.rates_citations)
        ),
        default=0,
    )
    return sorted(stored, key=lambda grader: place_among(grader, most))


@as_act("see boards")
def label_graders(project: Project) -> list[StoredGrader]:
    """Return the graders that give labels and leaderboards, with their counts, the default grader
    first.
    """
    return [grader for grader in stored_graders(project) if not grader.spec.rates_citations]


def place_among(grader: StoredGrader, most: int) -> tuple[bool, bool, bool, int, int, int]:
    """Return the sort key of a grader; the grader with the least key is the default.

    Args:
        most: the largest number of grades of a grader, except imported labels.
    """
    # Imported labels, and graders that were only tried on a part of the pool, must not become the
    # default.
    tried = grader.spec.imported or 2 * grader.grades < most
    # A graded file may come from a version that knows more methods.
    method = grader.spec.method
    return (
        grader.spec.rates_citations,
        grader.grades == 0,
        tried,
        METHOD_ORDER.index(method) if method in METHOD_ORDER else len(METHOD_ORDER),
        -grader.grades,
        grader.key,
    )


@as_act("see boards")
def find_grader(project: Project, name: str | None) -> StoredGrader:
    """Return a grader with grades.

    Args:
        name: printed name, fingerprint, saved name, or a method that only one grader has. None
            selects the default grader of labels.

    Raises:
        InputError: nothing is graded, the grader is unknown or has no grades, or several graders
            match.
    """
    stored = stored_graders(project)
    # Graders of citations come last.
    if not stored or (name is None and stored[0].spec.rates_citations):
        raise InputError(
            "nothing-graded",
            "Nothing has been graded yet.",
            "Grade passages (exam grade), or import a graded file.",
        )
    if name is None:
        return stored[0]
    exact = [grader for grader in stored if name in (grader.spec.name, grader.spec.fingerprint)]
    if found := exact or [grader for grader in stored if name in grader.spec.fingerprints]:
        return found[0]
    aliases = fingerprints_of(project, name)
    of_method = [grader for grader in stored if grader.spec.method == name]
    if meant := [grader for grader in stored if grader.spec.fingerprint in aliases] or of_method:
        if len(meant) == 1:
            return meant[0]
        names = ", ".join(f"'{grader.spec.name}'" for grader in meant)
        raise InputError(
            "ambiguous-grader",
            f"Several graders use the method '{name}'.",
            f"Use one of these names: {names}.",
        )
    if aliases or name in GRADER_KINDS:
        raise InputError(
            "grader-without-grades",
            f"The grader '{name}' has not graded anything yet.",
            f"Run: {grade_command(name)}",
        )
    listed = [f"'{grader.spec.name}'" for grader in stored]
    raise unknown_name("unknown-grader", "grader", name, listed, "See exam graders list.")


@dataclass(frozen=True)
class Succession:
    """An automatic change of the default grader.

    Args:
        usual: name of the present default grader.
        former: name of the grader that it replaced.
        since: start time of the job that caused the change.
    """

    usual: str
    former: str
    since: datetime


@as_act("see boards")
@cached()
def grader_succession(project: Project) -> Succession | None:
    """Return the change to the present default grader. None if it graded first, or if no job is
    recorded.
    """
    labelling = label_graders(project)
    former = next((one for one in labelling if one.grades and one.key < labelling[0].key), None)
    if former is None:
        return None
    usual, others = labelling[0], labelling[1:]
    most, grades = max((one.grades for one in others if not one.spec.imported), default=0), 0
    for began, graded in project.rows(
        "SELECT started_at, done FROM jobs WHERE subject_key = ? ORDER BY job_key", [usual.key]
    ):
        grades += graded
        then = replace(usual, grades=grades)
        if place_among(then, max(most, grades)) < place_among(former, max(most, grades)):
            return Succession(usual.spec.name, former.spec.name, began)
    return None


@dataclass(frozen=True)
class ListedGrader:
    """A grader of a project.

    Args:
        name: printed name, as on leaderboards.
        fingerprint: empty if the grader is saved but cannot be made, because its model or prompt is
            missing.
        also: other names under which it is saved.
        grades, failures: numbers of its grades and of its failed pairs.
        can_grade: whether its settings are known, so that it can grade again.
        shown: whether it is the default grader of leaderboards and labels.
        kind, parameters: its settings; None if they are unknown.
    """

    name: str
    fingerprint: str
    method: str
    model: str
    grades: int = 0
    failures: int = 0
    can_grade: bool = True
    shown: bool = False
    also: tuple[str, ...] = ()
    kind: str | None = None
    parameters: dict[str, Any] | None = None


def list_of_graders(project: Project) -> list[ListedGrader]:
    """Return the graders with results, the default grader first; then saved graders without
    results.
    """
    library = list_prompts(project)
    called: dict[str, list[str]] = {}
    waiting: list[ListedGrader] = []
    stored = stored_graders(project)
    fingerprints = {
        mark: grader.spec.fingerprint for grader in stored for mark in grader.spec.fingerprints
    }
    fingerprints |= {grader.spec.fingerprint: grader.spec.fingerprint for grader in stored}
    for named in named_graders(project):
        how: dict[str, Any] = {"kind": named.kind, "parameters": named.parameters}
        try:
            spec = graders.make_grader(named.kind, named.parameters, library).spec
        except (GradingError, InputError):
            # Its folder or prompt is missing. List it nevertheless, so that people can see and
            # remove it.
            model = str(named.parameters.get("model") or "")
            waiting.append(ListedGrader(named.name, "", named.kind, model, can_grade=False, **how))
            continue
        if spec.fingerprint in fingerprints:
            called.setdefault(fingerprints[spec.fingerprint], []).append(named.name)
        else:
            waiting.append(
                ListedGrader(named.name, spec.fingerprint, spec.method, spec.model, **how)
            )
    listed = []
    for place, grader in enumerate(stored):
        again = settings_again(project, grader.spec)
        listed.append(
            ListedGrader(
                grader.spec.name,
                grader.spec.fingerprint,
                grader.spec.method,
                grader.spec.model,
                grader.grades,
                grader.failures,
                can_grade=again is not None,
                shown=place == 0 and not grader.spec.rates_citations,
                also=tuple(
                    name
                    for name in called.get(grader.spec.fingerprint, ())
                    if name != grader.spec.name
                ),
                kind=again.kind if again else None,
                parameters=again.parameters if again else None,
            )
        )
    return listed + waiting
