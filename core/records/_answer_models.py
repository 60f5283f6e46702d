"""Answer generators and answer checks: a model with its prompt or a rule, identified by a fingerprint."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ..errors import InputError, unknown_name
from ..store import Cursor, Project, as_name, log
from ._queries import check_new

Role = Literal["generator", "judge"]

_TABLES: dict[Role, tuple[str, str]] = {
    "generator": ("generators", "generator_key"),
    "judge": ("answer_judges", "judge_key"),
}
_CALLED: dict[Role, tuple[str, str]] = {
    "generator": ("answer generator", "Generate answers first: exam answers generate."),
    "judge": ("answer check", "Check answers first: exam reteval compare."),
}
"""The name of each role in messages, and the fix if the project does not have it."""


@dataclass(frozen=True)
class AnswerModel:
    """A model with a prompt that writes or checks answers, or a rule without a model.

    Args:
        name: shown to people; not part of the fingerprint.
        fingerprint: hash of all settings that change its output. Temperature and draw are stored with each answer
            instead.
        model: name of the model, or of the rule.
        prompt, prompt_hash: its prompt and the hash of it; empty without a prompt.
        parameters: the settings from which it can be built again; empty for a model that was used elsewhere.
        key: its key in the project; 0 before it is stored.
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
        """Whether its answers came from a file, so that it cannot be called here."""
        return not self.parameters


def put_answer_model(cursor: Cursor, role: Role, model: AnswerModel, author: str) -> int:
    """Return the key of an answer generator or answer check; add it if its fingerprint is new.

    Raises:
        InputError: another model has this name, or the name has control characters.
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
    """Return every answer generator, or every answer check, in the order in which they were added."""
    return project.read(lambda cursor: answer_models_of(cursor, role))


def answer_models_of(cursor: Cursor, role: Role) -> list[AnswerModel]:
    """Return the same as `answer_models` within a transaction."""
    table, column = _TABLES[role]
    return [
        AnswerModel(name, fingerprint, model, prompt, prompt_hash, json.loads(parameters), key)
        for key, fingerprint, name, model, prompt, prompt_hash, parameters in cursor.execute(
            f"SELECT {column}, fingerprint, name, model, prompt, prompt_hash, parameters FROM {table} ORDER BY {column}"
        ).fetchall()
    ]


def find_answer_model(project: Project, role: Role, name: str | None = None) -> AnswerModel:
    """Return the answer generator or answer check with a name or fingerprint; None selects the last added.

    Raises:
        InputError: no answer generator or answer check matches.
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
