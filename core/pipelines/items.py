"""Items of exams: multiple-choice questions of the bank with their source and topic, and those that are proposed."""

from __future__ import annotations

from collections.abc import Sequence
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
from ..project import Project, passage_texts
from ..types import Asked, Question

EXAM = "exam"
"""The query that the items of an exam over a corpus belong to, where nobody names another."""


@dataclass(frozen=True)
class Item:
    """A multiple-choice question of an exam, as students are asked it.

    Args:
        question_id: of the question in the bank; of a proposal, the one that it becomes.
        choices: without letters, in the order in which they are shown.
        key: the text of the right choice; None where the answer key is none of them: nobody can be graded by it.
        topic: what it is about; None where nobody said.
        source_passage_id, source_text: the passage that it was written from, which an oracle reads, and its text; each
            None where it is not known.
        active: whether it counts; a retired item stays in the bank.
        raw: what a model wrote, where a model wrote it.
        shuffle_seed: by which its choices were put into their order.
        proposal_key: of an item that is no more than proposed; None in the bank.
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
        """Position of the right choice, from 0; None where it has no key."""
        return None if self.key is None else self.choices.index(self.key)

    @property
    def discriminators(self) -> tuple[str, ...]:
        """The choices beside the right one, in their order; all of them where it has no key."""
        at = self.key_position
        return tuple(choice for place, choice in enumerate(self.choices) if place != at)


def exam_items(project: Project, query_id: str | None = None, version: int | None = None) -> list[Item]:
    """The multiple-choice questions of the bank as items, active or not, in their order.

    Source and topic are those of today: they say where an item comes from and are no part of what it asks.

    Args:
        query_id: only those of this query; of all for None.
        version: bank version; the newest for None.

    Raises:
        InputError: there is no such version.
    """
    found = [q for q in questions(project, version, query_id) if q.kind == "choice" and (q.text or "").strip()]
    facts = item_facts(project, query_id)
    texts = passage_texts(project, [one.source_passage_id for one in facts.values() if one.source_passage_id])
    return [_item(question, facts.get(question.question_id, ItemFacts()), texts) for question in found]


def proposed_items(project: Project, query_id: str | None = None, states: Sequence[State] = ("open",)) -> list[Item]:
    """Items that a model drafted, in the order in which they came; `proposal_key` says which proposal each is.

    Args:
        query_id: only those of this query; of all for None.
        states: only proposals in these states.
    """
    found = [one for one in proposals(project, query_id, states) if one.item is not None]
    texts = passage_texts(project, [one.passage_id for one in found if one.passage_id])
    return [item for one in found if (item := _proposed(one, texts)) is not None]


def retire(project: Project, question_ids: Sequence[str], author: str) -> list[Question]:
    """Retire items in a person's drafts, as one step that can be undone; the bank has it once the drafts are saved.

    Returns:
        The questions as the drafts have them now.

    Raises:
        InputError: an id of no item of the bank.
    """
    known = {q.question_id for q in questions(project) if q.kind == "choice"}
    for key in question_ids:
        if key not in known:
            raise InputError("unknown-item", f"Unknown item '{key}'.", "List the items with exam items list.")
    gone = retired([find_question(project, author, key) for key in dict.fromkeys(question_ids)])
    put_drafts(project, author, gone)
    return gone


def retired_in_drafts(project: Project, author: str) -> set[str]:
    """The ids of the items that a person has retired in drafts which are not saved yet."""
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
