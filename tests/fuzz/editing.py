"""What people write on screens and in scripts: questions, weights, notes and reasons, through core's own functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from core import bank, labels
from core.bank import editing
from core.errors import WorkbenchError
from core.project import Project, judging
from core.types import Asked, Question
from tests.fuzz import mutations, oracles
from tests.fuzz.bench import AUTHOR, READS_KEYS, Bench
from tests.fuzz.inputs import Input

DEEP = 40
WEIGHTS = (0, 1, -1, 0.5, 1e-320, 1e16, 1e308, -1e308, "nan", "inf", "-inf", 2**62)
QUESTION = "q0/x0"


def _changed(project: Project, given: dict[str, Any]) -> Question:
    question = next(q for q in bank.questions(project) if q.question_id == QUESTION)
    fields = dict(given["fields"])
    if "weight" in fields:
        fields["weight"] = float(fields["weight"])
    if "choices" in fields:
        fields["choices"] = tuple(fields["choices"])
    return replace(question, **fields)


def _save(project: Project, given: dict[str, Any]) -> None:
    bank.save(project, [_changed(project, given)], given["text"], AUTHOR)


def _draft(project: Project, given: dict[str, Any]) -> None:
    bank.put_drafts(project, AUTHOR, [_changed(project, given)])


def _paste(project: Project, given: dict[str, Any]) -> None:
    questions, _ = editing.pasted("q1", given["text"])
    bank.save(project, questions, "pasted", AUTHOR)


def _split(project: Project, given: dict[str, Any]) -> None:
    parts = editing.split(_changed(project, given), given["text"].splitlines())
    bank.save(project, parts, "split", AUTHOR)


def _merge(project: Project, given: dict[str, Any]) -> None:
    mine = [question for question in bank.questions(project) if question.query_id == "q0"]
    bank.save(project, editing.merged([_changed(project, given), *mine[1:]], given["text"]), "merged", AUTHOR)


def _override(project: Project, given: dict[str, Any]) -> None:
    labels.override(project, QUESTION, "p1", given["number"], given["text"], given["author"])


def _judge(project: Project, given: dict[str, Any]) -> None:
    judging.judge(project, "q0", "p1", given["number"], given["author"], given["text"])


ACTS: dict[str, Callable[[Project, dict[str, Any]], None]] = {
    "save": _save,
    "draft": _draft,
    "paste": _paste,
    "split": _split,
    "merge": _merge,
    "override": _override,
    "judge": _judge,
}


def an_edit(random: Random) -> Input:
    """An act with hostile texts and numbers."""

    def text() -> str:
        # A shell hands half characters on; no screen does.
        return random.choice((mutations.a_text(random), "Why?", mutations.LONE if random.random() < 0.1 else "What?"))

    fields: dict[str, Any] = {
        "text": text(),
        "weight": random.choice(WEIGHTS),
        "answer_key": text() or None,
        "choices": [text() for _ in range(random.randint(0, 3))],
        "kind": random.choice(("question", "nugget", "choice", mutations.a_text(random))),
        "subtopic_id": text() or None,
        "note": text(),
        "query_id": random.choice(("q0", mutations.a_text(random))),
    }
    chosen = {name: fields[name] for name in fields if random.random() < 0.25}
    given = {
        "act": random.choice(tuple(ACTS)),
        "fields": chosen,
        "text": "\n".join(text() for _ in range(random.randint(1, 3))),
        "number": random.choice((0, 1, 3, 5, 6, -1, 2**40)),
        "author": random.choice((AUTHOR, text())),
        "deep": random.randrange(DEEP) == 0,
    }
    return Input("editing", (), given)


def edit(bench: Bench, sent: Input) -> bool:
    """Do it, and look what must hold; whether it was accepted."""
    act = ACTS[sent.given["act"]]
    try:
        act(bench.rehearsal, sent.given)
        oracles.sound(bench.rehearsal)
        _asked_as_written(bench.rehearsal)
    except WorkbenchError as error:
        oracles.refused_well(error)
        return False
    finally:
        bench.rehearsal.undo()
    if sent.given["deep"]:
        with bench.copy() as project:
            act(project, sent.given)
            if sent.given["act"] == "draft":
                _save_drafts(project)
            oracles.goes_out(project)
            oracles.comes_again(project)
    return True


def _save_drafts(project: Project) -> None:
    try:
        bank.save_drafts(project, AUTHOR)
    except WorkbenchError as error:
        oracles.refused_well(error)


def _asked_as_written(project: Project) -> None:
    """What a grader is asked can be taken apart into what the bank has; every weight is one to reckon with."""
    for question in bank.questions(project):
        asked = READS_KEYS.asked_text(question)
        if asked is not None and Asked.read(asked, READS_KEYS.reads) != Asked(
            (question.text or "").strip(), question.answer_key or "", question.choices
        ):
            raise oracles.Broken("a grader is asked something else than the bank says", asked)
        if not math.isfinite(question.weight):
            raise oracles.Broken("a number is not finite", question)
