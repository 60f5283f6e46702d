"""Who writes answers, and who compares them by reading: models with their prompts, each known by a fingerprint."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ..errors import InputError, unknown_name
from .project import Cursor, Project, as_name, log
from .queries import check_new

Role = Literal["generator", "judge"]

_TABLES: dict[Role, tuple[str, str]] = {
    "generator": ("generators", "generator_key"),
    "judge": ("answer_judges", "judge_key"),
}
_CALLED: dict[Role, tuple[str, str]] = {
    "generator": ("answer generator", "Generate answers first: exam answers generate."),
    "judge": ("answer check", "Check answers first: exam reteval compare."),
}
"""What messages call a role, and what to do if the project has none."""


@dataclass(frozen=True)
class AnswerModel:
    """A model with a prompt that writes answers or compares them, or a rule without one.

    Args:
        name: what people call it; no part of the fingerprint.
        fingerprint: of all that changes what it writes, but for temperature and draw, which its answers have.
        model: name of the model, or what stands for one.
        prompt, prompt_hash: of its prompt; empty where it has none.
        parameters: all from which it can be made again; empty for one that worked elsewhere.
        key: its key in the project; 0 before it has one.
    """

    name: str
    fingerprint: str
    model: str = ""
    prompt: str = ""
    prompt_hash: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    key: int = 0

    @property
    def from_elsewhere(self) -> bool:
        """Whether its answers came with a file, so that it cannot be asked here."""
        return not self.parameters


def put_answer_model(cursor: Cursor, role: Role, model: AnswerModel, author: str) -> int:
    """The key of a generator or judge, which is added where its fingerprint is new.

    Raises:
        InputError: another one has the name, or the name has control characters.
    """
    table, column = _TABLES[role]
    known = cursor.execute(
        f"SELECT {column}, fingerprint FROM {table} WHERE fingerprint = ? OR name = ?", [model.fingerprint, model.name]
    ).fetchall()
    key = next((key for key, fingerprint in known if fingerprint == model.fingerprint), None)
    if key is None:
        if known:
            raise InputError("name-taken", f"Another {_CALLED[role][0]} is named '{model.name}'.", "Use another name.")
        check_new(cursor, _CALLED[role][0], [model.name])
        parameters = json.dumps(dict(model.parameters), ensure_ascii=False, sort_keys=True)
        key = cursor.execute(
            f"INSERT INTO {table} VALUES (nextval('keys'), ?, ?, ?, ?, ?, ?, ?, now()::TIMESTAMP) RETURNING {column}",
            [model.fingerprint, model.name, model.model, model.prompt, model.prompt_hash, parameters, as_name(author)],
        ).fetchall()[0][0]
        log(cursor, author, f"add answer {role}", name=model.name)
    return int(key)


def answer_models(project: Project, role: Role) -> list[AnswerModel]:
    """Every generator or judge, in the order in which they were added."""
    return project.read(lambda cursor: answer_models_of(cursor, role))


def answer_models_of(cursor: Cursor, role: Role) -> list[AnswerModel]:
    """The same, within a transaction."""
    table, column = _TABLES[role]
    return [
        AnswerModel(name, fingerprint, model, prompt, prompt_hash, json.loads(parameters), key)
        for key, fingerprint, name, model, prompt, prompt_hash, parameters in cursor.execute(
            f"SELECT {column}, fingerprint, name, model, prompt, prompt_hash, parameters FROM {table} ORDER BY {column}"
        ).fetchall()
    ]


def find_answer_model(project: Project, role: Role, name: str | None = None) -> AnswerModel:
    """The generator or judge of a name or fingerprint; for None the one that was added last.

    Raises:
        InputError: there is none.
    """
    every = answer_models(project, role)
    if name is None and every:
        return every[-1]
    for model in every:
        if name in (model.name, model.fingerprint):
            return model
    kind, fix = _CALLED[role]
    if not every:
        raise InputError("no-answer-model", f"The project has no {kind} yet.", fix)
    raise unknown_name("unknown-answer-model", kind, name, [one.name for one in every])
