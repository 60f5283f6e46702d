"""Graders as people of a project set them up: kept under a name, without any key, ready to be asked again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..errors import GradingError, InputError, unknown_name
from ..graders import GRADERS, Grader, Prompt, acting, make_grader, naming, remade_from
from ..project import Project, as_name, log
from ..types import GraderSpec
from .prompts import prompts


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
        InputError: no name, or that of another grader that has graded; or no grader can be made of this.
    """
    name = as_name(name)
    if not name:
        raise InputError("empty-name", "The grader has no name.", "Enter a name, such as FLAN-T5 large.")
    grader = make_grader(kind, parameters, prompts(project))
    # One name means one grader, in every command and on every screen.
    if name in GRADERS or name in _names_of_others(project, grader.spec):
        raise InputError("name-taken", f"The name '{name}' belongs to another grader.", "Choose a different name.")
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
        taken = {named.name for named in named_graders(project)} | _names_of_others(project, grader.spec)
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


def settings(project: Project, name: str) -> tuple[str, dict[str, Any]]:
    """How to make the grader that a person means: its kind and parameters.

    A grader is meant by the name under which it is set up, by what it is printed as or its fingerprint once it has
    graded, or by its method, which with no parameters is the method's default.

    Raises:
        InputError: there is none, or it graded elsewhere and cannot be asked from what is known of it.
    """
    for spec in _specs(project):
        if name in (spec.name, spec.fingerprint):
            if (found := settings_again(project, spec)) is None:
                raise InputError(
                    "unknown-grader-settings",
                    f"'{spec.name}' has grades, but its settings are unknown.",
                    f"Save its settings: exam graders add NAME --grader {spec.method}, with its model and prompt.",
                )
            return found.kind, found.parameters
    if name in GRADERS:
        return name, {}
    for one in named_graders(project):
        if name == one.name or name in _fingerprints(project, one):
            return one.kind, one.parameters
    known = dict.fromkeys([*GRADERS, *(f"'{one.name}'" for one in named_graders(project))])
    known |= dict.fromkeys(f"'{spec.name}'" for spec in _specs(project))
    raise unknown_name("unknown-grader", "grader", name, known)


def make_named(
    project: Project, name: str, given: Mapping[str, Any], library: Mapping[str, Prompt] | None = None
) -> tuple[Grader, str, dict[str, Any]]:
    """Make the grader of a name, see `settings`, with some parameters given anew.

    Args:
        library: the prompts to choose from; those of the project for None.

    Returns:
        The grader, its kind and all its parameters.

    Raises:
        InputError: there is none, or a parameter makes no sense.
    """
    kind, known = settings(project, name)
    # What the project says of an address binds no key to it: a person has to name both, or neither.
    bound = "base_url" in given or "base_url" not in known
    parameters = {**known, **given}
    with acting(naming(given.get("base_url"), given.get("key_variable") if bound else None)):
        return make_grader(kind, parameters, prompts(project) if library is None else library), kind, parameters


def fingerprints_of(project: Project, name: str) -> tuple[str, ...]:
    """The fingerprints whose grades are those of the grader that is set up under a name; none where there is none."""
    return next((_fingerprints(project, named) for named in named_graders(project) if named.name == name), ())


def grade_command(name: str, *more: str) -> str:
    """The command that grades with a grader, to be pasted into a shell.

    Args:
        more: further arguments.
    """
    return shlex.join(["exam", "grade", "--grader", name, *more])


def how_to_grade(project: Project, spec: GraderSpec, *more: str) -> str:
    """What to do so that a grader goes on, in a sentence: the very grader, since another one's grades change nothing.

    Args:
        more: further arguments of the command.
    """
    if settings_again(project, spec) is not None:
        return f"Run: {grade_command(spec.name, *more)}"
    return (
        f"'{spec.name}' graded elsewhere and is not set up here. Save its settings with exam graders add, or grade"
        " with another grader and select that one with --grader."
    )


def grader_again(project: Project, spec: GraderSpec) -> Grader | None:
    """The grader that gave the project its grades, ready to go on: from how it was set up, else from its identity.

    Returns:
        A grader of the same fingerprint; None where there is none to be had.
    """
    found = settings_again(project, spec)
    return None if found is None else make_grader(found.kind, found.parameters, prompts(project))


@dataclass(frozen=True)
class Settings:
    """How to make a grader that has graded.

    Args:
        name: under which it is set up; None where what identifies it says all that it takes.
    """

    name: str | None
    kind: str
    parameters: dict[str, Any]


def settings_again(project: Project, spec: GraderSpec) -> Settings | None:
    """How to make the grader that gave the project its grades; None where that is not known."""
    for one in named_graders(project):
        if spec.fingerprint in _fingerprints(project, one):
            return Settings(one.name, one.kind, one.parameters)
    parameters = remade_from(spec, prompts(project))
    return None if parameters is None else Settings(None, spec.method, parameters)


def _fingerprints(project: Project, one: NamedGrader) -> tuple[str, ...]:
    """The fingerprints whose grades are this grader's, its own first; none where it cannot be made any more."""
    try:
        return make_grader(one.kind, one.parameters, prompts(project)).spec.fingerprints
    except (GradingError, InputError):
        # Its folder or its prompt is gone; another may be the one.
        return ()


def _names_of_others(project: Project, spec: GraderSpec) -> set[str]:
    """The names of the graders that have graded, but for this one."""
    return {other.name for other in _specs(project) if other.fingerprint not in spec.fingerprints}


SPEC_COLUMNS = "name, method, model, prompt, prompt_hash, parameters, kinds, max_rating"
"""The columns of the table `graders` that identify one, in the order in which `stored_spec` takes them."""


def stored_spec(row: Sequence[Any]) -> GraderSpec:
    """What identifies a grader, from a row of `SPEC_COLUMNS`."""
    name, method, model, prompt, prompt_hash, parameters, kinds, max_rating = row
    return GraderSpec(
        name, method, model, prompt, prompt_hash, json.loads(parameters), tuple(json.loads(kinds)), max_rating
    )


def _specs(project: Project) -> list[GraderSpec]:
    """The graders that have graded."""
    return [stored_spec(row) for row in project.rows(f"SELECT {SPEC_COLUMNS} FROM graders ORDER BY grader_key")]


def _find(project: Project, name: str) -> NamedGrader:
    known = {named.name: named for named in named_graders(project)}
    if name not in known:
        raise unknown_name(
            "unknown-grader",
            "saved grader",
            name,
            known,
            "" if known else "Save one on the Grading screen or with exam graders add.",
        )
    return known[name]
