"""Items of exams as examinees are asked them, question sheets, progress, and the matrix of right
and wrong answers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..bank import (
    ItemFacts,
    check_version,
    find_question,
    item_facts,
    list_drafts,
    list_proposals,
    list_questions,
    put_drafts,
    retire_questions,
)
from ..errors import InputError
from ..formats import ExamItem, exam_files, write_matrix
from ..graders import bare_choices, key_position
from ..grouping import group_pairs
from ..measures import Array
from ..records import (
    CLOSED_BOOK,
    ELSEWHERE,
    ORACLE,
    Student,
    answer_outcomes,
    find_students,
    passage_texts,
    read_retrieval,
)
from ..store import Project
from ..text import written_text
from ..types import GraderInput, Question


@dataclass(frozen=True)
class Item:
    """A multiple-choice question of an exam, as examinees are asked it.

    Args:
        question_id: of the question in the bank; for a proposal, its future id.
        choices: without letters, in the order in which they are shown.
        key: the text of the right choice; None if the answer key is not a choice, so that the item
            cannot be used.
        topic: its subject; None if unknown.
        source_passage_id, source_text: the passage that it was written from, which an oracle reads,
            and its text; each None if unknown.
        active: whether it counts; a retired item stays in the bank.
        raw: the model's reply, if a model wrote it.
        shuffle_seed: the seed of the order of its choices.
        proposal_key: of a proposed item; None in the bank.
    """

    question_id: str
    query_id: str
    text: str
    choices: tuple[str, ...]
    key: str | None
    topic: str | None = None
    source_passage_id: str | None = None
    source_text: str | None = None
    active: bool = True
    weight: float = 1.0
    raw: str | None = None
    shuffle_seed: int | None = None
    proposal_key: int | None = None

    @property
    def key_position(self) -> int | None:
        """Position of the right choice, from 0; None without a key."""
        return None if self.key is None else self.choices.index(self.key)

    @property
    def discriminators(self) -> tuple[str, ...]:
        """The choices other than the right one, in their order; all of them without a key."""
        at = self.key_position
        return tuple(choice for place, choice in enumerate(self.choices) if place != at)


def exam_items(
    project: Project, query_id: str | None = None, version: int | None = None
) -> list[Item]:
    """Return the multiple-choice questions of the bank as items, active or not, in their order.

    Source and topic are always the current ones: they describe the origin of an item and are not
    part of its text.

    Args:
        query_id: only those of this query; None for all.
        version: bank version; None for the newest.

    Raises:
        InputError: the version is unknown.
    """
    choice_questions = [
        q
        for q in list_questions(project, version, query_id)
        if q.kind == "choice" and (q.text or "").strip()
    ]
    facts = item_facts(project, query_id)
    texts = passage_texts(
        project, [one.source_passage_id for one in facts.values() if one.source_passage_id]
    )
    return [
        _make_item(question, facts.get(question.question_id, ItemFacts()), texts)
        for question in choice_questions
    ]


def proposed_items(project: Project, query_id: str | None = None) -> list[Item]:
    """Return the open items that models drafted, in the order in which they came, with the keys of
    their proposals.

    Args:
        query_id: only those of this query; None for all.
    """
    every = list_proposals(project, query_id)
    texts = passage_texts(
        project,
        [proposal.passage_id for proposal in every if proposal.item and proposal.passage_id],
    )
    return [
        Item(
            drafted.question_id,
            proposal.query_id,
            proposal.text,
            drafted.choices,
            drafted.answer_key,
            drafted.topic,
            proposal.passage_id,
            texts.get(proposal.passage_id or ""),
            shuffle_seed=drafted.shuffle_seed,
            proposal_key=proposal.key,
        )
        for proposal in every
        if (drafted := proposal.item) is not None
    ]


def retire_exam_items(project: Project, question_ids: Sequence[str], author: str) -> list[Question]:
    """Retire items in a person's drafts, in one step that can be undone. The bank changes when the
    drafts are saved.

    Returns:
        The questions as the drafts have them now.

    Raises:
        InputError: an id is not that of an item in the bank.
    """
    known = {q.question_id for q in list_questions(project) if q.kind == "choice"}
    for key in question_ids:
        if key not in known:
            raise InputError(
                "unknown-item", f"Unknown item '{key}'.", "List the items with exam items list."
            )
    gone = retire_questions(
        [find_question(project, author, key) for key in dict.fromkeys(question_ids)]
    )
    put_drafts(project, author, gone)
    return gone


def retired_in_drafts(project: Project, author: str) -> set[str]:
    """Return the ids of the items that a person has retired in unsaved drafts."""
    return {
        key
        for key, draft in list_drafts(project, author).items()
        if draft.question.kind == "choice" and not draft.question.active
    }


def _make_item(question: Question, facts: ItemFacts, texts: dict[str, str]) -> Item:
    choices = tuple(bare_choices(question.choices))
    at = key_position(GraderInput(question.text or "", question.answer_key or "", question.choices))
    return Item(
        question.question_id,
        question.query_id,
        question.text or "",
        choices,
        choices[at] if isinstance(at, int) else None,
        facts.topic,
        facts.source_passage_id,
        texts.get(facts.source_passage_id or ""),
        question.active,
        question.weight,
        facts.raw,
        facts.shuffle_seed,
    )


@dataclass(frozen=True)
class Task:
    """An item that can be asked.

    Args:
        question_id: of the bank.
        text: the question.
        choices: without letters, in the order in which they are shown.
        key: position of the right one, from 0.
        asked: question, key and choices in one text, whose key in the project answers refer to.
        topic: its subject; None if unknown.
        source: the passage that it was made from; None if unknown.
    """

    question_id: str
    text: str
    choices: tuple[str, ...]
    key: int
    asked: str
    topic: str | None = None
    source: str | None = None


Context = tuple[str, ...]
"""The texts that an examinee gets for an item, the best first; empty for a closed book."""


def list_tasks(
    project: Project,
    query_id: str | None = None,
    version: int | None = None,
) -> list[Task]:
    """Return the active items that can be asked, in the order of the bank; those without a key
    among their choices cannot.

    Args:
        query_id: only those of this query; None for all.
        version: bank version; None for the newest.

    Raises:
        InputError: the version is unknown.
    """
    return [
        task
        for item in exam_items(project, query_id, version)
        if item.active and (task := _make_task(item))
    ]


def tasks_named(project: Project, question_ids: Sequence[str]) -> list[Task]:
    """Return the named items that can be asked, in the given order. Retired items are included,
    because worked items stay fixed."""
    known = {item.question_id: item for item in exam_items(project)} if question_ids else {}
    return [task for name in question_ids if name in known and (task := _make_task(known[name]))]


def _make_task(item: Item) -> Task | None:
    key = item.key_position
    if item.key is None or key is None:
        return None
    asked = GraderInput(item.text.strip(), item.key, item.choices).written
    return Task(item.question_id, item.text, item.choices, key, asked, item.topic, item.source_text)


def asked_text(question: Question) -> str | None:
    """Return question, key and choices in one text, to which answers refer; None if it cannot be
    asked.
    """
    item = _make_item(question, ItemFacts(), {})
    task = _make_task(item) if item.text.strip() else None
    return None if task is None else task.asked


def item_contexts(
    project: Project, retrieval: str | None, k: int | None, tasks: Sequence[Task]
) -> dict[str, Context | None]:
    """Return the texts that go with each item, by question id; None if texts are required but
    missing.

    Args:
        retrieval: closed-book, oracle, or the name of a retrieval.
        k: passages of a retrieval.
    """
    if retrieval == CLOSED_BOOK:
        return {task.question_id: () for task in tasks}
    if retrieval == ORACLE:
        return {task.question_id: (task.source,) if task.source else None for task in tasks}
    rows = project.rows(
        "SELECT question_id, x.text FROM retrieved JOIN retrievals USING (retrieval_key)"
        " JOIN questions USING (question_key) JOIN passages USING (passage_key)"
        " JOIN passage_texts x USING (text_key)"
        " WHERE name = ? AND rank <= ? ORDER BY question_key, rank",
        [retrieval, k or 1],
    )
    found: dict[str, list[str]] = group_pairs(rows)
    return {
        task.question_id: tuple(found[task.question_id]) if task.question_id in found else None
        for task in tasks
    }


def digest_of(context: Context, worked: Sequence[tuple[Task, Context]]) -> str:
    """Return a digest of everything that an examinee reads in addition to the item (BLAKE2b, 16
    bytes in hex).
    """
    seen = [list(context), [[task.asked, list(texts)] for task, texts in worked]]
    written = json.dumps(seen, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(written, digest_size=16).hexdigest()


def text_keys(project: Project, texts: Sequence[str]) -> Mapping[str, int]:
    """Return the key of each text that was ever asked, by text."""
    return dict(
        project.rows(
            "SELECT text, text_key FROM question_texts WHERE list_contains(?, text)", [list(texts)]
        )
    )


@dataclass(frozen=True)
class PosedItem:
    """One item in the form in which an examinee gets it.

    Args:
        texts: its context.
        worked: the worked items before it, with their contexts.
        context: digest of everything that is read in addition to the item.
    """

    task: Task
    texts: Context
    worked: Sequence[tuple[Task, Context]]
    context: str


@dataclass(frozen=True)
class ExamSheet:
    """All questions of an exam for an examinee.

    Args:
        lines: in the order of the bank.
        without_context: items that cannot be asked, because their passages are missing.
    """

    lines: list[PosedItem]
    without_context: list[Task]


def make_sheet(project: Project, student: Student, tasks: Sequence[Task]) -> ExamSheet:
    """Return an examinee's sheet for some items."""
    if student.sat_elsewhere:
        return ExamSheet([PosedItem(task, (), (), ELSEWHERE) for task in tasks], [])
    worked = tasks_named(project, student.parameters.get("worked", []))
    texts = item_contexts(project, student.retrieval, student.k, [*tasks, *worked])
    examples = [(task, texts[task.question_id] or ()) for task in worked]
    lines, without = [], []
    for task in tasks:
        context = texts[task.question_id]
        if context is None:
            without.append(task)
            continue
        others = [one for one in examples if one[0].question_id != task.question_id][
            : student.icl or 0
        ]
        lines.append(PosedItem(task, context, others, digest_of(context, others)))
    return ExamSheet(lines, without)


def sheet_outcomes(
    student: Student,
    sheet: ExamSheet,
    known: Mapping[tuple[int, int, str], bool | None],
    keys: Mapping[str, int],
) -> dict[str, bool | None]:
    """Return whether an examinee was right, by id of the items that it was asked; None for a
    failure.

    Args:
        known: see `records.answer_outcomes`.
        keys: see `text_keys`.
    """
    places = {
        line.task.question_id: (student.key, keys.get(line.task.asked, 0), line.context)
        for line in sheet.lines
    }
    return {item: known[place] for item, place in places.items() if place in known}


@dataclass(frozen=True)
class ExamProgress:
    """The progress of an examinee in an exam, in items.

    Args:
        items: to be asked.
        answered: right or wrong; `right` of these.
        failed: asked without a usable answer.
        without_context: items that cannot be asked.
    """

    items: int
    answered: int
    right: int
    failed: int
    without_context: int

    @property
    def missing(self) -> int:
        """Items that were not asked yet but can be."""
        return self.items - self.answered - self.failed - self.without_context


def examinee_standing(
    project: Project, student: Student, query_id: str | None = None
) -> ExamProgress:
    """Return the progress of an examinee in the newest version of an exam.

    Args:
        query_id: only items of this query; None for all.
    """
    tasks = list_tasks(project, query_id)
    whole = make_sheet(project, student, tasks)
    keys = text_keys(project, [task.asked for task in tasks])
    answers = sheet_outcomes(student, whole, answer_outcomes(project), keys).values()
    answered = [correct for correct in answers if correct is not None]
    return ExamProgress(
        len(tasks),
        len(answered),
        sum(answered),
        len(answers) - len(answered),
        len(whole.without_context),
    )


UNSTATED = "not stated"
"""The level of a factor for an examinee without a stated one."""


@dataclass(frozen=True)
class Responses:
    """The answers of m examinees to n items that count now: to the current wording, key and
    contexts.

    Args:
        students: the examinees, in the order in which they were added, or were named.
        items: question ids, in the order of the bank, or as they were named.
        topics: of the items; None if unknown.
        correct: m x n, 1 right, 0 wrong, NaN if the item was not asked or failed.
        failed: m x n, whether the item was asked without a usable answer.
    """

    students: list[Student]
    items: list[str]
    topics: list[str | None]
    correct: Array
    failed: NDArray[np.bool_]

    @property
    def names(self) -> list[str]:
        """The names of the examinees."""
        return [student.name for student in self.students]

    @property
    def factors(self) -> dict[str, list[str]]:
        """The level of each examinee by factor, for every factor that an examinee has."""
        names = dict.fromkeys(name for student in self.students for name in student.factors)
        return {
            name: [student.factors.get(name, UNSTATED) for student in self.students]
            for name in names
        }


def examinee_responses(
    project: Project,
    students: Sequence[str] | None = None,
    query_id: str | None = None,
    version: int | None = None,
) -> Responses:
    """Return which active items examinees got right.

    Args:
        students: names of examinees; None for all.
        query_id: only items of this query; None for all.
        version: bank version; None for the newest.

    Raises:
        InputError: an examinee or the version is unknown.
    """
    chosen = find_students(project, students)
    version = check_version(project, version)
    columns = [
        question.question_id
        for question in list_questions(project, version, query_id)
        if question.kind == "choice" and question.active
    ]
    tasks = list_tasks(project, query_id, version)
    keys = text_keys(project, [task.asked for task in tasks])
    plain = dict(
        project.rows(
            "SELECT question_id, text_key FROM bank_at($version)"
            " JOIN questions USING (question_key) WHERE kind = 'choice'",
            {"version": version},
        )
    )
    place = {name: at for at, name in enumerate(columns)}
    answered = answer_outcomes(project)
    correct = np.full((len(chosen), len(columns)), np.nan)
    failed = np.zeros(correct.shape, dtype=np.bool_)
    for row, student in enumerate(chosen):
        outcomes = sheet_outcomes(student, make_sheet(project, student, tasks), answered, keys)
        if student.sat_elsewhere:
            # Imported answers may be about items whose words, key or choices are unknown, so they
            # are found by the question.
            places = {name: (student.key, plain[name], ELSEWHERE) for name in columns}
            outcomes = {
                name: answered[key] for name, key in places.items() if key in answered
            } | outcomes
        for name, correctly in outcomes.items():
            correct[row, place[name]] = np.nan if correctly is None else float(correctly)
            failed[row, place[name]] = correctly is None
    topics = {task.question_id: task.topic for task in tasks}
    return Responses(chosen, columns, [topics.get(name) for name in columns], correct, failed)


def exam_json(project: Project, query_id: str | None = None) -> str:
    """Return the active items with a key, with sources, topics and retrieved contexts, as `exam
    import exam` reads them.

    Args:
        query_id: only items of this query; None for all.

    Raises:
        InputError: the exam has no such item.
    """
    items = [item for item in exam_items(project, query_id) if item.active and item.key is not None]
    if not items:
        raise InputError(
            "no-items", "No items to export.", "Import an exam: exam import exam FILE."
        )
    names = [name for (name,) in project.rows("SELECT name FROM retrievals ORDER BY retrieval_key")]
    all_rankings = project.read(
        lambda cursor: {name: read_retrieval(cursor, name) for name in names}
    )
    ids = {
        passage
        for rankings in all_rankings.values()
        for ranking in rankings.values()
        for passage, _ in ranking
    }
    texts = passage_texts(project, list(ids))
    written = []
    for item in items:
        contexts = {
            name: tuple(
                texts[passage] for passage, _ in rankings[item.question_id] if passage in texts
            )
            for name, rankings in all_rankings.items()
            if item.question_id in rankings
        }
        written.append(
            ExamItem(
                item.text, item.choices, item.key or "", item.source_text, item.topic, contexts
            )
        )
    return written_text(exam_files.write_exam, written)


def answers_csv(project: Project, query_id: str | None = None) -> str:
    """Return the answers of examinees to the active items: 1 right, 0 wrong, empty for items not
    asked and for failures.

    Args:
        query_id: only items of this query; None for all.

    Raises:
        InputError: no item has an answer.
    """
    matrix = examinee_responses(project, query_id=query_id)
    if np.isnan(matrix.correct).all():
        raise InputError(
            "no-answers",
            "No answers to export.",
            "Run the exam (exam examinees run), or import answers (exam import lm-eval FILE).",
        )
    rows = [[None if np.isnan(cell) else bool(cell) for cell in row] for row in matrix.correct]
    return written_text(write_matrix, matrix.items, zip(matrix.names, rows, strict=True))
