"""Items of exams: multiple-choice questions of the bank, proposed items, and items as examinees are asked them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ..bank import (
    ItemFacts,
    Proposal,
    State,
    drafts,
    find_question,
    item_facts,
    proposals,
    put_drafts,
    questions,
    retired,
)
from ..errors import InputError
from ..graders import bare_choices, key_position
from ..records import CLOSED_BOOK, ORACLE, passage_texts
from ..store import Project
from ..types import Asked, Question

EXAM = "exam"
"""The default query for the items of an exam over a corpus."""


@dataclass(frozen=True)
class Item:
    """A multiple-choice question of an exam, as examinees are asked it.

    Args:
        question_id: of the question in the bank; for a proposal, its future id.
        choices: without letters, in the order in which they are shown.
        key: the text of the right choice; None if the answer key is not a choice, so that the item cannot be used.
        topic: its subject; None if unknown.
        source_passage_id, source_text: the passage that it was written from, which an oracle reads, and its text; each
            None if unknown.
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


def exam_items(project: Project, query_id: str | None = None, version: int | None = None) -> list[Item]:
    """Return the multiple-choice questions of the bank as items, active or not, in their order.

    Source and topic are always the current ones: they describe the origin of an item and are not part of its text.

    Args:
        query_id: only those of this query; None for all.
        version: bank version; None for the newest.

    Raises:
        InputError: the version is unknown.
    """
    found = [q for q in questions(project, version, query_id) if q.kind == "choice" and (q.text or "").strip()]
    facts = item_facts(project, query_id)
    texts = passage_texts(project, [one.source_passage_id for one in facts.values() if one.source_passage_id])
    return [_item(question, facts.get(question.question_id, ItemFacts()), texts) for question in found]


def proposed_items(project: Project, query_id: str | None = None, states: Sequence[State] = ("open",)) -> list[Item]:
    """Return the items that models drafted, in the order in which they came, with the keys of their proposals.

    Args:
        query_id: only those of this query; None for all.
        states: only proposals in these states.
    """
    found = [one for one in proposals(project, query_id, states) if one.item is not None]
    texts = passage_texts(project, [one.passage_id for one in found if one.passage_id])
    return [item for one in found if (item := _proposed(one, texts)) is not None]


def retire(project: Project, question_ids: Sequence[str], author: str) -> list[Question]:
    """Retire items in a person's drafts, in one step that can be undone. The bank changes when the drafts are saved.

    Returns:
        The questions as the drafts have them now.

    Raises:
        InputError: an id is not that of an item in the bank.
    """
    known = {q.question_id for q in questions(project) if q.kind == "choice"}
    for key in question_ids:
        if key not in known:
            raise InputError("unknown-item", f"Unknown item '{key}'.", "List the items with exam items list.")
    gone = retired([find_question(project, author, key) for key in dict.fromkeys(question_ids)])
    put_drafts(project, author, gone)
    return gone


def retired_in_drafts(project: Project, author: str) -> set[str]:
    """Return the ids of the items that a person has retired in unsaved drafts."""
    return {
        key
        for key, draft in drafts(project, author).items()
        if draft.question.kind == "choice" and not draft.question.active
    }


def _item(question: Question, facts: ItemFacts, texts: dict[str, str]) -> Item:
    choices = tuple(bare_choices(question.choices))
    at = key_position(Asked(question.text or "", question.answer_key or "", question.choices))
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


def _proposed(one: Proposal, texts: dict[str, str]) -> Item | None:
    if one.item is None:
        return None
    return Item(
        one.item.question_id,
        one.query_id,
        one.text,
        one.item.choices,
        one.item.answer_key,
        one.item.topic,
        one.passage_id,
        texts.get(one.passage_id or ""),
        shuffle_seed=one.item.shuffle_seed,
        proposal_key=one.key,
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

Given = tuple[Task, Context, Sequence[tuple[Task, Context]]]
"""An item, its texts, and the worked items before it with theirs."""


def tasks(
    project: Project,
    query_id: str | None = None,
    version: int | None = None,
    ids: Collection[str] | None = None,
) -> list[Task]:
    """Return the items that can be asked, in the order of the bank; those without a key among their choices cannot.

    Args:
        query_id: only those of this query; None for all.
        version: bank version; None for the newest.
        ids: only these, active or not; None for the active ones.

    Raises:
        InputError: the version is unknown.
    """
    return [
        task
        for item in exam_items(project, query_id, version)
        if (item.active if ids is None else item.question_id in ids) and (task := _task(item))
    ]


def tasks_named(project: Project, question_ids: Sequence[str]) -> list[Task]:
    """Return the named items that can be asked, in the given order. Retired items are included, because worked items
    stay fixed."""
    known = {item.question_id: item for item in exam_items(project)} if question_ids else {}
    return [task for name in question_ids if name in known and (task := _task(known[name]))]


def _task(item: Item) -> Task | None:
    key = item.key_position
    if item.key is None or key is None:
        return None
    asked = Asked(item.text.strip(), item.key, item.choices).written
    return Task(item.question_id, item.text, item.choices, key, asked, item.topic, item.source_text)


def contexts(
    project: Project, retrieval: str | None, k: int | None, asked: Sequence[Task]
) -> dict[str, Context | None]:
    """Return the texts that go with each item, by question id; None if texts are required but missing.

    Args:
        retrieval: closed-book, oracle, or the name of a retrieval.
        k: passages of a retrieval.
    """
    if retrieval == CLOSED_BOOK:
        return {task.question_id: () for task in asked}
    if retrieval == ORACLE:
        return {task.question_id: (task.source,) if task.source else None for task in asked}
    found: dict[str, list[str]] = {}
    for question_id, text in project.rows(
        "SELECT question_id, x.text FROM retrieved JOIN retrievals USING (retrieval_key)"
        " JOIN questions USING (question_key) JOIN passages USING (passage_key) JOIN passage_texts x USING (text_key)"
        " WHERE name = ? AND rank <= ? ORDER BY question_key, rank",
        [retrieval, k or 1],
    ):
        found.setdefault(question_id, []).append(text)
    return {task.question_id: tuple(found[task.question_id]) if task.question_id in found else None for task in asked}


def digest_of(context: Context, worked: Sequence[tuple[Task, Context]]) -> str:
    """Return a digest of everything that an examinee reads in addition to the item (BLAKE2b, 16 bytes in hex)."""
    seen = [list(context), [[task.asked, list(texts)] for task, texts in worked]]
    written = json.dumps(seen, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(written, digest_size=16).hexdigest()


def text_keys(project: Project, asked: Sequence[str]) -> Mapping[str, int]:
    """Return the key of each text that was ever asked, by text."""
    return dict(project.rows("SELECT text, text_key FROM question_texts WHERE list_contains(?, text)", [list(asked)]))
