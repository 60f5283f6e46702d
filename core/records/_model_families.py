"""Model families that made the parts of an evaluation: runs, graders, and the questions of the bank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ..errors import unknown_name
from ..store import Cursor, Project, as_name, log
from ._runs import check_runs

Part = Literal["run", "grader", "questions"]
PARTS: tuple[Part, ...] = ("run", "grader", "questions")
"""Parts of an evaluation that a model can make. A run is identified by its name, and a grader by its fingerprint. The
questions have no name."""

STATE_FAMILIES = "state families"


def state_families(project: Project, part: Part, name: str, families: Sequence[str], author: str) -> None:
    """State the model families that made a part; this replaces the earlier statement.

    Args:
        name: name of the run, or fingerprint of the grader; empty for the questions.
        families: names such as "gpt" or "llama"; an empty list states that people made the part without a model.

    Raises:
        InputError: unknown run or grader.
    """
    if part == "run":
        check_runs(project, [name])
    elif part == "grader" and not project.value("SELECT count(*) FROM graders WHERE fingerprint = ?", [name]):
        raise unknown_name("unknown-grader", "grader fingerprint", name, (), "See exam graders list --json.")
    named = list(dict.fromkeys(family for one in families if (family := as_name(one).lower())))
    with project.transaction() as cursor:
        _state(cursor, part, name, named, author)


def _state(cursor: Cursor, part: Part, name: str, families: list[str], author: str) -> None:
    cursor.execute(
        "INSERT INTO model_families VALUES (nextval('keys'), ?, ?, ?::VARCHAR[], ?, now()::TIMESTAMP)",
        [part, name, families, as_name(author)],
    )
    log(cursor, author, STATE_FAMILIES, part=part, name=name, families=families)


def stated_families(project: Project, part: Part) -> dict[str, tuple[str, ...]]:
    """Return the latest stated families of all parts of a kind, by name; parts without a statement are absent."""
    return {
        name: tuple(families)
        for name, families in project.rows(
            "SELECT name, arg_max(families, family_key) FROM model_families WHERE part = ? GROUP BY name ORDER BY name",
            [part],
        )
    }
