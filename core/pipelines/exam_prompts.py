"""The exam prompts of the method's authors, word for word, and worked items before the question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from string import ascii_uppercase

from ..graders import Example, Prompt, bare_choices, fill
from ..project import CLOSED_BOOK, ORACLE
from .tasks import Task

_SOURCE = "Guinet et al., Automated Evaluation of Retrieval-Augmented Language Models (ICML 2024), the authors' harness"
_QUESTION = "{question}%s\n\nCandidates:\n{choices}"
_BEGINS, _ENDS = "###Human: Question: ", "\n\n###Assistant: Correct answer"
RETRIEVED = "retrieved"
_CONTEXT = {CLOSED_BOOK: "", ORACLE: "\n\nContext:{context}", RETRIEVED: "\nRetrieved Documents:\n{context}"}


def _prompt(name: str, title: str) -> Prompt:
    template = f"{_BEGINS}{_QUESTION % _CONTEXT[name]}{_ENDS}"
    return Prompt(f"exam-{name}", title, "choice", template, "letter", _SOURCE, 1, ("choice",))


PROMPTS = {
    CLOSED_BOOK: _prompt(CLOSED_BOOK, "Exam, closed book"),
    ORACLE: _prompt(ORACLE, "Exam, with the source passage of the item"),
    RETRIEVED: _prompt(RETRIEVED, "Exam, with retrieved passages"),
}
"""By the kind of context."""

WORKED = f"{_BEGINS}{{question}}{_ENDS} {{answer}}"
"""A worked item: in the form of the question, followed by the right choice."""


Worked = tuple[Task, tuple[str, ...]]
"""A worked item with its texts."""


def lettered(choices: Sequence[str]) -> tuple[str, ...]:
    """Return the choices as they are shown and scored, such as "A) clay"; their original letters are removed."""
    return tuple(f"{letter}) {text}" for letter, text in zip(ascii_uppercase, bare_choices(choices), strict=False))


def values(task: Task, context: Sequence[str]) -> dict[str, str]:
    """Return the values of the prompts' variables; several passages are on lines of their own."""
    return {"question": task.text, "choices": "\n".join(lettered(task.choices)), "context": "\n".join(context)}


def with_worked(prompt: Prompt, worked: Sequence[Worked]) -> Prompt:
    """Return a prompt with worked items before the question, each with its own context (ICL@m)."""
    if not worked:
        return prompt
    examples = tuple(
        Example(_shown(prompt, task, context), "", lettered(task.choices)[task.key]) for task, context in worked
    )
    template = "{examples}\n\n" + prompt.template
    return replace(prompt, template=template, example=WORKED, examples=examples)


def _shown(prompt: Prompt, task: Task, context: Sequence[str]) -> str:
    """Return the question of a worked item with its context and choices; without a context as in a closed book."""
    of = prompt if context else PROMPTS[CLOSED_BOOK]
    shape = of.template.removeprefix(_BEGINS).removesuffix(_ENDS)
    return fill(replace(of, template=shape), values(task, context)).user
