"""Examinees: a model with the prompts of the exam or a rule, with a kind of context; made ready for
an exam.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from string import ascii_uppercase
from typing import Any

from ..choices import (
    CHOICE_NORMALISATION,
    EXAMINEE_RULES,
    NORMALISATIONS,
    ExamineeRule,
    LikelihoodPer,
)
from ..errors import GradingError, InputError, check_in_range, check_known
from ..graders import (
    BackEnd,
    Example,
    Prompt,
    ReadingGrader,
    back_end_name,
    bare_choices,
    fill_prompt,
    make_grader,
    short_model_name,
)
from ..records import (
    CLOSED_BOOK,
    NOT_RETRIEVED,
    ORACLE,
    Student,
    find_students,
    fingerprint_of,
    put_student,
)
from ..store import Project
from ..text import how_many
from ._exam_items import Context, Task, list_tasks
from ._item_retrievals import list_retrievals

_SOURCE = (
    "Guinet et al., Automated Evaluation of Retrieval-Augmented Language Models (ICML 2024), the"
    " authors' harness"
)
_QUESTION = "{question}%s\n\nCandidates:\n{choices}"
_BEGINS, _ENDS = "###Human: Question: ", "\n\n###Assistant: Correct answer"
RETRIEVED = "retrieved"
_CONTEXT = {
    CLOSED_BOOK: "",
    ORACLE: "\n\nContext:{context}",
    RETRIEVED: "\nRetrieved Documents:\n{context}",
}


def _make_prompt(name: str, title: str) -> Prompt:
    template = f"{_BEGINS}{_QUESTION % _CONTEXT[name]}{_ENDS}"
    return Prompt(f"exam-{name}", title, "choice", template, "letter", _SOURCE, 1, ("choice",))


PROMPTS = {
    CLOSED_BOOK: _make_prompt(CLOSED_BOOK, "Exam, closed book"),
    ORACLE: _make_prompt(ORACLE, "Exam, with the source passage of the item"),
    RETRIEVED: _make_prompt(RETRIEVED, "Exam, with retrieved passages"),
}
"""By the kind of context."""

WORKED = f"{_BEGINS}{{question}}{_ENDS} {{answer}}"
"""A worked item: in the form of the question, followed by the right choice."""


def letter_choices(choices: Sequence[str]) -> tuple[str, ...]:
    """Return the choices as they are shown and scored, such as "A) clay"; their original letters
    are removed.
    """
    return tuple(
        f"{letter}) {text}"
        for letter, text in zip(ascii_uppercase, bare_choices(choices), strict=False)
    )


def prompt_values(task: Task, context: Sequence[str]) -> dict[str, str]:
    """Return the values of the prompts' variables; several passages are on lines of their own."""
    return {
        "question": task.text,
        "choices": "\n".join(letter_choices(task.choices)),
        "context": "\n".join(context),
    }


def with_worked(prompt: Prompt, worked: Sequence[tuple[Task, Context]]) -> Prompt:
    """Return a prompt with worked items before the question, each with its own context (ICL@m)."""
    if not worked:
        return prompt
    examples = tuple(
        Example(
            _show_worked_item(prompt, task, context), "", letter_choices(task.choices)[task.key]
        )
        for task, context in worked
    )
    return replace(
        prompt, template="{examples}\n\n" + prompt.template, example=WORKED, examples=examples
    )


def _show_worked_item(prompt: Prompt, task: Task, context: Sequence[str]) -> str:
    """Return the question of a worked item with its context and choices; without a context as in a
    closed book.
    """
    of = prompt if context else PROMPTS[CLOSED_BOOK]
    shape = of.template.removeprefix(_BEGINS).removesuffix(_ENDS)
    return fill_prompt(replace(of, template=shape), prompt_values(task, context)).user


READING_RULES: tuple[ExamineeRule, ...] = ("overlap", "embedding")
"""Rules that read their context."""


@dataclass(frozen=True)
class Plan:
    """The settings of an examinee.

    Args:
        by: likelihood, letter, or an item of `EXAMINEE_RULES`.
        settings: of the model, as for a grader: model, back_end, base_url, revision, device, dtype,
            normalise and so on.
        retrieval: closed-book, oracle, or the name of a retrieval.
        k: passages of the retrieval (the authors' code: 1).
        icl: worked items before the question.
        seed: of the choice of worked items, and of chance.
        name: its name for people; None for a name made of the settings.
        factors: further components by which examinees are compared.
    """

    by: str | None = None
    settings: Mapping[str, Any] | None = None
    retrieval: str = CLOSED_BOOK
    k: int = 1
    icl: int = 0
    seed: int = 0
    name: str | None = None
    factors: Mapping[str, str] | None = None


def add_student(project: Project, plan: Plan, author: str) -> Student:
    """Add an examinee that can take exams here; if one of the same fingerprint exists, return that.

    Raises:
        InputError: a setting is invalid, the retrieval is unknown, there are too few items to
            choose worked ones from, or another examinee has the name.
    """
    student = make_student(project, plan)
    with project.transaction() as cursor:
        key = put_student(cursor, student, author)
    return next(one for one in find_students(project, None) if one.key == key)


def make_student(project: Project, plan: Plan) -> Student:
    """Return an examinee as `add_student` adds it; nothing is written, and no model is loaded.

    Raises:
        InputError: as for `add_student`.
    """
    _check_plan(project, plan)
    k = plan.k if plan.retrieval not in NOT_RETRIEVED else None
    worked = _draw_worked_items(project, plan)
    settings = {
        name: value for name, value in (plan.settings or {}).items() if value not in (None, "")
    }
    parameters: dict[str, Any]
    if plan.by in EXAMINEE_RULES:
        model, parameters = (
            EXAMINEE_RULES[plan.by],
            {"by": plan.by, "seed": plan.seed} if plan.by == "random" else {"by": plan.by},
        )
    else:
        spec = _make_reader(settings | ({"by": plan.by} if plan.by else {}), plan.retrieval).spec
        model, parameters = spec.model, settings | {"by": spec.parameters["by"]}
        if spec.parameters["back_end"] != "openai":
            # Fixed because the default depends on the computer, which would make it another
            # examinee.
            parameters["dtype"] = spec.parameters.get("dtype", "float32")
        if worked:
            parameters["worked"] = worked
    how = f"{plan.retrieval}@{k}" if k is not None else plan.retrieval
    return Student(
        plan.name or f"{short_model_name(model)} {how}" + (f" ICL@{plan.icl}" if plan.icl else ""),
        _examinee_fingerprint(parameters, plan.retrieval, k),
        model,
        plan.retrieval,
        k,
        plan.icl,
        parameters,
        dict(plan.factors or {}),
    )


def _examinee_fingerprint(parameters: Mapping[str, Any], retrieval: str, k: int | None) -> str:
    """Return the fingerprint of all that changes answers: model, dtype, prompt, worked items,
    normalisation, context."""
    if parameters["by"] in EXAMINEE_RULES:
        return fingerprint_of(["student", dict(parameters), retrieval, k])
    worked = parameters.get("worked", [])
    spec = _make_reader(_model_settings(parameters), retrieval).spec
    identity = [
        spec.model,
        spec.prompt,
        spec.prompt_hash,
        spec.parameters,
        worked and WORKED,
        worked,
    ]
    return fingerprint_of(["student", *identity, retrieval, k])


def _model_settings(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if name != "worked"}


def _check_plan(project: Project, plan: Plan) -> None:
    retrieval_names = [one.name for one in list_retrievals(project)]
    check_known(
        "unknown-retrieval",
        "retrieval",
        [*NOT_RETRIEVED, *retrieval_names],
        plan.retrieval,
        hint="Add one: exam examinees retrieve.",
    )
    check_in_range(
        "parameter-out-of-range",
        f"k {plan.k} or icl {plan.icl}",
        "Use k from 1 and icl from 0.",
        plan.k >= 1 and plan.icl >= 0,
    )
    if plan.by in EXAMINEE_RULES:
        if plan.settings and any(value not in (None, "") for value in plan.settings.values()):
            raise InputError(
                "settings-for-a-rule",
                f"Rule {plan.by} has no model settings.",
                "Remove the model settings.",
            )
        if plan.icl or (plan.by not in READING_RULES and plan.retrieval != CLOSED_BOOK):
            raise InputError(
                "settings-for-a-rule",
                f"Rule {plan.by} does not use {'worked examples' if plan.icl else 'context'}.",
                "Remove this setting, or name a model.",
            )


def _draw_worked_items(project: Project, plan: Plan) -> list[str]:
    """Return the ids of the worked items: one more than are shown, in case the asked item is among
    them.
    """
    if not plan.icl:
        return []
    ids = sorted(task.question_id for task in list_tasks(project))
    if len(ids) <= plan.icl:
        raise InputError(
            "too-few-items",
            f"{how_many(plan.icl, 'worked examples')} per question need more than"
            f" {how_many(len(ids), 'items')}.",
            "Import more items, or use a lower icl.",
        )
    return random.Random(plan.seed).sample(ids, plan.icl + 1)


def _make_reader(settings: Mapping[str, Any], retrieval: str) -> ReadingGrader:
    """Return the grader with the examinee's settings, model and identity. The examinee's own steps
    ask it.

    Raises:
        InputError: a setting is invalid.
    """
    if strange := {"fence", "cue", "prompt", "num_beams"} & settings.keys():
        raise InputError(
            "unknown-parameter",
            f"Examinees have no parameter {min(strange)}.",
            "Remove it. The prompt of an exam is fixed.",
        )
    prompt = PROMPTS[retrieval if retrieval in NOT_RETRIEVED else RETRIEVED]
    where = back_end_name(settings)
    reader_settings = {"by": "letter" if where == "openai" else "likelihood"} | dict(settings)
    if reader_settings["by"] == "likelihood":
        reader_settings = {"normalise": CHOICE_NORMALISATION} | reader_settings
    if where == "openai" and reader_settings["by"] == "likelihood":
        raise InputError(
            "no-likelihoods-at-endpoint",
            "Endpoints return no likelihoods of choices.",
            "Use by=letter.",
        )
    reader = make_grader(
        "choice",
        reader_settings | {"prompt": prompt.name, "fence": False, "cue": "none"},
        {prompt.name: prompt},
    )
    assert isinstance(reader, ReadingGrader)
    return reader


@dataclass(frozen=True)
class ReadyExaminee:
    """An examinee that can be asked.

    Args:
        student: its identity.
        prompt: for the question, with a place for the context if it has one.
        back_end: the model; None for a rule.
        by: likelihood, letter, or a rule.
        per: the divisor of a log-likelihood.
    """

    student: Student
    prompt: Prompt
    back_end: BackEnd | None
    by: str
    per: LikelihoodPer


def get_ready(student: Student) -> ReadyExaminee:
    """Return an examinee ready for an exam; its model is loaded at the first question.

    Raises:
        InputError: its answers were imported, or it cannot be made here any more.
        GradingError: its model changed since it was added.
    """
    retrieval = student.retrieval or CLOSED_BOOK
    if student.sat_elsewhere:
        raise InputError(
            "answers-from-a-file",
            f"The answers of examinee '{student.name}' were imported, so it cannot be asked.",
            "Add another examinee: exam examinees add.",
        )
    prompt = PROMPTS[retrieval if retrieval in NOT_RETRIEVED else RETRIEVED]
    by = student.parameters["by"]
    if by in EXAMINEE_RULES:
        return ReadyExaminee(student, prompt, None, by, "none")
    if _examinee_fingerprint(student.parameters, retrieval, student.k) != student.fingerprint:
        raise GradingError(
            "model-changed",
            f"The model of examinee '{student.name}' has changed since it was added.",
            "Add it again under another name.",
        )
    settings = _model_settings(student.parameters)
    per = {name: name for name in NORMALISATIONS}[settings.get("normalise", CHOICE_NORMALISATION)]
    return ReadyExaminee(student, prompt, _make_reader(settings, retrieval).back_end, by, per)
