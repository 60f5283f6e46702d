"""Items of exams: multiple-choice questions of the bank with their source and topic."""

from __future__ import annotations

import json
from dataclasses import dataclass

from core.bank import check_version
from core.graders import bare_choices, key_position
from core.project import Project
from core.types import Asked

EXAM = "exam"
"""The query that items belong to which are about a corpus, where nobody names another."""


@dataclass(frozen=True)
class Item:
    """A multiple-choice question of an exam, as students are asked it.

    Args:
        question_id: of the question in the bank.
        choices: without letters, in the order in which they are shown.
        key: the text of the right choice; None where the answer key is none of them: nobody can be graded by it.
        topic: what it is about; None where nobody said.
        source_passage_id, source_text: the passage that it was written from, which an oracle reads, and its text; each
            None where it is not known.
        active: whether it counts; a retired item stays in the bank.
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

    @property
    def key_position(self) -> int | None:
        """Position of the right choice, from 0; None where it has no key."""
        return None if self.key is None else self.choices.index(self.key)


def exam_items(project: Project, query_id: str | None = None, version: int | None = None) -> list[Item]:
    """The multiple-choice questions of the bank as items, active or not, in their order.

    Args:
        query_id: only those of this query; of all for None.
        version: bank version; the newest for None.

    Raises:
        InputError: there is no such version.
    """
    return [
        _item(*row)
        for row in project.rows(
            "SELECT question_id, query_id, t.text, choices, coalesce(answer_key, ''), topic, passage_id, x.text, active"
            " FROM bank_at($version) r JOIN questions o USING (question_key) JOIN queries q USING (query_key)"
            " JOIN question_texts t USING (text_key) LEFT JOIN items i USING (question_key)"
            " LEFT JOIN passages p ON p.passage_key = i.source_passage_key"
            " LEFT JOIN passage_texts x ON x.text_key = p.text_key"
            " WHERE kind = 'choice' AND t.text IS NOT NULL AND ($query_id IS NULL OR query_id = $query_id)"
            " ORDER BY o.query_key, r.position, question_key",
            {"version": check_version(project, version), "query_id": query_id},
        )
    ]


def _item(
    question_id: str,
    query_id: str,
    text: str,
    written: str,
    key: str,
    topic: str | None,
    passage_id: str | None,
    source: str | None,
    active: bool,
) -> Item:
    given = tuple(json.loads(written))
    choices = tuple(bare_choices(given))
    at = key_position(Asked(text, key, given))
    right = choices[at] if isinstance(at, int) else None
    return Item(question_id, query_id, text, choices, right, topic, passage_id, source, active)
