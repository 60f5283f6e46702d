"""Graders as people of a project set them up: kept under a name, without any key, ready to be asked again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from core.errors import InputError
from core.graders import make_grader, remake_grader
from core.graders.base import Grader
from core.project import Project, log
from core.prompt_library import prompts
from core.types import GraderSpec


@dataclass(frozen=True)
class NamedGrader:
    """A grader's kind and parameters under a name."""

    name: str
    kind: str
    parameters: dict[str, Any]
    author: str
    made_at: datetime


def named_graders(project: Project) -> list[NamedGrader]:
    """Every grader that was set up, by name."""
    return [
        NamedGrader(name, kind, json.loads(parameters), author, made_at)
        for name, kind, parameters, author, made_at in project.rows(
            "SELECT name, kind, parameters, author, made_at FROM named_graders ORDER BY name"
        )
    ]


def save_named_grader(project: Project, name: str, kind: str, parameters: Mapping[str, Any], author: str) -> Grader:
    """Keep a grader under a name; one that has the name gives way.

    Raises:
        InputError: no name, or no grader can be made of this.
    """
    name = name.strip()
    if not name:
        raise InputError("The grader has no name.", "Give it one, as 'FLAN-T5 large'.")
    grader = make_grader(kind, parameters, prompts(project))
    with project.transaction() as cursor:
        cursor.execute(
            "INSERT OR REPLACE INTO named_graders VALUES (?, ?, ?, ?, now()::TIMESTAMP)",
            [name, kind, json.dumps(dict(parameters), ensure_ascii=False, sort_keys=True), author],
        )
        log(cursor, author, "save grader", name=name, kind=kind, fingerprint=grader.spec.fingerprint)
    return grader


def remember_settings(project: Project, grader: Grader, kind: str, parameters: Mapping[str, Any], author: str) -> None:
    """Keep how a grader is set up under its own name, unless it can be had again without that."""
    if grader_again(project, grader.spec) is None:
        taken = {named.name for named in named_graders(project)}
        name, number = grader.spec.name, 2
        while name in taken:
            name, number = f"{grader.spec.name} ({number})", number + 1
        save_named_grader(project, name, kind, parameters, author)


def remove_named_grader(project: Project, name: str, author: str) -> None:
    """Forget how a grader is set up. What it graded stays.

    Raises:
        InputError: there is none of this name.
    """
    _find(project, name)
    with project.transaction() as cursor:
        cursor.execute("DELETE FROM named_graders WHERE name = ?", [name])
        log(cursor, author, "remove grader", name=name)


def grader_by_name(project: Project, name: str) -> Grader:
    """The grader that is kept under a name.

    Raises:
        InputError: there is none, or it cannot be made any more.
    """
    found = _find(project, name)
    return make_grader(found.kind, found.parameters, prompts(project))


def grader_again(project: Project, spec: GraderSpec) -> Grader | None:
    """The grader that gave the project its grades, ready to go on: from how it was set up, else from its identity.

    Returns:
        A grader of the same fingerprint; None where there is none to be had.
    """
    library = prompts(project)
    for named in named_graders(project):
        try:
            grader = make_grader(named.kind, named.parameters, library)
        except InputError:
            # Its folder or its prompt is gone; another may be the one.
            continue
        if spec.fingerprint in grader.spec.fingerprints:
            return grader
    return remake_grader(spec, library)


def _find(project: Project, name: str) -> NamedGrader:
    known = {named.name: named for named in named_graders(project)}
    if name not in known:
        raise InputError(
            f"No grader is set up under the name '{name}'.",
            f"There are: {', '.join(known)}."
            if known
            else "Set one up on the Grading screen or with exam graders save.",
        )
    return known[name]
